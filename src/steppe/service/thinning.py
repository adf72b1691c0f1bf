"""Fewer steps of long series, so that a figure of them looks as with all: what was least and greatest is never lost."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def thinned(values: NDArray[Any], points: int) -> tuple[NDArray[np.int64], int]:
    """The steps that stay, about `points` of them, ascending, and into how many pieces all were cut. values: (steps, lines), NaN: missing.

    Of each piece every line keeps its least and greatest value and its first missing one; the first and the last step stay, too.
    """
    steps, lines = values.shape
    pieces = max(1, min(steps, points // (2 * lines)))
    edges = np.linspace(0, steps, pieces + 1).astype(np.int64)
    kept = [np.array([0, steps - 1])]
    for begin, end in pairwise(edges):
        part = values[begin:end]
        known = np.isfinite(part)
        some = np.flatnonzero(known.any(axis=0))
        there = part[:, some]
        inside = known[:, some]
        kept += [
            begin + np.where(inside, there, np.inf).argmin(axis=0),
            begin + np.where(inside, there, -np.inf).argmax(axis=0),
            begin + (~known).argmax(axis=0)[~known.all(axis=0)],
        ]
    return np.unique(np.concatenate(kept)), pieces
