"""The summary of an object in a notebook: a title, facts, perhaps how far it is, a small map, and tables to open.

Colours are those of the page about it, so that a card is at home in a light and in a dark notebook; nothing is loaded from anywhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

WIDEST = 72  # columns of a small map, at most
STYLE = """<style>
.steppe-card{display:inline-flex;gap:20px;align-items:flex-start;max-width:100%;box-sizing:border-box;padding:10px 16px 12px;
border:1px solid color-mix(in srgb,currentColor 25%,transparent);border-radius:6px;font-family:system-ui,sans-serif;font-size:13px;
line-height:1.45}
.steppe-card *{box-sizing:border-box}
.steppe-card b.title{display:block;font-size:14px;margin-bottom:4px}
.steppe-card table{border-collapse:collapse;margin:0;background:none;font-size:inherit}
.steppe-card tr,.steppe-card td,.steppe-card th{background:none!important;border:0;text-align:left;
vertical-align:top;padding:1px 14px 1px 0;
font-weight:400;white-space:normal}
.steppe-card th{opacity:.65;white-space:nowrap}
.steppe-card .bar{height:5px;border-radius:3px;margin:3px 0 6px;background:color-mix(in srgb,currentColor 15%,transparent)}
.steppe-card .bar i{display:block;height:100%;border-radius:3px;background:#3f8361}
.steppe-card svg{flex:none;fill:#3f8361}
.steppe-card summary{cursor:pointer;opacity:.8;margin-top:4px}
</style>"""


def html_summary(
    title: str,
    facts: Mapping[str, object],
    part: float | None = None,
    active: NDArray[np.bool_] | None = None,
    tables: Mapping[str, Iterable[Sequence[str]]] | None = None,
) -> str:
    """The HTML of a card.

    Parameters
    ----------
    facts
        Words -> what is to be said, as text.
    part
        How much is done, 0 to 1.
    active
        A raster (rows from the north, columns) of which a small map is drawn.
    tables
        Heading -> rows of texts, folded until the user opens them.
    """
    rows = "".join(f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in facts.items())
    bar = "" if part is None else f'<div class="bar"><i style="width:{100 * part:.1f}%"></i></div>'
    folded = "".join(_folded(name, list(lines)) for name, lines in (tables or {}).items())
    text = f'<div><b class="title">{escape(title)}</b>{bar}<table>{rows}</table>{folded}</div>'
    return f'{STYLE}<div class="steppe-card">{text}{"" if active is None else _map(active)}</div>'


def _folded(name: str, lines: list[Sequence[str]]) -> str:
    rows = "".join("<tr>" + "".join(f"<td>{escape(str(text))}</td>" for text in line) + "</tr>" for line in lines)
    return f"<details><summary>{escape(name)} ({len(lines)})</summary><table>{rows}</table></details>"


def _map(active: NDArray[np.bool_]) -> str:
    """The active cells of a raster, a few thousand bytes for any size."""
    stride = -(-max(active.shape) // WIDEST)
    first = [min(stride // 2, length - 1) for length in active.shape]
    coarse = active[first[0] :: stride, first[1] :: stride]
    height, width = coarse.shape
    parts = []
    for y, row in enumerate(coarse):
        edges = np.flatnonzero(np.diff(np.pad(row.astype(np.int8), 1)))
        parts += [f"M{begin} {y}h{end - begin}v1h{begin - end}z" for begin, end in edges.reshape(-1, 2)]
    scale = 96 / max(height, width)
    size = f'width="{width * scale:.1f}" height="{height * scale:.1f}" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="active cells"><path d="{"".join(parts)}"/></svg>'
