from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from steppe.errors import GridError
from steppe.grid import Gaussian, Points, Raster, builtin_grid, read_grid
from steppe.grid.read import read_raster

MASK = np.random.default_rng(5).random((20, 30)) < 0.6
GRID = Raster(-10.05, -0.1, 138.05, 0.1, MASK)


def store(path: Path, values: dict[str, Any] | None = None, lat: Any = GRID.lat, lon: Any = GRID.lon, **attributes: Any) -> Path:
    data = {name: (("lat", "lon"), array) for name, array in (values or {"mask": MASK}).items()}
    dataset = xr.Dataset(data, coords={"lat": ("lat", np.asarray(lat)), "lon": ("lon", np.asarray(lon))})
    for name, attribute in attributes.items():
        dataset[name].attrs.update(attribute)
    dataset.to_zarr(path / "grid.zarr", consolidated=False)
    return path / "grid.zarr"


def read(path: Path) -> Raster:
    grid = read_grid(file=path)
    assert isinstance(grid, Raster)
    return grid


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
def test_a_mask_makes_the_grid(tmp_path: Path, dtype: Any) -> None:
    assert read(store(tmp_path, {"mask": MASK.astype(dtype)})) == GRID


def test_any_other_variable_is_active_where_it_has_a_value(tmp_path: Path) -> None:
    assert read(store(tmp_path, {"soil_depth": np.where(MASK, 0.0, np.nan)})) == GRID


def test_rows_from_the_south_are_flipped(tmp_path: Path) -> None:
    assert read(store(tmp_path, {"mask": MASK[::-1]}, lat=GRID.lat[::-1])) == GRID


def test_axes_are_known_by_their_units_and_may_come_in_any_order(tmp_path: Path) -> None:
    dataset = xr.Dataset({"mask": (("x", "y"), MASK.T)}, coords={"y": GRID.lat, "x": GRID.lon})
    dataset["y"].attrs["units"] = "degrees_north"
    dataset["x"].attrs["standard_name"] = "longitude"
    dataset.to_zarr(tmp_path / "a.zarr", consolidated=False)
    assert read(tmp_path / "a.zarr") == GRID


def test_coordinates_in_single_precision_lose_their_noise(tmp_path: Path) -> None:
    assert read(store(tmp_path, lat=GRID.lat.astype(np.float32), lon=GRID.lon.astype(np.float32))) == GRID


def test_longitudes_from_0_to_360_become_those_from_180_west(tmp_path: Path) -> None:
    mask = np.arange(4 * 36).reshape(4, 36) % 7 > 2
    grid = read(store(tmp_path, {"mask": mask}, lat=[30.0, 20.0, 10.0, 0.0], lon=np.arange(36) * 10.0))
    assert grid.lon.tolist() == [-180.0 + 10.0 * i for i in range(36)]
    for column, longitude in enumerate(np.arange(36) * 10.0):
        at = grid.lon.tolist().index(longitude if longitude < 180.0 else longitude - 360.0)
        assert (grid.active[:, at] == mask[:, column]).all()


@pytest.mark.parametrize("latitude", [10.0, -90.0])
@pytest.mark.parametrize("high", [None, 4.0])
def test_a_single_row_is_as_high_as_its_bounds_say_or_as_a_cell_is_wide(tmp_path: Path, latitude: float, high: float | None) -> None:
    path = store(tmp_path, {"mask": np.ones((1, 4), bool)}, lat=[latitude], lon=np.arange(4) * 10.0)
    if high:
        bounds = np.clip([[latitude + high / 2, latitude - high / 2]], -90.0, 90.0)
        dataset = xr.open_zarr(path, consolidated=False).load().assign(lat_bnds=(("lat", "bnds"), bounds))
        dataset["lat"].attrs["bounds"] = "lat_bnds"
        dataset.to_zarr(path, mode="w", consolidated=False)
    assert read(path) == Raster(latitude, -(high or 10.0), 0.0, 10.0, np.ones((1, 4), bool))


def test_a_single_column_is_as_wide_as_a_cell_is_high(tmp_path: Path) -> None:
    assert read(store(tmp_path, {"mask": MASK[:3, :1] | True}, lat=GRID.lat[:3], lon=[200.0])) == Raster(
        -10.05, -0.1, -160.0, 0.1, np.ones((3, 1), bool)
    )


def test_a_single_cell_of_unknown_size_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = store(tmp_path, {"mask": np.ones((1, 1), bool)}, lat=[10.0], lon=[20.0])
    with pytest.raises(GridError, match=r'"lat" and "lon" have one value each, .* take more of the map, or make a table of the place'):
        read(path)


def test_axes_of_a_rotated_pole_are_no_latitudes(tmp_path: Path) -> None:
    path = store(tmp_path)
    dataset = xr.open_zarr(path, consolidated=False).load()
    dataset["lat"].attrs |= {"standard_name": "grid_latitude", "units": "degrees_north"}
    dataset.to_zarr(path, mode="w", consolidated=False)
    with pytest.raises(GridError, match="No one-dimensional latitude was found"):
        read(path)


def test_longitudes_with_both_0_and_360_are_refused_with_the_file_and_what_to_keep(tmp_path: Path) -> None:
    path = store(tmp_path, {"mask": np.ones((2, 37), bool)}, lat=[10.0, 0.0], lon=np.arange(37) * 10.0)
    said = rf'"{path}": "lon" goes from 0 to 360, more than once round: .*dataset.isel\(lon=slice\(36\)\)'
    with pytest.raises(GridError, match=said):
        read(path)


@pytest.mark.parametrize("poles", [0, 1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [7, 11, 36, 108, 540])
def test_a_circle_whose_spacing_has_no_6_decimals_is_one(tmp_path: Path, columns: int, dtype: type, poles: int) -> None:
    lat = np.linspace(90.0, -90.0, 271).astype(dtype) if poles else (90.0 - (np.arange(270) + 0.5) * 2.0 / 3.0).astype(dtype)
    grid = read(
        store(tmp_path, {"mask": np.ones((lat.size, columns), bool)}, lat=lat, lon=(np.arange(columns) * 360.0 / columns).astype(dtype))
    )
    assert round(columns * grid.dlon, 10) == 360.0
    assert -180.0 <= grid.lon[0] < -180.0 + grid.dlon
    np.testing.assert_allclose(grid.cell_area.sum(), 5.10065621724e14, rtol=1e-9)  # the ellipsoid
    (tmp_path / "again").mkdir()
    assert read(store(tmp_path / "again", {"mask": grid.active}, lat=grid.lat, lon=grid.lon)) == grid


def test_the_southern_half_of_the_earth_ends_at_its_pole(tmp_path: Path) -> None:
    lat = -(np.arange(135) + 0.5) * 2.0 / 3.0
    grid = read(store(tmp_path, {"mask": np.ones((135, 3), bool)}, lat=lat, lon=[0.0, 1.0, 2.0]))
    assert grid.lat_bnds[[0, -1], [0, 1]].tolist() == [0.0, -90.0]


@pytest.mark.parametrize(("lon", "first"), [([250.0, 251.0, 252.0], -110.0), ([179.0, -180.0, -179.0], 179.0), ([2.0, 1.0, 0.0], 0.0)])
def test_a_part_of_the_circle_keeps_its_order_from_the_west(tmp_path: Path, lon: list[float], first: float) -> None:
    mask = np.array([[True, False, False], [True, True, False]])
    grid = read(store(tmp_path, {"mask": mask}, lat=[1.0, 0.0], lon=lon))
    assert grid.lon.tolist() == [first, first + 1.0, first + 2.0]
    assert grid.active[0].tolist() == ([False, False, True] if lon[0] > lon[1] > lon[2] else [True, False, False])


@pytest.mark.parametrize("first", [178.0, -1.0])
@pytest.mark.parametrize("circle", [-180.0, 0.0])
def test_a_part_of_the_circle_may_be_sorted_by_longitude(tmp_path: Path, first: float, circle: float) -> None:
    """Columns go on over the ends of the file: -179.5, -179, 178, 178.5."""
    columns = first + 0.5 * np.arange(6)
    lon = (columns - circle) % 360.0 + circle
    order, mask = np.argsort(lon), np.arange(18).reshape(3, 6) % 5 > 0
    grid = read(store(tmp_path, {"mask": mask[:, order]}, lat=[30.0, 29.5, 29.0], lon=lon[order]))
    assert grid == Raster(30.0, -0.5, first, 0.5, mask)


def test_a_store_of_packed_cells_is_a_grid(tmp_path: Path) -> None:
    packed = xr.Dataset(
        {"rain": (("cell",), np.zeros(GRID.n_cells))},
        coords={"lat": GRID.lat, "lon": GRID.lon, "cell": GRID.order, "cell_lat": ("cell", GRID.cell_lat)},
    )
    packed["cell"].attrs["compress"] = "lat lon"
    packed["cell_lat"].attrs["standard_name"] = "latitude"
    packed.to_zarr(tmp_path / "packed.zarr", consolidated=False)
    assert read(tmp_path / "packed.zarr") == GRID


def test_one_of_several_variables_is_chosen_by_name(tmp_path: Path) -> None:
    path = store(tmp_path, {"soil": np.where(MASK, 1.0, np.nan), "trees": np.ones(MASK.shape)})
    with pytest.raises(GridError, match=r"One variable of lat and lon is needed as mask, found soil, trees"):
        read(path)
    assert read_raster(path, "soil") == GRID
    with pytest.raises(GridError, match='Did you mean "soil"'):
        read_raster(path, "soils")


def test_a_mask_is_preferred_to_data(tmp_path: Path) -> None:
    path = store(tmp_path, {"land": MASK.astype(np.int8), "trees": np.ones(MASK.shape)}, land={"standard_name": "land_binary_mask"})
    assert read(path) == GRID


@pytest.mark.parametrize("value", [7, 255, 0.7, -1])
def test_zeros_beside_other_values_do_not_say_which_cells_take_part(tmp_path: Path, value: float) -> None:
    basin = np.where(MASK, value, 0)
    with pytest.raises(GridError, match=rf'"basin" is 0 in {(~MASK).sum()} of {MASK.size} cells and missing in none.*\["basin"\] != 0'):
        read(store(tmp_path, {"basin": basin}))
    (tmp_path / "other").mkdir()
    assert read(store(tmp_path / "other", {"basin": np.where(MASK, value, np.nan)})) == GRID


def test_zeros_and_ones_are_a_mask_whatever_their_name(tmp_path: Path) -> None:
    basin, height = MASK.astype(np.int8), np.where(MASK, 7.0, np.nan)
    for each, values in (("alone", {"basin": basin, "height": height}), ("beside", {"mask": MASK, "burnt": 1 - basin})):
        (tmp_path / each).mkdir()
        assert read(store(tmp_path / each, values)) == GRID


@pytest.mark.parametrize("name", ["catchment", "lsm", "mask"])
def test_a_zero_beside_missing_values_is_outside(tmp_path: Path, name: str) -> None:
    """A corner of the rectangle is missing; elsewhere 1 is inside and 0 outside."""
    values = MASK.astype(np.float32)
    values[:4, :5] = np.nan
    grid = read(store(tmp_path, {name: values}))
    np.testing.assert_array_equal(grid.active, values == 1.0)


@pytest.mark.parametrize("value", [0.3, 100.0, -1.0, 2.0])
def test_a_mask_of_other_numbers_than_zeros_and_ones_is_refused(tmp_path: Path, value: float) -> None:
    values = MASK.astype(float)
    values[3, 4] = value
    with pytest.raises(GridError, match=rf'The mask "land_mask" is {value:g} in a cell, expected 0 or 1, or missing outside \(1 such'):
        read(store(tmp_path, {"land_mask": values}))


def test_uneven_spacing_is_shown(tmp_path: Path) -> None:
    lat = GRID.lat.copy()
    lat[7] -= 0.05
    with pytest.raises(GridError, match=r"Latitude is not evenly spaced: around index 7 it is -10.65, -10.8, -10.85") as error:
        read(store(tmp_path, lat=lat))
    assert "grid.zarr" in str(error.value)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_file_of_a_gaussian_grid_names_the_key_that_needs_no_file(tmp_path: Path, turn: int) -> None:
    grid = Gaussian(32)
    path = store(tmp_path, {"mask": grid.active}, lat=grid.lat[::turn].astype(np.float32), lon=grid.lon)
    with pytest.raises(
        GridError, match=r"not evenly spaced.* regrid the file first\. A run on this Gaussian grid needs no file: \[grid\] gaussian = 32"
    ):
        read(path)


def test_a_file_without_axes_or_with_places_alone_is_explained(tmp_path: Path) -> None:
    xr.Dataset({"a": (("y", "x"), np.ones((2, 2)))}).to_zarr(tmp_path / "a.zarr", consolidated=False)
    with pytest.raises(GridError, match=r"No one-dimensional latitude was found among a\."):
        read(tmp_path / "a.zarr")
    places = {"lat": ("station", [1.0, 5.0, 2.0]), "lon": ("station", [1.0, 2.0, 7.0])}
    xr.Dataset({"a": (("station",), np.ones(3))}, places).to_zarr(tmp_path / "b.zarr", consolidated=False)
    with pytest.raises(GridError, match=r'"lat" and "lon" both lie along "station", .* no map\. Regrid a reduced grid'):
        read(tmp_path / "b.zarr")


def test_a_file_that_is_no_raster_is_explained(tmp_path: Path) -> None:
    (tmp_path / "mask.nc").write_bytes(b"CDF no")
    with pytest.raises(GridError, match=r"mask\.nc.*cannot be read as a raster"):
        read(tmp_path / "mask.nc")
    with pytest.raises(GridError, match=r'There is no file ".*none\.zarr"'):
        read(tmp_path / "none.zarr")


def test_exactly_one_source_makes_a_grid(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("id,lat,lon\na,-27,150\n")
    assert isinstance(read_grid(points=tmp_path / "points.csv"), Points)
    assert read_grid(region="queensland") is builtin_grid("queensland")
    with pytest.raises(GridError, match="exactly one of"):
        read_grid()
    with pytest.raises(GridError, match="exactly one of"):
        read_grid(region="queensland", file=tmp_path)


def test_a_geotiff_is_refused_with_the_line_that_converts_it(tmp_path: Path) -> None:
    (tmp_path / "mask.tif").write_bytes(b"II*\0")
    with pytest.raises(GridError, match=r"Convert it: gdal_translate -of netCDF \S+mask\.tif mask\.nc"):
        read_grid(file=tmp_path / "mask.tif")
