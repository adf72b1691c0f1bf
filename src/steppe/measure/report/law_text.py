"""Fits, rehearsals, predictions and weaknesses as texts for a terminal."""

from collections.abc import Callable, Sequence

import numpy as np

from steppe.measure.laws.formula import Rehearsal
from steppe.measure.laws.law import FittedLaw
from steppe.measure.laws.operation import ONE_WAY, OperationFit, Protocol, SizeRange, aggregate, plain
from steppe.measure.laws.points import MB, US
from steppe.measure.laws.prediction import Prediction
from steppe.measure.laws.size_lines import SizeLine
from steppe.measure.laws.times_table import Series
from steppe.measure.laws.weakness import OPERATIONS, WeakPoint
from steppe.measure.report.tables import aligned, table

NO_SIZES = "The table has no column of sizes (n or bytes): every message is taken to have 0 bytes."
FIRST = 1.5  # times the later ones, from which on a first message is reported
Fitted = tuple[OperationFit, SizeRange, SizeLine, int]  # the number of sizes last


def lines_of(fits: Sequence[OperationFit]) -> str:
    """A table of t0, r_inf and n_half of all fits."""
    rows = [
        (found, piece, line, int(count))
        for found in fits
        for piece in found.pieces
        for line, count in zip(piece.lines.lines(found.points.ranks), piece.lines.sizes, strict=True)
    ]
    columns: dict[str, Callable[[Fitted], str]] = {
        "": lambda row: row[0].title,
        "p": lambda row: f"{row[2].p:g}",
        "bytes": lambda row: f"{row[1].lines.low:.12g}-{row[1].lines.high:.12g}",
        "t(0) us": _zero,
        "t0 us": lambda row: f"{row[2].t0 * row[0].one_way / US:.4g}",
        "+- 95 %": lambda row: f"{1.96 * row[2].t0_error * row[0].one_way / US:.2g}",
        "r_inf MB/s": lambda row: f"{row[2].r_inf / MB:.4g}" if row[2].r_inf else "-",
        "+- 95 % ": lambda row: f"{1.96 * row[2].r_inf_error / MB:.2g}" if row[2].r_inf_error else "-",
        "unweighted": lambda row: f"{without / MB:.4g}" if len(row[0].pieces) == 1 and (without := plain(row[0])) else "-",
        "n_half B": lambda row: f"{max(0.0, row[2].t0) * row[0].one_way * row[2].r_inf:.4g}" if row[2].r_inf else "-",
        "worst": lambda row: f"{row[2].worst_residual:.1%}" if row[3] > 2 else "-",  # two points always lie on their line
    }
    return table(rows, columns)


def line_text(line: SizeLine, protocol: Protocol) -> str:
    """t0, r_inf and n_half of a line as `lines_of` has them."""
    share = ONE_WAY[protocol]
    said = f"p = {line.p:g}: t0 = {line.t0 * share / US:.4g} +- {1.96 * line.t0_error * share / US:.2g} us"
    if line.r_inf is None or line.r_inf_error is None:
        return said
    half = max(0.0, line.t0) * share * line.r_inf
    return f"{said}, r_inf = {line.r_inf / MB:.4g} +- {1.96 * line.r_inf_error / MB:.2g} MB/s, n_half = {half:.4g} bytes"


def _zero(row: Fitted) -> str:
    """The measured time of no bytes, one way."""
    found, piece, line, _ = row
    zero = found.points.t[(found.points.p == line.p) & (found.points.n == 0.0)]
    return f"{zero[0] * found.one_way / US:.4g}" if zero.size and piece.lines.low == 0.0 else "-"


def laws_of(found: OperationFit) -> str:
    """The laws in p of a fit, that of t0 one way, the reasons of their choice, and the doubts."""
    said = ""
    for piece in found.pieces:
        where = f", {piece.lines.low:.12g} to {piece.lines.high:.12g} bytes" if len(found.pieces) > 1 else ""
        for what, law, scale, unit in (("t0", piece.t0, US / found.one_way, "us"), ("r_inf", piece.rate, MB, "MB/s")):
            if law is not None:
                said += f"{found.title}{where}: {what}(p) = {law.curve.formula(scale)} {unit}\n" + _why(law, scale)
        begin = "  " if piece.t0 is not None else f"{found.title}{where}: "
        said += "".join(f"{begin}{reason}\n" for reason in piece.reasons)
        if piece.rate is not None and found.operation:
            p = float(piece.rate.described[-1])
            together = aggregate(found.operation, float(piece.rate.curve(p)[0]), p)
            said += "" if together is None else f"  R_inf({p:g}) = {together / MB:.4g} MB/s over all ranks\n"
    return said


def _why(law: FittedLaw, scale: float) -> str:
    shares = ", ".join(f"{name} {share:.0%}" for name, share in list(law.shares.items())[:3])
    curve, left = law.curve, law.left_out.get(law.family, np.nan)
    units = {**dict.fromkeys(curve.family.names(curve.exponent), curve.unit(scale)), **({"e": 1.0} if curve.family.has_exponent else {})}
    intervals = "; ".join(
        f"{name}: {low / by:.4g} to {high / by:.4g}" for (name, by), (low, high) in zip(units.items(), law.intervals, strict=True)
    )
    text = f"  95 %: {intervals}\n"
    text += f"  drawn anew: {shares}; furthest from a point {law.worst:.1%}, from one left out {left:.1%}\n"
    text += f"  leading term {law.leading_term}; d ln / d ln p at the largest p: {_exponent(law)}\n"
    return text + "".join(f"  {doubt}\n" for doubt in law.doubts)


def _exponent(law: FittedLaw) -> str:
    return f"{np.nan if law.local_exponent is None else law.local_exponent:.2f}"


def remarks_of(series: Sequence[Series], fits: Sequence[OperationFit]) -> str:
    """The notes on series beside their lines: steps, first messages, packing. A note on all appears once.

    series: of a table, one a fit; none of a file of fits.
    """
    every = [NO_SIZES] if series and not series[0].has_sizes else []
    unknown = dict.fromkeys(one.name["operation"] for one in series if one.name.get("operation", "barrier") not in OPERATIONS)
    every += [f"Not compared with other operations: {', '.join(unknown)}. Known: {', '.join(OPERATIONS)}."] if unknown else []
    if any(one.points.sizes.size > 1 and one.points.ranks[-1] > one.points.sizes[-1] for one in series):
        every.append("There are more ranks than bytes: make sure that the columns of ranks and of sizes are not in each other's place.")
    every += [remark for remark in (fits[0].remarks if fits else []) if all(remark in found.remarks for found in fits)]
    said = "".join(f"{remark}\n" for remark in every)
    beside: Sequence[Series | None] = series or [None] * len(fits)
    for one, found in zip(beside, fits, strict=True):
        own = [remark for remark in found.remarks if remark not in every]
        if one is not None:
            slow = [f"{ratio:.3g} at {n:.12g}" for n, ratio in one.first_to_later if ratio > FIRST]
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
        of_t0 = [t0.curve.formula(US), t0.leading_term, _exponent(t0)] if t0 else ["-"] * 3
        off = [f"{one.t0_error:.1%}", "-" if np.isnan(one.rate_error) else f"{one.rate_error:.1%}"]
        rows.append([one.formula.title, of_t0[0], rate.curve.formula(MB) if rate else "-", *of_t0[1:], *off])
    return aligned(rows, left=3)


def weaknesses_text(findings: Sequence[WeakPoint]) -> str:
    """The list, greatest first."""
    said = "".join(f"{number:>3}. {one.sentence}\n" for number, one in enumerate(findings, 1))
    return said and f"Weaknesses, the greatest first:\n{said}"


def prediction_text(fit: OperationFit, found: Prediction) -> str:
    """One prediction; of times with acknowledgements it states that the time is one way."""
    band = f"95 %: {found.low / US:.4g} to {found.high / US:.4g} us"
    way = " one way" if fit.protocol == "ack" else ""
    text = f"{fit.title}: {found.n:.12g} bytes on {found.p:g} ranks: {found.time / US:.4g} us{way}, {band}\n"
    return text + "".join(f"  {doubt}\n" for doubt in found.doubts)
