"""Ranges of colours: one for all who look, told before the frame that they are of, wider only, and kept for the next server."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.api.query import MapQuery
from steppe.control.server.channels import View
from steppe.grid import Raster
from steppe.server.application import application
from steppe.server.live.ranges import Ranges
from steppe.service.maps import outward
from tests.server.asking import Client, access_of_all
from tests.server.listening import listening, wait_for
from tests.server.test_live import LIMITS, Steering
from tests.server.toy import Toy
from tests.server.viewers import viewer

GREEN = View(("main",), MapQuery(name="green"), 16, None)


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_round_ends_of_colours_hold_the_values_and_are_no_one_value(low: float, wide: float) -> None:
    least, most = outward(low, low + wide)
    assert least < most
    slack = 1e-8 * (most - least)
    assert least <= low + slack
    assert most >= low + wide - slack


@given(st.lists(st.tuples(st.floats(-1e5, 1e5), st.floats(0, 1e5)), min_size=1, max_size=20))
def test_a_range_only_widens_and_holds_all_that_it_was_found_from(fits: list[tuple[float, float]]) -> None:
    ranges = Ranges(Path("/nowhere"))
    ranges._keep = lambda: None  # type: ignore[method-assign]
    before = None
    for low, wide in fits:
        ranges.widen(GREEN, (low, low + wide))
        now = ranges.known["green"]
        slack = 1e-8 * (now[1] - now[0])
        assert now[0] <= low + slack
        assert now[1] >= low + wide - slack
        assert before is None or (now[0] <= before[0] and before[1] <= now[1])
        before = now


def test_all_viewers_have_one_range_before_the_frame_that_it_is_of_and_the_next_server_has_it(tmp_path: Path, raster: Raster) -> None:
    toy = Toy(tmp_path / "run", raster, steps=1000)
    with listening(application({"toy": toy}, access_of_all(), LIMITS)) as port:
        steering = Steering(port)
        with viewer(port) as one:
            assert one.told[0]["ranges"] == {}
            one.watch(bits=16)
            one.frame()
            first = next(each for each in one.told if each["type"] == "ranges")["ranges"]["green"]
            assert first == list(outward(*np.percentile(toy.state[1]["green"], [2, 98])))
            steering.order("/set", variable="green", value=900.0, region={"box": [138, -20, 143, -10]})
            while one.frame().values[0, 0] != pytest.approx(900.0, abs=1.0):
                pass
            wider = [each for each in one.told if each["type"] == "ranges"][-1]["ranges"]["green"]
            assert (wider[0], wider[1]) == (first[0], 900.0)
            with viewer(port) as two:
                assert two.told[0]["ranges"] == {"green": wider}
            steering.order("/set", variable="green", value=1.0)
            one.frame()
        wait_for(lambda: (tmp_path / "run" / "ranges.json").exists())
    with listening(application({"toy": toy}, access_of_all(), LIMITS)) as port, viewer(port) as three:
        assert three.told[0]["ranges"] == {"green": wider}
    toy.close()


def test_colours_fit_one_map_when_that_is_asked_for(client: Client, toy: Toy) -> None:
    client.post("/step", {"steps": 3})
    expected = outward(*np.percentile(toy.past[1, 1]["green"], [2, 98]))
    assert client.get("/fit/green?time=step:1").json() == {"variable": "green", "step": 1, "low": expected[0], "high": expected[1]}
