"""Operations that are slower than necessary: growth beyond its bound, slower than another library or than a composition of others.

Times are those of the laws, with the draws of their fits. The whole interval of a finding lies above `LEAST`.
Findings are ranked by their ratio.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from steppe.array_types import Floats
from steppe.measure.laws.operation import AGGREGATE, OperationFit

LEAST = 1.1
LARGE = 65_536  # [bytes] at which compositions are compared, besides 0
MIRROR = (  # the first must not take longer than the others together, of n p^k bytes each, which do its work
    ("scatter", (("gather", 0),)),
    ("scatter", (("broadcast", 1),)),
    ("gather", (("allgather", 0),)),
    ("broadcast", (("scatter", -1), ("allgather", -1))),
    ("allgather", (("gather", 0), ("broadcast", 1))),
    ("reduction", (("allreduce", 0),)),
    ("allreduce", (("reduction", 0), ("broadcast", 0))),
    ("barrier", (("allreduce", 0),)),
)
OPERATIONS = (*AGGREGATE, "allreduce", "barrier")  # that a table may name, to have them compared


class WeakPoint(Struct, frozen=True, forbid_unknown_fields=True):
    """One weakness: how many times too slow an operation is, the 95 % interval of that, and a sentence."""

    ratio: float
    low: float
    high: float
    sentence: str


def find_weaknesses(fits: Sequence[OperationFit]) -> list[WeakPoint]:
    """All findings about operations whose latency has a law in p, the greatest ratio first."""
    known = [fit for fit in fits if fit.operation and fit.pieces[0].t0 is not None]
    found = [finding for fit in known for finding in _growth(fit)]
    for i, one in enumerate(known):
        for other in known[:i]:
            found += _between(one, other)
    for environment in dict.fromkeys(fit.environment for fit in known):
        own = {fit.operation: fit for fit in known if fit.environment == environment}
        for operation, parts in MIRROR:
            if operation in own and all(part in own for part, _ in parts):
                found += _composed(own[operation], [(own[part], power) for part, power in parts])
    return sorted(found, key=lambda finding: finding.ratio, reverse=True)


def _title(fit: OperationFit) -> str:
    return f"{fit.environment} {fit.operation}".strip()


def _ranks(fit: OperationFit) -> Floats:
    """The measured p that the law of the latency describes."""
    law = fit.pieces[0].t0
    return fit.points.ranks if law is None else law.described


def _time(fit: OperationFit, p: float, n: float) -> Floats | None:
    """Draws of the time of n bytes on p ranks (draws,) [s]; None where its laws do not hold."""
    piece = fit.piece_of(n)
    laws = [law for law in (piece.t0, piece.rate if n else None) if law is not None and p <= law.described[-1]]
    if len(laws) < (2 if n else 1):
        return None
    return laws[0].draws(p) + (n / np.maximum(laws[1].draws(p), 1e-300) if n else 0.0)


def _per_byte(fit: OperationFit, p: float) -> Floats | None:
    """Draws of the time per byte of the largest messages on p ranks (draws,) [s]; None where it has no law."""
    law = fit.pieces[-1].rate
    return None if law is None else 1.0 / np.maximum(law.draws(p), 1e-300)


def _growth(fit: OperationFit) -> list[WeakPoint]:
    """Latency that grows faster than log p, the bound of a tree for every operation that reaches all ranks."""
    ranks, law = [p for p in _ranks(fit).tolist() if p >= 2], fit.pieces[0].t0
    if law is None or len(ranks) < 2:
        return []
    low, high = ranks[0], ranks[-1]
    growth, bound = law.draws(high) / law.draws(low), np.log(high) / np.log(low)
    as_what = f" (as {law.leading_term})" if law.leading_term not in ("", "1") else ""
    fold = float(np.median(growth))
    return judged(
        growth / bound,
        f"{_title(fit)}: latency grows {fold:.3g}-fold from {low:g} to {high:g} ranks{as_what}, a tree would grow as log p, "
        f"{bound:.3g}-fold: {{ratio}} times too much.",
    )


def _between(one: OperationFit, other: OperationFit) -> list[WeakPoint]:
    """The same operation of two libraries, at the number of ranks where they differ most."""
    if one.operation != other.operation:
        return []
    found = []
    for what, drawn in (("latency", partial(_time, n=0.0)), ("time per byte", _per_byte)):
        ratios = {}
        for p in np.intersect1d(_ranks(one), _ranks(other)).tolist():
            first, second = drawn(one, p=p), drawn(other, p=p)
            if first is not None and second is not None and (first > 0.0).all() and (second > 0.0).all():
                ratios[p] = first / second
        if not ratios:
            continue
        p = max(ratios, key=lambda p: abs(np.log(np.median(ratios[p]))))
        slow, fast, ratio = (one, other, ratios[p]) if np.median(ratios[p]) > 1.0 else (other, one, 1.0 / ratios[p])
        found += judged(ratio, f"{_title(slow)}: its {what} at {p:g} ranks is {{ratio}} times that of {_title(fast)}.")
    return found


def _composed(whole: OperationFit, parts: Sequence[tuple[OperationFit, int]]) -> list[WeakPoint]:
    """An operation beside others that do its work, at the largest number of ranks that all were measured on."""
    common = set(_ranks(whole).tolist()).intersection(*(_ranks(part).tolist() for part, _ in parts))
    if not common:
        return []
    p, found = max(common), []
    for n in (0, LARGE):
        of_whole, *of_parts = [_time(whole, p, n), *(_time(part, p, n * p**power) for part, power in parts)]
        known = [time for time in of_parts if time is not None]
        if of_whole is None or len(known) < len(parts):
            continue
        together = np.sum(known, axis=0)
        gain = float(np.median(of_whole - together)) * 1e6
        found += judged(
            of_whole / together,
            f"{_title(whole)} of {n} bytes on {p:g} ranks takes {{ratio}} times {' + '.join(part.operation for part, _ in parts)}, which "
            f"does the same: {gain:.4g} us a call to gain.",
        )
    return found


def judged(ratio: Floats, sentence: str) -> list[WeakPoint]:
    """A finding if 97.5 % of the draws of a ratio lie above `LEAST`, else none; {ratio} in the sentence stands for ratio and interval."""
    low, middle, high = (float(value) for value in np.quantile(ratio, (0.025, 0.5, 0.975)))
    if not low > LEAST:
        return []
    text = f"{middle:.2f}" if high - low < 0.005 * middle else f"{middle:.2f} ({low:.2f}-{high:.2f})"
    return [WeakPoint(middle, low, high, sentence.format(ratio=text))]
