"""A rank that is killed or stopped ends the job of the others, with a line that names it, and leaves nothing."""

import re
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from tests.comm.mpis import run_ranks

PROGRAM = """
import os, signal, sys, time
import numpy as np
from steppe.arrays import GlobalArray, serving, site
from steppe.comm import find_launch, open_world
serving.PATIENCE = site.PATIENCE = 3.0
rank, hosts = find_launch().rank, int(sys.argv[2])
with open_world(f"host {rank % hosts}") as world:
    array = GlobalArray(world, 100_000)
    array.gather(np.arange(100_000))
    array.sync()
    if rank == 1:
        os.write(2, f"at {time.monotonic()}\\n".encode())
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    while sys.argv[3] == "gather":
        array.gather(np.arange(0, 100_000, 7))
    array.sync()
"""


def running(token: str) -> list[str]:
    """The processes that were started with a word, a second later at most."""
    until = time.monotonic() + 1.0
    while True:
        found = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if token.encode() in command_of(path)]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def command_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_process_with_a_word_is_found() -> None:
    token = uuid4().hex
    command = [sys.executable, "-c", "print(flush=True); input()", token]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()  # the system may not show its words before
        assert running(token)
    assert not running(token)


@pytest.mark.parametrize(
    ("signal", "hosts", "doing", "said"),
    [
        ("SIGKILL", 1, "sync", ""),
        ("SIGKILL", 2, "gather", ""),
        ("SIGSTOP", 1, "sync", "steppe: Rank 1 has been stopped for 3 s; the others wait for it."),
        ("SIGSTOP", 3, "sync", "steppe: The host of rank 1 has not answered for 3 s."),
        ("SIGSTOP", 2, "gather", "steppe: The host of rank 1 has not answered for 3 s."),
    ],
)
def test_a_lost_rank_ends_the_job(signal: str, hosts: int, doing: str, said: str) -> None:
    token = uuid4().hex
    done = run_ranks("installed", 3, "-c", PROGRAM, signal, str(hosts), doing, token, limit=60.0)
    took = time.monotonic() - float(done.stderr.split("at ")[1].split()[0])
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("steppe: ")]
    if said:
        assert lines == [said], done.stderr
        assert took < 30.0
    else:  # the launcher kills the others at once, too: it may be the first
        assert all(re.search(r"[Rr]anks? ([02], )*1\b", line) for line in lines), done.stderr
        assert took < 15.0
    assert not running(token)  # nor, with them, the memory that they shared, which has no name


ALONE = """
import time
from steppe.arrays import GlobalArray, open_world
with open_world() as world:
    array = GlobalArray(world, 1, name="wind")
    if world.rank == 1:
        time.sleep(20)
    with array.read_only(patience=0.5):
        pass
"""


def test_a_rank_that_does_not_enter_read_only_is_named() -> None:
    done = run_ranks("installed", 3, "-c", ALONE, limit=60.0)
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("steppe: ")]
    assert len(lines) == 1, done.stderr
    assert 'has waited 0.5 s in read_only of "wind" for rank 1. All ranks must call it' in lines[0]
