"""Whether a model keeps a parameter that is set: what `parameters` does not show is lost when a run is continued, or a branch begins."""

import numpy as np

from steppe.array_types import Array
from steppe.errors import ModelError
from steppe.levels import parted
from steppe.models import Model
from steppe.variable import Role


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
        if found is None or (np.size(found) and not np.any(found == value)):
            raise not_kept(model, name)


def not_kept(model: Model, name: str) -> ModelError:
    """The error of a parameter that the method `set` changes and the attribute `parameters` does not show."""
    return ModelError(
        f'Parameter "{name}" of model "{model.name}" cannot be set: after its method `set` the attribute `parameters` must hold the new '
        "value. Change it there, too, so that a continued run has it."
    )
