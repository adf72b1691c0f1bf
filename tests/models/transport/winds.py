"""Stores of winds as users bring them, and random ones: smooth, with surface pressure that changes, and vertical motion."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from steppe.grid import Gaussian

UNITS = {"u": "m s-1", "v": "m s-1", "omega": "Pa s-1", "ps": "Pa"}


def write_store(path: Path, grid: Any, records: Sequence[dict[str, Any]], seconds: int, a: Any, b: Any) -> None:
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


def write_winds(
    path: Path,
    latitudes: int = 16,
    levels: int = 6,
    hours: int = 6,
    days: int = 3,
    strength: float = 60.0,
    vertical: bool = True,
    grid: Any = None,
) -> None:
    """Random fields from 2000-01-01 with hybrid levels, on a Gaussian grid if no other `lat` and `lon` are given; vertical: with omega."""
    rng, grid = np.random.default_rng(1), grid or Gaussian(latitudes)
    lat, lon = np.deg2rad(grid.lat)[:, None], np.deg2rad(grid.lon)[None, :]
    records = 24 * days // hours + 1

    def smooth(*shape: int) -> Any:
        """A sum of a few waves on the sphere, at most about 1."""
        x, y, z = np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat) + 0.0 * lon
        found = np.zeros((*shape, *x.shape))
        for _ in range(4):
            k, phase = rng.normal(0.0, 2.0, (3, *shape, 1, 1)), rng.uniform(0.0, 6.28, (*shape, 1, 1))
            found += 0.4 * np.sin(k[0] * x + k[1] * y + k[2] * z + phase)
        return found

    hybrid = np.linspace(0.05, 1.0, levels + 1)
    b = np.where(hybrid > 0.3, (hybrid - 0.3) / 0.7, 0.0)
    fields = {"u": strength * smooth(records, levels), "v": strength * smooth(records, levels)}
    fields["ps"] = 98_000.0 + 3000.0 * smooth(records)
    if vertical:
        fields["omega"] = 0.5 * smooth(records, levels)
    write_store(path, grid, [{name: each[n] for name, each in fields.items()} for n in range(records)], 3600 * hours, hybrid - b, b)
