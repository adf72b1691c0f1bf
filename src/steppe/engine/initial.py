"""The state at the first step: the model's own, numbers for all cells, a store, or the end of another run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ModelError, RunFileError, nearest
from steppe.grid import Grid
from steppe.io import Checkpoint, read_static
from steppe.variable import Role, Variable

State = dict[str, float | NDArray[np.float64]]


def initial_state(table: Mapping[str, Any], variables: Mapping[str, Variable], grid: Grid) -> State:
    """Reads [initial]: `state = "default"` or a checkpoint folder of a run on the same grid; any field as a number or from a store.

    Raises
    ------
    RunFileError
        An unknown field, a value of the wrong kind, or a checkpoint of another grid or model.
    ModelError
        A value outside its limits.
    """
    known = {name: v for name, v in variables.items() if v.role is Role.STATE}
    found: State = {}
    for key, value in table.items():
        if key == "state":
            if value != "default":
                found.update(_from_checkpoint(Path(value), known, grid))
        elif key not in known:
            raise RunFileError(f'[initial] "{key}" is no state of the model.{nearest(key, [*known, "state"])}')
        elif isinstance(value, dict) and set(value) == {"store", "variable"}:
            found[key] = read_static(Path(value["store"]), value["variable"], grid)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[key] = float(value)
        else:
            raise RunFileError(f'[initial] "{key}" = {value!r} must be a number or {{ store = "state.zarr", variable = "name" }}.')
    for name, start in found.items():
        low, high = known[name].low, known[name].high
        if not bool(np.all((np.asarray(start) >= low) & (np.asarray(start) <= high))):
            found_low, found_high = np.min(start), np.max(start)
            raise ModelError(
                f'[initial] "{name}" must lie between {low:g} and {high:g} {known[name].units}; it is {found_low:g} to {found_high:g}.'
            )
    return found


def _from_checkpoint(path: Path, known: Mapping[str, Variable], grid: Grid) -> State:
    if not path.is_dir():
        raise RunFileError(f'[initial] state = "{path}" is neither "default" nor a checkpoint folder.')
    checkpoint = Checkpoint.open(path, None)
    if checkpoint.identity.get("grid") != grid.digest[:16]:
        raise RunFileError(f'[initial] state: checkpoint "{path}" is of another grid.')
    missing = [name for name in known if f"state/{name}" not in checkpoint.arrays]
    if missing:
        raise RunFileError(f'[initial] state: checkpoint "{path}" has no {", ".join(missing)}; it is of another model.')
    return {name: checkpoint.read(f"state/{name}").astype(np.float64) for name in known}
