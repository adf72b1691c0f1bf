"""`steppe ingest stations`: daily station records become a forcing store.

A raster gets the stations' weather spread by the anomaly method; a grid of points gets its own stations' records unchanged.
"""

from collections.abc import Callable
from datetime import date as Date
from pathlib import Path

import numpy as np

from steppe.errors import ForcingError
from steppe.grid import Grid, Points
from steppe.ingest.provenance import Report
from steppe.ingest.station_file import LIST, read_sites
from steppe.ingest.station_points import keep_stations
from steppe.ingest.station_raster import StationChoices, spread_stations
from steppe.io.axis import Axis


def station_points(folder: Path) -> Points:
    """All stations of a folder that have a place, or the one of an APSIM file, as a grid.

    Raises
    ------
    ForcingError
        None has a place.
    """
    sites = read_sites(folder)
    if not sites:
        raise ForcingError(f'"{folder / LIST}" lists no station with a place. Write one line a station: id, latitude, longitude.')
    places = np.array([(site.latitude, site.longitude) for site in sites.values()])
    return Points(tuple(sites), places[:, 0], places[:, 1])


def ingest_stations(
    folder: Path,
    path: Path,
    grid: Grid,
    start: str | Date,
    end: str | Date,
    choices: StationChoices = StationChoices(),  # noqa: B008  # never changed
    progress: Callable[[float], None] = lambda part: None,
) -> Report:
    """Makes a forcing store at `path` for `grid` from the station files of `folder` (or one APSIM file), from `start` to `end` inclusive.

    progress: gets the part that is done, 0 to 1.

    Raises
    ------
    ForcingError
        A file is wrong or lacks days, no station covers a month, a cell is beyond the normals, or `path` exists.
    RunFileError
        A date is not a date.
    """
    axis = Axis.of_days(start, end)
    if isinstance(grid, Points):
        return keep_stations(folder, path, grid, axis, choices.said, progress)
    return spread_stations(folder, path, grid, axis, choices, progress)
