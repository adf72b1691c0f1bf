"""Levels of a real run over HTTP, by the socket and from Python: each is a map of its own, all together a profile."""

from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import httpx
import netCDF4
import numpy as np
import pytest
import xarray

from steppe.api import decode
from steppe.client import RefusedError, Run
from steppe.client.refusals import UnknownError
from tests.client.served import TOKENS, Served
from tests.engine.test_levels import BOX, COLUMNS, LEVELS, MODEL, ROWS, RUN, computed, inside
from tests.server.test_coverage import checked
from tests.server.viewers import viewer

NO_EVENT = RUN[: RUN.index("[[event]]")] + RUN[RUN.index("[engine]") :]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("levels")
    (folder / "column.py").write_text(MODEL)
    (folder / "run.toml").write_text(NO_EVENT)
    server = Served(folder / "run.toml")
    yield server
    server.stop()


@pytest.fixture
def run(server: Served) -> Iterator[Run]:
    with server.connect() as run:
        run.restart()
        run.step(5)
        yield run


def ask(server: Served, path: str, **query: Any) -> httpx.Response:
    return httpx.get(f"{server.address}/api/v1/runs/out/{path}", params=query, headers={"Authorization": f"Bearer {TOKENS['view']}"})


def expected(server: Served, steps: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Gas (level, row, column) and flow after so many steps, without an event."""
    _, box = inside(server.folder / "run.toml")
    gas, _, flow = computed(steps, np.zeros_like(box))
    return gas[-1], flow[-1]


def test_a_level_is_asked_for_by_its_number_its_value_or_its_name(server: Served, run: Run) -> None:
    gas, flow = expected(server)
    for path, query in (("data/gas", {"level": 1}), ("data/gas", {"level": "850 hPa"}), ("data/gas[1]", {})):
        head, values = decode(ask(server, path, format="raw", **query).content)
        assert (head["variable"], head["shape"]) == ("gas[1]", [ROWS, COLUMNS])
        np.testing.assert_array_equal(values, gas[1])
    np.testing.assert_array_equal(decode(ask(server, "data/flow", format="raw", level=2).content)[1], flow[2])
    assert ask(server, "image/gas.png", level=0).content[:4] == b"\x89PNG"
    fit = ask(server, "fit/gas", level=0).json()
    assert fit["variable"] == "gas[0]"
    assert fit["low"] <= np.percentile(gas[0], 2) <= np.percentile(gas[0], 98) <= fit["high"]
    told = ask(server, "variables/gas").json()
    assert told["levels"]["values"] == [1000.0, 850.0, 500.0]
    assert ask(server, "variables/gas[2]").json()["long_name"] == "Gas, 500 hPa"


def test_a_level_is_the_height_of_its_coverage(server: Served, run: Run) -> None:
    for path, query in (("data/gas", {}), ("data/gas", {"cells": "3,7"}), ("series/gas", {"at": "130.5,-12.5"})):
        found = checked(ask(server, path, format="coverage-json", level="850 hPa", **query))
        domain = found["domain"] if "domain" in found else found["coverages"][0]["domain"]
        if "composite" in domain["axes"]:
            assert [place[2] for place in domain["axes"]["composite"]["values"]] == [850.0, 850.0]
        else:
            assert domain["axes"]["z"] == {"values": [850.0]}
        (system,) = (each["system"] for each in (domain.get("referencing") or found["referencing"]) if each["coordinates"] == ["z"])
        assert system["cs"]["csAxes"][0]["unit"] == {"symbol": "hPa"}


def test_what_names_no_level_is_refused_with_the_levels_that_there_are(server: Served, run: Run) -> None:
    for path, query, code, words in (
        ("data/gas", {}, "bad-query", '"gas" has 3 levels, 1000 hPa to 500 hPa'),
        ("image/gas.png", {}, "bad-query", '"gas" has 3 levels'),
        ("data/gas", {"level": 3}, "out-of-range", 'There is no level "3". Levels are 0 to 2, or 1000 hPa, 850 hPa, 500 hPa.'),
        ("data/gas", {"level": "700 hPa"}, "out-of-range", 'There is no level "700 hPa"'),
        ("data/gas", {"level": "low"}, "bad-query", "neither the number of a level"),
        ("data/ground", {"level": 0}, "out-of-range", '"ground" has no levels'),
        ("data/gas[3]", {}, "unknown-variable", '"gas" has levels 0 to 2, not 3'),
        ("series/gas", {"box": "130,-13,140,-11"}, "bad-query", '"gas" has 3 levels'),
    ):
        problem = ask(server, path, **query).json()
        assert problem["code"] == code, problem
        assert words in problem["detail"]


def test_at_a_place_all_levels_come_as_a_profile(server: Served, run: Run) -> None:
    gas, _ = expected(server)
    places = [("at", "131.2,-11.2"), ("at", "120.3,-10.3")]
    found = httpx.get(
        f"{server.address}/api/v1/runs/out/series/gas", params=places, headers={"Authorization": f"Bearer {TOKENS['view']}"}
    ).json()
    assert found["levels"] == [1000.0, 1000.0, 850.0, 850.0, 500.0, 500.0]
    assert found["places"][:2] == found["places"][2:4]
    columns = [gas[:, 2, 22], gas[:, 0, 0]]
    np.testing.assert_array_equal(np.array(found["values"])[:, -1].reshape(LEVELS, 2).T, columns)
    assert (
        ask(server, "series/gas", at="131.2,-11.2", format="csv").text.splitlines()[0] == "time,level [hPa],longitude,latitude,gas [kg m-2]"
    )
    one = ask(server, "series/gas", at="131.2,-11.2", level=2).json()
    assert one["levels"] == []
    assert one["values"] == [[gas[2, 2, 22]]]
    profile = run.series("gas", [(131.2, -11.2), (120.3, -10.3)])
    assert profile.dims == ("time", "level", "place")
    np.testing.assert_array_equal(profile.values[-1].T, columns)


def test_python_gets_all_levels_or_one_and_sets_one(server: Served, run: Run) -> None:
    gas, _ = expected(server)
    whole = run["gas"]
    assert whole.dims == ("level", "lat", "lon")
    assert whole["level"].attrs["positive"] == "down"
    np.testing.assert_array_equal(whole, gas)
    run.set("gas[1]", 9.0, box=BOX["box"])
    _, box = inside(server.folder / "run.toml")
    np.testing.assert_array_equal(run["gas[1]"], np.where(box, 9.0, gas[1]))
    np.testing.assert_array_equal(run["gas[0]"], gas[0])
    np.testing.assert_array_equal(run.get("gas", level="850 hPa"), run["gas[1]"])
    assert run.series("gas", [(131.2, -11.2)], level=1).dims == ("time", "place")
    with pytest.raises(UnknownError, match=r'"gas" has levels 0 to 2, not 5'):
        run.get("gas[5]")
    run.set("gas", 2.0, box=BOX["box"])
    np.testing.assert_array_equal(run["gas"], np.where(box, 2.0, gas))
    with pytest.raises(RefusedError, match=r"gas\[2\].* 0"):
        run.set("gas[2]", -1.0)


def test_a_change_names_a_level_by_its_number_or_its_value(server: Served, run: Run) -> None:
    gas, _ = expected(server)

    def order(path: str, **change: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {TOKENS['steer']}", "Idempotency-Key": token_hex(), "Prefer": "wait=5"}
        return httpx.post(f"{server.address}/api/v1/runs/out/{path}", json={"variable": "gas", "value": 9.0, **change}, headers=headers)

    seen = order("preview", level="500 hPa").json()
    assert (seen["variable"], seen["cells"]) == ("gas[2]", gas[2].size - np.isnan(gas[2]).sum())
    assert order("set", level="500 hPa").json()["state"] == "done"
    assert order("set", level=0, operation="add", value=1.0).json()["state"] == "done"
    np.testing.assert_array_equal(run["gas"], [gas[0] + 1.0, gas[1], np.where(np.isnan(gas[2]), np.nan, 9.0)])
    for change, words in (
        ({"level": "low"}, 'There is no level "low". Levels are 0 to 2, or 1000 hPa, 850 hPa, 500 hPa.'),
        ({"variable": "ground", "level": 0}, '"ground" has no levels'),
    ):
        problem = order("set", **change).json()
        assert (problem["code"], problem["position"]) == ("out-of-range", "$.level")
        assert words in problem["detail"]


def test_a_trigger_looks_at_a_level(server: Served, run: Run) -> None:
    gas = [expected(server, steps)[0] for steps in range(6, 20)]
    limit = float((gas[7][2].max() + gas[8][2].max()) / 2)
    run.add_trigger(f"max(gas[2]) > {limit}", "pause")
    run.step(14)
    assert run.scenarios["main"].step == 14
    with pytest.raises(RefusedError, match='"gas" has 3 levels'):
        run.add_trigger("max(gas) > 1", "pause")


def test_a_level_is_watched_live(server: Served, run: Run) -> None:
    gas, _ = expected(server)
    for frame in run.watch("gas[2]"):
        assert frame.name == "gas[2]"
        np.testing.assert_allclose(frame, gas[2], atol=frame.attrs["precision"] * 1.01)
        break


def test_the_live_socket_shows_and_follows_a_level_by_its_value(server: Served, run: Run) -> None:
    gas, _ = expected(server)
    headers = {"Authorization": f"Bearer {TOKENS['view']}"}
    with viewer(int(server.address.rsplit(":")[-1]), None, "out", headers=headers) as seen:
        assert seen.watch(variable="gas", level="850 hPa")["variable"] == "gas[1]"
        seen.say({"cursor": {"stream": 1, "cell": 22}})
        assert seen.until("cursor")["value"] == gas[1].flat[22]
        seen.say({"follow": [{"line": 1, "variable": "gas", "level": 2, "cell": 22}]})
        seen.until("following")
        run.step(1)
        assert seen.until("series")["values"][0][-1] == expected(server, 6)[0][2].flat[22]
        seen.say({"watch": [{"stream": 1, "variable": "gas", "level": 7}]})
        assert 'There is no level "7"' in seen.until("problem")["problem"]["detail"]


def test_zarr_readers_see_the_levels(server: Served, run: Run) -> None:
    gas, _ = expected(server)
    address = f"{server.address}/api/v1/runs/out/zarr/main"
    options = {"headers": {"Authorization": f"Bearer {TOKENS['view']}"}}
    dataset = xarray.open_zarr(address, storage_options=options, chunks=None)
    assert dataset["gas"].dims == ("time", "level", "lat", "lon")
    np.testing.assert_array_equal(dataset["level"], [1000.0, 850.0, 500.0])
    np.testing.assert_array_equal(dataset["gas"][4], gas)
    np.testing.assert_array_equal(dataset["gas"].sel(level=850)[4], gas[1])


def test_netcdf_of_a_level_has_its_name_and_its_level(server: Served, run: Run, tmp_path: Path) -> None:
    gas, _ = expected(server)
    for where in ({}, {"packed": 1}):
        content = ask(server, "data/gas", format="netcdf", level=1, **where).content
        with netCDF4.Dataset("x", memory=content) as data:
            level = data["level"]
            assert (level.shape, level[...], level.units, level.positive) == ((), 850.0, "hPa", "down")
            assert level.standard_name == "air_pressure"
            assert "level" in data["gas"].coordinates.split()
            np.testing.assert_array_equal(np.sort(data["gas"][0].ravel()), np.sort(gas[1].ravel()))
    (tmp_path / "a.nc").write_bytes(content)
    with xarray.open_dataset(tmp_path / "a.nc") as found:
        assert found["gas"].coords["level"] == 850.0
    assert ask(server, "data/gas[1]", format="csv").text.startswith("time,longitude,latitude,gas[1] [")
    assert ask(server, "data/gas[1]", format="json").json()["variable"] == "gas[1]"


def test_a_past_step_of_a_level_comes_from_its_record_or_is_computed_again(server: Served, run: Run) -> None:
    run.checkpoint()
    run.step(10)
    for step in (3, 7):
        gas, flow = expected(server, step)
        np.testing.assert_array_equal(run.get("gas[1]", step=step), gas[1])
        np.testing.assert_array_equal(run.get("flow[2]", step=step), flow[2])
        np.testing.assert_array_equal(run.get("gas", step=step), gas)
