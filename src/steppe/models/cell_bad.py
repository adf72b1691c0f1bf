"""Bad cells of a cell model: what made a cell bad, at which step, with which value."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from steppe.kernels import STATE_NOT_FINITE
from steppe.models.cell_declaration import CellDeclaration
from steppe.models.cell_forcing import unpacked
from steppe.models.cell_piece import Bad, CellArrays
from steppe.models.contract import Status


def bad_status(declaration: CellDeclaration, arrays: CellArrays, first: Status) -> Status:
    """The number of bad cells, and the first one. first: as it was found; after a restore it is not known, and its value is NaN."""
    count = int(np.count_nonzero(arrays.codes))
    if not count:
        return Status()
    if first.count:
        return replace(first, count=count)
    bad = np.flatnonzero(arrays.codes)
    cell = int(bad[np.argmin(arrays.bad_steps[bad])])
    name, nan = _blamed(declaration, int(arrays.codes[cell])), float("nan")
    low, high = (declaration.variables[name].low, declaration.variables[name].high) if name in declaration.variables else (nan, nan)
    return Status(count, cell, int(arrays.bad_steps[cell]), name, nan, low, high)


def found_bad(
    declaration: CellDeclaration, code: int, bad: Bad, step_again: Callable[[Mapping[str, float]], Mapping[str, float]]
) -> Status:
    """The forcing or the state that made a cell bad.

    step_again: computes the step of this cell in Python: forcing of the step -> state after it. The cell is frozen as it was before.
    """
    forcing = {name: unpacked(bad.window, name)[0] for name in bad.window.names}
    name = _blamed(declaration, code)
    value = float(forcing.get(name, np.nan))
    if code == STATE_NOT_FINITE:
        new = step_again(forcing)
        name = next((n for n, v in new.items() if not np.isfinite(v)), max(new, key=lambda n: abs(new[n])))
        value = float(new[name])
    variable = declaration.variables[name]
    return Status(1, bad.cell, bad.step, name, value, variable.low, variable.high)


def _blamed(declaration: CellDeclaration, code: int) -> str:
    return "state" if code == STATE_NOT_FINITE else declaration.fields("Forcing")[code - 1]
