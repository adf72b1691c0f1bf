"""What a thread of another process asks the system for, seen from outside by strace: calls of Python, SQLite and libraries alike."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

WAIT = 30.0  # [s]
CONTENT = ("read", "write", "pread64", "pwrite64", "readv", "writev", "pwritev", "preadv", "recvfrom", "sendto")  # quote no path but data
NO_DISK = re.compile(r"/dev/|/proc/|/sys/|/memfd:")
CALL = re.compile(r"(?:\d+ +)?(\w+)\(")
OPEN_FILE = re.compile(r"\d+<(/[^>]*)>")
NAME = re.compile(r'"([^"]*)"')


@contextmanager
def watched(thread: int) -> Iterator[list[str]]:
    """Fills a list with the calls of a thread that touch a disk, once this ends. Without strace a test is skipped, in CI it fails."""
    if shutil.which("strace") is None:
        reason = "strace is not installed (apt-get install strace)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    found: list[str] = []
    with tempfile.NamedTemporaryFile("r") as log:
        command = ["strace", "-p", str(thread), "-y", "-s", "200", "-e", "trace=%file,%desc", "-e", "signal=none", "-o", log.name]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            try:
                assert strace.stderr is not None
                first = strace.stderr.readline()
                if "attached" not in first:
                    reason = f"strace may not watch a process here: {first}"
                    pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
                yield found
            finally:
                strace.send_signal(signal.SIGINT)
                strace.wait(WAIT)
        lines = log.read().splitlines()
    assert any("epoll" in line for line in lines), "this thread runs an event loop"
    found += [line for line in lines if paths_of(line)]


def paths_of(line: str) -> list[Path]:
    """The files on a disk that a call has to do with."""
    call = CALL.match(line)
    if call is None:
        return []
    names = OPEN_FILE.findall(line) + (NAME.findall(line) if call[1] not in CONTENT else [])
    return [Path(name) for name in names if name and not NO_DISK.match(name)]
