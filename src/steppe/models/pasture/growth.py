"""Nitrogen and growth of a day (APSIM 6.1 grasp)."""

from steppe.kernels.vecmath import exp
from steppe.models.pasture.curves import clamp
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.options import DYNAMIC, Options
from steppe.models.pasture.parameters import Parameters
from steppe.models.pasture.state import State


def nitrogen(s: State, p: Parameters, d: Derived) -> tuple[float, float, float]:
    """(uptake so far [kg ha-1], share in growth [%], index): of yesterday's sums.

    APSIM's port of GRASP leaves out the yearly limit of uptake (p099); an infinite limit does the same.
    """
    uptake = 0.0
    if s.nitrogen_transpiration > 1.0e-7:
        uptake = min(p.nitrogen_base + 0.01 * p.nitrogen_rate * s.nitrogen_transpiration, d.nitrogen_ceiling)
    share = p.highest_nitrogen
    if s.nitrogen_growth > 1.0e-8:
        share = clamp(100.0 * uptake / s.nitrogen_growth, p.lowest_nitrogen, p.highest_nitrogen)
    return uptake, share, clamp((share - p.lowest_nitrogen) * d.nitrogen_slope, 0.0, 1.0)


def temperature_index(temperature: float, p: Parameters, d: Derived) -> float:
    """Index of the mean temperature [degC]: a trapezium through four points."""
    return clamp(min((temperature - p.base_temperature) * d.warming, (p.highest_temperature - temperature) * d.cooling), 0.0, 1.0)


def radiation_index(radiation: float, d: Derived) -> float:
    """Index of the radiation [MJ m-2 d-1] for regrowth."""
    return 1.0 - exp(-radiation * d.lighting)


def most_of(index: float, by_transpiration: float, by_radiation: float, regrowth: float, p: Parameters) -> float:
    """Growth [kg ha-1 d-1]: the lesser of what water and radiation allow, or regrowth from the tussocks; none below a soil water index."""
    if index <= p.growth_stop_index:
        return 0.0
    return max(min(by_transpiration, by_radiation), regrowth)


def basal_area(s: State, p: Parameters, o: Options, day: float, summer: float) -> tuple[float, float]:
    """(grass basal area, the term of this summer for the next) [%], new on the last day of summer when it is dynamic.

    Two summers add up. The port adds the former one without the factor 0.001; we give it the same factor.
    """
    if o.basal_area == DYNAMIC and day == p.summer_end:
        term = 1.0e-3 * p.basal_area_efficiency * summer
        return clamp(term + s.last_basal_area, 0.5, 9.0), term
    return s.grass_basal_area, s.last_basal_area
