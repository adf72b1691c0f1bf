"""What one rank has of arrays over all cells, and how they come together again."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.comm import World
from steppe.engine.outputs import positions
from steppe.grid import Box, Cells, Ownership, Share

Array = NDArray[Any]


class Gatherer:
    """The cells of a rank.

    Parameters
    ----------
    world, deal
        All ranks, and which has which packed cells.
    share
        What this rank computes, which packs and unpacks.
    """

    def __init__(self, world: World, deal: Ownership, share: Share | Box) -> None:
        self._world, self._deal, self._share = world, deal, share

    def positions(self, cells: Array) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which of some packed cells it has, and where they are among its own."""
        return positions(cells, self._deal.mine)

    @property
    def mine(self) -> Cells:
        """The packed cells of this rank."""
        return self._deal.mine

    def own(self, values: Any) -> Any:
        """Of values for all packed cells those of this rank; one number stays one."""
        if np.ndim(values) == 0:
            return values
        mine = self._deal.mine
        return values[..., mine.start : mine.stop] if isinstance(mine, range) else values[..., mine]

    def packed(self, values: Array) -> Array:
        """Values as the model has them, in the order of packed cells."""
        return values if values.ndim < 2 else self._share.pack(values)

    def unpacked(self, values: Any) -> Any:
        """The reverse."""
        return values if np.ndim(values) == 0 else self._share.unpack(values)

    def gathered(self, values: Array) -> Array | None:
        """On rank 0 the values of all packed cells, (..., cells); every rank gives those of its own."""
        parts = self._parts(values, [len(cells) for cells in self._deal.cells])
        if parts is None:
            return None
        if len(parts) == 1:
            return parts[0]
        whole = np.empty((*values.shape[:-1], self._deal.n_cells), values.dtype)
        for cells, part in zip(self._deal.cells, parts, strict=True):
            whole[..., slice(cells.start, cells.stop) if isinstance(cells, range) else cells] = part
        return whole

    def gathered_of(self, values: Array, cells: Array) -> Array | None:
        """On rank 0 the values of some packed cells, as they come, (..., cells); every rank gives those that it has of them."""
        parts = self._parts(values, None)
        if parts is None:
            return None
        whole = np.empty((*values.shape[:-1], len(cells)), values.dtype)
        for theirs, part in zip(self._deal.cells, parts, strict=True):
            whole[..., positions(cells, theirs)[0]] = part
        return whole

    def _parts(self, values: Array, lengths: list[int] | None) -> list[Array] | None:
        """On rank 0 what every rank gives, (..., cells)."""
        leading = values.shape[:-1]
        parts = self._world.gather(values.ravel(), lengths=lengths and [length * prod(leading) for length in lengths])
        return None if parts is None else [part.reshape(*leading, part.size // max(1, prod(leading))) for part in parts]
