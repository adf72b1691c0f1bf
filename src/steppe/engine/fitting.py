"""Compares a run file with its model: a key that the model cannot use is refused by name."""

from typing import TYPE_CHECKING

import numpy as np

from steppe.errors import RunFileError
from steppe.models import Settable, leaves_out
from steppe.variable import Role

if TYPE_CHECKING:
    from steppe.engine.plan import Plan


def check_fits(plan: "Plan") -> None:
    """Refuses keys that the model of a run would ignore.

    Raises
    ------
    RunFileError
        A dtype that the model does not compute in, bad cells to be frozen where others read them, weather for a model without
        forcing, values for each cell of a parameter that is one number, or events for a model that cannot be set.
    """
    _check_dtype(plan)
    _check_bad_cells(plan)
    _check_weather(plan)
    _check_parameters(plan)
    _check_events(plan)


def _check_dtype(plan: "Plan") -> None:
    asked = plan.run.engine.dtype
    if asked and asked != plan.dtype:
        raise RunFileError(
            f'[engine] dtype is "{asked}", but model "{plan.model.name}" declares "{plan.dtype}". '
            "Remove dtype from the run file, or change the model."
        )


def _check_bad_cells(plan: "Plan") -> None:
    if plan.run.engine.on_bad_cell == "freeze" and plan.model.needs.neighbours:
        raise RunFileError(
            f'[engine] on_bad_cell is "freeze", but the cells of model "{plan.model.name}" read their neighbours, so a bad cell spreads. '
            'Write "stop".'
        )


def _check_weather(plan: "Plan") -> None:
    forcing = [name for name, v in plan.model.variables.items() if v.role is Role.FORCING]
    if plan.forcing is not None and not forcing:
        raise RunFileError(f'[forcing] is given, but model "{plan.model.name}" declares no forcing. Remove the [forcing] table.')
    needed = [name for name in forcing if plan.model.variables[name].initial is None]
    if plan.forcing is None and needed:
        raise RunFileError(
            f'Model "{plan.model.name}" declares the forcing {", ".join(needed)}, so its run needs weather. Give a [forcing] table.'
        )


def _check_parameters(plan: "Plan") -> None:
    single = [name for name, v in plan.model.variables.items() if v.role is Role.PARAMETER and not v.dims]
    for name in single:
        if np.ndim(plan.chosen.values[name]):
            raise RunFileError(
                f'[parameters] "{name}" differs from cell to cell, but model "{plan.model.name}" takes one number for the whole grid. '
                "Give one number."
            )
    for action in plan.actions:
        for name in action.values:
            if name in single and action.cells is not None:
                raise RunFileError(
                    f'[[event]] of {plan.clock.begin(action.step)} sets "{name}" in a region, but model "{plan.model.name}" takes '
                    "one number for the whole grid. Remove the region."
                )


def _check_events(plan: "Plan") -> None:
    if plan.actions and leaves_out(plan.model, Settable):
        raise RunFileError(
            f'[[event]] of {plan.clock.begin(plan.actions[0].step)} sets a variable, but model "{plan.model.name}" has no method `set`. '
            "Remove the event."
        )
    for action in plan.actions:
        for name in plan.of_weather.keys() & {*action.values}:
            raise RunFileError(
                f'[[event]] of {plan.clock.begin(action.step)} sets "{name}", but the weather holds it for every step. '
                "Change it there, or remove the event."
            )
