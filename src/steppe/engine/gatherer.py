"""The cells of one rank in arrays over all cells, and the gathering of such arrays on rank 0."""

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Integers
from steppe.comm import World
from steppe.engine.outputs import positions
from steppe.grid import Box, Cells, Ownership, Share


class MadeArrays(Mapping[str, Array]):
    """Arrays that are made when they are taken, so that they never lie in memory all at once. makers: name -> what makes it."""

    def __init__(self, makers: Mapping[str, Callable[[], Array]]) -> None:
        self.makers = makers

    def __getitem__(self, name: str) -> Array:
        return self.makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


class Gatherer:
    """Selects, packs and gathers the cells of a rank.

    Parameters
    ----------
    world, deal
        All ranks, and the packed cells of each of them.
    share
        The share of this rank, which packs and unpacks.
    """

    def __init__(self, world: World, deal: Ownership, share: Share | Box) -> None:
        self._world, self._deal, self._share = world, deal, share

    def positions(self, cells: Array) -> tuple[NDArray[np.bool_], Integers]:
        """Which of some packed cells this rank has, and their positions among its own cells."""
        return positions(cells, self._deal.mine)

    def chosen(self, cells: Array | None) -> tuple[Array | slice, Array | slice]:
        """The same for the cells of a cut, as indices; None: all cells, of which it has its own."""
        return (_index(self._deal.mine), slice(None)) if cells is None else self.positions(cells)

    @property
    def mine(self) -> Cells:
        """The packed cells of this rank."""
        return self._deal.mine

    def own(self, values: Any) -> Any:
        """The values of this rank, of those of all packed cells; one number stays one."""
        return values if np.ndim(values) == 0 else values[..., _index(self._deal.mine)]

    def packed(self, values: Array) -> Array:
        """Values of the model in the order of packed cells."""
        return values if values.ndim < 2 else self._share.pack(values)

    def unpacked(self, values: Any) -> Any:
        """Values in the order of packed cells as the model has them."""
        return values if np.ndim(values) == 0 else self._share.unpack(values)

    def gathered(self, values: Array, cells: Array | None = None) -> Array | None:
        """On rank 0 the values (..., cells) of all packed cells, or of some in their order; each rank gives those of its own cells."""
        parts = self._parts(values, [len(theirs) for theirs in self._deal.cells] if cells is None else None)
        if parts is None:
            return None
        if cells is None and len(parts) == 1:
            return parts[0]
        whole = np.empty((*values.shape[:-1], self._deal.n_cells if cells is None else len(cells)), values.dtype)
        for theirs, part in zip(self._deal.cells, parts, strict=True):
            whole[..., _index(theirs) if cells is None else positions(cells, theirs)[0]] = part
        return whole

    def _parts(self, values: Array, lengths: list[int] | None) -> list[Array] | None:
        """On rank 0 the values of each rank, (..., cells)."""
        leading = values.shape[:-1]
        parts = self._world.gather(values.ravel(), lengths=lengths and [length * prod(leading) for length in lengths])
        return None if parts is None else [part.reshape(*leading, part.size // max(1, prod(leading))) for part in parts]


def _index(cells: Cells) -> Array | slice:
    """Packed cells as an index of an array over all of them."""
    return slice(cells.start, cells.stop) if isinstance(cells, range) else cells
