"""Processes that do not outlive this one."""

import asyncio
import ctypes
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM)
PASSED = (*ENDING, signal.SIGUSR1, signal.SIGUSR2)
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


async def start(command: list[str], dies_by: signal.Signals, **streams: Any) -> Process:
    """Starts a process in a session of its own. The kernel sends it `dies_by` when this process is gone."""
    parent = os.getpid()

    def tie() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(dies_by), 0, 0, 0)
        if os.getppid() != parent:  # this process is gone already
            os._exit(1)

    return await asyncio.create_subprocess_exec(*command, preexec_fn=tie, start_new_session=True, **streams)


async def ends(child: Process, seconds: float) -> bool:
    """True if a process ends within some time."""
    with suppress(TimeoutError):
        await asyncio.wait_for(child.wait(), seconds)
    return child.returncode is not None


def send(child: Process | None, number: signal.Signals) -> bool:
    """Sends a signal to a process; False if it has ended."""
    if child is None or child.returncode is not None:
        return False
    with suppress(ProcessLookupError):
        child.send_signal(number)
    return True


def kill_marked(mark: str) -> None:
    """Kills the processes of this host that have `mark`, NAME=VALUE, in their environment: ranks leave the group of their launcher."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


def on_signals(act: Callable[[signal.Signals], None]) -> None:
    """Calls `act` for each signal that is passed on, in the running loop."""
    for number in PASSED:
        asyncio.get_running_loop().add_signal_handler(number, act, number)
