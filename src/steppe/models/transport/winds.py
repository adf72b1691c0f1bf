"""Winds that are formulas, for known cases. Angles in rad, speeds in rad s-1, the vertical in the unit of the levels a second.

rotation              solid body (Williamson et al. 1992, J. Comput. Phys. 102, case 1)
deforming, divergent  Lauritzen et al. (2012), Geosci. Model Dev. 5, cases 4 and 3
dcmip11, dcmip12      three-dimensional deformation, and a circulation like Hadley's (Kent et al. 2014, Q. J. R. Meteorol. Soc. 140)
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.kernels.vecmath import cos, exp, sin
from steppe.models.transport.levels import P0, SCALE_HEIGHT, TOP

DAY = 86_400.0  # [s]
RADIUS = 6_371_220.0  # [m] of the Earth, as in CCM and DCMIP
TAU = 2.0 * np.pi
Formula = Callable[[float, float, float, float, float, Floats], tuple[float, float, float]]


class Wind(NamedTuple):
    """formula(cos_lon, sin_lon, cos_lat, sin_lat, coordinate, c): u, v, w. constants(instant [s], period [s], angle [rad]): c.

    period: of its own [d], or None where the run chooses it.
    """

    meaning: str
    formula: Formula
    constants: Callable[[float, float, float], Floats]
    period: float | None = None


def _rotation(cos_lon: float, sin_lon: float, cos_lat: float, sin_lat: float, height: float, c: Floats) -> tuple[float, float, float]:
    return c[0] * (cos_lat * c[1] + cos_lon * sin_lat * c[2]), -c[0] * sin_lon * c[2], 0.0


def _rotation_constants(instant: float, period: float, angle: float) -> Floats:
    return np.array([TAU / period, np.cos(angle), np.sin(angle)])


def _deforming(cos_lon: float, sin_lon: float, cos_lat: float, sin_lat: float, height: float, c: Floats) -> tuple[float, float, float]:
    sine, cosine = sin_lon * c[1] - cos_lon * c[2], cos_lon * c[1] + sin_lon * c[2]
    return c[0] * sine * sine * 2.0 * sin_lat * cos_lat + c[3] * cos_lat, c[0] * 2.0 * sine * cosine * cos_lat, 0.0


def _deforming_constants(instant: float, period: float, angle: float) -> Floats:
    turned = TAU * instant / period
    return np.array([10.0 / period * np.cos(np.pi * instant / period), np.cos(turned), np.sin(turned), TAU / period])


def _divergent(cos_lon: float, sin_lon: float, cos_lat: float, sin_lat: float, height: float, c: Floats) -> tuple[float, float, float]:
    sine, cosine = sin_lon * c[1] - cos_lon * c[2], cos_lon * c[1] + sin_lon * c[2]
    square = cos_lat * cos_lat
    return -c[0] * 0.5 * (1.0 - cosine) * 2.0 * sin_lat * cos_lat * square + c[3] * cos_lat, c[0] * 0.5 * sine * square * cos_lat, 0.0


def _divergent_constants(instant: float, period: float, angle: float) -> Floats:
    return np.array([0.5, 1.0, 1.0, 1.0]) * _deforming_constants(instant, period, angle)


def _dcmip11(cos_lon: float, sin_lon: float, cos_lat: float, sin_lat: float, height: float, c: Floats) -> tuple[float, float, float]:
    sine, cosine = sin_lon * c[1] - cos_lon * c[2], cos_lon * c[1] + sin_lon * c[2]
    pressure = P0 * exp(-height / SCALE_HEIGHT)
    near, far = exp((pressure - P0) / c[6]), exp((c[5] - pressure) / c[6])
    across = c[4] * cosine * cos_lat * cos_lat * (far - near)
    u = c[0] * sine * sine * 2.0 * sin_lat * cos_lat + c[3] * cos_lat + across
    shape = 1.0 + c[7] - near - far
    return u, c[0] * 2.0 * sine * cosine * cos_lat, -SCALE_HEIGHT / pressure * c[8] * sine * cos_lat * shape


def _dcmip11_constants(instant: float, period: float, angle: float) -> Floats:
    turned, swing = TAU * instant / period, np.cos(TAU * instant / period)
    top = P0 * np.exp(-TOP / SCALE_HEIGHT)
    lift, scale = 23_000.0 * np.pi / period, 0.2 * top
    stretch, far = 10.0 / period * np.cos(np.pi * instant / period), np.exp((top - P0) / scale)
    return np.array([stretch, np.cos(turned), np.sin(turned), TAU / period, lift / scale * swing, top, scale, far, lift * swing])


def _dcmip12(cos_lon: float, sin_lon: float, cos_lat: float, sin_lat: float, height: float, c: Floats) -> tuple[float, float, float]:
    square = sin_lat * sin_lat
    sine, cosine = sin_lat * (5.0 - 20.0 * square + 16.0 * square * square), cos_lat * (1.0 - 12.0 * square + 16.0 * square * square)
    thin, at = exp(height / SCALE_HEIGHT), c[1] * height
    v = -thin * c[2] * cos_lat * sine * cos(at)
    return c[0] * cos_lat, v, thin * c[3] * (cos_lat * cosine - 0.4 * sin_lat * sine) * sin(at)


def _dcmip12_constants(instant: float, period: float, angle: float) -> Floats:
    swing = 0.15 * np.cos(np.pi * instant / period)  # [m s-1]
    return np.array([40.0 / RADIUS, np.pi / TOP, swing * np.pi / (5.0 * TOP), swing])


WINDS: Mapping[str, Wind] = {
    "deforming": Wind("Lauritzen's flow without divergence", _deforming, _deforming_constants),
    "divergent": Wind("Lauritzen's flow with divergence", _divergent, _divergent_constants),
    "rotation": Wind("solid rotation about an axis that is tilted by `angle`", _rotation, _rotation_constants),
    "dcmip11": Wind("deformation in three dimensions, DCMIP 1-1", _dcmip11, _dcmip11_constants, 12.0),
    "dcmip12": Wind("rising and sinking like Hadley's circulation, DCMIP 1-2", _dcmip12, _dcmip12_constants, 1.0),
}
