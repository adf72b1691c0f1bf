"""From parameters to the constants of the step and to the state of a fresh run: in double precision, for one cell or arrays of cells."""

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from steppe.errors import ModelError
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.options import Options
from steppe.models.pasture.parameters import Parameters

LOG_2 = 0.693147  # rounded as in GRASP
SEASON = 91.25  # [d] length of the seasons of weight gain; APSIM 6.1 graz
ASCENDING = (
    ("air_dry_1", "wilting_point_1", "drained_limit_1", "saturation_1"),
    ("wilting_point_2", "drained_limit_2", "saturation_2"),
    ("wilting_point_3", "drained_limit_3", "saturation_3"),
    ("wilting_point_4", "drained_limit_4", "saturation_4"),
    ("base_temperature", "lower_optimum", "upper_optimum", "highest_temperature"),
    ("frost_kills", "frost_starts"),
    ("lowest_nitrogen", "full_nitrogen", "highest_nitrogen"),
)


def derive(p: Parameters, o: Options) -> Derived:
    """The constants of the step, numbers or arrays (cell,) as the parameters are.

    Raises
    ------
    ModelError
        Parameters that must ascend do not, or a layer would hold more water than it is thick.
    """
    _check(p)
    thickness = _layers(p, "layer_thickness")
    bottom = list(accumulate(thickness))
    wilting, drained, saturated = _water(p, thickness)
    available = [1.0 / (full - low) for full, low in zip(drained, wilting, strict=True)]
    dry = p.air_dry_1 * thickness[0]
    tree_rooted = _rooted(p.tree_root_depth, bottom, thickness)
    # 200 kg is the head that the formula of intake was made for.
    heads = p.stocking_rate * np.power(p.animal_weight / 200.0, 0.75)
    return Derived(
        **_named("wilting", wilting),
        **_named("drained", drained),
        **_named("saturated", saturated),
        **_named("available", available),
        dry_1=dry,
        evaporable_1=1.0 / (drained[0] - dry),
        evaporable_2=1.0 / (drained[0] + drained[1] - dry - wilting[1]),
        **_named("wetness", [weight * one for weight, one in zip(_wetness(p.runoff_depth, bottom), available, strict=True)]),
        curve_number_fall=p.curve_number_reduction / p.curve_number_cover,
        capacity_growth=np.log(p.covered_infiltration / p.bare_infiltration),
        **_grass(p, bottom, thickness),
        tree_share=np.minimum(1.0, p.tree_basal_area * p.tree_demand),
        **_named("tree_weight", [k * part for k, part in zip(_layers(p, "tree_extraction"), tree_rooted, strict=True)]),
        transpiration_decay=LOG_2 / p.transpiration_yield,
        radiation_decay=LOG_2 / p.radiation_yield,
        transpiration_depth=p.transpiration_yield / LOG_2,
        height_slope=(p.ground_factor - 1.0) / p.screen_height,
        lighting=1.0 / p.radiation_scale,
        greening=1.0 / p.full_green_index,
        warming=1.0 / (p.lower_optimum - p.base_temperature),
        cooling=1.0 / (p.highest_temperature - p.upper_optimum),
        frost_slope=1.0 / (p.frost_starts - p.frost_kills),
        nitrogen_slope=1.0 / (p.full_nitrogen - p.lowest_nitrogen),
        nitrogen_ceiling=np.maximum(p.nitrogen_limit, p.nitrogen_base),
        highest_decomposition=p.decomposition_rate * np.minimum(1.0, np.exp(-0.277 * (p.carbon_nitrogen_ratio - 25.0) / 25.0)),
        drying=1.0 / p.decomposition_dryness,
        litter_warming=1.0 / p.decomposition_temperature,
        offer=1.0 / p.intake_yield,
        summer_intake=_intake(p.summer_gain) * heads,
        autumn_intake=_intake(p.autumn_gain) * heads,
        winter_intake=_intake(p.winter_gain) * heads,
        spring_intake=_intake(p.spring_gain) * heads,
        kangaroo_intake=0.9 * p.kangaroo_density / 100.0,  # 0.9 kg a head and day
        leaf_factor=0.5 * p.leaf_preference / (0.5 - 0.5 * p.leaf_preference),
        trampling=1.0 / p.edible - 1.0,
    )


def start(p: Parameters, d: Derived) -> dict[str, Any]:
    """The part of a fresh run's state that follows from the parameters: half of the available water, the height of the sward."""
    water = {f"soil_water_{i}": low + 0.5 * (full - low) for i, low, full in zip((1, 2, 3, 4), d[0:4], d[4:8], strict=True)}
    return {**water, "grass_basal_area": p.basal_area_at_start, "sward_height": 1.2 * p.unit_height}  # of 1200 kg/ha


def _layers(p: Parameters, name: str) -> list[Any]:
    return [getattr(p, f"{name}_{i}") for i in (1, 2, 3, 4)]


def _named(name: str, values: list[Any]) -> dict[str, Any]:
    return {f"{name}_{i}": value for i, value in enumerate(values, start=1)}


def _depths(p: Parameters, name: str, thickness: list[Any]) -> list[Any]:
    """Water of each layer [mm] at a content [m3 m-3]."""
    return [content * depth for content, depth in zip(_layers(p, name), thickness, strict=True)]


def _water(p: Parameters, thickness: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Water of each layer [mm] at wilting, drained and saturated; scaled to `plant_available_water` with the pores above as they are."""
    wilting = _depths(p, "wilting_point", thickness)
    drained = _depths(p, "drained_limit", thickness)
    saturated = _depths(p, "saturation", thickness)
    pores = [wet - full for wet, full in zip(saturated, drained, strict=True)]
    available = [full - low for full, low in zip(drained, wilting, strict=True)]
    asked = p.plant_available_water
    factor = np.where(np.greater(asked, 0.0), asked / sum(available[:3]), 1.0)[()]
    drained = [low + factor * water for low, water in zip(wilting, available, strict=True)]
    saturated = [full + pore for full, pore in zip(drained, pores, strict=True)]
    over = np.any(np.broadcast_arrays(*[np.greater(wet, depth) for wet, depth in zip(saturated, thickness, strict=True)]), axis=0)
    if over.any():
        most = float(np.broadcast_to(asked, over.shape)[over].max())
        raise ModelError(
            f'"plant_available_water" is {most:g} mm; a layer of the soil would hold more water than it is thick. '
            "It is the water between wilting and drained limit of layers 1 to 3. Give less, or another soil."
        )
    return wilting, drained, saturated


def _wetness(depth: Any, bottom: list[Any]) -> list[Any]:
    """Weight of each layer in the wetness for runoff, falling with depth (APSIM 6.1 soilwat2)."""
    reach = np.minimum(depth, bottom[-1])
    above = [0.0] + [(1.0 - np.exp(-4.16 * np.minimum(z, reach) / reach)) / (1.0 - np.exp(-4.16)) for z in bottom]
    return [lower - upper for upper, lower in pairwise(above)]


def _rooted(depth: Any, bottom: list[Any], thickness: list[Any]) -> list[Any]:
    """Part of each layer that has roots."""
    return [np.clip((depth - (low - thick)) / thick, 0.0, 1.0) for low, thick in zip(bottom, thickness, strict=True)]


def _grass(p: Parameters, bottom: list[Any], thickness: list[Any]) -> dict[str, Any]:
    """Weights and angles of extraction.

    GRASP (APSIM 6.1) has 1 + sin((a - 1/2) pi) for the available water a of a layer, and 1 - cos(a pi/2) in the deepest rooted one.
    Both are 2 sin(a angle)**2, with the angles pi/2 and pi/4.
    """
    rooted = _rooted(p.root_depth, bottom, thickness)
    below = [*rooted[1:], 0.0]
    angle = [np.where(np.greater(under, 0.0), 0.5 * np.pi, 0.25 * np.pi)[()] for under in below]
    weight = [2.0 * k * part for k, part in zip(_layers(p, "extraction"), rooted, strict=True)]
    return {**_named("grass_weight", weight), **_named("grass_angle", angle)}


def _intake(gain: Any) -> Any:
    """Intake [kg d-1] of a head of 200 kg that could gain `gain` kg in a season (APSIM 6.1 graz)."""
    return (gain / SEASON + 1.058) / 0.304


def _check(p: Parameters) -> None:
    for names in ASCENDING:
        for lower, upper in pairwise(names):
            if not np.all(np.less(getattr(p, lower), getattr(p, upper))):
                low, high = np.broadcast_arrays(getattr(p, lower), getattr(p, upper))
                at = tuple(np.argwhere(~(low < high))[0])
                raise ModelError(
                    f'Parameter "{lower}" is {low[at]:g} and "{upper}" is {high[at]:g}; the first must be below the second. '
                    "Change one of them, or take both from one set."
                )
