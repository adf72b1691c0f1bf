"""A grid cut for the ranks of a run: for each rank its share, the ownership of all cells, and the neighbours of the share.

    needs, grid, ranks ──decompose──> Decomposition ──of(rank)──> share, ownership, neighbours

No other code cuts a grid, so a new kind of grid or of cut is a change here. Pure data, the same on every rank: no messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from steppe.errors import GridError
from steppe.grid.box import Box
from steppe.grid.boxes import Boxes
from steppe.grid.domain import Edges
from steppe.grid.grid import Grid
from steppe.grid.ownership import Cells, Ownership
from steppe.grid.partition import Partition, Share
from steppe.grid.projected import Projected
from steppe.grid.raster import Raster


class CutNeeds(Protocol):
    """The requirements of a cut: `steppe.models.Needs`."""

    @property
    def unit(self) -> str:
        """The unit of a rank: "cells" without neighbours, or "boxes"."""
        ...

    @property
    def halo(self) -> Mapping[str, int] | None:
        """Width of the halo of a box, by axis."""
        ...

    @property
    def edges(self) -> Edges | None:
        """The edges at the ends of an axis."""
        ...


class RankPart(NamedTuple):
    """The part of one rank. neighbours: the plan of its halo; None for cells without neighbours."""

    share: Share | Box
    deal: Ownership
    neighbours: Box | None


@dataclass(frozen=True)
class Decomposition:
    """The cut of a grid.

    cells: the packed cells of each rank, ascending. writers: see `Ownership`. partition: the cuts of packed cells, at any cell; None
    where the grid and the number of ranks decide. boxes: of each rank, where shares have neighbours.
    """

    n_cells: int
    cells: Sequence[Cells]
    writers: Sequence[int]
    partition: Partition | None = None
    boxes: Boxes | None = None

    def of(self, rank: int) -> RankPart:
        """Share, ownership and neighbours of one rank."""
        deal = Ownership(self.n_cells, rank, self.cells, self.writers)
        if self.boxes is not None:
            box = self.boxes[rank]
            return RankPart(box, deal, box)
        assert self.partition is not None, "a grid is cut in one of two ways"
        return RankPart(self.partition.owned(rank), deal, None)


def decompose(grid: Grid, needs: CutNeeds, ranks: int, bounds: Sequence[int] | None = None, writers: Sequence[int] = ()) -> Decomposition:
    """Cuts a grid for some ranks, by what a model needs.

    Parameters
    ----------
    bounds
        Rank r computes the packed cells from bounds[r] to bounds[r + 1]; default: as many for each. Of cells without neighbours.
    writers
        The rank that writes for each rank; default: itself.

    Raises
    ------
    GridError
        The grid cannot be cut into so many boxes, or has no rows and columns that neighbours could be found along.
    """
    if needs.unit == "cells":
        partition = Partition(tuple(bounds)) if bounds else Partition.cells(grid, ranks)
        return Decomposition(grid.n_cells, [partition.owned(rank).cells for rank in range(ranks)], writers, partition)
    if not isinstance(grid, Raster | Projected):
        raise GridError("The model needs neighbours, so its grid must be a raster; this one is a list of points. Choose another grid.")
    halo = dict(sorted((needs.halo or {}).items(), key=lambda each: each[0] == "x"))  # rows first, however the model names them
    boxes = Partition.boxes(grid, ranks, halo, needs.edges)
    return Decomposition(grid.n_cells, [boxes.cells(rank) for rank in range(ranks)], writers, boxes=boxes)
