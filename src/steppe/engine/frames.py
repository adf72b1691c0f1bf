"""Frames of the live socket, made of the levels that the ranks compute while viewers watch."""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

from steppe.api import empty_frame, tell_missing
from steppe.api.frame import KEY, LAST, RANGE
from steppe.api.query import MapQuery
from steppe.array_types import Integers
from steppe.clock import DAY, Clock
from steppe.engine.branch import Branch
from steppe.engine.few_bits import Made
from steppe.engine.plan import Plan
from steppe.engine.query_cut import cut_of
from steppe.errors import UnknownNameError
from steppe.grid import Grid, MapWindow, window_of
from steppe.view import fit_of, scale_of
from steppe.view.span import SHARES

SAMPLES, SAMPLING = 12, 0.3  # records of the past, and [s], from which a range of colours begins


def frames_of(
    branches: Sequence[Branch], query: MapQuery, bits: int, span: Sequence[object] | None
) -> tuple[list[object], Callable[[], memoryview]]:
    """The span of a frame of each branch, and a function that joins the frames, which may be called on another thread.

    query: the variable and the part of the map. span: that of the frames before, None for none.

    Raises
    ------
    Mistake
        There is no such variable, or it has no values at this step.
    """
    (first, *others), name = branches, query.name
    if name not in first.plan.variables:
        raise UnknownNameError(first.plan.variables.missing(name))
    first.plan.variables.expect_no_levels(name)
    made: Made = first.order("frames", query=query, bits=bits, span=span, beside=[each.state_id for each in others])
    flags = KEY | (RANGE if span is None or list(made.span[:2]) != list(span[:2]) else 0)
    steps = [each.position.step for each in branches]
    fit = fit_of(made.levels, made.span, bits)
    if len({*steps}) > 1:
        fit = fit[:2]  # a difference is of one date
    if span is None and query.box is None:
        fit = _with_records(fit, branches, name)
    made = made._replace(span=made.span._replace(fit=fit))
    return list(made.span), lambda: _joined(first.plan, query, bits, made, steps, flags)


def _joined(plan: Plan, query: MapQuery, bits: int, made: Made, steps: Sequence[int], flags: int) -> memoryview:
    window, places = _layout(cast(Any, plan.grid), query)
    places = np.arange(len(made.levels[0])) if places is None else places
    west, _, east, north = window.bounds
    scale, offset = scale_of(made.span, bits)
    cell, frames = (east - west) / window.shape[1], []
    for levels, step in zip(made.levels, steps, strict=True):
        head = west, north, cell, float(scale), float(offset), time_of(plan.clock, step), step
        content, where = empty_frame(bits, *window.shape, head)
        where[places] = levels
        last = LAST if step >= plan.steps else 0
        tell_missing(content, int(np.count_nonzero(levels == (1 << bits) - 2)), flags | last)
        frames.append(content)
    return (frames[0] if len(frames) == 1 else np.concatenate(frames)).data


def _with_records(fit: tuple[float, ...], branches: Sequence[Branch], name: str) -> tuple[float, ...]:
    """The member `fit` of a span, widened by that of past records, as many as the time allows."""
    begin = time.monotonic()
    ends = [fit[:2]] if fit else []
    for each in branches:
        for step in np.unique(np.linspace(1, max(each.position.step - 1, 1), SAMPLES).astype(int)):
            if time.monotonic() - begin > SAMPLING:
                break
            record = each.recorded(name, int(step))
            if record is not None and np.isfinite(record).any():
                values = record[np.isfinite(record)]
                low, high = np.percentile(values, [100 * share for share in SHARES])
                ends.append((float(low), float(high)) if low < high else (float(values.min()), float(values.max())))
    return (min(low for low, _ in ends), max(high for _, high in ends), *fit[2:]) if ends else fit


@lru_cache(64)
def _layout(grid: Grid, query: MapQuery) -> tuple[MapWindow, Integers | None]:
    """The part of the map in view, and the place of each level in it, None for one after the other."""
    cut = cut_of(query, grid, None)
    inside = None if query.box is None else grid.select({"box": list(query.box)})
    return window_of(grid, inside, query.width, query.height, query.stride, query.box), cut.seen if cut.reduce else cut.places


def time_of(clock: Clock, step: int) -> float:
    """The moment of so many steps [days since the start of the run]; the step itself of models without time."""
    return float(step) if clock.step is None else (clock.moment(step) - clock.start) / DAY
