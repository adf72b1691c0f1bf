"""One figure that reports a run: maps above, series below, notes at the foot."""

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.view.colour import DIFFERENCE, Colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import SubFigure

Array = NDArray[Any]

WIDTH = 11.0  # [inch] of the figure; at 150 dots an inch as wide as a laptop's screen
NARROW = 7.0  # [inch] of a figure of one map alone
DOTS = 150
COLUMNS = 3  # maps beside each other

INK, FAINT, LINE, SEA = "#22282d", "#6b757d", "#b8c0c6", "#eceff1"
CYCLE = ("#1f5f8b", "#c2622d", "#3f8361", "#8a4f7d", "#a98a1f", "#5c6670")  # distinct in grey too, and for colour-blind eyes


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Map(NamedTuple):
    """One map. values (lat, lon), NaN where there is no land, or (points,); lat, lon: centres [degrees], rows from north or south."""

    title: str
    values: Array
    units: str
    lat: Array
    lon: Array
    colours: Colours


class Series(NamedTuple):
    """One line over time; lines of one title share a panel. dates: cftime, datetime or datetime64, one for each value."""

    title: str
    dates: Sequence[Any]
    values: Array
    units: str
    label: str = ""


def draw_run(path: Path, title: str, maps: Sequence[Map], series: Sequence[Series], notes: Sequence[str]) -> None:
    """Draws a PNG file: a title, maps of equal size, a panel for each title of `series`, and a line for each note."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # 0.3 s to import, and only pictures need it
    from matplotlib.figure import Figure

    panels: dict[str, list[Series]] = {}
    for line in series:
        panels.setdefault(line.title, []).append(line)
    width = NARROW if len(maps) == 1 and not series else WIDTH
    small_print = [line for note in notes for line in wrap(note, round(width * 14.5))]
    columns = min(len(maps), COLUMNS) if len(maps) != 4 else 2
    rows = -(-len(maps) // columns) if maps else 0
    head, foot = 0.6, 0.25 + 0.19 * len(small_print)
    map_height = rows * (_map_height(maps, width / columns) if maps else 0.0)
    heights = [height for height in (map_height, 2.1 * len(panels)) if height]
    total = head + foot + sum(heights)

    figure = Figure(figsize=(width, total), dpi=DOTS, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0.012, foot / total, 0.976, 1.0 - (head + foot) / total), hspace=0.04, wspace=0.04)  # type: ignore[call-arg]
    figure.text(0.018, 1.0 - 0.24 / total, title, size=15, weight="bold", color=INK, va="top")
    for number, note in enumerate(small_print):
        figure.text(0.018, (foot - 0.16 - 0.19 * number) / total, note, size=8.5, color=FAINT, va="top")
    if heights:
        parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        if maps:
            _draw_maps(parts[0], maps, rows, columns)
        if panels:
            _draw_series(parts[-1], panels)
    figure.savefig(path, format="png")


def _map_height(maps: Sequence[Map], width: float) -> float:
    """Inches of a row of maps, each of them `width` wide with its ticks and colour bar: the tallest and its title."""
    ratios = [np.ptp(m.lat) / max(np.ptp(m.lon) * _squeeze(m), 1e-6) for m in maps]
    return float(min(max(0.7 * width * max(ratios), 1.5), 6.5)) + 0.75


def _squeeze(drawn: Map) -> float:
    """Length of a degree of longitude beside one of latitude in the middle of a map."""
    return float(np.cos(np.deg2rad((np.min(drawn.lat) + np.max(drawn.lat)) / 2.0)))


def _draw_maps(part: "SubFigure", maps: Sequence[Map], rows: int, columns: int) -> None:
    from cmcrameri import cm  # with matplotlib as slow to import, and only maps need it

    grid = part.subplots(rows, columns, squeeze=False)
    for axes in grid.ravel()[len(maps) :]:
        axes.set_visible(False)
    for axes, drawn in zip(grid.ravel(), maps, strict=False):
        c = drawn.colours
        style = {"cmap": _trimmed(getattr(cm, c.name), c.name), "vmin": c.low, "vmax": c.high}
        if np.ndim(drawn.values) == 1:
            image = axes.scatter(drawn.lon, drawn.lat, c=drawn.values, s=36, edgecolors=INK, linewidths=0.5, **style)
            axes.margins(0.1)
        else:
            image = axes.pcolormesh(drawn.lon, drawn.lat, np.ma.masked_invalid(drawn.values), shading="nearest", rasterized=True, **style)
            _draw_coast(axes, drawn)
        axes.set_facecolor(SEA)
        axes.set_aspect(1.0 / max(_squeeze(drawn), 0.1), anchor="NW")
        axes.set_title(fill(drawn.title, 108 // columns), size=11, color=INK, loc="left", pad=7)
        axes.set_title(_readable(drawn.units), size=8.5, color=FAINT, loc="right", pad=7)
        axes.xaxis.set_major_formatter(lambda x, _: _degrees(x, "E", "W"))
        axes.yaxis.set_major_formatter(lambda y, _: _degrees(y, "N", "S"))
        axes.locator_params(nbins=4, steps=[1, 2, 5, 10])
        _quiet(axes, grid=False)
        finite = drawn.values[np.isfinite(drawn.values)]
        below, above = bool((finite < c.low).any()), bool((finite > c.high).any())
        extend = ("both" if above else "min") if below else ("max" if above else "neither")
        bar = part.colorbar(image, ax=axes, shrink=0.82, aspect=24, pad=0.03, extend=extend, ticks=c.ticks())
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8.5, colors=INK, length=2.5, color=LINE)


def _trimmed(colours: "Colormap", name: str) -> "Colormap":
    """A colour map without its darkest fifth, in which the outline would drown; a diverging one as it is."""
    from matplotlib.colors import ListedColormap

    if name == DIFFERENCE:
        return colours
    ends = (0.0, 0.8) if name.endswith("_r") else (0.2, 1.0)
    return ListedColormap(colours(np.linspace(*ends, 256)))


def _draw_coast(axes: "Axes", drawn: Map) -> None:
    """The outline of the cells that have a value, along their edges."""
    from matplotlib.collections import LineCollection

    there = np.pad(np.isfinite(drawn.values), 1)
    lat, lon = (_edges(np.asarray(centres, dtype=np.float64)) for centres in (drawn.lat, drawn.lon))
    row, column = np.nonzero(there[1:, 1:-1] != there[:-1, 1:-1])
    flat = np.stack([np.stack([lon[column], lat[row]], -1), np.stack([lon[column + 1], lat[row]], -1)], 1)
    row, column = np.nonzero(there[1:-1, 1:] != there[1:-1, :-1])
    upright = np.stack([np.stack([lon[column], lat[row]], -1), np.stack([lon[column], lat[row + 1]], -1)], 1)
    axes.add_collection(LineCollection([*flat, *upright], colors=INK, linewidths=0.55, capstyle="round"))


def _edges(centres: Array) -> Array:
    half = (centres[1] - centres[0]) / 2.0 if centres.size > 1 else 0.5
    return np.append(centres - half, centres[-1] + half)


def _draw_series(part: "SubFigure", panels: dict[str, list[Series]]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    for axes, (title, lines) in zip(part.subplots(len(panels), 1, squeeze=False)[:, 0], panels.items(), strict=True):
        for colour, line in zip((CYCLE[i % len(CYCLE)] for i in range(len(lines))), lines, strict=True):
            moments = np.array([_moment(date) for date in line.dates])
            axes.plot(moments, line.values, color=colour, linewidth=1.3, label=line.label, solid_joinstyle="round")
        axes.set_title(title, size=11, color=INK, loc="left", pad=6)
        axes.set_ylabel(", ".join(dict.fromkeys(_readable(line.units) for line in lines)), size=9, color=FAINT)
        axes.margins(x=0.01)
        if all(np.nanmin(line.values, initial=np.inf) >= 0.0 for line in lines):
            axes.set_ylim(bottom=0.0)
        ticks = AutoDateLocator(minticks=5, maxticks=12)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(ticks)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(ticks, show_offset=False))  # type: ignore[no-untyped-call]
        _quiet(axes, grid=True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if any(line.label for line in lines):
            place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": len(lines)}
            axes.legend(**place, frameon=False, fontsize=9, labelcolor=INK, handlelength=1.4)


def _moment(date: Any) -> np.datetime64:
    """A date of any calendar on the axis of time: the same part of the same year."""
    if not hasattr(date, "calendar"):
        return np.datetime64(date, "s")
    begin, end = date.replace(month=1, day=1, hour=0), date.replace(year=date.year + 1, month=1, day=1, hour=0)
    first, last = np.datetime64(f"{date.year:04d}-01-01", "s"), np.datetime64(f"{date.year + 1:04d}-01-01", "s")
    return first + np.timedelta64(round((last - first).astype(int) * ((date - begin) / (end - begin))), "s")


def _quiet(axes: "Axes", grid: bool) -> None:
    """Thin grey frame and ticks: the data are what is looked at."""
    axes.tick_params(labelsize=8.5, colors=INK, color=LINE, length=2.5)
    for spine in axes.spines.values():
        spine.set_color(LINE)
        spine.set_linewidth(0.7)
    if grid:
        axes.grid(True, axis="y", color=SEA, linewidth=0.8)
        axes.set_axisbelow(True)


def _readable(units: str) -> str:
    """UDUNITS text as it is printed: raised exponents, a degree sign, nothing for a number without unit."""
    if units == "1":
        return ""
    raised = re.sub(r"(?<=[A-Za-z])-?\d+", lambda found: found[0].translate(_RAISED), units)
    return raised.replace("degC", "°C")


def _degrees(value: float, positive: str, negative: str) -> str:
    side = positive if value > 0 else negative if value < 0 else ""
    return f"{abs(value):g}°{side}"
