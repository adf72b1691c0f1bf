"""Reading a store of fields: which chunks, either way up, levels, units, instants, and halos round the Earth."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pyproj
import pytest
import xarray
import zarr

from steppe.clock import Clock, parse_instant
from steppe.comm import BoxReach, World
from steppe.errors import BadCellError, ForcingError
from steppe.grid import Gaussian, Partition, Projected, Raster
from steppe.io import FieldReader, FieldStore
from steppe.io.forcing.field import Field, turned
from steppe.io.forcing.fields import in_box
from steppe.kernels.sums import totals
from steppe.levels import Space
from steppe.testing import run_threads
from steppe.variable import Role, Variable

ROWS, COLUMNS = 18, 36
EARTH = Raster(85.0, -10.0, -175.0, 10.0, np.ones((ROWS, COLUMNS), bool))
MAPS = np.random.default_rng(5).normal(size=(9, 3, ROWS, COLUMNS))
U = Variable("u", ("level", "y", "x"), "m s-1", "float64", Role.FORCING, "Wind", low=-100.0, high=100.0)
LEVELS = Space((1000.0, 850.0, 500.0), "hPa")
OPEN: list[FieldReader] = []
HOURS = {"units": "hours since 2001-03-05", "calendar": "standard"}


def dataset(maps: np.ndarray = MAPS, **attributes: str) -> xarray.Dataset:
    """u of every three hours, on the Earth."""
    axes: dict[str, Any] = {
        "time": ("time", 3.0 * np.arange(len(maps)), HOURS),
        "level": ("level", np.array(LEVELS.values), {"units": "hPa"}),
        "lat": ("lat", EARTH.lat, {"units": "degrees_north"}),
        "lon": ("lon", EARTH.lon, {"units": "degrees_east"}),
    }
    return xarray.Dataset({"u": (("time", "level", "lat", "lon"), maps, {"units": "m s-1", **attributes})}, axes)


def stored(path: Path, found: xarray.Dataset, chunks: tuple[int, ...] = (1, 3, 6, 6), **encoding: Any) -> FieldStore:
    found.to_zarr(path, mode="w", encoding={"u": {"chunks": chunks, **encoding}}, consolidated=False)
    return FieldStore.open(path)


def reader(store: FieldStore, *, variable: Variable = U, start: str = "2001-03-05T00:00", steps: int = 24, **how: Any) -> FieldReader:
    clock = Clock(parse_instant(start), timedelta(hours=1))
    found = FieldReader(store, {"u": variable}, clock, range(steps), EARTH, **{"spaces": {"level": LEVELS}, **how})
    OPEN.append(found)
    return found


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """No reader reads ahead into the next test."""
    yield
    while OPEN:
        OPEN.pop().close()


def filled(found: FieldReader, step: int, ranks: int = 1, rank: int = 0, halo: int = 1) -> np.ndarray:
    """With halos: what a box gets of a step."""
    box = Partition.boxes(EARTH, ranks, {"y": halo, "x": halo}, {"y": "pole"})[rank]
    values = np.full((3, *box.local), np.nan)
    found.fill(box, step, {"u": values})
    return values


def own(values: np.ndarray) -> np.ndarray:
    return values[..., 1:-1, 1:-1]


TURNS = {
    "as the grid": lambda found: found,
    "rows from the south": lambda found: found.isel(lat=slice(None, None, -1)),
    "columns from the east": lambda found: found.isel(lon=slice(None, None, -1)),
    "longitudes from 0 to 360": lambda found: found.assign_coords(lon=found["lon"] % 360.0).sortby("lon").assign_coords(),
    "levels from above": lambda found: found.isel(level=slice(None, None, -1)),
    "levels in pascals": lambda found: found.assign_coords(level=("level", 100.0 * found["level"].values, {"units": "Pa"})),
    "dims in another order": lambda found: found.transpose("lon", "level", "lat", "time"),
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(("ranks", "rank"), [(1, 0), (6, 0), (6, 4)])
def test_a_store_may_have_its_axes_either_way(tmp_path, turn, ranks, rank):
    found = TURNS[turn](dataset())
    for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
        found[name].attrs["units"] = units
    chunks = tuple({"time": 1, "level": 3, "lat": 6, "lon": 6}[dim] for dim in found["u"].dims)
    seen = filled(reader(stored(tmp_path / "winds.zarr", found, chunks), at="begin"), 3, ranks, rank)
    expected = filled(reader(stored(tmp_path / "plain.zarr", dataset()), at="begin"), 3, ranks, rank)
    np.testing.assert_array_equal(seen, expected)
    if ranks == 1:
        np.testing.assert_array_equal(own(seen), MAPS[1])


@pytest.mark.parametrize("parity", [1, -1])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_halos_round_the_earth_and_beyond_poles_are_those_of_an_exchange(ranks, parity):
    boxes = Partition.boxes(EARTH, ranks, {"y": 2, "x": 2}, {"y": "pole"})

    def rank(world: World) -> tuple[np.ndarray, np.ndarray]:
        box = boxes[world.rank]
        y, x = (slice(first, first + length) for first, length in zip(box.origin, box.shape, strict=True))
        exchanged = np.full((3, *box.local), np.nan)
        exchanged[:, *box.own] = MAPS[0][:, y, x]
        BoxReach(world, box, totals).exchange([exchanged], [parity]).finish()
        return exchanged, in_box(box, lambda rows, columns: MAPS[0][:, rows, columns], parity)

    for exchanged, read in run_threads(ranks, rank):
        np.testing.assert_array_equal(read, exchanged)


def test_only_chunks_that_a_box_touches_are_read(tmp_path):
    store = stored(tmp_path / "winds.zarr", dataset(), (1, 3, 3, 6))
    for chunk in (tmp_path / "winds.zarr" / "u" / "c").glob("*/*/*/*"):
        row, column = int(chunk.parent.name), int(chunk.name)
        if (row, column) not in {(i, j) for i in (3, 4, 5) for j in (0, 1, 2, 3, 5)}:  # of rows 9 .. 17 and columns 0 .. 17, with halos
            chunk.write_bytes(b"not a chunk")
    found = filled(reader(store, at="begin"), 0, 4, 2, halo=0)
    np.testing.assert_array_equal(found, MAPS[0][:, 9:, :18])


def test_records_of_one_chunk_are_read_together_and_the_next_ahead(tmp_path, monkeypatch):
    read, of_field = list[int](), Field.read
    monkeypatch.setattr(Field, "read", lambda self, block, *part: (read.append(block), of_field(self, block, *part))[1])
    found = reader(stored(tmp_path / "winds.zarr", dataset(), (4, 3, 18, 36)), at="begin")
    np.testing.assert_array_equal(own(filled(found, 3)), MAPS[1])
    until = time.monotonic() + 20
    while len(read) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert read == [0, 1]
    for step in range(4, 22):
        filled(found, step)
    assert read == [0, 1, 2]
    assert found.memory == (3 + 1) * 4 * 3 * (ROWS + 2) * (COLUMNS + 2) * 8


def test_values_are_those_of_the_instant_that_is_asked_for(tmp_path):
    store = stored(tmp_path / "winds.zarr", dataset())
    for at, hours in (("begin", 4.0), ("middle", 4.5), ("end", 5.0)):
        weight = (hours - 3.0) / 3.0
        np.testing.assert_array_equal(own(filled(reader(store, at=at), 4)), MAPS[1] + (MAPS[2] - MAPS[1]) * weight)
    last = Variable("u", U.dims, U.units, "float64", Role.FORCING, "Wind", between="last")
    found = reader(store, variable=last, steps=27)
    np.testing.assert_array_equal(own(filled(found, 5)), MAPS[1])
    np.testing.assert_array_equal(own(filled(found, 26)), MAPS[8])  # until one more record would begin
    with pytest.raises(ForcingError, match="has records from 2001-03-05T00:00 to 2001-03-06T00:00, but the run needs"):
        reader(store, variable=last, steps=28)


@pytest.mark.parametrize(
    ("units", "calendar", "values", "instant"),
    [
        ("seconds since 1970-01-01", "standard", 983750400 + 1800 * np.arange(3), "2001-03-05T00:00"),
        ("days since 1850-01-01", "noleap", 365.0 * 151 + 63 + np.arange(3) / 1440, "2001-03-05T00:00"),
        ("days since 0001-01-01", "proleptic_gregorian", 730548.0 + np.arange(3) / 3, "2001-03-05T00:00"),
        ("minutes since 2001-03-05 00:00:00.5", "360_day", np.arange(3), "2001-03-05T00:00:00.5"),
        ("Hours Since 2001-03-05 06:00 -6:00", "standard", np.arange(3) - 12, "2001-03-05T00:00"),
        ("hours since 2001-03-05 02:00:00.0 +2", "standard", np.arange(3), "2001-03-05T00:00"),
        ("hours since 1900-01-01", "standard", np.arange(886872, 886875, dtype="int32"), "2001-03-05T00:00"),
    ],
)
def test_instants_of_records_are_exact(tmp_path, units, calendar, values, instant):
    found = dataset(MAPS[:3]).assign_coords(time=("time", values, {"units": units, "calendar": calendar}))
    store = stored(tmp_path / "winds.zarr", found)
    assert store.calendar == ("standard" if calendar == "proleptic_gregorian" else calendar)
    field = Field(store, U, EARTH, {})
    assert field.instant(0) == instant
    steps = np.diff(field.ticks) / 1e6
    assert steps.tolist() == {"seconds": [1800.0] * 2, "minutes": [60.0] * 2, "hours": [3600.0] * 2}.get(
        units.lower().split()[0], [60.0] * 2 if calendar == "noleap" else [28800.0] * 2
    )


@pytest.mark.parametrize(("year", "calendar"), [(1, "proleptic_gregorian"), (1500, "proleptic_gregorian"), (1600, "standard")])
def test_proleptic_times_before_1582_are_those_of_a_proleptic_run(tmp_path, year, calendar):
    units = {"units": f"hours since {year:04d}-03-01", "calendar": "proleptic_gregorian"}
    store = stored(tmp_path / "winds.zarr", dataset().assign_coords(time=("time", 3.0 * np.arange(len(MAPS)), units)))
    assert store.calendar == calendar
    clock = Clock(parse_instant(f"{year:04d}-03-01T03:00", store.calendar), timedelta(hours=1))
    OPEN.append(found := FieldReader(store, {"u": U}, clock, range(6), EARTH, "begin", {"level": LEVELS}))
    np.testing.assert_array_equal(own(filled(found, 3)), MAPS[2])


def test_the_period_of_a_store_does_not_depend_on_where_its_times_count_from(tmp_path):
    days = {"units": "days since 0001-01-01", "calendar": "proleptic_gregorian"}
    store = stored(tmp_path / "winds.zarr", dataset(MAPS[:3]).assign_coords(time=("time", 730548.0 + np.arange(3), days)))
    assert store.period
    assert [each.isoformat()[:10] for each in store.period] == ["2001-03-05", "2001-03-07"]


def test_packed_numbers_and_other_units_become_those_of_the_model(tmp_path):
    found = dataset(units="km h-1")
    store = stored(tmp_path / "winds.zarr", found, dtype="int16", scale_factor=0.001, add_offset=1.0, _FillValue=-32768)
    values = own(filled(reader(store, at="begin"), 0))
    np.testing.assert_allclose(values, MAPS[0] / 3.6, atol=0.0005 / 3.6 + 1e-12)


def test_two_marks_of_missing_values_are_both_missing(tmp_path):
    maps = MAPS.copy()
    maps[2, 1, 4, 30], maps[3, 0, 0, 0] = -9999.0, -8888.0
    stored(tmp_path / "winds.zarr", dataset(maps), _FillValue=-9999.0)
    zarr.open_array(tmp_path / "winds.zarr" / "u", mode="r+").attrs["missing_value"] = -8888.0
    found = reader(FieldStore.open(tmp_path / "winds.zarr")).problems()
    assert [(problem.fault, problem.number) for problem in found] == [("is missing", 2)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_value_that_netcdf_has_never_written_is_missing_without_limits(tmp_path, dtype):
    maps = MAPS.astype(dtype)
    maps[2, 1, 4, 30] = netCDF4.default_fillvals["f4"]
    anything = Variable("u", U.dims, "km h-1", "float64", Role.FORCING, "Wind")
    found = reader(stored(tmp_path / "winds.zarr", dataset(maps)), variable=anything).problems()
    assert [(problem.fault, problem.number) for problem in found] == [("is missing", 1)]


@pytest.mark.parametrize("packing", [{}, {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -32768}], ids=["plain", "packed"])
def test_a_value_outside_the_valid_range_of_the_store_is_missing(tmp_path, packing):
    maps = MAPS.copy()
    maps[2, 1, 4, 30], maps[3, 0, 0, 0], maps[4] = 90.0, -90.0, 50.0
    found = dataset(maps)
    found["u"].attrs["valid_range"] = [-50.0, 50.0]
    problems = reader(stored(tmp_path / "winds.zarr", found, **packing)).problems()
    assert [(problem.fault, problem.number) for problem in problems] == [("is missing (or outside the valid range of the store)", 2)]


def test_an_amount_is_no_rate_a_day_where_records_are_not_days(tmp_path):
    rain = Variable("u", U.dims, "mm d-1", "float64", Role.FORCING, "Rain")
    with pytest.raises(ForcingError, match='variable "u" is in "mm", expected "mm d-1"'):
        reader(stored(tmp_path / "rain.zarr", dataset(units="mm")), variable=rain)
    found = reader(stored(tmp_path / "rain.zarr", dataset(units="kg m-2 s-1")), variable=rain, at="begin")
    np.testing.assert_allclose(own(filled(found, 0)), MAPS[0] * 86400.0, rtol=1e-13)


def test_a_record_without_time_always_holds(tmp_path):
    store = stored(tmp_path / "winds.zarr", dataset().isel(time=0, drop=True), (3, 6, 6))
    found = reader(store, steps=100_000)
    assert [len(piece) for piece in found.pieces(range(100_000))] == [100_000]
    np.testing.assert_array_equal(own(filled(found, 99_999)), MAPS[0])


def test_a_missing_value_is_named_with_its_level(tmp_path):
    maps = MAPS.copy()
    maps[2, 1, 4, 30] = np.nan
    found = reader(stored(tmp_path / "winds.zarr", dataset(maps)))
    filled(found, 0)
    match = r"u at level 850 hPa, 2001-03-05T06:00, cell \d+ \(latitude 45, longitude 125\): nan is missing"
    with pytest.raises(BadCellError, match=match):
        filled(found, 3)
    assert [(problem.fault, problem.number) for problem in found.problems()] == [("is missing", 1)]


def test_levels_are_compared_in_one_unit_and_in_either_order():
    values = (1000.0, 850.0, 500.0)
    assert turned(np.array(values, "float32"), "hPa", values, "hPa", "u") == slice(None)
    assert turned(np.array([50000.0, 85000.0, 100000.0]), "Pa", values, "hPa", "u") == slice(None, None, -1)
    assert turned(np.array([1000, 850, 500]), None, values, "hPa", "u") == slice(None)  # no unit is said
    for found, units in ((np.array([1000.0, 900.0, 500.0]), "hPa"), (np.array([1000.0, 850.0]), "hPa"), (np.array([1, 2, 4]), None)):
        with pytest.raises(ForcingError, match=r"u differ: .*, expected 3 of 1000, 850, 500 hPa\. Make a store of the levels"):
            turned(found, units, values, "hPa", "u")
    with pytest.raises(ForcingError, match='u is in "m", expected "hPa"'):
        turned(np.array(values), "m", values, "hPa", "u")
    for units in ("1", "level", None):
        with pytest.raises(ForcingError, match="numbers of the levels, in the order of the model, write the store without this"):
            turned(np.array([1, 2, 3]), units, values, "hPa", "u")


def test_a_dim_without_coordinate_counts_its_levels(tmp_path):
    store = stored(tmp_path / "winds.zarr", dataset().drop_vars("level"))
    np.testing.assert_array_equal(own(filled(reader(store, at="begin"), 0)), MAPS[0])
    with pytest.raises(ForcingError, match='"level" and "level" of the model differ: 3 of 0, 1, 2, expected 2 of'):
        reader(store, spaces={"level": Space((1000.0, 850.0), "hPa")})


def test_columns_over_the_date_line_may_be_sorted_by_longitude(tmp_path):
    found = dataset().isel(lon=slice(-3, None))  # 155, 165, 175
    east = dataset().isel(lon=slice(0, 2))  # -175, -165
    store = stored(tmp_path / "winds.zarr", xarray.concat([east, found], "lon"))
    grid = store.grid()
    assert grid == Raster(85.0, -10.0, 155.0, 10.0, np.ones((ROWS, 5), bool))
    field = Field(store, U, grid, {"level": LEVELS})
    np.testing.assert_array_equal(field.read(0, slice(0, ROWS), slice(0, 5))[0], MAPS[0][..., [33, 34, 35, 0, 1]])


def test_a_store_may_reach_beyond_the_grid_and_no_less(tmp_path):
    store = stored(tmp_path / "winds.zarr", dataset())
    part = Raster(45.0, -10.0, 145.0, 10.0, np.ones((5, 7), bool))  # over the date line
    field = Field(store, U, part, {})
    found = field.read(0, slice(0, 5), slice(0, 7))
    np.testing.assert_array_equal(found[0], MAPS[0][:, 4:9, [32, 33, 34, 35, 0, 1, 2]])
    west = stored(tmp_path / "west.zarr", dataset().isel(lon=slice(0, 30)))
    with pytest.raises(
        ForcingError, match="is on another grid: its 30 longitudes go from -175 to 115, those of the run are 7 from 145 to 205"
    ):
        Field(west, U, part, {})


@pytest.mark.parametrize("first", [-175.0, 0.0, 5.0])
def test_a_store_with_gaussian_latitudes_has_that_grid_from_any_longitude(tmp_path, first):
    axes = {"lat": ("lat", Gaussian(ROWS).lat, {"units": "degrees_north"}), "lon": dataset()["lon"] + (first - dataset()["lon"][0])}
    store = stored(tmp_path / "gauss.zarr", dataset().assign_coords(axes))
    grid = store.grid()
    assert (type(grid), grid.lon0, grid.nlat) == (Gaussian, first, ROWS)
    assert (grid == Gaussian(ROWS)) is (first == 0.0)
    np.testing.assert_array_equal(Field(store, U, grid, {}).read(0, slice(0, ROWS), slice(0, 2 * ROWS))[0], MAPS[0])
    assert stored(tmp_path / "even.zarr", dataset()).grid() == EARTH


def on_map(zone: int = 55, metres: float = 1.0) -> xarray.Dataset:
    """u on 18 x 36 cells of 5 km of a zone of UTM."""
    axes: dict[str, Any] = {
        name: (name, (first + 5e3 * np.arange(size)) / metres, {"units": "m" if metres == 1.0 else "km"})
        for name, first, size in (("y", 7e6, ROWS), ("x", 4e5, COLUMNS))
    }
    found = dataset().drop_vars(["lat", "lon"]).rename(lat="y", lon="x").assign_coords(axes)
    found["u"].attrs["grid_mapping"] = "utm"
    return found.assign(utm=((), 0, pyproj.CRS.from_epsg(32700 + zone).to_cf()))


@pytest.mark.parametrize("turned", [on_map(), on_map().isel(y=slice(None, None, -1)).transpose(), on_map(metres=1000.0)])
def test_a_store_may_lie_on_a_projection(tmp_path, turned):
    store = stored(tmp_path / "winds.zarr", turned, turned["u"].shape)
    grid = store.grid()
    assert isinstance(grid, Projected)
    field = Field(store, U, grid, {})
    found = field.read(0, slice(0, ROWS), slice(0, COLUMNS))
    np.testing.assert_array_equal(found[0], MAPS[0][:, ::-1])
    part = Projected.project(float(grid.y[3]), grid.dy, float(grid.x[5]), grid.dx, np.ones((4, 6), bool), grid.crs)
    np.testing.assert_array_equal(Field(store, U, part, {}).read(0, slice(1, 4), slice(0, 6)), found[..., 4:7, 5:11])


def test_a_store_on_another_projection_is_refused(tmp_path):
    store, other = (stored(tmp_path / f"{zone}.zarr", on_map(zone)) for zone in (55, 56))
    with pytest.raises(ForcingError, match="is on another projection than the run"):
        Field(other, U, store.grid(), {})
    shifted = on_map()
    shifted["x"] = shifted["x"] + 2500.0
    with pytest.raises(ForcingError, match="its 36 columns go from 402500 to 577500, those of the run are 36 from 400000 to 575000"):
        Field(stored(tmp_path / "shifted.zarr", shifted), U, store.grid(), {})
    with pytest.raises(ForcingError, match=r"has the dims \(time, level, lat, lon\), expected \(time, level, y, x\)"):
        Field(stored(tmp_path / "degrees.zarr", dataset()), U, store.grid(), {})
