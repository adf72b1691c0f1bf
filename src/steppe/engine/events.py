"""The events of a run file: states, parameters and event inputs that are set before a step; and whether a model keeps what is set."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from steppe.array_types import Array
from steppe.clock import Clock
from steppe.engine.run_file import EventSection
from steppe.errors import GridError, ModelError, RequestError, RunFileError, nearest
from steppe.grid import Grid
from steppe.levels import parted
from steppe.models import Model
from steppe.variable import Role, Variables

ROUNDED = 1e-6  # part of a value by which a model may round it: float32


class Action(NamedTuple):
    """A change before step `step`: name -> value, for the packed `cells`; None: for all, so that a parameter stays one number."""

    step: int
    values: dict[str, float]
    cells: Array | None

    def apply(self, model: Model, index: Array | None) -> None:
        """Makes the change in the own cells `index` (n,), None: in all. A value that fits only beside another of the event waits for it.

        Raises
        ------
        ModelError
            A value that fits in no order.
        """
        waiting = dict(self.values)
        while waiting:
            refused: dict[str, ModelError] = {}
            for name, value in waiting.items():
                try:
                    cells = index if model.variables[parted(name)[0]].dims else None
                    model.set(name, value, cells)
                    expect_kept(model, name, value, cells)
                except ModelError as error:
                    refused[name] = error
            if len(refused) == len(waiting):
                raise next(iter(refused.values()))
            waiting = {name: waiting[name] for name in refused}


def calendar(sections: Sequence[EventSection], clock: Clock, steps: int, grid: Grid, variables: Variables) -> list[Action]:
    """The events of a run file in order of their dates.

    Raises
    ------
    RunFileError
        A date outside the run, a name that cannot be set, or a level that there is not.
    """
    actions = []
    for section in sections:
        step = clock.index(section.date)
        if not 0 <= step < steps:
            raise RunFileError(f"[[event]] date {section.date} is outside the run, {clock.begin(0)} to {clock.name(steps - 1)}.")
        for name, value in section.set.items():
            settable = {each for each, variable in variables.items() if variable.settable}
            if name not in variables or parted(name)[0] not in settable:
                raise RunFileError(f'[[event]] of {section.date} sets "{name}", which cannot be set.{nearest(name, settable)}')
            if variables[name].unfit(value).any():
                raise RunFileError(f'[[event]] of {section.date} sets "{name}" to {value:g}; it must be {variables[name].allowed}.')
        values = section.set if section.level is None else _on_level(section, variables)
        try:
            cells = None if section.region == "all" else grid.select(section.region)
        except GridError as error:
            raise RunFileError(f"[[event]] of {section.date}: {error}") from None
        actions.append(Action(step, values, cells))
    return sorted(actions, key=lambda action: action.step)


def _on_level(section: EventSection, variables: Variables) -> dict[str, float]:
    """The values that an event sets, for the level that it names."""
    assert section.level is not None
    try:
        return {variables.layer(name, section.level): value for name, value in section.set.items()}
    except RequestError as error:
        raise RunFileError(f"[[event]] of {section.date}: {error}") from None


def is_parameter(model: Model, name: str) -> bool:
    """True if this is the name of a parameter, or of a level of one."""
    variable = model.variables.get(parted(name)[0])
    return variable is not None and variable.role is Role.PARAMETER


def expect_kept(model: Model, name: str, value: float, index: Array | None) -> None:
    """Raises `ModelError` if this is a parameter, and no cell of it has the value that was set in the own cells `index` (None: in all)."""
    if is_parameter(model, name) and (index is None or len(index)):
        whole, level = parted(name)
        found = model.parameters.get(whole)
        found = found if found is None or level is None else found[level]
        if found is None or (np.size(found) and not np.isclose(found, value, ROUNDED, 0.0).any()):
            raise not_kept(model, name)


def not_kept(model: Model, name: str) -> ModelError:
    """The error of a parameter that `set` changes and `parameters` does not show: a continued run or a branch would not have it."""
    return ModelError(
        f'Parameter "{name}" of model "{model.name}" cannot be set: after its method `set` the attribute `parameters` must hold the new '
        "value. Change it there, too, so that a continued run has it."
    )
