"""Coordinates of grids as readers of CF files expect them: the same in stores, in exports and in answers of a server.

A store has packed cells; a map has the dimensions of its grid: (lat, lon), (y, x), or (cell,) of points.
"""

from collections.abc import Mapping

import numpy as np

from steppe.array_types import Array
from steppe.grid.grid import Grid
from steppe.grid.projected import Projected

COORDINATE_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "lat": {"units": "degrees_north", "standard_name": "latitude", "long_name": "latitude of rows", "axis": "Y", "bounds": "lat_bnds"},
    "lon": {"units": "degrees_east", "standard_name": "longitude", "long_name": "longitude of columns", "axis": "X", "bounds": "lon_bnds"},
    "y": {"units": "m", "standard_name": "projection_y_coordinate", "long_name": "y of rows", "axis": "Y", "bounds": "y_bnds"},
    "x": {"units": "m", "standard_name": "projection_x_coordinate", "long_name": "x of columns", "axis": "X", "bounds": "x_bnds"},
    "cell_lat": {"units": "degrees_north", "standard_name": "latitude", "long_name": "latitude of the cell"},
    "cell_lon": {"units": "degrees_east", "standard_name": "longitude", "long_name": "longitude of the cell"},
    "cell_area": {"units": "m2", "standard_name": "cell_area", "long_name": "area of the cell"},
    "cell_id": {"cf_role": "timeseries_id", "long_name": "name of the place"},
}
_AXES = ("lat", "lon", "y", "x")
AXIS_DIMENSIONS = {**{name: (name,) for name in _AXES}, **{f"{name}_bnds": (name, "bnds") for name in _AXES}}
OF_CELLS = {"lat": "cell_lat", "lon": "cell_lon", "cell_area": "cell_area"}  # name in a map or a list of cells -> name in a store
WGS84: Mapping[str, object] = {
    "grid_mapping_name": "latitude_longitude",
    "semi_major_axis": 6378137.0,
    "inverse_flattening": 298.257223563,
    "longitude_of_prime_meridian": 0.0,
    "crs_wkt": 'GEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563]],CS[ellipsoidal,2],'
    'AXIS["latitude",north],AXIS["longitude",east],UNIT["degree",0.0174532925199433],ID["EPSG",4326]]',
}


def crs_of(grid: Grid) -> Mapping[str, object]:
    """The attributes of the grid mapping of a grid."""
    return grid.crs if isinstance(grid, Projected) else WGS84


def map_dimensions(grid: Grid) -> dict[str, tuple[str, ...]]:
    """Name -> dimensions of each coordinate of whole maps: axes with bounds, grid mapping; latitudes, longitudes, areas of cells."""
    known = grid.coordinates()
    axes = {name: dims for name, dims in AXIS_DIMENSIONS.items() if name in known}
    return {**{name: tuple(grid.shape) for name, packed in OF_CELLS.items() if packed in known}, **axes, "crs": ()}


def map_values(grid: Grid, name: str) -> Array:
    """The values of a coordinate of whole maps; NaN where there is no cell."""
    if name == "crs":
        return np.zeros((), np.int32)
    known = grid.coordinates()
    return known[name] if name in known and name in AXIS_DIMENSIONS else grid.unpack(known[OF_CELLS[name]])


def map_attributes(grid: Grid, name: str) -> Mapping[str, object]:
    """The attributes of a coordinate of whole maps."""
    if name == "crs":
        return crs_of(grid)
    stored = name if name in grid.coordinates() else OF_CELLS[name]
    return {**COORDINATE_ATTRIBUTES.get(stored, {}), **({"grid_mapping": "crs"} if name == "cell_area" else {})}


def references(dimensions: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The attributes by which a variable names its coordinates. dimensions: of all coordinates, by name."""
    beside = {"coordinates": "lat lon"} if dimensions["lat"] != ("lat",) else {}
    return {"grid_mapping": "crs", **beside, **({"cell_measures": "area: cell_area"} if "cell_area" in dimensions else {})}
