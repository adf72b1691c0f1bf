"""Operations that are slower than necessary: growth beyond its bound, slower than another library or than a composition of others.

Times at 0 bytes (t0) and per byte (1/r_inf) are compared, with the draws of their fits. The whole interval of a finding lies above `LEAST`.
Findings are ranked by their ratio.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from steppe.array_types import Floats
from steppe.measure.laws.operation import OperationFit

LEAST = 1.1
LARGE = 65_536  # [bytes] at which compositions are compared, besides 0
MIRROR = (  # the first must not take longer than the others together, which move the same bytes through one rank
    ("scatter", ("gather",)),
    ("scatter", ("broadcast",)),
    ("gather", ("allgather",)),
    ("broadcast", ("scatter", "allgather")),
    ("allgather", ("gather", "broadcast")),
    ("reduction", ("allreduce",)),
    ("allreduce", ("reduction", "broadcast")),
    ("barrier", ("allreduce",)),
)
Draws = Callable[[float], Floats]


class WeakPoint(Struct, frozen=True, forbid_unknown_fields=True):
    """One weakness: how many times too slow an operation is, the 95 % interval of that, and a sentence."""

    ratio: float
    low: float
    high: float
    sentence: str


@dataclass(frozen=True)
class Subject:
    """An operation to judge: draws of t0 [s] and of the time per byte [s] as functions of p, None where not known; the measured p."""

    environment: str
    operation: str
    order: str
    ranks: tuple[float, ...]
    t0: Draws | None
    per_byte: Draws | None

    @property
    def title(self) -> str:
        """Environment and operation."""
        return f"{self.environment} {self.operation}".strip()


def of_fit(fit: OperationFit) -> Subject:
    """The subject of a fit with laws in p."""
    t0, rate = fit.pieces[0].t0, fit.pieces[-1].rate
    environment = " ".join(text for column, text in fit.name.items() if column != "operation")
    ranks = fit.points.ranks if t0 is None else t0.described
    return Subject(
        environment,
        fit.operation,
        "" if t0 is None else t0.leading_term,
        tuple(ranks.tolist()),
        None if t0 is None else t0.draws,
        None if rate is None else lambda p: 1.0 / np.maximum(rate.draws(p), 1e-300),
    )


def find_weaknesses(subjects: Sequence[Subject]) -> list[WeakPoint]:
    """All findings, the greatest ratio first."""
    found = [finding for subject in subjects for finding in _growth(subject)]
    for i, one in enumerate(subjects):
        for other in subjects[:i]:
            found += _between(one, other)
    for environment in dict.fromkeys(subject.environment for subject in subjects):
        own = {subject.operation: subject for subject in subjects if subject.environment == environment}
        for operation, parts in MIRROR:
            if operation in own and all(part in own for part in parts):
                found += _composed(own[operation], [own[part] for part in parts])
    return sorted(found, key=lambda finding: finding.ratio, reverse=True)


def _growth(subject: Subject) -> list[WeakPoint]:
    """Latency that grows faster than log p, the bound of a tree for every operation that reaches all ranks."""
    ranks = [p for p in subject.ranks if p >= 2]
    if subject.t0 is None or len(ranks) < 2:
        return []
    low, high = ranks[0], ranks[-1]
    growth, bound = subject.t0(high) / subject.t0(low), np.log(high) / np.log(low)
    as_what = f" (as {subject.order})" if subject.order not in ("", "1") else ""
    fold = float(np.median(growth))
    return judged(
        growth / bound,
        f"{subject.title}: latency grows {fold:.3g}-fold from {low:g} to {high:g} ranks{as_what}, a tree would grow as log p, "
        f"{bound:.3g}-fold: {{ratio}} times too much.",
    )


def _between(one: Subject, other: Subject) -> list[WeakPoint]:
    """The same operation of two libraries, at the number of ranks where they differ most."""
    if one.operation != other.operation or not one.operation:
        return []
    found = []
    for what, first, second in (("latency", one.t0, other.t0), ("time per byte", one.per_byte, other.per_byte)):
        common = sorted(set(one.ranks) & set(other.ranks))
        if first is None or second is None:
            continue
        ratios = {p: first(p) / second(p) for p in common if (first(p) > 0.0).all() and (second(p) > 0.0).all()}
        if not ratios:
            continue
        p = max(ratios, key=lambda p: abs(np.log(np.median(ratios[p]))))
        slow, fast, ratio = (one, other, ratios[p]) if np.median(ratios[p]) > 1.0 else (other, one, 1.0 / ratios[p])
        found += judged(ratio, f"{slow.title}: its {what} at {p:g} ranks is {{ratio}} times that of {fast.title}.")
    return found


def _composed(whole: Subject, parts: list[Subject]) -> list[WeakPoint]:
    """An operation beside others that do its work, at the largest number of ranks that all were measured on."""
    common = sorted(set(whole.ranks).intersection(*(part.ranks for part in parts)))
    if whole.t0 is None or any(part.t0 is None for part in parts) or not common:
        return []
    p, found = common[-1], []
    for n in (0, LARGE):
        of_whole = _time(whole, p, n)
        of_parts = [_time(part, p, n) for part in parts]
        if of_whole is None or any(time is None for time in of_parts):
            continue
        together = sum(time for time in of_parts if time is not None)
        gain = float(np.median(of_whole - together)) * 1e6
        found += judged(
            of_whole / together,
            f"{whole.title} of {n} bytes on {p:g} ranks takes {{ratio}} times {' + '.join(part.operation for part in parts)}, which does "
            f"the same: {gain:.4g} us a call to gain.",
        )
    return found


def _time(subject: Subject, p: float, n: float) -> Floats | None:
    if subject.t0 is None or (n > 0 and subject.per_byte is None):
        return None
    return subject.t0(p) + (n * subject.per_byte(p) if n > 0 and subject.per_byte is not None else 0.0)


def judged(ratio: Floats, sentence: str) -> list[WeakPoint]:
    """A finding if 97.5 % of the draws of a ratio lie above `LEAST`, else none; {ratio} in the sentence stands for ratio and interval."""
    low, middle, high = (float(value) for value in np.quantile(ratio, (0.025, 0.5, 0.975)))
    if not low > LEAST:
        return []
    text = f"{middle:.2f}" if high - low < 0.005 * middle else f"{middle:.2f} ({low:.2f}-{high:.2f})"
    return [WeakPoint(middle, low, high, sentence.format(ratio=text))]
