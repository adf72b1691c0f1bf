"""The places of ranks: host, cores, cache and memory, and the distance between two ranks."""

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from steppe.comm import site_name
from steppe.errors import Mistake
from steppe.measure.timing.machine import read_text

if TYPE_CHECKING:
    from steppe.comm.raw import Raw

CPUS = Path("/sys/devices/system/cpu")
OTHER_SITE = "other site"
DISTANCES = ("same cache", "same memory", "same node", "other node", OTHER_SITE)  # the nearest first
SHOWN = 16  # ranks with a line of their own


class RankPlace(Struct, frozen=True):
    """The place of a rank: its host, the cores that it may use, the core that it was on; cache and memory that these cores share, or None.

    cache: the number of the last-level cache; memory: that of the node of memory (NUMA). site: its name, "" without the bridge.
    """

    host: str
    cores: tuple[int, ...]
    core: int
    cache: int | None
    memory: int | None
    site: str = ""

    @property
    def binding(self) -> str:
        """Its host and cores."""
        return f"{self.host}:{','.join(map(str, self.cores))}"


def here(cpus: Path = CPUS) -> RankPlace:
    """The place of this process; under the bridge MPI has begun."""
    cores = tuple(sorted(os.sched_getaffinity(0)))
    shared = _common(cores, cpus, last_cache), _common(cores, cpus, memory_node)
    words = read_text(Path("/proc/thread-self/stat")).rpartition(")")[2].split()  # the second field ends with ")"
    core = int(words[36]) if len(words) > 36 else -1  # field 39; the system may not name it
    return RankPlace(socket.gethostname(), cores, core, *shared, site_name())


def places_of(raw: "Raw") -> list[RankPlace]:
    """The places of all ranks, on every rank."""
    return [msgspec.json.decode(text, type=RankPlace) for text in raw.texts(msgspec.json.encode(here()).decode())]


def last_cache(core: int, cpus: Path = CPUS) -> int | None:
    """The number of the last-level cache of a core; where caches have none, the first core that shares it."""
    found = []
    for index in (cpus / f"cpu{core}" / "cache").glob("index*"):
        level, number, shared = (read_text(index / name) for name in ("level", "id", "shared_cpu_list"))
        number = number or shared.replace("-", ",").partition(",")[0]
        if level.isdigit() and number.isdigit():
            found.append((int(level), int(number)))
    return max(found)[1] if found else None


def memory_node(core: int, cpus: Path = CPUS) -> int | None:
    """The number of the node of memory of a core."""
    names = (entry.name.removeprefix("node") for entry in (cpus / f"cpu{core}").glob("node*"))
    return next((int(name) for name in names if name.isdigit()), None)


def distance(one: RankPlace, other: RankPlace) -> str:
    """The distance between two places, one of `DISTANCES`; a cache or memory of unknown number is not shared."""
    if one.site != other.site:
        return OTHER_SITE
    if one.host != other.host:
        return "other node"
    if one.cache is not None and one.cache == other.cache:
        return "same cache"
    return "same memory" if one.memory is not None and one.memory == other.memory else "same node"


def pairs(places: Sequence[RankPlace]) -> list[tuple[str, tuple[int, int]]]:
    """Ranks 0 and 1 with their distance, then the first pair of ranks of each other distance, the nearest first."""
    found: dict[str, tuple[int, int]] = {}
    firsts: dict[tuple[str, str, int | None, int | None], int] = {}
    for rank, place in enumerate(places):
        firsts.setdefault((place.site, place.host, place.cache, place.memory), rank)
    for a in firsts.values():  # a rank at the place of an earlier rank is as far from all others
        for b in range(a + 1, len(places)):
            found.setdefault(distance(places[a], places[b]), (a, b))
    first = distance(places[0], places[1])
    return [(first, found.pop(first)), *((name, found[name]) for name in DISTANCES if name in found)]


def crowded(places: Sequence[RankPlace], oversubscribe: bool, library: str) -> list[str]:
    """Warnings about ranks that share cores.

    Raises
    ------
    Mistake
        There are more ranks on a host than cores, without `oversubscribe`.
    """
    for host in dict.fromkeys(place.host for place in places):
        each = [place for place in places if place.host == host]
        count = len({core for place in each for core in place.cores})
        if len(each) > count:
            text = f"{len(each)} ranks on {count} core{'s' if count > 1 else ''} of {host} would measure the scheduler"
            if not oversubscribe:
                wait = "" if library == "Open MPI" else f", and {library} does not yield: an operation may take whole time slices"
                raise Mistake(f"{text}{wait}. Start as many ranks as there are cores, or give --oversubscribe.")
            return [f"{text}: no figure says what the machine can do."]
    return []


def places_text(places: Sequence[RankPlace]) -> str:
    """A line for each rank, at most for the first `SHOWN`."""
    said = ""
    for rank, place in enumerate(places[:SHOWN]):
        bound = f"core {place.cores[0]}" if len(place.cores) == 1 else f"free on {len(place.cores)} cores, at first on {place.core}"
        shared = [f"{name} {number}" for name, number in (("last cache", place.cache), ("memory", place.memory)) if number is not None]
        site = [f"site {place.site}"] if place.site else []
        said += f"rank {rank}: {', '.join([*site, place.host, bound, *shared])}\n"
    left = places[SHOWN:]
    hosts = len({place.host for place in left})
    return said + (f"{len(left)} more ranks on {hosts} host{'s' if hosts > 1 else ''}\n" if left else "")


def _common(cores: Sequence[int], cpus: Path, number: Callable[[int, Path], int | None]) -> int | None:
    found = {number(core, cpus) for core in cores}
    return found.pop() if len(found) == 1 else None
