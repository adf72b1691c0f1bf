"""A grid as JSON and back, for programs that have neither its files nor its run file."""

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from steppe.array_types import Array
from steppe.errors import GridError
from steppe.grid.gaussian import Gaussian
from steppe.grid.grid import Grid
from steppe.grid.points import Points
from steppe.grid.projected import Projected
from steppe.grid.raster import Raster

_NUMBERS = {"raster": ("lat0", "dlat", "lon0", "dlon"), "projected": ("y0", "dy", "x0", "dx")}
_PLACES = ("cell_lat", "cell_lon", "cell_area")


def as_plain(grid: Grid) -> dict[str, object]:
    """A grid in types of JSON: kind, shape, number of cells, digest, bounds, and everything that `from_plain` needs.

    bounds: west, south, east, north of a raster of latitude and longitude, otherwise of the centres of cells [degrees]. lat, lat_edges:
    latitudes and edges of the rows of a Gaussian grid, whose lat0 and dlat describe even rows.
    """
    lon, lat = (grid.lon_bnds, grid.lat_bnds) if isinstance(grid, Raster) else (grid.cell_lon, grid.cell_lat)
    found: dict[str, object] = {
        "shape": dict(grid.shape),
        "cells": grid.n_cells,
        "digest": grid.digest,
        "bounds": [float(edge) for edge in (lon.min(), lat.min(), lon.max(), lat.max())],
    }
    if isinstance(grid, Points):
        return {"kind": "points", **found, "ids": list(grid.ids), "lat": grid.cell_lat.tolist(), "lon": grid.cell_lon.tolist()}
    if not isinstance(grid, Raster | Projected):
        raise GridError(f"A {type(grid).__name__} has no form in JSON. This is a defect of Steppe.")
    kind = "raster" if isinstance(grid, Raster) else "projected"
    numbers = {name: float(getattr(grid, name)) for name in _NUMBERS[kind]}
    found = {"kind": kind, **found, **numbers, "active": _text(np.packbits(grid.active))}
    if isinstance(grid, Gaussian):
        found |= {"lat": grid.lat.tolist(), "lat_edges": [*grid.lat_bnds[:, 0].tolist(), -90.0]}
    if isinstance(grid, Projected):
        crs = {name: np.asarray(value).tolist() for name, value in grid.crs.items()}
        found |= {"crs": crs, **{name: _text(getattr(grid, name)) for name in _PLACES}}
    return found


def from_plain(found: Mapping[str, Any]) -> Grid:
    """The grid of a result of `as_plain`.

    Raises
    ------
    GridError
        The digest differs, or the kind is unknown.
    """
    kind, grid = found["kind"], _made(found)
    if grid is None or grid.digest != found["digest"]:
        raise GridError(f'A grid of kind "{kind}" differs from the one that was sent. Use the same version of Steppe on both sides.')
    return grid


def _made(found: Mapping[str, Any]) -> Grid | None:
    kind = found["kind"]
    if kind == "points":
        return Points(tuple(found["ids"]), np.array(found["lat"]), np.array(found["lon"]))
    if kind not in _NUMBERS:
        return None
    rows, columns = found["shape"].values()
    active = np.unpackbits(_array(found["active"], np.uint8), count=rows * columns).astype(bool).reshape(rows, columns)
    first = [found[name] for name in _NUMBERS[kind]]
    if kind == "raster" and "lat" in found:
        return Gaussian(rows, active, found["lon0"])
    if kind == "raster":
        return Raster(first[0], first[1], first[2], first[3], active)
    places = [_array(found[name], np.float64) for name in _PLACES]
    return Projected(first[0], first[1], first[2], first[3], active, found["crs"], places[0], places[1], places[2])


def _text(values: Array) -> str:
    return base64.b64encode(zlib.compress(values.tobytes())).decode()


def _array(text: str, dtype: type) -> Array:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype)
