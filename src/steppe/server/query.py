"""The grammar of addresses: which keys each takes, and what each may say. Anything else is refused, as is a key that comes twice.

The keys of maps and series are those of `MapQuery` and `SeriesQuery`.
"""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin
from urllib.parse import parse_qsl

from msgspec import Struct, structs

from steppe.api import DATE
from steppe.api.query import MapQuery, SeriesQuery
from steppe.control import Refused
from steppe.errors import GridError, nearest
from steppe.grid import Region

FORMATS = {
    "raw": "application/vnd.steppe.array",
    "npy": "application/x-npy",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "netcdf": "application/x-netcdf",
    "coverage-json": "application/vnd.cov+json",
    "png": "image/png",
}
SERIES_FORMATS = {form: FORMATS[form] for form in ("json", "csv", "coverage-json")}
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,3})?")


class Parameter(NamedTuple):
    """One key of a query. read: text -> value, or ValueError in words; schema: for the contract; many: may be repeated, gives a list."""

    read: Callable[[str], object]
    schema: Mapping[str, object]
    description: str
    default: object = None
    many: int = 0


Grammar = Mapping[str, Parameter]


class _BeyondError(ValueError):
    """Well written, but no place or number that can be; raised by readers."""


def read_query(query: bytes, grammar: Grammar) -> dict[str, Any]:
    """Key -> value of a query, defaults filled in.

    Raises
    ------
    Refused
        bad-query: a key is unknown or comes twice, or a value is none that it takes; out-of-range: one that cannot be.
    """
    found: dict[str, Any] = {}
    if query:
        try:
            pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=1000)
        except (ValueError, UnicodeError) as error:
            raise Refused("bad-query", f"The query cannot be read ({error}). Write key=value&key=value.") from None
        for key, text in pairs:
            parameter = grammar.get(key)
            if parameter is None:
                raise Refused(
                    "bad-query", f'The key "{key[:64]}" is not known.{nearest(key[:64], grammar)}', value=key[:64], allowed=list(grammar)
                )
            if key in found and len(found[key] if parameter.many else "1") >= max(parameter.many, 1):
                raise Refused("bad-query", f'The key "{key}" comes too often.', value=key, allowed=max(parameter.many, 1))
            try:
                value = parameter.read(text)
            except _BeyondError as error:
                raise Refused("out-of-range", f"{key}={text[:64]}: {error}", value=text[:64], position=key) from None
            except ValueError as error:
                raise Refused("bad-query", f"{key}={text[:64]}: {error}", value=text[:64], allowed=parameter.schema, position=key) from None
            found[key] = (*found.get(key, ()), value) if parameter.many else value
    return {key: parameter.default for key, parameter in grammar.items()} | found


# ---- values -----------------------------------------------------------------------------------------------------------------------------
def one_of(*names: str) -> tuple[Callable[[str], str], dict[str, object]]:
    """Reader and schema of a choice."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"It is none of {', '.join(names)}.{nearest(text, names)}")
        return text

    return read, {"type": "string", "enum": list(names)}


def whole(low: int, high: int) -> tuple[Callable[[str], int], dict[str, object]]:
    """Reader and schema of a whole number."""

    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,19}", text) or not low <= int(text) <= high:
            raise ValueError(f"It is no whole number from {low} to {high}.")
        return int(text)

    return read, {"type": "integer", "minimum": low, "maximum": high}


def number(most: float) -> tuple[Callable[[str], float], dict[str, object]]:
    """Reader and schema of a number from -most to most."""

    def read(text: str) -> float:
        value = _number(text)
        if abs(value) > most:
            raise ValueError(f"It lies outside {-most:g} to {most:g}.")
        return value

    return read, {"type": "number", "minimum": -most, "maximum": most}


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not isfinite(float(text)):
        raise ValueError("It is no number, such as -27.5.")
    return float(text)


def _numbers(text: str) -> list[float]:
    return [_number(part) for part in text.split(",")]


def _place(text: str) -> tuple[float, float]:
    numbers = _numbers(text)
    if len(numbers) != 2:
        raise ValueError("A place is longitude,latitude.")
    if not (-180 <= numbers[0] <= 360 and -90 <= numbers[1] <= 90):
        raise _BeyondError("A place is longitude,latitude in degrees.")
    return numbers[0], numbers[1]


def _box(text: str) -> tuple[float, ...]:
    box = tuple(_numbers(text))
    if len(box) != 4:
        raise ValueError("A box is west,south,east,north.")
    try:
        Region.of({"box": box})
    except GridError as error:
        raise _BeyondError(str(error)) from None
    return box


def _polygon(text: str) -> tuple[tuple[float, float], ...]:
    numbers = _numbers(text)
    if len(numbers) % 2:
        raise ValueError("A polygon is longitude,latitude,longitude,latitude,...; one number is missing.")
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _cells(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def text(pattern: str, wrong: str, most: int | None = None, read: Callable[[str], object] = str) -> Callable[[str], object]:
    """Reader of a text of a pattern. wrong: the message about a text of another pattern."""
    whole = re.compile(pattern)

    def checked(given: str) -> object:
        if (most is not None and len(given) > most) or not whole.fullmatch(given):
            raise ValueError(wrong)
        return read(given)

    return checked


# ---- keys -------------------------------------------------------------------------------------------------------------------------------
_READ: Mapping[str, Callable[[str], object]] = {"box": _box, "polygon": _polygon, "cells": _cells, "at": _place}


def grammar(kind: type[Struct], *without: str) -> Grammar:
    """The keys of a query: the members of a struct, but for some."""
    found = {each.name: _parameter(each) for each in structs.fields(kind) if each.name not in without}
    return {name: parameter for name, parameter in found.items() if parameter is not None}


def _parameter(field: structs.FieldInfo) -> Parameter | None:
    """A member of a struct as a key; None for one without a description."""
    annotated = next((each for each in (field.type, *get_args(field.type)) if get_origin(each) is Annotated), None)
    if annotated is None:
        return None
    kind, meta = get_args(annotated)
    extra = meta.extra or {}
    if kind is bool:
        read, schema = one_of("0", "1")
        return Parameter(lambda text: read(text) == "1", schema, meta.description, field.default)
    if choices := extra.get("choices") or (get_args(kind) if get_origin(kind) is Literal else ()):
        return Parameter(*one_of(*choices), meta.description, field.default)
    if kind is int:
        return Parameter(*whole(extra["low"], extra["high"]), meta.description, field.default)
    if kind is float:
        return Parameter(*number(extra["high"]), meta.description, field.default)
    schema = {"type": "string", "pattern": extra["pattern"]} | ({"maxLength": extra["most"]} if "most" in extra else {})
    schema |= {"example": extra["example"]} if "example" in extra else {}
    read_any = _READ.get(field.name, str)
    read_text = text(extra["pattern"], extra["wrong"], extra.get("most"), read_any) if "wrong" in extra else read_any
    return Parameter(read_text, schema, meta.description, field.default, extra.get("many", 0))


DATA = grammar(MapQuery, "style", "low", "high")
IMAGE = grammar(MapQuery, "polygon", "cells", "stride", "packed", "dtype", "format")
SERIES = grammar(SeriesQuery)
_DAY = Parameter(text(f"^{DATE}$", "It is no date, such as 2001-03-05."), {"type": "string", "pattern": f"^{DATE}$"}, "A date.")
FILM: Grammar = {
    **{key: IMAGE[key] for key in ("scenario", "level", "style", "low", "high")},
    "from": _DAY._replace(description="First day; the record that holds it is shown. That of the first record when absent."),
    "to": _DAY._replace(description="Last day, inclusive. That of the last record when absent."),
    "fps": Parameter(*whole(1, 60), "Frames a second.", 10),
}
FIT: Grammar = {key: DATA[key] for key in ("scenario", "level", "time")}
CELLS: Grammar = {key: DATA[key] for key in ("box", "polygon", "cells")}
LOG: Grammar = {
    "after": Parameter(*whole(0, 2**62), "Rows after this number.", 0),
    "limit": Parameter(*whole(1, 10_000), "The most rows.", 1000),
}
WHERE: Grammar = {"scenario": DATA["scenario"]._replace(default=None)}
BRANCH: Grammar = {"branch": Parameter(*whole(1, 2**31 - 1), "Number of its branch; when absent, the newest of several.")}
KEEP: Grammar = {"keep": Parameter(*one_of("data"), "data: its files stay.")}
