"""Units of forcing: their spellings, and the linear conversion from one to another.

A forcing value mostly holds for one day, so an amount ("mm") and a rate per day ("mm d-1") are the same number, and 1 kg m-2 of water is
1 mm.
"""

from typing import NamedTuple

from steppe.errors import ForcingError

# with a space UDUNITS reads the product of an angle and a temperature or a charge
_OF = {"C": "degC", "celsius": "degC", "Celsius": "degC", "F": "degF", "fahrenheit": "degF", "Fahrenheit": "degF"}
_OF |= {"K": "K", "kelvin": "K", "Kelvin": "K"}
_DEGREES = {
    **dict.fromkeys(("degC", "°C", "oC", "C", "celsius", "Celsius", "celcius", "Celcius"), "degC"),
    **{f"{word}{by}{of}": unit for word in ("deg", "degree", "degrees", "Degrees") for by in " _" for of, unit in _OF.items()},
    **{f"{word} {of}": unit for word in ("deg.", "Deg.") for of, unit in _OF.items()},
}
_WATER = ("mm d-1", "mm", "mm/d", "mm/day", "mm day-1", "mm d**-1", "kg m-2", "kg/m2", "kg m**-2", "kg m-2 d-1", "kg m-2 day-1")
_RADIATION = ("MJ m-2 d-1", "MJ m-2", "MJ/m2", "MJ/m^2", "MJ m**-2", "MJ/m2/d", "MJ/m2/day", "MJ m-2 day-1", "MJ m^-2")

SPELLINGS = {
    **_DEGREES,
    **dict.fromkeys(("K", "kelvin", "Kelvin", "degK"), "K"),
    **dict.fromkeys(_WATER, "mm d-1"),
    **dict.fromkeys(("kg m-2 s-1", "kg/m2/s", "kg m**-2 s**-1", "mm s-1", "mm/s"), "mm s-1"),
    **dict.fromkeys(_RADIATION, "MJ m-2 d-1"),
    **dict.fromkeys(("J m-2", "J/m2", "J m**-2", "J m-2 d-1"), "J m-2 d-1"),
    **dict.fromkeys(("W m-2", "W/m2", "W/m^2", "W m**-2", "W m^-2"), "W m-2"),
    **dict.fromkeys(("hPa", "mb", "mbar", "millibar"), "hPa"),
    **dict.fromkeys(("1", "-", "", "fraction"), "1"),
    "m of water equivalent": "m",
    "inches": "inch",
    **{f"{many}Wh{by}": f"{many}W h m-2" for many in ("k", "") for by in (" m-2", "/m2", " m**-2", "/m^2")},
    **{f"{many}Wh{by}": f"{many}W h m-2 d-1" for many in ("k", "") for by in (" m-2 d-1", " m-2 day-1", "/m2/d", "/m2/day")},
}


AMOUNTS = {"mm", *(of + "m" + by for of in ("kg ", "MJ ", "J ") for by in ("-2", "**-2")), "kg/m2", "MJ/m2", "MJ/m^2", "J/m2"}


class Conversion(NamedTuple):
    """wanted = found x factor + offset."""

    factor: float
    offset: float


SAME = Conversion(1.0, 0.0)
CURE = (
    "Correct the units in the file, or give the right ones: to `steppe ingest` with --units, for the stations of a run file "
    "with units.NAME under [forcing]; they are never guessed."
)


def check_rate(found: str, wanted: str, where: str, methods: str = "") -> None:
    """Checks that a value of several days in unit `found` can only be a mean: amount and rate of a week are different numbers.

    methods: CF cell_methods of the file, for the error.

    Raises
    ------
    ForcingError
        It may be an amount.
    """
    if _is_amount(found, wanted):
        what = "may be sums or daily means; the file does not state which"
        if "time: sum" in methods:
            what = f'are sums, as their cell_methods "{methods}" state'
        raise ForcingError(f'{where}: weekly maps in "{found}" {what}. Make them daily means, in "{wanted}", and say so in their units.')


def _is_amount(found: str, wanted: str) -> bool:
    """True for "mm", "cm" or "J cm-2" where a rate a day is wanted."""
    if not wanted.endswith(" d-1") or found.strip() in AMOUNTS:
        return wanted.endswith(" d-1")
    from cf_units import Unit

    try:
        return bool(Unit(SPELLINGS.get(found.strip(), found)).is_convertible(Unit(wanted.removesuffix(" d-1"))))
    except ValueError:
        return False


def conversion(found: str, wanted: str, where: str, daily: bool = True, cure: str = CURE) -> Conversion:
    """The conversion from unit `found` to unit `wanted`, in any known spelling. `where` names file and variable for the error.

    daily: values are of days, so an amount is a rate a day. cure: what can be done, for the error.

    Raises
    ------
    ForcingError
        A unit is unknown, or the two measure different things.
    """
    known = SPELLINGS if daily else {text: unit for text, unit in SPELLINGS.items() if text not in AMOUNTS}
    source, target = (known.get(text.strip(), text.strip()) for text in (found, wanted))
    if source == target:
        return SAME
    from cf_units import Unit  # takes half a second to load, and most stores never need it

    try:
        unit, into = Unit(source), Unit(target.removesuffix(" d-1") if daily and _is_amount(source, target) else target)
        offset = float(unit.convert(0.0, into))
        # the slope from a far point, where the rounding of the offset no longer shows in it
        factor = (float(unit.convert(1000.0, into)) - offset) / 1000.0
    except ValueError:
        given = f'is in "{found}"' if found.strip() else "has no units"
        raise ForcingError(f'{where} {given}, expected "{wanted}" or something that converts to it. {cure}') from None
    return Conversion(factor, offset)
