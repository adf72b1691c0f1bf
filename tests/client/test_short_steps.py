"""A served run of steps of ten minutes: its instants go through requests, maps, series, events, branches, Zarr and the live socket."""

from collections.abc import Iterator

import httpx
import netCDF4
import numpy as np
import pytest

from steppe.client import RefusedError, Run
from steppe.errors import SteppeError
from tests.client.served import TOKENS, Served
from tests.minutes import made, reference


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(made(tmp_path_factory.mktemp("minutes")))
    yield server
    server.stop()


@pytest.fixture
def run(served: Served) -> Iterator[Run]:
    with served.connect() as run:
        run.restart()
        yield run


def test_a_run_steps_until_an_instant_and_shows_the_map_of_it(run: Run) -> None:
    run.step(until="2001-03-05T02:00")
    main = next(each for each in run.info().scenarios if each.name == "main")
    assert (main.step, main.date) == (12, "2001-03-05T02:00")
    found = run.get("concentration")
    assert found["time"].values == np.datetime64("2001-03-05T02:00")
    np.testing.assert_array_equal(found.values, reference()[12])
    for date in ("2001-03-05T01:30", np.datetime64("2001-03-05T01:30:00"), found["time"].values - np.timedelta64(30, "m")):
        past = run.get("concentration", date=date)
        assert past["time"].values == np.datetime64("2001-03-05T01:30")
        np.testing.assert_array_equal(past.values, reference()[9])
    assert not run.get("concentration", date="2001-03-05T00:00").values.any()  # before the drop


def test_the_state_at_midnight_is_that_of_its_instant_and_a_day_ends_with_the_next_one(run: Run) -> None:
    run.step(until="2001-03-05")
    found = run.get("concentration")
    assert found["time"].values == np.datetime64("2001-03-06T00:00")
    again = run.get("concentration", date=found["time"].values)
    assert again.attrs["step"] == 144
    np.testing.assert_array_equal(again.values, reference()[144])


def test_series_have_the_instants_of_their_steps(run: Run) -> None:
    run.step(6)
    found = run.series("concentration", [(142.0, -21.0)], date=("2001-03-05T00:20", "2001-03-05T00:40"))
    assert [str(time)[11:16] for time in found["time"].values] == ["00:20", "00:30", "00:40"]
    np.testing.assert_array_equal(found.values[:, 0], reference()[2:5, 2, 4])


def test_an_event_happens_at_its_instant(run: Run) -> None:
    run.add_event("concentration", 0.0, at="2001-03-05T00:30")
    assert [each.date for each in run.events] == ["2001-03-05T00:30"]
    run.step(3)
    np.testing.assert_array_equal(run.get("concentration").values, reference()[3])
    run.step(1)
    assert not run.get("concentration").values.any()


def test_a_branch_and_a_rewind_begin_at_an_instant(run: Run) -> None:
    run.step(12)
    branch = run.branch("early", at="2001-03-05T01:00")
    assert (branch.get("concentration").attrs["step"], branch.info().scenarios[-1].date) == (6, "2001-03-05T01:00")
    with pytest.raises(RefusedError, match="2001-03-04 lies outside the run, which goes from 2001-03-05T00:00 to"):
        run.rewind(to="2001-03-04")
    run.rewind(to="2001-03-05T00:40")
    np.testing.assert_array_equal(run.get("concentration").values, reference()[4])


def test_the_zarr_view_has_the_instants_of_all_steps(run: Run) -> None:
    run.step(3)
    times = run.dataset()["time"].values
    np.testing.assert_array_equal(times, np.datetime64("2001-03-05", "ns") + np.arange(1, 181) * np.timedelta64(10, "m"))


def test_netcdf_has_the_instants_of_its_steps(served: Served, run: Run) -> None:
    run.step(8)
    address = f"{served.address}/api/v1/runs/out/data/concentration?format=netcdf&time=step:1/8"
    content = httpx.get(address, headers={"Authorization": f"Bearer {TOKENS['view']}"}).content
    with netCDF4.Dataset("x", memory=content) as data:
        assert (data["time"].units, data["time"][:].tolist()) == ("minutes since 2001-03-05", [10, 20, 30, 40, 50, 60, 70, 80])
        assert data["time_bnds"][7].tolist() == [70, 80]


def test_the_state_at_step_0_has_the_instant_at_which_the_run_begins(run: Run) -> None:
    begin = np.datetime64("2001-03-05T00:00")
    assert run["concentration"].time == next(run.watch("concentration")).time == begin
    run.step(1)
    assert (run.get("concentration", step=0).time, run["concentration"].time) == (begin, np.datetime64("2001-03-05T00:10"))


def test_live_maps_have_the_instant_of_their_step(run: Run) -> None:
    run.step(5)
    seen = next(run.watch("concentration"))
    assert seen["time"].values == np.datetime64("2001-03-05T00:50")


@pytest.mark.parametrize(
    ("date", "says"),
    [
        ("2001-03-05T00:15", "between two steps of 10 minutes: 2001-03-05T00:10 and 2001-03-05T00:20 are the nearest.$"),
        ("2001-03-07T00:00", "outside the run, which goes from 2001-03-05T00:00 to 2001-03-06T06:00"),
        ("2001-03-05T25:00", "is not a date or a date-time"),
    ],
)
def test_an_instant_that_the_run_has_not_is_refused_by_name(run: Run, date: str, says: str) -> None:
    with pytest.raises(SteppeError, match=says):
        run.step(until=date)


def test_an_instant_within_a_day_is_refused_by_a_run_of_days(shared_server: Served) -> None:
    with shared_server.connect() as run, pytest.raises(SteppeError, match="lies between two steps of 1 day"):
        run.step(until="1990-01-12T06:00")
