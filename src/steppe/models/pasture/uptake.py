"""Water that trees and grass take from the soil."""

from steppe.kernels.vecmath import sin_near
from steppe.models.pasture.curves import clamp
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.parameters import Parameters

Layers = tuple[float, float, float, float]


def tree_uptake(water_1: float, water_2: float, water_3: float, water_4: float, d: Derived, demand: float) -> Layers:
    """Uptake of trees from each layer [mm d-1]: what they ask for, as far as the wetness of their layers supplies it (APSIM 6.1 tree)."""
    free_1, free_2 = max(0.0, water_1 - d.wilting_1), max(0.0, water_2 - d.wilting_2)
    free_3, free_4 = max(0.0, water_3 - d.wilting_3), max(0.0, water_4 - d.wilting_4)
    supply_1, supply_2 = min(1.0, free_1 * d.available_1) * d.tree_weight_1, min(1.0, free_2 * d.available_2) * d.tree_weight_2
    supply_3, supply_4 = min(1.0, free_3 * d.available_3) * d.tree_weight_3, min(1.0, free_4 * d.available_4) * d.tree_weight_4
    share = demand / max(1.0, supply_1 + supply_2 + supply_3 + supply_4)
    return min(share * supply_1, free_1), min(share * supply_2, free_2), min(share * supply_3, free_3), min(share * supply_4, free_4)


def grass_supply(water_1: float, water_2: float, water_3: float, water_4: float, d: Derived) -> Layers:
    """Supply index of each layer for the grass, 0 to 1 (APSIM 6.1 grasp)."""
    return (
        layer_supply((water_1 - d.wilting_1) * d.available_1, d.grass_weight_1, d.grass_angle_1),
        layer_supply((water_2 - d.wilting_2) * d.available_2, d.grass_weight_2, d.grass_angle_2),
        layer_supply((water_3 - d.wilting_3) * d.available_3, d.grass_weight_3, d.grass_angle_3),
        layer_supply((water_4 - d.wilting_4) * d.available_4, d.grass_weight_4, d.grass_angle_4),
    )


def layer_supply(available: float, weight: float, angle: float) -> float:
    """Supply index of a layer with this part of its available water; `derive` tells how the curve follows from GRASP's."""
    wave = sin_near(clamp(available, 0.0, 1.0) * angle)
    return min(1.0, weight * wave * wave)


def height_factor(height: float, p: Parameters, d: Derived) -> float:
    """Deficit and pan at the height of the sward over those at screen height (GRASP p094, p095)."""
    return clamp(p.ground_factor - height * d.height_slope, 1.0, p.ground_factor)


def grass_uptake(water: float, wilting: float, wanted: float) -> float:
    """Uptake from one layer [mm d-1], never below wilting."""
    return min(wanted, max(0.0, water - wilting))
