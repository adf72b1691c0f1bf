"""Messages measured by the methods of two papers, so that one table can compare machines of then and now.

minho    Santos et al. (1997): 5 operations that do not count, then 20, each after a barrier; the mean of each rank less the cost of the
         clock, the longest of the ranks, the least of 5 such runs. 2^2 to 2^16 bytes on 2, 4, 8, 12 and 16 ranks, if there are so many.
advise   ADVISE (1995): n bytes there, none back; the first message apart, then the mean of 1,000; memory that was never written
         (fresh, as malloc gives it) and memory that was (touched, as calloc did). 0, 100, 1,000 ... 10^6 bytes; packing apart.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from msgspec.structs import replace

from steppe.array_types import Floats
from steppe.comm.raw import ADDRESS, Raw, page_buffer, pointers
from steppe.measure.laws.operation import OperationFit, fit
from steppe.measure.laws.points import medians
from steppe.measure.messages.loops import of_all, pack
from steppe.measure.messages.messages import Messages, new_messages
from steppe.measure.messages.plan import PING_PONG, Task
from steppe.measure.records.measured import Measured, SeriesName, grouped

Recipe = Literal["minho", "advise"]
Job = Callable[[], list[Measured]]
RANKS, SIZES = (2, 4, 8, 12, 16), [1 << i for i in range(2, 17)]
WARM_UP, REPEATS, RUNS = 5, 20, 5
OF_NUMBERS = ("reduction", "scan")  # of one number in single precision
OF_BYTES = ("broadcast", "gather", "scatter", "allgather")
LENGTHS, MESSAGES = [0, *(10**i for i in range(2, 7))], 1_000
FRESH, TOUCHED, FIRST, LATER = "fresh", "touched", "first", "later"
PACKED, CONVERTED = "bytes", "numbers, external32"
SPARE = 64  # [bytes] beyond the packed ones, which a library may need
Int = np.int64


def largest(recipe: Recipe, ranks: int) -> int:
    """Bytes of a buffer that is large enough for all operations of a recipe."""
    return SIZES[-1] * ranks if recipe == "minho" else LENGTHS[-1]


def jobs(recipe: Recipe, session: Messages, ranks: int, placement: str) -> list[Job]:
    """The tasks of a recipe, for all ranks in this order; each returns its series on rank 0.

    placement: the distance of ranks 0 and 1.
    """
    if recipe == "advise":
        return [partial(_advise, session, placement, n) for n in LENGTHS]
    tasks = [Task("point-to-point", "point-to-point", PING_PONG, 2, n, placement=placement) for n in SIZES]
    for p in (p for p in RANKS if p <= ranks):
        tasks += [Task("collective", name, "", p, n) for name in OF_BYTES for n in SIZES]
        tasks += [Task("collective", name, "", p, 4) for name in OF_NUMBERS] + [Task("collective", "barrier", "", p, 0)]
    return [partial(_minho, session, task) for task in tasks]


def _minho(session: Messages, task: Task) -> list[Measured]:
    part = session.part(task)
    if part is None:
        return []
    runs = []
    for _ in range(RUNS):
        session.block_times(task, part, 1, WARM_UP)
        each = session.block_times(task, part, 1, REPEATS)
        runs.append(float(each.max() if task.group == "collective" else each[0, 0]))
    return [session.series(replace(task.name(), variant="minho"), np.array(runs), REPEATS)]


def _advise(session: Messages, placement: str, n: int) -> list[Measured]:
    part = session.part(Task("point-to-point", "point-to-point", PING_PONG, 2, n))
    if part is None:
        return []
    found = []
    for memory in (FRESH, TOUCHED):
        made = (new_messages(part, n, memory == TOUCHED, 1 + MESSAGES // RUNS, session.ticks.cost) for _ in range(RUNS))
        runs = np.array([of_all(part, *each)[0] for each in made])
        for when, times in ((FIRST, runs[:, 0]), (LATER, runs[:, 1:].reshape(-1))):
            title = SeriesName("point-to-point", "point-to-point", f"advise, {memory}, {when}", placement, p=2, bytes=n)
            found.append(session.series(title, times, 1))
    if n:
        for name in (PACKED, CONVERTED):
            packed = _packed(part, name, n, session.ticks.cost)
            if packed is not None:
                found.append(session.series(SeriesName("packing", "pack", f"advise, {name}", bytes=n), packed, REPEATS))
    return found


def _packed(part: Raw, name: str, n: int, cost: float) -> Floats | None:
    """Times [s] in which n bytes are packed, unchanged or as external32; None where the library cannot."""
    source, target = page_buffer(n), page_buffer(n + SPARE)
    position, form = np.zeros(1, Int), np.frombuffer(b"external32\0", np.uint8)
    room, at = Int(n + SPARE), Int(position.ctypes.data)
    from_, to, named = pointers([source, target, form])
    arguments: tuple[int | np.int64, ...]
    if name == PACKED:
        function, arguments = "Pack", (from_, n, part.byte, to, room, at, part.comm)
    else:
        function, arguments = "Pack_external", (named, from_, n // 4, part.single, to, room, at)
    times = np.empty(MESSAGES // REPEATS)
    bad = pack(part.addresses, part.addresses[ADDRESS[function]], tuple(Int(one) for one in arguments), position, times, REPEATS, cost)
    each = part.together(np.append(times, bad))
    return None if each[:, -1].any() else np.asarray(each[0, :-1])


def fit_recipe(recipe: Recipe, series: Sequence[Measured]) -> list[OperationFit]:
    """The fits of the series of a recipe, by its one time for each size: the least, or the mean."""
    groups = grouped((one for one in series if not one.variant.endswith(FIRST)), lambda one: (one.operation, one.variant))
    found = []
    for (operation, variant), group in groups.items():
        t = np.array([one.statistics.minimum if recipe == "minho" else float(one.times().mean()) for one in group])
        points = medians(np.array([one.bytes for one in group], float), np.array([one.p for one in group], float), t)
        if points.sizes.size > 1 or points.ranks.size > 2:
            found.append(fit(points, {"operation": operation, "variant": variant}, "ack" if variant.endswith(LATER) else "oneway"))
    return found
