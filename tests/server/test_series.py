"""Series of any length: thinned by least and greatest, with gaps and their reasons, at places and of regions."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steppe.control import Order
from steppe.grid import Raster
from steppe.server.application import application
from steppe.service.series import thinned
from tests.server.asking import Client, access_of_all, bearer, problem
from tests.server.listening import listening
from tests.server.test_live import LIMITS, Steering
from tests.server.toy import Toy
from tests.server.viewers import Viewer, viewer

AT = "at=139,-11"
CHANGE = {"variable": "green", "operation": "add", "value": 5.0, "cells": "", "upload": ""}


@given(arrays(np.float64, st.tuples(st.integers(1, 300), st.integers(1, 3)), elements=st.floats(-1e6, 1e6) | st.just(np.nan)))
def test_every_piece_of_a_thinned_series_keeps_its_least_and_greatest_value_and_every_gap_is_seen(values: np.ndarray) -> None:
    kept, pieces = thinned(values, 30)
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    assert len(kept) <= 3 * values.shape[1] * pieces + 2
    for line in values.T:
        edges = np.linspace(0, len(line), pieces + 1).astype(int)
        for begin, end in pairwise(edges):
            part, here = line[begin:end], line[kept[(kept >= begin) & (kept < end)]]
            if np.isfinite(part).any():
                assert (np.nanmin(here), np.nanmax(here)) == (np.nanmin(part), np.nanmax(part))
            assert np.isnan(here).any() == np.isnan(part).any()


def test_a_long_series_comes_thinned_with_true_steps_and_values(client: Client, toy: Toy, raster: Raster) -> None:
    client.post("/step", {"steps": 300})
    cell = raster.locate(139, -11)
    toy.past[1, 137]["green"][cell] = -7.0
    found = client.get(f"/series/green?{AT}&time=step:1/300&points=40").json()
    assert found["thinned"] == {"steps": 300, "pieces": 20}
    assert len(found["steps"]) <= 42
    assert found["dates"][found["steps"].index(137)] == "2001-05-17"
    assert found["values"][0][found["steps"].index(137)] == -7.0
    whole = client.get(f"/series/green?{AT}&time=step:1/300").json()
    assert whole["thinned"] is None
    assert found["values"][0] == [whole["values"][0][step - 1] for step in found["steps"]]


@pytest.mark.parametrize("path", [f"/series/green?{AT}&time=step:1/40", "/data/green?time=step:1/40&format=json&cells=0"])
def test_all_steps_of_an_answer_are_of_one_branch_though_the_scenario_is_rewound_meanwhile(client: Client, toy: Toy, path: str) -> None:
    client.post("/step", {"steps": 40})
    later = path.replace("step:1/", "step:20/")
    before, newest, get = client.get(path).json()["values"], client.get(later).json()["values"], toy.get

    async def rewound(*asked: Any) -> Any:
        found = await get(*asked)
        toy.get = get  # type: ignore[method-assign]
        for number, (kind, arguments) in enumerate((("rewind", {"step": 10}), ("set", CHANGE), ("step", {"steps": 30}))):
            toy.accept(Order(kind, "main", arguments, f"key {number}", "anna", "admin", b"", "now", None))
        return found

    toy.get = rewound  # type: ignore[method-assign]
    assert client.get(path).json()["values"] == before
    assert client.get(later).json()["values"] != newest  # of the branch that the scenario has now


def test_a_gap_of_a_thinned_series_is_null_and_has_a_reason(client: Client, toy: Toy) -> None:
    client.post("/step", {"steps": 60})
    toy.forgotten = {*range(12, 31), 50}
    found = client.get(f"/series/green?{AT}&time=step:1/60&points=600").json()
    reason = "The toy has forgotten it."
    assert found["gaps"] == [{"first": 12, "last": 30, "reason": reason}, {"first": 50, "last": 50, "reason": reason}]
    assert [step for step, value in zip(found["steps"], found["values"][0], strict=True) if value is None] == [*range(12, 31), 50]
    refused = problem(client.get(f"/series/green?{AT}&time=step:1/60"))
    assert refused["code"] == "not-computed"
    assert "Steps 12 to 30: The toy has forgotten it." in refused["detail"]


def test_a_region_has_a_mean_a_least_and_a_greatest_value(client: Client, toy: Toy, raster: Raster) -> None:
    client.post("/step", {"steps": 3})
    cells = raster.select({"box": [138, -20, 143, -10]})
    found = client.get("/series/green?box=138,-20,143,-10&time=step:1/3").json()
    last = toy.state[1]["green"][cells]
    assert [line[-1] for line in found["values"]] == [pytest.approx(last.mean()), last.min(), last.max()]
    assert (found["cells"], found["places"]) == (len(cells), [])
    rows = client.get("/series/green?box=138,-20,143,-10&time=step:1/3&format=csv").text.splitlines()
    assert (rows[0], len(rows)) == ("time,mean(green) [kg ha-1],min(green) [kg ha-1],max(green) [kg ha-1]", 4)


@pytest.mark.parametrize(
    ("query", "code", "position"),
    [
        ("", "region-invalid", "at"),
        (f"{AT}&box=138,-20,143,-10", "region-invalid", "box"),
        (f"{AT}&points=5", "bad-query", "points"),
        (f"{AT}&time=step:3/2", "out-of-range", "time"),
        (f"{AT}&time=step:1/9", "not-computed", "time"),
    ],
)
def test_a_series_that_cannot_be_says_what_was_expected(client: Client, query: str, code: str, position: str) -> None:
    client.post("/step", {"steps": 5})
    refused = problem(client.get(f"/series/green?{query}"))
    assert (refused["code"], refused["position"]) == (code, position)


# ---- as it goes ---------------------------------------------------------------------------------------------------------------------
@pytest.fixture
def port(toy: Toy) -> Iterator[int]:
    with listening(application({"toy": toy}, access_of_all(), LIMITS)) as port:
        yield port


def series_told(one: Viewer, line: int, last: int) -> list[list[Any]]:
    """The values of a line that were told, one after the other, up to a step."""
    found: list[list[Any]] = []
    while True:
        told = one.until("series")
        if told["line"] == line:
            assert told["first"] == len(found) + 1
            found += [list(values) for values in zip(*told["values"], strict=True)]
            if told["first"] + len(told["values"][0]) - 1 >= last:
                return found


def test_a_viewer_is_told_every_step_of_what_it_follows_and_the_server_keeps_it(port: int, toy: Toy, raster: Raster) -> None:
    steering, cell = Steering(port), raster.locate(139, -11)
    place = int(raster.order[cell])
    cells = raster.select({"box": [138, -20, 143, -10]})
    with viewer(port) as one:
        box = {"line": 2, "variable": "green", "box": [138, -20, 143, -10]}
        one.say({"follow": [{"line": 1, "variable": "green", "cell": place}, box]})
        assert one.until("following")["lines"] == [1, 2]
        for _ in range(3):
            steering.step(20)
        past = [toy.past[1, step]["green"] for step in range(1, 60)] + [toy.state[1]["green"]]
        assert series_told(one, 1, 60) == [[values[cell]] for values in past]
        asked = len(toy.asked)
        headers = bearer("view")
        address = f"http://127.0.0.1:{port}/api/v1/runs/toy/series/green"
        found = httpx.get(f"{address}?{AT}&time=step:1/60", headers=headers).json()
        assert found["values"][0] == [values[cell] for values in past]
        region = httpx.get(f"{address}?box=138,-20,143,-10&time=step:1/60", headers=headers).json()
        assert region["values"][2] == [values[cells].max() for values in past]
        assert len(toy.asked) == asked  # what is followed is kept by the server
        one.say({"follow": []})
        assert one.until("following")["lines"] == []
        assert len(toy.followed) == 0
        assert not toy.following.any_of([1])


def test_a_change_shows_in_the_present_step_of_a_series_that_is_followed(port: int, toy: Toy, raster: Raster) -> None:
    steering, cell = Steering(port), raster.locate(139, -11)
    address = f"http://127.0.0.1:{port}/api/v1/runs/toy/series/green?{AT}&time=step:1/"
    with viewer(port) as one:
        one.say({"follow": [{"line": 1, "variable": "green", "cell": int(raster.order[cell])}]})
        one.until("following")
        steering.step(5)
        (before,) = httpx.get(f"{address}5", headers=bearer("view")).json()["values"]
        steering.order("/set", variable="green", operation="add", value=100.0)
        (changed,) = httpx.get(f"{address}5", headers=bearer("view")).json()["values"]
        assert changed == [*before[:4], before[4] + 100]
        steering.step(1)
        (after,) = httpx.get(f"{address}6", headers=bearer("view")).json()["values"]
        assert after == [*before, float(toy.state[1]["green"][cell])]


def test_no_more_is_followed_than_a_run_bears(toy: Toy, raster: Raster) -> None:
    places = [{"line": number + 1, "variable": "green", "cell": int(raster.order[number])} for number in range(3)]
    with (
        listening(application({"toy": toy}, access_of_all(), replace(LIMITS, followed=2))) as port,
        viewer(port) as one,
        viewer(port) as two,
    ):
        one.say({"follow": places[:2]})
        one.until("following")
        two.say({"follow": places[1:]})
        assert two.until("problem")["problem"]["code"] == "too-busy"
        two.say({"follow": places[:2]})
        assert two.until("following")["lines"] == [1, 2]


def test_a_line_that_cannot_be_followed_is_refused_and_the_others_stay(port: int, toy: Toy, raster: Raster) -> None:
    place = int(raster.order[0])
    with viewer(port) as one:
        one.say({"follow": [{"line": 1, "variable": "green", "cell": place}]})
        one.until("following")
        for line, code in (({"variable": "gren", "cell": place}, "unknown-variable"), ({"variable": "green", "cell": 5}, "cell-inactive")):
            one.say({"follow": [{"line": 1, **line}]})
            assert one.until("problem")["problem"]["code"] == code
        crossing = [[139, -11], [143, -20], [139, -20], [143, -11]]
        one.say({"follow": [{"line": 1, "variable": "green", "polygon": crossing}]})
        assert one.until("problem")["problem"]["code"] == "polygon-invalid"
        one.say({"follow": 2 * [{"line": 1, "variable": "green", "cell": place}]})
        assert one.until("problem")["problem"]["detail"] == "Line 1 comes twice. Give each a number of its own."
        one.say({"follow": [{"line": 1, "variable": "green"}]})
        assert "exactly one of" in one.until("problem")["problem"]["detail"]
        Steering(port).step(2)
        assert one.until("series")["line"] == 1
