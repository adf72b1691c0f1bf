"""The grammar of queries: which keys an address takes, and what each may say. Anything else is refused, as is a key that comes twice."""

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from steppe.api import DATE
from steppe.control import Refused
from steppe.errors import nearest
from steppe.server.polygon import check_polygon

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
_MAPS = [
    "acton",
    "bam",
    "bamako",
    "bamO",
    "batlow",
    "batlowK",
    "batlowW",
    "berlin",
    "bilbao",
    "broc",
    "brocO",
    "buda",
    "bukavu",
    "cork",
    "corkO",
    "davos",
    "devon",
    "fes",
    "glasgow",
    "grayC",
    "hawaii",
    "imola",
    "lajolla",
    "lapaz",
    "lipari",
    "lisbon",
    "managua",
    "navia",
    "naviaW",
    "nuuk",
    "oleron",
    "oslo",
    "roma",
    "romaO",
    "tofino",
    "tokyo",
    "turku",
    "vanimo",
    "vik",
    "vikO",
]
STYLES = (*_MAPS, *(f"{name}_r" for name in _MAPS))
PIXELS = 8192  # of a side of an image
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,3})?")
_LEVEL = re.compile(r"[-+]?[0-9][0-9.eE+-]{0,20}( ?[A-Za-z%][ -~]{0,18})?")
_TIME = re.compile(rf"latest|step:[0-9]{{1,10}}(/[0-9]{{1,10}})?|{DATE}(/{DATE})?")


class Parameter(NamedTuple):
    """One key of a query. read: text -> value, or ValueError in words; schema: for the contract; many: may be repeated, gives a list."""

    read: Callable[[str], Any]
    schema: Mapping[str, Any]
    description: str
    default: Any = None
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
            found[key] = [*found.get(key, ()), value] if parameter.many else value
    return {key: parameter.default for key, parameter in grammar.items()} | found


# ---- values -----------------------------------------------------------------------------------------------------------------------------
def one_of(*names: str) -> tuple[Callable[[str], str], dict[str, Any]]:
    """Reader and schema of a choice."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"It is none of {', '.join(names)}.{nearest(text, names)}")
        return text

    return read, {"type": "string", "enum": list(names)}


def whole(low: int, high: int) -> tuple[Callable[[str], int], dict[str, Any]]:
    """Reader and schema of a whole number."""

    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,19}", text) or not low <= int(text) <= high:
            raise ValueError(f"It is no whole number from {low} to {high}.")
        return int(text)

    return read, {"type": "integer", "minimum": low, "maximum": high}


def number(most: float) -> tuple[Callable[[str], float], dict[str, Any]]:
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


def _box(text: str) -> list[float]:
    box = _numbers(text)
    if len(box) != 4:
        raise ValueError("A box is west,south,east,north.")
    if not (-180 <= box[0] < box[2] <= 360 and -90 <= box[1] < box[3] <= 90):
        raise _BeyondError("A box is west,south,east,north in degrees, west < east and south < north.")
    return box


def _polygon(text: str) -> list[tuple[float, float]]:
    numbers = _numbers(text)
    if len(numbers) % 2:
        raise ValueError("A polygon is longitude,latitude,longitude,latitude,...; one number is missing.")
    corners = list(zip(numbers[::2], numbers[1::2], strict=True))
    check_polygon(corners)
    return corners


def _cells(text: str) -> list[int]:
    if not re.fullmatch("[0-9]{1,10}(,[0-9]{1,10})*", text):
        raise ValueError("Cells are whole numbers with commas between.")
    return [int(part) for part in text.split(",")]


def _scenario(text: str) -> str:
    if not re.fullmatch(SCENARIO, text):
        raise ValueError("A scenario has a name of 1 to 80 of A-Z a-z 0-9 . _ @ -.")
    return text


def _time(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise ValueError("Write latest, 2001-03-05, 2001-03-05/2001-03-31, 2001-03-05T06:00, step:64 or step:64/90.")
    return text


def _day(text: str) -> str:
    if not re.fullmatch(DATE, text):
        raise ValueError("It is no date, such as 2001-03-05.")
    return text


def _level(text: str) -> str:
    if len(text) > 40 or not _LEVEL.fullmatch(text):
        raise ValueError('It is neither the number of a level nor a value with its unit, such as "850 hPa".')
    return text


_TEXT = {"type": "string"}
LONG = 6000  # characters; longer regions go into an order
_DECIMAL = r"-?[0-9]{1,12}(\.[0-9]{1,12})?"
SCENARIO = "[A-Za-z0-9][A-Za-z0-9._@-]{0,79}"

scenario = Parameter(_scenario, {**_TEXT, "pattern": f"^{SCENARIO}$"}, "The scenario that is meant.", "main")
time = Parameter(
    _time,
    {**_TEXT, "pattern": f"^({_TIME.pattern})$"},
    "latest: the last finished step; a date, from/to (both included), step:n or step:n/m of what was computed. A date means its end.",
    "latest",
)
level = Parameter(
    _level,
    {**_TEXT, "pattern": f"^{_LEVEL.pattern}$", "maxLength": 40, "example": "850 hPa"},
    "Of a variable with levels the one that is meant: its number, from 0, or its value with its unit.",
)
day = Parameter(_day, {**_TEXT, "pattern": f"^{DATE}$"}, "A date.")
box = Parameter(_box, {**_TEXT, "pattern": f"^{_DECIMAL}(,{_DECIMAL}){{3}}$", "example": "150,-28,153,-25"}, "West,south,east,north.")
polygon = Parameter(
    _polygon,
    {**_TEXT, "pattern": f"^{_DECIMAL},{_DECIMAL}(,{_DECIMAL},{_DECIMAL}){{2,}}$", "maxLength": LONG, "example": "150,-28,153,-28,153,-25"},
    "Corners: lon,lat,lon,lat,...",
)
cells = Parameter(_cells, {**_TEXT, "pattern": "^[0-9]{1,10}(,[0-9]{1,10})*$", "maxLength": LONG}, "Packed numbers of cells.")
stride = Parameter(*whole(1, 1000), "Every k-th row and column only.", 1)
width = Parameter(*whole(1, PIXELS), "Columns of the answer; cells are put together by `reduce`.")
height = Parameter(*whole(1, PIXELS), "Rows of the answer; from the width and the shape of the region when absent.")
reduce = Parameter(*one_of("mean", "min", "max", "first"), "What becomes of cells that are put together; mean weighs by area.", "mean")
packed = Parameter(*one_of("0", "1"), "1: active cells only, in packed order; 0: rows and columns.", "0")
dtype = Parameter(*one_of("float32", "float64", "int16"), "Type of the numbers; the variable's own when absent.")
_ACCEPT = "The format of the answer; when absent the one of these that the header Accept prefers, the first of them for any."
data_format = Parameter(*one_of(*FORMATS), _ACCEPT)
series_format = Parameter(*one_of(*SERIES_FORMATS), _ACCEPT)
style = Parameter(*one_of(*STYLES), "A colour map of Crameri (2018); one that suits the variable when absent.")
low = Parameter(*number(1e11), "The value of the first colour; from the values when absent.")
high = Parameter(*number(1e11), "The value of the last colour; from the values when absent.")
at = Parameter(
    _place,
    {**_TEXT, "pattern": f"^{_DECIMAL},{_DECIMAL}$", "example": "151.9,-27.5"},
    "A place: longitude,latitude; may be repeated.",
    (),
    200,
)
after = Parameter(*whole(0, 2**62), "Those behind this number.", 0)
limit = Parameter(*whole(1, 10_000), "At most so many.", 1000)
branch = Parameter(*whole(1, 2**31 - 1), "Number of the branch that it is of; of several the one made last when absent.")
keep = Parameter(*one_of("data"), "data: what was written stays.")


DATA: Grammar = {
    "scenario": scenario,
    "level": level,
    "time": time,
    "box": box,
    "polygon": polygon,
    "cells": cells,
    "stride": stride,
    "width": width,
    "height": height,
    "reduce": reduce,
    "packed": packed,
    "dtype": dtype,
    "format": data_format,
}
IMAGE: Grammar = {
    "scenario": scenario,
    "level": level,
    "time": time,
    "box": box,
    "width": width,
    "height": height,
    "reduce": reduce,
    "style": style,
    "low": low,
    "high": high,
}
FILM: Grammar = {
    **{key: IMAGE[key] for key in ("scenario", "level", "style", "low", "high")},
    "from": day._replace(description="First day; the record that holds it is shown. That of the first record when absent."),
    "to": day._replace(description="Last day, inclusive. That of the last record when absent."),
    "fps": Parameter(*whole(1, 60), "Frames a second.", 10),
}
FIT: Grammar = {"scenario": scenario, "level": level, "time": time}
CELLS: Grammar = {"box": box, "polygon": polygon, "cells": cells}
LOG: Grammar = {"after": after, "limit": limit}
WHERE: Grammar = {"scenario": scenario._replace(default=None)}
BRANCH: Grammar = {"branch": branch}
KEEP: Grammar = {"keep": keep}
SERIES: Grammar = {
    "scenario": scenario,
    "level": level._replace(description="Of a variable with levels the one that is meant. With `at` all of them, a profile, when absent."),
    "time": time,
    "at": at,
    "box": box,
    "polygon": polygon,
    "cells": cells,
    "points": Parameter(*whole(10, 10_000), "About so many steps at most: of longer series the least and greatest values stay."),
    "compute": Parameter(*one_of("0", "1"), "0: nothing is computed again for it; with `points` only.", "1"),
    "format": series_format,
}


def one_region(asked: Mapping[str, Any], names: Sequence[str] = ("box", "polygon", "cells")) -> str | None:
    """Which of the ways to name a region is used.

    Raises
    ------
    Refused
        region-invalid: more than one is.
    """
    given = [name for name in names if asked.get(name) is not None]
    if len(given) > 1:
        raise Refused("region-invalid", f"Give {given[0]} or {given[1]}, not both.", position=given[1])
    return given[0] if given else None
