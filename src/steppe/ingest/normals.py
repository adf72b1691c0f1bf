"""Monthly normals: the long mean of the weather of each month, on a grid of places."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.errors import ForcingError
from steppe.grid.earth import distances
from steppe.ingest.meteorology import Values

REACH = 50.0  # [km] farther from the last place with normals a cell has none; judgement
SAME_PLACE = 1e-6  # [degrees]
NAMES = {"rain": "rain_mm", "tmin": "tmin_C", "tmax": "tmax_C", "radiation": "radiation_MJ", "vp": "vp_hPa"}


class Normals(NamedTuple):
    """Normals of some cells, each float64 (12, cells): rain [mm month-1], tmin, tmax [degC], radiation [MJ m-2 d-1], vp [hPa]."""

    rain: Values
    tmin: Values
    tmax: Values
    radiation: Values
    vp: Values


def read_normals(path: Path, latitude: Values, longitude: Values) -> Normals:
    """The normals of cells (cells,) [degrees]: of the place itself, or of the nearest place that has some; NaN beyond 50 km.

    The file is a NumPy archive: `lat` (rows,), `lon` (columns,), `in_queensland` (rows, columns) true where there are normals, and
    (12, rows, columns) for each of `rain_mm, tmin_C, tmax_C, radiation_MJ, vp_hPa`.

    Raises
    ------
    ForcingError
        The file is missing or not of this kind.
    """
    if not path.is_file():
        raise ForcingError(f'There is no file of normals "{path}". Name one with normals=; spreading stations over a grid needs it.')
    try:
        with np.load(path) as archive:
            lat, lon, known = archive["lat"], archive["lon"], archive["in_queensland"]
            tables = {name: archive[key].astype(np.float64) for name, key in NAMES.items()}
    except (ValueError, KeyError, OSError) as error:
        keys = ", ".join(("lat", "lon", "in_queensland", *NAMES.values()))
        raise ForcingError(f'"{path}" holds no normals ({error}). It must have {keys}.') from None
    row, column, beyond = _places(lat, lon, known, latitude, longitude)
    return Normals(**{name: np.where(beyond, np.nan, table[:, row, column]) for name, table in tables.items()})


def _places(
    lat: Values, lon: Values, known: NDArray[np.bool_], latitude: Values, longitude: Values
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Row and column of the normals of each cell, and whether they are too far away."""
    row = np.abs(lat[:, None] - latitude).argmin(axis=0)
    column = np.abs(lon[:, None] - longitude).argmin(axis=0)
    exact = (np.abs(lat[row] - latitude) < SAME_PLACE) & (np.abs(lon[column] - longitude) < SAME_PLACE) & known[row, column]
    rows, columns = np.nonzero(known)
    beyond = np.zeros(len(latitude), dtype=bool)
    for cell in np.flatnonzero(~exact):
        away = distances(longitude[cell], latitude[cell], lon[columns], lat[rows]) / 1000.0
        nearest = int(away.argmin())
        row[cell], column[cell] = rows[nearest], columns[nearest]
        beyond[cell] = away[nearest] > REACH
    return row, column, beyond
