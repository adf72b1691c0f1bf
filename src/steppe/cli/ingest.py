"""`steppe ingest`: making forcing stores."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steppe.grid import Grid


def stations(
    folder: Path,
    store: Path,
    /,
    *,
    start: str,
    end: str,
    region: str | None = None,
    points: Path | None = None,
    normals: Path | None = None,
    variance: bool = True,
) -> None:
    """Make a forcing store from daily station records.

    On a raster the records are spread by the anomaly method onto monthly normals; points take the weather of their own stations unchanged.

    Examples: steppe ingest stations weather weather.zarr --region queensland --start 1990-01-01 --end 1999-12-31;
    steppe ingest stations weather dalby.zarr --points dalby.csv --start 1980-01-01 --end 1999-12-31

    Parameters
    ----------
    folder
        Folder with stations.csv and a file <id>.csv.gz for each station.
    store
        The store to make; one that is there stays as it is.
    start
        First day.
    end
        Last day.
    region
        A built-in raster.
    points
        A CSV file of points (id, latitude, longitude) that have the ids of stations.
    normals
        Monthly normals of the raster (.npz), instead of those beside the folder.
    variance
        Restore the year-to-year variance that averaging takes away.
    """
    from steppe.io.ingest import ingest_stations

    grid = _grid(region, points)
    with _Progress("stations") as progress:
        report = ingest_stations(folder, store, grid, start, end, normals=normals, variance=variance, progress=progress)
    print(report)


def generate(store: Path, /, *, start: str, end: str, region: str | None = None, points: Path | None = None, seed: int = 1) -> None:
    """Make a forcing store of generated weather; it says so in every product.

    Examples: steppe ingest generate weather.zarr --region queensland --start 1990-01-01 --end 1999-12-31

    Parameters
    ----------
    store
        The store to make; one that is there stays as it is.
    start
        First day.
    end
        Last day.
    region
        A built-in raster.
    points
        A CSV file of points (id, latitude, longitude).
    seed
        Another number, other weather of the same climate.
    """
    from steppe.io.ingest import generate as make

    make(store, _grid(region, points), start, end, seed)
    print(f"{store}: generated weather, seed {seed}. No day, year or place of it is real.")


def land(
    store: Path, /, folder: Annotated[Path | None, Parameter()] = None, *, region: str | None = None, points: Path | None = None
) -> None:
    """Make a store of land type and plant-available soil water of each cell.

    Without a folder that has soil data every cell gets land type 1 and the soil set's own water.

    Examples: steppe ingest land land.zarr weather --region queensland

    Parameters
    ----------
    store
        The store to make; one that is there stays as it is.
    folder
        Folder with queensland_grid/queensland_0p1deg.csv.gz.
    region
        A built-in raster.
    points
        A CSV file of points (id, latitude, longitude).
    """
    from steppe.io.ingest import ingest_land

    known = ingest_land(folder or Path(), store, _grid(region, points))
    print(f"{store}: {'soil water and land types from a soil map' if known else 'no soil data were given; all cells are alike'}.")


def _grid(region: str | None, points: Path | None) -> Grid:
    from steppe.grid import read_grid

    return read_grid(region=region, points=points)


class _Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> Callable[[float], None]:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), disable=not sys.stderr.isatty())
        self._bar.start()
        task = self._bar.add_task(self._what, total=1.0)
        return lambda part: self._bar.update(task, completed=part)

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()
