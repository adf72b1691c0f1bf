"""Processes that do not outlive this one, and what a site writes: whole lines behind its name, and the events among them."""

import asyncio
import ctypes
import json
import os
import re
import signal
from asyncio import StreamReader
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

ENDING = (signal.SIGINT, signal.SIGTERM)
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
Event = dict[str, Any]
RECORD = b"\x1e"  # before an event; a rank may have begun a line
EVENT = re.compile(RECORD + rb"([^\x1e\n]*)\n")


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


async def each_line(source: StreamReader | None, act: Callable[[bytes], None]) -> None:
    """Calls `act` with each line of a pipe."""
    assert source is not None
    async for line in source:
        act(line)


def send(child: Process | None, number: signal.Signals) -> bool:
    """Sends a signal to a process; False if it has ended."""
    if child is None or child.returncode is not None:
        return False
    with suppress(ProcessLookupError):
        os.kill(child.pid, number)  # Popen.send_signal may reap the child, whose code asyncio then never learns
    return True


def kill_marked(mark: str) -> None:
    """Kills the processes of this host that have `mark`, NAME=VALUE, in their environment: ranks leave the group of their launcher."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


def on_signals(act: Callable[[signal.Signals], None]) -> None:
    """Calls `act` for each signal that is passed on, in the running loop."""
    for number in (*ENDING, signal.SIGUSR1, signal.SIGUSR2):
        asyncio.get_running_loop().add_signal_handler(number, act, number)


def event_line(event: Event) -> bytes:
    """An event as a site writes it to its standard error for the `run` that started it."""
    return RECORD + json.dumps(event).encode() + b"\n"


async def pass_on(source: StreamReader, target: BinaryIO, prefix: bytes, hear: Callable[[Event], None]) -> None:
    """Writes the lines of `source` behind `prefix`, each when it is whole, and gives the events to `hear`."""
    parts: list[bytes] = []  # of a line
    while data := await source.read(1 << 16):
        parts.append(data)
        if b"\n" in data:
            text = b"".join(parts)
            for found in EVENT.findall(text):
                hear(json.loads(found))
            *lines, rest = EVENT.sub(b"", text).split(b"\n")
            _write(target, prefix, lines)
            parts = [rest]
    if rest := b"".join(parts):
        _write(target, prefix, [rest])


def _write(target: BinaryIO, prefix: bytes, lines: list[bytes]) -> None:
    target.write(b"".join(prefix + line + b"\n" for line in lines))
    target.flush()


def say_world(sites: list[Event], kinds: dict[str, str]) -> str:
    """The sentence about a world that stands. kinds: name of a site -> its MPI, where that is known."""
    each = ", ".join(f"{site['name']} ({', '.join(filter(None, [str(site['ranks']), kinds.get(site['name'])]))})" for site in sites)
    return f"steppe bridge: {_count(sum(site['ranks'] for site in sites), 'rank')} at {_count(len(sites), 'site')}: {each}.\n"


LINK = {
    "broken": "Site {here} has lost its link to site {site}, and waits for it for {seconds} s.",
    "resumed": "Site {here} has its link to site {site} again after {seconds} s; nothing was lost.",
    "compresses": "Site {here} compresses what waits for its link to site {site}, to 1/{ratio} at first.",
}


def say_link(here: str, event: Event) -> str:
    """The sentence about a link of site `here`; empty for other events."""
    words = LINK.get(event["event"], "")
    return f"steppe bridge: {words.format(here=here, **event)}\n" if words else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
