"""The weather of a run: a store, or station files for a grid of points with the ids of the stations."""

import hashlib
from pathlib import Path

from steppe.engine.run_file import RunFile
from steppe.errors import ForcingError, RunFileError
from steppe.grid import Grid, Points
from steppe.io import ForcingStore
from steppe.kernels import cache_folder


def open_weather(run: RunFile, grid: Grid) -> ForcingStore | None:
    """The forcing store of a run, None for a run without weather.

    Station files become a store in the cache, made anew when a file, the points or the period are others.

    Raises
    ------
    RunFileError
        Stations are given for a grid that is no list of points.
    ForcingError
        There is no such store, or a station file is wrong.
    """
    if run.forcing is None:
        return None
    if run.forcing.store is not None:
        return ForcingStore.open(run.forcing.store)
    assert run.forcing.stations is not None
    if not isinstance(grid, Points):
        raise RunFileError(
            '[forcing] "stations" are for a grid of points with the same ids. For a raster make a store: `steppe ingest stations`.'
        )
    return ForcingStore.open(_store(run.forcing.stations, grid, run))


def _store(folder: Path, grid: Points, run: RunFile) -> Path:
    from steppe.io.ingest import ingest_stations, station_file  # runs with a store do without

    digest = hashlib.sha256(f"{grid.digest} {run.time.start} {run.time.end} ".encode())
    listed = folder / "stations.csv"
    for file in [*([listed] if listed.is_file() else []), *(station_file(folder, station) for station in grid.ids)]:
        try:
            digest.update(file.read_bytes())
        except OSError as error:
            raise ForcingError(f'"{file}" cannot be read: {error.strerror}. Each point needs the file of its station.') from None
    path = cache_folder().parent / "forcing" / f"{digest.hexdigest()[:24]}.zarr"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        ingest_stations(folder, path, grid, run.time.start, run.time.end)
    return path
