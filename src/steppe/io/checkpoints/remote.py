"""A checkpoint on ranks of which some do not see its folder: the others read it for them.

rank that sees it    reads its own cells, and those of some that do not ──> one message to each of these
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from steppe.array_types import Array
from steppe.comm import World, agreed
from steppe.grid import Ownership
from steppe.io.checkpoints.checkpoint import Checkpoint

Loaded = tuple[Mapping[str, Any], dict[str, Array]]  # the manifest, and every array of the cells of one rank


def load_checkpoint(path: Path, deal: Ownership, world: World, able: Sequence[int] = ()) -> Loaded:
    """The manifest of a checkpoint and its arrays of the cells of this rank. Every rank calls it.

    able: the ranks that see the folder; default: all.

    Raises
    ------
    DamagedError, FolderError
        As `Checkpoint.open` and `Checkpoint.load`; the same on every rank.
    """
    unable = [rank for rank in range(world.size) if able and rank not in able]
    parts, found = [np.empty(0, np.uint8)] * world.size, None
    with agreed(world):
        if world.rank not in unable:
            checkpoint = Checkpoint.open(path, None)
            found = checkpoint.manifest, checkpoint.load(deal)
            for rank in unable[able.index(world.rank) :: len(able)] if unable else ():
                parts[rank] = _packed(checkpoint.manifest, checkpoint.load(replace(deal, rank=rank)))
    if unable:
        came = [part for part in world.exchange(parts) if part.size]
        found = found or _unpacked(came[0])
    assert found is not None, "each rank has read it, or been sent its part"
    return found


def _packed(manifest: Mapping[str, Any], arrays: Mapping[str, Array]) -> Array:
    head = json.dumps([dict(manifest), [[name, values.dtype.str, values.shape] for name, values in arrays.items()]]).encode()
    whole = b"".join([len(head).to_bytes(8, "little"), head, *(values.tobytes() for values in arrays.values())])
    return np.frombuffer(whole, np.uint8)


def _unpacked(message: Array) -> Loaded:
    at = 8 + int.from_bytes(message[:8].tobytes(), "little")
    manifest, described = json.loads(message[8:at].tobytes())
    arrays = {}
    for name, dtype, shape in described:
        size = prod(shape) * np.dtype(dtype).itemsize
        arrays[name] = np.frombuffer(message[at : at + size].tobytes(), dtype).reshape(shape).copy()
        at += size
    return manifest, arrays
