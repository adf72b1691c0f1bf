"""`steppe ensemble` and what shows its folder: one line each, from the table to the picture."""

import json
import shutil
from pathlib import Path

import pytest

from steppe.cli.control import VARIABLE
from steppe.engine import Plan
from steppe.errors import Exit
from steppe.jobs.ensemble import read_scenarios, run_ensemble
from tests.comm.mpis import run_ranks

TABLE = "name,capacity\nsmall,80\nlarge,200\n"


@pytest.fixture
def computed(call, here) -> Path:
    (here / "table.csv").write_text(TABLE)
    code, said, wrong = call("ensemble", "run.toml", "table.csv", "--output", "ens")
    assert code == Exit.DONE, wrong
    assert said.startswith(f"{here / 'ens'}: 2 scenarios. `steppe plot` draws them together")
    return here / "ens"


def test_the_folder_of_an_ensemble_is_shown_drawn_and_exported_as_one(call, computed):
    found = json.loads(call("info", "ens", "--json")[1])
    assert found["ensemble"] == {
        "state": "complete",
        "scenarios": 2,
        "finished": 2,
        "table": {"capacity": "80 to 200 mm, Most water that the soil holds"},
    }
    assert call("plot", "ens", "--variables", "water") == (Exit.DONE, "ens/picture.png\n", "")
    assert (computed / "picture.png").stat().st_size > 10_000
    code, said, wrong = call("export", "ens", "--netcdf", "ens.nc")
    assert (code, wrong) == (Exit.DONE, "")
    assert said.startswith("ens.nc: ")
    for command in (["check"], ["serve", "--bind", "203.0.113.1:1"]):  # the run file of a scenario names the folder of the ensemble
        code, _, wrong = call(*command, "ens/branches/2/run.toml")
        assert (code, f'"{computed}" holds an ensemble. Choose another folder' in wrong) == (Exit.MISTAKE, True)


def test_a_table_of_an_ensemble_is_written_from_python_as_the_error_says(call, computed):
    code, said, wrong = call("export", "ens", "--csv", "ens.csv")
    assert (code, said) == (Exit.MISTAKE, "")
    assert '"ens" is an ensemble of 2 scenarios.' in wrong
    assert not Path("ens.csv").exists()
    assert call("export", "ens/branches/2", "--csv", "small.csv")[0] == Exit.DONE


def test_scenarios_that_are_not_begun_are_named_wherever_the_ensemble_is_shown(call, computed):
    shutil.rmtree(computed / "branches" / "3")
    assert json.loads(call("info", "ens", "--json")[1])["ensemble"]["unfinished"] == {"large": "nothing yet"}
    code, _, wrong = call("export", "ens", "--netcdf", "ens.nc")
    assert code == Exit.MISTAKE
    assert '"ens": large of its scenarios have no results yet. Start the same `steppe ensemble` again.' in wrong
    assert call("plot", "ens")[0] == Exit.DONE
    assert call("ensemble", "run.toml", "table.csv", "--output", "ens", "--quiet")[:2] == (Exit.DONE, "")
    assert json.loads(call("info", "ens", "--json")[1])["ensemble"]["state"] == "complete"


def test_ranks_share_an_ensemble_and_change_no_byte(call, computed, here):
    words = [str(here / "run.toml"), str(here / "table.csv"), "--output", str(here / "two"), "--quiet"]
    done = run_ranks("installed", 2, "-m", "steppe", "ensemble", *words)
    assert (done.returncode, done.stdout) == (Exit.DONE, ""), done.stderr
    code, _, wrong = call("ensemble", "run.toml", "table.csv", "--output", "three", "--quiet", "--ranks", "1")
    assert code == Exit.DONE, wrong
    for number in ("2", "3"):
        alone, *others = (chunks(here / folder / "branches" / number / "output.zarr") for folder in ("ens", "two", "three"))
        assert len(alone) > 3
        assert others == [alone, alone]


def test_a_request_to_stop_is_answered_by_the_supervisor_alone(call, here, monkeypatch):
    (here / "table.csv").write_text(TABLE)
    monkeypatch.setenv(VARIABLE, str(here / "gone"))  # a rank stops if it cannot reach its supervisor
    code, said, wrong = call("ensemble", "run.toml", "table.csv")
    assert (code, said, wrong) == (Exit.STOPPED, "", "Stopped with all states kept. The same command continues.\n")


def test_an_ensemble_that_continues_says_where(call, here):
    (here / "table.csv").write_text(TABLE)
    far: list[int] = []
    plan, scenarios = Plan.of(here / "run.toml"), read_scenarios(here / "table.csv")
    assert not run_ensemble(plan, scenarios, tell=lambda each: far.append(each.step), stop=lambda: max(far) > 10)
    code, _, wrong = call("ensemble", "run.toml", "table.csv")
    assert code == Exit.DONE
    assert f"The run continues at {plan.clock.begin(far[-1])}.\n" in wrong


def chunks(store: Path) -> dict[Path, bytes]:
    """The content of each file of values of a store."""
    return {file.relative_to(store): file.read_bytes() for file in store.rglob("*") if file.is_file() and "c" in file.parts}
