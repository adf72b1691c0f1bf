"""The properties of cells that every kind of grid has."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats, Integers
from steppe.grid.region import RegionLike


class Grid(Protocol):
    """Which cells exist, and where. Pure data.

    Only active cells are computed and stored. They are *packed*: counted 0 .. n_cells - 1 in `order`, which depends on the grid
    alone, so that files are the same for any number of ranks.
    """

    @property
    def shape(self) -> Mapping[str, int]:
        """Length of each dimension of the unpacked grid: lat and lon of a raster, cell of points."""
        ...

    @property
    def active(self) -> NDArray[np.bool_]:
        """True where a cell takes part, in the unpacked shape."""
        ...

    @property
    def order(self) -> Integers:
        """Row-major index in the unpacked grid of each packed cell, (cells,)."""
        ...

    @property
    def n_cells(self) -> int:
        """Number of active cells."""
        ...

    @property
    def cell_lat(self) -> Floats:
        """Latitude of the centre of each packed cell, (cells,) [degrees_north]."""
        ...

    @property
    def cell_lon(self) -> Floats:
        """Longitude of the centre of each packed cell, (cells,) [degrees_east]."""
        ...

    @property
    def cell_area(self) -> Floats:
        """Area of each packed cell, (cells,) [m2]; 1 for points, which have none and weigh the same."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of kind, geometry and active cells: equal for equal grids only."""
        ...

    def coordinates(self) -> Mapping[str, Array]:
        """Name -> coordinate variable of a CF file; packed ones (cells,) begin with "cell_"."""
        ...

    def locate(self, longitude: float, latitude: float) -> int:
        """The packed position of the cell at a place.

        Raises
        ------
        GridError
            No active cell is there; the message names the nearest one with its coordinates and distance.
        """
        ...

    def select(self, region: RegionLike) -> Integers:
        """The packed positions of the cells whose centres lie in a region, ascending.

        Raises
        ------
        GridError
            The region is malformed, unknown, or holds no active cell.
        """
        ...

    def unpack(self, values: Array, fill: float = np.nan) -> Array:
        """Packed values (..., cells) in the shape of the grid, `fill` where no cell is active.

        Keeps the dtype where it can hold `fill`.
        """
        ...
