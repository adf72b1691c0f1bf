"""Measured operations beside others that do the same, size by size; `weakness` compares laws in p.

    non-blocking X                     X                                 the same if it is started and at once waited for
    what work leaves of it             half of it                        equally long work should hide as much
    put, get, accumulate and flush     a message with an empty answer    the same bytes, and an answer of the other rank
    accumulate                         get + put                         its replacement

Each operation reports the size that is most certainly too slow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.measure.laws.points import US
from steppe.measure.laws.weakness import LARGE, WeakPoint, judged
from steppe.measure.messages.plan import ACKNOWLEDGED, ALLOCATED, CREATED, NON_BLOCKING, NON_BLOCKING_BEHIND, ONE_SIDED
from steppe.measure.records.measured import Measured
from steppe.measure.records.sample import drawn_medians, independent, pass_medians

DRAWS = 1_000
SEED = 1
UNSURE = 1.5  # ratio of the ends of an interval: a wider one shows a disturbed series, not the library
HIDDEN = 0.5  # share of an operation that equally long work should hide
Key = tuple[str, str, int, int]  # operation, variant, p, bytes


@dataclass(frozen=True)
class Rival:
    """Series that do the same together, or a share of them; a sentence with {ratio} and {gain} [us a call]."""

    series: tuple[Key, ...]
    sentence: str
    share: float = 1.0


def find_slower(series: Sequence[Measured]) -> list[WeakPoint]:
    """All series that are slower than a rival, the greatest ratio first; rivals begin after a barrier, as the series must."""
    random = np.random.default_rng(SEED)
    begun = [one for one in series if one.start == "barrier"]
    most = max((len(one.passes) for one in begun), default=0)
    chosen = random.integers(max(1, most), size=(DRAWS, most))
    times = {(one.operation, one.variant, one.p, one.bytes): _drawn(one, random, chosen) for one in begun}
    found: dict[tuple[str, str, int], WeakPoint] = {}
    for key, slow in times.items():
        for number, rival in enumerate(_rivals(*key)):
            if not all(other in times for other in rival.series):
                continue
            fast = rival.share * np.sum([times[other] for other in rival.series], axis=0)
            gain = float(np.median(slow - fast)) / US
            sentence = rival.sentence.replace("{gain}", f"{gain:.2g}" if gain < 100.0 else f"{gain:.0f}")
            for one in judged(slow / fast, sentence):
                name = key[0], key[1], number
                if one.high < UNSURE * one.low and (name not in found or one.low > found[name].low):
                    found[name] = one
    return sorted(found.values(), key=lambda one: one.ratio, reverse=True)


def _drawn(one: Measured, random: np.random.Generator, chosen: Integers) -> Floats:
    """Medians drawn anew (draws,) [s]: the same passes for all series, as the state of the machine in a pass affects all of them."""
    if len(one.passes) == chosen.shape[1] > 1:
        return np.asarray(np.median(pass_medians(one.times(), one.passes)[chosen], axis=1))
    return drawn_medians(independent(one.times()), random, DRAWS)


def _rivals(operation: str, variant: str, p: int, n: int) -> list[Rival]:
    size = f"of {n} bytes on {p} ranks" if n else f"on {p} ranks"
    gain = "{gain} us a call to gain."
    if variant == NON_BLOCKING:
        same = "started and waited for, takes {ratio} times the blocking one: " + gain
        return [Rival(((operation, "", p, n),), f"Non-blocking {operation} {size}, {same}")]
    if variant == NON_BLOCKING_BEHIND and n >= LARGE:
        left = "work as long as it leaves {ratio} times the half of it that should be left at most."
        return [Rival(((operation, NON_BLOCKING, p, n),), f"Non-blocking {operation} {size}: {left}", HIDDEN)]
    if operation in ONE_SIDED and variant in (ALLOCATED, CREATED):
        what = f"{operation.capitalize()} {size}, {variant}, with its flush takes {{ratio}} times"
        found = [Rival((("point-to-point", ACKNOWLEDGED, p, n),), f"{what} a message with an empty answer: {gain}")]
        if operation == "accumulate":
            both = ("get", variant, p, n), ("put", variant, p, n)
            found.append(Rival(both, f"{what} a get and a put, which do the same if no other rank writes: {gain}"))
        return found
    return []
