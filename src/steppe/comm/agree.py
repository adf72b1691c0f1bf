"""Raises an error of one rank on all ranks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from steppe.comm.world import World
from steppe.errors import Failure, SteppeError


def agree_on(world: World, error: BaseException | None) -> None:
    """Raises the error of the lowest rank that has one, on every rank; all ranks call it.

    Raises
    ------
    SteppeError
        Of the same kind and with the same message on every rank. Any other error is a `Failure` on the other ranks.
    """
    if world.agree(error is None):
        return
    told = b"" if error is None else json.dumps(_words(world.rank, error)).encode()
    texts = world.gather(np.array(bytearray(told), np.uint8))
    first = next(text for text in texts if text.size) if texts is not None else np.empty(0, np.uint8)
    length = np.array([first.size])
    world.broadcast(length)
    text = np.resize(first, int(length[0]))
    world.broadcast(text)
    if error is not None and text.tobytes() == told:
        raise error
    code, sentence = json.loads(text.tobytes())
    raise next(kind for kind in _kinds(SteppeError) if kind.code == code)(sentence)


@contextmanager
def agreed(world: World, kind: type[Exception] = SteppeError) -> Iterator[None]:
    """Raises on all ranks what its block raises on one, of a kind of errors, once all ranks have come to the end of the block."""
    error = None
    try:
        yield
    except kind as found:
        error = found
    agree_on(world, error)


def _words(rank: int, error: BaseException) -> tuple[str, str]:
    if isinstance(error, SteppeError):
        return error.code, str(error)
    return Failure.code, f"Rank {rank} failed: {type(error).__name__}: {error}"


def _kinds(of: type[SteppeError]) -> Iterator[type[SteppeError]]:
    yield of
    for kind in of.__subclasses__():
        yield from _kinds(kind)
