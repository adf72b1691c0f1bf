"""Engines that are started, and one that cannot be."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from steppe.control.server.engine_process import MISTAKE
from steppe.control.server.launcher import LOG, EngineLauncher


def test_a_launcher_that_has_gone_since_is_told_as_a_mistake_of_the_engine(tmp_path: Path) -> None:
    """So the run fails with these words, where it would have been starting for ever."""

    async def started() -> tuple[str, str]:
        ended = asyncio.get_running_loop().create_future()
        launcher = EngineLauncher(tmp_path, f"{tmp_path}/gone -n 3")
        launcher.start(1, lambda *said: ended.set_result(said)).kill()
        return await asyncio.wait_for(ended, 5)

    status, log = asyncio.run(started())
    assert status == MISTAKE
    assert log == f'"{tmp_path}/gone" cannot be started: No such file or directory. Start the server again.'


def test_an_engine_that_is_ended_before_its_process_is_there_never_runs(tmp_path: Path) -> None:
    async def started() -> str:
        ended = asyncio.get_running_loop().create_future()
        EngineLauncher(tmp_path, "sh -c 'sleep 100'").start(1, lambda *said: ended.set_result(said[0])).kill()
        return await asyncio.wait_for(ended, 60)

    assert asyncio.run(started()) == "signal 9 (SIGKILL)"


def test_the_end_of_an_engine_is_told_when_no_more_files_can_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def started() -> tuple[str, str]:
        ended = asyncio.get_running_loop().create_future()
        EngineLauncher(tmp_path, f"sh -c 'rm {tmp_path / LOG}; exit 3'").start(1, lambda *said: ended.set_result(said))
        return await asyncio.wait_for(ended, 10)

    monkeypatch.setattr(os, "pidfd_open", full)
    assert asyncio.run(started()) == ("exit code 3", f'"{tmp_path / LOG}" cannot be read: No such file or directory.')
