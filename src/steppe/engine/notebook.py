"""The faces of a `Simulation` in Python: maps as xarray, the facts of its summary, errors, and the steps to which it goes back."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from steppe.array_types import Array
from steppe.clock import Clock
from steppe.engine.outputs import Outputs
from steppe.engine.plan import Plan
from steppe.errors import FinishedError, GridError, RequestError
from steppe.given import Day, check_steps, moment_text
from steppe.grid import Grid
from steppe.levels import LevelArray
from steppe.variable import Variable

if TYPE_CHECKING:
    import xarray


def labelled(
    values: Array, variable: Variable, grid: Grid, clock: Clock, step: int, levels: Mapping[str, LevelArray]
) -> "xarray.DataArray":
    """A map with coordinates, unit and date, of values ([levels,] cells) after so many steps. levels: their coordinate, or that of one."""
    import xarray

    dims = tuple(grid.shape)
    labels: dict[str, object] = {
        label: (dims[-1] if label.startswith("cell_") else label, coordinate)
        for label, coordinate in grid.coordinates().items()
        if label in dims or (len(dims) == 1 and label.startswith("cell_"))
    }
    labels["time"] = clock.label(step)
    for name, coordinate in levels.items():
        dims, labels[name] = (*coordinate.dims, *dims), coordinate
    return xarray.DataArray(grid.unpack(values), labels, dims, variable.name, variable.attributes())


def pixels(grid: Grid, width: int | None) -> tuple[int, int] | None:
    """Width and height of an image of a raster whose rows have `width` pixels; None: one pixel a cell.

    Raises
    ------
    GridError
        The grid is no raster, or `width` is not possible.
    """
    if grid.active.ndim != 2:
        raise GridError("An image is of a raster; these are points. Take get() for their values.")
    height, cells = grid.active.shape
    columns = cells if width is None else width
    if not 1 <= columns <= cells:
        raise GridError(f"An image of this grid is 1 to {cells} pixels wide, {columns} were asked for.")
    return None if columns == cells else (columns, max(1, round(height * columns / cells)))


def facts(plan: Plan, outputs: Outputs, folder: Path, step: int) -> dict[str, str]:
    """The facts of the summary of a run."""
    recorded = dict.fromkeys(output.variable.name for group in outputs.groups for output in group.outputs)
    found = {
        f"next {plan.clock.unit}": "none, it is finished" if step >= plan.steps else plan.clock.begin(step),
        f"{plan.clock.unit}s": f"{step:,} of {plan.steps:,}",
        "cells": f"{plan.grid.n_cells:,}",
        "run folder": str(folder),
        "records": ", ".join(recorded) or "none",
    }
    return found | ({"weather": "generated"} if plan.provenance["weather"] == "generated" else {})


def finished(plan: Plan, folder: Path) -> FinishedError:
    """The error of an order to a run at its last step."""
    return FinishedError(
        f'The run "{folder}" is already at its last step, {plan.steps} ({plan.clock.name(plan.steps - 1)}). Start it again with '
        "fresh=True. To branch from a date, serve the run with `steppe serve`, connect, and call "
        'run.branch("name", at="DATE").'
    )


def no_past(folder: Path) -> RequestError:
    """The error of a script that asks for the values of a past date."""
    return RequestError(
        f'A script has the values of the last step alone. steppe.open("{folder}") has what the run recorded, and rewind("DATE") goes back.'
    )


def end_of_step(n: int | None, until: Day | None, plan: Plan, here: int) -> int:
    """The step that `step` is to reach, within the run. here: where the run stands.

    Raises
    ------
    RequestError
        `n` is no whole number, or less than 1; both are given; the date is past.
    RunFileError
        The date is outside the run.
    """
    if until is None:
        check_steps(n := 1 if n is None else n, "n")
        return min(here + int(n), plan.steps)
    if n is not None:
        raise RequestError("step takes a number of steps or until=, not both. Leave one of them away.")
    date = moment_text(until)
    if (step := plan.step_after(date)) < here:
        last = plan.clock.name(here - 1)
        raise RequestError(f'{date} is past: the run is computed up to {last}. Give a later date, or go back with rewind("{date}").')
    return step


def earlier_step(to: int | Day, clock: Clock, here: int) -> int:
    """The step that a run is to go back to, by its number or its date. here: where the run stands.

    Raises
    ------
    RequestError
        The run has not reached it, it is a date from before the first step, or a number that is not whole.
    """
    if isinstance(to, bool | float | np.floating):
        raise RequestError(f"rewind(to) takes a whole number of steps, or a date; to is {to!r}.")
    if isinstance(to, int | np.integer):
        step, least, what = int(to), 0, f"step {to}"
    else:
        what = moment_text(to)
        step, least = clock.done(what), clock.least_done(what)
    if least <= step <= here:
        return step
    dates = f"a date from {clock.name(0)} to {clock.name(here - 1)}, or " if here and clock.step else ""
    raise RequestError(
        f"The run cannot go back to {what}: it stands at step {here}. Give {dates}a number of steps from 0, the initial state, to {here}."
    )
