"""From green to dead to litter to nothing (APSIM 6.1 grasp, SurfaceOM)."""

from steppe.kernels.vecmath import log
from steppe.models.pasture.curves import clamp
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.forcing import Forcing
from steppe.models.pasture.parameters import Parameters
from steppe.models.pasture.state import State


def death(s: State, p: Parameters, d: Derived, frost: float, index: float) -> tuple[float, float]:
    """(leaf, stem) that dies [kg ha-1 d-1]: by frost, by drought or in the background, whichever is most.

    Drought kills towards the green that the soil water index allows; each pool by its share of the excess times its share of the
    green, which halves the pace for equal pools (as found in APSIM 6.1 grasp).
    """
    background = p.drought_death * (1.0 - index) + p.background_death
    leaf_rate = max(frost, clamp(background * p.leaf_death_ratio, 0.0, 1.0))
    stem_rate = max(frost, clamp(background * p.stem_death_ratio, 0.0, 1.0))
    green = s.green_leaf + s.green_stem
    allowed = -log(1.0 - min(0.99, index * d.greening)) * d.transpiration_depth
    if green > allowed:
        part = 1.0 / green
        excess = (green - allowed) * part
        leaf = s.green_leaf * part
        leaf_rate = max(leaf_rate, leaf * excess)
        stem_rate = max(stem_rate, (1.0 - leaf) * excess)
    return min(1.0, leaf_rate) * s.green_leaf, min(1.0, stem_rate) * s.green_stem


def frost_death(f: Forcing, p: Parameters, d: Derived) -> float:
    """Part of the green that frost kills [d-1]."""
    return clamp((p.frost_starts - f.tmin) * d.frost_slope, 0.0, 1.0)


def detachment(s: State, p: Parameters, day: float) -> tuple[float, float]:
    """(leaf, stem) that falls [kg ha-1 d-1]."""
    if p.dry_season_start <= day and day <= p.dry_season_end:
        return p.dry_leaf_detachment * s.dead_leaf, p.dry_stem_detachment * s.dead_stem
    return p.wet_leaf_detachment * s.dead_leaf, p.wet_stem_detachment * s.dead_stem


def decomposition(s: State, f: Forcing, p: Parameters, d: Derived, demand: float, temperature: float) -> tuple[float, float]:
    """(dryness of litter [mm], decomposition [kg ha-1 d-1]). Nitrogen in litter is a constant here; the port keeps account of it."""
    before = s.litter_dryness if f.rain <= p.wetting_rain else 0.0
    dryness = max(0.0, before + demand - f.rain)
    wet = clamp(1.0 - dryness * d.drying, 0.0, 1.0)
    warm = clamp(temperature * d.litter_warming, 0.0, 1.0)
    return dryness, d.highest_decomposition * wet * (warm * warm) * min(s.litter, p.decomposing_litter)
