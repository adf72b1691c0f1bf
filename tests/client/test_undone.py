import httpx
import numpy as np
import pytest
import xarray

import steppe
from steppe.client import RefusedError, Run
from steppe.errors import FolderError
from tests.client.served import TOKENS, Served


def undo(server: Served, scenario: str) -> None:
    """Takes back a rewind, as the page does."""
    token = {"Authorization": f"Bearer {TOKENS['admin']}"}
    with httpx.Client(base_url=f"{server.address}/api/v1/runs/out", timeout=60, headers=token) as page:
        (version,) = (each["version"] for each in page.get("/scenarios").json()["scenarios"] if each["name"] == scenario)
        keys = {"Prefer": "wait=20", "If-Match": f'"{version}"', "Idempotency-Key": f"undo.{scenario}"}
        found = page.post(f"/scenarios/{scenario}/rewind", json={"left": f"{scenario}@1"}, headers=keys)
        assert found.status_code == 200, found.text


def test_a_scenario_whose_rewind_is_undone_shows_what_it_showed(server: Served) -> None:
    run = server.connect()
    run.step(20)
    heavy = run.branch("heavy", set={"capacity": 90.0})
    heavy.step(30)
    for each, name, back in ((heavy, "heavy", 33), (run, "main", 12)):
        before, series = each["drainage"], each.series("drainage", [(143.5, -20.5)])
        each.rewind(back)
        undo(server, name)
        xarray.testing.assert_equal(each["drainage"], before)
        xarray.testing.assert_equal(each.series("drainage", [(143.5, -20.5)]), series)


def test_a_scenario_that_was_left_long_ago_has_the_series_of_all_its_steps(run: Run) -> None:
    run.step(5)
    before = run.series("drainage", [(143.5, -20.5)])
    run.restart()
    left = max(run.scenarios.values(), key=lambda each: each.branch * (each.name != "main")).name
    for _ in range(21):
        run.restart()
    assert left not in {each.name for each in run.info().scenarios}
    np.testing.assert_array_equal(run.series("drainage", [(143.5, -20.5)], scenario=left), before)


def test_a_new_branch_shows_the_past_that_it_shares(server: Served) -> None:
    run = server.connect()
    run.step(40)
    then = run.get("drainage", date="1990-01-20")
    branch = run.branch("late")
    xarray.testing.assert_equal(branch.get("drainage", date="1990-01-20").drop_attrs(), then.drop_attrs())
    xarray.testing.assert_equal(branch["drainage"].drop_attrs(), run["drainage"].drop_attrs())


def test_a_run_that_was_rewound_is_read_and_continued_as_its_main(server: Served) -> None:
    run, folder = server.connect(), server.folder / "out"
    run.step(60)
    run.rewind(30)
    run.set("water", 0.0)
    run.step(10)
    last = float(run["runoff"].mean())
    server.stop()
    with steppe.open(folder, "means") as means:
        assert means.sizes["time"] == 40
        assert abs(float(means["runoff"][-1, 0]) - last) < 1e-3
    with pytest.raises(FolderError, match="was rewound on a server, which alone continues its scenario main"):
        steppe.Simulation(server.folder / "run.toml", folder)


def test_a_run_that_was_rewound_and_rests_says_which_of_its_records_are_left_behind(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    run, folder = server.connect(), server.folder / "out"
    for steps, back, left in ((60, 30, 60), (10, 20, 40)):
        run.step(steps)
        run.checkpoint()
        run.rewind(back)
        with steppe.open(folder, "means") as means:
            assert means.sizes["time"] == left
        assert f"was rewound to step {back} on a server, and no later step is on the disk yet" in caplog.text
        caplog.clear()
    server.stop()
    (folder / "branches" / "3").mkdir()  # as an engine leaves it that dies before its first checkpoint of main
    with steppe.open(folder, "means") as means:
        assert means.sizes["time"] == 40
    with pytest.raises(FolderError, match="which alone continues"):
        steppe.Simulation(server.folder / "run.toml", folder)


def test_a_run_with_orders_for_later_steps_is_continued_by_its_server_alone(server: Served) -> None:
    run, folder = server.connect(), server.folder / "out"
    run.step(20)
    run.set("water", 0.0, when="1990-04-01")
    server.stop()
    with pytest.raises(FolderError, match="1 change of it is ordered for later steps"):
        steppe.Simulation(server.folder / "run.toml", folder)


def test_an_order_of_a_date_that_is_over_is_refused_as_such(server: Served) -> None:
    run = server.connect()
    run.step(20)
    with pytest.raises(RefusedError, match="is past or beyond the end: main is at step 20") as refused:
        run.set("water", 0.0, when="1990-01-12")
    assert (type(refused.value), refused.value.code) == (RefusedError, "step-passed")
