"""A run in other hands: what a person does from a notebook, on a real server with a real engine."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
import xarray

import steppe
from steppe.client import NoAccessError, NotAtHandError, RefusedError, Run, StaleError, UnknownError, UnreachableError
from steppe.client.refusals import raised
from steppe.errors import Mistake
from tests.client.served import TOKENS, Served, until
from tests.engine.test_stations import run_file as stations  # noqa: F401

BOX = (143.4, -23.1, 144.1, -21.9)
TRIANGLE = [(143.0, -23.0), (145.0, -23.0), (145.0, -21.0)]


def test_a_served_run_computes_what_the_command_computes(run: Run, shared_server: Served) -> None:
    run.step(until="1990-03-01")
    with steppe.Simulation(shared_server.folder / "run.toml", path=shared_server.folder / "alone") as alone:
        alone.step(51)
        expected = alone["water"]
    found = run["water"]
    assert found.dims == ("lat", "lon")
    assert found.attrs["units"] == "mm"
    assert found.lat.attrs["standard_name"] == "latitude"
    assert found.time == np.datetime64("1990-03-01")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found.lat, expected.lat)
    np.testing.assert_array_equal(found.lon, expected.lon)


def test_parts_of_a_map_lie_where_they_lay(run: Run) -> None:
    run.step(3)
    whole = run["water"]
    for part in (run.get("water", box=BOX), run.get("water", stride=3), run.get("water", box=BOX, stride=2)):
        xarray.testing.assert_equal(part, whole.sel(lat=part.lat, lon=part.lon))
    assert run.get("water", box=BOX).shape == (5, 3)
    triangle = run.get("water", polygon=TRIANGLE)
    assert 0 < triangle.count() < triangle.size
    xarray.testing.assert_equal(triangle, whole.sel(lat=triangle.lat, lon=triangle.lon).where(triangle.notnull()))
    cells = run.get("water", cells=[30, 2])
    assert cells.packed.values.tolist() == [30, 2]
    np.testing.assert_array_equal(cells, whole.sel(lat=cells.lat, lon=cells.lon))
    series = run.series("water", [(143.5, -20.5), (144.0, -22.0)])
    assert series.dims == ("time", "place")
    assert series.step.values.tolist() == list(range(1, int(whole.step) + 1))
    np.testing.assert_array_equal(series[-1], [whole.sel(lat=-20.5, lon=143.5), whole.sel(lat=-22.0, lon=144.0)])


@pytest.mark.parametrize("box", [None, BOX])
def test_a_table_has_the_rows_and_columns_of_the_map(
    run: Run, shared_server: Served, box: tuple[float, float, float, float] | None
) -> None:
    """And not every second one of the cells that lie behind each other in memory."""
    run.step(1)
    part = {"box": ",".join(map(str, box))} if box else {}
    token = {"Authorization": f"Bearer {TOKENS['admin']}"}
    address = f"{shared_server.address}/api/v1/runs/out/data/water"
    found = httpx.get(address, params={"format": "csv", "stride": 2, **part}, headers=token)
    table = np.array([line.split(",")[1:] for line in found.text.splitlines()[1:]], float)
    there = run.get("water", box=box, stride=2).stack(place=("lat", "lon")).dropna("place")
    np.testing.assert_array_equal(table[:, :2], np.stack([there.lon, there.lat], axis=1))
    np.testing.assert_array_equal(table[:, 2].astype("f4"), there.values)


def test_every_other_point_is_where_it_was(stations: Path) -> None:  # noqa: F811
    server = Served(stations)
    try:
        run = server.connect()
        run.step(1)
        whole = run["rain"]
        assert list(whole.cell_id) == ["b", "a"]
        for part in (run.get("rain", stride=2), run.get("rain", box=(149.0, -27.0, 152.0, -24.0), stride=2)):
            xarray.testing.assert_identical(part, whole[::2])
        xarray.testing.assert_identical(run.get("rain", cells=[1, 0], stride=2), whole[::-1])
    finally:
        server.stop()


def test_all_dates_are_one_data_set_that_is_fetched_as_it_is_looked_at(run: Run) -> None:
    whole = run.dataset()
    assert whole["water"].dims == ("time", "lat", "lon")
    assert whole["water"].isnull().all()
    maps = {}
    for _ in range(4):
        run.step(5)
        now = run["water"]
        maps[str(now.time.values)[:10]] = now
    for date, then in maps.items():  # computed once more where they were not recorded
        found = whole["water"].sel(time=date)
        xarray.testing.assert_equal(found.drop_vars(["time", "crs", "cell_area"]), then.drop_vars(["time", "step"], errors="ignore"))
        assert found.attrs["units"] == then.attrs["units"]
    assert whole["water"].sel(time=slice("1990-01-30", None)).isnull().all()
    names = {name for name, each in run.variables.items() if each.role in ("state", "forcing", "diagnostic")}
    assert set(whole.data_vars) == names
    assert all(np.isfinite(whole[name].sel(time="1990-01-20")).any() for name in names)
    assert whole["bad_step"].encoding["_FillValue"] == np.iinfo(np.int32).min  # where no cell is, and where the run has not been
    assert np.unique(whole["bad_step"].sel(time=["1990-01-20", "1990-01-31"]).values).tolist() == [-1.0, pytest.approx(np.nan, nan_ok=True)]
    np.testing.assert_array_equal(whole["bad_step"].sel(time="1990-01-20").isnull(), whole["water"].sel(time="1990-01-20").isnull())
    dry = run.branch("dry", at="1990-01-15", set={"capacity": 10.0})
    dry.step(2)
    apart = dry.dataset()["water"]
    xarray.testing.assert_equal(apart.sel(time="1990-01-15"), whole["water"].sel(time="1990-01-15"))
    assert (apart.sel(time="1990-01-16") < whole["water"].sel(time="1990-01-16")).any()
    before = whole["water"].sel(time="1990-01-18").load()
    run.rewind("1990-01-15")
    run.set("water", 0.0)
    run.step(5)
    xarray.testing.assert_identical(whole["water"].sel(time="1990-01-18").load(), before)  # an open data set keeps what was left
    assert (run.dataset()["water"].sel(time="1990-01-18") < before).any()


def test_a_map_is_drawn_and_made_smaller_where_it_lies(run: Run, tmp_path: Path) -> None:
    run.step(3)
    whole = run["water"]
    picture = run.image("water", box=BOX, width=3, low=0.0, high=100.0)
    assert picture._repr_png_()[:4] == b"\x89PNG"
    assert repr(picture).startswith("<PNG, 3 x 5, ")
    assert picture.save(tmp_path / "water.png").read_bytes() == picture
    small = run.get("water", width=5)
    assert small.shape == (6, 5)
    assert whole.min() < small.min() < small.max() < whole.max()
    np.testing.assert_allclose(small.lon, 142.875 + 2.75 * (np.arange(5) + 0.5) / 5)
    np.testing.assert_allclose(small.lat, -19.875 - 3.5 * (np.arange(6) + 0.5) / 6)


def test_a_variable_is_set_by_numbers_maps_lists_and_arrays_of_xarray(run: Run) -> None:
    run.step(2)
    before = run["water"]
    done = run.set("water", 100.0, box=BOX)
    assert done.state == "done"
    assert done.result["cells"] == 15
    inside = (before.lon > BOX[0]) & (before.lon < BOX[2]) & (before.lat > BOX[1] - 0.01) & (before.lat < BOX[3] + 0.01)
    xarray.testing.assert_allclose(run["water"], before.where(~inside, 100.0).where(before.notnull()))
    run.set("water", 2.0, polygon=TRIANGLE, operation="scale")
    triangle = run.get("water", polygon=TRIANGLE)
    assert run["water"].sel(lat=-23.0, lon=143.0) == before.sel(lat=-23.0, lon=143.0) or triangle.sel(lat=-23.0, lon=143.0).notnull()
    run.set("water", 1.0, units="cm", cells=[0, 1])
    assert list(run.get("water", cells=[0, 1])) == [10.0, 10.0]
    run.set("water", before)  # an array of xarray, whole
    xarray.testing.assert_equal(run["water"], before)
    run.set("water", (before / 10.0 + 1.0).assign_attrs(units="cm"))  # in a unit of its own
    xarray.testing.assert_allclose(run["water"], before + 10.0)
    with pytest.raises(RefusedError, match='"K" does not convert to "mm"'):
        run.set("water", before.assign_attrs(units="K"))
    run.set("water", before)
    shuffled = (before + 1.0).transpose("lon", "lat")[::-1]
    run.set("water", shuffled, box=BOX)  # of another extent and order
    assert float((run["water"] - before).sum()) == pytest.approx(15.0, abs=1e-3)
    run.set("water", np.nan_to_num(before.values))  # a map
    xarray.testing.assert_equal(run["water"], before)
    run.set("water", [11.0, 12.0], cells=[7, 5])
    assert list(run.get("water", cells=[7, 5])) == [11.0, 12.0]


def test_a_change_of_a_later_date_waits_for_it(run: Run) -> None:
    planned = run.set("capacity", 77.0, when="1990-01-13")
    assert planned.state in ("queued", "running")
    (event,) = run.events
    assert event.at_step == 3
    run.step(3)
    assert planned.wait().state == "done"
    assert float(run["capacity"].max()) == 77.0
    assert run.events == []


def test_an_event_happens_every_year_or_once_in_branches_too(run: Run) -> None:
    yearly = run.add_event("capacity", 0.5, yearly="01-13", operation="scale")
    once = run.add_event("capacity", 77.0, at="1990-01-15", box=BOX)
    assert [(each.id, each.yearly, each.at_step) for each in run.events] == [(yearly.id, "01-13", None), (once.id, None, 5)]
    run.step(4)
    assert float(run["capacity"].max()) == 60.0
    late = run.branch(f"late-{run.info().version}")
    late.remove_event(yearly.id)
    run.step(3)
    late.step(3)
    assert float(late.get("capacity", box=BOX).max()) == 77.0
    xarray.testing.assert_equal(run["capacity"], late["capacity"])
    with pytest.raises(RefusedError, match="has a step that begins on 02-29"):
        run.add_event("capacity", 1.0, yearly="02-29")
    run.remove_event(yearly.id)
    assert [each for each in run.events if each.scenario == "main"] == []


def test_an_event_that_could_not_happen_says_so_in_the_log(run: Run) -> None:
    event = run.add_event("capacity", -1e6, operation="add", at="1990-01-13")
    run.step(3)
    with pytest.warns(UserWarning, match=f"Event {event.id}, 1990-01-13 could not happen: "):
        run.step(2)
    (row,) = [row for row in run.log() if row["seq"] == event.id]
    (effect,) = row["effects"]
    assert (effect["kind"], effect["step"]) == ("warning", 4)
    assert effect["text"].startswith(f"Event {event.id}, 1990-01-13 could not happen: ")
    assert run.events == []


def test_a_trigger_stops_a_run_that_plays(run: Run) -> None:
    wet = run.add_trigger("mean(water) > 1e9 or max(water) < min(water) + 1e9 and sum(rain) > 0", "pause", text="rain")
    picture = run.add_trigger("max(rain) > 0", "image", variable="rain")
    playing = run.play()
    until(lambda: playing.progress == 1.0)
    with pytest.raises(StaleError, match="This was ordered on version"):  # the trigger has steered, and nobody has waited for it
        run.step()
    assert playing.wait().state == "cancelled"
    assert (playing.problem["kind"], playing.problem["who"]) == ("pause", f"trigger:{wet.id}")
    stood = run.scenarios["main"].step

    def fired(which: int) -> list[int]:
        return next(each.fired for each in run.triggers if each.id == which)

    assert fired(wet.id) == [stood]
    until(lambda: fired(picture.id) == [stood])
    last = run.log()[-1]
    assert (last["kind"], last["who"], last["at_step"]) == ("pause", f"trigger:{wet.id}", stood)
    run.remove_trigger(wet.id)
    run.step(30)
    assert run.scenarios["main"].step == stood + 30
    with pytest.raises(RefusedError, match='Did you mean "water"') as error:
        run.add_trigger("mean(watr) > 3", "pause")
    assert error.value.position == 6
    with pytest.raises(RefusedError, match=f"The trigger {wet.id} is over"):
        run.remove_trigger(wet.id)


def test_a_branch_goes_its_own_way(run: Run) -> None:
    run.step(5)
    name = f"wet-{run.info().version}"
    wet = run.branch(name, at=3, set={"irrigation": 30.0, "water": {"value": 5.0, "box": BOX}})
    assert wet.scenario_name == name
    assert float(wet.get("water", box=BOX).max()) == 5.0
    assert run.scenarios[name].fork_step == 3
    wet.step(2)
    more = wet["water"] - run["water"]
    assert more.time == run["water"].time
    assert float(more.sel(lat=-23.25).min()) > 20.0
    xarray.testing.assert_equal(run.get("water", scenario=name), wet["water"])
    xarray.testing.assert_equal(run.scenario(name)["water"], wet["water"])


def test_a_name_that_was_given_up_is_that_of_a_new_scenario(run: Run, shared_server: Served) -> None:
    name = f"again-{run.info().version}"
    run.branch(name).step(2)
    headers = {"Authorization": f"Bearer {TOKENS['steer']}", "Idempotency-Key": name}
    assert httpx.delete(f"{shared_server.address}/api/v1/runs/out/scenarios/{name}", headers=headers).is_success
    again = run.branch(name)
    assert run.scenarios[name].step == 0
    again.step(1)


def test_back_in_time_and_on_again_gives_the_same_bits(run: Run) -> None:
    run.step(20)
    first = run["water"]
    run.rewind("1990-01-15")
    assert run["water"].step == 6
    run.set("water", 500.0)
    run.step(2)
    run.rewind(5)
    run.step(15)
    xarray.testing.assert_identical(run["water"], first)
    with pytest.raises(NotAtHandError, match=r"has not been computed: main stands at step \d+, 1990-[-0-9]+\.$"):
        run.get("water", step=300)


def test_a_date_that_is_over_is_looked_at_while_the_run_stays_where_it_is(run: Run) -> None:
    run.step(until="1990-01-20")
    then = {name: run[name] for name in ("water", "runoff", "drainage")}
    run.set("water", 500.0)
    run.step(100)
    version = run.info().version
    for name, expected in then.items():
        xarray.testing.assert_identical(run.get(name, date="1990-01-20").drop_attrs(), expected.drop_attrs())
        assert run.get(name, date="1990-01-20").step == expected.step
    series = run.series("drainage", at=[(143.5, -20.5)], date="1990-01-18/1990-01-22")
    assert float(series.sel(time="1990-01-20").squeeze()) == float(then["drainage"].sel(lat=-20.5, lon=143.5, method="nearest"))
    assert run.info().version == version
    assert run["water"].step == 111


def test_a_series_of_a_region_has_its_mean_least_and_greatest_value(run: Run) -> None:
    run.step(12)
    found = run.series("water", box=BOX)
    assert found.dims == ("time", "statistic")
    assert found.statistic.values.tolist() == ["mean", "min", "max"]
    assert found.sizes["time"] == 12
    last = run.get("water", box=BOX)
    assert found[-1, 1:].values.tolist() == [float(last.min()), float(last.max())]
    assert run.series("water", box=BOX, points=10).sizes["time"] < 12
    with pytest.raises(Mistake, match="Give places"):
        run.series("water")
    with pytest.raises(Mistake, match="Not both"):
        run.series("water", [(143.5, -20.5)], box=BOX)
    with pytest.raises(Mistake, match="None is no date"):
        run.series("water", box=BOX, date=slice("1990-01-10", None))


def test_play_pause_and_cancel(slow_server: Served) -> None:
    run = slow_server.connect()
    playing = run.play()
    assert 0.0 <= (playing.progress or 0.0) < 1.0
    run.pause()
    assert playing.wait().state == "cancelled"
    paused = run.operations[-1]
    assert playing.problem["text"] == f"Command {paused.id} (pause by {playing.problem['who']}) cancelled it."
    assert (playing.problem["code"], playing.problem["by"]) == ("cancelled", paused.id)
    again = run.step(until="1990-03-01", wait=False)
    assert again.cancel().wait().state == "cancelled"
    planned = run.set("rate", 0.2, when=59)
    planned.cancel()
    assert (planned.state, run.events) == ("cancelled", [])
    assert (planned.problem["kind"], planned.problem["by"]) == ("cancel", run.operations[-1].id)
    with pytest.raises(RefusedError, match="is cancelled"):
        planned.cancel()
    stood = run.info().scenarios[0].step
    assert 0 <= stood < 59
    assert run.checkpoint(pin=True).result["checkpoint"] == run.checkpoints[-1].name
    assert [each.step for each in run.checkpoints][-1:] == [stood]
    assert "concentration" in run._ipython_key_completions_()


def test_wrong_requests_say_what_would_be_right(run: Run) -> None:
    run.step(2)
    before, orders = run["water"], len(run.log())
    with pytest.raises(KeyError, match=r'no variable "watr"\. Did you mean "water"') as unknown:
        run["watr"]
    assert isinstance(unknown.value, UnknownError)
    assert "water" in unknown.value.allowed
    with pytest.raises(RefusedError, match='"kg" does not convert to "mm"') as unit:
        run.set("water", 1.0, units="kg")
    assert (unit.value.code, unit.value.allowed) == ("unit-wrong", "mm")
    with pytest.raises(RefusedError, match="1e\\+09 mm; it must be a number from 0 to 1000 mm") as outside:
        run.set("water", 1e9)
    assert outside.value.allowed == [0.0, 1000.0]
    for value, code in ((1.0, "derived-variable"), (np.ones(144), "derived-variable")):
        with pytest.raises(RefusedError) as refused:
            run.set("runoff", value)
        assert refused.value.code == code
    with pytest.raises(Mistake, match=r"expected 144 values, one a cell, or a map of \(14, 11\)"):
        run.set("water", np.ones(3))
    with pytest.raises(Mistake, match=r"The array has no lat -23\.25"):
        run.set("water", before[:-1])
    with pytest.raises(RefusedError, match=r"can be stepped to 3 \.\. 420"):
        run.step(10**6)
    with pytest.raises(RefusedError, match="lies outside the run"):
        run.step(until="2050-01-01")
    with pytest.raises(UnknownError, match="Did you mean"):
        run.scenario("mains")
    with pytest.raises(RefusedError, match="3 to 10,000 corners"):
        run.get("water", polygon=TRIANGLE[:2])
    with pytest.raises(Mistake, match='The value of "water" is nan'):
        run.set("water", float("nan"))
    with pytest.raises(Mistake, match=r"whole ones; 1\.5 is none"):
        run.set("water", 1.0, cells=[3, 1.5])
    with pytest.raises(Mistake, match="Give box or cells, not both"):
        run.get("water", box=BOX, cells=[1])
    assert len(run.log()) == orders
    xarray.testing.assert_identical(run["water"], before)


def test_who_steers_on_what_she_has_not_seen_is_told(run: Run, shared_server: Served) -> None:
    with shared_server.connect("steer") as other:
        other.step(2)
    with pytest.raises(StaleError) as stale:
        run.set("water", 1.0)
    assert [each["kind"] for each in stale.value.facts["changed"]] == ["step"]
    run.info()
    run.set("water", 1.0)


def test_who_may_not_is_told_so(shared_server: Served) -> None:
    with shared_server.connect("view") as viewer:
        with pytest.raises(NoAccessError, match="steer"):
            viewer.step()
        assert viewer["water"].shape == (14, 11)
    with pytest.raises(NoAccessError, match="Give a token of the server"):
        steppe.connect(shared_server.address, "wrong")
    with pytest.raises(UnknownError, match=r'serves no run "oot"\. Did you mean "out"'):
        shared_server.connect(run="oot")
    with pytest.raises(UnreachableError, match="Is steppe serve running there"):
        steppe.connect("http://127.0.0.1:9", "wrong", patience=0.1)
    with pytest.raises(Mistake, match="no address of a server"):
        steppe.connect("ftp://somewhere")
    with steppe.connect(f"{shared_server.address}/#token={TOKENS['view']}") as viewer:
        assert viewer.info().model == "bucket"


def test_things_show_themselves(run: Run) -> None:
    done = run.step(4)
    assert repr(run).startswith("<Run out, main: step 4 of 420, 1990-01-13")
    assert "4 of 420" in run._repr_html_()
    assert repr(done) == f"<Operation {done.id}: step of main, done, 4 of 4 steps>"
    assert "steppe-card" in done._repr_html_()
    assert run.operations[-1].kind == "step"


def test_the_same_without_waiting(shared_server: Served) -> None:
    async def work() -> None:
        async with await steppe.connect_async(shared_server.address, TOKENS["admin"]) as run:
            await run.restart()
            waiting = await asyncio.gather(run.step(3), run.set("water", 9.0), run.step(0 + 1))
            assert [each.state for each in waiting] == ["done"] * 3
            assert await waiting[0].progress == 1.0
            water, drainage = await asyncio.gather(run["water"], run["drainage"])
            assert water.step == drainage.step == 4
            assert (await run.scenarios)["main"].step == 4

    asyncio.run(work())


def test_the_client_loads_no_model_no_mpi_no_store() -> None:
    code = "import sys, steppe; steppe.connect; print(*{name.partition('.')[0] for name in sys.modules})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "steppe" in found
    assert not {"numba", "mpi4py", "httpx", "zarr", "xarray", "pandas", "starlette", "netCDF4"} & set(found)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(507, "disk-full", RefusedError), (503, "too-costly", RefusedError), (503, "draining", UnreachableError)],
)
def test_what_asking_again_would_not_mend_is_a_refusal(status: int, code: str, kind: type[Exception]) -> None:
    error = raised({"status": status, "code": code, "detail": "So it is."})
    assert type(error) is kind
    assert str(error) == "So it is."


def test_a_batch_run_that_is_finished_answers_and_refuses_as_in_python(scenario: Path) -> None:
    steppe.run(scenario)
    with steppe.Simulation(scenario) as simulation:
        expected = simulation["runoff"]
        with pytest.raises(Mistake) as in_python:
            simulation.step(1)
    server = Served(scenario)
    try:
        run = server.connect()
        np.testing.assert_array_equal(run["runoff"], expected)
        for order in (lambda: run.step(1), lambda: run.set("water", 5.0)):
            with pytest.raises(RefusedError, match="already at its last step, 420") as refused:
                order()
            assert refused.value.code == in_python.value.code == "already-finished"
        with run.branch("more", at="1990-03-01") as branch:
            branch.set("water", 5.0)
            branch.step(1)
    finally:
        server.stop()
