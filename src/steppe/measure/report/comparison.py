"""Two documents side by side: for each series the ratio of times, its interval, and the conclusion.

A ratio is a median of the second over that of the first. Its interval is the wider of two: that of the blocks of both runs, and that of
their passes, between which the machine changes (Student's t, Welch's degrees of freedom). Other programs make times longer, never shorter:
"faster" and "slower" also need least times that differ, and two runs without other programs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from steppe.array_types import Floats
from steppe.errors import some
from steppe.measure.laws.points import US
from steppe.measure.records.document import Document
from steppe.measure.records.measured import Measured, grouped
from steppe.measure.records.sample import drawn_medians, independent, of_passes, pass_medians, student
from steppe.measure.report.facts import OTHERS, facts_of, share_of_others
from steppe.measure.report.tables import table

DRAWS = 2_000
SHORTEST = 1e-9  # [s]: the rest of an operation behind work may be zero
ALIKE = 0.05  # relative: a smaller difference does not count
LISTED = 5  # operations without a match that are named, and sizes of each
Word = Literal["same", "faster", "slower", "cannot tell"]


@dataclass(frozen=True)
class Match:
    """One series of both documents: ratio second / first, and its 95 % interval.

    alone: true if no other programs had the cores in both runs.
    """

    first: Measured
    second: Measured
    ratio: float
    low: float
    high: float
    alone: bool = True

    @property
    def word(self) -> Word:
        """The conclusion on the second series: "same", "faster" or "slower" only if the whole interval shows it."""
        least = self.second.statistics.minimum / max(self.first.statistics.minimum, 1e-12)
        if self.alone and self.low > 1.0 + ALIKE < least:
            return "slower"
        if self.alone and self.high < 1.0 - ALIKE > least:
            return "faster"
        return "same" if self.low >= 1.0 - ALIKE and self.high <= 1.0 + ALIKE else "cannot tell"


@dataclass(frozen=True)
class Compared:
    """All matches; groups: geometric means of the ratios with 95 % intervals; series of one document alone; differences of the machines."""

    matches: list[Match]
    groups: dict[str, tuple[float, float, float]]
    only_first: list[Measured]
    only_second: list[Measured]
    remarks: list[str] = field(default_factory=list)

    def slower_than(self, share: float) -> list[Match]:
        """The matches that are slower by more than a share."""
        return [match for match in self.matches if match.word == "slower" and match.ratio > 1.0 + share]


def compare(first: Document, second: Document, seed: int = 1) -> Compared:
    """Series of two documents, matched by operation, variant, ranks, bytes, place and how they began."""
    random = np.random.default_rng(seed)
    there = {one.name: one for one in second.series}
    matches, alone_in_first = list[Match](), list[Measured]()
    groups: dict[str, list[Floats]] = {}
    alone = not any(share_of_others(document) > OTHERS for document in (first, second))
    for one in first.series:
        other = there.pop(one.name, None)
        if other is None:
            alone_in_first.append(one)
            continue
        blocks = [np.maximum(independent(series.times()), SHORTEST) for series in (one, other)]
        drawn = np.log(drawn_medians(blocks[1], random, DRAWS) / drawn_medians(blocks[0], random, DRAWS))
        ratio = float(np.median(blocks[1]) / np.median(blocks[0]))
        low, high = np.exp(np.quantile(drawn, (0.025, 0.975)))
        half = _between([of_passes(series.times(), series.passes) for series in (one, other)])
        low, high = min(low, ratio * math.exp(-half)), max(high, ratio * math.exp(half))
        matches.append(Match(one, other, ratio, float(low), float(high), alone))
        groups.setdefault(one.group, []).append(drawn)
    means = {}
    for name, each in groups.items():
        ours = [match for match in matches if match.first.group == name]
        low, high = np.exp(np.quantile(np.mean(each, axis=0), (0.025, 0.975)))
        mean = math.exp(float(np.mean(np.log([match.ratio for match in ours]))))
        half = _between([_together([match.first for match in ours]), _together([match.second for match in ours])])
        means[name] = (mean, min(float(low), mean * math.exp(-half)), max(float(high), mean * math.exp(half)))
    return Compared(matches, means, alone_in_first, list(there.values()), _remarks(first, second))


def _between(errors: Sequence[tuple[float, float] | None]) -> float:
    """Half of the 95 % interval of a difference of logarithms, from the errors of both (Welch 1947); 0 where one has a single pass."""
    known = [error for error in errors if error is not None]
    squares = [error**2 for error, _ in known]
    if len(known) < 2 or not sum(squares):
        return 0.0
    freedom = sum(squares) ** 2 / sum(square**2 / each for square, (_, each) in zip(squares, known, strict=True))
    return min(700.0, student(freedom) * math.sqrt(sum(squares)))


def _together(series: Sequence[Measured]) -> tuple[float, float] | None:
    """The error of the mean logarithm of all series: a pass goes over them all, and the state of the machine affects them all."""
    counts = {len(one.passes) for one in series}
    if len(counts) != 1 or min(counts) < 2:
        return None
    means = np.array([pass_medians(one.times(), one.passes) for one in series])
    means = np.exp(np.log(np.maximum(means, np.finfo(float).tiny)).mean(axis=0))
    return of_passes(means, [1] * means.size)


def _remarks(first: Document, second: Document) -> list[str]:
    both = {"first": first, "second": second}
    said = [f"The {name} run was stopped before its end." for name, one in both.items() if not one.complete]
    said += [
        f"Others had the cores for {share_of_others(one):.0%} of the time in the {name} run: nothing is called faster or slower."
        for name, one in both.items()
        if share_of_others(one) > OTHERS
    ]
    one, other = (facts_of({name: fact for name, fact in document.machine.items() if name != "places"}) for document in (first, second))
    return said + [f"{name}: {one[name]} | {other[name]}" for name in sorted(one.keys() & other.keys()) if one[name] != other[name]]


def compared_text(found: Compared) -> str:
    """Differences of the machines, a table, the means, series without a match."""
    said = "".join(f"{remark}\n" for remark in found.remarks)
    columns: dict[str, Callable[[Match], str]] = {
        "": lambda match: _title(match.first),
        "ranks": lambda match: str(match.first.p),
        "bytes": lambda match: str(match.first.bytes),
        "first us": lambda match: f"{match.first.statistics.median / US:.4g}",
        "second us": lambda match: f"{match.second.statistics.median / US:.4g}",
        "ratio": lambda match: f"{match.ratio:.3f}",
        "95 %": lambda match: f"{match.low:.3f}-{match.high:.3f}",
        " ": lambda match: match.word,
    }
    said += table(found.matches, columns) + "\n" if found.matches else ""
    for name, (ratio, low, high) in found.groups.items():
        said += f"{name}: geometric mean of the ratios {ratio:.3f}, 95 %: {low:.3f} to {high:.3f}\n"
    words = [match.word for match in found.matches]
    counts = ", ".join(f"{words.count(word)} {word}" for word in ("same", "faster", "slower", "cannot tell") if word in words)
    said += f"Second beside first: {counts or 'no series that both have'}.\n"
    for name, series in (("first", found.only_first), ("second", found.only_second)):
        said += f"Only in the {name}: {_listed(series)}.\n" if series else ""
    return said


def _title(one: Measured) -> str:
    return f"{one.operation}, {one.kind}" if one.kind else one.operation


def _listed(series: Sequence[Measured]) -> str:
    """At most `LISTED` operations with as many of their sizes each."""
    sizes = {title: list(dict.fromkeys(str(one.bytes) for one in each)) for title, each in grouped(series, _title).items()}
    return some([f"{title} ({some(each, LISTED)} bytes)" for title, each in sizes.items()], LISTED, "; ")
