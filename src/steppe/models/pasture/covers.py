"""Cover of the ground by the sward and the litter of this morning (APSIM 6.1 grasp, soilwat2, SurfaceOM)."""

from steppe.kernels.vecmath import exp
from steppe.models.pasture.curves import clamp, join
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.parameters import Parameters
from steppe.models.pasture.state import State

FALL = 1.0 / 1200.0  # [mm-1] of the sward's part in holding runoff back, 1 up to a height of 600 mm, 0 from 1800 mm; soilwat2


def green_covers(s: State, d: Derived) -> tuple[float, float]:
    """(transpiring, shading) cover of the green: half at the yields that the parameters name (GRASP p045, p046)."""
    green = s.green_leaf + s.green_stem
    return 1.0 - exp(-d.transpiration_decay * green), 1.0 - exp(-d.radiation_decay * green)


def ground_covers(s: State, p: Parameters, transpiring: float) -> tuple[float, float, float, float]:
    """(green, sward, litter, for runoff) cover. The last is the sward's, less of it when it is tall, joined with the litter's."""
    green = transpiring if s.green_leaf + s.green_stem > 1.0 else 0.0
    sward = join(green, clamp(1.0e-4 * (s.dead_leaf + s.dead_stem), 0.0, 1.0))
    litter = 1.0 - exp(-p.litter_area * s.litter)
    low = clamp(1.5 - s.sward_height * FALL, 0.0, 1.0)
    return green, sward, litter, join(sward * low, litter)
