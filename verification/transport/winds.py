"""Records of known winds."""

from typing import Any

import numpy as np

from steppe.grid import Raster
from steppe.models.transport.winds import DAY, RADIUS, WINDS


def of_formula(grid: Raster, name: str, days: int, records: int, angle: float = 0.0) -> list[dict[str, Any]]:
    """Records of a wind on one level: so many intervals in a period of some days, and one record more."""
    lat, lon = np.deg2rad(grid.lat)[:, None], np.deg2rad(grid.lon)[None, :]
    found = []
    for k in range(records + 1):
        constants = WINDS[name].constants(k * days * DAY / records, days * DAY, angle)
        u, v, _ = WINDS[name].formula(np.cos(lon), np.sin(lon), np.cos(lat), np.sin(lat), 0.0, constants)
        shape = (1, grid.nlat, grid.nlon)
        found.append({"u": RADIUS * np.broadcast_to(u, shape), "v": RADIUS * np.broadcast_to(v, shape), "ps": np.full(shape[1:], 1e5)})
    return found
