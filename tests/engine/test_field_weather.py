"""A field model that reads packed weather: each box gets the weather of its own cells, on any number of ranks."""

from pathlib import Path

import numpy as np
import pytest
import zarr

import steppe
from steppe.engine import Session, Simulation
from steppe.errors import BadCellError, Failure, ModelError, NotComputedError
from steppe.grid import read_grid
from steppe.ingest import generate
from tests.comm.mpis import run_ranks
from tests.engine.sessions import OWN, on_session, seen, to
from tests.engine.test_branches import forked, same_results
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest
from tests.scenario import EXAMPLES, write_mask

ROWS, COLUMNS = 18, 150  # three strips of the packed order, the last of them narrower
WETTED = """\
from examples.diffusion import Diffusion
from steppe.models import Role, Variable

class Wetted(Diffusion):
    name = "wetted"
    variables = {
        **Diffusion.variables,
        "tmax": Variable("tmax", ("y", "x"), "degC", "float64", Role.FORCING, "Greatest temperature", high=60.0),
        "rain": Variable("rain", ("y", "x"), "mm d-1", "float32", Role.FORCING, "Rain", low=0.0, high=2000.0),
    }

    def compute(self, where):
        super().compute(where)
        self.new[(0, *where)] += 0.01 * self.forcing["rain"][where] + 0.001 * self.forcing["tmax"][where]

MODEL = Wetted
"""
RUN = """\
model = "wetted.py"
time = { start = 1990-01-10, end = 1990-05-31 }
grid = { file = "box.zarr" }
forcing = { store = "weather.zarr" }
initial = { concentration = 1.0 }

[output]
path = "out"
variables = ["concentration", "rain"]
every = "10 days"
reduce = "mean"

[[output.maps]]
name = "daily"
variables = ["tmax"]
every = "1 day"

[[output.series]]
name = "mean"
variables = ["rain", "tmax"]
every = "1 day"
"""


@pytest.fixture(scope="module")
def weather(tmp_path_factory) -> Path:
    """A folder with a mask, and with weather from nine days before the run on."""
    folder = tmp_path_factory.mktemp("weather")
    write_mask(folder / "box.zarr", np.ones((ROWS, COLUMNS), bool))
    generate(folder / "weather.zarr", read_grid(file=folder / "box.zarr"), "1990-01-01", "1990-06-30")
    return folder


@pytest.fixture
def run_file(weather: Path, tmp_path: Path) -> Path:
    for name in ("box.zarr", "weather.zarr"):
        (tmp_path / name).symlink_to(weather / name)
    (tmp_path / "wetted.py").write_text(WETTED)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


@pytest.fixture(scope="module")
def uninterrupted(weather: Path, tmp_path_factory) -> dict[str, str]:
    """The digest of the run in one go on one rank."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("box.zarr", "weather.zarr"):
        (folder / name).symlink_to(weather / name)
    (folder / "wetted.py").write_text(WETTED)
    (folder / "run.toml").write_text(RUN)
    return digest(steppe.run(folder / "run.toml"))


def stored(weather: Path, name: str, dtype: str = "float64") -> np.ndarray:
    """What the store holds, (days, packed cells), in a precision."""
    array, real = zarr.open_array(weather / "weather.zarr" / name, mode="r"), np.dtype(dtype).type
    scale, offset = (real(array.attrs.get(key, other)) for key, other in (("scale_factor", 1.0), ("add_offset", 0.0)))
    return np.asarray(array[:]).astype(dtype) * scale + offset


# each number of ranks with three spreads or two, each spread with two numbers of ranks or more, not each pair
@pytest.mark.parametrize(
    ("ranks", "spread"), [(1, "own"), (1, "node"), (2, "auto"), (2, "node"), (3, "own"), (3, "readers:2"), (4, "auto"), (4, "readers:2")]
)
def test_each_cell_gets_the_weather_of_the_store(run_file, weather, ranks, spread):
    def work(simulation: Simulation) -> list[tuple[int, np.ndarray, np.ndarray]]:
        found = []
        for steps in (1, 1, 53, 1, 70):  # over ends of slabs
            simulation.step(steps)
            found.append((simulation.step_index - 1, simulation.get("rain"), simulation.get("tmax")))
        return found

    rain, tmax = stored(weather, "rain", "float32"), stored(weather, "tmax")
    for step, its_rain, its_tmax in on_ranks(ranks, run_file, work, forcing__spread=f'"{spread}"'):
        np.testing.assert_array_equal(its_rain, rain[step + 9])
        np.testing.assert_array_equal(its_tmax, tmax[step + 9])
    assert rain.any()


# each number of ranks, spread and number of threads, not each three
@pytest.mark.parametrize(
    ("ranks", "spread", "threads"), [(2, "own", "1"), (3, "own", "2"), (3, "node", "1"), (4, "own", "1"), (7, "readers:2", "2")]
)
def test_ranks_and_threads_do_not_change_a_byte(run_file, uninterrupted, ranks, spread, threads):
    on_ranks(ranks, run_file, Simulation.run, forcing__spread=f'"{spread}"', engine__threads=threads)
    assert digest(run_file.parent / "out") == uninterrupted


def test_ranks_that_are_processes_do_not_change_a_byte_either(run_file, uninterrupted):
    """With a spread that shares memory: what ranks read for themselves is read by threads as by processes."""
    run_file.write_text(RUN.replace('"weather.zarr"', '"weather.zarr", spread = "node"'))
    done = run_ranks("installed", 3, "-m", "steppe", "run", str(run_file), "--quiet", PYTHONPATH=str(EXAMPLES.parent))
    assert done.returncode == 0, done.stderr
    assert digest(run_file.parent / "out") == uninterrupted


@pytest.mark.parametrize(("first", "then"), [(1, 4), (4, 1), (2, 3), (3, 3)])
def test_what_some_ranks_begin_others_go_on_with(run_file, uninterrupted, first, then):
    def begin(simulation: Simulation) -> tuple[np.ndarray, np.ndarray]:
        simulation.step(60)
        return simulation.get("rain"), simulation.get("concentration")

    def go_on(simulation: Simulation) -> tuple[np.ndarray, np.ndarray]:
        seen = simulation.get("rain"), simulation.get("concentration")  # the last step is computed again
        simulation.run()
        return seen

    before, after = on_ranks(first, run_file, begin), on_ranks(then, run_file, go_on)
    assert [values.tobytes() for values in before] == [values.tobytes() for values in after]
    assert digest(run_file.parent / "out") == uninterrupted


@pytest.mark.parametrize(("ranks", "spread"), [(1, "own"), (2, "own"), (3, "node"), (3, "readers:1")])
def test_branches_that_go_together_get_the_same_weather(run_file, uninterrupted, ranks, spread):
    def work(session: Session) -> list[bytes]:
        session.load(1, OWN)
        to(session, 70)
        for branch in (2, 3):
            session.load(branch, forked(branch, (1, 41, 0)))
            to(session, 41, (branch,))
        to(session, 70, (2, 3))
        at_70 = [seen(session, "rain", branch).tobytes() for branch in (1, 2, 3)]
        to(session, session.plan.steps, (1, 2, 3))
        for branch in (1, 2, 3):
            session.save(branch)
        return at_70

    at_70 = on_session(run_file, work, ranks, forcing__spread=f'"{spread}"')
    assert len(set(at_70)) == 1
    out = run_file.parent / "out"
    assert digest(out) == uninterrupted
    assert all(same_results(out / "branches" / branch, uninterrupted) for branch in "23")


def test_weather_belongs_to_a_step(run_file):
    with Simulation(run_file) as simulation, pytest.raises(NotComputedError, match='"rain" belongs to a step'):
        simulation.get("rain")


@pytest.mark.parametrize("ranks", [1, 3])
def test_weather_outside_its_limits_is_named_with_its_cell_and_day(run_file, weather, ranks):
    tmax = stored(weather, "tmax")[9:]
    limit = float(np.sort(tmax[:20].max(axis=1))[-1]) - 1e-9  # beyond it first on the warmest of twenty days
    day = int(np.argmax((tmax > limit).any(axis=1)))
    cell = int(np.argmax(tmax[day] > limit))
    model = run_file.parent / "wetted.py"
    model.write_text(WETTED.replace("high=60.0", f"low=-60.0, high={limit!r}"))
    with pytest.raises(BadCellError, match=rf'^On 1990-01-{10 + day} in cell {cell:,} .* "tmax" is {tmax[day, cell]:g}, outside -60 to'):
        on_ranks(ranks, run_file, Simulation.run)


def test_a_rank_of_boxes_does_not_say_that_it_has_a_range_of_cells(run_file):
    def where(simulation: Simulation) -> str:
        simulation.step(1)
        return simulation.ranks.state(0)._where.of(0)

    assert on_ranks(1, run_file, where) == "rank 0, step 0 (1990-01-10)"


def test_boxes_are_not_recut(run_file):
    def work(simulation: Simulation) -> None:
        with pytest.raises(ModelError, match='Model "wetted" computes boxes'):
            simulation.recut([0, 1000, ROWS * COLUMNS])

    on_ranks(2, run_file, work)


@pytest.mark.parametrize("line", ["self.maps['share'][1:] += 1.0", "self.parameters['rate'] = 0.0"])
def test_a_step_of_the_authors_own_cannot_change_parameters(run_file, line):
    """The halos of a map would come anew where a run goes on, so other numbers of ranks and restarts had other results."""
    share = '"share": Variable("share", ("y", "x"), "1", "float64", Role.PARAMETER, "Share", initial=1.0),'
    changing = f"    def step(self):\n        {line}\n        super().step()\n\nMODEL"
    model = run_file.parent / "wetted.py"
    model.write_text(WETTED.replace('"tmax"', f'{share} "tmax"', 1).replace("MODEL", changing))
    number = model.read_text().splitlines().index(f"        {line}") + 1
    with pytest.raises(Failure, match=rf"wetted\.py, line {number} .* is read-only; .* no step can change parameters"):
        steppe.run(run_file)
