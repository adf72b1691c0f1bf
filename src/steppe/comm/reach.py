"""What a model with neighbours is handed instead of ranks: exchange of halos, sums and greatest values over all ranks.

    exchange = reach.exchange([u, v])     packs and sends the own cells that are a peer's halo
    ...                                   the model computes its interior meanwhile
    exchange.finish()                     unpacks what came: the halos are filled
    ...                                   the model computes its rims

The plan of an exchange is data made by the grid, and how an exact sum is made is handed in: this file knows messages only.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steppe.comm.world import EXCHANGE_TAG, Array, Operation, Request, World
from steppe.errors import Failure

Slices = tuple[slice, ...]
Piece = tuple[int, Slices, Slices]  # peer, rectangle of my halo, rectangle of the peer's own cells that fills it
Total = Callable[[Array, Callable[[Array, Operation], Array]], float]


class BoxReach:
    """The reach of one rank's box with halos; it is a `steppe.models.Reach`.

    Parameters
    ----------
    world
        The ranks.
    plans
        What fills the halos of each rank, by rank: `[box.pieces for box in Partition.boxes(...)]`.
    total
        The sum of an array over all ranks, given `world.reduce`, that does not depend on their order: `steppe.kernels.sums.total`.
    """

    def __init__(self, world: World, plans: Sequence[Sequence[Piece]], total: Total) -> None:
        me = world.rank
        self._world = world
        self._total = total
        self._receives = {peer: [target for p, target, _ in plans[me] if p == peer] for peer in sorted({p for p, _, _ in plans[me]})}
        sends = {peer: [source for p, _, source in plan if p == me] for peer, plan in enumerate(plans)}
        self._sends = {peer: sources for peer, sources in sends.items() if sources}
        self._live: BoxExchange | None = None

    def exchange(self, arrays: Sequence[Array]) -> "BoxExchange":
        """Starts filling the halos of `arrays`, of one dtype, whose last dimensions are the box with halos.

        Their own cells are read now, so they may change at once; their halos are written by `finish`.

        Raises
        ------
        Failure
            The last exchange is not finished, or the arrays differ in dtype.
        """
        if self._live is not None and not self._live.finished:
            raise Failure("An exchange was started before the last one was finished. Call finish() first.")
        if len({array.dtype for array in arrays}) != 1:
            raise Failure(f"Arrays exchanged together must have one dtype, they have {[str(array.dtype) for array in arrays]}.")
        incoming: list[tuple[Request, Array, list[Array]]] = []
        for peer, targets in self._receives.items():
            halos = [array[_last(target)] for array in arrays for target in targets]
            buffer = np.empty(sum(halo.size for halo in halos), dtype=arrays[0].dtype)
            incoming.append((self._world.receive(buffer, peer, EXCHANGE_TAG), buffer, halos))
        outgoing = []
        for peer, sources in self._sends.items():
            packed = np.concatenate([array[_last(source)].ravel() for array in arrays for source in sources])
            outgoing.append(self._world.send(packed, peer, EXCHANGE_TAG))
        self._live = BoxExchange(incoming, outgoing)
        return self._live

    def total(self, x: Array) -> float:
        """Sum over all cells of all ranks; the same bits for any number and order of them, NaN when a value is not finite."""
        return self._total(x, self._world.reduce)

    def largest(self, x: Array) -> float:
        """Greatest value over all cells of all ranks, NaN when a value is; -inf when there are none."""
        x = np.asarray(x, dtype=np.float64)
        missing = np.isnan(x)
        greatest = x.max(initial=-np.inf, where=~missing)
        found = self._world.reduce(np.array([float(missing.any()), greatest]), "max")
        return float("nan") if found[0] else float(found[1])


def _last(dimensions: Slices) -> Any:
    """The index of a rectangle in the last dimensions of an array."""
    return (..., *dimensions)


class BoxExchange:
    """An exchange under way."""

    def __init__(self, incoming: list[tuple[Request, Array, list[Array]]], outgoing: list[Request]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self.finished = False

    def finish(self) -> None:
        """Returns when the halos are filled and everything sent has left; a second call does nothing."""
        if self.finished:
            return
        for request, buffer, halos in self._incoming:
            request.wait()
            ends = np.cumsum([halo.size for halo in halos])
            for halo, values in zip(halos, np.split(buffer, ends[:-1]), strict=True):
                halo[...] = values.reshape(halo.shape)
        for request in self._outgoing:
            request.wait()
        self.finished = True
