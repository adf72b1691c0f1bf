"""The state at the first step: the model's own, numbers for all cells, a store, or the end of another run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steppe.array_types import Array, Floats
from steppe.clock import DAY, Clock, day_text, instant_text, is_day, length, parse_date, parse_instant
from steppe.errors import ModelError, RequestError, RunFileError, nearest
from steppe.grid import Grid
from steppe.io import Checkpoint, StoredRecords, read_map
from steppe.io.forcing.field import turned
from steppe.io.forcing.units import SAME, conversion
from steppe.levels import Space
from steppe.variable import Role, Variable, Variables

State = dict[str, float | Floats]


def initial_state(table: Mapping[str, object], variables: Mapping[str, Variable], spaces: Mapping[str, Space], grid: Grid) -> State:
    """Reads [initial]: where the state comes from, and any field of it as a number or from a store.

    state = "default", a checkpoint folder of a run on the same grid, or { store = RUN, date = DAY }: the end of a day that a run recorded.

    Raises
    ------
    RunFileError
        An unknown field, a value of the wrong kind, a checkpoint of another grid or model, or results that do not hold the state.
    ForcingError
        Results in a unit or on levels that do not become those of the model.
    ModelError
        A value outside its limits.
    """
    known = Variables({name: v for name, v in variables.items() if v.role is Role.STATE}, spaces)
    found: State = {}
    table = _numbered(table, known)
    for key, value in table.items():
        if key == "state":
            if isinstance(value, dict) and set(value) == {"store", "date"}:
                numbers = [
                    name for name, v in known.items() if v.dtype.startswith("float") and name not in table
                ]  # not which cells are bad
                found.update(_from_results(Path(value["store"]), value["date"], numbers, known, grid))
            elif not isinstance(value, str):
                raise RunFileError(
                    f'[initial] state = {value!r} must be "default", a checkpoint folder, or {{ store = "out", date = 1990-01-31 }}.'
                )
            elif value != "default":
                found.update(_from_checkpoint(Path(value), known, grid))
        elif key not in known:
            raise RunFileError(f'[initial] "{key}" is no state of the model.{nearest(key, [*known, "state"])}')
        elif known[key].settable_by:
            raise RunFileError(f'[initial] "{key}" cannot be set: it follows from {", ".join(known[key].settable_by)}. Remove it.')
        elif isinstance(value, dict) and set(value) == {"store", "variable"}:
            found[key] = read_map(Path(value["store"]), value["variable"], known[key], spaces, grid)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[key] = float(value)
        else:
            raise RunFileError(f'[initial] "{key}" = {value!r} must be a number or {{ store = "state.zarr", variable = "name" }}.')
    for name, start in found.items():
        unfit = known[name].unfit(start)
        if unfit.any():
            wrong = np.asarray(start)[unfit].flat[0]
            where = f" in {np.count_nonzero(unfit):,} cells" if unfit.ndim else ""
            raise ModelError(f"[initial] {known[name].refusal(wrong, where)}")
    return found


def departures(state: object, clock: Clock, parameters: Mapping[str, float | Array], made_of: str) -> list[str]:
    """Differences from a run that went on from the state that [initial] names: sentences to warn by.

    parameters, made_of: of the run, the latter as in its identity. A spin-up may mean all of these.
    """
    if clock.step is None or state in (None, "default"):
        return []
    if isinstance(state, Mapping):
        where, there, other = str(state["store"]), str(state["date"]), []
        ends = parse_date(there, clock.calendar) + DAY if is_day(there) else parse_instant(there, clock.calendar)
    else:
        where = str(state)
        checkpoint = Checkpoint.open(Path(where), None)
        there = str(checkpoint.manifest["date"])
        ends = (parse_date if is_day(there) else parse_instant)(there, clock.calendar)
        other = [text for name, value in parameters.items() if (text := _other(name, value, checkpoint))]
        if checkpoint.identity.get("made_of", made_of) != made_of:
            other.append("those that make its variables, which must have the same units and levels")
    begin, told = f'[initial] state "{where}"', list[str]()
    if ends != clock.date(0):
        at = day_text(ends) if clock.of_days else instant_text(ends)
        told.append(f"{begin} stands at the start of {at}, but the run starts at {clock.begin(0)}.")
    if other:
        told.append(f"{begin} was computed with other parameters: {', '.join(other)}.")
    return told


def _other(name: str, value: float | Array, checkpoint: Checkpoint) -> str:
    """How a parameter differs from that in a checkpoint; nothing where it does not."""
    if f"parameter/{name}" not in checkpoint.arrays:
        return ""
    then, now = checkpoint.read(f"parameter/{name}"), np.asarray(value)
    if np.size(then) == np.size(now) == 1:
        return f"{name} = {float(then):g}, here {float(now):g}" if float(then) != float(now) else ""
    return f"{name} is another map" if then.shape == now.shape and (then != now).any() else ""


def _numbered(table: Mapping[str, object], known: Variables) -> dict[str, object]:
    """The same, with the numbers of levels that are named by their values."""
    found: dict[str, object] = {}
    for key, value in table.items():
        try:
            name = known.numbered(key)
        except RequestError as error:
            raise RunFileError(f"[initial] {error}") from None
        if name in found:
            raise RunFileError(f'[initial] has "{name}" and "{key}", which are one level. Remove one of them.')
        found[name] = value
    return found


def _from_results(path: Path, date: Any, names: list[str], known: Variables, grid: Grid) -> State:
    """The state at the end of a day, as a run recorded it: records of one step, or the last value of an interval that ends with it."""
    records = StoredRecords.open(path)
    lat, lon = records.small("cell_lat"), records.small("cell_lon")
    if lat.shape != grid.cell_lat.shape or not (np.allclose(lat, grid.cell_lat) and np.allclose(lon, grid.cell_lon)):
        raise RunFileError(f'[initial] state: the results "{path}" are of another grid of {lat.size} cells, this run has {grid.n_cells}.')
    lacking = [name for name in names if name not in records.axes]
    if lacking:
        raise RunFileError(
            f'[initial] state: the results "{path}" hold no {", ".join(lacking)}. Record them (variables = [...], every = "1 day"), '
            "or give them as numbers."
        )
    found: State = {}
    step = length(json.loads(str(records.about.get("steppe_identity", "{}"))).get("step", "1 day")) / DAY  # of the run that recorded
    for name in names:
        axis, method = records.axes[name], str(records.attributes[name].get("cell_methods", ""))
        end = axis.end_after(date)
        at = np.flatnonzero(axis.stops == end)
        if not at.size or not (method.startswith("time: point") or np.isclose(end - axis.starts[at[0]], step, rtol=1e-9)):
            held = axis.period() if axis.rows else "nothing yet"
            raise RunFileError(
                f'[initial] state: the results "{path}" do not hold {name} at the end of {date}; they hold {held}, '
                f'as "{method}". It must be recorded at every step, or as the last of an interval that ends then.'
            )
        found[name] = _as_here(records.read(name, slice(int(at[0]), int(at[0]) + 1))[0], records, known, name)
    return found


def _as_here(values: Floats, records: StoredRecords, known: Variables, name: str) -> Floats:
    """Recorded values in the unit of the model, and on its levels."""
    where = f'[initial] state: the results "{records.path}", variable "{name}"'
    line = conversion(str(records.attributes[name].get("units", "")), known[name].units, where, daily=False, cure="Give it by itself.")
    there, here = records.levels.get(name), known.levels(name)
    if bool(there) != bool(here):
        told = ("has levels", "none") if there else ("has no levels", "some")
        raise RunFileError(f"{where} {told[0]}, and that of the model has {told[1]}.")
    if there and here:
        values = values[turned(np.array(there[1].values), there[1].units, here[1].values, here[1].units, f'{where}: "{there[0]}"')]
    return values if line == SAME else values * line.factor + line.offset


def _from_checkpoint(path: Path, known: Variables, grid: Grid) -> State:
    if not path.is_dir():
        raise RunFileError(f'[initial] state = "{path}" is neither "default" nor a checkpoint folder.')
    if made := Checkpoint.all(path / "checkpoints"):
        raise RunFileError(f'[initial] state = "{path}" is the folder of a run. Give one of its checkpoints; the newest is "{made[0]}".')
    checkpoint = Checkpoint.open(path, None)
    if checkpoint.identity.get("grid") != grid.digest[:16]:
        raise RunFileError(f'[initial] state: checkpoint "{path}" is of another grid.')
    missing = [name for name in known if f"state/{name}" not in checkpoint.arrays]
    if missing:
        raise RunFileError(f'[initial] state: checkpoint "{path}" has no {", ".join(missing)}; it is of another model.')
    found: State = {}
    for name in known:
        found[name] = values = checkpoint.read(f"state/{name}").astype(np.float64)
        there, here = ("no" if not shape else shape[0] for shape in (values.shape[:-1], known.leading(name)))
        if there != here:
            raise RunFileError(f'[initial] state: checkpoint "{path}", variable "{name}" has {there} levels, expected {here}.')
    return found
