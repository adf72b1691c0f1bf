"""Concentrations of one cell over time, a panel each, as PNG."""

from collections.abc import Mapping
from io import BytesIO

import numpy as np

from steppe.array_types import Floats

COLUMNS = 2
LINE = "#1b5e8c"


def draw_box(title: str, units: str, hours: Floats, values: Mapping[str, Floats]) -> bytes:
    """hours (times,); values: name -> (times,)."""
    from matplotlib.figure import Figure  # here and not above: it takes a quarter of a second

    columns = min(COLUMNS, len(values))
    rows = -(-len(values) // columns)
    figure = Figure(figsize=(5.5 * columns, 1.9 * rows + 0.6), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False, sharex=True).flat)
    for axes, (name, line) in zip(panels, values.items(), strict=False):
        power = int(np.floor(np.log10(line.max()))) if line.max() > 0.0 else 0
        axes.plot(hours, line / 10.0**power, color=LINE, linewidth=1.2)
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_ylabel(f"1e{power} {units}" if power else units, fontsize=8)
        axes.set_ylim(bottom=0.0)
        axes.margins(x=0.0)
        axes.grid(alpha=0.25)
    for axes in panels[len(values) :]:
        axes.set_visible(False)
    for axes in panels[-columns:]:
        axes.set_xlabel("hour since midnight of the first day", fontsize=9)
    figure.suptitle(f"{title}, one cell of air", fontsize=11)
    found = BytesIO()
    figure.savefig(found, format="png", dpi=120)
    return found.getvalue()
