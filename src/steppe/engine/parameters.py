"""From the tables [parameters] and [[land_type]] to one number or one row of cells for each parameter of a model."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.errors import ModelError, RunFileError, nearest
from steppe.models import Choice, sets_of
from steppe.variable import Role, Variable

Values = dict[str, float | Floats]
ReadMap = Callable[[str, str, Variable], Floats]
LAND_TYPE = Variable("land_type", ("cell",), "1", "float32", Role.PARAMETER, "Land type", source="the run file")


class ParameterTable(dict[str, Any]):
    """[parameters] of a run file. `asked`: the keys that a model has asked for with `pop`, whether they are there or not."""

    def __init__(self, entries: Mapping[str, object]) -> None:
        super().__init__(entries)
        self.asked: set[str] = set()

    def pop(self, key: str, *usual: Any) -> Any:
        """The value of a key, which is taken out; without it, the usual one."""
        self.asked.add(key)
        return super().pop(key, *usual)


class Chosen(NamedTuple):
    """The choices of a run file: parameters (number or (cells,) float64), words for the options that it names, and why each was taken.

    land_type: which [[land_type]] each cell is, None without; classes: the name of each.
    """

    values: Values
    options: dict[str, str]
    reasons: dict[str, str]
    land_type: float | Floats | None = None
    classes: Mapping[int, str] = {}


def choose(
    module: ModuleType,
    options: Mapping[str, Choice],
    declared: Mapping[str, Variable],
    table: Mapping[str, object],
    land_types: Sequence[Mapping[str, Any]],
    read_map: ReadMap,
) -> Chosen:
    """Reads [parameters] and [[land_type]]: named sets, numbers for all, variables of a store for each cell, options of the code path.

    read_map: reads a variable of a store for a declared one, as `steppe.io.read_map` does.

    Raises
    ------
    RunFileError
        An unknown key, set, option word or land type; a value that is no number.
    ModelError
        A value outside its declared limits, naming parameter, value and limits.
    """
    sets = sets_of(module)
    values: Values = {name: variable.initial for name, variable in declared.items() if variable.initial is not None}
    words: dict[str, str] = {}
    for key, value in _sets_first(table, sets):
        where = f'[parameters] "{key}"'
        if key in options:
            words[key] = _word(options[key], value, where)
        elif key in sets:
            values.update(_named(sets[key], key, value, where))
        elif key == "land_type":
            continue
        elif key in declared:
            values[key] = _value(value, where, read_map, declared[key])
        else:
            asked = table.asked if isinstance(table, ParameterTable) else ()
            raise RunFileError(f"{where} is not known.{nearest(key, {*declared, *sets, *options, *asked, 'land_type'})}")
    of_cell = None
    if "land_type" in table:
        of_cell = _value(table["land_type"], '[parameters] "land_type"', read_map, LAND_TYPE)
        values.update(_by_land_type(of_cell, land_types, values, declared, sets))
    elif land_types:
        raise RunFileError('There are [[land_type]] tables, but [parameters] has no "land_type" that says which cell is which.')
    missing = [name for name in declared if name not in values]
    if missing:
        raise RunFileError(f"[parameters] must give {', '.join(missing)}: the model has no default.")
    for name, value in values.items():
        check_limits(declared[name], value)
    classes = {int(each["id"]): _class_name(each, sets) for each in land_types}
    return Chosen({name: values[name] for name in declared}, words, dict.fromkeys(words, "set in the run file"), of_cell, classes)


def check_limits(variable: Variable, value: float | Floats) -> None:
    """Raises `ModelError` when a value, or one of an array, is not within the declared limits."""
    values = np.atleast_1d(value)
    bad = variable.unfit(values)
    if bad.any():
        where = f" in {bad.sum():,} cells, first in cell {int(np.argmax(bad)):,}" if values.size > 1 else ""
        raise ModelError(f"Parameter {variable.refusal(values[bad][0], where)}")


def _word(choice: Choice, value: object, where: str) -> str:
    if value not in choice.words:
        raise RunFileError(f"{where} = {value!r} is no option.{nearest(str(value), choice.words)}")
    return str(value)


def _sets_first(table: Mapping[str, object], sets: Mapping[str, object]) -> list[tuple[str, object]]:
    return sorted(table.items(), key=lambda item: item[0] not in sets)


def _named(known: Mapping[str, Mapping[str, float]], kind: str, name: Any, where: str) -> Mapping[str, float]:
    if name not in known:
        raise RunFileError(f"{where} = {name!r} is no {kind} set.{nearest(str(name), known)}")
    return known[name]


def _value(value: object, where: str, read_map: ReadMap, variable: Variable) -> float | Floats:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, dict) and set(value) == {"store", "variable"}:
        return read_map(value["store"], value["variable"], variable)
    raise RunFileError(f'{where} = {value!r} must be a number or {{ store = "land.zarr", variable = "name" }}.')


def _by_land_type(
    of_cell: float | Floats,
    tables: Sequence[Mapping[str, Any]],
    general: Values,
    declared: Mapping[str, Variable],
    sets: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> Values:
    types = {int(table["id"]): _one_type(table, declared, sets) for table in tables if _has_id(table)}
    present = {int(number) for number in np.unique(of_cell)}
    if present - set(types):
        number = min(present - set(types))
        count = int(np.sum(np.asarray(of_cell) == number))
        raise RunFileError(f"{count:,} cells have land type {number}, but no [[land_type]] table has id = {number}.")
    names = {name for number in present for name in types[number]}
    found: Values = {}
    for name in names:
        if name not in general and any(name not in types[number] for number in present):
            raise RunFileError(f'Parameter "{name}" has no value for some land types and none in [parameters].')
        row = np.array(np.broadcast_to(general.get(name, np.nan), np.shape(of_cell)), dtype=np.float64)
        for number in present:
            if name in types[number]:
                row = np.where(of_cell == number, types[number][name], row)
        found[name] = row if np.ptp(row) else float(row.flat[0])
    return found


def _class_name(table: Mapping[str, object], sets: Mapping[str, object]) -> str:
    """The name of a land type; without one the names of its sets."""
    return str(table.get("name") or ", ".join(str(table[kind]) for kind in sets if kind in table) or f"type {table['id']}")


def _has_id(table: Mapping[str, object]) -> bool:
    if not isinstance(table.get("id"), int):
        raise RunFileError('Every [[land_type]] table needs a whole number "id".')
    return True


def _one_type(
    table: Mapping[str, object], declared: Mapping[str, Variable], sets: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> dict[str, float]:
    values: dict[str, float] = {}
    for key, value in _sets_first(table, sets):
        where = f'[[land_type]] {table["id"]} "{key}"'
        if key in ("id", "name"):
            continue
        if key in sets:
            values.update(_named(sets[key], key, value, where))
        elif key in declared and isinstance(value, int | float):
            values[key] = float(value)
        else:
            raise RunFileError(f"{where} is not known or no number.{nearest(key, [*declared, *sets])}")
    return values
