"""Winds as files, as users bring them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from steppe.grid import Raster
from steppe.models.transport.winds import DAY, RADIUS, WINDS

UNITS = {"u": "m s-1", "v": "m s-1", "omega": "Pa s-1", "ps": "Pa"}


def write(path: Path, grid: Raster, records: Sequence[dict[str, Any]], seconds: int, a: Any, b: Any) -> None:
    """A CF Zarr store of records of u, v (levels, rows, columns), ps (rows, columns), perhaps omega, so many seconds apart.

    a, b: coefficients of the levels at their interfaces.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    middle = 500.0 * (a[:-1] + b[:-1] + a[1:] + b[1:])
    dims = {2: ("time", "lat", "lon"), 3: ("time", "level", "lat", "lon")}
    made = {
        name: (dims[np.ndim(first)], np.array([each[name] for each in records]), {"units": UNITS[name]})
        for name, first in records[0].items()
    }
    axes = {
        "time": ("time", seconds * np.arange(len(records)), {"units": "seconds since 2000-01-01"}),
        "level": ("level", middle, {"units": "hPa", "positive": "down"}),
        "lat": ("lat", grid.lat, {"units": "degrees_north"}),
        "lon": ("lon", grid.lon, {"units": "degrees_east"}),
    }
    dataset = xarray.Dataset({**made, "hyai": ("ilev", a), "hybi": ("ilev", b)}, axes)
    chunks = {name: {"chunks": (1, *values.shape[1:])} for name, (_, values, _) in made.items()}
    dataset.to_zarr(path, mode="w", consolidated=False, encoding=chunks)


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
