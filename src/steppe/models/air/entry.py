"""One entry of a mechanism file while it is read: its values, checked, and errors that name the file, the line and the entry."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from steppe.errors import ModelError, nearest
from steppe.models.air.mechanism import NUMBERS


class Entry:
    """where: file, line and reaction, for messages. values: of the entry. text: numbers may be written as text, as in OpenAtmos files."""

    def __init__(self, where: str, values: object, text: bool = False) -> None:
        self.where, self.text = where, text
        if not isinstance(values, Mapping):
            raise self.refused(f"{values!r} stands where a table of names and values is expected.")
        self.values: Mapping[str, Any] = {key: value for key, value in values.items() if not str(key).startswith("__")}

    def refused(self, problem: str) -> ModelError:
        """The error to raise."""
        return ModelError(f"Mechanism {self.where}: {problem}")

    def number(self, key: str, default: float | None = None) -> float:
        """The finite number of a key.

        Raises
        ------
        ModelError
            There is none and no default, or it is no number.
        """
        if key not in self.values:
            if default is None:
                raise self.refused(f'"{key}" is missing. Add it, as a number.')
            return default
        value = self.values[key]
        found = math.nan
        if not isinstance(value, bool) and (self.text or not isinstance(value, str)):
            with suppress(TypeError, ValueError, OverflowError):
                found = float(value)
        if not math.isfinite(found):
            raise self.refused(f'"{key}" is {value!r}, and a number is expected.{_hint(value)}')
        return found

    def numbers(self, form: str, names: Mapping[str, str] | None = None) -> tuple[float, ...]:
        """The numbers of a form of rate. names: key of `NUMBERS` -> key of the file, where they differ."""
        return tuple(self.number((names or {}).get(key, key), default) for key, default in NUMBERS[form].items())

    def only(self, known: Iterable[str]) -> None:
        """Raises `ModelError` for a key that is not known."""
        known = list(known)
        for key in self.values:
            if key not in known:
                raise self.refused(f'"{key}" is not known here.{nearest(str(key), known)}')


def checked_species(entry: Entry, names: object) -> dict[str, int]:
    """Species and their numbers.

    Raises
    ------
    ModelError
        One is no text, stands there twice, or there is none.
    """
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


def number_of(entry: Entry, name: object, species: Mapping[str, int], what: str = "") -> int:
    """The number of a species; raises `ModelError` if there is none of this name. what: the part of the entry that names it."""
    if not isinstance(name, str):
        raise entry.refused(f"{what}{name!r} stands where a species is expected.{_boolean(name)}")
    if name not in species:
        raise entry.refused(f'{what}there is no species "{name}".{nearest(name, species)} Correct the name, or add it to species.')
    return species[name]


def _hint(value: object) -> str:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return ""
        return " In YAML this is text: write a number without quotes, with a dot and the sign of its exponent, as 1.2e+5."
    return ""


def _boolean(name: object) -> str:
    return ' In YAML a bare NO is false and a bare ON is true: write names in quotes, as "NO".' if isinstance(name, bool) else ""
