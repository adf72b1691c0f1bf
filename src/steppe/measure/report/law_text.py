"""Fits, rehearsals, predictions and weaknesses as texts for a terminal."""

from collections.abc import Sequence

import numpy as np

from steppe.measure.laws.law import FittedLaw
from steppe.measure.laws.operation import OperationFit, SizeRange, aggregate, plain
from steppe.measure.laws.points import MB, US
from steppe.measure.laws.prediction import Prediction
from steppe.measure.laws.rehearsal import Rehearsal
from steppe.measure.laws.times_table import Series
from steppe.measure.laws.weakness import WeakPoint
from steppe.measure.records.measured import Measured

FIRST = 1.5  # times the later ones, from which on a first message is reported


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Rows below each other, the first `left` columns to the left, the others to the right."""
    width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join(text.ljust(w) if i < left else text.rjust(w) for i, (text, w) in enumerate(zip(row, width, strict=True))) for row in rows
    )
    return "".join(line.rstrip() + "\n" for line in lines)


def times_of(one: Measured) -> list[str]:
    """Least, median, half of its interval, and p99 [us] of a series; an interval in () was not narrow enough in time."""
    found = one.statistics
    width = f"{found.half_width / US:.2g}"
    return [f"{found.minimum / US:.4g}", f"{found.median / US:.4g}", width if one.converged else f"({width})", f"{found.p99 / US:.4g}"]


def lines_of(fits: Sequence[OperationFit]) -> str:
    """A table of t0, r_inf and n_half of all fits."""
    head = ["", "p", "bytes", "t(0) us", "t0 us", "+-", "r_inf MB/s", "+-", "unweighted", "n_half B", "worst"]
    rows = [head]
    for found in fits:
        half = 0.5 if found.protocol == "ack" else 1.0
        for piece in found.pieces:
            rows += [_line(found, piece, i, half) for i in range(found.points.ranks.size)]
    return columns(rows)


def _line(found: OperationFit, piece: SizeRange, i: int, half: float) -> list[str]:
    points, lines = found.points, piece.lines
    p, t0 = points.ranks[i], lines.t0[i]
    zero = points.t[(points.p == p) & (points.n == 0.0)]
    rate, error, of_half = ("-", "-", "-")
    if lines.has_rate:
        rate, error, of_half = (
            f"{lines.rate[i] / MB:.4g}",
            f"{1.96 * lines.rate_error[i] / MB:.2g}",
            f"{max(0.0, t0) * half * lines.rate[i]:.4g}",
        )
    without = plain(found) if len(found.pieces) == 1 else None
    return [
        found.title,
        f"{p:g}",
        f"{lines.low:g}-{lines.high:g}",
        f"{zero[0] * half / US:.4g}" if zero.size and lines.low == 0.0 else "-",
        f"{t0 * half / US:.4g}",
        f"{1.96 * lines.t0_error[i] * half / US:.2g}",
        rate,
        error,
        f"{without[1] / MB:.4g}" if without else "-",
        of_half,
        f"{lines.worst[i]:.1%}",
    ]


def laws_of(found: OperationFit) -> str:
    """The laws in p of a fit, why they were chosen, and what speaks against them."""
    said = ""
    for piece in found.pieces:
        where = f", {piece.lines.low:g} to {piece.lines.high:g} bytes" if len(found.pieces) > 1 else ""
        for what, law, scale, unit in (("t0", piece.t0, US, "us"), ("r_inf", piece.rate, MB, "MB/s")):
            if law is not None:
                said += f"{found.title}{where}: {what}(p) = {law.curve.formula(scale)} {unit}\n" + _why(law, scale)
        said += "".join(f"  {reason}\n" for reason in piece.reasons)
        if piece.rate is not None and found.operation:
            p = float(piece.rate.described[-1])
            together = aggregate(found.operation, float(piece.rate.curve(p)[0]), p)
            said += "" if together is None else f"  R_inf({p:g}) = {together / MB:.4g} MB/s over all ranks\n"
    return said


def _why(law: FittedLaw, scale: float) -> str:
    shares = ", ".join(f"{name} {share:.0%}" for name, share in list(law.shares.items())[:3])
    scales = [law.curve.unit(scale)] * len(law.curve.coefficients) + [1.0] * law.curve.family.has_exponent
    names = [*law.curve.family.names(law.curve.exponent), *(["e"] if law.curve.family.has_exponent else [])]
    intervals = "; ".join(
        f"{name}: {low / by:.4g} to {high / by:.4g}" for name, (low, high), by in zip(names, law.intervals, scales, strict=True)
    )
    left = law.left_out.get(law.family, np.nan)
    text = f"  95 %: {intervals}\n"
    text += f"  drawn anew: {shares}; furthest from a point {law.worst:.1%}, from one left out {left:.1%}\n"
    text += f"  leading term {law.leading_term}; d ln / d ln p at the largest p: {_exponent(law)}\n"
    return text + "".join(f"  {doubt}\n" for doubt in law.doubts)


def _exponent(law: FittedLaw) -> str:
    return f"{np.nan if law.local_exponent is None else law.local_exponent:.2f}"


def remarks_of(series: Sequence[Series], fits: Sequence[OperationFit]) -> str:
    """The notes on series beside their lines: steps, first messages, packing. A note on all appears once."""
    every = [remark for remark in (fits[0].remarks if fits else []) if all(remark in found.remarks for found in fits)]
    said = "".join(f"{remark}\n" for remark in every)
    for one, found in zip(series, fits, strict=True):
        own = [remark for remark in found.remarks if remark not in every]
        slow = [f"{ratio:.3g} at {n:g}" for n, ratio in one.first_to_later if ratio > FIRST]
        own += [f"First message / later ones: {', '.join(slow)} bytes."] if slow else []
        own += [f"Packing: {one.pack_rate / MB:.3g} MB/s."] if one.pack_rate is not None else []
        said += "".join(f"{found.title}: {remark}\n" for remark in own)
    return said


def rehearsals_text(found: Sequence[Rehearsal]) -> str:
    """Laws beside what was found of them."""
    rows = [["law", "t0(p) us, found", "r_inf(p) MB/s, found", "leading", "local", "t0 off", "r_inf off"]]
    for one in found:
        if one.fit is None:
            rows.append([one.formula.title, one.reason, "", "", "", "", ""])
            continue
        t0, rate = one.fit.pieces[0].t0, one.fit.pieces[-1].rate
        rows.append(
            [
                one.formula.title,
                t0.curve.formula(US) if t0 else "-",
                rate.curve.formula(MB) if rate else "-",
                t0.leading_term if t0 else "-",
                _exponent(t0) if t0 else "-",
                f"{one.t0_error:.1%}",
                "-" if np.isnan(one.rate_error) else f"{one.rate_error:.1%}",
            ]
        )
    return columns(rows, left=3)


def weaknesses_text(findings: Sequence[WeakPoint]) -> str:
    """The list, greatest first."""
    if not findings:
        return ""
    return "Weaknesses, the greatest first:\n" + "".join(f"{number:>3}. {one.sentence}\n" for number, one in enumerate(findings, 1))


def prediction_text(title: str, found: Prediction) -> str:
    """One prediction."""
    band = f"95 %: {found.low / US:.4g} to {found.high / US:.4g} us"
    text = f"{title}: {found.n:g} bytes on {found.p:g} ranks: {found.time / US:.4g} us, {band}\n"
    return text + "".join(f"  {doubt}\n" for doubt in found.doubts)
