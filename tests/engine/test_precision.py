"""Records keep the bits of the model, unless the run file asks for fewer; then the store, the check and each answer say so."""

import json
from pathlib import Path
from typing import Any

import httpx
import netCDF4
import numpy as np
import pytest
import xarray

import steppe
from steppe.cli import run_command
from steppe.engine import Session, Simulation
from tests.client.served import TOKENS, Served
from tests.engine.sessions import OWN, on_session, query, seen, setting, to
from tests.errors.damage import forget_early_actions

EXAMPLES = Path(__file__).parents[2] / "examples"
DEEP = 1.0 + 1e-10  # float32 has 1.0 for it
RUN = f"""\
model = "{EXAMPLES / "shallow_water.py"}"
time = {{ start = 1990-01-01, end = 1990-01-20 }}
grid = {{ file = "box.zarr" }}
output = {{ path = "out", variables = ["h"], every = "1 day", precision = "exact" }}
"""


@pytest.fixture
def water(tmp_path: Path) -> Path:
    """A run file of a model in float64, recorded daily and exactly."""
    lat, lon = -20.0 - 0.5 * np.arange(4), 140.0 + 0.5 * np.arange(5)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"land_mask": (("lat", "lon"), np.ones((4, 5), "int8"))}, axes).to_zarr(tmp_path / "box.zarr", consolidated=False)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


def played(session: Session) -> dict[int, list[float]]:
    """The depth of one cell after some steps, as it is while the run stands there."""
    found = {}
    session.load(1, OWN)
    session.apply(1, 1, "set", setting("h", DEEP))
    for step in (5, 6, 14):
        to(session, step)
        found[step] = seen(session, "h").tolist()
        session.save(1)
    return found


def asked(server: Served, path: str) -> httpx.Response:
    """A reply of the server about its run."""
    headers = {"Authorization": f"Bearer {TOKENS['view']}"}
    name = httpx.get(f"{server.address}/api/v1/runs", headers=headers).json()["runs"][0]["run"]
    return httpx.get(f"{server.address}/api/v1/runs/{name}/{path}", headers=headers).raise_for_status()


def head_of(session: Session, step: int) -> dict[str, Any]:
    head, _ = session.get(1, query({"name": "h", "packed": True, "step": step}))
    return head


@pytest.mark.parametrize("ranks", [1, 2])
def test_present_past_and_restart_give_the_same_bits(water: Path, ranks: int) -> None:
    def first(session: Session) -> None:
        for step, expected in played(session).items():
            assert expected[0] == DEEP
            assert seen(session, "h", step=step).tolist() == expected

    def again(session: Session) -> None:
        session.load(1, OWN)
        for step in (5, 6, 14):
            assert seen(session, "h", step=step).tolist() == [DEEP] * 20
            assert "rounded" not in head_of(session, step)

    on_session(water, first, ranks)
    on_session(water, again, ranks)
    with steppe.open(water.parent / "out") as dataset:
        assert dataset["h"].dtype == np.float64
        assert "quantization" not in dataset["h"].attrs
        assert (dataset["h"].values[:14] == DEEP).all()


def test_a_cell_model_in_float64_is_recorded_in_float64(scenario: Path) -> None:
    text = scenario.read_text().replace('every = "1 month"', 'every = "1 day"') + 'dtype = "float64"\n'
    scenario.write_text(text)
    days = []
    with Simulation(scenario) as simulation:
        for _ in range(30):
            simulation.step()
            days.append(simulation.get("runoff"))
    found = steppe.open(scenario.parent / "out")["runoff"]
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.values, np.array(days))
    assert run_command(["export", str(scenario.parent / "out"), "--netcdf", str(scenario.parent / "out.nc"), "--variables", "runoff"]) == 0
    with netCDF4.Dataset(scenario.parent / "out.nc") as file:
        assert file["runoff"].dtype == np.float64
        np.testing.assert_array_equal(np.sort(file["runoff"][5].compressed()), np.sort(days[5]))


def test_records_in_float32_say_so_in_the_store_the_check_and_the_answer(water: Path, capsys: pytest.CaptureFixture[str]) -> None:
    water.write_text(water.read_text().replace("exact", "float32"))
    assert run_command(["check", str(water)]) == 0
    assert "rounded: h to float32\n" in capsys.readouterr().out
    assert run_command(["check", str(water), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"]["rounded"] == {"h": "float32"}

    def first(session: Session) -> None:
        for step, expected in played(session).items():
            assert seen(session, "h", step=step).tolist() == expected  # computed again, not read
            assert "rounded" not in head_of(session, step)

    def again(session: Session) -> None:
        session.load(1, OWN)
        assert seen(session, "h").tolist() == [DEEP] * 20
        assert seen(session, "h", step=5).tolist() == [1.0] * 20
        assert (head_of(session, 5)["rounded"], head_of(session, 5)["dtype"]) == ("float32", "<f8")

    on_session(water, first)
    forget_early_actions(water.parent)  # so that step 5 cannot be computed again
    on_session(water, again)
    with steppe.open(water.parent / "out") as dataset:
        assert dataset["h"].dtype == np.float32
        assert (dataset["h"].attrs["quantization"], dataset["h"].attrs["quantization_nsb"]) == ("bitround", 23)
    server = Served(water)
    try:
        run = server.connect()
        assert run.get("h", step=5).attrs["rounded"] == "float32"
        assert "rounded" not in run["h"].attrs
        reply = asked(server, "data/h?time=step:5&format=npy")
        assert reply.headers["steppe-rounded"] == "float32"
        assert "steppe-rounded" not in asked(server, "data/h?format=npy").headers
        assert asked(server, "data/h?time=step:5&format=json").json()["rounded"] == "float32"
        assert asked(server, "series/h?at=140,-20&time=step:5").json()["rounded"] == "float32"
        described = asked(server, "zarr/main/h/zarr.json").json()
        assert described["data_type"] == "float64"
        assert "rounded to float32" in described["attributes"]["comment"]
    finally:
        server.stop()


def test_a_float32_model_is_not_rounded_by_records_in_float32(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario.write_text(scenario.read_text().replace('every = "1 month"', 'every = "1 month"\nprecision = "float32"'))
    assert run_command(["check", str(scenario)]) == 0
    assert "rounded" not in capsys.readouterr().out
    steppe.run(scenario)
    assert "quantization" not in steppe.open(scenario.parent / "out")["runoff"].attrs


def test_a_store_of_another_type_is_not_continued(water: Path) -> None:
    with Simulation(water) as simulation:
        simulation.step(5)
    described = water.parent / "out" / "output.zarr" / "h" / "zarr.json"
    described.write_text(described.read_text().replace('"float64"', '"float32"'))
    with pytest.raises(steppe.FolderError, match="has another type or other chunks than this run needs"):
        Simulation(water)
