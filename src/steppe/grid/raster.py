"""A regular raster of latitude and longitude with some active cells."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats, Integers
from steppe.errors import GridError
from steppe.grid.earth import band_areas
from steppe.grid.packing import no_cell, select_cells, spread, strip_order
from steppe.grid.region import DIGITS, RegionLike
from steppe.html_summary import html_summary

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class Raster:
    """Cells of one size in degrees; row 0 is the northernmost. The first and the last row may be centred on a pole, where they end.

    lat0, lon0: centre of the north-western cell [degrees]. dlat < 0, dlon > 0: from one centre to the next [degrees].
    active (nlat, nlon): True for active cells; at least one.

    Raises
    ------
    GridError
        A cell reaches over a pole, the columns go more than once round, the spacing has the wrong sign, or no cell is active.
    """

    lat0: float
    dlat: float
    lon0: float
    dlon: float
    active: NDArray[np.bool_]

    def __post_init__(self) -> None:
        active = np.array(self.active)
        if active.ndim != 2 or active.dtype != np.bool_:
            raise GridError(f"The mask of a raster must be boolean (lat, lon), it is {active.dtype} of shape {active.shape}.")
        active.flags.writeable = False
        object.__setattr__(self, "active", active)
        if not (self.dlat < 0 < self.dlon):
            raise GridError(f"A raster needs dlat < 0 (row 0 in the north) and dlon > 0, it has {self.dlat:g} and {self.dlon:g}.")
        if np.abs(self.lat_bnds).max() > 90.0 or round(self.nlon * self.dlon, DIGITS) > 360.0:
            raise GridError(
                f"A raster of {self.nlat} x {self.nlon} cells of {-self.dlat:g} x {self.dlon:g} degrees from latitude {self.lat0:g} "
                "reaches over a pole or more than once round. Check the first centre and the spacing."
            )
        if not active.any():
            raise GridError("No cell of the raster is active. Check the mask.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raster) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Raster of {', '.join(f'{name}: {text}' for name, text in self._facts().items())}>"

    def _repr_html_(self) -> str:
        return html_summary("Raster", self._facts(), active=self.active)

    def _facts(self) -> dict[str, str]:
        (north, south), (west, east) = (self.lat_bnds[[0, -1], [0, 1]], self.lon_bnds[[0, -1], [0, 1]])
        return {
            "rows x columns": f"{self.nlat:,} x {self.nlon:,}",
            "cell": f"{-self.dlat:g} x {self.dlon:g} degrees",
            "active": f"{self.n_cells:,} of {self.active.size:,}",
            "latitude": f"{south:g} to {north:g}",
            "longitude": f"{west:g} to {east:g}",
        }

    @property
    def nlat(self) -> int:
        """Number of rows."""
        return int(self.active.shape[0])

    @property
    def nlon(self) -> int:
        """Number of columns."""
        return int(self.active.shape[1])

    @property
    def shape(self) -> Mapping[str, int]:
        """Rows and columns, as {"lat": nlat, "lon": nlon}."""
        return MappingProxyType({"lat": self.nlat, "lon": self.nlon})

    @cached_property
    def lat(self) -> Floats:
        """Latitude of the centres of the rows, (nlat,) [degrees_north], falling."""
        return _centres(self.lat0, self.dlat, self.nlat)

    @cached_property
    def lon(self) -> Floats:
        """Longitude of the centres of the columns, (nlon,) [degrees_east], rising."""
        return _centres(self.lon0, self.dlon, self.nlon)

    @cached_property
    def lat_bnds(self) -> Floats:
        """Northern and southern edge of each row, (nlat, 2) [degrees_north]; a row on a pole ends there."""
        edges, on_pole = self.even_lat_bnds, np.abs(self.lat)[:, None] == 90.0
        return read_only(np.where(on_pole, edges.clip(-90.0, 90.0), edges))

    @cached_property
    def even_lat_bnds(self) -> Floats:
        """The edges of rows that are all as high, as in pictures, (nlat, 2) [degrees_north]: of a row on a pole half lies beyond."""
        return _edges(self.lat0, self.dlat, self.nlat)

    @cached_property
    def lon_bnds(self) -> Floats:
        """Western and eastern edge of each column, (nlon, 2) [degrees_east]."""
        return _edges(self.lon0, self.dlon, self.nlon)

    @cached_property
    def order(self) -> Integers:
        """Row-major index of each packed cell, (cells,): strips of 64 columns from the west, within a strip row by row.

        Packed cell i - 64 is the northern neighbour of cell i inland, and near it at a coast.
        """
        return strip_order(self.active)

    @property
    def n_cells(self) -> int:
        """Number of active cells."""
        return int(self.order.size)

    @cached_property
    def cell_lat(self) -> Floats:
        """Latitude of the centre of each packed cell, (cells,) [degrees_north]."""
        return read_only(self.lat[self.order // self.nlon])

    @cached_property
    def cell_lon(self) -> Floats:
        """Longitude of the centre of each packed cell, (cells,) [degrees_east]."""
        return read_only(self.lon[self.order % self.nlon])

    @cached_property
    def cell_area(self) -> Floats:
        """Area of each packed cell on the WGS 84 ellipsoid, (cells,) [m2]."""
        return read_only((band_areas(self.lat_bnds) * self.dlon)[self.order // self.nlon])

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of kind, geometry and mask; -0 is 0."""
        numbers = (round(number, DIGITS) for number in (self.lat0, self.dlat, self.lon0, self.dlon))
        text = " ".join(["raster", *(f"{number:z.{DIGITS}f}" for number in numbers), str(self.nlat), str(self.nlon)])
        return hashlib.sha256(text.encode() + np.packbits(self.active).tobytes()).hexdigest()

    def coordinates(self) -> Mapping[str, Array]:
        """Name -> array of the CF coordinate variables: axes with bounds, and centres and areas [m2] of the packed cells."""
        names = ("lat", "lon", "lat_bnds", "lon_bnds", "cell_lat", "cell_lon", "cell_area")
        return {name: getattr(self, name) for name in names}

    def locate(self, longitude: float, latitude: float) -> int:
        """The packed position of the cell that holds a place; a place on an edge belongs to the cell south or east of it.

        Raises
        ------
        GridError
            No active cell is there; the message names the nearest one with its coordinates and distance.
        """
        row = self._row(latitude)
        column = int(np.floor(round(round(longitude - self.lon_bnds[0, 0], DIGITS) % 360.0 / self.dlon, DIGITS)))
        on_raster = 0 <= row < self.nlat and 0 <= column < self.nlon
        if on_raster and self.active[row, column]:
            return int(np.flatnonzero(self.order == row * self.nlon + column)[0])
        raise no_cell(self, longitude, latitude, "in the sea or outside the mask" if on_raster else "outside the grid")

    def _row(self, latitude: float) -> int:
        """The row that holds a latitude, if there is one; the south pole belongs to the row beside it."""
        row = int(np.floor(round((latitude - self.even_lat_bnds[0, 0]) / self.dlat, DIGITS)))
        return self.nlat - 1 if latitude == self.lat_bnds[-1, 1] == -90.0 else row

    def select(self, region: RegionLike) -> Integers:
        """The packed positions of the cells whose centres lie in a region, ascending.

        Raises
        ------
        GridError
            The region is malformed, unknown, or holds no active cell.
        """
        return select_cells(self, region)

    def unpack(self, values: Array, fill: float = np.nan) -> Array:
        """Packed values (..., cells) as maps (..., nlat, nlon), `fill` where no cell is active.

        Keeps the dtype where it can hold `fill`: float32 stays, integers become float64 for NaN.
        """
        return spread(values, self.order, (self.nlat, self.nlon), fill)


def _centres(first: float, spacing: float, count: int) -> Floats:
    return read_only(np.round(first + spacing * np.arange(count), DIGITS))


def _edges(first: float, spacing: float, count: int) -> Floats:
    edges = np.round(first + spacing * (np.arange(count + 1) - 0.5), DIGITS)
    return read_only(np.stack([edges[:-1], edges[1:]], axis=1))


def read_only(values: NDArray[Number]) -> NDArray[Number]:
    """The same array, which can no longer be changed."""
    values.flags.writeable = False
    return values
