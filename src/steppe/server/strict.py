"""Bodies of requests: JSON that can be read in one way only, then the struct that it must fit."""

import json
import math
import re
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from steppe.api import Dates, Origin, Region, members, missing_choice
from steppe.control import Refused
from steppe.server.limits import Limits
from steppe.server.polygon import check_polygon

Request = TypeVar("Request", bound=Struct)
DIGITS = 20  # of a whole number; 64 bits have no more
_WHERE = re.compile(r"^(.*?)(?: - at `(\$.*)`)?$", re.DOTALL)


def decode(body: bytes, kind: type[Request], limits: Limits) -> Request:
    """The request that a body says.

    Raises
    ------
    Refused
        bad-json: no JSON, a key comes twice, too deep, a number that is not finite or has more than 64 bits; else the member that does
        not fit.
    """
    value = parse(body, limits.depth)
    try:
        request = msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), value, kind) from None
    _check_choices(request, "$")
    return request


def _check_choices(request: Struct, where: str) -> None:
    """Whether one of the members that exclude each other is given, in the request and all that is in it."""
    fault = missing_choice(request)
    if fault:
        raise Refused("bad-field", fault, position=where)
    for field in members(type(request)):
        member = getattr(request, field.name)
        for each in member if isinstance(member, list) else (member,):
            if isinstance(each, Struct):
                _check_choices(each, f"{where}.{field.encode_name}")


def parse(body: bytes, depth: int) -> Any:
    """The value of a JSON text; raises Refused, bad-json."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_not_finite, parse_float=_float, parse_int=_whole
        )
    except UnicodeDecodeError:
        raise Refused("bad-json", "The body is not UTF-8. Send JSON in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Refused("bad-json", f"The body is no JSON: {error.msg} at character {error.pos}.", position=error.pos) from None
    except RecursionError:
        raise _too_deep(depth) from None
    level, levels = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        levels += 1
        if levels > depth:
            raise _too_deep(depth)
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return value


def _too_deep(depth: int) -> Refused:
    return Refused("bad-json", f"The body is nested in more than {depth} levels.", allowed=depth)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Refused("bad-json", f'The key "{twice[:64]}" comes more than once. Give each key once.', value=twice[:64])
    return found


def _not_finite(text: str) -> Any:
    raise Refused("bad-json", f"{text} is no number of JSON. Give a finite number.", value=text)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Refused("bad-json", f"{text[:32]} does not fit into 64 bits. Give a finite number.", value=text[:32])
    return number


def _whole(text: str) -> int:
    number = int(text) if len(text) <= DIGITS else 1 << 64
    if not -(1 << 63) <= number < 1 << 64:
        raise Refused("bad-json", f"{text[:32]} does not fit into 64 bits.", value=text[:32])
    return number


def _misfit(text: str, value: Any, kind: type[Struct]) -> Refused:
    found = _WHERE.match(text)
    assert found is not None
    what, where = found[1], found[2] or "$"
    names = [field.encode_name for each in (kind, Dates, Origin, Region) for field in members(each)]
    if unknown := re.match("Object contains unknown field `(.*)`", what, re.DOTALL):
        name = unknown[1][:64]
        return Refused("bad-field", f'The request has no member "{name}".', value=name, allowed=names, position=where)
    if ".polygon" in where:
        check_polygon(value["region"]["polygon"])
    given = _at(value, where)
    if re.search("`(int|float)` [<>]=|`int[^`]*`, got `float`|`float` [<>]", what):
        return Refused("out-of-range", f"{where[2:]} is {given!r}. {what}.", value=given, allowed=what, position=where)
    return Refused("bad-field", f"{what} at {where}.", value=given, position=where)


def _at(value: Any, where: str) -> Any:
    """What stands at a path, when it is a short thing."""
    for name, index in re.findall(r"\.(\w+)|\[([0-9]+)\]", where):
        if index:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value[:64] if isinstance(value, str) else value if isinstance(value, int | float) else None
