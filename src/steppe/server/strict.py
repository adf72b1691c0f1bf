"""Bodies of requests: JSON that can be read in one way only."""

import json
import math
from typing import NoReturn, TypeVar

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
        bad-json: no JSON, a key comes twice, too deep, a number that is not finite or has more than 64 bits; else as `fitted` does.
    """
    return fitted(parse(body, limits.depth), kind)


def parse(body: bytes, depth: int) -> object:
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


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Refused("bad-json", f'The key "{twice[:64]}" comes more than once. Give each key once.', value=twice[:64])
    return found


def _not_finite(text: str) -> NoReturn:
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
