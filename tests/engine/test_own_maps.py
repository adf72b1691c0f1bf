"""Maps of a CF store that a run file names: parameters and the initial state, with levels and without, on any number of ranks."""

import re
from pathlib import Path

import numpy as np
import pyproj
import pytest
import xarray

import steppe
from steppe.engine import Session, Simulation
from steppe.errors import ForcingError
from steppe.grid import read_grid
from tests.engine.sessions import OWN, on_session, seen, setting, to
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest

ROWS, COLUMNS, LEVELS = 9, 70, 3
MODEL = """\
from steppe.models import FieldModel, Needs, Role, Space, Variable

class Column(FieldModel):
    \"\"\"A gas of which another share stays at each place of each level, and which the ground feeds.\"\"\"

    name, version = "column", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    spaces = {"level": Space((1000.0, 850.0, 500.0), "hPa", "air_pressure", "down")}
    variables = {
        "gas": Variable("gas", ("level", "y", "x"), "kg m-2", "float64", Role.STATE, "Gas", low=0.0, initial=1.0),
        "share": Variable("share", ("level", "y", "x"), "1", "float64", Role.PARAMETER, "What stays", low=0.0, high=1.0, initial=0.5),
        "fed": Variable("fed", ("y", "x"), "mm", "float64", Role.PARAMETER, "What comes", low=0.0, high=100.0, initial=0.0),
        "all": Variable("all", (), "1", "float64", Role.PARAMETER, "A factor of all", low=0.0, high=1.0, initial=1.0),
    }

    def compute(self, where):
        (y, x), every = where, (..., *where)
        north = self.maps["share"][(..., slice(y.start - 1, y.stop - 1), x)]  # behind the northern wall that of the first row
        self.after["gas"][every] = self.before["gas"][every] * (0.5 * (self.maps["share"][every] + north)) + self.maps["fed"][where]

MODEL = Column
"""
RUN = """\
model = "column.py"
time = { start = 2001-03-05, end = 2001-03-05, step = "1 hour" }
grid = { rectangle = { north = -10, west = 120, rows = 9, columns = 70, cell = 0.5 } }
output = { path = "out", variables = ["gas"], every = "2 hours", reduce = "last" }
engine = { checkpoint = "5 hours", threads = 1 }

[parameters]
share = { store = "own.zarr", variable = "part" }
fed = { store = "own.zarr", variable = "water" }

[initial]
gas = { store = "own.zarr", variable = "smoke" }

[[event]]
date = 2001-03-05T02:00:00
set = { share = 0.25 }
region = { box = [130.0, -13.0, 140.0, -11.0] }
level = "850 hPa"
"""


def maps() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    return {
        "gas": random.uniform(1.0, 2.0, (LEVELS, ROWS, COLUMNS)),
        "share": random.uniform(0.0, 1.0, (LEVELS, ROWS, COLUMNS)),
        "fed": random.uniform(0.0, 1.0, (ROWS, COLUMNS)),
    }


def store() -> xarray.Dataset:
    """The maps as somebody else writes them: from the south, levels from above in another unit, dims in another order, other units."""
    of = maps()
    axes = {
        "lat": ("lat", -10.25 - 0.5 * np.arange(ROWS)[::-1], {"units": "degrees_north"}),
        "lon": ("lon", 120.25 + 0.5 * np.arange(COLUMNS), {"units": "degrees_east"}),
        "p": ("p", [50_000.0, 85_000.0, 100_000.0], {"units": "Pa"}),
    }
    return xarray.Dataset(
        {
            "smoke": (("lat", "p", "lon"), 1e3 * of["gas"][::-1, ::-1].transpose(1, 0, 2), {"units": "g m-2"}),
            "part": (("p", "lat", "lon"), of["share"][::-1, ::-1], {"units": "1"}),
            "water": (("lat", "lon"), of["fed"][::-1], {"units": "mm"}),
        },
        axes,
    )


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    (tmp_path / "column.py").write_text(MODEL)
    (tmp_path / "run.toml").write_text(RUN)
    store().to_zarr(tmp_path / "own.zarr", consolidated=False)
    return tmp_path / "run.toml"


def stepped(gas: np.ndarray, share: np.ndarray, fed: np.ndarray) -> np.ndarray:
    """A step by plain NumPy."""
    north = np.concatenate([share[:, :1], share[:, :-1]], axis=1)
    return gas * (0.5 * (share + north)) + fed


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_maps_with_levels_are_those_of_the_store_and_change_by_level(run_file, ranks):
    def work(simulation: Simulation) -> list[np.ndarray]:
        simulation.step(2)
        early = simulation.get("gas")
        simulation.step(1)
        return [early, simulation.get("gas"), simulation.get("share"), simulation.get("share[1]")]

    early, late, share, level = on_ranks(ranks, run_file, work)
    of, order = maps(), steppe.Simulation(run_file).grid.order
    gas = 1e-3 * (1e3 * of["gas"])
    for _ in range(2):
        gas = stepped(gas, of["share"], of["fed"])
    np.testing.assert_allclose(early, gas.reshape(LEVELS, -1)[:, order], rtol=1e-14)
    lat, lon = np.meshgrid(-10.25 - 0.5 * np.arange(ROWS), 120.25 + 0.5 * np.arange(COLUMNS), indexing="ij")
    of["share"][1][(lat >= -13.0) & (lat <= -11.0) & (lon >= 130.0) & (lon <= 140.0)] = 0.25
    gas = stepped(gas, of["share"], of["fed"])
    np.testing.assert_allclose(late, gas.reshape(LEVELS, -1)[:, order], rtol=1e-14)
    np.testing.assert_array_equal(share, of["share"].reshape(LEVELS, -1)[:, order])
    np.testing.assert_array_equal(level, share[1])


def test_a_run_goes_on_on_other_ranks_with_the_maps_that_were_set(run_file):
    def begin(simulation: Simulation) -> None:
        simulation.step(6)
        simulation.set("share", 0.75, {"box": [121.0, -12.0, 125.0, -10.0]}, level=2)
        simulation.set("share[0]", np.linspace(0.0, 1.0, ROWS * COLUMNS))
        simulation.step(3)

    def whole(simulation: Simulation) -> None:
        begin(simulation)
        simulation.run()

    on_ranks(3, run_file, begin)
    on_ranks(2, run_file, lambda simulation: simulation.run() and None)
    on_ranks(1, run_file, whole, **{"output.path": '"whole"'})
    assert digest(run_file.parent / "whole") == digest(run_file.parent / "out")


def test_a_served_run_shows_and_changes_a_level_of_a_parameter(run_file):
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 1)
        np.testing.assert_array_equal(seen(session, "share[2]"), maps()["share"][2].ravel()[session.plan.grid.order])
        assert session.apply(1, 1, "set", setting("share[2]", 0.125)).ok
        assert (seen(session, "share[2]") == 0.125).all()
        np.testing.assert_array_equal(seen(session, "share[0]"), maps()["share"][0].ravel()[session.plan.grid.order])

    on_session(run_file, work, ranks=2)


@pytest.mark.parametrize(
    ("changed", "mistake", "words"),
    [
        (lambda own: own.rename(part="parts"), ForcingError, r'own.zarr" has no variable "part". Did you mean "parts"'),
        (lambda own: own.isel(p=slice(0, 2)), ForcingError, r"expected 3 of 1000, 850, 500 hPa"),
        (lambda own: own.isel(lat=slice(0, 5)), ForcingError, r'"part" is on another grid: .*, those of the run .*Regrid the store\.$'),
        (lambda own: own.assign(part=own["part"].drop_attrs()), ForcingError, r'"part" has no units, and they are never guessed'),
        (lambda own: own.assign(water=own["part"]), ForcingError, r'"water" has levels, and "fed" has none'),
        (
            lambda own: own.assign(water=own["water"].assign_attrs(units="mm a.s.l.")),
            ForcingError,
            r'"water" is in "mm a.s.l.", expected "mm" or .* Correct the attribute "units" in the store, in a spelling of UDUNITS;',
        ),
        (lambda own: own.assign(part=own["part"].assign_attrs(units="kg")), ForcingError, r'"part" is in "kg"'),
        (
            lambda own: own.assign(part=own["part"].assign_attrs(valid_max=0.5)),
            ForcingError,
            r": nan is missing \(or outside the valid range of the store\) and \d+ more",
        ),
        (
            lambda own: own.assign(part=own["part"].where(own["part"] > 0.5)),
            ForcingError,
            r"part at p 100000 Pa, cell 0 .*: nan is missing and 952 more",
        ),
        (lambda own: own.assign(part=2.0 * own["part"]), ForcingError, r"is above 1"),
        (
            lambda own: xarray.concat([own, own], xarray.Variable("time", [0.0, 1.0], {"units": "days since 2001-03-05"})),
            ForcingError,
            r'"part" has 2 records. Write a store of one of them: xarray\'s .isel\(time=0, drop=True\)',
        ),
    ],
)
def test_a_store_that_does_not_fit_is_named(run_file, changed, mistake, words):
    changed(store()).to_zarr(run_file.with_name("own.zarr"), mode="w", consolidated=False)
    with pytest.raises(mistake, match=words):
        steppe.Simulation(run_file)


def test_a_map_without_levels_holds_on_all_of_them(run_file):
    own = store()
    own["part"] = own["water"].assign_attrs(units="1")
    own["smoke"] = 1e3 * own["water"].assign_attrs(units="g m-2")
    own.to_zarr(run_file.with_name("own.zarr"), mode="w", consolidated=False)
    with steppe.Simulation(run_file) as simulation:
        for name in ("share", "gas"):
            found = simulation[name].values
            np.testing.assert_allclose(found, np.broadcast_to(maps()["fed"], found.shape), rtol=1e-15)


def test_a_cell_model_takes_such_a_map_where_its_cells_are(scenario):
    """Of a grid with a mask; what is missing beside the cells does not matter."""
    grid = read_grid(file=scenario.parent / "mask.zarr")
    capacity = np.where(grid.active, np.random.default_rng(2).uniform(50.0, 150.0, grid.active.shape), np.nan)
    axes = {"lat": ("lat", grid.lat, {"units": "degrees_north"}), "lon": ("lon", grid.lon, {"units": "degrees_east"})}
    own = xarray.Dataset({"depth": (("lat", "lon"), 0.1 * capacity, {"units": "cm"})}, axes)
    own.isel(lat=slice(None, None, -1)).to_zarr(scenario.parent / "soil.zarr", consolidated=False)
    scenario.write_text(scenario.read_text().replace("capacity = 120.0", 'capacity = { store = "soil.zarr", variable = "depth" }'))
    with steppe.Simulation(scenario) as simulation:
        np.testing.assert_allclose(simulation.get("capacity"), capacity.ravel()[grid.order], rtol=1e-12)
        simulation.step()


def test_a_map_of_land_types_needs_no_unit(scenario):
    grid = read_grid(file=scenario.parent / "mask.zarr")
    types = np.random.default_rng(2).integers(1, 3, grid.active.shape)
    axes = {"lat": ("lat", grid.lat, {"units": "degrees_north"}), "lon": ("lon", grid.lon, {"units": "degrees_east"})}
    xarray.Dataset({"soil": (("lat", "lon"), types)}, axes).to_zarr(scenario.parent / "soil.zarr", consolidated=False)
    text = scenario.read_text().replace("capacity = 120.0", 'land_type = { store = "soil.zarr", variable = "soil" }')
    scenario.write_text(text + "\n[[land_type]]\nid = 1\ncapacity = 60.0\n\n[[land_type]]\nid = 2\ncapacity = 90.0\n")
    with steppe.Simulation(scenario) as simulation:
        np.testing.assert_array_equal(simulation.get("capacity"), 30.0 + 30.0 * types.ravel()[grid.order])


GROUND = """\
from steppe.models import FieldModel, Needs, Role, Variable

YX = ("y", "x")

class Ground(FieldModel):
    \"\"\"Water that rain brings, of which a share stays.\"\"\"

    name, version = "ground", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables = {
        "water": Variable("water", YX, "mm", "float64", Role.STATE, "Water", initial=0.0),
        "rain": Variable("rain", YX, "mm", "float64", Role.FORCING, "Rain", low=0.0, between="last"),
        "share": Variable("share", YX, "1", "float64", Role.PARAMETER, "What stays", initial=0.5),
    }

    def compute(self, where):
        self.after["water"][where] = self.maps["share"][where] * (self.before["water"][where] + self.forcing["rain"][where])

MODEL = Ground
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_catchment_on_a_projection_has_the_rain_and_the_maps_of_its_own_cells(tmp_path, ranks):
    random, active = np.random.default_rng(3), np.ones((ROWS, COLUMNS), np.int8)
    active[2:5, 20:40] = 0
    rain, share = random.uniform(0.0, 9.0, (3, ROWS, COLUMNS)), random.uniform(0.0, 1.0, (ROWS, COLUMNS))
    axes = {
        "time": ("time", np.arange(3), {"units": "days since 2001-03-05"}),
        "y": ("y", 7e6 + 100.0 * np.arange(ROWS), {"units": "m"}),
        "x": ("x", 4e5 + 100.0 * np.arange(COLUMNS), {"units": "m"}),
        "utm": ((), 0, pyproj.CRS.from_epsg(32755).to_cf()),
    }
    mapped = {"grid_mapping": "utm"}
    own = xarray.Dataset({"rain": (("time", "y", "x"), rain, {"units": "mm", **mapped})}, axes).reset_coords("utm")
    own["part"] = ("y", "x"), 100.0 * share, {"units": "%", **mapped}
    own["mask"] = ("y", "x"), active, mapped
    own.to_zarr(tmp_path / "own.zarr", consolidated=False)
    own[["mask", "utm"]].to_netcdf(tmp_path / "mask.nc")
    (tmp_path / "ground.py").write_text(GROUND)
    run_file = tmp_path / "run.toml"
    run_file.write_text(
        'model = "ground.py"\ntime = { start = 2001-03-05, end = 2001-03-07 }\ngrid = { file = "mask.nc" }\n'
        'forcing = { fields = "own.zarr" }\nparameters = { share = { store = "own.zarr", variable = "part" } }\n'
        'output = { path = "out", variables = ["water"], every = "1 day" }\n'
    )

    def work(simulation: Simulation) -> np.ndarray:
        simulation.step(3)
        return simulation["water"].values

    water = np.zeros((ROWS, COLUMNS))
    for day in rain:
        water = share * (water + day)
    expected = np.where(active, water, np.nan)[::-1]
    np.testing.assert_allclose(on_ranks(ranks, run_file, work), expected, rtol=1e-14)


def test_results_of_a_run_are_no_map_and_the_message_says_how_to_begin_with_them(run_file):
    on_ranks(1, run_file, lambda simulation: simulation.run() and None)
    text = run_file.read_text()
    for place in (run_file.parent / "out", run_file.parent / "out" / "output.zarr"):
        wanted = re.escape(f'"{place}" holds results of a run, which change in time. To begin with them write [initial] state = {{ store =')
        run_file.write_text(text.replace("own.zarr", str(place)))
        with pytest.raises(ForcingError, match=wanted):
            steppe.Simulation(run_file)
