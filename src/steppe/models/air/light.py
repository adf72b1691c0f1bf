"""Where the sun stands over each column, and when its light begins and ends within a step.

cos(theta) = sin(lat) sin(d) + cos(lat) cos(d) cos(hour angle), with the declination d of Cooper (1969, Sol. Energy 12, 333). Time is UTC;
noon is when the sun stands over the meridian. The equation of time, at most 16 minutes, is left out. There is no photolysis while
cos(theta) is below `LEAST_COSINE`.
"""

from math import cos, pi, radians, sin

import cftime
import numpy as np

from steppe.array_types import Floats
from steppe.models.air.chemistry import SUN_C, SUN_PHASE, SUN_S, TURN
from steppe.models.air.conditions import DAY, HOUR, LEAST_COSINE

TILT = 23.45  # [degree] of Cooper's formula


def declination(instant: cftime.datetime) -> float:
    """[rad]."""
    return radians(TILT) * sin(2.0 * pi * (284.0 + float(instant.dayofyr)) / 365.0)


def solar_time(longitude: Floats, instant: cftime.datetime) -> Floats:
    """Seconds since midnight by the sun, at longitudes [rad]."""
    of_day = HOUR * instant.hour + 60.0 * instant.minute + instant.second + 1e-6 * instant.microsecond
    found: Floats = (of_day + longitude / TURN) % DAY
    return found


def sunlight(latitude: Floats, longitude: Floats, begin: cftime.datetime, seconds: float) -> Floats:
    """The `sun` of `Chemistry.advance` for a step, (PER_CELL, y, x); latitude (y,), longitude (x,) [rad]. All days are as the first one."""
    d = declination(begin)
    s, c = np.sin(latitude)[:, None] * sin(d), np.cos(latitude)[:, None] * cos(d)
    phase = TURN * solar_time(longitude, begin)[None, :] - pi
    half = np.arccos(np.clip((LEAST_COSINE - s) / np.maximum(c, 1e-12), -1.0, 1.0))  # hour angle of sunset
    rises, sets = ((at - phase) % (2.0 * pi) / TURN for at in (-half, half))
    changes = (half > 0.0) & (half < pi)
    first, second = (np.where(changes & (at < seconds), at, np.inf) for at in (np.minimum(rises, sets), np.maximum(rises, sets)))
    return np.stack(np.broadcast_arrays(s, c, phase, (phase >= -half) & (phase < half), first, second))  # SUN_S to SUN_SECOND


def cosine(sun: Floats, seconds: float) -> Floats:
    """cos(theta) so many seconds after the beginning of the step of `sunlight`, (y, x)."""
    found: Floats = sun[SUN_S] + sun[SUN_C] * np.cos(TURN * seconds + sun[SUN_PHASE])
    return found
