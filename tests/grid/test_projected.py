"""Rasters of a projection: places and areas from PROJ once, cells as on any raster from then on."""

from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr

from steppe.errors import GridError
from steppe.grid import Projected, Raster, read_grid
from steppe.grid.earth import band_areas
from steppe.grid.keep import keep, kept
from steppe.grid.projected import parse_crs, project

ALBERS = {
    "grid_mapping_name": "albers_conical_equal_area",
    "standard_parallel": [-18.0, -36.0],
    "longitude_of_central_meridian": 132.0,
    "latitude_of_projection_origin": 0.0,
    "false_easting": 0.0,
    "false_northing": 0.0,
    "semi_major_axis": 6378137.0,
    "inverse_flattening": 298.257222101,
}
MASK = np.random.default_rng(3).random((30, 80)) < 0.7
Y, X = -2_700_000.0 - 5000.0 * np.arange(30), 1_000_000.0 + 5000.0 * np.arange(80)


def write(path: Path, mask: Any = MASK, y: Any = Y, x: Any = X, units: str = "m", crs: dict[str, Any] | None = None) -> Path:
    axes = {
        "y": ("y", np.asarray(y), {"standard_name": "projection_y_coordinate", "units": units}),
        "x": ("x", np.asarray(x), {"standard_name": "projection_x_coordinate", "units": units}),
    }
    data = {"land_mask": (("y", "x"), mask.astype("int8"), {"grid_mapping": "crs"}), "crs": ((), 0, ALBERS if crs is None else crs)}
    xr.Dataset(data, axes).to_netcdf(path)
    return path


def read(path: Path) -> Projected:
    grid = read_grid(file=path)
    assert isinstance(grid, Projected)
    return grid


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Projected:
    return read(write(tmp_path_factory.mktemp("grid") / "mask.nc"))


def test_cells_lie_where_the_projection_puts_them(grid: Projected) -> None:
    """Against the formulas of Snyder (1987), equations 14-1 to 14-6 and 3-12, for the ellipsoid GRS 1980."""
    e2 = (f := 1 / 298.257222101) * (2 - f)
    e = np.sqrt(e2)

    def q(lat: Any) -> Any:
        sine = np.sin(np.radians(lat))
        return (1 - e2) * (sine / (1 - e2 * sine**2) + np.arctanh(e * sine) / e)

    def m(lat: float) -> float:
        return float(np.cos(np.radians(lat)) / np.sqrt(1 - e2 * np.sin(np.radians(lat)) ** 2))

    n = (m(-18.0) ** 2 - m(-36.0) ** 2) / (q(-36.0) - q(-18.0))
    c = m(-18.0) ** 2 + n * q(-18.0)
    rho = 6378137.0 * np.sqrt(c - n * q(grid.cell_lat)) / n
    theta = n * np.radians(grid.cell_lon - 132.0)
    row, column = np.divmod(grid.order, 80)
    np.testing.assert_allclose(rho * np.sin(theta), X[column], atol=0.01)
    np.testing.assert_allclose(6378137.0 * np.sqrt(c) / n - rho * np.cos(theta), Y[row], atol=0.01)


def test_areas_are_those_on_the_ground(grid: Projected) -> None:
    np.testing.assert_allclose(grid.cell_area, 25e6, rtol=1e-6)  # the projection keeps areas
    mercator = Projected.project(
        -2.8e6, -1000.0, 1.6e7, 1000.0, np.ones((2, 2), bool), {"grid_mapping_name": "mercator", "standard_parallel": 0.0}
    )
    lat = mercator.cell_lat[0]
    half = np.degrees(1000.0 / 6378137.0) / 2
    across = np.degrees(1000.0 / 6378137.0)
    south = half * np.cos(np.radians(lat))
    expected = band_areas(np.array([[lat + south, lat - south]])) * across
    np.testing.assert_allclose(mercator.cell_area[0], expected, rtol=0.01)


def test_areas_of_web_mercator_are_those_on_the_ellipsoid() -> None:
    crs, size = pyproj.CRS.from_epsg(3857), 10_000.0
    found = Projected.project(8.0e6, -4.0e6, 1.0e6, size, np.ones((4, 1), bool), {"crs_wkt": crs.to_wkt()})
    degrees = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
    for y, area in zip(found.y, found.cell_area * size / 4.0e6, strict=True):
        corners = zip(*[(1.0e6 + size * e, y + size * n) for e, n in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))], strict=True)
        lon, lat = degrees.transform(*map(np.array, corners))
        np.testing.assert_allclose(area, abs(pyproj.Geod(ellps="WGS84").polygon_area_perimeter(lon, lat)[0]), rtol=2e-5)


def test_the_order_is_that_of_every_raster(grid: Projected) -> None:
    assert grid.order.tolist() == Raster(-20.0, -0.1, 140.0, 0.1, MASK).order.tolist()
    assert np.isnan(grid.unpack(np.arange(grid.n_cells))[~MASK]).all()
    assert grid.shape == {"y": 30, "x": 80}


@pytest.mark.parametrize("change", ["south", "east", "kilometres"])
def test_rows_and_columns_may_run_either_way_and_in_kilometres(tmp_path: Path, grid: Projected, change: str) -> None:
    how: dict[str, Any] = {
        "south": {"mask": MASK[::-1], "y": Y[::-1]},
        "east": {"mask": MASK[:, ::-1], "x": X[::-1]},
        "kilometres": {"y": Y / 1000.0, "x": X / 1000.0, "units": "km"},
    }[change]
    assert read(write(tmp_path / "a.nc", **how)) == grid


@pytest.mark.parametrize("units", ["m", "km", "ft", "US_survey_foot"])
def test_a_projection_in_kilometres_has_its_cells_where_that_in_metres_has_them(tmp_path: Path, grid: Projected, units: str) -> None:
    wkt = pyproj.CRS.from_proj4("+proj=aea +lat_0=0 +lon_0=132 +lat_1=-18 +lat_2=-36 +ellps=GRS80 +units=km").to_wkt()
    length = {"m": 1.0, "km": 1000.0, "ft": 0.3048, "US_survey_foot": 1200.0 / 3937.0}[units]
    found = read(write(tmp_path / "a.nc", y=Y / length, x=X / length, units=units, crs={"crs_wkt": wkt}))
    np.testing.assert_allclose(found.cell_lat, grid.cell_lat, atol=1e-9)
    np.testing.assert_allclose(found.cell_lon, grid.cell_lon, atol=1e-9)
    np.testing.assert_allclose(found.cell_area, grid.cell_area, rtol=1e-9)
    x, y = project(parse_crs(found.crs), found.cell_lon, found.cell_lat)
    np.testing.assert_allclose([x[0], y[0]], [X[grid.order[0] % 80], Y[grid.order[0] // 80]], atol=1e-3)


def test_a_place_is_found_and_one_outside_is_not(grid: Projected) -> None:
    for cell in (0, 700, grid.n_cells - 1):
        assert grid.locate(grid.cell_lon[cell] + 0.01, grid.cell_lat[cell] - 0.01) == cell
    with pytest.raises(GridError, match=r"outside the mask or the grid. The nearest active cell is at longitude .* km away"):
        grid.locate(120.0, -20.0)


def test_a_region_is_one_of_longitudes_and_latitudes(grid: Projected) -> None:
    west, east = np.quantile(grid.cell_lon, [0.3, 0.6])
    found = grid.select({"box": [west, -40.0, east, 0.0]})
    assert (np.sort(found) == np.flatnonzero((grid.cell_lon >= west) & (grid.cell_lon <= east))).all()
    with pytest.raises(GridError, match=r"holds the centre of no active cell\. The grid spans longitude"):
        grid.select({"box": [100.0, -10.0, 101.0, -9.0]})


@pytest.mark.parametrize(
    ("crs", "says"),
    [
        ({"grid_mapping_name": "flat_earth"}, "The grid mapping is no projection that PROJ knows"),
        ({"grid_mapping_name": "latitude_longitude"}, "is no projection. Axes in metres need one"),
        ({"comment": "who knows"}, "are axes of a projection, but no variable describes it"),
    ],
)
def test_a_projection_that_is_not_said_is_asked_for(tmp_path: Path, crs: dict[str, Any], says: str) -> None:
    with pytest.raises(GridError, match=says):
        read_grid(file=write(tmp_path / "a.nc", crs=crs))


def test_axes_in_degrees_are_no_projection(tmp_path: Path) -> None:
    with pytest.raises(GridError, match='"y" is in "degrees", expected metres or kilometres'):
        read_grid(file=write(tmp_path / "a.nc", units="degrees"))


def test_a_grid_that_was_kept_is_the_same(tmp_path: Path, grid: Projected) -> None:
    for known in (grid, Raster(-20.0, -0.1, 140.0, 0.1, MASK)):
        keep(tmp_path / "kept.json", known)
        again = kept(tmp_path / "kept.json")
        assert again == known
        for name, values in known.coordinates().items():
            np.testing.assert_array_equal(again.coordinates()[name], values)
    assert kept(tmp_path / "none.json") is None
    torn = (tmp_path / "kept.json").read_bytes()[:-9]
    (tmp_path / "kept.json").write_bytes(torn)
    assert kept(tmp_path / "kept.json") is None
