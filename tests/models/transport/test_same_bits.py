"""The same bits for any number of ranks, hosts, pages, caches and cuts of the steps."""

import numpy as np
import pytest

import steppe
from steppe.comm import Serial
from steppe.engine import Simulation
from steppe.engine.plan import Plan
from steppe.grid import Raster
from steppe.io import StoredRecords
from steppe.testing import run_threads
from tests.models.same_bits import assert_same, states, whole

from .winds import write_winds

STEPS = 6


def run_file(folder, scheme="best", wind="forcing", levels=6, **more):
    words = "".join(f"{key} = {value}\n" for key, value in more.items())
    forcing = '[forcing]\nfields = "winds.zarr"\n' if wind == "forcing" else ""
    path = folder / f"{scheme}_{wind}_{'_'.join(map(str, more.values()))}.toml"
    path.write_text(
        f"""model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-02, step = "6 hours" }}
grid = {{ gaussian = 16 }}
{forcing}
[parameters]
scheme = "{scheme}"
wind = "{wind}"
{"" if wind == "forcing" else f"levels = {levels}"}
tracers = {{ hills = "hills", slotted = "slotted", radon = {{ half_life = "3.8 days", source = "1e-6 s-1", box = [-20, 30, 60, 60] }} }}
{words}
[output]
path = "out"
variables = ["hills"]
every = "1 day"
"""
    )
    return path


def advanced(world, plan, dims=None, steps=STEPS, pieces=1, cache=None):
    """The state of the own cells after some steps. cache: bytes, less than a run file may ask for."""

    def smaller(model):
        model._advection._cache = cache or model._advection._cache

    return states(world, plan, dims, steps=steps, pieces=pieces, prepare=smaller)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("transport")
    write_winds(path / "winds.zarr", latitudes=16, levels=6, hours=6, days=3)
    return path


@pytest.fixture(scope="module", params=[("best", "forcing"), ("ccm", "forcing"), ("ccm", "dcmip11"), ("best", "deforming")])
def case(request, folder):
    """Scheme and wind, and the state after some steps on one rank."""
    plan = Plan.of(run_file(folder, *request.param))
    return request.param, whole([advanced(Serial(), plan)], (16, 32))


@pytest.mark.parametrize(("ranks", "dims"), [(2, None), (4, {"y": 2, "x": 2}), (3, {"y": 1, "x": 3}), (8, None)])
def test_ranks_of_one_host_and_any_cut_give_the_same_bits(case, folder, ranks, dims):
    (scheme, wind), expected = case
    plan = Plan.of(run_file(folder, scheme, wind))
    assert_same(whole(run_threads(ranks, lambda world: advanced(world, plan, dims)), (16, 32)), expected)


# each page and each cut, not each pair
@pytest.mark.parametrize(
    ("hosts", "dims", "page", "cache"),
    [(["a", "b"], None, 4, 1), (["a", "b", "a", "c"], {"y": 2, "x": 2}, 16, 1), (["a", "b", "a", "c"], {"y": 2, "x": 2}, 64, 64)],
)
def test_ranks_of_several_hosts_with_any_pages_and_cache_give_the_same_bits(case, folder, hosts, dims, page, cache):
    (scheme, wind), expected = case
    plan = Plan.of(run_file(folder, scheme, wind, page=page, cache=cache))
    parts = run_threads(len(hosts), lambda world: advanced(world, plan, dims), 60.0, hosts)
    assert_same(whole(parts, (16, 32)), expected)


def test_steps_in_pieces_give_the_same_bits(case, folder):
    (scheme, wind), expected = case
    plan = Plan.of(run_file(folder, scheme, wind))
    assert_same(whole([advanced(Serial(), plan, pieces=3)], (16, 32)), expected)


@pytest.mark.parametrize("scheme", ["best", "ccm"])
def test_pages_that_make_room_for_others_are_asked_for_again(tmp_path, scheme):
    write_winds(tmp_path / "winds.zarr", latitudes=32, levels=6, hours=6, days=1, strength=400.0)
    file = run_file(tmp_path, scheme, page=4)
    file.write_text(file.read_text().replace("gaussian = 16", "gaussian = 32").replace("end = 2000-01-02", "end = 2000-01-01"))
    plan = Plan.of(file)
    expected = whole([advanced(Serial(), plan, steps=2)], (32, 64))
    parts = run_threads(2, lambda world: advanced(world, plan, steps=2, cache=30 * 4096), 60.0, ["a", "b"])
    assert_same(whole(parts, (32, 64)), expected)


def test_winds_with_rows_on_the_poles_are_taken_as_they_are(tmp_path):
    rows, columns = 17, 32
    grid = Raster(90.0, -11.25, 0.0, 11.25, np.ones((rows, columns), bool))
    write_winds(tmp_path / "winds.zarr", grid=grid)
    path = run_file(tmp_path)
    path.write_text(path.read_text().replace("grid = { gaussian = 16 }\n", ""))
    plan = Plan.of(path)
    assert plan.grid.digest == Raster(90.0, -11.25, -180.0, 11.25, grid.active).digest  # from west to east of Greenwich
    expected = whole([advanced(Serial(), plan)], (rows, columns))
    for ranks, dims, hosts in ((4, {"y": 2, "x": 2}, None), (2, None, ["a", "b"])):
        assert_same(whole(run_threads(ranks, lambda world, dims=dims: advanced(world, plan, dims), 60.0, hosts), (rows, columns)), expected)
    with Simulation(path) as run:
        run.run()
    with steppe.open(tmp_path / "out") as results:
        assert steppe.unpack(results)["lat"].values[[0, -1]].tolist() == [90.0, -90.0]
    assert StoredRecords.open(tmp_path / "out").grid == plan.grid
