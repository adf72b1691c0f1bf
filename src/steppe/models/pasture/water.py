"""Rain into the soil, through it and out of it by evaporation (APSIM 6.1 soilwat2, without its further options)."""

from steppe.kernels.vecmath import exp, power, sqrt
from steppe.models.pasture.curves import clamp, competition
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.forcing import Forcing
from steppe.models.pasture.options import BOUNDED, INTENSITY, Options
from steppe.models.pasture.parameters import Parameters
from steppe.models.pasture.state import State

Layers = tuple[float, float, float, float]

SLOPE = 2.0e-5  # [mm-1] pull of gravity against the gradient of water; soilwat2


def runoff(s: State, f: Forcing, p: Parameters, d: Derived, o: Options, cover: float) -> float:
    """Runoff [mm d-1]."""
    if o.runoff == INTENSITY:
        return intensity_runoff(s, f, p, d)
    return curve_number_runoff(s, f, p, d, cover)


def curve_number_runoff(s: State, f: Forcing, p: Parameters, d: Derived, cover: float) -> float:
    """Runoff [mm d-1] by the curve number of a soil of this cover and wetness (USDA 1972; Littleboy and others 1989, as in soilwat2)."""
    wetness = (
        d.wetness_1 * (s.soil_water_1 - d.wilting_1)
        + d.wetness_2 * (s.soil_water_2 - d.wilting_2)
        + d.wetness_3 * (s.soil_water_3 - d.wilting_3)
        + d.wetness_4 * (s.soil_water_4 - d.wilting_4)
    )
    # The lower bound, 0 in soilwat2, keeps the storage below finite.
    medium = clamp(p.curve_number - d.curve_number_fall * min(cover, p.curve_number_cover), 1.0, 100.0)
    # The curve number lies between medium / dry and medium / wet by wetness; storage is 254 (100 / number - 1), with one division.
    dry, wet = 2.334 - 0.01334 * medium, 0.4036 + 0.005964 * medium
    storage = 25400.0 * dry * wet / (medium * (wet + (dry - wet) * clamp(wetness, 0.0, 1.0))) - 254.0
    excess = max(0.0, f.rain - 0.2 * storage)
    return excess * excess / (f.rain + 0.8 * storage) if f.rain > 0.0 else 0.0


def intensity_runoff(s: State, f: Forcing, p: Parameters, d: Derived) -> float:
    """Runoff [mm d-1] of rain that falls faster than a capacity spread exponentially over the ground (Yu and others 1997, in form).

    The highest intensity of 15 minutes from rain and minimum temperature, and the capacities, are our judgement; the cover by dry
    matter is GRASP's (p271, p272).
    """
    matter = s.green_leaf + s.green_stem + s.dead_leaf + s.dead_stem + s.litter
    ratio = power(matter / p.runoff_yield, p.runoff_power)
    capacity = p.bare_infiltration * exp(d.capacity_growth * (ratio / (1.0 + ratio)))
    root = sqrt(f.rain)
    intensity = min(4.0 * f.rain, root * sqrt(root) * (1.2 + 0.10 * max(0.0, f.tmin)))
    if f.rain > 4.0:
        z = intensity / capacity
        return (f.rain - 4.0) * (1.0 - (1.0 - exp(-z)) / z)
    return 0.0


def infiltrate(s: State, p: Parameters, d: Derived, infiltration: float) -> tuple[float, float, float, float, float]:
    """(water of the four layers [mm], deep drainage [mm d-1]): what saturates a layer passes, and a part of what drains."""
    water_1, flow = pass_on(s.soil_water_1 + infiltration, d.saturated_1, d.drained_1, p.drainage_rate_1)
    water_2, flow = pass_on(s.soil_water_2 + flow, d.saturated_2, d.drained_2, p.drainage_rate_2)
    water_3, flow = pass_on(s.soil_water_3 + flow, d.saturated_3, d.drained_3, p.drainage_rate_3)
    water_4, flow = pass_on(s.soil_water_4 + flow, d.saturated_4, d.drained_4, p.drainage_rate_4)
    return water_1, water_2, water_3, water_4, flow


def pass_on(water: float, saturated: float, drained: float, rate: float) -> tuple[float, float]:
    """(water that stays in a layer, water that leaves it) [mm]."""
    over = max(0.0, water - saturated)
    left = water - (over + rate * max(0.0, water - over - drained))
    # What left is what is missing: in single precision a trickle too small to change the water would be counted day after day.
    return left, water - left


def evaporate(water_1: float, water_2: float, p: Parameters, d: Derived, o: Options, demand: float) -> tuple[float, float]:
    """Evaporation [mm d-1] from layers 1 and 2, after K. Rickert (soilwat2, "rickert").

    The first layer dries to air dry, the second to wilting. The option "original" follows both curves over their poles, as soilwat2
    does: evaporation stops where layer 1 holds over 1.399 times, or both layers over 1.1325 times, the water that a drained soil could
    lose. The option "bounded" deviates from soilwat2: a layer wetter than its drained limit evaporates as one at that limit.
    """
    above = water_1 - d.dry_1
    part_1 = above * d.evaporable_1
    part_2 = (above + water_2 - d.wilting_2) * d.evaporable_2
    if o.soil_evaporation == BOUNDED:
        part_1, part_2 = clamp(part_1, 0.0, 1.0), clamp(part_2, 0.0, 1.0)
    rate_1 = clamp(competition(part_1, 0.285), 0.0, 1.0)
    rate_2 = clamp(competition(part_2, 0.117), 0.0, 1.0)
    from_1 = max(0.0, min(rate_1 * demand, min(p.highest_soil_evaporation, above)))
    from_2 = min((rate_2 - rate_1) * demand, min(p.highest_soil_evaporation - from_1, water_2 - d.wilting_2))
    return from_1, max(0.0, from_2)


def redistribute(water_1: float, water_2: float, water_3: float, water_4: float, p: Parameters, d: Derived) -> Layers:
    """Water of the layers [mm] after a day of slow flow between neighbours (soilwat2, unsaturated flow)."""
    up_1 = slow_flow(water_1, 0.0, water_2, d.wilting_1, d.wilting_2, d.drained_1, d.drained_2, p.layer_thickness_1, p.layer_thickness_2, p)
    up_2 = slow_flow(
        water_2, up_1, water_3, d.wilting_2, d.wilting_3, d.drained_2, d.drained_3, p.layer_thickness_2, p.layer_thickness_3, p
    )
    up_3 = slow_flow(
        water_3, up_2, water_4, d.wilting_3, d.wilting_4, d.drained_3, d.drained_4, p.layer_thickness_3, p.layer_thickness_4, p
    )
    return water_1 + up_1, water_2 + (up_2 - up_1), water_3 + (up_3 - up_2), water_4 - up_3


def slow_flow(
    start: float,
    given: float,
    lower: float,
    upper_wilting: float,
    lower_wilting: float,
    upper_drained: float,
    lower_drained: float,
    upper_thickness: float,
    lower_thickness: float,
    p: Parameters,
) -> float:
    """Flow upward [mm d-1] between two layers, limited by what evens them out, by room above the drained limit and by available water.

    The upper layer holds `start` [mm] before any slow flow of the day, and has given `given` [mm] of it to the layer above. Nothing
    flows between two layers that both hold their drained limit before the flows of the day (soilwat2).
    """
    upper = start - given
    upper_free = max(0.0, upper - upper_wilting)
    lower_free = max(0.0, lower - lower_wilting)
    mean = 0.5 * (upper_free / upper_thickness + lower_free / lower_thickness)
    diffusivity = min(1.0e4, p.diffusivity * exp(p.diffusivity_slope * mean))
    distance = 0.5 * (upper_thickness + lower_thickness)
    pull = max(0.0, lower / lower_thickness) - max(0.0, upper / upper_thickness) - SLOPE * distance
    flow = diffusivity * (pull / distance)
    even = pull / (1.0 / upper_thickness + 1.0 / lower_thickness)
    if start >= upper_drained and lower >= lower_drained:
        return 0.0
    if flow < 0.0:
        return max(max(flow, even), max(-max(0.0, lower_drained - lower), -upper_free))
    return min(min(flow, even), min(max(0.0, upper_drained - upper), lower_free))
