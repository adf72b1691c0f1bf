"""The content of a request, as the struct that it must fit."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from steppe.api import members, missing_choice
from steppe.control import Refused
from steppe.service.polygon import check_polygon

Request = TypeVar("Request", bound=Struct)
KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
SOME = 8  # numbers that a refusal repeats
_WHERE = re.compile(r"^(.*?)(?: - at `(\$.*)`)?$", re.DOTALL)


def fitted(value: object, kind: type[Request]) -> Request:
    """The request that a plain value says.

    Raises
    ------
    Refused
        bad-field or out-of-range: the member that does not fit; polygon-invalid.
    """
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


def _misfit(text: str, value: Any, kind: type[Struct]) -> Refused:
    found = _WHERE.match(text)
    assert found is not None
    what, where = found[1], found[2] or "$"
    if unknown := re.match("Object contains unknown field `(.*)`", what, re.DOTALL):
        name, names = unknown[1][:64], [field.encode_name for each in _structs(_types_at(kind, where)) for field in members(each)]
        return Refused("bad-field", f'The request has no member "{name}".', value=name, allowed=names, position=where)
    if absent := re.match("Object missing required field `(.*)`", what):
        return Refused("bad-field", f'{where[2:] or "The request"} needs the member "{absent[1]}".', value=absent[1], position=where)
    if ".polygon" in where:
        check_polygon(_at(value, where.partition(".polygon")[0] + ".polygon"))
    given = _short(_at(value, where))
    said = re.sub("`([a-z |]+)`", lambda kinds: " or ".join(KINDS.get(word, word) for word in kinds[1].split(" | ")), what)
    wanted, _, got = said.removeprefix("Expected ").partition(", got ")
    if re.search("`(int|float)` [<>]=|`int[^`]*`, got `float`|`float` [<>]", what):
        return Refused("out-of-range", f"{where[2:]} is {given!r}, expected {wanted}.", value=given, allowed=wanted, position=where)
    expected, words = _expected(kind, where)
    if length := re.match("Expected `(?:array|str)` of length ([^,]*)", what):
        count = length[1].replace(">=", "at least").replace("<=", "at most")
        meaning = f": {expected[:1].lower()}{expected[1:]}" if expected else ""
        there = _at(value, where)
        text = f"{where[2:]} has {len(there):,} {'characters' if isinstance(there, str) else 'values'}, expected {count}{meaning}."
        return Refused("bad-field", text, value=given, position=where)
    if expected and re.search("regex|enum|length", what):
        return Refused("bad-field", f"{where[2:]} is {given!r}. Expected: {expected}.", value=given, allowed=words, position=where)
    if got:
        return Refused("bad-field", f"{where[2:] or 'The request'} is {got}, expected {wanted}.", value=given, position=where)
    return Refused("bad-field", f"{said} at {where}.", value=given, position=where)


def _expected(kind: type[Struct], where: str) -> tuple[str, list[str] | None]:
    """The declared type of the member at a path, and its words where only some are allowed."""
    parts = [part for each in _types_at(kind, where)[:1] for part in _parts(each)]
    for words in [get_args(part) for part in parts if get_origin(part) is Literal and not _structs(parts)]:
        return f"one of {', '.join(map(str, words))}", [*map(str, words)]
    for meta in [part for part in parts if isinstance(part, msgspec.Meta) and part.description]:
        examples = f", such as {', '.join(map(str, meta.examples))}" if meta.examples else ""
        return f"{str(meta.description).rstrip('.')}{examples}", None
    return "", None


def _types_at(kind: type[Struct], where: str) -> list[Any]:
    """The declared types of the member at a path; of an item of a list that of the list."""
    found: list[Any] = [kind]
    for name in re.findall(r"\.(\w+)", where):
        found = [field.type for each in _structs(found) for field in members(each) if field.encode_name == name]
    return found


def _structs(kinds: list[Any]) -> list[type[Struct]]:
    """The kinds of objects that values of some types may be."""
    parts = (part for each in kinds for part in _parts(each))
    return [part for part in parts if isinstance(part, type) and issubclass(part, Struct)]


def _parts(kind: Any) -> Iterator[Any]:
    """A type, its annotations and its parts."""
    yield kind
    if get_origin(kind) is Annotated:
        kind, *notes = get_args(kind)
        yield from notes
        yield from _parts(kind)
    elif get_origin(kind) is not Literal:
        for each in get_args(kind):
            yield from _parts(each)


def _at(value: Any, where: str) -> Any:
    """The value at a path."""
    for name, index in re.findall(r"\.(\w+)|\[([0-9]+)\]", where):
        if index:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def _short(value: object) -> object:
    """A value when it is a short thing: text, a number, or some numbers."""
    if isinstance(value, list) and len(value) <= SOME and all(isinstance(each, int | float) for each in value):
        return value
    return value[:64] if isinstance(value, str) else value if isinstance(value, int | float) else None
