"""Bodies of requests: JSON that can be read in one way only."""

import json
import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, TypeVar

from msgspec import Struct

from steppe.control import Refused
from steppe.server.limits import Limits
from steppe.service.requests import fitted

Request = TypeVar("Request", bound=Struct)
DIGITS = 20  # of a whole number; 64 bits have no more


def decode(body: bytes, kind: type[Request], limits: Limits) -> Request:
    """The struct that a body holds.

    Raises
    ------
    Refused
        bad-json: no JSON, a key comes twice, too deep, half of a character, a number that is not finite or has more than 64 bits;
        else as `fitted` does.
    """
    return fitted(parse(body, limits.depth), kind)


def parse(body: bytes, depth: int) -> object:
    """The value of a JSON text; raises Refused, bad-json."""
    misfits: list[_Misfit] = []
    constant, real, whole = (partial(read, misfits) for read in (_misfit, _float, _whole))
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_object, parse_constant=constant, parse_float=real, parse_int=whole)
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
    if b"\\u" in body:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            raise Refused("bad-json", f"{half} is half of a character. Send both halves, or the character in UTF-8.", value=half) from None
    if misfits:
        variable = value.get("variable") if isinstance(value, dict) else None
        where, text = next(_places(value, "$")), misfits[0].text[:32]
        of = f' of variable "{variable[:64]}"' if isinstance(variable, str) else ""
        raise Refused(
            "bad-json", f"{where[2:] or 'The request'}{of} is {text}, expected a finite number of 64 bits.", value=text, position=where
        )
    return value


class _Misfit(NamedTuple):
    """A number that is not finite, or has more than 64 bits."""

    text: str


def _places(value: object, where: str) -> Iterator[str]:
    """Where misfits lie in a value, in the order of the text."""
    if isinstance(value, _Misfit):
        yield where
    elif isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(child, f"{where}.{key[:64]}" if isinstance(key, str) else f"{where}[{key}]")


def _too_deep(depth: int) -> Refused:
    return Refused("bad-json", f"The body is nested in more than {depth} levels.", allowed=depth)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Refused("bad-json", f'The key "{twice[:64]}" comes more than once. Give each key once.', value=twice[:64])
    return found


def _misfit(misfits: list[_Misfit], text: str) -> _Misfit:
    misfits.append(_Misfit(text))
    return misfits[-1]


def _float(misfits: list[_Misfit], text: str) -> float | _Misfit:
    number = float(text)
    return number if math.isfinite(number) else _misfit(misfits, text)


def _whole(misfits: list[_Misfit], text: str) -> int | _Misfit:
    number = int(text) if len(text) <= DIGITS else 1 << 64
    return number if -(1 << 63) <= number < 1 << 64 else _misfit(misfits, text)
