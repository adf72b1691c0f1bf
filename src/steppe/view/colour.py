"""The colour map of a quantity, and its limits as round numbers.

Colour maps are Crameri's (2018, doi:10.5281/zenodo.1243862): perceptually uniform, and readable in grey and with colour blindness.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, floor, log10

import numpy as np
from numpy.typing import ArrayLike

from steppe.array_types import Array

DIFFERENCE = "vik"
PLAIN = "batlow"
CELSIUS = ("degC", "celsius")
NO_ORIGIN = ("K", *CELSIUS)  # units whose values are not compared with zero

# Of classes, six digits each: the first are farthest apart, for eyes without one of the kinds of cones, too. The page takes them from here.
CLASSES = (
    "011959faccfaff4411dd11ff66001100ff990088777766aabbee00aa3322ee88ff7711aa0000ff77ccaaee7755443344"
    "ffbb558899bb8844446600cc224477aa66dddd4477dd8877aaeebb669911bbbbcc2277ffccbb006677999966443355cc"
    "44aa99335500cccc777744aa9988cc7744668822ff552288ccaaee5522550044220011aa33dd99eedd7788eedd880077"
)
SHADES = np.frombuffer(bytes.fromhex(f"{CLASSES}808080"), np.uint8).reshape(-1, 3) / 255.0  # the last of other numbers
OTHER = len(SHADES) - 1

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
    """A colour map of cmcrameri and the values at its ends; `step` apart are round values for ticks. whole: with its darkest fifth.

    classes: number -> name; each has a colour of its own, and the rest does not count.
    """

    name: str
    low: float
    high: float
    step: float
    whole: bool = False
    classes: Mapping[int, str] = field(default_factory=dict, hash=False)

    def ticks(self) -> list[float]:
        """Round values from low to high."""
        return [round(self.low + i * self.step, 12) for i in range(floor((self.high - self.low) / self.step + 1e-9) + 1)]

    def between(self, low: float, high: float) -> "Colours":
        """The same colours between other ends."""
        return replace(self, low=low, high=high, step=round_step(high - low))


def class_colours(classes: Mapping[int, str]) -> Colours:
    """The colours of a map of classes, number -> name, whose values are `class_shades`."""
    return Colours("classes", -0.5, OTHER + 0.5, 1.0, classes=classes)


def class_shades(values: ArrayLike, classes: Mapping[int, str]) -> Array:
    """The row of `SHADES` of each value: the last for a number that no class has, NaN where there is no value. float64."""
    values = np.asarray(values, np.float64)
    found = np.full(values.shape, float(OTHER))
    for place, number in enumerate(sorted(classes)):  # as on the page
        found[np.equal(values, number)] = place % OTHER
    return np.where(np.isfinite(values), found, np.nan)


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
