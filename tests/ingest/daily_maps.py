"""Small CF files of daily maps whose values are known: what `steppe ingest netcdf` and `silo` read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

UNITS = {"daily_rain": "mm", "max_temp": "Celsius", "min_temp": "Celsius", "vp": "hPa", "radiation": "MJ m-2", "evap_pan": "mm"}
MEAN = {"daily_rain": 4.0, "max_temp": 30.0, "min_temp": 15.0, "vp": 12.0, "radiation": 20.0, "evap_pan": 6.0}
LAT, LON = np.round(-21.5 + 0.25 * np.arange(7), 2), np.round(143.0 + 0.25 * np.arange(6), 2)  # the mask of tests/errors, from the south


def known_maps(name: str, days: int, lat: NDArray[np.float64] = LAT, lon: NDArray[np.float64] = LON) -> NDArray[np.float64]:
    """Values in steps of 0.1, (days, lat, lon); each place has its own, whichever way the axes run."""
    row, column = np.round(lat * 100.0), np.round(np.mod(lon, 360.0) * 100.0)
    mixed = (np.arange(days)[:, None, None] * 7 + np.abs(row)[None, :, None] * 3 + column[None, None, :]) % 31
    return np.round(MEAN[name] + 0.1 * mixed, 1)


def write_maps(
    path: Path,
    variables: Mapping[str, Any],
    start: str = "1990-01-01",
    lat: Any = LAT,
    lon: Any = LON,
    units: Mapping[str, str] | None = None,
    calendar: str = "standard",
    time: Sequence[float] | None = None,
    bounds: NDArray[np.float64] | None = None,
    packed: bool = True,
) -> Path:
    """Writes one file, NetCDF or Zarr by its suffix; variables: name -> (days, lat, lon)."""
    days = len(next(iter(variables.values())))
    stamps = np.arange(days, dtype=np.float64) if time is None else np.asarray(time, np.float64)
    about = {"units": f"days since {start}", "calendar": calendar} | ({"bounds": "time_bnds"} if bounds is not None else {})
    axes = {
        "time": ("time", stamps, about),
        "lat": ("lat", np.asarray(lat), {"units": "degrees_north"}),
        "lon": ("lon", np.asarray(lon), {"units": "degrees_east"}),
    }
    said = {**UNITS, **(units or {})}
    data = {name: (("time", "lat", "lon"), values, {"units": said[name]} if said.get(name) else {}) for name, values in variables.items()}
    dataset = xarray.Dataset(data, axes)
    if bounds is not None:
        dataset["time_bnds"] = (("time", "bnds"), bounds)
    as_stored = {name: {"dtype": "int16", "scale_factor": 0.1, "_FillValue": -32767} for name in variables} if packed else {}
    if path.suffix == ".zarr":
        dataset.to_zarr(path, consolidated=False, encoding=as_stored)
    else:
        dataset.to_netcdf(path, engine="netcdf4", encoding=as_stored)
    return path


def write_year(folder: Path, year: int = 1990, days: int = 365, **how: Any) -> list[Path]:
    """The six files of a year, as SILO names them."""
    folder.mkdir(parents=True, exist_ok=True)
    lat, lon = how.get("lat", LAT), how.get("lon", LON)
    start = f"{year}-01-01"
    return [write_maps(folder / f"{year}.{name}.nc", {name: known_maps(name, days, lat, lon)}, start, **how) for name in UNITS]
