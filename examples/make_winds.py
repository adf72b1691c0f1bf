"""Writes winds: those of tracers.toml, or with --globe those of transport_winds.toml. Arguments: the store, --globe."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray
from numpy.typing import NDArray

HOURS = 3.0 * np.arange(9)
LEVELS = np.array([1000.0, 850.0, 700.0, 500.0])
LAT, LON = 59.75 - 0.5 * np.arange(48), -19.75 + 0.5 * np.arange(96)
DIMS = ("time", "level", "lat", "lon")
RADIUS, P0 = 6_371_220.0, 100_000.0  # [m, Pa]
PERIOD = 12.0 * 86_400.0  # [s] after which air on the globe is where it was


def winds() -> xarray.Dataset:
    """A jet that meanders, stronger the higher, every three hours of a day: u, v (time, level, lat, lon)."""
    hour, level, lat, lon = np.meshgrid(HOURS, LEVELS, LAT, LON, indexing="ij")
    strength = 1.0 + (1000.0 - level) / 250.0
    wave = np.radians(6.0 * (lon - 1.5 * hour))
    u = strength * (4.0 + 6.0 * np.exp(-(((lat - 47.0 - 4.0 * np.sin(wave)) / 6.0) ** 2)))
    v = strength * 5.0 * np.cos(wave) * np.exp(-(((lat - 47.0) / 10.0) ** 2))
    axes = described("2001-03-05", HOURS, LEVELS, LAT, LON)
    axes["level"][2]["standard_name"] = "air_pressure"
    return xarray.Dataset({"u": wind("east", u), "v": wind("north", v)}, axes)


def globe(rows: int = 64, levels: int = 18, hours: float = 6.0) -> xarray.Dataset:
    """A flow that draws air out into threads, lifts and sinks it, and brings it back after 12 days, on a Gaussian grid.

    u, v, omega (time, level, lat, lon), surface pressure ps (time, lat, lon), and hyai, hybi of p = hyai p0 + hybi ps at the interfaces of
    hybrid levels. The flow without divergence of Lauritzen et al. (2012), and air that rises by 230 hPa at most.
    """
    sine = np.polynomial.legendre.leggauss(rows)[0][::-1]
    degrees, east = np.degrees(np.arcsin(sine)), 180.0 / rows * np.arange(2 * rows)
    edges = np.linspace(0.0, 1.0, levels + 1)
    b = np.maximum(edges - 0.2, 0.0) / 0.8  # the levels above 200 hPa are those of pressure
    middle = 0.5 * (edges[:-1] + edges[1:])
    hour = np.arange(0.0, PERIOD / 3600.0 + hours, hours)
    instant, height, lat, lon = np.meshgrid(
        3600.0 * hour / PERIOD, np.pi * middle, np.radians(degrees), np.radians(east), indexing="ij", sparse=True
    )
    turned = lon - 2.0 * np.pi * instant
    back = np.cos(np.pi * instant)  # all but the turn to the east goes back in the second half
    stretch, lift = 10.0 * RADIUS / PERIOD * back, 23_000.0 * np.pi / PERIOD * back
    aside = RADIUS * np.pi / P0 * lift * np.cos(turned) * np.cos(lat) ** 2 * np.cos(height)  # makes room for the air that rises
    u = stretch * np.sin(turned) ** 2 * np.sin(2.0 * lat) + 2.0 * np.pi * RADIUS / PERIOD * np.cos(lat) + aside
    v = stretch * np.sin(2.0 * turned) * np.cos(lat)
    omega = lift * np.sin(turned) * np.cos(lat) * np.sin(height)
    fields = {
        "u": wind("east", u),
        "v": wind("north", np.broadcast_to(v, u.shape)),
        "omega": (DIMS, exact(omega, 24), {"units": "Pa s-1", "standard_name": "lagrangian_tendency_of_air_pressure"}),
        "ps": (
            ("time", "lat", "lon"),
            np.full((hour.size, *u.shape[2:]), P0, "float32"),
            {"units": "Pa", "standard_name": "surface_air_pressure"},
        ),
        "hyai": ("interface", edges - b),
        "hybi": ("interface", b),
    }
    return xarray.Dataset(fields, described("2000-01-01", hour, 1000.0 * middle, degrees, east))


def wind(toward: str, values: NDArray[np.float64]) -> tuple[tuple[str, ...], NDArray[np.float32], Mapping[str, str]]:
    """A wind [m s-1] with dims and attributes."""
    return DIMS, exact(values, 10), {"units": "m s-1", "standard_name": f"{toward}ward_wind"}


def exact(values: NDArray[np.float64], bits: int) -> NDArray[np.float32]:
    """Whole parts of 2^-bits, which float32 holds on any machine."""
    return (np.rint(values * 2.0**bits) / 2.0**bits).astype("float32")


def described(since: str, hours: object, levels: object, lat: object, lon: object) -> dict[str, tuple[str, object, dict[str, str]]]:
    """Coordinates with attributes."""
    return {
        "time": ("time", hours, {"units": f"hours since {since}", "calendar": "standard", "standard_name": "time"}),
        "level": ("level", levels, {"units": "hPa", "positive": "down"}),
        "lat": ("lat", lat, {"units": "degrees_north", "standard_name": "latitude"}),
        "lon": ("lon", lon, {"units": "degrees_east", "standard_name": "longitude"}),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", nargs="?", type=Path, default=Path("runs/winds.zarr"))
    parser.add_argument("--globe", action="store_true", help="the winds of transport_winds.toml")
    asked = parser.parse_args()
    found = globe() if asked.globe else winds()
    chunks = {
        name: (1, *values.shape[1:-2], values.shape[-2] // 2, values.shape[-1] // 2) for name, values in found.items() if values.ndim > 2
    }
    found.to_zarr(asked.store, mode="w", consolidated=False, encoding={name: {"chunks": each} for name, each in chunks.items()})
    since = found["time"].attrs["units"].removeprefix("hours ")
    print(f"{asked.store}: winds {since}, {found.sizes['time']} records on {found.sizes['level']} levels")
