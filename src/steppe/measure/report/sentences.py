"""Sentences that compare series of one operation."""

from collections.abc import Sequence

from steppe.measure.laws.points import US
from steppe.measure.messages import plan
from steppe.measure.messages.price import price_words
from steppe.measure.records.measured import Measured
from steppe.measure.records.sample import Statistics

SAME = 0.05  # a ratio that is nearer to 1 is not reported
WAITS = 0.5  # of the owner's work: a longer operation waits for its end


def comparisons(series: Sequence[Measured]) -> list[str]:
    """Sentences that compare variants, with 95 % intervals, as the gain of huge pages and the share of an exchange that work hides."""
    found = {(one.variant, one.bytes, one.placement): one.statistics for one in series if one.group == "point-to-point"}
    huge, overlap = list[str](), list[str]()
    for (variant, n, placement), less in found.items():
        more = found.get(({plan.HUGE: plan.UNDER_WAY, plan.BEHIND: plan.EXCHANGE}.get(variant, ""), n, placement))
        if more is not None and variant == plan.BEHIND:
            overlap += _hidden(f"an exchange of {n} bytes", less, more)
        elif more is not None:
            ratio, width = less.beside(more)
            if abs(1.0 - ratio) > width + SAME:
                huge.append(f"Huge pages: {n} bytes, {plan.WINDOW} under way, take {ratio:.2f} +- {width:.2f} of the time on small ones.")
    return huge + overlap + overlap_words(series) + first_words(series) + owner_words(series) + object_words(series) + price_words(series)


def _hidden(what: str, left: Statistics, whole: Statistics) -> list[str]:
    """The share of an operation that equally long work hides, of what work leaves of it; none if any share is possible."""
    ratio, width = left.beside(whole)
    if width > 1.0:
        return []
    longer = f"nothing of it, which then takes {ratio:.3g} times as long"
    return [f"Overlap: work as long as {what} hides {longer if ratio > 1.0 else f'{1.0 - ratio:.0%} +- {width:.0%} of it'}."]


def first_words(series: Sequence[Measured]) -> list[str]:
    """The ratio of first to later messages, on fresh and touched buffers, for each size."""
    found = {(one.variant, one.bytes): one.statistics.median for one in series if one.group == "point-to-point"}
    pairs = [
        (f"First message / later ones, {plan.FRESH}", f"{plan.FIRST}, {plan.FRESH}", f"{plan.LATER}, {plan.FRESH}"),
        (f"First message / later ones, {plan.TOUCHED}", f"{plan.FIRST}, {plan.TOUCHED}", f"{plan.LATER}, {plan.TOUCHED}"),
        (f"First message, {plan.FRESH} / {plan.TOUCHED}", f"{plan.FIRST}, {plan.FRESH}", f"{plan.FIRST}, {plan.TOUCHED}"),
    ]
    said = []
    for title, first, later in pairs:
        sizes = sorted(n for variant, n in found if variant == first and (later, n) in found)
        ratios = ", ".join(f"{found[first, n] / found[later, n]:.3g} at {n}" for n in sizes)
        said += [f"{title}: {ratios} bytes."] if sizes else []
    return said


def object_words(series: Sequence[Measured]) -> list[str]:
    """The cost of pickling beside buffers, at the smallest and the largest size."""
    found = {(one.operation, one.variant, one.bytes): one.statistics.median for one in series if one.group == "Python objects"}
    said = []
    for name in (plan.ARRAY, plan.DICT):
        sizes = sorted(n for operation, variant, n in found if (operation, variant) == (name, plan.BUFFERS))
        for n in dict.fromkeys([*sizes[:1], *sizes[-1:]]):
            packs = f"{plan.PACKING}, {plan.PICKLED}", f"{plan.UNPACKING}, {plan.PICKLED}"
            times = [found.get((name, variant, n)) for variant in (plan.BUFFERS, plan.PICKLED, plan.OUT_OF_BAND, *packs)]
            if None not in times:
                plain, pickled, apart, pack, unpack = (time or 0.0 for time in times)
                shares = f"packing {pack / pickled:.0%} and unpacking {unpack / pickled:.0%}"
                said.append(
                    f"{name} of {n} bytes, by mpi4py: {plain / US:.4g} us as buffers; pickled {pickled / plain:.3g} times as long, "
                    f"of which {shares}; out of band {apart / plain:.3g} times."
                )
    return said


def overlap_words(series: Sequence[Measured]) -> list[str]:
    """The share of a non-blocking collective operation that equally long work hides, at its largest size."""
    found = {(one.operation, one.variant, one.p, one.bytes): one.statistics for one in series if one.group == "collective"}
    largest: dict[tuple[str, int], int] = {}
    said = []
    for operation, variant, p, n in found:
        if variant == plan.NON_BLOCKING_BEHIND:
            largest[operation, p] = max(n, largest.get((operation, p), 0))
    for (operation, p), n in largest.items():
        left, whole = found[operation, plan.NON_BLOCKING_BEHIND, p, n], found.get((operation, plan.NON_BLOCKING, p, n))
        if whole is not None:
            said += _hidden(f"a non-blocking {operation}{f' of {n} bytes' if n else ''} on {p} ranks", left, whole)
    return said


def owner_words(series: Sequence[Measured]) -> list[str]:
    """Whether one-sided operations proceed while the owner of the memory computes, which matters to global arrays."""
    found = {(one.operation, one.variant, one.bytes): one.statistics.median for one in series if one.group == "one-sided"}
    said = []
    for memory in (plan.ALLOCATED, plan.CREATED):
        for operation in plan.ONE_SIDED:
            there = {n: time for (name, variant, n), time in found.items() if (name, variant) == (operation, memory + plan.COMPUTES)}
            waits = [n for n, time in there.items() if time > WAITS * plan.WORK]
            what = f"{'An' if operation[0] in 'aeiou' else 'A'} {operation} ({memory})"
            if waits:
                longest = max(there[n] for n in waits) * 1e3
                where = f"where it computes for {plan.WORK * 1e3:.0f} ms"
                said.append(f"{what} waits until the owner calls MPI: {longest:.0f} ms {where}{_of(waits, there)}.")
            free = [f"{n} bytes in {time / US:.4g} us" for n, time in there.items() if n not in waits]
            if free:
                said.append(f"{what} does not wait while the owner computes: a single one of {', '.join(free)}.")
    return said


def _of(some: Sequence[int], every: dict[int, float]) -> str:
    """Sizes in parentheses; empty if all are meant."""
    return "" if len(some) == len(every) else f" ({', '.join(map(str, some))} bytes)"
