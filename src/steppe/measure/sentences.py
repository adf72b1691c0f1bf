"""What series of one operation say together, in words."""

import math
from collections.abc import Sequence

from steppe.measure.document import Measured
from steppe.measure.plan import ALLOCATED, COMPUTES, CREATED, NON_BLOCKING, NON_BLOCKING_BEHIND, ONE_SIDED, WORK
from steppe.measure.text import US

WAITS = 0.5  # of the owner's work: who waits longer waits for its end


def overlap_words(series: Sequence[Measured]) -> list[str]:
    """How much of a non-blocking collective operation work as long as it hides, at its largest size."""
    found = {(one.operation, one.variant, one.p, one.bytes): one.statistics for one in series if one.group == "collective"}
    largest: dict[tuple[str, int], int] = {}
    for operation, variant, p, n in found:
        if variant == NON_BLOCKING_BEHIND:
            largest[operation, p] = max(n, largest.get((operation, p), 0))
    said = []
    for (operation, p), n in largest.items():
        left, whole = found[operation, NON_BLOCKING_BEHIND, p, n], found.get((operation, NON_BLOCKING, p, n))
        if whole is not None:
            ratio = left.median / whole.median
            width = math.hypot(left.half_width / whole.median, ratio * whole.half_width / whole.median)
            size = f" of {n} bytes" if n else ""
            said.append(
                f"Overlap: work as long as a non-blocking {operation}{size} on {p} ranks hides {1.0 - ratio:.0%} +- {width:.0%} of it."
            )
    return said


def owner_words(series: Sequence[Measured]) -> list[str]:
    """Whether one-sided operations go on while the owner of the memory computes: how global arrays may be served."""
    found = {(one.operation, one.variant, one.bytes): one.statistics.median for one in series if one.group == "one-sided"}
    said = []
    for memory in (ALLOCATED, CREATED):
        for operation in ONE_SIDED:
            there = {n: time for (name, variant, n), time in found.items() if (name, variant) == (operation, memory + COMPUTES)}
            waits = [n for n, time in there.items() if time > WAITS * WORK]
            what = f"{'An' if operation[0] in 'aeiou' else 'A'} {operation} ({memory})"
            if waits:
                longest = max(there[n] for n in waits) * 1e3
                where = f"where it computes for {WORK * 1e3:.0f} ms"
                said.append(f"{what} waits until the owner calls MPI: {longest:.0f} ms {where}{_of(waits, there)}.")
            free = [f"{n} bytes in {time / US:.3g} us" for n, time in there.items() if n not in waits]
            if free:
                said.append(f"{what} does not wait while the owner computes: a single one of {', '.join(free)}.")
    return said


def _of(some: Sequence[int], every: dict[int, float]) -> str:
    """Sizes, where it is not all."""
    return "" if len(some) == len(every) else f" ({', '.join(map(str, some))} bytes)"
