"""A store of winds for tests: random and smooth, with surface pressure that changes, and vertical motion."""

import numpy as np
import xarray

from steppe.grid import Gaussian


def write_winds(path, latitudes=16, levels=6, hours=6, days=3, strength=60.0, seed=1, vertical=True, grid=None):
    """Fields on a Gaussian grid from 2000-01-01, with hybrid levels."""
    rng = np.random.default_rng(seed)
    grid = grid or Gaussian(latitudes)
    lat, lon = np.deg2rad(grid.lat)[:, None], np.deg2rad(grid.lon)[None, :]
    time = np.arange(0.0, 24.0 * days + hours, hours)

    def smooth(*shape):
        """A sum of a few waves on the sphere, at most about 1."""
        x, y, z = np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat) + 0.0 * lon
        found = np.zeros((*shape, *x.shape))
        for _ in range(4):
            k, phase = rng.normal(0.0, 2.0, (3, *shape, 1, 1)), rng.uniform(0.0, 6.28, (*shape, 1, 1))
            found += 0.4 * np.sin(k[0] * x + k[1] * y + k[2] * z + phase)
        return found

    hybrid = np.linspace(0.05, 1.0, levels + 1)
    b = np.where(hybrid > 0.3, (hybrid - 0.3) / 0.7, 0.0)
    dims = ("time", "level", "lat", "lon")
    fields = {
        "u": (dims, strength * smooth(time.size, levels), {"units": "m s-1"}),
        "v": (dims, strength * smooth(time.size, levels), {"units": "m s-1"}),
        "ps": (("time", "lat", "lon"), 98_000.0 + 3000.0 * smooth(time.size), {"units": "Pa"}),
        "hyai": ("ilev", hybrid - b),
        "hybi": ("ilev", b),
    }
    if vertical:
        fields["omega"] = (dims, 0.5 * smooth(time.size, levels), {"units": "Pa s-1"})
    middle = 0.5 * (hybrid[:-1] + hybrid[1:]) * 1000.0
    axes = {
        "time": ("time", time, {"units": "hours since 2000-01-01"}),
        "level": ("level", np.round(middle, 6), {"units": "hPa"}),
        "lat": ("lat", grid.lat, {"units": "degrees_north"}),
        "lon": ("lon", grid.lon, {"units": "degrees_east"}),
    }
    xarray.Dataset(fields, axes).to_zarr(path, mode="w", consolidated=False)
    return path
