"""Which cell of a file a place takes its value from, right beside the edges of cells."""

from itertools import product

import numpy as np
import pytest
import xarray

from steppe.grid import Points, read_lattice
from steppe.grid.projected import parse_crs, unproject
from steppe.ingest.regrid import Regrid

ROWS, COLUMNS = 5, 6
ALBERS = {
    "grid_mapping_name": "albers_conical_equal_area",
    "standard_parallel": [-18.0, -36.0],
    "longitude_of_central_meridian": 132.0,
    "latitude_of_projection_origin": 0.0,
    "semi_major_axis": 6378137.0,
    "inverse_flattening": 298.257222101,
}


def degrees() -> xarray.Dataset:
    return xarray.Dataset(coords={"lat": -20.0 - 0.25 * np.arange(ROWS), "lon": 143.0 + 0.4 * np.arange(COLUMNS)})


def metres() -> xarray.Dataset:
    y = ("y", -2.0e6 - 5000.0 * np.arange(ROWS), {"standard_name": "projection_y_coordinate", "units": "m"})
    x = ("x", 1.0e6 + 8000.0 * np.arange(COLUMNS), {"standard_name": "projection_x_coordinate", "units": "m"})
    rain = (("y", "x"), np.zeros((ROWS, COLUMNS)), {"grid_mapping": "crs"})
    return xarray.Dataset({"rain": rain, "crs": ((), 0, ALBERS)}, {"y": y, "x": x})


@pytest.mark.parametrize("file", [degrees, metres])
@pytest.mark.parametrize("near", [0.01, 0.02, 0.03, 0.04])
def test_a_place_near_an_edge_takes_the_nearest_cell(file, near):
    lattice = read_lattice(file())
    sides = (-0.5 + near, 0.5 - near)  # [cell] from the centre of a cell, on both sides
    places = [(row + up, column + right) for row, column in product(range(ROWS), range(COLUMNS)) for up, right in product(sides, sides)]
    row, column = np.array(places).T
    lat, lon = lattice.lat[0] + row * lattice.dlat, lattice.lon[0] + column * lattice.dlon
    distance = (lat[:, None, None] - lattice.lat[:, None]) ** 2 + (lon[:, None, None] - lattice.lon) ** 2
    nearest = distance.reshape(len(places), -1).argmin(axis=1)
    if lattice.crs is not None:
        lon, lat = unproject(parse_crs(lattice.crs), lon, lat)
    points = Points(tuple(map(str, range(len(places)))), lat, lon)
    numbers = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(1, ROWS, COLUMNS)
    found = Regrid(lattice, points, "nearest", "a test")(numbers)
    np.testing.assert_array_equal(found[0], nearest)
