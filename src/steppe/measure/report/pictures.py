"""Pictures of measurements as SVG texts: times with their fits, rates, residuals, laws in p, histograms, clocks.

Each function with `axes` draws one panel; the public functions put panels side by side.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from steppe.array_types import Floats
from steppe.measure.laws.law import Law
from steppe.measure.laws.operation import ONE_WAY
from steppe.measure.laws.points import MB, US
from steppe.measure.laws.size_lines import SizeLine
from steppe.measure.records.document import FitRecord
from steppe.measure.records.measured import ClockOffset, Measured, TimingClock, grouped
from steppe.measure.report.tables import rate_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 11.0, 3.0  # [inch] of a row of panels
MOST = 6  # lines of a panel
MOST_POINTS = 1_000  # of the pictures of a fit
FEW = 0.4  # bytes: place of a size of 0 on a logarithmic axis
WORST = 100.0  # [%] off its line: points further off are drawn here
INK, FAINT = "#22282d", "#b8c0c6"
CYCLE = ("#1f5f8b", "#c2622d", "#3f8361", "#8a4f7d", "#a98a1f", "#5c6670")
Draw = Callable[["Axes"], None]


def fit_picture(fit: FitRecord) -> str:
    """Times, rates and residuals against bytes; t0, r_inf and n_half against p where there are several."""
    every = -(-fit.points.n.size // MOST_POINTS)
    some = {name: getattr(fit.points, name)[::every] for name in ("n", "p", "t", "sigma", "repeats")}
    fit = replace(fit, points=replace(fit.points, **some))
    ranks = _some(fit.points.ranks.tolist())
    panels: list[Draw] = []
    way = " one way" if fit.protocol in ("ack", "pingpong") else ""
    if fit.points.sizes.size > 1:
        shown = way + f" of every {every}th point" * (every > 1)
        panels += [partial(draw, fit=_one_way(fit), ranks=ranks, way=shown) for draw in (_times, _rates)]
        panels.append(partial(_residuals, fit=fit, ranks=ranks))
    if len(ranks) > 1:
        panels.append(partial(_law, fit=fit, name="t0", title=f"t0(p){way} [us], its law and 95 %", scale=US / ONE_WAY[fit.protocol]))
        if any(line.r_inf is not None for piece in fit.pieces for line in piece.lines):
            rate = partial(_law, fit=fit, name="r_inf", title="r_inf(p) [MB/s], its law and 95 %", scale=MB)
            panels += [rate, partial(_halves, fit=fit)]
    return _svg(panels)


def _one_way(fit: FitRecord) -> FitRecord:
    """A fit whose times and lines lack the empty answer: the half of the t0 of each line, if the times have acknowledgements."""
    n, p, back = fit.points.n, fit.points.p, 1.0 - ONE_WAY[fit.protocol]
    answer = np.zeros_like(n)
    for piece in fit.pieces:
        for line in piece.lines:
            answer[(p == line.p) & (n >= piece.low) & (n <= piece.high)] = back * line.t0
    pieces = [replace(piece, lines=[replace(line, t0=line.t0 - back * line.t0) for line in piece.lines]) for piece in fit.pieces]
    return replace(fit, points=replace(fit.points, t=fit.points.t - answer), pieces=pieces)


def _times(axes: "Axes", fit: FitRecord, ranks: Sequence[float], way: str) -> None:
    for colour, p, n, t in _by_ranks(fit, ranks):
        axes.plot(np.maximum(n, FEW), t / US, "o", ms=3, color=colour, label=f"{p:g} ranks")
        for line, low, high in _lines(fit, p):
            sizes = np.concatenate([[low], np.geomspace(max(low, 1.0), max(high, 1.0), 60)])
            axes.plot(np.maximum(sizes, FEW), line.time(sizes) / US, lw=1, color=colour)
    _log(axes, f"time{way} [us], and t0 + n / r_inf")
    axes.legend(frameon=False, fontsize=8)


def _rates(axes: "Axes", fit: FitRecord, ranks: Sequence[float], way: str) -> None:
    for colour, _, n, t in _by_ranks(fit, ranks):
        axes.plot(n[n > 0], (n / t)[n > 0] / MB, "o-", ms=3, lw=1, color=colour)
    _log(axes, f"bytes / time{way} [MB/s]")


def _residuals(axes: "Axes", fit: FitRecord, ranks: Sequence[float]) -> None:
    axes.axhline(0.0, color=FAINT, lw=1)
    for colour, p, n, t in _by_ranks(fit, ranks):
        for line, low, high in _lines(fit, p):
            at = (n >= low) & (n <= high)
            off = 100.0 * (t[at] / line.time(n[at]) - 1.0)  # of a line that begins below 0 it can be anything
            axes.plot(np.maximum(n[at], FEW), np.clip(off, -WORST, WORST), "o", ms=3, color=colour)
    axes.set_xscale("log")
    axes.xaxis.minorticks_off()
    axes.set(xlabel="bytes", title="measured beside fitted [%]")


def _by_ranks(fit: FitRecord, ranks: Sequence[float]) -> Iterator[tuple[str, float, Floats, Floats]]:
    """A colour, p, and the sizes and times of its points, for each p."""
    for colour, p in zip(CYCLE, ranks, strict=False):
        at = fit.points.p == p
        yield colour, p, fit.points.n[at], fit.points.t[at]


def _lines(fit: FitRecord, p: float) -> Iterator[tuple[SizeLine, float, float]]:
    """The lines of p ranks with their ranges of sizes."""
    return ((line, piece.low, piece.high) for piece in fit.pieces for line in piece.lines if line.p == p)


def _law(axes: "Axes", fit: FitRecord, name: str, title: str, scale: float) -> None:
    """A coefficient of all pieces against p, each with its law and the band of that."""
    for colour, piece in zip(CYCLE, fit.pieces, strict=False):
        lines = [line for line in piece.lines if getattr(line, name) is not None]
        if not lines:
            continue
        at = np.array([line.p for line in lines])
        bars = [1.96 * getattr(line, f"{name}_error") / scale for line in lines]
        axes.errorbar(at, [getattr(line, name) / scale for line in lines], bars, fmt="o", ms=3, lw=1, color=colour)
        law: Law | None = getattr(piece, name)
        if law is not None:
            between = np.linspace(at.min(), at.max(), 100)
            axes.plot(between, law.curve(between) / scale, lw=1, color=colour)
            if law.band:  # one that would flatten all else is cut at the frame of the points and the law
                p, low, high = np.array(law.band).T
                frame = axes.get_ylim()
                axes.fill_between(p, low / scale, high / scale, color=colour, alpha=0.15, lw=0)
                reach = 0.5 * (frame[1] - frame[0])
                axes.set_ylim(max(axes.get_ylim()[0], frame[0] - reach), min(axes.get_ylim()[1], frame[1] + reach))
    axes.set(xlabel="p", title=title)


def _halves(axes: "Axes", fit: FitRecord) -> None:
    for colour, piece in zip(CYCLE, fit.pieces, strict=False):
        found = [(line.p, max(0.0, line.t0) * ONE_WAY[fit.protocol] * line.r_inf) for line in piece.lines if line.r_inf is not None]
        axes.plot([p for p, _ in found], [half for _, half in found], "o-", ms=3, lw=1, color=colour)
    axes.set(xlabel="p", title="n_half(p) [bytes]")


def sizes_picture(groups: Mapping[str, Sequence[Measured]]) -> str:
    """Rates against bytes, a panel for each group, a line for each variant."""
    return _svg([partial(_sizes, title=title, series=series) for title, series in groups.items()])


def _sizes(axes: "Axes", title: str, series: Sequence[Measured]) -> None:
    _variants(axes, grouped(series, lambda one: one.variant), "bytes", lambda n, time: n / time / MB)
    _log(axes, title)


def ranks_picture(groups: Mapping[str, Sequence[Measured]]) -> str:
    """Times against ranks, a panel for each operation, a line for each method, of one colour in all panels."""
    methods = dict.fromkeys(one.variant for series in groups.values() for one in series)
    return _svg([partial(_ranks, title=title, series=series, methods=methods) for title, series in groups.items()])


def _ranks(axes: "Axes", title: str, series: Sequence[Measured], methods: Iterable[str]) -> None:
    scale, unit = (1.0, "s") if max(one.statistics.median for one in series) > 1.0 else (1e-3, "ms")
    ours = {method: [one for one in series if one.variant == method] for method in methods}
    _variants(axes, ours, "p", lambda _, time: time / scale)
    axes.set_ylim(bottom=0.0)
    axes.locator_params("x", integer=True)
    axes.set(xlabel="ranks", title=f"{title} [{unit}]")


def _variants(axes: "Axes", variants: Mapping[str, Sequence[Measured]], place: str, value: Callable[[Floats, Floats], Floats]) -> None:
    """A line of medians for each variant, p10 to p90 as a band. place: member for the axis; value: of places and times."""
    for colour, (variant, series) in zip(CYCLE * 2, variants.items(), strict=False):
        if series:
            ours = sorted(series, key=lambda one: getattr(one, place))
            at = np.array([getattr(one, place) for one in ours], float)
            p10, middle, p90 = (value(at, np.array([getattr(one.statistics, name) for one in ours])) for name in ("p10", "median", "p90"))
            axes.fill_between(at, np.minimum(p10, p90), np.maximum(p10, p90), color=colour, alpha=0.15, lw=0)
            axes.plot(at, middle, "o-", ms=3, lw=1, color=colour, label=variant)
    axes.legend(frameon=False, fontsize=7)


def bars_picture(groups: Mapping[str, Sequence[Measured]]) -> str:
    """Rates as bars, a panel for each group, with p10 to p90."""
    return _svg([partial(_bars, title=title, series=series) for title, series in groups.items()], of_row=2)


def _bars(axes: "Axes", title: str, series: Sequence[Measured]) -> None:
    variants, names = grouped(series, lambda one: one.variant), list(dict.fromkeys(one.operation for one in series))
    height = 0.8 / len(variants)
    for colour, (number, (variant, ours)) in zip(CYCLE, enumerate(variants.items()), strict=False):
        at = np.array([names.index(one.operation) for one in ours]) + 0.8 * (number + 0.5) / len(variants) - 0.4
        rates = np.array([rate_of(one)[0] for one in ours])
        reach = np.array([[one.statistics.median / getattr(one.statistics, name) for name in ("p90", "p10")] for one in ours]).T
        style = {"lw": 0.8, "ecolor": INK}
        axes.barh(at, rates, height, xerr=np.abs(reach - 1.0) * rates, color=colour, error_kw=style, label=variant)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_title(f"{title} [{rate_of(series[0])[1]}]")
    axes.legend(frameon=False, fontsize=7)


def modes_picture(series: Sequence[Measured]) -> str:
    """Histograms of series whose blocks gather around two times."""
    return _svg([partial(_histogram, one=one) for one in series])


def _histogram(axes: "Axes", one: Measured) -> None:
    times = one.times() / US
    axes.hist(times[times <= np.quantile(times, 0.99)], 50, color=CYCLE[0])
    for mode in one.modes:
        axes.axvline(mode.median / US, color=CYCLE[1], lw=1)
    axes.set_xlabel("us")
    title = ", ".join(filter(None, (one.operation, one.variant)))
    axes.set_title(f"{title}\n{one.bytes} bytes{f', {one.p} ranks' if one.p > 1 else ''}", fontsize=8)


def clocks_picture(clock: TimingClock) -> str:
    """The gain of clocks on rank 0's since the first comparison, with their lines; of the ranks with the greatest drift."""
    speed = {one.rank: one.drift for one in clock.get("drift", [])}
    most = sorted(clock.get("offsets", []), key=lambda one: -abs(speed.get(one.rank, 0.0)))[: len(CYCLE)]
    shown = [(one, speed.get(one.rank, 0.0)) for one in sorted(most, key=lambda one: one.rank)]
    return _svg([partial(_gained, shown=shown), partial(_beside, shown=shown)], of_row=2)


def _gained(axes: "Axes", shown: Sequence[tuple[ClockOffset, float]]) -> None:
    for colour, (one, drift) in zip(CYCLE, shown, strict=False):
        when, offset, bound = np.array(one.bursts).T
        line = one.offset + drift * (when - one.at)
        axes.errorbar(when, (offset - line[0]) / US, bound / US, fmt="o", ms=3, lw=1, color=colour, label=f"rank {one.rank}")
        axes.plot(when, (line - line[0]) / US, lw=1, color=colour)
    axes.set(xlabel="s", title="gained on rank 0's clock [us], with bounds")
    axes.legend(frameon=False, fontsize=8)


def _beside(axes: "Axes", shown: Sequence[tuple[ClockOffset, float]]) -> None:
    axes.axhline(0.0, color=FAINT, lw=1)
    for colour, (one, drift) in zip(CYCLE, shown, strict=False):
        when, offset, bound = np.array(one.bursts).T
        axes.plot(when, (offset - one.offset - drift * (when - one.at)) / bound, "o", ms=3, color=colour)
    axes.set(xlabel="s", title="beside its line [bounds]")


def _some(values: Sequence[float]) -> list[float]:
    """At most `MOST` of them, the first and the last among them."""
    if len(values) <= MOST:
        return list(values)
    return [values[i] for i in np.linspace(0, len(values) - 1, MOST).round().astype(int)]


def _log(axes: "Axes", title: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.minorticks_off()
    axes.set(xlabel="bytes", title=title)


def _svg(panels: Sequence[Draw], of_row: int = 3) -> str:
    """Panels in rows as one SVG element, with letters as text and without metadata; nothing without panels."""
    if not panels:
        return ""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = -(-len(panels) // of_row)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "steppe", "font.size": 9, "axes.titlesize": 9, "font.family": "sans-serif"}):
        figure = Figure(figsize=(WIDTH, HEIGHT * rows), layout="constrained")
        for number, draw in enumerate(panels):
            axes = figure.add_subplot(rows, of_row, number + 1)
            draw(axes)
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_axisbelow(True)
            axes.grid(True, color=FAINT, lw=0.3)
        made = io.StringIO()
        figure.savefig(made, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = made.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", "\n", text)
    # a hundredth of a point is finer than any screen; numbers between the tags are those of the axes
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), text)
    return re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', 'role="img"', text, count=1)
