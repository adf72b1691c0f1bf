"""Measured figures beside their targets, and what becomes of them: a table for people, JSON for programs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


class MissingPeer(Exception):
    """Something to measure against is not there or does not run. The benchmark fails."""


@dataclass(frozen=True)
class Figure:
    """One measured number. at_least, at_most: its target; with neither it is printed for context. samples: series -> each round's value."""

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""
    samples: dict[str, list[float]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the target is met; a figure without one always passes."""
        return (self.at_least is None or self.value >= self.at_least) and (self.at_most is None or self.value <= self.at_most)

    @property
    def target(self) -> str:
        """The target in words."""
        limits = [(">=", self.at_least), ("<=", self.at_most)]
        return " and ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)

    @property
    def verdict(self) -> str:
        """One word: pass, FAIL, or nothing without a target."""
        return "" if not self.target else "pass" if self.passed else "FAIL"

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "passed": self.passed}


def table(figures: Sequence[Figure]) -> str:
    """The figures as lines of text, one each."""
    rows = [(f.name, f"{f.value:.4g} {f.unit}".rstrip(), f.target, f.verdict, f.note) for f in figures]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return "\n".join("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows)
