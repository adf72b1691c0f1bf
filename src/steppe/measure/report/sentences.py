"""What series of one operation say together, in words."""

import math
from collections.abc import Sequence

from steppe.measure.laws.points import US
from steppe.measure.messages.plan import (
    ALLOCATED,
    ARRAY,
    BUFFERS,
    COMPUTES,
    CREATED,
    DICT,
    FIRST,
    FRESH,
    LATER,
    NON_BLOCKING,
    NON_BLOCKING_BEHIND,
    ONE_SIDED,
    OUT_OF_BAND,
    PACKING,
    PICKLED,
    TOUCHED,
    UNPACKING,
    WORK,
)
from steppe.measure.records.measured import Measured

WAITS = 0.5  # of the owner's work: an operation that waits longer waits for its end


def first_words(series: Sequence[Measured]) -> list[str]:
    """How many times as long as a later message the first one takes, on fresh buffers and touched ones, for each size."""
    found = {(one.variant, one.bytes): one.statistics.median for one in series if one.group == "point-to-point"}
    pairs = [
        (f"First message / later ones, {FRESH}", f"{FIRST}, {FRESH}", f"{LATER}, {FRESH}"),
        (f"First message / later ones, {TOUCHED}", f"{FIRST}, {TOUCHED}", f"{LATER}, {TOUCHED}"),
        (f"First message, {FRESH} / {TOUCHED}", f"{FIRST}, {FRESH}", f"{FIRST}, {TOUCHED}"),
    ]
    said = []
    for title, first, later in pairs:
        sizes = sorted(n for variant, n in found if variant == first and (later, n) in found)
        ratios = ", ".join(f"{found[first, n] / found[later, n]:.3g} at {n}" for n in sizes)
        said += [f"{title}: {ratios} bytes."] if sizes else []
    return said


def object_words(series: Sequence[Measured]) -> list[str]:
    """What pickling costs beside buffers, at the smallest and the largest size."""
    found = {(one.operation, one.variant, one.bytes): one.statistics.median for one in series if one.group == "Python objects"}
    said = []
    for name in (ARRAY, DICT):
        sizes = sorted(n for operation, variant, n in found if (operation, variant) == (name, BUFFERS))
        for n in dict.fromkeys([*sizes[:1], *sizes[-1:]]):
            times = [
                found.get((name, variant, n))
                for variant in (BUFFERS, PICKLED, OUT_OF_BAND, f"{PACKING}, {PICKLED}", f"{UNPACKING}, {PICKLED}")
            ]
            if None not in times:
                plain, pickled, apart, pack, unpack = (time or 0.0 for time in times)
                shares = f"packing {pack / pickled:.0%} and unpacking {unpack / pickled:.0%}"
                said.append(
                    f"{name} of {n} bytes, by mpi4py: {plain / US:.4g} us as buffers; pickled {pickled / plain:.3g} times as long, "
                    f"of which {shares}; out of band {apart / plain:.3g} times."
                )
    return said


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
            free = [f"{n} bytes in {time / US:.4g} us" for n, time in there.items() if n not in waits]
            if free:
                said.append(f"{what} does not wait while the owner computes: a single one of {', '.join(free)}.")
    return said


def _of(some: Sequence[int], every: dict[int, float]) -> str:
    """Sizes, where it is not all."""
    return "" if len(some) == len(every) else f" ({', '.join(map(str, some))} bytes)"
