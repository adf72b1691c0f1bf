"""The series that are measured between ranks: operations, variants, sizes, numbers of ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

from steppe.measure.records.measured import SeriesName, Start
from steppe.measure.timing.rank_places import OTHER_SITE

WINDOW = 64  # messages under way, as in the OSU benchmarks
KIB, MIB = 1 << 10, 1 << 20
COLLECTIVES = {  # operation: function of MPI
    "broadcast": "Bcast",
    "scatter": "Scatter",
    "gather": "Gather",
    "allgather": "Allgather",
    "total exchange": "Alltoall",
    "reduction": "Reduce",
    "allreduce": "Allreduce",
    "reduce-scatter": "Reduce_scatter_block",
    "scan": "Scan",
    "barrier": "Barrier",
}
PING_PONG, ACKNOWLEDGED = "ping-pong", "acknowledged"
UNDER_WAY, EACH_WAY, HUGE = f"{WINDOW} under way", f"{WINDOW} each way", f"{WINDOW} under way, huge pages"
EXCHANGE, BEHIND = "exchange", "exchange behind work"
NON_BLOCKING, NON_BLOCKING_BEHIND = "non-blocking", "non-blocking, behind work"  # collectives: started and waited for
ONE_SIDED = ("put", "get", "accumulate")
ALLOCATED, CREATED = "allocated by MPI", "memory of the process"  # memory of the owner, variants of one-sided operations
COMPUTES = ", owner computes"
WORK = 0.1  # [s] for which the owner computes
FIRST, LATER = "first message", "later message"
FRESH, TOUCHED = "fresh buffers", "touched buffers"
ARRAY, DICT = "Python array", "Python dict of 8 arrays"
PARTS = 8  # of a dict
BUFFERS, PICKLED, OUT_OF_BAND = "buffers", "pickled", "pickled out of band"
PACKING, UNPACKING = "packing", "unpacking"
EACH = 16  # ranks: every number up to this one is measured
Pairs = Sequence[tuple[str, tuple[int, int]]]
LEAST_HUGE = 64 * KIB  # [bytes]: shorter messages are not measured on huge pages


@dataclass(frozen=True)
class Task:
    """One series: `bytes` of an operation on the first p ranks, or between two; `placement`: the distance of the two."""

    group: str
    operation: str
    variant: str
    p: int
    bytes: int
    pair: tuple[int, int] = (0, 1)
    placement: str = ""

    def name(self, start: Start = "barrier") -> SeriesName:
        """The name of its series."""
        return SeriesName(self.group, self.operation, self.variant, self.placement, start, self.p, self.bytes)

    @property
    def ranks(self) -> Sequence[int]:
        """The ranks that take part."""
        return self.pair if self.group == "point-to-point" else range(self.p)


def plan(ranks: int, quick: bool, huge: bool, pairs: Pairs = (("", (0, 1)),)) -> list[Task]:
    """The tasks on so many ranks. huge: true if there are huge pages; pairs: distances with pairs of ranks.

    The first pair does all tasks of two ranks, the others round trips and messages under way. One-sided operations are not served between
    sites: they are left out if the first pair is of two.
    """
    sizes = [0, 8, KIB, 64 * KIB, MIB] if quick else [0, *(1 << i for i in range(25))]
    tasks = [_between(*pairs[0], variant, n) for variant in (PING_PONG, ACKNOWLEDGED) for n in sizes]
    for n in sizes[1:]:
        variants = [UNDER_WAY, *([HUGE] if huge and n >= LEAST_HUGE else []), EACH_WAY, EXCHANGE, BEHIND]
        tasks += [_between(*pairs[0], variant, n) for variant in variants]
    for pair in pairs[1:]:
        tasks += [_between(*pair, PING_PONG, n) for n in sizes] + [_between(*pair, UNDER_WAY, n) for n in sizes[1:]]
    some = sorted({2, ranks}) if quick else numbers_of(ranks)
    lengths = [8, KIB, 64 * KIB] if quick else [1 << i for i in range(3, 21)]
    tasks += _first(quick, *pairs[0]) + (_one_sided(quick) if pairs[0][0] != OTHER_SITE else []) + _objects(quick)
    for p in some:
        kinds = ["", NON_BLOCKING, NON_BLOCKING_BEHIND]  # of one size one after the other, as they are compared
        several = {8: 2, KIB: 1} if quick else dict.fromkeys(lengths[1::2], 1)
        for name in COLLECTIVES:
            for n in lengths if name != "barrier" else [0]:
                tasks += [Task("collective", name, kind, p, n) for kind in kinds[: several.get(n, 3)]]
    return tasks


def numbers_of(ranks: int) -> list[int]:
    """2, 3, 4 ... 16, then 24, 32, 48, 64 ... and all ranks, which suffice for a law in p."""
    few = range(2, min(ranks, EACH) + 1)
    more = (p << i for i in range(ranks.bit_length()) for p in (EACH + EACH // 2, 2 * EACH))
    return sorted({*few, *(p for p in more if p < ranks), ranks})


def _first(quick: bool, placement: str, pair: tuple[int, int]) -> list[Task]:
    sizes = [8, 64 * KIB, MIB] if quick else [8, *(1 << i for i in range(10, 25))]
    variants = [f"{which}, {buffers}" for buffers in (FRESH, TOUCHED) for which in (FIRST, LATER)]
    return [_between(placement, pair, variant, n) for n in sizes for variant in variants]


def _objects(quick: bool) -> list[Task]:
    sizes = [KIB, MIB] if quick else [1 << i for i in range(6, 25, 2)]
    packs = [f"{work}, {way}" for work in (PACKING, UNPACKING) for way in (PICKLED, OUT_OF_BAND)]
    variants = [BUFFERS, PICKLED, OUT_OF_BAND, *packs]
    return [Task("Python objects", name, variant, 2, n) for name in (ARRAY, DICT) for n in sizes for variant in variants]


def _one_sided(quick: bool) -> list[Task]:
    sizes = [8, 64 * KIB, MIB] if quick else [1 << i for i in range(25)]
    some = [64 * KIB] if quick else [8, KIB, 64 * KIB, MIB]
    found = []
    for memory in (ALLOCATED, CREATED):
        for name in ONE_SIDED:
            least = 8 if name == "accumulate" else 1  # [bytes]: numbers are summed
            found += [Task("one-sided", name, memory, 2, n) for n in sizes if n >= least]
            found += [Task("one-sided", name, memory + COMPUTES, 2, n) for n in some]
    return found


def is_fitted(variant: str) -> bool:
    """True if the times of a variant can follow a law in bytes and ranks; those of waits behind work cannot."""
    return not variant.endswith(COMPUTES) and variant != NON_BLOCKING_BEHIND


def is_dear(task: Task) -> bool:
    """True if a block takes so long that one pass of few blocks must do."""
    return task.variant.endswith(COMPUTES)


def _between(placement: str, pair: tuple[int, int], variant: str, n: int) -> Task:
    return Task("point-to-point", "point-to-point", variant, 2, n, pair, placement)


def largest_of(tasks: Sequence[Task]) -> int:
    """Bytes of a buffer that is large enough for all tasks."""
    return max(task.bytes * (task.p if task.group == "collective" else 1) for task in tasks)
