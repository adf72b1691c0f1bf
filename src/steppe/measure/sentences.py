"""What series of one operation say together, in words."""

from collections.abc import Sequence

from steppe.measure.document import Measured
from steppe.measure.plan import ALLOCATED, COMPUTES, CREATED, ONE_SIDED, WORK
from steppe.measure.text import US

WAITS = 0.5  # of the owner's work: who waits longer waits for its end


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
