"""Series of any length: thinned by least and greatest, with gaps and their reasons, at places and of regions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steppe.grid import Raster
from steppe.server.thinning import thinned
from tests.server.asking import Client, problem
from tests.server.toy import Toy

AT = "at=139,-11"


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
    assert (rows[0], len(rows)) == ("time,mean,min,max", 4)


@pytest.mark.parametrize(
    ("query", "code", "position"),
    [
        ("", "bad-query", "at"),
        (f"{AT}&box=138,-20,143,-10", "region-invalid", "box"),
        (f"{AT}&points=5", "bad-query", "points"),
        (f"{AT}&time=step:3/2", "bad-query", "time"),
        (f"{AT}&time=step:1/9", "not-computed", "time"),
    ],
)
def test_a_series_that_cannot_be_says_what_was_expected(client: Client, query: str, code: str, position: str) -> None:
    client.post("/step", {"steps": 5})
    refused = problem(client.get(f"/series/green?{query}"))
    assert (refused["code"], refused["position"]) == (code, position)
