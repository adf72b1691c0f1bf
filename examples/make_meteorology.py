"""Writes the meteorology of air.toml, or with --wide that of a grid of 64 x 64. Arguments: the store, --wide, --hours, --every."""

import argparse
from pathlib import Path

import numpy as np
import xarray
from numpy.typing import NDArray

LEVELS, THICK = 32, 100.0  # [m]
DLAT, DLON, MIDDLE = 15.0 / 32.0, 0.625, 42.5  # [degree] about 52 km x 51 km there
EARTH, ANGULAR = 6_371_007.181, 1.0e-4  # [m], [s-1] of the waves in time: one turn in 17 hours
FLOW, SPREAD = 4.0e6, 8.0e5  # [m2 s-1] amplitude of the stream function, and of the velocity potential
MAPS, FIELDS = ("time", "lat", "lon"), ("time", "level", "lat", "lon")
ATTRIBUTES = {
    "T": ("K", "air_temperature"), "u": ("m s-1", "eastward_wind"), "v": ("m s-1", "northward_wind"), "w": ("m s-1", "upward_air_velocity"),
    "ps": ("Pa", "surface_air_pressure"), "mixing_height": ("m", "atmosphere_boundary_layer_thickness"),
    "cloud": ("1", "cloud_area_fraction"), "friction_velocity": ("m s-1", ""), "surface_temperature": ("K", "surface_temperature"),
}  # fmt: skip


def meteorology(cells: int = 32, hours: float = 24.0, every: float = 60.0, levels: int = LEVELS) -> xarray.Dataset:
    """A day of summer: a flow that turns and spreads, a warm afternoon, cloud that comes and goes. every: minutes between records.

    The wind has a stream function and a velocity potential, both waves that travel; it is stronger the higher. Mixing height, friction
    velocity and temperature follow the sun of the place.
    """
    time = np.arange(0.0, 60.0 * hours + every, every)
    lat = MIDDLE + DLAT * (0.5 * (cells - 1) - np.arange(cells))
    lon = DLON * (np.arange(cells) + 0.5)
    height = THICK * (np.arange(levels) + 0.5)
    t, z, north, east = np.meshgrid(60.0 * time, height, lat, lon, indexing="ij", sparse=True)
    metre = np.pi / 180.0 * EARTH
    y, x = metre * (north - MIDDLE), metre * np.cos(np.radians(MIDDLE)) * east
    k, m = 2.0 * np.pi / 1.6e6, 2.0 * np.pi / 1.2e6  # [m-1]
    turn, strength = ANGULAR * t, 0.6 + z / 3200.0
    narrow = np.cos(np.radians(MIDDLE)) / np.cos(np.radians(north))  # of columns, toward the pole
    u = strength * (5.0 + FLOW * m * np.cos(k * x - turn) * np.sin(m * y) + narrow * SPREAD * k * np.cos(k * x + turn) * np.cos(m * y))
    v = -strength * (narrow * FLOW * k * np.sin(k * x - turn) * np.cos(m * y) + SPREAD * m * np.sin(k * x + turn) * np.sin(m * y))
    gathers = SPREAD * ((narrow * k) ** 2 + m * m) * np.sin(k * x + turn) * np.cos(m * y)  # [s-1] where strength is 1
    w = (0.6 * z + z * z / 6400.0) * gathers
    hour = (t / 3600.0 + east / 15.0)[:, 0] % 24.0  # by the sun
    day = np.maximum(np.sin(np.pi * (hour - 5.0) / 14.0), 0.0) * ((hour > 5.0) & (hour < 19.0))
    ground = 291.0 - 0.4 * (north - MIDDLE)[:, 0] + 8.0 * day
    warm = ground[:, None] - 0.0065 * z
    ps = 101_300.0 + 800.0 * (np.cos(k * x - turn) * np.cos(m * y))[:, 0]
    cloud = np.clip(0.3 + 0.4 * (np.sin(k * x - 2.0 * turn) * np.cos(m * y))[:, 0], 0.0, 1.0)
    found = {
        "T": warm, "u": u, "v": v, "w": w, "ps": ps, "mixing_height": 200.0 + 1400.0 * day, "cloud": cloud,
        "friction_velocity": 0.15 + 0.35 * day, "surface_temperature": ground + 4.0 * day,
    }  # fmt: skip
    shape = len(time), levels, cells, cells
    fields = {name: described(name, values, shape) for name, values in found.items()}
    axes = {
        "time": ("time", time, {"units": "minutes since 2001-06-21", "calendar": "standard", "standard_name": "time"}),
        "level": ("level", height, {"units": "m", "positive": "up", "standard_name": "height"}),
        "lat": ("lat", lat, {"units": "degrees_north", "standard_name": "latitude"}),
        "lon": ("lon", lon, {"units": "degrees_east", "standard_name": "longitude"}),
    }
    return xarray.Dataset(fields, axes)


def described(
    name: str, values: NDArray[np.float64], shape: tuple[int, ...]
) -> tuple[tuple[str, ...], NDArray[np.float32], dict[str, str]]:
    """A field with dims and attributes, in whole parts of 2^-16, which do not depend on the machine's last bits."""
    units, standard_name = ATTRIBUTES[name]
    dims = FIELDS if values.ndim == 4 else MAPS
    whole = np.broadcast_to(values, shape if values.ndim == 4 else (shape[0], *shape[2:]))
    attributes = {"units": units, **({"standard_name": standard_name} if standard_name else {})}
    return dims, (np.rint(whole * 2.0**16) / 2.0**16).astype("float32"), attributes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", nargs="?", type=Path, default=Path("runs/meteorology.zarr"))
    parser.add_argument("--wide", action="store_true", help="64 x 64 cells in place of 32 x 32")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--every", type=float, default=60.0, help="minutes between records")
    asked = parser.parse_args()
    if not (asked.hours > 0.0 and asked.every > 0.0):
        parser.error(f"--hours {asked.hours:g} --every {asked.every:g}: write numbers above 0.")
    made = meteorology(64 if asked.wide else 32, asked.hours, asked.every)
    chunks = {name: (1, *values.shape[1:]) for name, values in made.items()}
    made.to_zarr(asked.store, mode="w", consolidated=False, encoding={name: {"chunks": each} for name, each in chunks.items()})
    print(f"{asked.store}: meteorology since 2001-06-21, {made.sizes['time']} records on {made.sizes['level']} levels")
