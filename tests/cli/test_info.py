"""`steppe info`: what lies in a run folder or a store, also while a run writes there."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.errors import Exit


def test_a_finished_run_shows_what_it_is_and_what_it_holds(call, finished):
    code, said, wrong = call("info", str(finished))
    assert (code, wrong) == (Exit.DONE, "")
    lines = [line.strip() for line in said.splitlines()]
    assert lines[0] == f"path: {finished}"
    assert {"time: 15", "cell: 144", "weather: generated", "state: finished", "steps: 420", "steps of the run: 420"} <= set(lines)
    assert {"model: bucket 1.0", "days: 1990-01-10 to 1991-03-05, standard calendar", "parameters.capacity: 120.0"} <= set(lines)
    assert any(line.startswith("grid.file: ") for line in lines)
    assert any(line.startswith("bytes: ") and line.endswith(" kB") for line in lines)
    assert not any(re.search(r"\b[0-9a-f]{16}\b", line) for line in lines)  # a digest tells a person nothing
    assert any(line.startswith("title: Bucket over mask (generated weather)") for line in lines)
    assert any(line.startswith("water: mm, Soil water, time: mean") for line in lines)


def test_a_finished_run_as_json(call, finished):
    found = json.loads(call("info", str(finished), "--json")[1])
    assert found["progress"]["state"] == "finished"
    assert found["dimensions"]["cell"] == 144
    assert set(found["variables"]) == {"water", "runoff"}
    assert found["days"] == "1990-01-10 to 1991-03-05, standard calendar"


def test_a_running_run_shows_what_can_be_read_of_it(call, here):
    with steppe.Simulation("run.toml") as simulation:
        code, said, wrong = call("info", "out")
        assert (code, wrong) == (Exit.DONE, "")
        assert "  state: running\n  steps: 0\n  steps of the run: 420\n" in said
        simulation.step(100)
        simulation.checkpoint()
        code, said, wrong = call("info", "out")
        assert (code, wrong) == (Exit.DONE, "")
        assert "  time: 3\n" in said
        assert "  state: running\n  steps: 100\n  steps of the run: 420\n  next day: 1990-04-20\n" in said
        found = json.loads(call("info", "out", "--json")[1])
        assert found["progress"] == {"state": "running", "steps": 100, "steps of the run": 420, "next day": "1990-04-20"}
        shutil.copytree("out", "killed")  # as a process leaves it that is killed
    assert "  state: stopped\n  steps: 100\n" in call("info", "killed")[1]


def test_what_a_script_changed_is_said(call, here):
    with steppe.Simulation("run.toml") as simulation:
        simulation.step(3)
        simulation.set("capacity", 90.0)
        simulation.set("capacity", 95.0)
    assert "changed by scripts: capacity, 2 times (log.jsonl)\n" in call("info", "out")[1]


def test_changes_that_a_rewind_or_the_death_of_a_script_took_back_are_not_said(call, here):
    with steppe.Simulation("run.toml") as simulation:
        simulation.set("water", 5.0)
        simulation.step(100)
        simulation.set("capacity", 90.0)
        simulation.checkpoint()
        simulation.set("leak", 0.02)
        simulation.step(50)
        simulation.set("capacity", 95.0)
        shutil.copytree("out", "killed")  # as a process leaves it that is killed
        simulation.rewind(100)
    assert "changed by scripts: water, 1 times (log.jsonl)\n" in call("info", "out")[1]
    told = []
    with steppe.Simulation("run.toml", "killed", on_event=told.append) as simulation:
        assert simulation.step_index == 100
    (lost,) = [event.text for event in told if event.kind == "warning"]
    assert lost == "Changes after the last checkpoint are lost: leak at step 100, capacity at step 150. Make them again."
    found = json.loads(call("info", "killed", "--json")[1])
    assert found["changed by scripts"] == ["water, 1 times (log.jsonl)", "capacity, 1 times (log.jsonl)"]
    told.clear()
    with steppe.Simulation("run.toml", "killed", on_event=told.append):  # it is said once
        pass
    assert not [event for event in told if event.kind == "warning"]


def test_a_forcing_store_shows_its_days_and_variables(call, made_scenario):
    store = made_scenario.parent / "weather.zarr"
    code, said, wrong = call("info", str(store))
    assert (code, wrong) == (Exit.DONE, "")
    assert "time: 1990-01-01 until before 1991-05-16\n" in said
    assert "  rain: mm d-1, rainfall" in said
    assert "  weather: generated\n" in said
    found = json.loads(call("info", str(store), "--json")[1])
    assert set(found["variables"]) == {"rain", "tmin", "tmax", "radiation", "vp", "pan"}
    assert found["attributes"]["seed"] == 1


def test_what_a_store_was_made_of_is_a_line_each(call, tmp_path, monkeypatch):
    from tests.cli.test_ingest import DAYS, POINTS, write_stations

    monkeypatch.chdir(tmp_path)
    write_stations(tmp_path)
    (tmp_path / "points.csv").write_text(POINTS)
    call("ingest", "stations", ".", "w.zarr", "--points", "points.csv", *DAYS)
    lines = call("info", "w.zarr")[1].splitlines()
    made_of = [line.partition(",")[0] for line in lines if line.startswith("source: ")]
    assert made_of == ["source: north.csv.gz", "source: south.csv.gz"]


def test_where_there_is_nothing_the_error_says_what_to_give(call, tmp_path):
    code, said, wrong = call("info", str(tmp_path))
    assert (code, said) == (Exit.MISTAKE, "")
    assert f'There is no run folder or store at "{tmp_path}".' in wrong


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("output.zarr/zarr.json", "{", "cannot be opened: its metadata are damaged"),
        ("output.zarr/water/zarr.json", '{"zarr_format": 3}', "cannot be opened: its metadata are damaged"),
        ("identity.json", "", "has results but no identity.json"),
    ],
)
def test_a_damaged_folder_is_named(call, finished, tmp_path, file, text, sentence):
    shutil.copytree(finished, tmp_path / "out")
    place: Path = tmp_path / "out" / file
    place.write_text(text) if text else place.unlink()
    code, said, wrong = call("info", str(tmp_path / "out"))
    assert (code, said) == (Exit.FAILURE, "")
    assert sentence in wrong
    assert str(tmp_path / "out") in wrong


def test_a_store_of_fields_shows_its_instants(call, tmp_path):
    time = ("time", 6.0 * np.arange(3), {"units": "hours since 2001-03-05"})
    axes = {"time": time, "lat": [50.0], "lon": [10.0, 11.0]}
    winds = xarray.Dataset({"u": (("time", "lat", "lon"), np.ones((3, 1, 2)), {"units": "m s-1"})}, axes)
    winds.to_zarr(tmp_path / "winds.zarr", consolidated=False)
    code, said, wrong = call("info", str(tmp_path / "winds.zarr"))
    assert (code, wrong) == (Exit.DONE, "")
    lines = [line.strip() for line in said.splitlines()]
    assert {"time: 2001-03-05T00:00 to 2001-03-05T12:00", "lon: 2", "u: m s-1, (time, lat, lon)"} <= set(lines)


def test_tokens_are_those_of_a_folder(call, here):
    code, said, wrong = call("token", "list", "nowhere")
    assert (code, said) == (Exit.MISTAKE, "")
    assert 'There is no folder "nowhere".' in wrong
    assert call("token", "list", ".") == (
        Exit.DONE,
        "",
        'No token was made for ".". `steppe token new` makes one, `steppe serve` one for each role.\n',
    )
