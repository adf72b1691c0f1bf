"""Levels: what a variable has beside the dimensions of the grid, (level, y, x), and the names of single ones.

One level of a variable is a map like any other, and has a name: "ozone[3]" is level 3 of ozone, from 0. So whatever takes the name of a
map takes that of a level. The numbers of classes have names, too: `flags`.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose, isfinite
from typing import Any, NamedTuple, Protocol, TypeVar

from steppe.errors import ModelError, RequestError, nearest

LAYER = re.compile(r"(?P<name>\w+)\[(?P<level>\d{1,6})\]")
NAMED = re.compile(r"(\w+)\[(.+)\]")  # by its number or by its value
VALUE = re.compile(r"([-+]?\d+\.?\d*(?:[eE][-+]?\d+)?)\s*([^\s\d].*)?")

FORMULA = {
    "units": "1",
    "long_name": "hybrid coordinate",
    "standard_name": "atmosphere_hybrid_sigma_pressure_coordinate",
    "formula_terms": "ap: hyam b: hybm ps: ps",
    "computed_standard_name": "air_pressure",
    "positive": "down",
}
HYBRID = ("hyai", "hybi", "hyam", "hybm", "hybrid")  # what a file has beside hybrid levels

CONVERTED = (  # units of pressure [Pa] and length [m] in which a level may be named
    {"Pa": 1.0, "hPa": 100.0, "kPa": 1000.0, "mbar": 100.0, "mb": 100.0, "bar": 100_000.0},
    {"cm": 0.01, "m": 1.0, "km": 1000.0},
)


class LevelArray(NamedTuple):
    """The levels of a CF file."""

    dims: tuple[str, ...]
    values: Any
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Space:
    """The levels of a model, along a dimension that is not of the grid.

    values: coordinate of each level, rising or falling [units]. positive: "up" or "down" where it is vertical, else "". bounds: its two
    ends of each level. interfaces: of hybrid levels ap [Pa] and b, one pair more than levels: the pressure is ap + b ps, a variable.

    Raises
    ------
    ModelError
        The values are none, or neither rise nor fall; bounds or interfaces have another number; positive is another word.
    """

    values: tuple[float, ...]
    units: str = "1"
    standard_name: str = ""
    positive: str = ""
    bounds: tuple[tuple[float, float], ...] = ()
    long_name: str = ""
    interfaces: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        try:
            values = tuple(float(value) for value in self.values)
            bounds, ends = (tuple((float(one), float(other)) for one, other in pairs) for pairs in (self.bounds, self.interfaces))
        except (TypeError, ValueError):
            told = f"values are {self.values!r}, bounds {self.bounds!r}, interfaces {self.interfaces!r}"
            raise ModelError(f"Space: {told}. Write numbers, and pairs of them.") from None
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "interfaces", ends)
        rises = {low < high for low, high in pairwise(values)}
        if not values or len(rises) > 1 or not all(map(isfinite, values)) or len(set(values)) < len(values):
            raise ModelError(f"Space: values are {values}. Write at least one number; more of them must rise or fall.")
        if bounds and len(bounds) != len(values):
            raise ModelError(f"Space: there are {len(bounds)} bounds and {len(values)} values. Write two bounds for each value.")
        if ends and len(ends) != len(values) + 1:
            raise ModelError(
                f"Space: there are {len(ends)} interfaces and {len(values)} values. Write one pair, ap and b, more than values."
            )
        if self.positive not in ("", "up", "down"):
            raise ModelError(f'Space: positive is "{self.positive}". Write "up", "down", or nothing.')

    def attributes(self, name: str, bounds: bool = False) -> dict[str, str]:
        """The CF attributes of its coordinate. bounds: name its bounds, if it has some."""
        found: dict[str, str] = {"units": self.units, "long_name": self.long_name or name}
        if bounds and self.bounds:
            found["bounds"] = f"{name}_bnds"
        if self.standard_name:
            found["standard_name"] = self.standard_name
        return found | ({"positive": self.positive, "axis": "Z"} if self.positive else {})

    def arrays(self, name: str, beside: Collection[str] = ()) -> dict[str, LevelArray]:
        """The coordinate as a CF file has it: with its bounds, and with the coefficients of hybrid levels at interfaces and middles.

        beside: variables of the same file; if `ps` is one, `hybrid` names the terms of the pressure.
        """
        found = {name: LevelArray((name,), self.values, self.attributes(name, bounds=True))}
        if self.bounds:
            found[f"{name}_bnds"] = LevelArray((name, "bnds"), self.bounds, {})
        if not self.interfaces:
            return found
        for letter, units, ends in zip("ab", ("Pa", "1"), zip(*self.interfaces, strict=True), strict=True):
            middles = tuple(0.5 * (upper + lower) for upper, lower in pairwise(ends))
            for last, dim, where, values in (("i", "interface", "interfaces", ends), ("m", name, "middles", middles)):
                text = f"hy{letter}{last} of pressure = hya{last} + hyb{last} ps at {where} of levels"
                found[f"hy{letter}{last}"] = LevelArray((dim,), values, {"units": units, "long_name": text})
        if "ps" in beside:
            eta = tuple(ap / 1e5 + b for ap, b in zip(found["hyam"].values, found["hybm"].values, strict=True))
            found["hybrid"] = LevelArray((name,), eta, FORMULA)
        return found

    @property
    def summary(self) -> str:
        """How many levels there are, from where to where, and of what: "3, 1000 hPa to 500 hPa, air pressure"."""
        kind = (self.long_name or self.standard_name).replace("_", " ")
        return f"{len(self.values)}, {self.label(0)} to {self.label(-1)}{kind and f', {kind}'}"

    def label(self, level: int) -> str:
        """The coordinate of a level with its unit: "850 hPa"."""
        return f"{self.values[level]:g}" + (f" {self.units}" if self.units != "1" else "")


class Declared(Protocol):
    """A declaration with the name, the dims and the meaning of a variable."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def dims(self) -> Sequence[str]:
        """Names of its dimensions."""
        ...

    @property
    def long_name(self) -> str:
        """One line of text."""
        ...


Kind = TypeVar("Kind", bound=Declared)


def flags(classes: Mapping[int, str] | Mapping[str, str]) -> dict[str, object]:
    """The CF attributes of a variable whose numbers name classes (CF 1.11, section 3.5): number -> name, in which blanks become "_"."""
    names = " ".join("_".join(name.split()) for name in classes.values())
    return {"flag_values": [int(number) for number in classes], "flag_meanings": names} if classes else {}


class Layered(dict[str, Kind]):
    """Variables by name; `variables["ozone[3]"]` is level 3 of ozone, as a variable without levels.

    It has such a name, but does not list it.

    Parameters
    ----------
    variables
        Name -> variable.
    spaces
        Name of a dim -> the levels along it.
    changed
        A variable with some members changed.
    """

    def __init__(self, variables: Mapping[str, Kind], spaces: Mapping[str, Space], changed: Callable[..., Kind]) -> None:
        super().__init__(variables)
        self.spaces, self._changed = spaces, changed

    def levels(self, name: str) -> tuple[str, Space] | None:
        """Name and coordinate of the levels of a variable; None of one that has none."""
        first = self[name].dims[:1]
        return (first[0], self.spaces[first[0]]) if first and first[0] in self.spaces else None

    def expect_no_levels(self, name: str) -> None:
        """Raises `RequestError` where a variable has levels, so that a map of it needs one of them."""
        if levels := self.levels(name):
            raise RequestError(which_level(name, *levels))

    def coordinate(self, name: str) -> dict[str, LevelArray]:
        """The coordinate of the levels of a variable, or of the one level that the name has; nothing without levels."""
        whole, level = parted(name)
        levels = self.levels(whole)
        if levels is None:
            return {}
        dim, space = levels
        along, values = ((dim,), list(space.values)) if level is None else ((), space.values[level])
        return {dim: LevelArray(along, values, space.attributes(dim))}

    def numbered(self, name: str) -> str:
        """The name with the number of its level, "ozone[3]" for "ozone[850 hPa]"; raises `RequestError` where there is no such level."""
        whole = name.partition("[")[0]
        levels = self.levels(whole) if parted(name)[1] is None and whole in self else None
        return numbered(name, {whole: levels}) if levels else name

    def leading(self, name: str) -> tuple[int, ...]:
        """Dimensions before those of the grid: the number of levels, if it has some."""
        levels = self.levels(name)
        return (len(levels[1].values),) if levels else ()

    def layer(self, name: str, level: int | str) -> str:
        """The name of a level of a variable; raises `RequestError` where there is none."""
        levels = self.levels(name)
        if levels is None:
            raise RequestError(f'"{name}" has no levels. Name it without "level".')
        return layer(name, level_of(levels[1], level))

    def missing(self, name: object) -> str:
        """Why there is no variable of a name, in a sentence with what there is."""
        if not isinstance(name, str):
            return f'A variable is known by its name, a text such as "{next(iter(self), "water")}"; {name!r} is none.'
        whole, level = parted(name)
        try:
            if (written := self.numbered(name)) != name:
                return f'Write "{written}" for "{name}".'
        except RequestError as error:
            return str(error)
        if level is None or whole not in self:
            return f'There is no variable "{name[:64]}".{nearest(name[:64], self)}'
        levels = self.levels(whole)
        return f'"{whole}" has levels 0 to {len(levels[1].values) - 1}, not {level}.' if levels else f'"{whole}" has no levels.'

    def __missing__(self, name: str) -> Kind:
        whole, level = parted(name)
        levels = self.levels(whole) if whole != name and super().__contains__(whole) else None
        if levels is None or level is None or level >= len(levels[1].values):
            raise KeyError(name)
        variable = self[whole]
        return self._changed(variable, name=name, dims=variable.dims[1:], long_name=f"{variable.long_name}, {levels[1].label(level)}")

    def get(self, name: str, default: Any = None) -> Any:
        """The variable of a name, that of a level too, or the default."""
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None


def level_of(space: Space, asked: int | str) -> int:
    """The number of a level that is asked for: by its number, or by its value with its unit or one of `CONVERTED`, as "850 hPa".

    Raises
    ------
    RequestError
        There is no such level.
    """
    text = str(asked).strip()
    last = len(space.values) - 1
    if text.isdecimal() and int(text) <= last:
        return int(text)
    found = VALUE.fullmatch(text)
    value, unit = found.groups("1") if found else ("", "")
    factors = next((some for some in CONVERTED if unit in some and space.units in some), {})
    if value and (factors or unit == space.units):
        asked_for = float(value) * factors.get(unit, 1.0) / factors.get(space.units, 1.0)
        for number, each in enumerate(space.values):
            if isclose(asked_for, each, rel_tol=1e-6):
                return number
    values = ", ".join(space.label(each) for each in range(min(last + 1, 40))) + (", ..." if last >= 40 else "")
    raise RequestError(f'There is no level "{text[:64]}". Levels are 0 to {last}, or {values}.')


def numbered(name: str, levels: Mapping[str, tuple[str, Space]]) -> str:
    """The name with the number of its level, "ozone[3]" for "ozone[850 hPa]"; a name without a level stays as it is.

    levels: variable -> name and coordinate of its levels.

    Raises
    ------
    RequestError
        The variable has no such level.
    """
    found = NAMED.fullmatch(name)
    return layer(found[1], level_of(levels[found[1]][1], found[2])) if found and found[1] in levels else name


def which_level(name: str, dim: str, space: Space) -> str:
    """The answer to a request for a map of a variable with levels that names none."""
    last = len(space.values) - 1
    return f'"{name}" has {last + 1} levels, {space.label(0)} to {space.label(last)}. Ask for one: "{name}[0]" to "{name}[{last}]".'


def layer(name: str, level: int) -> str:
    """The name of one level of a variable, counted from 0."""
    return f"{name}[{level}]"


def parted(name: str) -> tuple[str, int | None]:
    """The name of a variable and its level; None of a name without.

    >>> parted("ozone[3]"), parted("ozone")
    (('ozone', 3), ('ozone', None))
    """
    found = LAYER.fullmatch(name)
    return (found["name"], int(found["level"])) if found else (name, None)
