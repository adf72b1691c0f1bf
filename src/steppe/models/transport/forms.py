"""What a tracer looks like at first: the fields of known cases, by name.

bell                                 Williamson et al. (1992), case 1
hills, bells, slotted, correlated    Lauritzen et al. (2012), section 2
q1, q2, q3, q4, layer                Kent et al. (2014), DCMIP 1-1 and 1-2: by height
"""

from collections.abc import Callable, Mapping

import numpy as np

from steppe.array_types import Floats

CENTRES = (5.0 * np.pi / 6.0, 7.0 * np.pi / 6.0)  # longitudes of the two, on the equator [rad]


def distance(lat: Floats | float, lon: Floats | float, lat0: float, lon0: float) -> Floats:
    """The great circle to a place [rad]."""
    cosine = np.sin(lat0) * np.sin(lat) + np.cos(lat0) * np.cos(lat) * np.cos(lon - lon0)
    return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _bell(lat: Floats, lon: Floats, height: Floats) -> Floats:
    r = distance(lat, lon, 0.0, 1.5 * np.pi)
    return np.where(r < 1.0 / 3.0, 500.0 * (1.0 + np.cos(3.0 * np.pi * r)), 0.0)


def _hills(lat: Floats, lon: Floats, height: Floats) -> Floats:
    square = [2.0 - 2.0 * np.cos(distance(lat, lon, 0.0, centre)) for centre in CENTRES]  # of the chord
    return np.asarray(0.95 * sum(np.exp(-5.0 * each) for each in square))


def _bells(lat: Floats, lon: Floats, height: Floats) -> Floats:
    r = np.minimum(*(distance(lat, lon, 0.0, centre) for centre in CENTRES))
    return np.where(r < 0.5, 0.1 + 0.9 * 0.5 * (1.0 + np.cos(2.0 * np.pi * r)), 0.1)


def _slotted(lat: Floats, lon: Floats, height: Floats) -> Floats:
    found = np.full(np.broadcast(lat, lon).shape, 0.1)
    for centre, sign in zip(CENTRES, (1.0, -1.0), strict=True):
        r = distance(lat, lon, 0.0, centre)
        slot = (np.cos(lon - centre) > np.cos(1.0 / 12.0)) & (sign * lat >= -5.0 / 24.0)
        found = np.where((r <= 0.5) & ~slot, 1.0, found)
    return found


def _places(lat: Floats, lon: Floats, height: Floats) -> list[Floats]:
    """The square of the distance to each centre at 5 km in units of the size of a bell, at most 1."""
    return [np.minimum(1.0, (distance(lat, lon, 0.0, c) / 0.5) ** 2 + ((height - 5000.0) / 1000.0) ** 2) for c in CENTRES]


def _q1(lat: Floats, lon: Floats, height: Floats) -> Floats:
    return np.asarray(sum(0.5 * (1.0 + np.cos(np.pi * each)) for each in _places(lat, lon, height)))


def _q2(lat: Floats, lon: Floats, height: Floats) -> Floats:
    return 0.9 - 0.8 * _q1(lat, lon, height) ** 2


def _q3(lat: Floats, lon: Floats, height: Floats) -> Floats:
    inside = np.minimum(*_places(lat, lon, height)) <= 0.5
    slot = (height > 5000.0) & (np.abs(lat) < 0.125)
    return np.where(inside & ~slot, 1.0, 0.1)


def _q4(lat: Floats, lon: Floats, height: Floats) -> Floats:
    return np.asarray(1.0 - 0.3 * (_q1(lat, lon, height) + _q2(lat, lon, height) + _q3(lat, lon, height)))


def _layer(lat: Floats, lon: Floats, height: Floats) -> Floats:
    inside = (height > 2000.0) & (height < 5000.0)
    return np.where(inside, 0.5 * (1.0 + np.cos(2.0 * np.pi * (height - 3500.0) / 3000.0)), 0.0) + 0.0 * (lat + lon)


FORMS: Mapping[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "zero": lambda lat, lon, height: np.zeros(np.broadcast(lat, lon, height).shape),
    "one": lambda lat, lon, height: np.ones(np.broadcast(lat, lon, height).shape),
    "bell": _bell,
    "hills": _hills,
    "bells": _bells,
    "slotted": _slotted,
    "correlated": lambda lat, lon, height: 0.9 - 0.8 * _bells(lat, lon, height) ** 2,
    "q1": _q1,
    "q2": _q2,
    "q3": _q3,
    "q4": _q4,
    "layer": _layer,
}
