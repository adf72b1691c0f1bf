"""The log of a run folder: whole lines, in order, also when the disk is full for a while."""

import errno
import json
import os
from pathlib import Path

import pytest

import steppe
from steppe.errors import NoSpaceError
from steppe.io import Checkpoint, changes_of
from steppe.io.folders import run_log
from steppe.io.folders.run_log import RunLog


def test_lines_that_a_full_disk_refused_are_written_later_and_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RunLog(tmp_path)
    log.add({"event": "set", "step": 1, "name": "first"})
    whole = os.fdopen

    def opened(path: Path, *arguments: object, **options: object) -> object:
        file = whole(os.open(path, os.O_WRONLY | os.O_APPEND), "ab", 0)

        class HalfFull:
            def __enter__(self) -> "HalfFull":
                return self

            def __exit__(self, *error: object) -> None:
                file.close()

            def fileno(self) -> int:
                return file.fileno()

            def truncate(self, size: int) -> None:
                os.ftruncate(file.fileno(), size)

            def write(self, data: bytes) -> int:
                if len(data) < 20:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return int(file.write(data[: len(data) // 2]))

        return HalfFull()

    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", opened)
        log.add({"event": "set", "step": 2, "name": "second"})
        with pytest.raises(NoSpaceError):
            log.write()
    assert [row["name"] for row in changes_of(tmp_path)] == ["first"]
    log.add({"event": "set", "step": 3, "name": "third"})
    assert [row["name"] for row in changes_of(tmp_path)] == ["first", "second", "third"]
    assert all(json.loads(line) for line in (tmp_path / "log.jsonl").read_bytes().splitlines())


def test_all_lines_are_durable_before_a_checkpoint_counts_on_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RunLog(tmp_path).add({"event": "set", "step": 1, "name": "of a killed process"})
    synced: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", noted)
    log = RunLog(tmp_path)
    for lines in 0, 2:
        for step in range(lines):
            log.add({"event": "set", "step": step, "name": "water"})
        assert synced == []
        log.write()
        assert str(tmp_path / "log.jsonl") in synced
        synced.clear()
    log.write()
    assert synced == []


def test_a_checkpoint_makes_the_log_durable_first(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    with steppe.Simulation(scenario) as simulation:
        simulation.set("water", 10.0)
        for owner, name in ((run_log, "sync"), (Checkpoint, "begin")):
            act = getattr(owner, name)
            monkeypatch.setattr(owner, name, lambda *args, name=name, act=act: (order.append(name), act(*args))[1])
        simulation.checkpoint()
    assert order[:3] == ["sync", "sync", "begin"]
