"""Shares of work and tiles of storage: two different cuts of the same packed order of cells.

    packed cells   0 ......................................................... n_cells
    tiles          |  2048  |  2048  |  2048  | ...   of storage, from the number of cells alone
    shares         |     rank 0      |    rank 1     |   rank 2   |   of work, cut at any cell by weight

Files do not depend on the number of ranks, since tiles do not; work is even, since shares may cut tiles. Every rank computes all of this
from numbers that it has, without messages.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from steppe.array_types import Array
from steppe.errors import GridError
from steppe.grid.boxes import Boxes, choose_dims
from steppe.grid.domain import Domain, Edges
from steppe.grid.grid import Grid
from steppe.grid.projected import Projected
from steppe.grid.raster import Raster

LARGEST_TILE = 4096  # cells; 64 steps of them in int16 make half a megabyte, a good chunk to compress and read
SMALLEST_TILE = 256


def tile_size(n_cells: int) -> int:
    """Cells of a tile of storage: about an eighth of the cells, as a power of two from 256 to 4,096.

    >>> [tile_size(n) for n in (1, 2_048, 15_195, 16_384, 278_349)]
    [256, 256, 2048, 4096, 4096]
    """
    if n_cells >= 4 * LARGEST_TILE:
        return LARGEST_TILE
    eighth = -(-n_cells // 8)
    return max(SMALLEST_TILE, 1 << (eighth - 1).bit_length())


def tiles(n_cells: int) -> list[range]:
    """The packed cells of each tile of storage, in order; the last one may be short."""
    size = tile_size(n_cells)
    return [range(first, min(first + size, n_cells)) for first in range(0, n_cells, size)]


@dataclass(frozen=True, slots=True)
class Share:
    """The packed cells that one rank computes: a contiguous range, empty when there are more ranks than cells."""

    rank: int
    cells: range

    @property
    def n_cells(self) -> int:
        """Number of cells of the share."""
        return len(self.cells)

    def pack(self, values: Array, out: Array | None = None) -> Array:
        """Values as a model has them (..., cells), in packed order, which is the same; see `Box.pack`."""
        if out is None:
            return values
        out[...] = values
        return out

    def unpack(self, values: Array) -> Array:
        """The reverse of `pack`."""
        return values


@dataclass(frozen=True, slots=True)
class Partition:
    """Contiguous shares of the packed cells; rank r owns bounds[r] .. bounds[r + 1] - 1."""

    bounds: tuple[int, ...]

    @classmethod
    def cells(cls, grid: Grid | int, ranks: int, weights: ArrayLike | None = None) -> "Partition":
        """Shares of equal weight, as far as whole cells allow: the heaviest is minimal, each cut nearest to an even one.

        Parameters
        ----------
        grid
            A grid, or its number of cells.
        ranks
            Number of shares.
        weights
            Cost of each cell, (cells,), as whole numbers from 0 (such as nanoseconds), so that sums are exact; None: all equal.

        Raises
        ------
        GridError
            There are no ranks, or the weights are not one whole number >= 0 a cell.
        """
        n_cells = grid if isinstance(grid, int) else grid.n_cells
        if ranks < 1:
            raise GridError(f"A grid is cut for one rank or more, not {ranks}.")
        if weights is None:
            return cls(tuple(n_cells * rank // ranks for rank in range(ranks + 1)))
        cost = np.asarray(weights)
        if cost.shape != (n_cells,) or not np.issubdtype(cost.dtype, np.integer) or (cost < 0).any():
            raise GridError(f"Weights must be {n_cells} whole numbers of 0 or more, they are {cost.dtype} of shape {cost.shape}.")
        summed: list[int] = np.concatenate([[0], np.cumsum(cost, dtype=np.int64)]).tolist()
        low = max(-(-summed[-1] // ranks), int(cost.max(initial=0)))
        high = summed[-1] // ranks + int(cost.max(initial=0))  # suffices: a share that takes the cell which crosses its even end
        while low < high:
            middle = (low + high) // 2
            if _fits(summed, ranks, middle):
                high = middle
            else:
                low = middle + 1
        return cls(_even_cuts(summed, ranks, low))

    @staticmethod
    def boxes(
        grid: Raster | Projected, ranks: int, halo: Mapping[str, int], edges: Edges | None = None, dims: Mapping[str, int] | None = None
    ) -> Boxes:
        """The boxes of a raster with halos, one for each rank; together they cover its rectangle.

        Parameters
        ----------
        grid
            Its rows and columns are the axes, in the order of `halo`.
        ranks
            Number of boxes.
        halo
            Name of each axis -> width of its halo in cells, e.g. {"y": 1, "x": 1}.
        edges
            Name of an axis -> "wall", "periodic" or "pole", or a pair of them for its low and its high end. Default: walls, and periodic
            columns if they go round the Earth.
        dims
            Name of each axis -> its number of boxes. Default: the smallest halo.

        Raises
        ------
        GridError
            The grid cannot be cut into this number of boxes, or an axis or an edge is unknown.
        """
        if len(halo) != 2:
            raise GridError(f"A raster has two axes, the halo names {len(halo)}: {', '.join(halo)}. Name the rows first, then the columns.")
        rows, columns = halo
        height, width = grid.active.shape
        ends = [end for each in (edges or {}).values() for end in ([each] if isinstance(each, str) else each)]
        if "pole" in ends and isinstance(grid, Raster) and abs(grid.lat[[0, -1]]).max() == 90.0:
            raise GridError(
                f"The grid has a row on a pole, at latitude {grid.lat[abs(grid.lat).argmax()]:g}, and the model's halos go beyond poles "
                "that lie between rows. Give a grid whose rows lie beside the poles."
            )
        around = isinstance(grid, Raster) and round(width * grid.dlon, 6) == 360.0
        domain = Domain.of({rows: height, columns: width}, {columns: "periodic" if around else "wall", **(edges or {})})
        cut = choose_dims(domain.blocks[0], tuple(halo.values()), ranks) if dims is None else tuple(dims[axis] for axis in halo)
        if prod(cut) != ranks:
            raise GridError(f"{' x '.join(map(str, cut))} boxes were asked for {ranks} ranks. Leave the dims out, or make them fit.")
        return Boxes(domain, halo, [cut], grid.order)

    @property
    def ranks(self) -> int:
        """Number of shares."""
        return len(self.bounds) - 1

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.bounds[-1]

    def owned(self, rank: int) -> Share:
        """The share of a rank."""
        return Share(rank, range(self.bounds[rank], self.bounds[rank + 1]))

    def loads(self, weights: Array) -> Array:
        """The summed weights of each rank's cells, (ranks,); weights (cells,)."""
        return np.diff(np.concatenate([[0], np.cumsum(weights)])[np.array(self.bounds)])


def _fits(summed: list[int], ranks: int, limit: int) -> bool:
    """True if `ranks` shares of at most `limit` hold all cells. summed[i]: weight of the cells before i."""
    bound = 0
    for _ in range(ranks):
        bound = bisect_right(summed, summed[bound] + limit, bound) - 1
        if bound == len(summed) - 1:
            return True
    return False


def _even_cuts(summed: list[int], ranks: int, limit: int) -> tuple[int, ...]:
    """Bounds of shares of at most `limit`, which is large enough; each cut is as near to an even one as the other shares allow."""
    earliest = [len(summed) - 1]  # of each bound, from the last: the shares after it must fit, too
    for _ in range(ranks):
        earliest.append(bisect_left(summed, summed[earliest[-1]] - limit, 0, earliest[-1]))
    bounds = [0]
    for rank, least in zip(range(1, ranks + 1), reversed(earliest[:-1]), strict=True):
        farthest = bisect_right(summed, summed[bounds[-1]] + limit, bounds[-1]) - 1
        bounds.append(min(max(least, _nearest(summed, summed[-1] * rank, ranks)), farthest))
    return tuple(bounds)


def _nearest(summed: list[int], numerator: int, denominator: int) -> int:
    """The cut whose preceding weight is nearest to numerator / denominator; of two the earlier."""
    after = bisect_left(summed, -(-numerator // denominator))
    if after and numerator - summed[after - 1] * denominator <= summed[after] * denominator - numerator:
        return bisect_left(summed, summed[after - 1])
    return after
