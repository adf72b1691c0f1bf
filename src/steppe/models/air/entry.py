"""One entry of a mechanism file while it is read: its values, checked, and errors that name the file, the line and the entry."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from steppe.errors import ModelError, nearest
from steppe.models.air.mechanism import ABOVE_0, AT_LEAST_0, NUMBERS


class Table(dict[str, Any]):
    """A table of a file in YAML; line: on which it begins."""

    line = 0


class Entry:
    """where: file, line and reaction, for messages. values: of the entry. text: numbers may be written as text, as in OpenAtmos files."""

    def __init__(self, where: str, values: object, text: bool = False) -> None:
        self.where, self.text = where, text
        if not isinstance(values, Mapping):
            if values is None:
                raise self.refused("it is empty, and a table of names and values is expected.")
            raise self.refused(f"{values!r} stands where a table of names and values is expected.")
        self.values: Mapping[str, Any] = {key: value for key, value in values.items() if not str(key).startswith("__")}

    def refused(self, problem: str) -> ModelError:
        """The error to raise."""
        return ModelError(f"Mechanism {self.where}: {problem}")

    def unlike(self, key: str, expected: str) -> ModelError:
        """The error of a key whose value is missing, or not what is expected."""
        value = self.values.get(key)
        is_not = "missing" if key not in self.values else "empty" if value is None else repr(value)
        return self.refused(f'"{key}" is {is_not}, and {expected}')

    def number(self, key: str, default: float | None = None, at_least_0: bool = False, above_0: bool = False) -> float:
        """The finite number of a key. at_least_0: it is not negative. above_0: it is greater than 0.

        Raises
        ------
        ModelError
            There is none and no default, it is no number, or it is too small.
        """
        value = self.values.get(key, default)
        if value is None:
            raise self.refused(f'"{key}" is empty. Write a number.' if key in self.values else f'"{key}" is missing. Add it, as a number.')
        found, is_text = math.nan, isinstance(value, str) and not self.text
        with suppress(TypeError, ValueError, OverflowError):
            found = float(value)
        if isinstance(value, bool) or is_text or not math.isfinite(found):
            hint = " In YAML this is text: write a number without quotes, with a dot and the sign of its exponent, as 1.2e+5."
            raise self.refused(f'"{key}" is {value!r}, and a number is expected.{hint * (is_text and math.isfinite(found))}')
        if at_least_0 and found < 0.0:
            raise self.refused(f'"{key}" is {found:g}, and 0 or more is expected. A negative rate would make matter.')
        if above_0 and found <= 0.0:
            raise self.refused(f'"{key}" is {found:g}, and a number above 0 is expected.')
        return found

    def numbers(self, form: str) -> tuple[float, ...]:
        """The numbers of a form of rate."""
        return tuple(self.number(key, default, key in AT_LEAST_0, key in ABOVE_0) for key, default in NUMBERS[form].items())

    def form(self, forms: Collection[str]) -> str:
        """The type of a rate, one of some names; raises `ModelError` for another one."""
        kind = self.values.get("type")
        if not isinstance(kind, str) or kind not in forms:
            raise self.unlike("type", f"a form of rate is expected.{nearest(str(kind), forms)}")
        return kind

    def reactants(self, what: str, side: Collection[tuple[str, float]]) -> list[str]:
        """Each reactant as often as it reacts; raises `ModelError` for other numbers. what: has them, for messages."""
        for name, times in side:
            if times not in (1.0, 2.0, 3.0):
                raise self.refused(f"{what} has {times:g} of the reactant {name}, and 1, 2 or 3 is expected.")
        return [name for name, times in side for _ in range(int(times))]

    def only(self, known: Collection[str]) -> None:
        """Raises `ModelError` for a key that is not known."""
        if unknown := [key for key in self.values if key not in known]:
            raise self.refused(f'"{unknown[0]}" is not known here.{nearest(str(unknown[0]), known)}')


def checked_species(entry: Entry, names: object) -> dict[str, int]:
    """Species and their numbers.

    Raises
    ------
    ModelError
        One is no text, stands there twice, or there is none.
    """
    if names is None:
        raise entry.unlike("species", 'a list of names is expected, such as ["NO", "NO2", "O3"].')
    if not isinstance(names, Sequence) or isinstance(names, str) or not names:
        raise entry.refused(f"species is {names!r}, and a list of names is expected.")
    found: dict[str, int] = {}
    for name in names:
        if not isinstance(name, str) or not name:
            raise entry.refused(f"species has {name!r}, and a name is expected.{_boolean(name)}")
        if name in found:
            raise entry.refused(f'species has "{name}" twice. Remove one.')
        found[name] = len(found)
    return found


def number_of(entry: Entry, name: object, species: Mapping[str, int], what: str = "", third: Iterable[str] = ()) -> int:
    """The number of a species; raises `ModelError` if there is none of this name.

    what: the part of the entry that names it. third: names that may be third bodies of a rate.
    """
    if not isinstance(name, str):
        raise entry.refused(f"{what}{name!r} stands where a species is expected.{_boolean(name)}")
    if name not in species:
        more = f" For a third body write it in the rate: third: [{name}]." if name in third else ""
        raise entry.refused(f'{what}there is no species "{name}".{nearest(name, species)} Correct the name, or add it to species.{more}')
    return species[name]


def _boolean(name: object) -> str:
    return ' In YAML a bare NO is false and a bare ON is true: write names in quotes, as "NO".' if isinstance(name, bool) else ""
