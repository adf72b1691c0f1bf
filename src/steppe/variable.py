"""The declaration of a variable: name, unit, meaning, limits. Files, checkpoints, help, plots and documents all read it here.

A modeller writes `Annotated[float, Var(units, long_name, ...)]` in a NamedTuple; `declared(group, role)` makes `Variable`s of it.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from numbers import Real
from typing import Annotated, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steppe.errors import ModelError
from steppe.levels import Layered, Space, flags


class Role(Enum):
    """The purpose of a variable."""

    STATE = "state"
    FORCING = "forcing"
    PARAMETER = "parameter"
    DERIVED = "derived"
    DIAGNOSTIC = "diagnostic"


TOWARDS = ("east", "north", "south", "west")


@dataclass(frozen=True, slots=True)
class Var:
    """The declaration of one number by a modeller.

    units: UDUNITS text. long_name: one line of text. standard_name: the CF name where one exists with this unit. low, high: values
    outside are bad input. whole: so are fractions, as of a day of the year. initial: state at a cold start, default of a parameter, value
    of a forcing that is not given (a forcing without one must be in the store). source: paper, table or file of the value. settable_by:
    for a quantity that is computed, the variables to set instead. cell_methods: CF cell_methods of the value of one step. classes: number
    -> name of a quantity that names a kind. logarithmic: small and large values matter alike, as of rain; maps have a logarithmic scale.
    heading: of the group of parameters that begins with this one, such as "Soil". vector: of a component, the name of its vector, such as
    "wind", and where positive values point: "east", "north", "south" or "west"; maps show both components as arrows.
    """

    units: str
    long_name: str
    standard_name: str = ""
    low: float = -inf
    high: float = inf
    initial: float | None = None
    source: str = ""
    settable_by: tuple[str, ...] = ()
    cell_methods: str = ""
    classes: Mapping[int, str] = field(default_factory=dict, hash=False)
    logarithmic: bool = False
    heading: str = ""
    vector: tuple[str, str] | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """One quantity of a model. dims: ("cell",), ("y", "x") or ("level", "y", "x"), "level" being a space of the model; () for a scalar.

    parity -1: changes sign across a pole or a mirror (a velocity component). between: of forcing that lies in fields, its value between
    two records: "linear" in time, or that of the "last". The rest as in `Var`. What decides only how a map looks or what is refused
    is no part of the text of a variable, from which the digest of a model is made: a run goes on after such a change.
    """

    name: str
    dims: tuple[str, ...]
    units: str
    dtype: str
    role: Role
    long_name: str
    standard_name: str = ""
    low: float = -inf
    high: float = inf
    initial: float | None = None
    source: str = ""
    cell_methods: str = ""
    parity: int = 1
    settable_by: tuple[str, ...] = ()
    classes: Mapping[int, str] = field(default_factory=dict, hash=False, repr=False)
    logarithmic: bool = field(default=False, repr=False)
    heading: str = field(default="", repr=False)
    vector: tuple[str, str] | None = field(default=None, repr=False)
    between: str = field(default="linear", repr=False)  # only field models read it, whose digest is that of their source
    whole: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for key in ("units", "long_name", "standard_name", "source", "cell_methods"):
            if not isinstance(getattr(self, key), str):
                raise ModelError(f'"{self.name}": {key} is {getattr(self, key)!r}. Write a text.')
        for key in ("low", "high", "initial"):
            if not isinstance(getattr(self, key), Real) and (key != "initial" or self.initial is not None):
                raise ModelError(f'"{self.name}": {key} is {getattr(self, key)!r}. Write a number.')
        if not isinstance(self.dims, tuple):
            raise ModelError(f'"{self.name}": dims is {self.dims!r}. Write a tuple of texts, such as ("y", "x").')
        if not isinstance(self.role, Role):
            raise ModelError(f'"{self.name}": role is {self.role!r}. Write one of {", ".join(map(str, Role))}.')
        if self.vector is not None and (len(self.vector) != 2 or self.vector[1] not in TOWARDS):
            raise ModelError(f'"{self.name}": vector is {self.vector!r}. Write its name and one of {", ".join(TOWARDS)}: ("wind", "east").')
        if not self.low <= self.high:
            raise ModelError(f'"{self.name}": low is {self.low:g} and high is {self.high:g}. low must not be above high.')

    @property
    def settable(self) -> bool:
        """Whether it can be set: a state, a parameter, or forcing that events give; not what says which cells are bad."""
        given = self.role in (Role.STATE, Role.PARAMETER) or (self.role is Role.FORCING and self.initial is not None)
        return given and not self.settable_by and self.name not in ("bad_code", "bad_step")

    @property
    def recordable(self) -> bool:
        """Whether a run can record it: what it computes or reads, of a dtype that has NaN."""
        return self.role in (Role.STATE, Role.DIAGNOSTIC, Role.FORCING) and self.dtype.startswith("float")

    def unfit(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Which of some values (...) it may not have: those outside its limits, not finite, or with a fraction where it is whole."""
        found = np.asarray(values, np.float64)
        wrong = ~((found >= self.low) & (found <= self.high) & np.isfinite(found))
        return wrong | (found != np.floor(found)) if self.whole else wrong

    @property
    def allowed(self) -> str:
        """The values that it may have, as errors name them: "a number from 0 to 100 %"."""
        kind, unit = "a whole number" if self.whole else "a number", self._unit
        if -inf < self.low and self.high < inf:
            return f"{kind} from {self.low:g} to {self.high:g}{unit}"
        if -inf < self.low:
            return f"{kind}, {self.low:g}{unit} or more"
        return f"{kind}, {self.high:g}{unit} or less" if self.high < inf else f"{kind} that is finite"

    def refusal(self, value: float, where: str = "") -> str:
        """The fault of a value that does not fit: "depth" is 1 mm; it must be a number from 10 to 500 mm. where: " in cell 7"."""
        return f'"{self.name}" is {value:g}{self._unit}{where}; it must be {self.allowed}.'

    @property
    def _unit(self) -> str:
        return "" if self.units == "1" else f" {self.units}"

    @property
    def component(self) -> tuple[str, str] | None:
        """The vector that it is a component of, and where its positive values point: as declared, else by its CF name."""
        if self.vector is None:
            for toward in ("east", "north"):
                if self.standard_name.startswith(f"{toward}ward_"):
                    return self.standard_name.removeprefix(f"{toward}ward_"), toward
        return self.vector

    def attributes(self) -> dict[str, object]:
        """The CF attributes that Zarr, NetCDF and xarray carry for this variable."""
        found: dict[str, object] = {"units": self.units, "long_name": self.long_name}
        if self.standard_name:
            found["standard_name"] = self.standard_name
        return found | flags(self.classes)

    def limits(self) -> dict[str, object]:
        """The CF attributes of what is read or set. Results have none: a step may lead beyond them, and readers would mask such values."""
        return {name: limit for name, limit in (("valid_min", self.low), ("valid_max", self.high)) if abs(limit) < inf}


class Variables(Layered[Variable]):
    """The variables of a model."""

    def __init__(self, variables: Mapping[str, Variable], spaces: Mapping[str, Space]) -> None:
        super().__init__(variables, spaces, replace)


def declared(group: type, role: Role, dtype: str = "float32", dims: tuple[str, ...] = ("cell",)) -> dict[str, Variable]:
    """Field name -> Variable of a NamedTuple of `Annotated[float, Var(...)]`, in order of declaration.

    Raises
    ------
    ModelError
        A field is not declared that way, or has no unit or meaning.
    """
    found: dict[str, Variable] = {}
    for name, hint in get_type_hints(group, include_extras=True).items():
        notes = [note for note in get_args(hint)[1:] if isinstance(note, Var)]
        kind, *_ = get_args(hint) or (hint,)
        where = f'"{getattr(sys.modules.get(group.__module__), "__file__", group.__module__)}": {group.__qualname__}.{name}'
        if len(notes) != 1 or kind is not float:
            given = (
                f"Annotated[{getattr(kind, '__name__', kind)}, ...]" if get_origin(hint) is Annotated else getattr(hint, "__name__", hint)
            )
            raise ModelError(f"{where} must be Annotated[float, Var(units, long_name)], it is {given}.")
        var = notes[0]
        if not var.units or not var.long_name:
            raise ModelError(f'{where} needs a unit ("1" when it has none) and a long name.')
        found[name] = Variable(
            name,
            dims,
            var.units,
            dtype,
            role,
            var.long_name,
            var.standard_name,
            var.low,
            var.high,
            var.initial,
            var.source,
            var.cell_methods,
            settable_by=var.settable_by,
            classes=var.classes,
            logarithmic=var.logarithmic,
            heading=var.heading,
            vector=var.vector,
            whole=var.whole,
        )
    return found


def vectors(variables: Mapping[str, Variable]) -> dict[str, tuple[str, str]]:
    """Name of a vector -> its components along east or west, and along north or south.

    Those that a model declares, and those whose CF standard names begin with "eastward_" and "northward_".

    Raises
    ------
    ModelError
        A vector that is declared has not one component along each, or they differ in unit or dims.
    """
    found: dict[str, list[tuple[str, Variable]]] = {}
    for variable in variables.values():
        if variable.component is not None:
            name, toward = variable.component
            found.setdefault(name, []).append((toward, variable))
    whole: dict[str, tuple[str, str]] = {}
    for name, parts in found.items():
        along = [[each for toward, each in parts if toward in axis] for axis in (("east", "west"), ("north", "south"))]
        if [len(each) for each in along] == [1, 1] and (along[0][0].units, along[0][0].dims) == (along[1][0].units, along[1][0].dims):
            whole[name] = along[0][0].name, along[1][0].name
        elif any(each.vector for _, each in parts):
            told = ", ".join(f"{each.name} ({toward}, {each.units})" for toward, each in parts)
            raise ModelError(f'Vector "{name}" has {told}. Give it one to the east or west and one to the north or south, of one unit.')
    return whole


def initial_values(variables: Mapping[str, Variable]) -> dict[str, float]:
    """Name -> declared initial value, where one is declared."""
    return {name: variable.initial for name, variable in variables.items() if variable.initial is not None}
