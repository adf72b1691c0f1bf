"""Two documents side by side: series by series, is one slower, and how sure is that.

A ratio is a median of the second over that of the first. Its interval says what the blocks of the two runs tell; what else changes from
run to run, nobody knows but who repeats them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from steppe.measure.document import Document, Measured
from steppe.measure.family import Floats
from steppe.measure.sample import drawn_medians, independent
from steppe.measure.text import US, columns

DRAWS = 2_000
ALIKE = 0.05  # a difference that does not count
Word = Literal["same", "faster", "slower", "cannot tell"]
Key = tuple[str, str, str, int, int, str]


@dataclass(frozen=True)
class Match:
    """One series of both: medians [s], ratio second / first, its 95 % interval, and what that means."""

    first: Measured
    second: Measured
    ratio: float
    low: float
    high: float

    @property
    def word(self) -> Word:
        """Of the second; "same" and the others only when the whole interval says so."""
        if self.low > 1.0 + ALIKE:
            return "slower"
        if self.high < 1.0 - ALIKE:
            return "faster"
        return "same" if self.low >= 1.0 - ALIKE and self.high <= 1.0 + ALIKE else "cannot tell"


@dataclass(frozen=True)
class Compared:
    """All matches; groups: geometric mean of the ratios with its 95 % interval; what only one document has; machines that differ."""

    matches: list[Match]
    groups: dict[str, tuple[float, float, float]]
    only_first: list[Measured]
    only_second: list[Measured]
    remarks: list[str] = field(default_factory=list)

    def slower_than(self, share: float) -> list[Match]:
        """Those that are surely slower, and by more than a share."""
        return [match for match in self.matches if match.word == "slower" and match.ratio > 1.0 + share]


def compare(first: Document, second: Document, seed: int = 1) -> Compared:
    """Series of two documents, matched by operation, variant, ranks, bytes and place."""
    random = np.random.default_rng(seed)
    there = {_key(one): one for one in second.series}
    matches: list[Match] = []
    groups: dict[str, list[Floats]] = {}
    for one in first.series:
        other = there.pop(_key(one), None)
        if other is None:
            continue
        blocks = [independent(series.times()) for series in (one, other)]
        drawn = np.log(drawn_medians(blocks[1], random, DRAWS) / drawn_medians(blocks[0], random, DRAWS))
        ratio = float(np.median(blocks[1]) / np.median(blocks[0]))
        low, high = np.exp(np.quantile(drawn, (0.025, 0.975)))
        matches.append(Match(one, other, ratio, float(low), float(high)))
        groups.setdefault(one.group, []).append(drawn)
    means = {}
    for name, each in groups.items():
        ratios = [match.ratio for match in matches if match.first.group == name]
        low, high = np.exp(np.quantile(np.mean(each, axis=0), (0.025, 0.975)))
        means[name] = (math.exp(float(np.mean(np.log(ratios)))), float(low), float(high))
    known = {_key(match.first) for match in matches}
    left = [one for one in first.series if _key(one) not in known]
    return Compared(matches, means, left, list(there.values()), _remarks(first, second))


def _key(one: Measured) -> Key:
    return one.group, one.operation, one.variant, one.p, one.bytes, one.placement


def _remarks(first: Document, second: Document) -> list[str]:
    said = [f"The {name} run was stopped before its end." for name, one in (("first", first), ("second", second)) if not one.complete]
    for name in sorted(first.machine.keys() & second.machine.keys()):
        if first.machine[name] != second.machine[name]:
            said.append(f"{name}: {first.machine[name]} | {second.machine[name]}")
    return said


def compared_text(found: Compared) -> str:
    """What differs between the machines, a table, the means, what has no match."""
    said = "".join(f"{remark}\n" for remark in found.remarks)
    rows = [["", "ranks", "bytes", "first us", "second us", "ratio", "95 %", ""]]
    for match in found.matches:
        one = match.first
        rows.append(
            [
                _title(one),
                str(one.p),
                str(one.bytes),
                f"{one.statistics.median / US:.4g}",
                f"{match.second.statistics.median / US:.4g}",
                f"{match.ratio:.3f}",
                f"{match.low:.3f}-{match.high:.3f}",
                match.word,
            ]
        )
    if found.matches:
        said += columns(rows) + "\n"
    for name, (ratio, low, high) in found.groups.items():
        said += f"{name}: geometric mean of the ratios {ratio:.3f}, 95 %: {low:.3f} to {high:.3f}\n"
    words = [match.word for match in found.matches]
    counts = ", ".join(f"{words.count(word)} {word}" for word in ("same", "faster", "slower", "cannot tell") if word in words)
    said += f"Second beside first: {counts or 'no series that both have'}.\n"
    for name, series in (("first", found.only_first), ("second", found.only_second)):
        said += f"Only in the {name}: {_listed(series)}.\n" if series else ""
    return said


def _title(one: Measured) -> str:
    return f"{one.operation}, {one.variant}" if one.variant else one.operation


def _listed(series: Sequence[Measured]) -> str:
    titles: dict[str, list[str]] = {}
    for one in series:
        titles.setdefault(_title(one), []).append(str(one.bytes))
    return "; ".join(f"{title} ({', '.join(sizes)} bytes)" for title, sizes in titles.items())
