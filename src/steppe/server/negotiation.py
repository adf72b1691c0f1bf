"""The preferences of a client (RFC 9110, 2022, section 12.5): media types (`Accept`), codings (`Accept-Encoding`), and tags that it has."""

import re
from collections.abc import Mapping
from functools import lru_cache

from steppe.control import Refused

_CODED = re.compile(rb'-(?:gzip|br|zstd)(?="$)')  # what a proxy that compresses a reply adds to its tag
_WEIGHT = re.compile(r"[01](\.[0-9]{0,3})?")


def form_of(accept: bytes, forms: Mapping[str, str]) -> str:
    """The format that a client prefers; the first of several alike, and if it names none.

    accept: the header, b"" when there is none; forms: format -> media type.

    Raises
    ------
    Refused
        not-acceptable: it takes none of them.
    """
    found = _preferred(accept, tuple(forms.items()))
    if found is None:
        given = accept[:200].decode("ascii", "replace")
        allowed = [media.partition(";")[0] for media in forms.values()]
        text = f'The header Accept, "{given}", takes no format of this answer. Accept one of the allowed types, or give format=.'
        raise Refused("not-acceptable", text, value=given, allowed=allowed, position="Accept")
    return found


def tags_of(header: bytes) -> list[bytes]:
    """The tags of If-Match or If-None-Match as this server made them: without the W/, and without the coding that a proxy added."""
    return [_CODED.sub(b"", each.strip().removeprefix(b"W/")) for each in header.split(b",")]


@lru_cache(1000)
def takes_gzip(accepted: bytes) -> bool:
    """Whether a client accepts gzip. accepted: the header Accept-Encoding, b"" when there is none."""
    weights = _weights(accepted)
    return weights.get("gzip", weights.get("*", 0.0)) > 0.0


@lru_cache(1000)
def _preferred(accept: bytes, forms: tuple[tuple[str, str], ...]) -> str | None:
    if not accept.strip():
        return forms[0][0]
    weights = _weights(accept)
    best, most = None, 0.0
    for form, media in forms:
        name = media.partition(";")[0]
        ranges = (name, f"{name.partition('/')[0]}/*", "*/*")  # the narrowest range decides
        weight = next((weights[each] for each in ranges if each in weights), 0.0)
        if weight > most:
            best, most = form, weight
    return best


def _weights(header: bytes) -> dict[str, float]:
    """Name -> weight, 0 to 1, of a list such as "text/csv, */*;q=0.1"; an entry with a malformed weight is left out."""
    found: dict[str, float] = {}
    for each in header.decode("latin-1").lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        weight = next((value.strip() for key, _, value in (one.partition("=") for one in parameters) if key.strip() == "q"), "1")
        if name and _WEIGHT.fullmatch(weight):
            found[name] = min(float(weight), 1.0)
    return found
