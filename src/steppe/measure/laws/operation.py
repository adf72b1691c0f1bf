"""t(n, p) = t0(p) + n / r_inf(p): the whole fit of one operation.

    points ── size_lines.py: a line for each p, in pieces where the protocol changes ── law.py: t0(p) and r_inf(p) of each piece

n_half(p) = t0(p) r_inf(p) (Hockney 1994); R_inf(p): the bytes that all ranks move, at r_inf (Xu and Hwang 1996, Santos et al. 1997).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from steppe.array_types import Floats
from steppe.errors import Mistake
from steppe.measure.laws.family import RATE_FAMILIES
from steppe.measure.laws.law import DRAWS, SEED, FittedLaw, choose_law
from steppe.measure.laws.points import FEW, SamplePoints
from steppe.measure.laws.size_lines import Pieces, RangeLines, fit_pieces

Protocol = Literal["oneway", "pingpong", "ack"]
AGGREGATE: dict[str, Callable[[float], float]] = {  # R_inf / r_inf: all bytes moved, in n
    "point-to-point": lambda p: 1.0,
    "broadcast": lambda p: p,
    "broadcast to others": lambda p: p - 1.0,
    **dict.fromkeys(("gather", "scatter", "reduction", "scan"), lambda p: p),
    **dict.fromkeys(("allgather", "total exchange"), lambda p: p * p),
}
ONE_WAY: dict[Protocol, float] = {"oneway": 1.0, "pingpong": 1.0, "ack": 0.5}  # t0 one way, as a share of that of the points
WRONG = 0.5  # relative: a line that misses a time by more does not describe it
ROUNDED = 1e-9  # of a time: what the digits of numbers leave of equal times
STEP = 0.05  # of t0: if the time of no bytes is further below the line, a remark says so


@dataclass(frozen=True)
class SizeRange:
    """A range of sizes with its lines, and the laws of t0 and r_inf in p; None, with the reasons, where there is no law."""

    lines: RangeLines
    t0: FittedLaw | None
    rate: FittedLaw | None
    reasons: list[str]


@dataclass(frozen=True)
class OperationFit:
    """A fitted operation. `name`: column -> text, unique among fits. Times are one way for `pingpong`, else as given.

    With `ack` the times of points and the t0 of pieces hold the empty answer, too: `one_way` of t0 is one way. Bytes go one way only.
    """

    name: dict[str, str]
    points: SamplePoints
    protocol: Protocol
    pieces: tuple[SizeRange, ...]
    remarks: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its name in one line."""
        return " ".join(filter(None, self.name.values())) or "all times"

    @property
    def operation(self) -> str:
        """The operation; empty where it is not known."""
        return self.name.get("operation", "")

    @property
    def environment(self) -> str:
        """Its name without the operation: the library, the variant."""
        return " ".join(text for column, text in self.name.items() if text and column != "operation")

    @property
    def one_way(self) -> float:
        """t0 one way, as a share of the t0 of its pieces: half if the times have acknowledgements."""
        return ONE_WAY[self.protocol]

    def piece_of(self, n: float) -> SizeRange:
        """The piece of a size [bytes]; the outer pieces hold beyond their ends."""
        return next((piece for piece in self.pieces if n <= piece.lines.high), self.pieces[-1])


def fit(points: SamplePoints, name: dict[str, str] | None = None, protocol: Protocol = "oneway") -> OperationFit:
    """Fits t(n, p) to points. protocol: a time is one way, a round trip of n bytes, or n bytes and an empty answer.

    Raises
    ------
    Mistake
        The protocol is not known, or there is one size on fewer than 3 numbers of ranks.
    """
    if protocol not in get_args(Protocol):
        raise Mistake(f'Protocol "{protocol}" is not known. Known: {", ".join(get_args(Protocol))}.')
    if points.sizes.size == 1 and points.ranks.size < 3:
        n, ranks = points.sizes[0], points.ranks.size
        whose = "".join(f"{column} {text}: " for column, text in (name or {}).items())
        there = f"{whose}there" if whose else "There"
        raise Mistake(
            f"{there} are times of one size, {n:.12g} bytes, on {ranks} number{'s' if ranks > 1 else ''} of ranks: a line needs at least "
            "2 sizes, a law in p at least 3 values of p."
        )
    if protocol == "pingpong":
        points = SamplePoints(points.n, points.p, points.t / 2.0, points.sigma / 2.0, points.repeats, points.known)
    found = fit_pieces(points)
    pieces = tuple(_piece(points.ranks, lines) for lines in found.lines)
    return OperationFit(name or {}, points, protocol, pieces, _remarks(points, found))


def _piece(ranks: Floats, lines: RangeLines) -> SizeRange:
    reasons = [] if lines.has_rate else _no_rate(ranks, lines)
    if ranks.size < 2:
        return SizeRange(lines, None, None, reasons)
    t0s, slopes = lines.draws(DRAWS, SEED)
    t0, why = choose_law(ranks, lines.t0, lines.t0_error, draws=t0s)
    reasons = why + reasons
    rate = None
    if lines.has_rate:
        above = np.maximum(slopes, 1e-3 * lines.slope)  # a draw without slope has no rate
        families = RATE_FAMILIES if ranks[0] > 1.0 else RATE_FAMILIES[:-1]
        rate, _ = choose_law(ranks, lines.rate, lines.rate_error, families, 1.0 / above)
    return SizeRange(lines, t0, rate, reasons)


def _no_rate(ranks: Floats, lines: RangeLines) -> list[str]:
    """Why no r_inf is given for a range of sizes; nothing of times of one size."""
    flat = ranks[~lines.grows & (lines.sizes > 1)]
    falls = ranks[(lines.slope <= 0.0) & (lines.sizes > 1)]
    said = []
    if flat.size:
        less = f" On {_ranks_text(falls)} the slope is not positive." if falls.size else ""
        said.append(
            f"No r_inf: on {_ranks_text(flat)} time does not grow with the size by more than it scatters.{less} Measure larger messages."
        )
    if (lines.sizes > 1).any() and (lines.sizes < 2).any():
        said.append(f"No r_inf: {_ranks_text(ranks[lines.sizes < 2])} have times of one size. Measure two sizes or more.")
    return said


def _ranks_text(ranks: Floats) -> str:
    return f"{', '.join(f'{p:g}' for p in ranks)} ranks"


def _remarks(points: SamplePoints, found: Pieces) -> list[str]:
    said = []
    if not points.known:
        few = "No repeats: each time is" if points.repeats.max() == 1.0 else f"Fewer than {FEW} repeats of a size: their times are"
        said.append(f"{few} taken to scatter by 3 % (--spread says otherwise); changes of protocol are not looked for.")
    if len(found.lines) > 1:
        cuts = ", ".join(f"{lines.high:.12g}" for lines in found.lines[:-1])
        said.append(
            f"The protocol changes after {cuts} bytes."
            if found.sure
            else f"Possible change of protocol after {cuts} bytes; no more than that."
        )
    for lines in found.lines:
        at = int(np.argmax(lines.worst))
        if lines.worst[at] > WRONG:
            below = " and begins below zero" if lines.t0[at] < -2.0 * lines.t0_error[at] else ""
            where = f"{lines.low:.12g} to {lines.high:.12g} bytes on {points.ranks[at]:g} ranks"
            said.append(f"No line describes {where}: the best one misses a time by {lines.worst[at]:.0%}{below}.")
    first = found.lines[0]
    two = int((first.sizes == 2).sum())
    if two:
        said.append(f"A line through 2 sizes is not checked by a third: {two} of {first.sizes.size} lines.")
    if points.ranks.size == 1 and points.sizes[0] == 0.0 and points.sizes.size > 2:
        step, line = points.t[1] - points.t[0], points.n[1] * first.slope[0]
        if first.t0[0] - points.t[0] > max(STEP * first.t0[0], 2.0 * points.sigma[0]) and step > 2.0 * line:
            said.append(
                f"Without bytes the time is {points.t[0] * 1e6:.4g} us, the line begins at {first.t0[0] * 1e6:.4g} us: from 0 to "
                f"{points.n[1]:g} bytes time grows by {step * 1e6:.3g} us, the line by {line * 1e6:.3g}. A straight line has no such step."
            )
    return said


def plain(found: OperationFit) -> float | None:
    """r_inf [bytes/s] of least squares without weights, dominated by the largest messages; None if times do not grow, or for several p."""
    n, t = found.points.n, found.points.t
    if found.points.ranks.size > 1 or found.points.sizes.size < 2:
        return None
    slope = float(np.polyfit(n, t, 1)[0])
    return 1.0 / slope if slope * np.ptp(n) > ROUNDED * t.max() else None


def aggregate(operation: str, rate: float, p: float) -> float | None:
    """R_inf [bytes/s] of an operation whose r_inf is `rate`; None where the operation has none or is not known."""
    return AGGREGATE[operation](p) * rate if operation in AGGREGATE else None
