"""`steppe ingest stations`: daily station records become a forcing store.

A raster gets the stations' weather spread by the anomaly method; a grid of points gets its own stations' records unchanged.
"""

from collections.abc import Callable
from datetime import date as Date
from pathlib import Path

import numpy as np

from steppe.grid import Grid, Points
from steppe.ingest.columns import ColumnNames
from steppe.ingest.provenance import Report
from steppe.ingest.station_file import read_sites
from steppe.ingest.station_points import keep_stations
from steppe.ingest.station_raster import spread_stations
from steppe.io.axis import Axis

NORMALS = Path("normals") / "queensland_climatology_0p1deg.npz"  # beside the folder of the stations
TERMS = "The terms of the station records and of the normals apply."


def station_points(folder: Path) -> Points:
    """All stations of a folder that have a place, or the one of an APSIM file, as a grid.

    Raises
    ------
    ForcingError
        There are none, or an APSIM file has no place.
    """
    sites = read_sites(folder)
    places = np.array([(site.latitude, site.longitude) for site in sites.values()])
    return Points(tuple(sites), places[:, 0], places[:, 1])


def ingest_stations(
    folder: Path,
    path: Path,
    grid: Grid,
    start: str | Date,
    end: str | Date,
    *,
    normals: Path | None = None,
    variance: bool = True,
    licence: str = TERMS,
    said: ColumnNames | None = None,
    progress: Callable[[float], None] | None = None,
) -> Report:
    """Makes a forcing store at `path` for `grid` from the station files of `folder` (or one APSIM file), from `start` to `end` inclusive.

    Parameters
    ----------
    normals
        File of monthly normals for a raster; default: queensland_climatology_0p1deg.npz in the folder `normals` beside `folder`.
    variance
        Whether the year-to-year variance that averaging takes away is restored.
    licence
        What the store says of its terms of use.
    said
        What the user says of the names and units of columns.
    progress
        Called with the part done, 0 to 1.

    Raises
    ------
    ForcingError
        A file is wrong or lacks days, no station covers a month, a cell is beyond the normals, or there is something at `path`.
    RunFileError
        A date is not a date.
    """
    axis = Axis.of_days(start, end)
    say = progress or (lambda part: None)
    if isinstance(grid, Points):
        return keep_stations(folder, path, grid, axis, licence, said or ColumnNames(), say)
    return spread_stations(folder, path, grid, axis, normals or folder.parent / NORMALS, variance, licence, said or ColumnNames(), say)
