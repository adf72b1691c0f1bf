"""A raster with even spacing in the metres of a map projection."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats, Integers
from steppe.errors import GridError
from steppe.grid.earth import E2, distances
from steppe.grid.packing import no_cell, select_cells, spread, strip_order
from steppe.grid.region import RegionLike

if TYPE_CHECKING:
    import pyproj

DIGITS = 4  # decimals of a metre that count


@dataclass(frozen=True, eq=False)
class Projected:
    """Cells of one size in metres; row 0 is that of the greatest y, the north of most maps.

    y0, x0: centre of the first cell [m]. dy < 0, dx > 0: from one centre to the next [m]. active (ny, nx): True for active cells.
    crs: attributes of the CF grid mapping, with `crs_wkt`. cell_lat, cell_lon (cells,) [degrees] and cell_area (cells,) [m2]: of the packed
    cells; `project` computes them and a store contains them, so a run needs no library of projections.

    Raises
    ------
    GridError
        The spacing has the wrong sign, no cell is active, or places and cells differ in number.
    """

    y0: float
    dy: float
    x0: float
    dx: float
    active: NDArray[np.bool_]
    crs: Mapping[str, object]
    cell_lat: Floats
    cell_lon: Floats
    cell_area: Floats

    def __post_init__(self) -> None:
        for name in ("active", "cell_lat", "cell_lon", "cell_area"):
            values = np.array(getattr(self, name))
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if not (self.dy < 0 < self.dx):
            raise GridError(f"A projected raster needs dy < 0 (row 0 in the north) and dx > 0, it has {self.dy:g} and {self.dx:g}.")
        if self.active.ndim != 2 or self.active.dtype != np.bool_ or not self.active.any():
            raise GridError("No cell of the raster is active. Check the mask.")
        if not self.cell_lat.shape == self.cell_lon.shape == self.cell_area.shape == (self.n_cells,):
            raise GridError(f"A projected raster of {self.n_cells} cells was given {self.cell_lat.size} places. This is a defect.")

    @classmethod
    def project(cls, y0: float, dy: float, x0: float, dx: float, active: NDArray[np.bool_], crs: Mapping[str, object]) -> "Projected":
        """The raster of a projection; PROJ computes places and areas.

        Raises
        ------
        GridError
            The grid mapping describes no projection, or a cell has no place on Earth.
        """
        projection = parse_crs(crs)
        order = strip_order(active)
        x, y = x0 + dx * (order % active.shape[1]), y0 + dy * (order // active.shape[1])
        lon, lat = unproject(projection, x, y)
        if not (np.isfinite(lat) & np.isfinite(lon)).all():
            first = int(np.argmin(np.isfinite(lat) & np.isfinite(lon)))
            raise GridError(
                f"The cell at x {x[first]:g}, y {y[first]:g} m has no place on Earth in this projection. Check axes and grid mapping."
            )
        return cls(y0, dy, x0, dx, active, {**crs, "crs_wkt": projection.to_wkt()}, lat, lon, _areas(projection, lon, lat, -dy * dx))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Projected) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def shape(self) -> Mapping[str, int]:
        """Rows and columns, as {"y": ny, "x": nx}."""
        return MappingProxyType({"y": self.active.shape[0], "x": self.active.shape[1]})

    @cached_property
    def y(self) -> Floats:
        """Centres of the rows, (ny,) [m], falling."""
        return np.round(self.y0 + self.dy * np.arange(self.active.shape[0]), DIGITS)

    @cached_property
    def x(self) -> Floats:
        """Centres of the columns, (nx,) [m], rising."""
        return np.round(self.x0 + self.dx * np.arange(self.active.shape[1]), DIGITS)

    @cached_property
    def order(self) -> Integers:
        """Row-major index of each packed cell, (cells,), in strips as on any raster."""
        return strip_order(self.active)

    @property
    def n_cells(self) -> int:
        """Number of active cells."""
        return int(np.count_nonzero(self.active))

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of kind, geometry, mask, and places of the first and last cell, since a projection has many spellings."""
        numbers = " ".join(f"{round(number, DIGITS):z.{DIGITS}f}" for number in (self.y0, self.dy, self.x0, self.dx))
        places = " ".join(f"{self.cell_lat[cell]:.3f} {self.cell_lon[cell]:.3f}" for cell in (0, -1))
        text = f"projected {numbers} {self.active.shape} {places}"
        return hashlib.sha256(text.encode() + np.packbits(self.active).tobytes()).hexdigest()

    def coordinates(self) -> Mapping[str, Array]:
        """Name -> array of the CF coordinate variables: axes with bounds [m], centres [degrees] and areas [m2] of the packed cells."""
        bounds = {
            f"{name}_bnds": np.stack([centres - step / 2, centres + step / 2], axis=1)
            for name, centres, step in (("y", self.y, self.dy), ("x", self.x, self.dx))
        }
        packed = {"cell_lat": self.cell_lat, "cell_lon": self.cell_lon, "cell_area": self.cell_area}
        return {"y": self.y, "x": self.x, **bounds, **packed}

    def locate(self, longitude: float, latitude: float) -> int:
        """The packed position of the cell with the nearest centre, within the distance of a corner of a cell from its centre.

        Raises
        ------
        GridError
            No active cell is that near; the message names the nearest one with its coordinates and distance.
        """
        metres = distances(longitude, latitude, self.cell_lon, self.cell_lat)
        near = int(np.argmin(metres))
        stretch = np.sqrt(self.cell_area[near] / (-self.dy * self.dx))  # metres on the ground for one on the map
        if metres[near] <= stretch * np.hypot(self.dx, self.dy) / 2.0:
            return near
        raise no_cell(self, longitude, latitude, "outside the mask or the grid")

    def select(self, region: RegionLike) -> Integers:
        """The packed positions of the cells whose centres lie in a region, ascending.

        Raises
        ------
        GridError
            The region is malformed, unknown, or holds no active cell.
        """
        return select_cells(self, region)

    def unpack(self, values: Array, fill: float = np.nan) -> Array:
        """Packed values (..., cells) as maps (..., ny, nx), `fill` where no cell is active."""
        return spread(values, self.order, (self.active.shape[0], self.active.shape[1]), fill)


def parse_crs(attributes: Mapping[str, object]) -> "pyproj.CRS":
    """The projection of a CF grid mapping, with axes in metres whatever unit its own have.

    Raises
    ------
    GridError
        The attributes describe no projection.
    """
    return _parse_crs(json.dumps(dict(attributes), sort_keys=True, default=str))


@cache
def _parse_crs(text: str) -> "pyproj.CRS":
    """Cached, since PROJ takes half a second to find the datum of parameters."""
    import pyproj  # when a grid is made or weather is brought onto it, not in a run

    attributes = json.loads(text)
    try:
        wkt = attributes.get("crs_wkt") or attributes.get("spatial_ref")
        found = pyproj.CRS.from_wkt(wkt) if wkt else pyproj.CRS.from_cf(attributes)
        if any(axis.unit_conversion_factor != 1.0 for axis in found.axis_info) and found.is_projected:
            about = found.to_json_dict()
            for axis in about.get("source_crs", about)["coordinate_system"]["axis"]:
                axis["unit"] = "metre"
            found = pyproj.CRS.from_json_dict({key: value for key, value in about.items() if key != "id"})
    except (pyproj.exceptions.CRSError, KeyError, TypeError, ValueError) as error:
        raise GridError(f"The grid mapping is no projection that PROJ knows ({error}). Give crs_wkt, or CF's parameters of it.") from None
    if not found.is_projected:
        raise GridError(f'The grid mapping "{found.name}" is no projection. Axes in metres need one.')
    return found


def project(crs: "pyproj.CRS", longitude: Array, latitude: Array) -> tuple[Array, Array]:
    """Places [degrees of WGS 84] as x and y [m]."""
    import pyproj

    x, y = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(longitude, latitude)
    return np.asarray(x), np.asarray(y)


def unproject(crs: "pyproj.CRS", x: Array, y: Array) -> tuple[Array, Array]:
    """x and y [m] as longitude and latitude [degrees of WGS 84]."""
    import pyproj

    longitude, latitude = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True).transform(x, y)
    return np.asarray(longitude), np.asarray(latitude)


def _areas(crs: "pyproj.CRS", longitude: Array, latitude: Array, on_map: float) -> Array:
    """Area on the ground [m2] of cells of `on_map` m2: divided by the areal scale in their middle, Snyder (1987), section 4."""
    import pyproj

    scale = pyproj.Proj(crs).get_factors(longitude, latitude).areal_scale
    areas: Array = on_map / np.asarray(scale, dtype=np.float64)
    if "Pseudo Mercator" in getattr(crs.coordinate_operation, "method_name", ""):  # PROJ has the scale on a sphere that touches the equator
        areas *= (1.0 - E2) / (1.0 - E2 * np.sin(np.radians(latitude)) ** 2) ** 2
    return areas
