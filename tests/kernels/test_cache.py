"""Kernels kept on disk, made by one of many processes: with a tiny kernel of LLVM's own language, compiled as real ones are."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from steppe.kernels import cache
from tests.small_disk import mount_small_disk

MANY = 16
# Each process says that it compiles before it does, and whether what it has runs.
PROCESS = """
import ctypes, logging, os, sys, time
from pathlib import Path
from steppe.kernels import cache

TEXT = 'define i32 @seven(ptr %r, ptr %e, ptr %to) {\\nstore i32 7, ptr %to\\nret i32 0\\n}'
diary = Path(sys.argv[1])

def make():
    with diary.open("a") as file:
        file.write(f"{os.getpid()}\\n")
    if sys.argv[2] == "slow":
        time.sleep(100)
    return "seven", cache.object_of(TEXT)

logging.getLogger("steppe").setLevel(logging.WARNING)
linked = cache.MachineFunction(*cache.kept("tiny", make), [ctypes.c_void_p])
found = ctypes.c_int32(0)
linked(ctypes.addressof(found))
print(found.value)
"""


@pytest.fixture
def own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `_private` is, for this process and those that it starts."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path / "tmp" / f"steppe-{os.getuid()}"


def started(folder: Path, diary: Path, speed: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "STEPPE_CACHE": str(folder)}
    command = [sys.executable, "-c", PROCESS, str(diary), speed]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answers(processes: list[subprocess.Popen[str]]) -> list[tuple[str, str]]:
    """What each printed, and what it said."""
    return [process.communicate(timeout=240) for process in processes]


def until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to it")


def test_of_many_cold_processes_one_compiles_and_all_run(tmp_path: Path) -> None:
    folder, diary = tmp_path / "cache", tmp_path / "diary"
    assert answers([started(folder, diary) for _ in range(MANY)]) == [("7\n", "")] * MANY
    assert len(diary.read_text().split()) == 1
    assert [path.name for path in (folder / "kernels").iterdir()] == ["tiny.kernel"]


def test_when_the_one_that_compiles_is_killed_another_does(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    slow = started(tmp_path, diary, "slow")
    until(diary.exists)
    others = [started(tmp_path, diary) for _ in range(4)]
    time.sleep(0.5)
    assert diary.read_text().split() == [f"{slow.pid}"]
    slow.send_signal(signal.SIGKILL)
    assert answers(others) == [("7\n", "")] * 4
    assert len(diary.read_text().split()) == 2
    slow.communicate()


def test_who_has_waited_long_compiles_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "PATIENCE", 0.1)
    slow = started(tmp_path, tmp_path / "diary", "slow")
    until((tmp_path / "diary").exists)
    assert cache.kept("tiny", lambda: ("mine", b"object")) == ("mine", b"object")
    slow.kill()
    slow.communicate()


def test_a_file_system_without_locks_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, operation: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path))
    monkeypatch.setattr("fcntl.flock", refuse)
    assert cache.kept("tiny", lambda: ("mine", b"object")) == ("mine", b"object")
    assert cache.find(tmp_path / "kernels" / "tiny.kernel") == ("mine", b"object")


def test_where_nothing_can_be_written_kernels_go_to_a_private_folder_which_is_said(tmp_path: Path, own_temporary_files: Path) -> None:
    (tmp_path / "file").write_text("")
    diary = tmp_path / "diary"
    found = answers([started(tmp_path / "file", diary) for _ in range(4)])
    assert [printed for printed, _ in found] == ["7\n"] * 4
    sentence = f'Compiled kernels cannot be kept in "{tmp_path / "file" / "kernels"}" (Not a directory).'
    assert [said.count(sentence) for _, said in found] == [1] * 4
    assert len(diary.read_text().split()) == 1
    assert own_temporary_files.stat().st_mode & 0o777 == 0o700
    assert cache.find(own_temporary_files / "tiny.kernel") is not None


@pytest.mark.usefixtures("own_temporary_files")
def test_a_private_folder_that_others_can_write_is_not_used(
    tmp_path: Path, own_temporary_files: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path / "file"))
    own_temporary_files.mkdir()
    own_temporary_files.chmod(0o777)
    (own_temporary_files / "tiny.kernel").write_bytes(b"planted")
    with caplog.at_level(logging.WARNING, "steppe"):
        assert cache.kept("tiny", lambda: ("mine", b"object")) == ("mine", b"object")
    assert "it is not a folder of this user alone" in caplog.text
    assert (own_temporary_files / "tiny.kernel").read_bytes() == b"planted"


def test_a_full_disk_is_said_and_kernels_go_elsewhere(
    tmp_path: Path, own_temporary_files: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    release = mount_small_disk(tmp_path / "disk", "16k")
    try:
        (tmp_path / "disk" / "kernels").mkdir()
        monkeypatch.setenv("STEPPE_CACHE", str(tmp_path / "disk"))
        with caplog.at_level(logging.WARNING, "steppe"):
            assert cache.kept("large", lambda: ("mine", bytes(100_000))) == ("mine", bytes(100_000))
            assert "No space left on device" in caplog.text
            assert not list((tmp_path / "disk" / "kernels").glob("large.*"))
            with (tmp_path / "disk" / "rest").open("wb", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(bytes(1024))
            assert cache.kept("tiny", lambda: ("mine", b"object")) == ("mine", b"object")
    finally:
        release()
    assert cache.find(own_temporary_files / "tiny.kernel") == ("mine", b"object")


def test_a_damaged_file_is_compiled_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.kernel"
    cache.store(path, "symbol", b"object")
    assert cache.find(path) == ("symbol", b"object")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert cache.find(path) is None
    assert cache.find(tmp_path / "none.kernel") is None
