"""Whether a text is a unit. UDUNITS decides; the units that models mostly use need no library, which takes a fifth of a second to load."""

import re
from functools import cache

PREFIXES = ("", "c", "h", "k", "m", "M", "G")
COMMON = {
    *("1", "%", "d", "day", "days", "h", "hour", "min", "year", "ha", "degC", "degree", "degrees", "degrees_north", "degrees_east", "rad"),
    *(prefix + unit for prefix in PREFIXES for unit in ("m", "s", "g", "Pa", "J", "W", "K", "mol", "V", "N")),
}
TERM = re.compile(r"(.*?[^-+\d])(-?\d)?")  # a symbol and its power, as in "m-2"


@cache
def is_unit(text: str) -> bool:
    """Whether UDUNITS knows `text` as a unit, as in "kg m-2 d-1".

    Examples
    --------
    >>> is_unit("kg ha-1 d-1"), is_unit("furlongs per fortnite"), is_unit("")
    (True, False, False)
    """
    terms = text.split(" ")
    if all(term == "1" or ((found := TERM.fullmatch(term)) and found[1] in COMMON) for term in terms):
        return True
    from cf_units import Unit

    try:
        unit = Unit(text)
    except ValueError:
        return False
    return not (unit.is_unknown() or unit.is_no_unit())
