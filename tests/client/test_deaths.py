"""Calls that are under way when something dies come back right."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray

from steppe.client import Run
from tests.client.served import Served, kill_engine, until_stepping

STEPS = 25
CORNER = (139.0, -20.6, 141.1, -19.0)


def during_a_call(call: Callable[[], Any], disturb: Callable[[], None]) -> Any:
    """What a call gives while something else happens."""
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    disturb()
    thread.join(240)
    assert not thread.is_alive()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def worked(run: Run, disturb: Callable[[], None], once_more: Callable[[], None]) -> xarray.DataArray:
    """What a person does, and what comes of it; each call once."""
    run.set("concentration", 90.0, box=CORNER)
    step = during_a_call(lambda: run.step(STEPS), disturb)
    assert (step.state, run.info().scenarios[-1].step) == ("done", STEPS)
    change = during_a_call(lambda: run.set("concentration", 5.0, operation="add"), once_more)
    assert change.result["cells"] == 20
    run.step(1)
    assert [row["kind"] for row in run.log()[-4:]] == ["set", "step", "set", "step"]
    return run["concentration"]


@pytest.mark.parametrize("what", ["engine", "server", "both"])
def test_a_call_under_way_comes_back_right(slow_server: Served, what: str) -> None:
    run, other = slow_server.connect(), slow_server.connect()

    def disturb() -> None:
        until_stepping(other, 8)
        if what in ("engine", "both"):
            kill_engine(other)
        if what in ("server", "both"):
            slow_server.kill()
            slow_server.start()

    found = worked(run, disturb, lambda: kill_engine(other) and None)
    run.restart()
    expected = worked(run, lambda: None, lambda: None)
    assert float(expected.max() - expected.min()) > 1.0
    xarray.testing.assert_identical(found, expected)


def test_orders_that_are_lost_on_the_way_happen_once(server: Served) -> None:
    """The server dies again and again while orders are given; each is in the journal once."""
    run, other = server.connect(), server.connect()

    def disturb() -> None:
        for count in (0, 3, 7):
            until_stepping(other, count)
            server.kill()
            server.start()

    def work() -> int:
        for _ in range(10):
            run.step(1)
            run.set("water", 1.0, operation="add")
        return run.info().scenarios[0].step

    assert during_a_call(work, disturb) == 10
    assert [row["outcome"] for row in run.log()] == ["done"] * 20
    assert np.isfinite(run["water"]).sum() == 144
