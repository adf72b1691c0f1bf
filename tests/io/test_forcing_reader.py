from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from steppe.clock import Clock
from steppe.errors import DamagedError, ForcingError
from steppe.grid import Points
from steppe.io import ForcingReader, pack_store, read_static
from steppe.io.axis import Axis
from steppe.io.forcing.reader import DEPTH
from steppe.io.forcing.variables import WEATHER
from steppe.io.forcing.writer import ForcingWriter, Written
from steppe.io.shard import layout_of, shard_path, write_shard
from steppe.io.shard_file import ShardFile, new_memory, read_chunk
from steppe.packed import MISSING, Packed
from steppe.variable import Role, Variable
from tests.io.small_store import ABOUT, DAYS, START, small_axis, small_grid, small_values, write_small_store

CLOCK = Clock.daily(START)
CELLS = small_grid().n_cells


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reader") / "w.zarr"
    write_small_store(path)
    return path


def read_all(reader: ForcingReader, steps: range) -> NDArray[np.float64]:
    """(variables, steps, cells of the share) as a model would compute it."""
    cells = reader.tiles[-1].stop
    values = np.empty((len(reader.names), len(steps), cells))
    stream = reader.stream(range(cells))
    for piece in reader.pieces(steps):
        for tile, packed in stream.tiles(piece):
            assert packed.rows.strides[1] == packed.rows.itemsize
            assert packed.rows.shape[1] == len(tile)
            for k in range(len(reader.names)):
                part = packed.rows[packed.row_of[k]] * packed.scale[k] + packed.offset[k]
                values[k, piece.start - steps.start : piece.stop - steps.start, tile.start : tile.stop] = part
    return values


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_share_and_any_steps_read_the_values_of_the_store(store: Path, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, CELLS - 1))
    share = range(first, data.draw(st.integers(first + 1, CELLS)))
    begin = data.draw(st.integers(0, DAYS - 1))
    steps = range(begin, data.draw(st.integers(begin + 1, DAYS)))
    with ForcingReader(store, share, ("tmax", "rain"), CLOCK) as reader:
        found = read_all(reader, steps)
    values = small_values()
    for k, name in enumerate(("tmax", "rain")):
        np.testing.assert_allclose(found[k], values[name][steps.start : steps.stop, share.start : share.stop], atol=1e-9)


def one_tile(reader: ForcingReader, steps: range, number: int) -> Packed:
    """The forcing of one tile, copied."""
    (_, packed), *_ = reader.stream(reader.tiles[number]).tiles(steps)
    return packed._replace(rows=packed.rows.copy())


def packed_rows(reader: ForcingReader) -> int:
    return len(one_tile(reader, range(1), 0).rows)


def test_tiles_cover_the_share_and_pieces_the_steps(store: Path) -> None:
    with ForcingReader(store, range(100, 403), None, CLOCK) as reader:
        assert reader.names == ("rain", "tmax", "tmin")
        assert reader.tiles == [range(156), range(156, 303)]
        assert reader.pieces(range(500, 1100)) == [range(500, 512), range(512, 1024), range(1024, 1100)]
        assert reader.memory == 0
        for _ in reader.stream(range(303)).tiles(range(500, 512)):
            pass
        assert 0 < reader.memory <= DEPTH * 2 * (3 * 512 * 256 * 2)  # rows and records of a tile, whatever the number of tiles


def test_step_0_may_be_any_day_of_the_store(store: Path) -> None:
    with ForcingReader(store, range(10, 20), ("rain",), Clock.daily("1990-03-02"), steps=range(1040)) as reader:
        assert reader.pieces(range(500)) == [range(452), range(452, 500)]
        found = read_all(reader, range(1040))
    np.testing.assert_allclose(found[0], small_values()["rain"][60:, 10:20], atol=1e-9)


def test_an_empty_share_reads_nothing(store: Path) -> None:
    with ForcingReader(store, range(403, 403), None, CLOCK) as reader:
        assert reader.tiles == []
        assert reader.memory == 0


def test_weekly_means_are_those_of_paper_000(store: Path) -> None:
    with ForcingReader(store, range(200, 300), ("rain", "tmin"), CLOCK, {"rain": "1 day", "tmin": "7 days"}) as reader:
        found = read_all(reader, range(DAYS))
    values = small_values()
    np.testing.assert_allclose(found[0], values["rain"][:, 200:300], atol=1e-9)
    week = Axis.weekly(small_axis().first, DAYS).row_of_day
    for w in (0, 51, 52, week[511], week[512], week[-1]):
        days = np.flatnonzero(week == w)
        mean = values["tmin"][days, 200:300].mean(axis=0)
        np.testing.assert_allclose(found[1][days], np.tile(mean, (len(days), 1)), atol=0.05 + 1e-9)  # half the store's resolution


def test_a_weekly_mean_with_a_missing_day_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    write_small_store(path)
    layout = layout_of(path, "tmin")
    shard = np.concatenate([read_chunk(path, "tmin", (0, j), layout) for j in (0, 1)], axis=1)[:, :403].copy()
    shard[9, 30] = MISSING
    write_shard(path, "tmin", (0, 0), shard, layout)
    with ForcingReader(path, range(CELLS), ("tmin",), CLOCK, {"tmin": "7 days"}) as reader:
        packed = one_tile(reader, range(21), 0)
    assert (packed.rows[packed.row_of[0], 30] == MISSING).tolist() == [False] * 7 + [True] * 7 + [False] * 7
    assert (packed.rows[packed.row_of[0], 31] != MISSING).all()


def test_a_float_store_gives_unrounded_weekly_means(tmp_path: Path) -> None:
    values = write_small_store(tmp_path / "w.zarr", "float64")
    with ForcingReader(tmp_path / "w.zarr", range(30), ("tmin",), CLOCK, {"tmin": "7 days"}) as reader:
        found = read_all(reader, range(14))
    np.testing.assert_allclose(found[0][8], values["tmin"][7:14, :30].mean(axis=0), rtol=1e-13)


def test_a_variable_keeps_the_time_axis_it_was_stored_with(tmp_path: Path) -> None:
    grid, daily = small_grid(), small_axis()
    weekly, always = Axis.weekly(daily.first, daily.rows), Axis("time_always", np.array([daily.first]), np.array([daily.stop]))
    axes = {"rain": daily, "tmin": weekly, "pan": always}
    numbers = np.random.default_rng(3)
    values = {name: np.round(numbers.uniform(0.0, 20.0, (axis.rows, grid.n_cells)), 1) for name, axis in axes.items()}
    with ForcingWriter(tmp_path / "w.zarr", grid, [Written(WEATHER[name], axis) for name, axis in axes.items()], ABOUT) as writer:
        for name, table in values.items():
            for block in writer.blocks(name):
                writer.write(name, block, table[block.steps.start : block.steps.stop, block.cells.start : block.cells.stop])
    with ForcingReader(tmp_path / "w.zarr", range(5, 400), ("rain", "tmin", "pan"), CLOCK) as reader:
        found = read_all(reader, range(DAYS))
        assert packed_rows(reader) < 600  # weeks and the constant take no row a day
    with ForcingReader(tmp_path / "w.zarr", range(5, 400), ("tmin", "pan"), CLOCK) as reader:
        assert reader.pieces(range(100)) == [range(64), range(64, 100)]
        undaily = read_all(reader, range(DAYS))
    for k, (name, axis) in enumerate(axes.items()):
        np.testing.assert_allclose(found[k], values[name][axis.row_of_day][:, 5:400], atol=1e-9)
    np.testing.assert_array_equal(undaily, found[1:])
    with pytest.raises(ForcingError, match='holds no daily "tmin", so its cadence cannot be "1 day"'):
        ForcingReader(tmp_path / "w.zarr", range(5), ("tmin",), CLOCK, {"tmin": "1 day"})


def test_daily_weekly_and_constant_inputs_lie_in_one_store(tmp_path: Path) -> None:
    """The ten input files of paper 000: rain of each day, five of each week, and what does not change."""
    grid, daily = small_grid(), small_axis()
    weekly = Axis.weekly(daily.first, daily.rows)
    fixed = [
        Variable(name, ("cell",), "mm", "int16", Role.FORCING, name, low=0.0, high=3000.0)
        for name in ("depth", "store", "evaporated", "soil")
    ]
    weather = [Written(WEATHER[name], daily if name == "rain" else weekly) for name in WEATHER]
    numbers = np.random.default_rng(3)
    values = {w.variable.name: np.round(numbers.uniform(1.0, 20.0, (w.axis.rows, grid.n_cells)), 1) for w in weather if w.axis}
    constants = {v.name: np.round(numbers.uniform(0.0, 3000.0, grid.n_cells), 1) for v in fixed}
    path = tmp_path / "w.zarr"
    with ForcingWriter(path, grid, [*weather, *(Written(v, None) for v in fixed)], ABOUT) as writer:
        for name, table in values.items():
            for block in writer.blocks(name):
                writer.write(name, block, table[block.steps.start : block.steps.stop, block.cells.start : block.cells.stop])
        for name, table in constants.items():
            writer.write_static(name, table)
    names = ("depth", "rain", "soil", "tmin", "tmax", "radiation", "vp", "pan", "store", "evaporated")
    expected = {name: table if name == "rain" else table[weekly.row_of_day] for name, table in values.items()}
    expected |= {name: np.tile(table, (DAYS, 1)) for name, table in constants.items()}
    for kind in (None, "raw", "bits"):
        if kind:
            pack_store(path, kind)
        with ForcingReader(path, range(7, 400), names, CLOCK) as reader:
            found = read_all(reader, range(DAYS))
            for k, name in enumerate(names):
                np.testing.assert_allclose(found[k], expected[name][:, 7:400], atol=1e-9)
    np.testing.assert_allclose(read_static(path, "soil", grid), constants["soil"], atol=1e-9)


def test_a_constant_of_another_kind_is_refused(tmp_path: Path) -> None:
    grid, height = small_grid(), Variable("height", ("cell",), "m", "float32", Role.FORCING, "height")
    with ForcingWriter(
        tmp_path / "w.zarr", grid, [Written(WEATHER["rain"], small_axis()), Written(height, None, "float32")], ABOUT
    ) as writer:
        writer.write_static("height", np.zeros(grid.n_cells))
        for block in writer.blocks("rain"):
            writer.write("rain", block, np.zeros((len(block.steps), len(block.cells))))
    with pytest.raises(ForcingError, match='"height" is float32, "rain" int16; a run reads forcing of one kind'):
        ForcingReader(tmp_path / "w.zarr", range(5), ("rain", "height"), CLOCK)


def test_units_are_converted_to_those_of_the_model(store: Path) -> None:
    kelvin = {"tmin": replace(WEATHER["tmin"], units="K"), "rain": replace(WEATHER["rain"], units="mm")}
    with ForcingReader(store, range(5), ("tmin", "rain"), CLOCK, variables=kelvin) as reader:
        found = read_all(reader, range(3))
    values = small_values()
    np.testing.assert_allclose(found[0], values["tmin"][:3, :5] + 273.15, atol=1e-9)
    np.testing.assert_allclose(found[1], values["rain"][:3, :5], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variables": {"tmin": replace(WEATHER["tmin"], units="hPa")}}, 'variable "tmin" is in "degC", expected "hPa"'),
        ({"clock": Clock.daily(START, "noleap")}, 'has the calendar "standard", the run "noleap"'),
        ({"clock": Clock(CLOCK.start, None)}, "holds days, the model makes steps of None"),
        ({"names": ()}, "holds no variable that changes in time"),
        ({"names": ("tmean",)}, 'no variable "tmean" that changes in time'),
        ({"steps": range(DAYS + 1)}, "needs 1990-01-01 to 1993-01-05, but .* holds 1990-01-01 to 1993-01-04"),
        ({"clock": Clock.daily("1989-12-31"), "steps": range(10)}, "needs 1989-12-31 to 1990-01-09, but"),
        ({"grid": Points(("a",), np.array([0.0]), np.array([0.0]))}, "1 of the 1 cells of this run have no weather"),
        ({"cadence": {"tmin": "2 days"}}, 'Cadence "2 days" of "tmin" is not known'),
        ({"cadence": {"tmni": "7 days"}}, 'given for "tmni", which is not read. Did you mean "tmin"'),
    ],
)
def test_a_store_that_does_not_fit_the_run_is_refused_when_opened(store: Path, change: dict[str, object], message: str) -> None:
    arguments = {"store": store, "share": range(5), "names": None, "clock": CLOCK} | change
    with pytest.raises(ForcingError, match=message):
        ForcingReader(**arguments)  # type: ignore[arg-type]


def test_steps_beyond_the_store_and_over_two_slabs_are_refused(store: Path) -> None:
    with ForcingReader(store, range(5), None, CLOCK) as reader:
        with pytest.raises(ForcingError, match="Shorten the run"):
            one_tile(reader, range(1024, 1101), 0)
        with pytest.raises(ForcingError, match="lie in two slabs"):
            one_tile(reader, range(600), 0)


@pytest.mark.parametrize("decode_ahead", [False, True])
def test_a_reader_goes_back_and_forth(store: Path, decode_ahead: bool) -> None:
    values = small_values()["rain"]
    with ForcingReader(store, range(CELLS), ("rain",), CLOCK, decode_ahead=decode_ahead) as reader:
        for step in (0, 1050, 3, 4, 600, 599, 1050, 20):
            for length in (1, 30):
                steps = range(step, min(step + length, DAYS))
                packed = one_tile(reader, steps, 1)
                np.testing.assert_allclose(packed.rows[packed.row_of[0]] * 0.1, values[steps.start : steps.stop, 256:], atol=1e-9)


def test_a_slab_that_is_stepped_through_by_hand_is_read_once(store: Path) -> None:
    with ForcingReader(store, range(CELLS), None, CLOCK, steps=range(1024)) as by_hand:
        for step in range(0, 1024, 50):
            read_all(by_hand, range(step, min(step + 50, 1024)))
    with ForcingReader(store, range(CELLS), None, CLOCK, steps=range(1024)) as at_once:
        read_all(at_once, range(1024))
    assert by_hand.counters.bytes == at_once.counters.bytes


def test_every_thread_has_its_own_way_through_the_cells(store: Path) -> None:
    values = small_values()["rain"]
    cuts = [0, 100, 300, CELLS]

    def walk(cells: range) -> None:
        stream = reader.stream(cells)
        for piece in reader.pieces(range(DAYS)):
            for tile, packed in stream.tiles(piece):
                part = values[piece.start : piece.stop, tile.start : tile.stop]
                np.testing.assert_allclose(packed.rows[packed.row_of[0]] * 0.1, part, atol=1e-9)
                assert tile.start < cells.stop
                assert cells.start < tile.stop

    with ForcingReader(store, range(CELLS), ("rain",), CLOCK) as reader, ThreadPoolExecutor(3) as threads:
        list(threads.map(walk, [range(low, high) for low, high in pairwise(cuts)]))


def test_a_few_cells_of_a_long_period_are_little_memory(tmp_path: Path) -> None:
    points = Points(("a", "b", "c"), np.array([-20.0, -21.0, -22.0]), np.array([140.0, 141.0, 142.0]))
    axis = Axis.daily(small_axis().first, 36_525)
    with ForcingWriter(tmp_path / "w.zarr", points, [Written(WEATHER["rain"], axis)], ABOUT) as writer:
        for block in writer.blocks("rain"):
            writer.write("rain", block, np.ones((len(block.steps), len(block.cells))))
    with ForcingReader(tmp_path / "w.zarr", range(3), None, CLOCK) as reader:
        one_tile(reader, range(1), 0)
        assert reader.memory < 1_000_000


def test_damage_ahead_is_told_when_the_days_are_asked_for_and_not_before(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    (tmp_path / "w.zarr" / "tmax" / "c" / "1" / "0").unlink()
    with ForcingReader(tmp_path / "w.zarr", range(CELLS), None, CLOCK) as reader:
        one_tile(reader, range(512), 0)
        for _ in range(2):
            with pytest.raises(DamagedError, match='Variable "tmax", days 1991-05-28 to 1992-10-20'):
                one_tile(reader, range(512, 513), 0)
        one_tile(reader, range(1024, 1025), 0)


def test_a_file_that_is_cut_short_or_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    shard = tmp_path / "w.zarr" / "tmax" / "c" / "0" / "0"
    with ForcingReader(tmp_path / "w.zarr", range(CELLS), None, CLOCK) as reader:
        shard.write_bytes(shard.read_bytes()[:-1000])
        with pytest.raises(DamagedError, match="tmax/c/0/0"):
            one_tile(reader, range(512), 0)
    shard.unlink()
    shard.mkdir()
    with ForcingReader(tmp_path / "w.zarr", range(CELLS), None, CLOCK) as reader, pytest.raises(DamagedError, match="tmax/c/0/0"):
        one_tile(reader, range(512), 0)


def test_every_flipped_byte_of_a_shard_is_found_and_its_file_named(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    points = Points(("a", "b"), np.array([-20.0, -21.0]), np.array([140.0, 141.0]))
    values = np.random.default_rng(1).gamma(0.3, 8.0, (90, 2))
    with ForcingWriter(path, points, [Written(WEATHER["rain"], Axis.daily(small_axis().first, 90))], ABOUT) as writer:
        for block in writer.blocks("rain"):
            writer.write("rain", block, values[block.steps.start : block.steps.stop])
    shard = path / "rain" / "c" / "0" / "0"
    good = shard.read_bytes()
    for place in range(len(good)):
        bad = bytearray(good)
        bad[place] ^= 1 << place % 8
        shard.write_bytes(bad)
        with ForcingReader(path, range(2), None, CLOCK) as reader, pytest.raises(DamagedError, match=r'"rain", days 1990.*rain/c/0/0'):
            one_tile(reader, range(64), 0)


def test_reading_is_counted(store: Path) -> None:
    with ForcingReader(store, range(CELLS), ("rain",), CLOCK, steps=range(1024)) as reader:
        read_all(reader, range(1024))
    layout = layout_of(store, "rain")
    files = [ShardFile(shard_path(store, "rain", (0, 0)), layout), ShardFile(shard_path(store, "rain", (1, 0)), layout)]
    assert reader.counters.bytes == sum(len(file.read(0, j, new_memory)) for file in files for j in (0, 1))
    assert reader.counters.decode_seconds > 0.0
    assert reader.counters.stall_seconds > 0.0
    assert reader.counters.reader_seconds > 0.0


def test_variables_whose_periods_do_not_meet_cannot_be_read_together(tmp_path: Path) -> None:
    grid, daily = small_grid(), small_axis()
    early = Axis("time_always", np.array([daily.first - 50]), np.array([daily.first]))
    with ForcingWriter(tmp_path / "w.zarr", grid, [Written(WEATHER["rain"], daily), Written(WEATHER["pan"], early)], ABOUT) as writer:
        for name in ("rain", "pan"):
            for block in writer.blocks(name):
                writer.write(name, block, np.zeros((len(block.steps), len(block.cells))))
    with pytest.raises(ForcingError, match="no day for all of rain, pan: their periods do not meet"):
        ForcingReader(tmp_path / "w.zarr", range(5), ("rain", "pan"), CLOCK)
