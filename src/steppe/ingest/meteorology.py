"""Weather computed from other weather: vapour pressure at saturation, radiation above the air, pan evaporation. Functions of arrays."""

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Floats

Values = Floats

PAN_TO_EQUILIBRIUM = 1.25  # [1] class A pan over the Priestley-Taylor demand; mean of Miles, Dalby, Narayen and Brigalow since 1975
ALBEDO = 0.23  # [1] of a green short sward; FAO-56 (Allen and others 1998)
SOLAR_CONSTANT = 0.0820  # [MJ m-2 min-1] FAO-56, equation 21

PAN_REMARK = "computed from radiation, tmax and tmin: 1.25 times the demand of Priestley and Taylor (1972), not measured"
VP_REMARK = "no humidity was recorded: saturation at tmin"
DEFICIT_REMARK = "computed from the recorded deficit: 0.75 of saturation at tmax + 0.25 of saturation at tmin - deficit"


def saturation_vapour_pressure(temperature: Values) -> Values:
    """Vapour pressure of saturated air [hPa] at `temperature` [degC]; Tetens (1930) with the constants of Murray (1967)."""
    pressure: Values = 6.1078 * np.exp(17.269 * temperature / (temperature + 237.3))
    return pressure


def vapour_pressure_of(deficit: Values, tmin: Values, tmax: Values) -> Values:
    """Vapour pressure [hPa] of a day with this deficit [hPa]; tmin, tmax [degC].

    Saturation of the day is 0.75 es(tmax) + 0.25 es(tmin): files of APSIM and PERFECT make their deficits so (measured at Narayen and
    Brigalow), and the pasture model computes its deficit by the same weights.
    """
    saturation: Values = 0.75 * saturation_vapour_pressure(tmax) + 0.25 * saturation_vapour_pressure(tmin)
    return saturation - deficit


def extraterrestrial_radiation(latitude: Values, day_of_year: NDArray[np.integer]) -> Values:
    """Daily radiation on a level plane above the air (days, cells) [MJ m-2 d-1]; FAO-56, equations 21-25.

    latitude (cells,) [degrees north], day_of_year (days,) [1 = 1 January].
    """
    angle = (2.0 * np.pi / 365.0) * day_of_year[:, None]
    distance = 1.0 + 0.033 * np.cos(angle)
    declination = 0.409 * np.sin(angle - 1.39)
    rows, row_of = np.unique(latitude, return_inverse=True)  # cells share the latitudes of some hundred rows
    position = np.radians(rows)[None, :]
    # beyond the polar circles the sun does not set, or does not rise
    sunset = np.arccos(np.clip(-np.tan(position) * np.tan(declination), -1.0, 1.0))
    height = sunset * np.sin(position) * np.sin(declination) + np.cos(position) * np.cos(declination) * np.sin(sunset)
    radiation: Values = (24.0 * 60.0 / np.pi) * SOLAR_CONSTANT * distance * height
    return radiation[:, row_of]


def pan_evaporation(radiation: Values, tmax: Values, tmin: Values) -> Values:
    """Class A pan evaporation [mm d-1] where none was measured, any shape; radiation [MJ m-2 d-1], tmax and tmin [degC].

    1.25 times the demand of Priestley and Taylor (1972) in the form of Ritchie (1972) as the CERES and APSIM models use it.
    """
    day_temperature = 0.6 * tmax + 0.4 * tmin
    equilibrium = 23.8846 * radiation * (0.000204 - 0.000183 * ALBEDO) * (day_temperature + 29.0)
    advection = np.where(tmax > 35.0, 1.1 + 0.05 * (tmax - 35.0), 1.1)
    advection = np.where(tmax < 5.0, 0.01 * np.exp(0.18 * (tmax + 20.0)), advection)
    return np.maximum(PAN_TO_EQUILIBRIUM * advection * equilibrium, 0.0)
