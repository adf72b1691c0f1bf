"""A field model whose forcing lies in fields: each box gets its part of each record, halos too, on any number of ranks."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import steppe
from steppe.engine import Plan, Session, Simulation, cautions
from steppe.errors import BadCellError, DamagedError, Failure
from steppe.grid import Gaussian
from steppe.io.forcing.field import Field
from tests.comm.mpis import run_ranks
from tests.engine.sessions import OWN, on_session, seen, to
from tests.engine.test_branches import forked, same_results
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest
from tests.scenario import EXAMPLES

ROWS, COLUMNS = 18, 150  # three strips of the packed order, the last of them narrower
NORTH, WEST, CELL = 27.0, 20.0, 0.5
MODEL = """\
import numpy as np

from steppe.models import FieldModel, Needs, Role, Variable

YX = ("y", "x")

class Blown(FieldModel):
    name, version = "blown", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables = {
        "c": Variable("c", YX, "1", "float64", Role.STATE, "Amount", initial=1.0),
        "u": Variable("u", YX, "m s-1", "float64", Role.FORCING, "Wind to the east", low=-100.0, high=100.0),
        "rain": Variable("rain", YX, "kg m-2 s-1", "float32", Role.FORCING, "Rain", low=0.0, between="last"),
        "height": Variable("height", YX, "m", "float64", Role.FORCING, "Height of the ground"),
    }

    def compute(self, where):
        (y, x), c, u = where, self.now[0], self.forcing["u"]
        west, east = slice(x.start - 1, x.stop - 1), slice(x.start + 1, x.stop + 1)
        turned = (u[y, east] - u[y, west]) + (u[slice(y.start + 1, y.stop + 1), x] - u[slice(y.start - 1, y.stop - 1), x])
        self.new[(0, *where)] = c[where] + 0.001 * turned * c[y, west] + self.forcing["rain"][where] - 1e-6 * self.forcing["height"][where]

MODEL = Blown
"""
RUN = """\
model = "blown.py"
time = { start = 2001-03-05, end = 2001-03-06T12:00:00, step = "30 minutes" }
grid = { rectangle = { north = 27.0, west = 20.0, rows = 18, columns = 150, cell = 0.5 } }
forcing = { fields = "winds.zarr" }

[output]
path = "out"
variables = ["c", "u"]
every = "6 hours"

[[output.maps]]
name = "steps"
variables = ["rain"]
every = "30 minutes"
reduce = "last"
"""
Maps = dict[str, np.ndarray]


def made(seed: int = 1) -> Maps:
    """u and rain every three hours from midnight before the run, and a height, on the grid of the run."""
    random = np.random.default_rng(seed)
    rain = random.gamma(0.2, 0.01, (16, ROWS, COLUMNS)).astype("float32")
    return {"u": random.normal(0.0, 10.0, (16, ROWS, COLUMNS)), "rain": rain, "height": random.uniform(0.0, 2000.0, (ROWS, COLUMNS))}


def write(path: Path, maps: Maps, *, start: str = "2001-03-05", hours: float = 3.0, how: dict[str, Any] | None = None) -> None:
    """A CF store of them, with rows from the south and longitudes from -180 where `how` does not say otherwise."""
    lat, lon = NORTH - CELL * (np.arange(ROWS) + 0.5), WEST + CELL * (np.arange(COLUMNS) + 0.5)
    time = np.arange(len(maps["u"])) * hours
    axes = {
        "time": ("time", time, {"units": f"hours since {start}", "calendar": "proleptic_gregorian"}),
        "lat": ("lat", lat, {"units": "degrees_north"}),
        "lon": ("lon", lon, {"units": "degrees_east"}),
    }
    units = {"u": "m s-1", "rain": "kg m-2 s-1", "height": "m"}
    data = {name: (("time", "lat", "lon")[3 - values.ndim :], values, {"units": units[name]}) for name, values in maps.items()}
    chunks = {name: {"chunks": (1, 7, 40)[3 - values.ndim :]} for name, values in maps.items()}
    xarray.Dataset(data, axes).isel(lat=slice(None, None, -1)).to_zarr(path, encoding=chunks, consolidated=False, **(how or {}))


@pytest.fixture(scope="module")
def winds(tmp_path_factory) -> Path:
    """The store of most runs, made once."""
    path = tmp_path_factory.mktemp("winds") / "winds.zarr"
    write(path, made())
    return path


@pytest.fixture
def run_file(winds: Path, tmp_path: Path) -> Path:
    shutil.copytree(winds, tmp_path / "winds.zarr")
    (tmp_path / "blown.py").write_text(MODEL)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


def forcing_of(maps: Maps, step: int, fraction: float = 0.5) -> Maps:
    """By plain NumPy: the values of a step of half an hour, of records every three hours."""
    first, minutes = divmod(30 * (step + fraction), 180)
    first, weight = int(first), minutes / 180
    u = maps["u"][first] + (maps["u"][first + 1] - maps["u"][first]) * weight if weight else maps["u"][first]
    return {"u": u, "rain": maps["rain"][first], "height": maps["height"]}


def computed(maps: Maps, steps: int) -> np.ndarray:
    """By plain NumPy over the whole grid: the amount after some steps."""
    c = np.ones((ROWS, COLUMNS))
    for step in range(steps):
        forcing = forcing_of(maps, step)
        u, wide = np.pad(forcing["u"], 1, "symmetric"), np.pad(c, 1, "symmetric")
        turned = (u[1:-1, 2:] - u[1:-1, :-2]) + (u[2:, 1:-1] - u[:-2, 1:-1])
        c = c + 0.001 * turned * wide[1:-1, :-2] + forcing["rain"] - 1e-6 * forcing["height"]
    return c


# each number of ranks and each spread, not each pair
@pytest.mark.parametrize(("ranks", "spread"), [(1, "one"), (2, "own"), (3, "one"), (4, "own")])
def test_each_box_gets_its_part_of_the_fields_with_halos(run_file, ranks, spread):
    def work(simulation: Simulation) -> list[np.ndarray]:
        found = []
        for steps in (1, 5, 1, 1, 30):  # over ends of records
            simulation.step(steps)
            found.append([simulation[name].values for name in ("u", "rain", "height", "c")])
        return found

    maps, step = made(), 0
    for steps, (u, rain, height, c) in zip((1, 5, 1, 1, 30), on_ranks(ranks, run_file, work, forcing__spread=f'"{spread}"'), strict=True):
        step += steps
        expected = forcing_of(maps, step - 1)
        np.testing.assert_array_equal(u, expected["u"])
        np.testing.assert_array_equal(rain, expected["rain"])
        np.testing.assert_array_equal(height, expected["height"])
        np.testing.assert_array_equal(c, computed(maps, step))


@pytest.fixture(scope="module")
def uninterrupted(winds: Path) -> dict[str, str]:
    """The digest of the run in one go on one rank."""
    folder = winds.parent
    (folder / "blown.py").write_text(MODEL)
    (folder / "run.toml").write_text(RUN)
    return digest(steppe.run(folder / "run.toml"))


# each number of ranks, spread and number of threads, and each two of the latter, not each three
@pytest.mark.parametrize(
    ("ranks", "spread", "threads"), [(1, "one", "2"), (2, "own", "2"), (3, "one", "1"), (4, "own", "1"), (4, "one", "2")]
)
def test_ranks_threads_and_who_reads_do_not_change_a_byte(run_file, uninterrupted, ranks, spread, threads):
    on_ranks(ranks, run_file, Simulation.run, forcing__spread=f'"{spread}"', engine__threads=threads)
    assert digest(run_file.parent / "out") == uninterrupted


def test_ranks_that_are_processes_do_not_change_a_byte_either(run_file, uninterrupted):
    """With a spread that has messages: what ranks read for themselves is read by threads as by processes."""
    run_file.write_text(RUN.replace('"winds.zarr"', '"winds.zarr", spread = "one"'))
    done = run_ranks("installed", 3, "-m", "steppe", "run", str(run_file), "--quiet", PYTHONPATH=str(EXAMPLES.parent))
    assert done.returncode == 0, done.stderr
    assert digest(run_file.parent / "out") == uninterrupted


# each version and each way to cut, not each pair
@pytest.mark.parametrize(
    ("chunks", "kind"),
    [({}, {"zarr_format": 2}), ({"chunks": (16, 18, 150)}, {"zarr_format": 3}), ({"chunks": (5, 4, 64)}, {"zarr_format": 2})],
)
def test_the_chunks_and_the_version_of_a_store_do_not_change_a_byte(run_file, uninterrupted, chunks, kind):
    with xarray.open_zarr(run_file.parent / "winds.zarr", consolidated=False, decode_times=False) as dataset:
        other = dataset.load()
    for values in other.variables.values():
        values.encoding.clear()
    encoding = {name: chunks for name in ("u", "rain") if chunks}
    other.to_zarr(run_file.parent / "winds.zarr", mode="w", encoding=encoding, consolidated=False, **kind)
    on_ranks(3, run_file, Simulation.run)
    assert digest(run_file.parent / "out") == uninterrupted


@pytest.mark.parametrize(("first", "then", "spread"), [(1, 4, "own"), (4, 1, "own"), (2, 3, "one"), (3, 3, "own")])
def test_what_some_ranks_begin_others_go_on_with(run_file, uninterrupted, first, then, spread):
    def begin(simulation: Simulation) -> list[bytes]:
        simulation.step(33)
        return [simulation.get(name).tobytes() for name in ("u", "c")]

    def go_on(simulation: Simulation) -> list[bytes]:
        found = [simulation.get(name).tobytes() for name in ("u", "c")]  # the last step is computed again
        simulation.run()
        return found

    before = on_ranks(first, run_file, begin, forcing__spread=f'"{spread}"')
    assert on_ranks(then, run_file, go_on, forcing__spread=f'"{spread}"') == before
    assert digest(run_file.parent / "out") == uninterrupted


@pytest.mark.parametrize(("ranks", "spread"), [(1, "own"), (2, "own"), (3, "one")])
def test_branches_that_go_together_read_each_record_once(run_file, uninterrupted, monkeypatch, ranks, spread):
    read = []
    of_store = Field.read
    monkeypatch.setattr(Field, "read", lambda self, block, *part: (read.append((self.name, block)), of_store(self, block, *part))[1])

    def work(session: Session) -> tuple[list[bytes], list[tuple[str, int]]]:
        session.load(1, OWN)
        to(session, 40)
        for branch in (2, 3):
            session.load(branch, forked(branch, (1, 31, 0)))
            to(session, 31, (branch,))
        to(session, 40, (2, 3))
        at_40 = [seen(session, "u", branch).tobytes() for branch in (1, 2, 3)]
        read.clear()
        to(session, session.plan.steps, (1, 2, 3))
        for branch in (1, 2, 3):
            session.save(branch)
        return at_40, sorted(read)

    at_40, together = on_session(run_file, work, ranks, forcing__spread=f'"{spread}"')
    assert len(set(at_40)) == 1
    readers = 1 if spread == "one" else ranks
    assert max(together.count(each) for each in together) == readers
    assert {("u", 9), ("u", 12), ("rain", 11)} <= set(together)
    out = run_file.parent / "out"
    assert digest(out) == uninterrupted
    assert all(same_results(out / "branches" / branch, uninterrupted) for branch in "23")


@pytest.mark.parametrize(("at", "fraction"), [("begin", 0.0), ("end", 1.0)])
def test_a_model_may_ask_for_the_begin_or_the_end_of_a_step(run_file, at, fraction):
    model = run_file.parent / "blown.py"
    model.write_text(MODEL.replace('"x": 1})', f'"x": 1}}, forcing_at="{at}")'))
    with Simulation(run_file) as simulation:
        for step in (0, 5, 6, 11):
            simulation.step(step + 1 - simulation.step_index)
            expected = forcing_of(made(), step, fraction)
            np.testing.assert_array_equal(simulation["u"].values, expected["u"])
            np.testing.assert_array_equal(simulation["rain"].values, expected["rain"])


@pytest.mark.parametrize(("earlier", "told"), [(3.0, ["u", "rain"]), (1.5, ["rain"]), (0.0, ["u"]), (None, [])])
def test_a_warning_names_stamps_that_are_not_where_the_run_takes_a_mean(run_file, earlier, told):
    """u is linear between stamps, which should be the middles of its intervals; rain holds from each stamp on. Records are every 3 h."""
    with xarray.open_zarr(run_file.parent / "winds.zarr", consolidated=False, decode_times=False) as store:
        made = store.load()
    if earlier is not None:
        begin = made["time"].values - earlier
        made["time_bnds"] = (("time", "nv"), np.stack([begin, begin + 3.0], axis=1))
        made["time"].attrs["bounds"] = "time_bnds"
    made.drop_encoding().to_zarr(run_file.parent / "winds.zarr", mode="w", consolidated=False)
    warned = cautions(Plan.of(run_file))
    names = [name for name in ("u", "rain") for text in warned if f'variable "{name}": by "time_bnds" each value is of an interval' in text]
    assert names == told
    assert all("16 of 16 stamps are not the" in text for text in warned)


def test_a_run_without_a_grid_takes_that_of_its_fields(run_file, uninterrupted):
    text = "\n".join(line for line in RUN.splitlines() if not line.startswith("grid"))
    run_file.write_text(text)
    steppe.run(run_file)
    assert digest(run_file.parent / "out")["output.zarr/c/c/0/0"] == uninterrupted["output.zarr/c/c/0/0"]
    with steppe.open(run_file.parent / "out") as results:
        assert results.attrs["weather"] == "fields of winds.zarr"


@pytest.mark.parametrize(("ranks", "spread"), [(1, "own"), (4, "own"), (4, "one")])
def test_a_value_that_is_missing_ends_the_run_with_its_field_time_and_cell(run_file, ranks, spread):
    maps = made()
    maps["u"][5, 3, 100] = np.nan
    write(run_file.parent / "winds.zarr", maps, how={"mode": "w"})

    def work(simulation: Simulation) -> None:
        simulation.step(24)  # to the record before
        simulation.step(7)

    match = r"u, 2001-03-05T15:00, cell 1[\d]{3} \(latitude 25.25, longitude 70.25\): nan is missing"
    with pytest.raises((BadCellError, Failure), match=match):
        on_ranks(ranks, run_file, work, forcing__spread=f'"{spread}"')


# each version and each spread, not each pair
@pytest.mark.parametrize(("ranks", "spread", "kind"), [(1, "own", 2), (4, "own", 3), (4, "one", 2)])
def test_a_chunk_that_is_cut_short_is_named(run_file, ranks, spread, kind):
    write(run_file.parent / "winds.zarr", made(), how={"mode": "w", "zarr_format": kind})
    chunk = run_file.parent / "winds.zarr" / ("u/4.1.2" if kind == 2 else "u/c/4/1/2")
    chunk.write_bytes(chunk.read_bytes()[:-40])
    match = 'winds.zarr", variable "u", 2001-03-05T12:00, cannot be read'
    with pytest.raises((DamagedError, Failure), match=match):
        on_ranks(ranks, run_file, Simulation.run, forcing__spread=f'"{spread}"')


LEVELLED = """\
from steppe.models import FieldModel, Needs, Role, Space, Variable

ZYX = ("level", "y", "x")

class Column(FieldModel):
    name, version = "column", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    spaces = {"level": Space((1000.0, 850.0, 500.0), "hPa", "air_pressure", "down")}
    variables = {
        "c": Variable("c", ZYX, "1", "float32", Role.STATE, "Amount", initial=1.0),
        "u": Variable("u", ZYX, "m s-1", "float32", Role.FORCING, "Wind to the east"),
        "height": Variable("height", ("y", "x"), "m", "float32", Role.FORCING, "Height of the ground"),
    }

    def compute(self, where):
        (y, x), c, u = where, self.before["c"], self.forcing["u"]
        west = slice(x.start - 1, x.stop - 1)
        wind = u[(..., *where)] - u[..., y, west] + 0.001 * self.forcing["height"][where]
        self.after["c"][(..., *where)] = c[(..., *where)] + 0.01 * wind * c[..., y, west]

MODEL = Column
"""


def levels_written(folder: Path, maps: Maps) -> None:
    """Levels from above, in pascals."""
    write(folder / "winds.zarr", {"u": maps["u"][:, 0], "height": maps["height"]}, how={"mode": "w"})
    with xarray.open_zarr(folder / "winds.zarr", consolidated=False, decode_times=False) as dataset:
        winds = dataset.load()
    level = ("level", [50000.0, 85000.0, 100000.0], {"units": "Pa"})
    u = (("time", "level", "lat", "lon"), maps["u"][:, ::-1, ::-1], {"units": "m s-1"})
    chunks = {"u": {"chunks": (1, 3, 7, 40)}}
    winds.drop_vars("u").assign_coords(level=level).assign(u=u).to_zarr(
        folder / "winds.zarr", mode="w", encoding=chunks, consolidated=False
    )


@pytest.mark.parametrize(("ranks", "spread"), [(1, "own"), (4, "own"), (4, "one")])
def test_fields_with_levels_give_each_level_its_own(run_file, ranks, spread):
    maps = {"u": np.random.default_rng(2).normal(0.0, 10.0, (16, 3, ROWS, COLUMNS)).astype("float32"), "height": made()["height"]}
    levels_written(run_file.parent, maps)
    (run_file.parent / "blown.py").write_text(LEVELLED)
    run_file.write_text(RUN.partition("[[output.maps]]")[0])

    def work(simulation: Simulation) -> list[np.ndarray]:
        simulation.step(14)
        found = [simulation[name].values for name in ("u", "u[2]", "c")]
        simulation.run()
        return found

    u, highest, c = on_ranks(ranks, run_file, work, forcing__spread=f'"{spread}"')
    high, low = maps["u"][3], maps["u"][2]  # hours 6.75 of records at 6 and 9
    np.testing.assert_array_equal(u, low + (high - low) * np.float32(0.25))
    np.testing.assert_array_equal(highest, u[2])
    expected = np.ones((3, ROWS, COLUMNS), "float32")
    for step in range(14):
        first, minutes = divmod(30 * step + 15, 180)
        wind = maps["u"][first] + (maps["u"][first + 1] - maps["u"][first]) * np.float32(minutes / 180)
        west, wide = np.pad(wind, ((0, 0), (0, 0), (1, 0)), "edge")[..., :-1], np.pad(expected, ((0, 0), (0, 0), (1, 0)), "edge")[..., :-1]
        expected = expected + 0.01 * (wind - west + 0.001 * maps["height"].astype("float32")) * wide
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize(("ranks", "spread"), [(1, "own"), (3, "own"), (3, "one")])
def test_fields_may_have_no_value_where_no_cell_counts(run_file, ranks, spread):
    maps, mask = made(), np.ones((ROWS, COLUMNS), bool)
    mask[4:9, 60:90] = mask[17, 0] = False
    maps["u"][:, ~mask] = maps["height"][~mask] = np.nan
    write(run_file.parent / "winds.zarr", maps, how={"mode": "w"})
    lat, lon = NORTH - CELL * (np.arange(ROWS) + 0.5), WEST + CELL * (np.arange(COLUMNS) + 0.5)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"mask": (("lat", "lon"), mask.astype("int8"))}, axes).to_zarr(run_file.parent / "mask.zarr", consolidated=False)
    grid = next(line for line in RUN.splitlines() if line.startswith("grid"))
    run_file.write_text(RUN.replace(grid, 'grid = { file = "mask.zarr" }'))
    (run_file.parent / "blown.py").write_text(MODEL.replace("0.001 * turned * c[y, west]", "0.001 * u[where]"))

    def work(simulation: Simulation) -> np.ndarray:
        simulation.step(14)
        return simulation["u"].values

    np.testing.assert_array_equal(on_ranks(ranks, run_file, work, forcing__spread=f'"{spread}"'), forcing_of(maps, 13)["u"])


def test_fields_lie_on_gaussian_latitudes_too(run_file):
    grid = Gaussian(16)
    axes = {
        "time": ("time", 3.0 * np.arange(16), {"units": "hours since 2001-03-05", "calendar": "standard"}),
        "lat": ("lat", np.round(grid.lat, 4), {"units": "degrees_north"}),
        "lon": ("lon", grid.lon, {"units": "degrees_east"}),
    }
    random, shape = np.random.default_rng(4), (16, grid.nlat, grid.nlon)
    data = {
        "u": (("time", "lat", "lon"), random.normal(size=shape), {"units": "m s-1"}),
        "rain": (("time", "lat", "lon"), random.random(shape), {"units": "kg m-2 s-1"}),
        "height": (("lat", "lon"), random.random(shape[1:]), {"units": "m"}),
    }
    xarray.Dataset(data, axes).to_zarr(run_file.parent / "winds.zarr", mode="w", consolidated=False)
    line = next(line for line in RUN.splitlines() if line.startswith("grid"))
    run_file.write_text(RUN.replace(line, "grid = { gaussian = 16 }"))
    with Simulation(run_file) as simulation:
        simulation.step(4)
        np.testing.assert_array_equal(simulation["rain"].values, data["rain"][1][0].astype("float32"))


@pytest.mark.parametrize(
    ("step", "told"), [("6 hours", ""), ("12 hours", "records of u, rain every 3 hours, and a step of 12 hours takes two at most, of 4")]
)
def test_a_warning_names_records_that_a_long_step_passes_over(run_file, step, told):
    warned = " ".join(cautions(Plan.of(run_file, {"time.step": f'"{step}"', "output.every": '"12 hours"'})))
    assert told in warned
    assert bool(warned) == bool(told)
