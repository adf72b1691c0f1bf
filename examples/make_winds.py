"""Writes the winds of tracers.toml: a jet that meanders, stronger the higher, every three hours of a day. Argument: the store."""

import sys
from pathlib import Path

import numpy as np
import xarray

HOURS = 3.0 * np.arange(9)
LEVELS = np.array([1000.0, 850.0, 700.0, 500.0])
LAT, LON = 59.75 - 0.5 * np.arange(48), -19.75 + 0.5 * np.arange(96)


def winds() -> xarray.Dataset:
    """Wind to the east and north (time, level, lat, lon), in whole parts of 2^-10 m s-1, which float32 holds on any machine."""
    hour, level, lat, lon = np.meshgrid(HOURS, LEVELS, LAT, LON, indexing="ij")
    strength = 1.0 + (1000.0 - level) / 250.0
    wave = np.radians(6.0 * (lon - 1.5 * hour))
    u = strength * (4.0 + 6.0 * np.exp(-(((lat - 47.0 - 4.0 * np.sin(wave)) / 6.0) ** 2)))
    v = strength * 5.0 * np.cos(wave) * np.exp(-(((lat - 47.0) / 10.0) ** 2))
    dims, axes = (
        ("time", "level", "lat", "lon"),
        {
            "time": ("time", HOURS, {"units": "hours since 2001-03-05", "calendar": "standard", "standard_name": "time"}),
            "level": ("level", LEVELS, {"units": "hPa", "standard_name": "air_pressure", "positive": "down"}),
            "lat": ("lat", LAT, {"units": "degrees_north", "standard_name": "latitude"}),
            "lon": ("lon", LON, {"units": "degrees_east", "standard_name": "longitude"}),
        },
    )
    rounded = [(np.rint(values * 1024.0) / 1024.0).astype("float32") for values in (u, v)]
    described = [{"units": "m s-1", "standard_name": f"{toward}ward_wind"} for toward in ("east", "north")]
    return xarray.Dataset({name: (dims, *each) for name, *each in zip("uv", rounded, described, strict=True)}, axes)


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/winds.zarr")
    winds().to_zarr(path, mode="w", consolidated=False, encoding={name: {"chunks": (1, 4, 24, 48)} for name in "uv"})
    print(f"{path}: winds from 2001-03-05 to 2001-03-06, every three hours, on {len(LEVELS)} levels")
