"""`steppe list` and `steppe remove`: which runs there are, and how one goes."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import steppe
from steppe.engine import Plan
from steppe.errors import Exit
from steppe.jobs.ensemble import Scenario, run_ensemble
from steppe.server.live import ranges
from tests.client.served import Served


@pytest.fixture
def run(finished, here) -> Path:
    """A finished run "runs/first" in the working folder, beside a scenario."""
    shutil.copytree(finished, here / "runs" / "first")
    return here / "runs" / "first"


def listed(call, *arguments: str) -> dict[str, dict]:
    code, said, wrong = call("list", *arguments, "--json")
    assert (code, wrong) == (Exit.DONE, "")
    return {each["path"]: each for each in json.loads(said)}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def on_disk(folder: Path) -> int:
    """As du counts: a file with two names once."""
    return 1024 * int(subprocess.run(["du", "-sk", folder], capture_output=True, text=True, check=True).stdout.split()[0])


# ---- list -----------------------------------------------------------------------------------------------------------------------------
def test_every_state_of_a_run_is_listed(call, here, run):
    with steppe.Simulation("run.toml", "runs/stopped") as simulation:
        simulation.step(30)
    run_ensemble(Plan.of(steppe.read_run_file("run.toml", {"output.path": '"runs/ens"'})), [Scenario("a", {"capacity": 80.0})])
    shutil.copytree(run, "runs/torn")
    Path("runs/torn/progress.json").write_text("{}")
    with steppe.Simulation("run.toml", "runs/now"):
        found = listed(call, "runs")
    states = {path: each["state"] for path, each in found.items()}
    assert states == {
        "runs/ens": "ensemble",
        "runs/first": "finished",
        "runs/now": "in use",
        "runs/stopped": "unfinished",
        "runs/torn": "damaged",
    }
    assert found["runs/first"]["model"] == "bucket 1.0"
    assert found["runs/first"]["days"] == "1990-01-10 to 1991-03-05"
    assert found["runs/stopped"]["detail"] == "until before 1990-02-09"
    assert found["runs/ens"]["detail"] == "1 of 1 scenarios finished"
    assert found["runs/now"]["detail"].startswith(f"process {os.getpid()} on ")
    assert listed(call, "runs")["runs/now"]["state"] == "unfinished"


def test_a_failed_run_is_listed_with_what_went_wrong(call, run):
    from dataclasses import replace

    from steppe.io import Progress

    replace(Progress.read(run), state="failed", message="No space is left.").write(run)
    found = listed(call)["runs/first"]
    assert (found["state"], found["detail"]) == ("failed", "No space is left.")


def test_files_that_branches_share_are_counted_once(call, here, run):
    steppe.run("run.toml", "runs/branched")
    with steppe.Simulation("run.toml", "runs/branched") as simulation:
        simulation.branch("more").close()
    found = listed(call, "runs/branched")["runs/branched"]
    assert found["branches"] == ["more"]
    shared = Path("runs/branched/output.zarr/water/c/0/0").stat()
    assert shared.st_nlink == 2
    assert 0 <= on_disk(here / "runs/branched") - found["size"] < 4096 * (1 + sum(1 for _, _, _ in os.walk("runs/branched")))
    assert found["size"] < sum(file.stat().st_blocks * 512 for file in Path("runs/branched").rglob("*") if file.is_file())


def test_the_table_has_a_line_for_each_run(call, run):
    code, said, wrong = call("list")
    assert (code, wrong) == (Exit.DONE, "")
    head, *lines = said.splitlines()
    assert head.split() == ["folder", "model", "days", "state", "size"]
    assert len(lines) == 1  # weather, masks and models are no runs
    assert lines[0].startswith("runs/first  bucket 1.0  1990-01-10 to 1991-03-05  finished  ")


def test_a_folder_without_runs_and_no_folder_are_told_apart(call, here):
    assert call("list") == (Exit.DONE, 'There is no run folder in ".".\n', "")
    assert call("list", "nowhere") == (Exit.MISTAKE, "", 'steppe: There is no folder "nowhere".\n')


# ---- remove ---------------------------------------------------------------------------------------------------------------------------
def test_a_run_folder_is_removed_and_nothing_else(call, here, run):
    before = files(here)
    call("plot", "runs/first")
    assert call("remove", "runs/first", "--yes") == (Exit.DONE, "runs/first is removed.\n", "")
    assert files(here) == {name for name in before if not name.startswith("runs/first")}
    assert (here / "runs").is_dir()


def test_what_a_link_in_a_run_folder_leads_to_stays(call, here, run):
    (run / "run.toml").unlink()
    (run / "run.toml").symlink_to(here / "run.toml")
    shutil.move(run / "checkpoints", here / "elsewhere")
    (run / "checkpoints").symlink_to(here / "elsewhere")
    assert call("remove", "runs/first", "--yes")[0] == Exit.DONE
    assert (here / "run.toml").is_file()
    assert list((here / "elsewhere").iterdir())
    (here / "link").symlink_to(here / "runs")
    code, _, wrong = call("remove", "link", "--yes")
    assert code == Exit.MISTAKE
    assert "is a link to" in wrong


@pytest.mark.parametrize("name", [ranges.FILE, f"{ranges.FILE}.tmp", "picture.png"])
def test_files_that_viewers_left_go_with_a_run(call, run, name):
    (run / name).touch()
    assert call("remove", "runs/first", "--yes")[0] == Exit.DONE
    assert not run.exists()


def test_an_ensemble_is_removed_as_a_whole(call, here):
    run_ensemble(Plan.of(steppe.read_run_file("run.toml")), [Scenario("a", {"capacity": 80.0}), Scenario("b", {})])
    code, _, wrong = call("remove", "out/branches/2", "--yes")
    assert code == Exit.MISTAKE
    assert '"out/branches/2" is scenario "a" of the ensemble' in wrong
    assert call("remove", "out", "--yes")[0] == Exit.DONE
    assert not (here / "out").exists()


def test_a_run_with_branches_is_removed_with_them_only_when_that_is_asked_for(call, here, run):
    with steppe.Simulation("run.toml", "runs/first") as simulation:
        simulation.branch("more").close()
    code, _, wrong = call("remove", "runs/first", "--yes")
    assert code == Exit.MISTAKE
    assert '"runs/first" has a branch, more: ' in wrong
    assert "Give --branches" in wrong
    assert call("remove", "runs/first/branches/more", "--yes")[0] == Exit.DONE
    results = steppe.open("runs/first")
    assert results["water"].sizes["time"] == 15
    results["water"].load()  # its files were shared
    assert call("remove", "runs/first", "--yes")[0] == Exit.DONE


def test_branches_go_with_their_run_when_that_is_asked_for(call, here, run):
    with steppe.Simulation("run.toml", "runs/first") as simulation:
        simulation.branch("more").close()
    assert call("remove", "runs/first", "--yes", "--branches")[0] == Exit.DONE
    assert not run.exists()


@pytest.mark.parametrize("used", ["", "branches/more"])
def test_a_run_that_a_process_uses_is_not_removed(call, here, run, used):
    with steppe.Simulation("run.toml", "runs/first") as simulation:
        branch = simulation.branch("more")
        if not used:
            branch.close()
        else:
            simulation.close()
        before = files(run)
        code, _, wrong = call("remove", "runs/first", "--yes", "--branches")
        branch.close()
    assert code == Exit.MISTAKE
    assert f'"runs/first" is in use by process {os.getpid()}' in wrong
    assert files(run) == before


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("notes.txt", 'runs/first" holds notes.txt, which Steppe did not write. Move that away first.'),
        ("run.toml.bak", "holds run.toml.bak, which"),
        ("branches/notes.txt", "holds branches/notes.txt, which"),
    ],
)
def test_files_of_others_keep_a_run_folder(call, run, name, said):
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).write_text("mine")
    code, _, wrong = call("remove", "runs/first", "--yes")
    assert code == Exit.MISTAKE
    assert said in wrong
    assert (run / "identity.json").is_file()


@pytest.mark.parametrize(
    ("made", "said"),
    [({}, "is not a run folder. `steppe list FOLDER` shows"), ({"identity.json": '{"name": "me"}'}, "is damaged (it has no hash)")],
)
def test_what_is_not_a_run_folder_is_not_removed(call, here, made, said):
    (here / "other").mkdir()
    for name, text in {"a.txt": "a", **made}.items():
        (here / "other" / name).write_text(text)
    code, _, wrong = call("remove", "other", "--yes")
    assert code != Exit.DONE
    assert said in wrong
    assert files(here / "other") == {"a.txt", *made}


def test_without_a_terminal_nothing_is_removed_unless_yes_is_given(call, run, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    code, said, wrong = call("remove", "runs/first")
    assert (code, said) == (Exit.MISTAKE, "")
    assert '"runs/first" (bucket 1.0; 1990-01-10 to 1991-03-05; finished; ' in wrong
    assert "Give --yes." in wrong
    assert run.is_dir()


@pytest.mark.parametrize(("answer", "stays"), [("y\n", False), ("n\n", True), ("\n", True)])
def test_on_a_terminal_it_asks(run, answer, stays):
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "steppe", "remove", "runs/first"]
    with subprocess.Popen(command, stdin=other, stdout=subprocess.PIPE, text=True, cwd=run.parents[1]) as asking:
        os.write(terminal, answer.encode())
        said = asking.stdout.read()
    os.close(other)
    os.close(terminal)
    assert said.startswith('Remove "runs/first" (bucket 1.0; ')
    assert said.endswith("? [y/N] Nothing is removed.\n" if stays else "? [y/N] runs/first is removed.\n")
    assert run.is_dir() == stays


def test_a_served_run_is_in_use_while_it_is_served_and_goes_as_a_whole(call, here):
    served = Served(here / "run.toml")
    try:
        with served.connect() as line:
            line.step(30)
            more = line.branch("more")
            more.set("capacity", 90.0)
            more.step(20)
        found = listed(call)["out"]
        assert found["state"] == "in use"
        code, _, wrong = call("remove", "out", "--yes", "--branches")
        assert code == Exit.MISTAKE
        assert '"out" is in use by process ' in wrong
    finally:
        served.stop()
    found = listed(call)["out"]
    assert found["state"] == "unfinished"
    assert found["branches"]
    for name in found["branches"]:
        assert "is a scenario of the served run" in call("remove", f"out/branches/{name}", "--yes")[2]
    assert call("remove", "out", "--yes", "--branches") == (Exit.DONE, "out is removed.\n", "")
    assert not (here / "out").exists()
