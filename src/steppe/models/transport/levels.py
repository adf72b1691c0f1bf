"""The levels of a transport run: a vertical coordinate that rises from level to level, and how much air each level holds.

    p = a p0 + b ps          pressure at the interfaces between levels [Pa]; the coordinate of a level is the mean of a + b of both

A run has the 18 levels of CCM, levels of equal height or of equal pressure, or those of its winds.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steppe.array_types import Floats
from steppe.errors import ModelError
from steppe.levels import CONVERTED, Space
from steppe.models.transport.sphere import slopes

P0 = 100_000.0  # [Pa]
LOWEST, HIGHEST = 30_000.0, 120_000.0  # [Pa] of air at the surface
PASCALS = {**CONVERTED[0], "millibar": 100.0, "millibars": 100.0}
PRESSURES = ("level", "plev", "pressure_level", "lev", "isobaricInhPa", "pressure")  # names of coordinates
GRAVITY = 9.80616  # [m s-2] as in CCM
# Coefficients of the 18 levels of CCM3 at their interfaces from the top (Kiehl et al. 1996, NCAR/TN-420+STR, table 1).
CCM_A = (
    *(0.00251499, 0.00710361, 0.01904260, 0.04607560, 0.08181860, 0.07869805, 0.07463175, 0.06955308, 0.06339061, 0.05621774),
    *(0.04815296, 0.03949230, 0.03058456, 0.02193336, 0.01403670, 0.007458598, 0.002646866, 0.0, 0.0),
)
CCM_B = (
    *(0.0, 0.0, 0.0, 0.0, 0.0, 0.03756984, 0.08652625, 0.1476709, 0.221864, 0.308222, 0.4053179, 0.509588, 0.6168328, 0.7209891),
    *(0.816061, 0.8952581, 0.953189, 0.985056, 1.0),
)
TOP, TEMPERATURE, GAS = 12_000.0, 300.0, 287.0  # [m, K, J kg-1 K-1] of the levels of equal height (DCMIP 2012, cases 1-1 and 1-2)
SCALE_HEIGHT = GAS * TEMPERATURE / GRAVITY  # [m]


class HybridLevels(NamedTuple):
    """coordinate (levels,), rising; a, b (levels + 1,): p = a P0 + b ps at the interfaces; space: as users see the levels."""

    coordinate: Floats
    a: Floats
    b: Floats
    space: Space

    @property
    def air(self) -> tuple[Floats, Floats]:
        """Factors (levels,) of the mass of air in each level: a + b ps [kg m-2] with surface pressure ps [Pa]."""
        thick = np.diff(self.a) * P0
        return (np.abs(thick) if self.space.positive == "up" else thick) / GRAVITY, np.diff(self.b) / GRAVITY

    @property
    def height(self) -> Floats:
        """Height of the levels [m], as in air of 300 K."""
        return self.coordinate if self.space.units == "m" else SCALE_HEIGHT * np.log(1.0 / self.coordinate)

    @property
    def eta(self) -> Floats:
        """Pressure of the levels over P0 in air at rest; 1 of a single level."""
        whole = self.a + self.b
        return 0.5 * (whole[:-1] + whole[1:]) if self.coordinate.size > 1 else np.ones(1)

    @property
    def least_surface(self) -> float:
        """The least surface pressure, in whole Pa, under which all levels hold air; `LOWEST` at least."""
        thick, share = P0 * np.diff(self.a), np.diff(self.b)
        return float(np.max(1.0 + np.floor(-thick[share > 0.0] / share[share > 0.0]), initial=LOWEST))

    @property
    def lowest(self) -> int:
        """The level at the ground."""
        return 0 if self.space.positive == "up" else self.coordinate.size - 1

    def slopes(self) -> Floats:
        """See `sphere.slopes`, of the interval after each level but the last, (levels - 1, 6), for the four levels nearest to it.

        Beyond the first and the last level the tracer is as there, so the difference to one more level counts nothing.
        """
        c = self.coordinate
        n = c.size
        found = np.zeros((max(n - 1, 1), 2, 3))
        if n > 1:
            all_levels = np.concatenate([[2.0 * c[0] - c[1]], c, [2.0 * c[-1] - c[-2]]])
            for k in range(n - 1):
                found[k] = slopes(all_levels[k : k + 4], 1).reshape(2, 3)
            found[0] = np.roll(found[0], -1, axis=1) * (1.0, 1.0, 0.0)
            found[-1] = np.roll(found[-1], 1, axis=1) * (0.0, 1.0, 1.0)
        return found.reshape(-1, 6)


def hybrid(a: ArrayLike, b: ArrayLike) -> HybridLevels:
    """Levels between interfaces with these coefficients, from the top.

    Raises
    ------
    ModelError
        Their numbers differ, or a level does not lie below the one before.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.ndim != 1 or a.shape != b.shape or a.size < 2:
        raise ModelError(f"Hybrid levels have coefficients a and b at their interfaces, one each; {a.size} and {b.size} are given.")
    if not (np.diff(a + b) > 0.0).all():
        at = int(np.argmax(~(np.diff(a + b) > 0.0)))
        told = f"it is {(a + b)[at]:g} at interface {at}, then {(a + b)[at + 1]:g}"
        raise ModelError(f"a + b of hybrid levels must rise from the top to the ground: {told}. Correct them: hyai and hybi of winds.")
    middle = 0.5 * (a + b)[:-1] + 0.5 * (a + b)[1:]
    ends = tuple(zip((a * P0).tolist(), b.tolist(), strict=True))
    space = Space(tuple(np.round(middle * P0 / 100.0, 6)), "hPa", "", "down", long_name="nominal pressure", interfaces=ends)
    return HybridLevels(middle, a, b, space)


def pressures(middle: ArrayLike) -> HybridLevels:
    """Levels at constant pressures [Pa]; interfaces lie half-way between them, and as far beyond the first and the last.

    Raises
    ------
    ModelError
        They do not rise.
    """
    p = np.asarray(middle, np.float64)
    if not (np.diff(p) > 0.0).all():
        at = int(np.argmax(~(np.diff(p) > 0.0)))
        told = f"{p[at] / 100.0:g} hPa, then {p[at + 1] / 100.0:g} hPa"
        raise ModelError(f'Pressures of levels must rise or fall from level to level: {told}. Sort the winds: winds.sortby("level").')
    inner = 0.5 * (p[:-1] + p[1:])
    first, last = (2.0 * p[0] - inner[0], 2.0 * p[-1] - inner[-1]) if p.size > 1 else (0.0, P0)
    a = np.concatenate([[max(first, 0.0)], inner, [last]]) / P0
    return HybridLevels(p / P0, a, np.zeros(a.size), Space(tuple(p / 100.0), "hPa", "air_pressure", "down"))


def heights(n: int) -> HybridLevels:
    """Levels of equal height up to 12 km in air of 300 K; the coordinate is the height [m]."""
    edges = np.linspace(0.0, TOP, n + 1)
    middle = 0.5 * (edges[:-1] + edges[1:])
    space = Space(tuple(middle), "m", "height", "up")
    return HybridLevels(middle, np.exp(-edges / SCALE_HEIGHT), np.zeros(n + 1), space)


def chosen(asked: object, wind: str, columns: Mapping[str, tuple[Floats, str]]) -> HybridLevels:
    """The levels of a run. asked: as the run file has it, None where it does not say; columns: name -> values and unit, of its winds.

    Raises
    ------
    ModelError
        There are no such levels, or they are not those of the winds, or the winds do not say theirs.
    """
    number = asked if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0 else 0
    if wind.startswith("dcmip") and (number or asked is None):
        return heights(number or 30)
    if wind.startswith("dcmip"):
        raise ModelError(f'[parameters] levels = {asked!r}, but wind = "{wind}" is by height. Give the number of levels, or remove levels.')
    if asked == "L18" or (asked is None and wind != "forcing"):
        return hybrid(CCM_A, CCM_B)
    if number:
        return hybrid(np.zeros(number + 1), np.linspace(0.0, 1.0, number + 1))
    if isinstance(asked, dict) and set(asked) == {"a", "b"}:
        return hybrid(*(_numbers(key, asked[key]) for key in ("a", "b")))
    if asked not in (None, "forcing"):
        raise ModelError(f'[parameters] levels = {asked!r} is not known. Write "L18", "forcing", a number, or {{ a = [...], b = [...] }}.')
    return _of_winds(columns)


def _numbers(key: str, asked: object) -> Floats:
    try:
        return np.array(asked, np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"[parameters] levels.{key} = {asked!r} must be a list of numbers, one for each interface.") from None


def _of_winds(columns: Mapping[str, tuple[Floats, str]]) -> HybridLevels:
    """Hybrid levels where the winds have coefficients at interfaces, else levels of pressure."""
    if {"hyai", "hybi"} <= set(columns):
        a, unit = columns["hyai"]
        p0, of_p0 = next((columns[name] for name in ("P0", "p0") if name in columns), (P0, ""))
        a = a * PASCALS[unit] / P0 if unit in PASCALS else a * (p0 * PASCALS.get(of_p0, 1.0) / P0)
        if a.max() > HIGHEST / P0:
            raise ModelError(
                f"hyai of the winds goes to {a.max():g}; p = a p0 + b ps has a without a unit. If it is a pressure, give its unit."
            )
        return hybrid(a, columns["hybi"][0])
    if {"hyam", "hybm"} <= set(columns):
        raise ModelError("The winds have hyam and hybm, which are of the middles of levels. Give hyai and hybi, those of the interfaces.")
    for values, unit in (columns[name] for name in PRESSURES if name in columns):
        if unit in PASCALS:
            found = np.atleast_1d(values) * PASCALS[unit]
            found = found if found[-1] > found[0] else found[::-1]
            if not 0.0 < found.min() <= found.max() <= HIGHEST:
                told = f"from {values.min():g} to {values.max():g} {unit}"
                raise ModelError(
                    f"The levels of the winds go {told}; expected 0 to {HIGHEST / 100.0:g} hPa. Correct the values or the unit."
                )
            return pressures(found)
    raise ModelError(
        "The winds do not say what their levels are. Give them hyai and hybi (a and b of p = a p0 + b ps at the interfaces), or a "
        'coordinate "level" in hPa or Pa; or write [parameters] levels = "L18".'
    )
