import json
import multiprocessing
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from steppe.control.server.journal import Journal
from steppe.errors import DamagedError, FolderError
from steppe.io.checkpoints.checkpoint import Checkpoint
from steppe.io.folders.folder import RunFolder, check_place, read_identity
from steppe.io.folders.run_progress import Progress
from steppe.io.identity import run_id
from steppe.io.output.store import group_attributes
from steppe.io.results.dataset import open_results
from tests.io.writer_process import DAYS, IDENTITY, run

RUNS = multiprocessing.get_context("forkserver")


def hold(path: Path, held: "multiprocessing.synchronize.Event") -> None:
    folder = RunFolder(path, IDENTITY)
    held.set()
    with folder:
        multiprocessing.Event().wait()


def test_a_folder_is_made_and_taken_up_again(tmp_path: Path) -> None:
    for _ in range(2):
        with RunFolder(tmp_path / "new" / "run", IDENTITY) as folder:
            folder.write_run("model = 'pasture'")
    assert read_identity(tmp_path / "new/run") == IDENTITY
    assert (tmp_path / "new/run/run.toml").read_text() == "model = 'pasture'"


def test_a_folder_in_use_names_the_holder_and_a_dead_one_is_no_obstacle(tmp_path: Path) -> None:
    held = RUNS.Event()
    process = RUNS.Process(target=hold, args=(tmp_path, held))
    process.start()
    assert held.wait(60)
    with pytest.raises(FolderError, match=rf"is in use by process {process.pid} on {os.uname().nodename}, run [0-9a-f]{{12}}\. Wait"):
        RunFolder(tmp_path, IDENTITY)
    process.kill()
    process.join()
    RunFolder(tmp_path, IDENTITY).close()


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    RunFolder(tmp_path, IDENTITY).close()
    with pytest.raises(
        FolderError, match=r'belongs to a run with other model, forcing: model is "decay 1" there and "decay 2" in this run'
    ):
        RunFolder(tmp_path, {**IDENTITY, "model": "decay 2", "forcing": "77"})
    RunFolder(tmp_path, IDENTITY).close()  # the refused one holds no lock


def test_a_folder_with_files_of_something_else_is_refused_and_untouched(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "output.zarr"):
        (tmp_path / name).write_text("mine")
    for fresh in (False, True):
        with pytest.raises(FolderError, match=r"is no run folder, it holds a.txt, b.txt, c.txt and 2 more\. Choose"):
            RunFolder(tmp_path, IDENTITY, fresh=fresh)
    assert len(list(tmp_path.iterdir())) == 5


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(FolderError, match="is a file, expected a folder"):
        RunFolder(tmp_path / "run", IDENTITY)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match=r"file. is a file, expected a folder"):
        RunFolder(tmp_path / "file" / "run", IDENTITY)


@pytest.mark.parametrize("name", [".", "run/deeper"])
def test_a_place_that_takes_no_files_is_refused_before_the_run_begins(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)  # the superuser may write everywhere
    path = tmp_path / name
    with pytest.raises(FolderError, match=f'"{path}" cannot be written: Permission denied. Check the disk and the permissions'):
        check_place(path)


def test_fresh_removes_the_run_and_leaves_what_is_not_ours(tmp_path: Path) -> None:
    with RunFolder(tmp_path, IDENTITY) as folder:
        folder.output.mkdir()
        (folder.checkpoints / "0000000010").mkdir(parents=True)
        Progress("running").write(tmp_path)
    (tmp_path / "map.png").write_text("a plot by the user")
    with RunFolder(tmp_path, {"model": "other"}, fresh=True):
        assert sorted(path.name for path in tmp_path.iterdir()) == ["identity.json", "lock", "map.png"]
    assert read_identity(tmp_path) == {"model": "other"}


def test_fresh_removes_old_journals_and_no_other_data_base(tmp_path: Path) -> None:
    RunFolder(tmp_path, IDENTITY).close()
    old = ("journal.sqlite", "journal-1.sqlite", "journal-12.sqlite")
    for name in (*old, "my-journal.sqlite", "journal-1.sqlite.old", "journal-01.sqlite"):
        Journal(tmp_path / name).close()
    with closing(sqlite3.connect(tmp_path / "journal-2.sqlite")) as base:
        base.execute("CREATE TABLE command(mine)")
    (tmp_path / "journal-3.sqlite").write_text("no data base")
    (tmp_path / "journal-4.sqlite").symlink_to("my-journal.sqlite")
    (tmp_path / "journal-5.sqlite").mkdir()
    for name in (left_over := ("journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-refused")):  # of a server that was killed
        (tmp_path / name).write_bytes(b"")
    there = {path.name for path in tmp_path.iterdir()}
    with RunFolder(tmp_path, IDENTITY, fresh=True):
        left = {path.name for path in tmp_path.iterdir()}
    assert there - left == {*old, *left_over}


def test_fresh_removes_no_journal_from_a_folder_that_is_not_ours(tmp_path: Path) -> None:
    Journal(tmp_path / "journal-1.sqlite").close()
    with pytest.raises(FolderError, match="is no run folder"):
        RunFolder(tmp_path, IDENTITY, fresh=True)
    assert (tmp_path / "journal-1.sqlite").exists()


def test_a_start_that_was_killed_is_taken_up(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("process 1 on nowhere")
    (tmp_path / "identity.json.tmp").write_text("{")
    RunFolder(tmp_path, IDENTITY).close()


def test_a_damaged_identity_is_said(tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text("{")
    with pytest.raises(DamagedError, match=r"identity\.json. is damaged"):
        RunFolder(tmp_path, IDENTITY)
    RunFolder(tmp_path, IDENTITY, fresh=True).close()


def test_progress_is_replaced_whole_and_read_back(tmp_path: Path) -> None:
    assert Progress.read(tmp_path) is None
    progress = Progress("running", 384, "1991-01-20", {"growth": 384})
    progress.write(tmp_path)
    assert Progress.read(tmp_path) == progress
    (tmp_path / "progress.json").write_text('{"state": "run')
    with pytest.raises(DamagedError, match=r"progress\.json. is damaged"):
        Progress.read(tmp_path)


def test_a_log_line_that_was_torn_is_cut_off(tmp_path: Path) -> None:
    with RunFolder(tmp_path, IDENTITY) as folder:
        folder.log.add({"event": "start"})
    with open(tmp_path / "log.jsonl", "a") as file:
        file.write('{"event": "st')
    with RunFolder(tmp_path, IDENTITY) as folder:
        folder.log.add({"event": "resume"})
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["start", "resume"]


def test_a_run_folder_and_its_log_are_of_the_owner_alone_until_he_shares_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one"
    for mode in (0o700, 0o750):
        with RunFolder(path, IDENTITY) as folder:
            folder.log.add({"event": "start"})
        assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path / "log.jsonl")] == [mode, 0o600]
        path.chmod(0o750)


def test_a_branch_goes_on_by_itself_and_leaves_its_parent_alone(tmp_path: Path) -> None:
    run(tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with RunFolder(tmp_path / "run", IDENTITY) as folder:
        checkpoint = Checkpoint.newest(folder.checkpoints, IDENTITY, print)
        assert checkpoint is not None
        branch = folder.branch("fire", checkpoint)
        with pytest.raises(FolderError, match="Choose another name"):
            folder.branch("fire", checkpoint)
    assert checkpoint.step == 720
    assert open_results(branch).sizes["time"] == 720
    shared = "output.zarr/growth/c/0/0"
    assert (branch / shared).samefile(tmp_path / "run" / shared)
    run(branch)
    assert open_results(branch).sizes["time"] == DAYS
    np.testing.assert_array_equal(open_results(branch)["growth"], open_results(tmp_path / "run")["growth"])
    attributes = group_attributes(branch / "output.zarr")
    assert (attributes["steppe_parent_run"], attributes["steppe_parent_step"]) == (run_id(IDENTITY), 720)
    assert attributes["steppe_run"] not in (run_id(IDENTITY), "")
    assert all(path.read_bytes() == data for path, data in before.items() if path.name != "lock")


def test_what_a_server_put_into_a_folder_before_its_run_began_is_not_foreign(tmp_path):
    for name in ("journal.sqlite", "journal.sqlite-wal", "door.json", "engine.lock"):
        (tmp_path / name).touch()
    (tmp_path / "uploads").mkdir()
    with RunFolder(tmp_path, {"model": "bucket"}):
        assert (tmp_path / "journal.sqlite").exists()
