"""What happens to a run under chaos: its processes are killed, its disk fills up and is freed; and what its processes hold meanwhile."""

import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.small_disk import fill, resize

MARK = "STEPPE_CHAOS"  # a variable of the environment that all processes of a run inherit
EVERY, QUIET = 20.0, 15.0  # [s] between two kills; at the end without any, since a kill also brings back what went wrong otherwise
FULL, ROOM = 4.0, 10.0  # [s] for which the disk is full, and has room
SHARED = Path("/dev/shm")


class Process(NamedTuple):
    """A process of a run. kind: "server", "engine" (rank 0), "rank" (another one), "launcher" or "other"."""

    pid: int
    kind: str


def processes(mark: str) -> list[Process]:
    """All processes that a run has, by their environment."""
    found, wanted = [], f"{MARK}={mark}\0".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environment = (path / "environ").read_bytes()
            if wanted in environment and (words := (path / "cmdline").read_bytes().split(b"\0"))[0]:
                found.append(Process(int(path.name), _kind(words, environment)))
    return found


def _kind(words: list[bytes], environment: bytes) -> str:
    if words[1:3] == [b"-m", b"steppe"]:
        if words[3] == b"serve":
            return "server"
        rank = re.search(rb"(?:^|\0)PMI_RANK=([0-9]+)\0", environment)
        return "rank" if rank and int(rank[1]) else "engine"
    return "launcher" if Path(os.fsdecode(words[0])).name.startswith("mpiexec") else "other"


@dataclass
class Kills:
    """Kills processes of a run by SIGKILL, one after the other, every `EVERY` seconds. counts: how often which."""

    mark: str
    seed: int
    victims: tuple[str, ...]
    counts: Counter[str] = field(default_factory=Counter)

    def play(self, until: float) -> None:
        """Kills until a while before then [s, monotonic]; each kind once before any is killed again."""
        chance, due, until = random.Random(f"{self.seed} kills"), time.monotonic() + EVERY / 4, until - QUIET
        while due < until:
            for victim in chance.sample(self.victims, len(self.victims)):
                if due >= until:
                    break
                time.sleep(max(due - time.monotonic(), 0))
                self._kill(victim, chance, due + EVERY / 2)
                due += EVERY

    def _kill(self, victim: str, chance: random.Random, until: float) -> None:
        while time.monotonic() < until:
            there = [each.pid for each in processes(self.mark) if victim in (each.kind, "all")]
            if there:
                for pid in there if victim == "all" else [chance.choice(there)]:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self.counts[victim] += 1
                return
            time.sleep(0.1)


@dataclass
class Disk:
    """A small disk that is filled and freed. counts: how often it was full."""

    folder: Path
    size: str
    count: int = 0

    def play(self, until: float) -> None:
        """Fills and frees until then [s, monotonic]; it has room at the end."""
        while time.monotonic() + ROOM + FULL < until:
            time.sleep(ROOM)
            fill(self.folder)
            self.count += 1
            time.sleep(FULL)
            resize(self.folder, self.size)


class Sample(NamedTuple):
    """What the processes of a kind hold at a moment: seconds since the beginning, bytes in memory, descriptors but for sockets."""

    time: float
    kind: str
    memory: int
    files: int


@dataclass
class Sampling:
    """Looks every second at what the processes of a run hold. segments: of shared memory that they have had."""

    mark: str
    samples: list[Sample] = field(default_factory=list)
    segments: set[Path] = field(default_factory=set)

    def play(self, until: float) -> None:
        """Looks until then [s, monotonic]."""
        begin = time.monotonic()
        while time.monotonic() < until:
            for each in processes(self.mark):
                if each.kind in ("server", "engine", "rank"):
                    with suppress(OSError, ValueError, IndexError):
                        self.samples.append(sample(each, time.monotonic() - begin))
                        self.segments |= {*segments(each.pid)}
            time.sleep(1.0)

    def medians(self, kind: str, what: str, seconds: float) -> tuple[float, float]:
        """Of what processes of a kind hold: in the second sixth of so many seconds, and in the last sixth. 0 where there was none."""
        spans = ((seconds / 6, seconds / 3), (seconds * 5 / 6, seconds + 1))
        found = [[getattr(each, what) for each in self.samples if each.kind == kind and low <= each.time < high] for low, high in spans]
        first, last = (median(each) if each else 0.0 for each in found)
        return first, last


def sample(process: Process, at: float) -> Sample:
    """What a process holds now."""
    memory = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    open_ = [os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
    return Sample(at, process.kind, memory, sum(not each.startswith("socket:") for each in open_))


def segments(pid: int) -> Iterator[Path]:
    """Segments of shared memory that a process has mapped."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        path = line.split(None, 5)[5:]
        if path and path[0].startswith(f"{SHARED}/"):
            yield Path(path[0].removesuffix(" (deleted)"))


def kill_all(mark: str) -> None:
    """Ends all processes of a run at once."""
    for each in processes(mark):
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)


def vanished(mark: str, seconds: float) -> list[Process]:
    """The processes of a run that are still there after some seconds."""
    end = time.monotonic() + seconds
    while (there := processes(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    return there
