"""The Pasture Model by hand in NumPy: whole arrays, one day of all cells at a time, choices by `np.where`.

As an expert would write it who wants to read it again: every formula once, no array is made that the day does not need, what is the same
in all cells stays a number, both sides of a choice are computed. Buffers are not handed on with `out=`; it costs the text more than it
gains here. The default options with trees, grazing and the yearly fire, as in `twin.cpp`.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.suites.pasture.case import FORCING, Case

Array = NDArray[Any]


def clamp(x: Any, low: Any, high: Any) -> Any:
    return np.minimum(high, np.maximum(low, x))


def join(one: Any, other: Any) -> Any:
    return 1.0 - (1.0 - one) * (1.0 - other)


def competition(x: Any, factor: Any) -> Any:
    return factor * x / (x * (factor - 1.0) + 1.0)


def saturation(temperature: Any) -> Any:
    return 6.1078 * np.exp(17.269 * temperature / (237.3 + temperature))


def pass_on(water: Any, saturated: Any, drained: Any, rate: Any) -> Any:
    over = np.maximum(0.0, water - saturated)
    out = over + rate * np.maximum(0.0, water - over - drained)
    return water - out, out


def layer_supply(available: Any, weight: Any, angle: Any) -> Any:
    wave = np.sin(clamp(available, 0.0, 1.0) * angle)
    return np.minimum(1.0, weight * wave * wave)


def stem_taken(leaf: Any, stem: Any, taken: Any, share: Any) -> Any:
    return np.minimum(stem, taken - np.minimum(leaf, share * taken))


def leaf_share(leaf: Any, stem: Any, factor: Any) -> Any:
    both = leaf + stem
    return np.where(both > 0.0, competition(leaf / both, factor), 0.0)


def season_intake(c: Any, month: float) -> Any:
    season = ("summer", "autumn", "winter", "spring")[int(month) % 12 // 3]
    return getattr(c, f"{season}_intake")


def runoff(s: Any, c: Any, rain: Array, cover: Array) -> Any:
    layers = zip(_layers(c, "wetness"), _layers(s, "soil_water"), _layers(c, "wilting"), strict=True)
    wetness = sum(weight * (there - least) for weight, there, least in layers)
    medium = clamp(c.curve_number - c.curve_number_reduction * np.minimum(1.0, cover / c.curve_number_cover), 1.0, 100.0)
    driest = medium / (2.334 - 0.01334 * medium)
    wettest = medium / (0.4036 + 0.005964 * medium)
    storage = 254.0 * (100.0 / (driest + (wettest - driest) * clamp(wetness, 0.0, 1.0)) - 1.0)
    excess = np.maximum(0.0, rain - 0.2 * storage)
    return np.where(rain > 0.0, excess * excess / (rain + 0.8 * storage), 0.0)


def advance_day(s: Any, f: Any, c: Any, day: float, month: float) -> None:
    """One day of all cells. s: states, replaced. f: forcing. c: constants, numbers or arrays."""
    green, dead = s.green_leaf + s.green_stem, s.dead_leaf + s.dead_stem
    coldest = saturation(f.tmin)
    deficit = np.maximum(0.0, 0.75 * saturation(f.tmax) + 0.25 * coldest - f.vp)
    temperature = 0.5 * (f.tmin + f.tmax)
    transpiring = 1.0 - np.exp(-c.transpiration_decay * green)
    shading = 1.0 - np.exp(-c.radiation_decay * green)
    sward_cover = join(np.where(green > 1.0, transpiring, 0.0), clamp(1.0e-4 * dead, 0.0, 1.0))
    litter_cover = 1.0 - np.exp(-c.litter_area * s.litter)
    low = clamp((1800.0 - s.sward_height) / 1200.0, 0.0, 1.0)

    # Water
    infiltration = f.rain - runoff(s, c, f.rain, join(sward_cover * low, litter_cover))
    water_1, flow = pass_on(s.soil_water_1 + infiltration, c.saturated_1, c.drained_1, c.drainage_rate_1)
    water_2, flow = pass_on(s.soil_water_2 + flow, c.saturated_2, c.drained_2, c.drainage_rate_2)
    water_3, flow = pass_on(s.soil_water_3 + flow, c.saturated_3, c.drained_3, c.drainage_rate_3)
    water_4, flow = pass_on(s.soil_water_4 + flow, c.saturated_4, c.drained_4, c.drainage_rate_4)
    demand = f.pan * np.exp(-1.7 * sward_cover - 0.44 * c.litter_area * s.litter)
    above = water_1 - c.dry_1
    rate_1 = competition(clamp(above * c.evaporable_1, 0.0, 1.0), 0.285)
    rate_2 = competition(clamp((above + water_2 - c.wilting_2) * c.evaporable_2, 0.0, 1.0), 0.117)
    evaporation_1 = np.maximum(0.0, np.minimum(rate_1 * demand, np.minimum(c.highest_soil_evaporation, above)))
    room = np.minimum(c.highest_soil_evaporation - evaporation_1, water_2 - c.wilting_2)
    evaporation_2 = np.maximum(0.0, np.minimum((rate_2 - rate_1) * demand, room))
    water_1, water_2 = water_1 - evaporation_1, water_2 - evaporation_2

    # Trees
    tree_demand = c.tree_share * f.pan
    water = (water_1, water_2, water_3, water_4)
    free = [np.maximum(0.0, there - least) for there, least in zip(water, _layers(c, "wilting"), strict=True)]
    wetness = [np.minimum(1.0, x * over) for x, over in zip(free, _layers(c, "available"), strict=True)]
    supply = [wet * weight for wet, weight in zip(wetness, _layers(c, "tree_weight"), strict=True)]
    share = tree_demand / np.maximum(1.0, supply[0] + supply[1] + supply[2] + supply[3])
    taken = [np.minimum(share * part, x) for part, x in zip(supply, free, strict=True)]
    water_1, water_2, water_3, water_4 = water_1 - taken[0], water_2 - taken[1], water_3 - taken[2], water_4 - taken[3]

    # Transpiration
    water = (water_1, water_2, water_3, water_4)
    free = [there - least for there, least in zip(water, _layers(c, "wilting"), strict=True)]
    supply_1 = layer_supply(free[0] * c.available_1, c.grass_weight_1, c.grass_angle_1)
    supply_2 = layer_supply(free[1] * c.available_2, c.grass_weight_2, c.grass_angle_2)
    supply_3 = layer_supply(free[2] * c.available_3, c.grass_weight_3, c.grass_angle_3)
    supply_4 = layer_supply(free[3] * c.available_4, c.grass_weight_4, c.grass_angle_4)
    total = supply_1 + supply_2 + supply_3 + supply_4
    index = np.minimum(1.0, total)
    height = clamp(1.0 + (c.ground_factor - 1.0) * (1.0 - s.sward_height / c.screen_height), 1.0, c.ground_factor)
    clothesline = 1.0 + (height - 1.0) * (1.0 - supply_1)
    potential = np.minimum(f.pan * transpiring * clothesline, np.maximum(0.0, 1.3 * f.pan - tree_demand))
    share = potential / np.maximum(1.0, total)
    uptake = [np.minimum(share * part, np.maximum(0.0, x)) for part, x in zip((supply_1, supply_2, supply_3, supply_4), free, strict=True)]
    transpiration = uptake[0] + uptake[1] + uptake[2] + uptake[3]

    # Growth
    nitrogen = np.minimum(c.nitrogen_base + c.nitrogen_rate * s.nitrogen_transpiration / 100.0, c.nitrogen_ceiling)
    nitrogen = np.where(s.nitrogen_transpiration > 1.0e-7, nitrogen, 0.0)
    found = clamp(100.0 * nitrogen / s.nitrogen_growth, c.lowest_nitrogen, c.highest_nitrogen)
    found = np.where(s.nitrogen_growth > 1.0e-8, found, c.highest_nitrogen)
    nitrogen_index = clamp((found - c.lowest_nitrogen) * c.nitrogen_slope, 0.0, 1.0)
    warmth = clamp(np.minimum((temperature - c.base_temperature) * c.warming, (c.highest_temperature - temperature) * c.cooling), 0.0, 1.0)
    light = 1.0 - np.exp(-f.radiation / c.radiation_scale)
    efficiency = 20.0 * c.transpiration_efficiency / np.maximum(1.0, deficit * height)
    by_transpiration = potential * index * efficiency
    by_radiation = shading * f.radiation * c.radiation_efficiency * np.minimum(warmth, nitrogen_index)
    by_regrowth = c.regrowth * s.grass_basal_area * nitrogen_index * warmth * light * index
    growth = np.where(index <= c.growth_stop_index, 0.0, np.maximum(np.minimum(by_transpiration, by_radiation), by_regrowth))
    leaf_growth = np.where(green > c.leaf_only, c.leaf_share * growth, growth)

    # Death, fall, decomposition
    frost = clamp((c.frost_starts - f.tmin) * c.frost_slope, 0.0, 1.0)
    background = c.drought_death * (1.0 - index) + c.background_death
    leaf_rate = np.maximum(frost, clamp(background * c.leaf_death_ratio, 0.0, 1.0))
    stem_rate = np.maximum(frost, clamp(background * c.stem_death_ratio, 0.0, 1.0))
    allowed = -np.log(1.0 - np.minimum(0.99, index / c.full_green_index)) / c.transpiration_decay
    excess, leaf = (green - allowed) / green, s.green_leaf / green
    leaf_rate = np.where(green > allowed, np.maximum(leaf_rate, leaf * excess), leaf_rate)
    stem_rate = np.where(green > allowed, np.maximum(stem_rate, (1.0 - leaf) * excess), stem_rate)
    leaf_death, stem_death = np.minimum(1.0, leaf_rate) * s.green_leaf, np.minimum(1.0, stem_rate) * s.green_stem
    dry = c.dry_season_start <= day <= c.dry_season_end
    leaf_fall = (c.dry_leaf_detachment if dry else c.wet_leaf_detachment) * s.dead_leaf
    stem_fall = (c.dry_stem_detachment if dry else c.wet_stem_detachment) * s.dead_stem
    green_leaf = s.green_leaf + leaf_growth - leaf_death
    green_stem = s.green_stem + (growth - leaf_growth) - stem_death
    dead_leaf = s.dead_leaf + leaf_death - leaf_fall
    dead_stem = s.dead_stem + stem_death - stem_fall
    dryness = np.maximum(0.0, np.where(f.rain <= c.wetting_rain, s.litter_dryness, 0.0) + demand - f.rain)
    wet = clamp(1.0 - dryness / c.decomposition_dryness, 0.0, 1.0)
    warm = clamp(temperature / c.decomposition_temperature, 0.0, 1.0)
    decomposed = c.highest_decomposition * wet * (warm * warm) * np.minimum(s.litter, c.decomposing_litter)

    # Grazing
    green_now, dead_now = green_leaf + green_stem, dead_leaf + dead_stem
    standing = green_now + dead_now
    utilised = np.where(s.grazing_growth > 0.01, np.minimum(1.0, s.grazing_eaten / s.grazing_growth), 0.0)
    stock = clamp(np.minimum(standing / c.intake_yield, c.intake_at_rest + c.intake_slope * utilised), 0.0, 1.0) * season_intake(c, month)
    kangaroos = np.minimum(1.0, standing / c.intake_yield) * c.kangaroo_intake
    served = np.where(stock + kangaroos > standing, standing / (stock + kangaroos), 1.0)
    stock = stock * served
    eaten = stock + kangaroos * served
    part = green_now / standing
    preferred = np.where(part > 0.1, competition(np.minimum(1.0, (part - 0.1) / 0.9), 19.0), part)
    eaten_dead = np.minimum(dead_now, eaten - np.minimum(green_now, preferred * eaten))
    eaten_green = np.where(standing > 0.0, np.minimum(green_now, eaten - eaten_dead), 0.0)
    eaten_dead = np.where(standing > 0.0, eaten_dead, 0.0)
    dead_share = leaf_share(dead_leaf, dead_stem, c.leaf_factor)
    stem = stem_taken(green_leaf, green_stem, eaten_green, leaf_share(green_leaf, green_stem, c.leaf_factor))
    green_leaf, green_stem = np.maximum(0.0, green_leaf - (eaten_green - stem)), np.maximum(0.0, green_stem - stem)
    stem = stem_taken(dead_leaf, dead_stem, eaten_dead, dead_share)
    dead_leaf, dead_stem = np.maximum(0.0, dead_leaf - (eaten_dead - stem)), np.maximum(0.0, dead_stem - stem)
    trampled = np.minimum(dead_leaf + dead_stem, c.trampling * stock)
    stem = stem_taken(dead_leaf, dead_stem, trampled, dead_share)
    dead_leaf, dead_stem = np.maximum(0.0, dead_leaf - (trampled - stem)), np.maximum(0.0, dead_stem - stem)
    litter = s.litter + (leaf_fall + stem_fall) - decomposed + trampled

    # Fire, sums and their resets
    fire = 1.0 if day == c.burn_day else 0.0
    if fire:
        left = 1.0 - c.fire_sward_loss * fire
        green_leaf, green_stem, dead_leaf, dead_stem = left * green_leaf, left * green_stem, left * dead_leaf, left * dead_stem
        litter = litter - c.fire_litter_loss * fire * litter
    if day >= c.summer_start or day <= c.summer_end:
        s.summer_evapotranspiration = s.summer_evapotranspiration + (evaporation_1 + evaporation_2 + transpiration)
    s.summer_evapotranspiration = np.where(day == c.summer_reset_day, 0.0, s.summer_evapotranspiration)
    s.nitrogen_transpiration = np.where(day == c.transpiration_reset_day, 0.0, s.nitrogen_transpiration + transpiration)
    s.nitrogen_growth = np.where(day == c.growth_reset_day, 0.0, s.nitrogen_growth + growth)
    reset = day == c.grazing_reset_day
    s.grazing_eaten = np.zeros_like(eaten) if reset else s.grazing_eaten + eaten
    s.grazing_growth = green_leaf + green_stem if reset else s.grazing_growth + growth
    s.sward_height = 1.0e-3 * c.unit_height * (green + dead)
    s.soil_water_1, s.soil_water_2 = water_1 - uptake[0], water_2 - uptake[1]
    s.soil_water_3, s.soil_water_4 = water_3 - uptake[2], water_4 - uptake[3]
    s.green_leaf, s.green_stem, s.dead_leaf, s.dead_stem = green_leaf, green_stem, dead_leaf, dead_stem
    s.litter, s.litter_dryness = litter, dryness


def _layers(values: Any, name: str) -> list[Any]:
    """The four layers' values of one name."""
    return [getattr(values, f"{name}_{k}") for k in (1, 2, 3, 4)]


class NumpyTwin:
    """The NumPy program on one case at a time. dtype: "float32" or "float64"."""

    def __init__(self, dtype: str = "float32") -> None:
        self._real: Any = np.dtype(dtype).type

    def prepare(self, case: Case) -> None:
        """Takes the case's numbers in its precision; numbers stay Python's, which have the precision of what they meet."""
        self._case = case
        self._constants = SimpleNamespace(
            **{name: value.astype(self._real) if np.ndim(value) else float(value) for name, value in case.constants.items()}
        )
        self.reset()

    def reset(self) -> None:
        """Back to the state that the case begins with."""
        self._state = SimpleNamespace(**{name: values.astype(self._real) for name, values in self._case.state.items()})

    def run(self) -> None:
        """All days of the cells."""
        forcing, real = self._case.forcing, self._real
        scale, offset = forcing.scale.astype(real), forcing.offset.astype(real)
        with np.errstate(divide="ignore", invalid="ignore"):
            for j, (day, month) in enumerate(zip(*self._case.calendar, strict=True)):
                rows = {name: forcing.rows[forcing.row_of[k, j]].astype(real) * scale[k] + offset[k] for k, name in enumerate(FORCING)}
                advance_day(self._state, SimpleNamespace(**rows), self._constants, float(day), float(month))

    def state(self) -> dict[str, Array]:
        """The states now."""
        return dict(vars(self._state))
