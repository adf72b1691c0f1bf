"""A command of several ranks, in small: `python -m tests.cli.ranked WHAT`; with "start N" before it, as a supervisor starts it."""

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steppe.cli.control import supervised
from steppe.cli.progress import progress
from steppe.cli.rank import join
from steppe.cli.ranks import run_job
from steppe.cli.stop import Stop
from steppe.comm import find_launch, find_library, find_mpiexec
from steppe.errors import Exit, ForcingError, Mistake, RunFileError

if TYPE_CHECKING:
    from steppe.comm import RankLocation, World

CELLS = 100


@dataclass
class Event:
    """As `steppe.engine.Event`, without the engine."""

    kind: str
    text: str
    step: int
    steps: int
    date: str


def main(what: str) -> Exit:
    from steppe.comm import last_words

    launch = find_launch()
    assert launch is not None
    rank = join(launch)
    world, where = rank.world, rank.where
    with last_words(world, where):
        where.cells, where.date = (CELLS * world.rank, CELLS * (world.rank + 1)), day
        if what == "mistake" and world.rank == 0:
            raise RunFileError('Key "x" is not known.')
        code = steps(world, where, what)
        world.close()
    return code


def day(step: int) -> str:
    """The date of a step."""
    return f"1990-01-{step + 1:02d}"


def steps(world: "World", where: "RankLocation", what: str) -> Exit:
    """Twenty steps, after the tenth of which rank 1 does what it was told to."""
    quiet = what in ("quiet", "quiet and long")
    long = what in ("long", "hang", "quiet and long")
    n = 5000 if long else 20  # of 20 ms each, at least: those do not end by themselves while somebody waits
    with Stop(says=world.rank == 0 and not supervised()) as stop, _told(world, quiet) as tell:
        for step in range(n):
            where.step, date = step, day(step)
            if step == 3:
                tell("warning", "It rains.", step, n, date)
            tell("progress", "", step, n, date)
            if world.rank == 1 and step == 3 and what == "hang":  # while it rains: no request to stop can come before
                time.sleep(30.0)
            if world.rank == 1 and step == 10:
                BEFALL.get(what, lambda: None)()
            if not world.agree(not stop.asked):
                break
            time.sleep(0.02)
    for number in range(100 if what == "talk" else 0):
        for word in f"line {number} of rank {world.rank} has ten words as it should\n".partition(" has "):
            sys.stdout.write(word)
            sys.stdout.flush()
    print("the summary" if world.rank == 0 else "a word")
    return Exit.STOPPED if step < n - 1 else Exit.DONE


@contextmanager
def _told(world: "World", quiet: bool) -> Iterator[Callable[..., None]]:
    if world.rank > 0:
        yield lambda *event: None
        return
    with progress(CELLS * world.size, quiet=quiet) as tell:
        yield lambda *event: tell(Event(*event))


def raises() -> None:
    raise ForcingError('Variable "rain" ends\non day 10.')


def raises_in_thread() -> None:
    threading.Thread(target=raises).start()


def divides() -> None:
    print(1 // 0)


def fills_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), resource.RLIM_INFINITY))
    held = []
    while True:
        held.append(bytearray(1 << 19))


BEFALL = {
    "raise": raises,
    "raise in a thread": raises_in_thread,
    "wrong line": divides,
    "exit": lambda: sys.exit(3),
    "memory": fills_memory,
    "interrupt": lambda: signal.raise_signal(signal.SIGINT) or signal.raise_signal(signal.SIGINT),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


if __name__ == "__main__":
    if sys.argv[1] == "start":
        command = [*find_mpiexec(find_library()), "-n", sys.argv[2], sys.executable, "-m", "tests.cli.ranked", *sys.argv[3:]]
        sys.exit(run_job(command))
    try:
        sys.exit(main(sys.argv[1]))
    except Mistake as mistake:  # as `steppe.cli.run_command` does
        sys.stderr.write(f"steppe: {mistake}\n")
        sys.exit(mistake.exit_code)
