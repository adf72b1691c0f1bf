"""One figure that reports a run: maps above, series below, notes at the foot."""

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill, shorten, wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from steppe.array_types import Array
from steppe.view.colour import DIFFERENCE, NO_ORIGIN, OTHER, SHADES, Colours, class_shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


WIDTH = 11.0  # [inch] of the figure; at 150 dots an inch as wide as a laptop's screen
NARROW = 7.0  # [inch] of a figure of one map alone
DOTS = 150
COLUMNS = 3  # maps beside each other
MARGIN = 0.1  # [inch] of the figure beside its maps
LEFT, RIGHT, ABOVE, BELOW = 0.44, 0.72, 0.36, 0.44  # [inch] about a map: latitudes, colours, title, longitudes
NAMES, LETTERS, ROW = 1.75, 20, 0.17  # [inch] right of a map of classes, letters of a name that fit there, [inch] a line of names
PANEL = 2.1  # [inch] height of a panel of lines
FEW = 4  # scenarios that have a colour and a name each in a panel

INK, FAINT, LINE, SEA = "#22282d", "#6b757d", "#b8c0c6", "#eceff1"
CYCLE = ("#1f5f8b", "#c2622d", "#3f8361", "#8a4f7d", "#a98a1f", "#5c6670")  # distinct in grey too, and for colour-blind eyes


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class MapPlot(NamedTuple):
    """One map. values (lat, lon), NaN where there is no land, or (points,); lat, lon: centres [degrees], rows from north or south.

    Where the colours are of classes, values are their numbers.

    projected: lat and lon are the y and x of a projection [m]. marks: (x, y) of places to mark. ends: least and greatest value for the
    ends of the colour bar; default: those of `values`.
    """

    title: str
    values: Array
    units: str
    lat: Array
    lon: Array
    colours: Colours
    projected: bool = False
    marks: Sequence[tuple[float, float]] = ()
    ends: tuple[float, float] | None = None


class LinePlot(NamedTuple):
    """One line over time; lines of one title share a panel. dates: cftime, datetime or datetime64, one for each value."""

    title: str
    dates: Sequence[object]
    values: Array
    units: str
    label: str = ""


class ScenarioBand(NamedTuple):
    """Lines of scenarios in one panel: each of them, their median, the band of 10 to 90 %. values (scenario, time), NaN where missing."""

    title: str
    dates: Sequence[object]
    values: Array
    units: str
    scenarios: Sequence[str]


def draw_run(path: Path, title: str, maps: Sequence[MapPlot], series: Sequence[LinePlot | ScenarioBand], notes: Sequence[str]) -> None:
    """Draws a PNG file: a title, maps of equal size, a panel for each title of `series`, and a line for each note.

    All places are given in inches: the automatic layout of matplotlib takes as long as drawing.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # 0.3 s to import, and only pictures need it
    from matplotlib.figure import Figure

    panels: dict[str, list[LinePlot | ScenarioBand]] = {}
    for line in series:
        panels.setdefault(line.title, []).append(line)
    width = NARROW if len(maps) == 1 and not series else WIDTH
    small_print = [line for note in notes for line in wrap(note, round(width * 14.5))]
    columns = min(len(maps), COLUMNS) if len(maps) != 4 else 2
    rows = -(-len(maps) // columns) if maps else 0
    cell = _cell(maps, (width - 2 * MARGIN) / columns) if maps else (0.0, 0.0)
    head, foot = 0.62, 0.22 + 0.19 * len(small_print)
    total = head + rows * cell[1] + len(panels) * PANEL + foot

    figure = Figure(figsize=(width, total), dpi=DOTS, facecolor="white")
    FigureCanvasAgg(figure)
    figure.text(0.2 / width, 1.0 - 0.24 / total, title, size=15, weight="bold", color=INK, va="top")
    for number, note in enumerate(small_print):
        figure.text(0.2 / width, (foot - 0.12 - 0.19 * number) / total, note, size=8.5, color=FAINT, va="top")
    for number, drawn in enumerate(maps):
        row, column = divmod(number, columns)
        corner = (MARGIN + column * (width - 2 * MARGIN) / columns, total - head - row * cell[1])
        draw_map(figure, drawn, corner, cell, columns)
    for number, lines in enumerate(panels.values()):
        _draw_series(figure, lines, total - head - rows * cell[1] - number * PANEL)
    figure.savefig(path, format="png")


def _axes(figure: "Figure", left: float, bottom: float, width: float, height: float) -> "Axes":
    """Axes at a place in inches."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _cell(maps: Sequence[MapPlot], width: float) -> tuple[float, float]:
    """Width of the frame and total height of a map, in inches, for the tallest map."""
    frame = width - LEFT - right(maps)
    tallest = max(tallness(m) for m in maps)
    return frame, float(min(max(frame * tallest, 1.2), 6.5)) + ABOVE + BELOW


def right(maps: Sequence[MapPlot]) -> float:
    """The room in inches right of each map: for the numbers of colours, or the names of classes."""
    return NAMES if any(m.colours.classes for m in maps) else RIGHT


def tallness(drawn: MapPlot) -> float:
    """Ratio of height to width of a drawn map."""
    return float(np.ptp(drawn.lat) / max(np.ptp(drawn.lon) * _squeeze(drawn), 1e-6))


def _squeeze(drawn: MapPlot) -> float:
    """Ratio of a degree of longitude to one of latitude in the middle of a map."""
    if drawn.projected:
        return 1.0
    return max(float(np.cos(np.deg2rad((np.min(drawn.lat) + np.max(drawn.lat)) / 2.0))), 0.1)


def draw_map(
    figure: "Figure", drawn: MapPlot, corner: tuple[float, float], cell: tuple[float, float], columns: int
) -> "PathCollection | AxesImage":
    """Draws a map with its upper left corner at a place in inches; returns the artist, whose `set_array` takes other `shown` values.

    cell: width of its frame, total height.
    """
    c, values = drawn.colours, shown(drawn.values, drawn.colours)
    style: dict[str, Any] = {"cmap": _colour_map(c), "vmin": c.low, "vmax": c.high}
    left, height = corner[0] + LEFT, cell[1] - ABOVE - BELOW
    axes = _axes(figure, left, corner[1] - ABOVE - height, cell[0], height)
    axes.set_aspect(1.0 / _squeeze(drawn), anchor="NW")
    if np.ndim(drawn.values) == 1:
        image: PathCollection | AxesImage = axes.scatter(drawn.lon, drawn.lat, c=values, s=36, edgecolors=INK, linewidths=0.5, **style)
        axes.margins(0.1)
    else:
        _draw_coast(axes, drawn)
        south_first = bool(drawn.lat[0] < drawn.lat[-1])
        lat, lon = _edges(drawn)
        style |= {"extent": [lon[0], lon[-1], lat.min(), lat.max()], "origin": "lower" if south_first else "upper"}
        image = axes.imshow(values, interpolation="nearest", aspect=axes.get_aspect(), **style)
    for x, y in drawn.marks:
        axes.plot(x, y, marker="o", markersize=6, markerfacecolor="white", markeredgecolor=INK, markeredgewidth=1.4)
    axes.set_facecolor(SEA)
    axes.apply_aspect()  # it may become smaller than its place, where the map is of another shape than the tallest
    axes.set_title(fill(drawn.title, 108 // columns), size=11, color=INK, loc="left", pad=7)
    axes.set_title(_readable(drawn.units), size=8.5, color=FAINT, loc="right", pad=7)
    axes.xaxis.set_major_formatter((lambda x, _: f"{x / 1000:g} km") if drawn.projected else (lambda x, _: degrees(x, "E", "W")))
    axes.yaxis.set_major_formatter((lambda y, _: f"{y / 1000:g}") if drawn.projected else (lambda y, _: degrees(y, "N", "S")))
    axes.locator_params(nbins=4, steps=[1, 2, 5, 10])
    _quiet(axes, grid=False)
    if c.classes:
        _draw_names(figure, axes, drawn)
    else:
        _draw_bar(figure, axes, image, drawn)
    return image


def shown(values: Array, colours: Colours) -> Array:
    """The values that an artist has: those of the colours, masked where there is none."""
    return np.ma.masked_invalid(class_shades(values, colours.classes) if colours.classes else values)


def _draw_names(figure: "Figure", axes: "Axes", drawn: MapPlot) -> None:
    """The colour and name of each class that the map has; of a film of each that the variable has. What has no room is counted."""
    from matplotlib.patches import Patch

    classes, box = drawn.colours.classes, axes.get_position()
    there = set(np.unique(drawn.values[np.isfinite(drawn.values)]).tolist())
    named = {number: classes[number] for number in sorted(classes) if drawn.ends or number in there}
    rows = [*zip(class_shades(list(named), classes).astype(int), named.values(), strict=True)]
    rows += [(OTHER, "other numbers")] if there - set(classes) else []
    names = [Patch(color=SHADES[shade], label=shorten(name, LETTERS, placeholder="...")) for shade, name in rows]
    most = max(int(box.height * figure.get_figheight() / ROW), 2)
    if len(names) > most:
        names[most - 1 :] = [Patch(alpha=0.0, label=f"and {len(names) - most + 1} more")]
    look = {"fontsize": 8.5, "labelcolor": INK, "frameon": False, "labelspacing": 0.35, "handlelength": 1.1, "handleheight": 1.0}
    corner = (box.x1 + 0.05 / figure.get_figwidth(), box.y1)
    axes.legend(handles=names, loc="upper left", bbox_to_anchor=corner, bbox_transform=figure.transFigure, borderaxespad=0.0, **look)


def _draw_bar(figure: "Figure", axes: "Axes", image: "PathCollection | AxesImage", drawn: MapPlot) -> None:
    """The bar of colours beside a map; its ends are pointed where values lie beyond."""
    c, box = drawn.colours, axes.get_position()
    finite = drawn.values[np.isfinite(drawn.values)]
    least, greatest = drawn.ends or (finite.min(initial=c.low), finite.max(initial=c.high))
    below, above = bool(least < c.low), bool(greatest > c.high)
    extend = ("both" if above else "min") if below else ("max" if above else "neither")
    beside = figure.add_axes(
        (box.x1 + 0.09 / figure.get_figwidth(), box.y0 + 0.06 * box.height, 0.13 / figure.get_figwidth(), 0.88 * box.height)
    )
    bar = figure.colorbar(image, cax=beside, extend=extend, ticks=c.ticks())
    bar.outline.set_visible(False)
    beside.tick_params(labelsize=8.5, colors=INK, length=2.5, color=LINE)


def _colour_map(c: Colours) -> "Colormap":
    """A colour map without its darkest fifth, which would hide the outline; a diverging one, a chosen one and classes unchanged."""
    from cmcrameri import cm  # with matplotlib as slow to import, and only maps need it
    from matplotlib.colors import ListedColormap

    if c.classes:
        return ListedColormap(SHADES)
    colours: Colormap = getattr(cm, c.name)
    if c.whole or c.name == DIFFERENCE:
        return colours
    ends = (0.0, 0.8) if c.name.endswith("_r") else (0.2, 1.0)
    return ListedColormap(colours(np.linspace(*ends, 256)))


def _draw_coast(axes: "Axes", drawn: MapPlot) -> None:
    """The outline of the cells that have a value, along their edges."""
    from matplotlib.collections import LineCollection

    there = np.pad(np.isfinite(drawn.values), 1)
    lat, lon = _edges(drawn)
    row, column = np.nonzero(there[1:, 1:-1] != there[:-1, 1:-1])
    flat = np.stack([np.stack([lon[column], lat[row]], -1), np.stack([lon[column + 1], lat[row]], -1)], 1)
    row, column = np.nonzero(there[1:-1, 1:] != there[1:-1, :-1])
    upright = np.stack([np.stack([lon[column], lat[row]], -1), np.stack([lon[column], lat[row + 1]], -1)], 1)
    axes.add_collection(LineCollection([*flat, *upright], colors=INK, linewidths=0.55, capstyle="round"))


def _edges(drawn: MapPlot) -> tuple[Array, Array]:
    """Edges of the rows and of the columns of a map; a single row is as high as its columns are wide."""
    lat, lon = (np.asarray(centres, np.float64) for centres in (drawn.lat, drawn.lon))
    high, wide = ((axis[1] - axis[0]) / 2.0 if axis.size > 1 else 0.0 for axis in (lat, lon))
    high, wide = high or abs(wide) or 0.5, wide or abs(high) or 0.5
    return np.append(lat - high, lat[-1] + high), np.append(lon - wide, lon[-1] + wide)


def _draw_series(figure: "Figure", lines: list[LinePlot | ScenarioBand], top: float) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    axes = _axes(figure, 0.75, top - PANEL + 0.32, figure.get_figwidth() - 0.75 - 0.25, PANEL - 0.32 - 0.38)
    for colour, line in zip((CYCLE[i % len(CYCLE)] for i in range(len(lines))), lines, strict=True):
        moments = np.array([_moment(date) for date in line.dates])
        if isinstance(line, ScenarioBand):
            _draw_spread(axes, line, moments)
        else:
            axes.plot(moments, line.values, color=colour, linewidth=1.3, label=line.label, solid_joinstyle="round")
    axes.set_title(lines[0].title, size=11, color=INK, loc="left", pad=6)
    axes.set_ylabel(", ".join(dict.fromkeys(_readable(line.units) for line in lines)), size=9, color=FAINT)
    axes.yaxis.set_label_coords(-0.5 / (figure.get_figwidth() - 1.0), 0.5)
    axes.margins(x=0.01)
    if all(line.units not in NO_ORIGIN and np.nanmin(line.values, initial=np.inf) >= 0.0 for line in lines):
        axes.set_ylim(bottom=0.0)
    ticks = AutoDateLocator(minticks=5, maxticks=12)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(ticks)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(ticks, show_offset=False))  # type: ignore[no-untyped-call]
    _quiet(axes, grid=True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    labelled = len(axes.get_legend_handles_labels()[1])
    if labelled:
        place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": labelled}
        axes.legend(**place, frameon=False, fontsize=9, labelcolor=INK, handlelength=1.4)


def _draw_spread(axes: "Axes", drawn: ScenarioBand, moments: Array) -> None:
    """Draws scenarios: each with a colour and a name if they are few, otherwise in grey behind median and band."""
    few = len(drawn.scenarios) <= FEW
    for i, (name, values) in enumerate(zip(drawn.scenarios, drawn.values, strict=True)):
        style: dict[str, Any] = {"color": CYCLE[i + 1], "linewidth": 1.0} if few else {"color": LINE, "linewidth": 0.6}
        label = name if few else f"{len(drawn.scenarios):,} scenarios" if i == 0 else None
        axes.plot(moments, values, label=label, **style)
    low, median, high = quantiles(drawn.values)
    axes.fill_between(moments, low, high, color=CYCLE[0], alpha=0.2, linewidth=0.0, label="10 to 90 %", zorder=1.5 if few else 2.5)
    axes.plot(moments, median, color=CYCLE[0], linewidth=1.8, label="median", solid_joinstyle="round", zorder=3.0)


def quantiles(values: Array) -> Array:
    """The 0.1, 0.5 and 0.9 quantiles over scenarios, (3, ...) of values (scenario, ...), without missing values; NaN without any."""
    flat = values.reshape(len(values), -1)
    there = np.isfinite(flat).any(axis=0)
    found = np.full((3, flat.shape[1]), np.nan)
    if there.any():
        found[:, there] = np.nanquantile(flat[:, there], (0.1, 0.5, 0.9), axis=0)
    return found.reshape(3, *values.shape[1:])


def _moment(date: Any) -> np.datetime64:
    """A date of any calendar on the time axis: the same fraction of the same year."""
    if not hasattr(date, "calendar"):
        return np.datetime64(date, "s")
    begin = date.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    end = begin.replace(year=date.year + 1)
    first, last = np.datetime64(f"{date.year:04d}-01-01", "s"), np.datetime64(f"{date.year + 1:04d}-01-01", "s")
    return first + np.timedelta64(round((last - first).astype(int) * ((date - begin) / (end - begin))), "s")


def _quiet(axes: "Axes", grid: bool) -> None:
    """Draws a thin grey frame and ticks."""
    axes.tick_params(labelsize=8.5, colors=INK, color=LINE, length=2.5)
    for spine in axes.spines.values():
        spine.set_color(LINE)
        spine.set_linewidth(0.7)
    if grid:
        axes.grid(True, axis="y", color=SEA, linewidth=0.8)
        axes.set_axisbelow(True)


def _readable(units: str) -> str:
    """UDUNITS text for print: raised exponents, a degree sign, empty for a number without unit."""
    if units == "1":
        return ""
    raised = re.sub(r"(?<=[A-Za-z])-?\d+", lambda found: found[0].translate(_RAISED), units)
    return raised.replace("degC", "°C")


def degrees(value: float, positive: str, negative: str) -> str:
    """A latitude or longitude with the letter of its side; 0 has none."""
    side = positive if value > 0 else negative if value < 0 else ""
    return f"{abs(value):g}°{side}"
