"""A variable in some cells over many steps: from records many at once, otherwise step by step; missing steps have a reason."""

import time
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from steppe.api import array_of
from steppe.api.documents import ArrayHead
from steppe.api.query import LATEST, Along, MapQuery
from steppe.array_types import Array, Floats
from steppe.engine.branch import Branch
from steppe.engine.query_cache import Answer
from steppe.engine.uploads import cells_of
from steppe.errors import NotComputedError
from steppe.kernels.sums import columns, weighted_means

TURN = 0.1  # [s] of an answer; the client asks for the rest again, and branches step in between
NO_RECORD = 'No record of "{name}" holds these steps'


def series_of(on: Branch, query: MapQuery, along: Along, get: Callable[[MapQuery], Answer], area: Array) -> Answer:
    """Values (steps, cells) from the first of some steps on, as many as `TURN` allows; of a region (steps, 3): mean by area, min, max.

    Of a variable with levels the cells of the first level, then those of the second, and so on.

    query: with chosen cells. get: answers a query of one step. The head has `last`, the last step answered, and `missing`: first, last and
    reason.
    """
    name, region, again = query.name, along.region, along.again
    at, last = along.steps if along.steps != LATEST else (on.position.step, on.position.step)
    variable, cells = on.plan.variables[name], cells_of(query.chosen, on.plan.grid.n_cells)
    floating = variable.dtype if np.dtype(variable.dtype).kind == "f" else "float64"
    weights, begin = area[cells], time.monotonic()
    held = on.position.step - bool(on.position.seq)  # where the branch stands, a record may be older than the last change

    def recorded(rounded: bool = False) -> Array | None:
        return on.records_from(name, at, min(last, held), cells, rounded) if at <= held else None

    found: list[Array] = []
    missing: list[list[Any]] = []
    head: ArrayHead = {"variable": name, "units": variable.units}
    while at <= last and (not found or time.monotonic() - begin < TURN):
        block, why = recorded(), ""
        if block is None:
            try:
                said, body = get(replace(query, step=at, along=None))
                block = array_of(said, body).reshape(1, -1)
                if "rounded" in said:
                    head["rounded"] = said["rounded"]
            except NotComputedError:
                block = None if again else recorded(rounded=True)
                if block is not None:
                    head["rounded"] = "float32"
        if block is None:
            block = np.full((1, prod(on.plan.variables.leading(name)) * len(cells)), np.nan, floating)
            why = NO_RECORD.format(name=name) + (
                ", and computing them again takes too long or is not possible." if again else "; they may be computed again."
            )
            if missing and missing[-1][1] == at - 1:
                missing[-1][1] = at
            else:
                missing.append([at, at, why])
        block = block.reshape(len(block), -1)  # level by level
        block = block if why else block.astype(variable.dtype, copy=False)  # all steps of a series have one type
        found.append(of_region(block, weights) if region else block)
        at += len(block)
    values = np.concatenate(found)
    head["last"], head["missing"], head["shape"] = at - 1, missing, list(values.shape)
    head["dtype"], head["moved"] = values.dtype.newbyteorder("<").str, 0
    return head, np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def of_region(values: Array, weights: Array) -> Floats:
    """Mean by area, least and greatest of the cells of each row that have a value, (rows, 3); NaN where none has. values: (rows, cells)."""
    known = values.astype(np.float64)
    found = np.full((len(known), 3), np.nan)
    whole = np.isfinite(known).all(axis=1)
    rows: Sequence[tuple[Any, Any]] = [(np.flatnonzero(whole), slice(None))] if whole.any() else []
    for row, cells in [*rows, *(([row], np.isfinite(known[row])) for row in np.flatnonzero(~whole))]:
        there = np.ascontiguousarray(known[row][:, cells])
        if there.shape[1]:
            means = weighted_means(there, columns(np.arange(there.shape[1])), np.ascontiguousarray(weights[cells]))
            found[row, 1], found[row, 2] = there.min(axis=1), there.max(axis=1)
            found[row, 0] = np.clip(means, found[row, 1], found[row, 2])  # rounding may put the mean of equal values beside them
    return found
