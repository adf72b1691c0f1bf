"""The colour map of a quantity, and its limits as round numbers.

Colour maps are Crameri's (2018, doi:10.5281/zenodo.1243862): perceptually uniform, and readable in grey and with colour blindness.
"""

from dataclasses import dataclass, replace
from math import ceil, floor, log10

import numpy as np

from steppe.array_types import Array

DIFFERENCE = "vik"
PLAIN = "batlow"
CELSIUS = ("degC", "celsius")
NO_ORIGIN = ("K", *CELSIUS)  # units whose values are not compared with zero

# The first line with a word that occurs in the standard name, long name or name decides; most specific first.
_MAPS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("temperature", "radiation", "insolation", "flux_in_air"), "lajolla_r"),
    (("evapo", "transpiration", "vapour_pressure"), "nuuk_r"),
    (("soil_water", "soil_moisture", "moisture", "wetness"), "davos_r"),
    (("rain", "precipitation", "runoff", "drainage", "snow", "flow"), "oslo_r"),
    (("biomass", "pasture", "grass", "leaf", "stem", "vegetation", "dry_matter", "growth", "cover", "root", "litter"), "bamako_r"),
    (("burn", "fire", "erosion", "loss"), "bilbao_r"),
)


@dataclass(frozen=True, slots=True)
class Colours:
    """A colour map of cmcrameri and the values at its ends; `step` apart are round values for ticks. whole: with its darkest fifth."""

    name: str
    low: float
    high: float
    step: float
    whole: bool = False

    def ticks(self) -> list[float]:
        """Round values from low to high."""
        return [round(self.low + i * self.step, 12) for i in range(floor((self.high - self.low) / self.step + 1e-9) + 1)]

    def between(self, low: float, high: float) -> "Colours":
        """The same colours between other ends."""
        return replace(self, low=low, high=high, step=round_step(high - low))


def choose_colours(values: Array, name: str, units: str = "", standard_name: str = "", long_name: str = "") -> Colours:
    """The colours of a map: the colour map by quantity, between round numbers near its 2nd and 98th percentile.

    Parameters
    ----------
    values
        Any shape; values that are not finite are ignored.
    name, units, standard_name, long_name
        As in the variable.
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    low, high = (float(end) for end in np.percentile(finite, (2, 98))) if finite.size else (0.0, 1.0)
    if 0.0 <= low < 0.3 * high or (low == high == 0.0):
        low = 0.0  # amounts are compared with zero
    if high - low <= 1e-6 * abs(high):  # one value, apart from rounding
        high = low + (abs(low) or 1.0) * 0.1
    step = round_step(high - low)
    return Colours(_map_of(name, units, standard_name, long_name), floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, step)


def picture_colours(
    values: Array,
    name: str,
    units: str = "",
    standard_name: str = "",
    long_name: str = "",
    scale: tuple[float, float] | None = None,
    palette: str | None = None,
) -> Colours:
    """As `choose_colours`; values of both signs have diverging colours, equally far on both sides of 0. scale, palette: given ones."""
    found = choose_colours(values, name, units, standard_name, long_name)
    found = replace(found, name=palette or found.name, whole=palette is not None)
    signed = found.low < 0.0 < found.high and units not in CELSIUS and palette in (None, DIFFERENCE)
    if scale:
        found = found.between(*scale)
        return replace(found, name=DIFFERENCE) if signed and found.low == -found.high else found
    step = round_step(2.0 * max(-found.low, found.high))
    end = ceil(max(-found.low, found.high) / step - 1e-9) * step
    return Colours(DIFFERENCE, -end, end, step) if signed else found


def _map_of(name: str, units: str, standard_name: str, long_name: str) -> str:
    text = " ".join((standard_name, long_name, name)).lower().replace(" ", "_")
    for words, colours in _MAPS:
        if any(word in text for word in words):
            return colours
    return "lajolla_r" if units in NO_ORIGIN else PLAIN


def round_step(span: float) -> float:
    """The round number (1, 2, 5 x 10^n) that goes about 4 to 8 times into a span."""
    rough = span / 8.0
    power = floor(log10(rough))
    steps = (float(f"{m}e{power}") for m in (1, 2, 5, 10))
    return next(step for step in steps if step >= rough * (1 - 1e-9))
