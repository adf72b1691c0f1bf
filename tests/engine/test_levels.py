"""Fields with levels through a run: steps, records, changes, checkpoints, looks, on any number of ranks."""

from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import xarray

import steppe
from steppe.engine import Session, Simulation, estimate
from steppe.engine import session as stage_module
from steppe.engine.outputs import Outputs
from steppe.engine.plan import Plan
from steppe.errors import BadCellError, Failure, GridError, Mistake, ModelError, RangeError, RequestError, RunFileError, ShapeError
from steppe.io.export import ExportSource, write_netcdf
from steppe.jobs.film import FilmChoices, reel_of
from steppe.jobs.picture import PictureChoices, draw
from steppe.levels import Space, level_of
from tests.engine.sessions import OWN, on_session, query, seen, to
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest

ROWS, COLUMNS, LEVELS = 9, 70, 3
MODEL = """\
import numpy as np
from steppe.models import FieldModel, Needs, Role, Space, Variable

class Column(FieldModel):
    \"\"\"A gas that spreads on each level and rises from the ground, which is kept in fewer bits and spreads, too.\"\"\"

    name, version = "column", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    spaces = {"level": Space((1000.0, 850.0, 500.0), "hPa", "air_pressure", "down")}
    variables = {
        "gas": Variable("gas", ("level", "y", "x"), "kg m-2", "float64", Role.STATE, "Gas", low=0.0, initial=1.0),
        "ground": Variable("ground", ("y", "x"), "kg m-2", "float32", Role.STATE, "Gas in the ground", low=0.0, initial=8.0),
        "flow": Variable("flow", ("level", "y", "x"), "kg m-2", "float64", Role.DIAGNOSTIC, "What comes from the level below"),
        "rate": Variable("rate", (), "1", "float64", Role.PARAMETER, "Share that rises in a step", low=0.0, high=0.5, initial=0.125),
    }

    def compute(self, where):
        y, x = where
        gas, ground = self.before["gas"], self.before["ground"]
        spread, seeping = gas[(..., *where)], ground[where]
        for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            there = slice(y.start + dy, y.stop + dy), slice(x.start + dx, x.stop + dx)
            spread = spread + 0.125 * (gas[(..., *there)] - gas[(..., *where)])
            seeping = seeping + 0.0625 * (ground[there] - ground[where])
        below = np.concatenate([ground[where][None], gas[(slice(0, -1), *where)]])
        flow = self.parameters["rate"] * below
        self.diagnostics["flow"][(..., *where)] = flow
        self.after["gas"][(..., *where)] = spread + flow
        self.after["gas"][(slice(0, -1), *where)] -= flow[1:]
        self.after["ground"][where] = seeping - flow[0]

MODEL = Column
"""
RUN = """\
model = "column.py"
time = { start = 2001-03-05, end = 2001-03-05, step = "1 hour" }
grid = { rectangle = { north = -10, west = 120, rows = 9, columns = 70, cell = 0.5 } }

[output]
path = "out"
variables = ["gas", "ground", "flow"]
every = "2 hours"
reduce = "mean"

[[output.maps]]
name = "each"
variables = ["gas"]
every = "1 hour"
reduce = "last"

[[output.series]]
name = "halves"
variables = ["gas", "ground"]
every = "3 hours"
region = ["all", { box = [130.0, -13.0, 140.0, -11.0] }]

[[event]]
date = 2001-03-05T02:00:00
set = { gas = 4.0 }
region = { box = [130.0, -13.0, 140.0, -11.0] }
level = "850 hPa"

[engine]
checkpoint = "5 hours"
threads = 1
"""
BOX = {"box": [130.0, -13.0, 140.0, -11.0]}


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    (tmp_path / "column.py").write_text(MODEL)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


def computed(steps: int, box: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """By plain NumPy over the whole grid, of each step: gas, ground and flow. box: where the event is."""
    gas, ground = np.ones((LEVELS, ROWS, COLUMNS)), np.full((ROWS, COLUMNS), 8.0, np.float32)
    found: tuple[list[np.ndarray], ...] = ([], [], [])
    for step in range(steps):
        if step == 2:
            gas[1][box] = 4.0
        wide, spread = np.pad(gas, ((0, 0), (1, 1), (1, 1)), "edge"), gas
        wet, seeping = np.pad(ground, 1, "edge"), ground
        for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            there = slice(1 + dy, 1 + dy + ROWS), slice(1 + dx, 1 + dx + COLUMNS)
            spread = spread + 0.125 * (wide[(..., *there)] - gas)
            seeping = seeping + 0.0625 * (wet[there] - ground)
        flow = 0.125 * np.concatenate([ground[None], gas[:-1]])
        ground, gas = (seeping - flow[0]).astype(np.float32), spread + flow
        gas[:-1] -= flow[1:]
        for kept, values in zip(found, (gas, ground, flow), strict=True):
            kept.append(values.copy())
    return found  # type: ignore[return-value]


def inside(run_file: Path) -> tuple[np.ndarray, np.ndarray]:
    """The row-major cells of the grid in packed order, and where the box of the event is, (y, x)."""
    grid = Plan.of(run_file).grid
    box = np.zeros(ROWS * COLUMNS, bool)
    box[grid.order[grid.select(BOX)]] = True
    return grid.order, box.reshape(ROWS, COLUMNS)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_field_with_levels_is_that_of_plain_numpy_in_memory_and_in_records(run_file, ranks):
    def work(simulation: Simulation) -> list[np.ndarray]:
        simulation.step(7)
        now = [simulation.get(name) for name in ("gas", "ground", "flow", "gas[1]", "flow[2]")]
        simulation.run()
        return now

    gas, ground, flow, middle, top = on_ranks(ranks, run_file, work)
    order, box = inside(run_file)
    gases, grounds, flows = computed(24, box)
    packed = gases[6].reshape(LEVELS, -1)[:, order]
    assert (gas.shape, gas.tobytes(), middle.tobytes()) == ((LEVELS, ROWS * COLUMNS), packed.tobytes(), packed[1].tobytes())
    assert ground.tobytes() == grounds[6].reshape(-1)[order].tobytes()
    assert flow.tobytes() == flows[6].reshape(LEVELS, -1)[:, order].tobytes()
    assert top.tobytes() == flow[2].tobytes()
    with steppe.open(run_file.parent / "out", "each") as each:
        assert each["gas"].dims == ("time", "level", "cell")
        assert each["level"].attrs == {
            "units": "hPa",
            "long_name": "level",
            "standard_name": "air_pressure",
            "positive": "down",
            "axis": "Z",
        }
        np.testing.assert_array_equal(each["level"], [1000.0, 850.0, 500.0])
        maps = steppe.unpack(each)["gas"]
        assert maps.dims == ("time", "level", "lat", "lon")
        np.testing.assert_array_equal(maps.values, gases)
        np.testing.assert_array_equal(maps.sel(level=850.0).isel(time=3), gases[3][1])
    with steppe.open(run_file.parent / "out") as maps:
        two = steppe.unpack(maps)
        np.testing.assert_array_equal(two["flow"], [(flows[k] + flows[k + 1]) / 2 for k in range(0, 24, 2)])
        np.testing.assert_array_equal(two["ground"], [(grounds[k] + grounds[k + 1]) / 2 for k in range(0, 24, 2)])
    with steppe.open(run_file.parent / "out", "halves") as halves:
        area = Plan.of(run_file).grid.cell_area
        weights = np.zeros(ROWS * COLUMNS)
        weights[order] = area
        weights = weights.reshape(ROWS, COLUMNS)
        assert halves["gas"].dims == ("time", "level", "region")
        for column, where in enumerate((np.ones_like(box), box)):
            means = [np.average(np.mean(gases[k : k + 3], axis=0)[:, where], axis=1, weights=weights[where]) for k in range(0, 24, 3)]
            np.testing.assert_allclose(halves["gas"][..., column], means, rtol=1e-13)


def changed(simulation: Simulation) -> None:
    simulation.step(6)
    simulation.set("gas", 2.0, BOX, level=2)
    simulation.set("gas[0]", np.linspace(0.0, 1.0, ROWS * COLUMNS))
    simulation.set("gas", 3.0, {"box": [150.0, -14.0, 152.0, -12.0]})
    simulation.step(5)


@pytest.mark.parametrize(("first", "then"), [(1, 3), (4, 1), (3, 2)])
def test_a_run_with_levels_goes_on_on_other_ranks(run_file, first, then):
    def begin(simulation: Simulation) -> bytes:
        changed(simulation)
        return simulation.get("flow").tobytes()

    def go_on(simulation: Simulation) -> bytes:
        flow = simulation.get("flow").tobytes()
        simulation.run()
        return flow

    assert on_ranks(first, run_file, begin) == on_ranks(then, run_file, go_on)
    parts = digest(run_file.parent / "out")

    def whole(simulation: Simulation) -> None:
        changed(simulation)
        simulation.run()

    on_ranks(1, run_file, whole, **{"output.path": '"whole"'})
    assert digest(run_file.parent / "whole") == parts


def test_a_map_of_levels_has_their_coordinate_and_can_be_set_back(run_file):
    with Simulation(run_file) as simulation:
        simulation.step(3)
        gas = simulation["gas"]
        assert gas.dims == ("level", "lat", "lon")
        assert gas["level"].attrs["units"] == "hPa"
        one = simulation["gas[2]"]
        assert (one.dims, one.attrs["long_name"]) == (("lat", "lon"), "Gas, 500 hPa")
        np.testing.assert_array_equal(one, gas.sel(level=500.0))
        assert (one["level"].dims, float(one["level"]), one["level"].attrs) == ((), 500.0, gas["level"].attrs)
        increment = simulation.set("gas", gas * 0.5)
        assert increment.cells == ROWS * COLUMNS
        np.testing.assert_allclose((increment.before, increment.after), (gas.sum(), gas.sum() / 2), rtol=1e-12)
        np.testing.assert_array_equal(simulation["gas"], gas * 0.5)
        before = simulation["gas"]
        simulation.set("gas", one.drop_vars("level"), level=1)
        np.testing.assert_array_equal(simulation["gas[1]"], one)
        np.testing.assert_array_equal(simulation["gas[0]"], before[0])
        assert simulation.image("gas[1]")[:4] == b"\x89PNG"


def test_all_levels_that_were_set_are_set_again_where_steps_are_computed_again(run_file, monkeypatch):
    def of_other_shape(*arguments: object) -> NoReturn:
        raise ShapeError("It has another shape.")

    with Simulation(run_file) as simulation:
        simulation.step(3)
        simulation.set("gas", simulation["gas"] * 0.5)
        simulation.step()
        gas, flow = simulation.get("gas"), simulation.get("flow")
        simulation.step()
        simulation.rewind(4)
        np.testing.assert_array_equal(simulation.get("gas"), gas)
    with Simulation(run_file) as simulation:
        np.testing.assert_array_equal(simulation.get("flow"), flow)
        simulation.step()  # to a checkpoint, behind which the change is
        simulation.set("gas", simulation["gas"] * 0.5)
        simulation.step()
        simulation.step()
        monkeypatch.setattr("steppe.engine.uploads.read_values", of_other_shape)
        with pytest.raises(Failure, match=r'The change of "gas" at .* cannot be made again'):
            simulation.rewind(6)


def test_an_array_of_xarray_goes_by_its_coordinates_and_its_unit(run_file):
    with Simulation(run_file) as simulation:
        gas = simulation["gas"]
        gas.values[...] = np.random.default_rng(1).uniform(1.0, 2.0, gas.shape)
        turned = gas.isel(lat=slice(None, None, -1), level=slice(None, None, -1)).transpose("lon", "level", "lat")
        wide = turned.pad(lon=(2, 0), constant_values=9.0).assign_coords(lon=np.r_[119.25, 119.75, gas["lon"].values])
        grams = (1e3 * gas).assign_attrs(units="g m-2")
        elsewhere = gas.assign_coords(lon=gas["lon"] - 360.0)
        for given in (turned, wide, grams, elsewhere, gas.rename(lat="latitude", lon="longitude"), gas.drop_attrs()):
            simulation.set("gas", 0.0)
            simulation.set("gas", given)
            np.testing.assert_allclose(simulation["gas"], gas, rtol=1e-15)
        simulation.set("gas", 500.0, units="g m-2")
        assert (simulation["gas"] == 0.5).all()
        simulation.set("gas", gas)
        simulation.set("gas", turned, BOX)
        simulation.set("ground", gas[1].isel(lat=slice(None, None, -1)))
        np.testing.assert_allclose(simulation["ground"], gas[1], rtol=1e-7)


def test_an_array_that_does_not_fit_is_refused_with_what_would(run_file):
    with Simulation(run_file) as simulation:
        gas, count = simulation["gas"], ROWS * COLUMNS
        whole = rf"expected {count} values, one a cell, or a map of \(9, 70\), or these of each of 3 levels"
        for given, words in (
            (np.zeros(4), rf'The array for "gas" has the shape \(4,\); {whole}'),
            (np.zeros((2, ROWS, COLUMNS)), whole),
            (gas.isel(lat=slice(0, 5)), r'The array for "gas" has no lat -12.75; it has -12.25 to -10.25'),
            (gas.isel(lon=[*range(COLUMNS), 3]), r'The array for "gas" has lon .* twice'),
            (gas.isel(level=[0, 1]), r'The array for "gas" has no level 500'),
            (gas.expand_dims("time"), r"has the dims \(time, level, lat, lon\); expected \(level, lat, lon\)"),
            (gas.drop_vars("level"), r"has the dims \(level, lat, lon\), and not the coordinates"),
            (gas.drop_vars(("lat", "lon")), r"has the dims \(level, lat, lon\), and not the coordinates"),
            (gas.assign_attrs(units="K"), r'The array for "gas" is in "K", expected "kg m-2"'),
        ):
            with pytest.raises(Mistake, match=words):
                simulation.set("gas", given)
        before = simulation["gas"].values
        simulation.set("gas", gas.isel(level=1) + 1.0)
        np.testing.assert_array_equal(simulation["gas"][[0, 2]], before[[0, 2]])
        np.testing.assert_array_equal(simulation["gas"][1], gas[1] + 1.0)
        for given, level, words in (
            (gas.isel(level=1), 0, r'is of level 850, and "gas\[0\]" is set'),
            (simulation["gas[1]"], 0, r'"gas\[0\]" is set\. To set it there, drop the coordinate: array\.drop_vars\("level"\)'),
            (gas[1].assign_coords(level=7.0), None, "of level 7, and"),
        ):
            with pytest.raises(ModelError, match=words):
                simulation.set("gas", given, level=level)
        with pytest.raises(ModelError, match=r'The value for "gas" is \'half\'; expected a number, or an array of numbers \[kg m-2\]'):
            simulation.set("gas", "half")
        with pytest.raises(ModelError, match=r'The value for "gas" is True; expected a number'):
            simulation.set("gas", True)
        with pytest.raises(ModelError, match=r'is a data set. Give one of its variables, such as dataset\["gas"\]'):
            simulation.set("gas", gas.to_dataset(name="gas"))
        for ask in (simulation.get, lambda name, region: simulation.set(name, 1.0, region=region)):
            with pytest.raises(GridError, match="A region must be a name or one of box, polygon, cell"):
                ask("gas", np.array([0, 1]))
        with pytest.raises(ModelError, match=r'"gas" has levels 0 to 2, not 7'):
            simulation.set("gas[7]", 1.0)
        with pytest.raises(ModelError, match=r"has the dims \(level, lat, lon\); expected \(lat, lon\)"):
            simulation.set("gas", gas, level=1)


def test_what_has_no_such_level_is_refused_by_name(run_file):
    with Simulation(run_file) as simulation:
        with pytest.raises(RequestError, match=r'"gas" has 3 levels, 1000 hPa to 500 hPa. Ask for one: "gas\[0\]" to "gas\[2\]"'):
            simulation.image("gas")
        with pytest.raises(RequestError, match=r'There is no level "3"\. Levels are 0 to 2, or 1000 hPa, 850 hPa, 500 hPa'):
            simulation.set("gas", 1.0, level=3)
        with pytest.raises(RequestError, match='"ground" has no levels'):
            simulation.set("ground", 1.0, level=0)
        with pytest.raises(ModelError, match=r'"gas" has levels 0 to 2, not 3'):
            simulation.get("gas[3]")
        with pytest.raises(ModelError, match=r'"ground" has no levels'):
            simulation.get("ground[0]")
        with pytest.raises(RangeError, match=r'"gas\[1\]" is -1.* it must be a number, 0'):
            simulation.set("gas", -1.0, level=1)
        values = np.ones((LEVELS, ROWS * COLUMNS))
        values[1, 5] = -2.0
        with pytest.raises(RangeError, match='"gas" is -2 kg m-2 in cell 5'):
            simulation.set("gas", values)
    for wrong, words in ((("850 hPa", "700 hPa"), 'no level "700 hPa"'), (("gas = 4.0", "ground = 4.0"), '"ground" has no levels')):
        run_file.write_text(RUN.replace(*wrong))
        with pytest.raises((RunFileError, RequestError), match=words):
            Plan.of(run_file)


def test_results_are_drawn_filmed_and_exported_by_the_value_of_a_level(run_file, tmp_path):
    with Simulation(run_file) as simulation:
        simulation.step(24)
        with pytest.raises(ModelError, match=r'Write "gas\[1\]" for "gas\[850 hPa\]"'):
            simulation.get("gas[850 hPa]")
        with pytest.raises(ModelError, match=r'There is no level "700 hPa"\. Levels are 0 to 2, or 1000 hPa'):
            simulation.get("gas[700 hPa]")
    out = run_file.parent / "out"
    by_value, by_number = (draw(out, tmp_path / f"{i}.png", PictureChoices([name])) for i, name in enumerate(("gas[850 hPa]", "gas[1]")))
    assert by_value.read_bytes() == by_number.read_bytes()
    assert ExportSource(out, ["gas[500 hPa]"]).names == ["gas[2]"]
    for wanted, places in ((["gas[2]"], {"gas": "level"}), (["gas[0]", "gas[2]"], {"gas_0": "level", "gas_2": "level_2"})):
        (file,) = write_netcdf(ExportSource(out, wanted), tmp_path / "one.nc", "test", overwrite=True)
        with xarray.open_dataset(file) as found, steppe.open(out) as whole:
            for (name, place), level in zip(places.items(), (int(one[4]) for one in wanted), strict=True):
                assert found[place].item() == whole["level"].values[level]
                assert found[name].dims == ("time", "lat", "lon")
                assert place in found[name].coords
                np.testing.assert_array_equal(found[name], steppe.unpack(whole["gas"], whole)[:, level])
    assert reel_of(out, FilmChoices("gas[850 hPa]")).name == "gas[1]"
    with pytest.raises(RequestError, match='There is no level "700 hPa"'):
        ExportSource(out, ["gas[700 hPa]"])
    with pytest.raises(RunFileError, match=r'has no map of "gas"\. "gas" has 3 levels, 1000 hPa to 500 hPa'):
        draw(out, tmp_path / "all.png", PictureChoices(["gas"]))


def test_a_check_says_before_it_takes_memory_that_there_is_too_little(run_file, monkeypatch):
    monkeypatch.setattr("steppe.engine.check.free_memory", lambda: 17_000.0)
    plan = Plan.of(run_file)  # 630 cells with three levels of 8 bytes, and one of 4
    with pytest.raises(RunFileError, match=r"The states of 630 cells take 17\.6 kB, and 17 kB are free here"):
        estimate(plan)


def test_a_level_has_a_number_and_a_value_with_its_unit():
    space = Space((1000.0, 850.0, 0.5), "hPa")
    assert [level_of(space, asked) for asked in (2, "1", "850 hPa", "850hPa", "5e-1 hPa")] == [2, 1, 1, 1, 2]
    assert level_of(Space((0.995, 0.5)), "0.5") == 1
    assert [level_of(space, asked) for asked in ("8.5e4 Pa", "85 kPa", "850 mbar", "850 mb")] == [1, 1, 1, 1]
    assert level_of(Space((50.0, 150.0), "m"), "0.15 km") == 1
    for asked in ("850", "850 Pa", "850 m", "850 K", "-1", "1e3", "", "hPa"):
        with pytest.raises(RequestError, match="There is no level"):
            level_of(space, asked)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((),), "at least one number"),
        (((1.0, 1.0),), "must rise or fall"),
        (((1.0, 3.0, 2.0),), "must rise or fall"),
        ((("low", "high"),), "Write numbers"),
        (((1.0, 2.0), "m", "", "sideways"), 'positive is "sideways"'),
        (((1.0, 2.0), "m", "", "up", ((0.0, 1.5),)), "1 bounds and 2 values"),
        (((1.0, 2.0), "m", "", "", (), "", ((0.0, 0.0), (1.0, 0.0))), "2 interfaces and 2 values"),
    ],
)
def test_a_space_that_is_none_is_refused(arguments, words):
    with pytest.raises(ModelError, match=words):
        Space(*arguments)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"gas", ("level", "y", "x")', '"gas", ("layer", "y", "x")'), 'the dim "layer", which is no space of the model'),
        (('spaces = {"level"', 'spaces = {"time"'), r'spaces\["time"\]: this name is taken'),
        (('"hPa", "air', '"hektopascal", "air'), 'the unit "hektopascal"'),
        (('"rate", (), "1"', '"rate", ("level",), "1"'), '"rate" has the dims'),
    ],
)
def test_a_model_with_levels_that_nothing_carries_is_refused(run_file, change, words):
    model = run_file.with_name("column.py")
    assert change[0] in MODEL
    model.write_text(MODEL.replace(*change))
    with pytest.raises(ModelError, match=words):
        Plan.of(run_file)


@pytest.mark.filterwarnings("ignore:overflow")  # of the sum that a change tells
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_level_with_a_bad_cell_is_named(run_file, ranks):
    def work(simulation: Simulation) -> str:
        simulation.step(1)
        for level in (0, 1):
            simulation.set("gas", 1.7e308, BOX, level)
        with pytest.raises(BadCellError) as caught:
            simulation.step()
        return str(caught.value)

    said = on_ranks(ranks, run_file, work)
    assert "in cell 213 (" in said
    assert '"gas[1]" is inf and 35 more cells are bad' in said


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_level_of_a_state_is_answered_while_a_long_step_goes_on(run_file, ranks, monkeypatch):
    monkeypatch.setattr(stage_module, "LONG", 0.0)  # every step is one

    def work(session: Session) -> tuple[np.ndarray, bytes]:
        session.load(1, OWN)
        for step in (1, 2, 3):
            to(session, step)
        answer = session.answer(1, query({"name": "gas[1]"}))
        assert answer is not None
        assert session.answer(1, query({"name": "flow[1]"})) is None
        return seen(session, "gas")[1], bytes(answer[1])

    packed, told = on_session(run_file, work, ranks)
    assert np.frombuffer(told, "<f8").tobytes() == Plan.of(run_file).grid.unpack(packed).tobytes()


AIR = """\
from steppe.models import FieldModel, Needs, Role, Space, Variable

class Air(FieldModel):
    name, version = "air", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1}, step="10 minutes")
    spaces = {"level": Space(tuple(range(32)))}
    variables = {
        f"s{n}": Variable(f"s{n}", ("level", "y", "x"), "1", "float32", Role.STATE, "Species", initial=0.0) for n in range(66)
    }

    def compute(self, where):
        self.new[(..., *where)] = self.now[(..., *where)]

MODEL = Air
"""


def test_the_buffers_of_many_species_on_many_levels_stay_within_256_mb(tmp_path):
    (tmp_path / "air.py").write_text(AIR)
    names = ", ".join(f'"s{n}"' for n in range(66))
    (tmp_path / "run.toml").write_text(
        'model = "air.py"\ntime = { start = 2001-03-05, end = 2001-03-07 }\n'
        "grid = { rectangle = { north = 10, west = 0, rows = 32, columns = 32, cell = 0.5 } }\n"
        f'output = {{ path = "out", variables = [{names}], every = "10 minutes" }}\n'
    )
    outputs = Outputs(Plan.of(tmp_path / "run.toml"))
    (group,) = outputs.groups
    record = 66 * 32 * 1024 * 4
    assert group.layout(group.outputs[0]).shard == (12, 32, 256)  # a divisor of the records of a shard
    assert group.memory == 2 * 12 * record < 256 << 20
    assert outputs.memory == group.memory + record  # of one step; the last value of an interval needs no more


@pytest.mark.parametrize("name", ["hyai", "hybrid"])
def test_a_field_may_have_the_name_of_a_coefficient_of_hybrid_levels(run_file, name):
    for path in (run_file, run_file.with_name("column.py")):
        path.write_text(path.read_text().replace("ground", name))
    with Simulation(run_file) as run:
        run.run()
    with steppe.open(run_file.with_name("out")) as found:
        assert set(found.data_vars) == {"gas", name, "flow"}
    assert ExportSource(run_file.with_name("out")).store.levels["gas"][1].interfaces == ()
