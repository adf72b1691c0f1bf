"""A picture of the work of ranks and their threads over time: a row each, a colour for each kind of work.

A point of the picture has the mean colour of the work in its time, so any number of spans can be drawn and none is lost.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steppe.array_types import Array, Floats
from steppe.timeline import KINDS, Spans, seconds
from steppe.view.plot import DOTS, FAINT, INK, LINE, SEA, WIDTH

COLOURS = {
    "compute": "#1f5f8b",
    "wait": "#d9b3a2",
    "read": "#3f8361",
    "decode": "#a98a1f",
    "write": "#8a4f7d",
    "exchange": "#c2622d",
}
LEFT, RIGHT, ABOVE, BELOW = 1.75, 0.95, 0.95, 0.5  # [inch] about the rows: names, busy parts, title and legend, time
TALLEST, LOWEST = 0.3, 0.06  # [inch] of a row
MOST = 12.0  # [inch] of all rows, where their number allows it
READABLE = 0.14  # [inch] of a row: below it only ranks have names


def draw_timeline(path: Path, title: str, ranks: Sequence[Spans]) -> None:
    """Draws a PNG file with a row for each thread with work, and at its right the kind that took most of its time.

    The legend shows the part of each kind in the time of all spans.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows = [(rank, name, values) for rank, spans in enumerate(ranks) for name, values in spans.items() if values.size]
    end = max((float(values["end"].max()) for _, _, values in rows), default=1.0)
    row = min(max(MOST / max(len(rows), 1), LOWEST), TALLEST)
    height = ABOVE + row * max(len(rows), 1) + BELOW
    figure = Figure(figsize=(WIDTH, height), dpi=DOTS, facecolor="white")
    FigureCanvasAgg(figure)
    figure.text(0.2 / WIDTH, 1.0 - 0.2 / height, title, size=14, weight="bold", color=INK, va="top")
    across = WIDTH - LEFT - RIGHT
    axes = figure.add_axes((LEFT / WIDTH, BELOW / height, across / WIDTH, (height - ABOVE - BELOW) / height))

    edges = np.linspace(0.0, end, round(across * DOTS) + 1)
    parts = np.array([_parts(values, edges) for _, _, values in rows]).reshape(len(rows), len(KINDS), len(edges) - 1)
    colours = np.array([to_rgb(COLOURS[kind]) for kind in KINDS])
    picture = np.einsum("rkt,kc->rtc", parts, colours) + np.clip(1.0 - parts.sum(axis=1), 0.0, 1.0)[..., None] * to_rgb(SEA)
    if rows:
        axes.imshow(np.clip(picture, 0.0, 1.0), aspect="auto", interpolation="nearest", extent=(0.0, end, len(rows), 0.0))
    for k in range(1, len(rows)):
        thick = rows[k][0] != rows[k - 1][0]
        axes.axhline(k, color="white", linewidth=1.6 if thick else 0.5)

    named = [k for k in range(len(rows)) if row >= READABLE or k == 0 or rows[k][0] != rows[k - 1][0]]
    labels = [f"rank {rows[k][0]}  {rows[k][1]}" if row >= READABLE else f"rank {rows[k][0]}" for k in named]
    every = max(1, round(READABLE * len(named) / max(row * len(rows), 1e-9))) if named else 1
    axes.set_yticks([k + 0.5 for k in named[::every]], labels[::every], size=8, color=FAINT)
    if row >= READABLE:
        for k in range(len(rows)):
            mean = parts[k].mean(axis=1)
            most = f"{100.0 * mean.max():.0f} % {KINDS[int(mean.argmax())]}"
            axes.text(end * 1.008, k + 0.5, most, size=8, color=FAINT, va="center", clip_on=False)
    axes.set_xlabel("seconds", size=9, color=FAINT)
    axes.tick_params(axis="x", labelsize=8, labelcolor=FAINT, color=LINE)
    axes.tick_params(axis="y", length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    totals = [seconds(spans) for spans in ranks]
    whole = {kind: sum(total[kind] for total in totals) for kind in KINDS}
    spent = sum(whole.values()) or 1.0
    handles = [Patch(color=COLOURS[kind], label=f"{kind} {100.0 * whole[kind] / spent:.1f} %") for kind in KINDS]
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.2 / WIDTH, 1.0 - 0.46 / height), "borderaxespad": 0.0}
    figure.legend(handles=[*handles, Patch(color=SEA, label="nothing")], ncols=len(KINDS) + 1, frameon=False, fontsize=8.5, **place)
    figure.savefig(path, format="png")


def _parts(values: Array, edges: Floats) -> Floats:
    """The part of each kind in the time between two edges, (kinds, edges - 1)."""
    found = np.zeros((len(KINDS), len(edges) - 1))
    for kind in range(len(KINDS)):
        mine = values[values["kind"] == kind]
        if mine.size:
            knots = np.stack([mine["begin"], mine["end"]], axis=1).ravel()
            spent = np.repeat(np.concatenate([[0.0], np.cumsum(mine["end"] - mine["begin"])]), 2)[1:-1]
            found[kind] = np.diff(np.interp(edges, knots, spent)) / np.diff(edges)
    return found
