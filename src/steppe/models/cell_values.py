"""Values that a caller gives to a cell model, checked against its declarations."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from steppe.array_types import Floats
from steppe.errors import ModelError, RangeError, UnknownNameError, nearest
from steppe.variable import Variable


def check_known(names: Iterable[str], known: Iterable[str], model: str, kind: str) -> None:
    """Raises `UnknownNameError` for the first name that the model does not know. kind: "state", "parameter", "variable"."""
    known = list(known)
    for name in names:
        if name not in known:
            raise UnknownNameError(f'{model} has no {kind} "{name}".{nearest(name, known)}')


def checked_values(variable: Variable, value: ArrayLike | None, cells: int, model: str, limited: bool = True) -> Floats:
    """Returns a value as float64, 0-d or (cells,).

    limited: it must lie within its limits.

    Raises
    ------
    ModelError
        There is no value, or it has another shape.
    RangeError
        A number lies outside the limits of its variable, or is not finite.
    """
    if value is None:
        raise ModelError(f'{model}: "{variable.name}" has no value. Give one; {variable.long_name} in {variable.units}.')
    values = np.array(value, np.float64)
    if values.shape not in ((), (cells,)):
        raise ModelError(f'"{variable.name}" has the shape {values.shape}. Give one number or {cells} of them.')
    if limited and (wrong := variable.unfit(values)).any():
        where = f" in cell {np.argmax(wrong)}" if values.ndim else ""
        raise RangeError(variable.refusal(values[wrong].flat[0], where))
    return values
