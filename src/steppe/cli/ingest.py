"""`steppe ingest`: making forcing stores."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steppe.cli.commands import COMMANDS
from steppe.errors import ForcingError, GridError

if TYPE_CHECKING:
    from steppe.grid import Grid

Day = Annotated[str, Parameter(metavar="DATE")]
Region = Annotated[str | None, Parameter(metavar="NAME")]

ingest = App(name="ingest", help=COMMANDS["ingest"], help_format="plaintext")


@ingest.command
def stations(
    folder: Path,
    store: Path,
    /,
    *,
    start: Day,
    end: Day,
    region: Region = None,
    file: Path | None = None,
    points: Path | None = None,
    normals: Path | None = None,
    variance: Annotated[bool, Parameter(negative="--no-variance")] = True,
) -> None:
    """Make a forcing store from daily station records.

    On a raster the records are spread by the anomaly method onto monthly normals; points take the weather of their own stations unchanged.

    Examples:

        steppe ingest stations weather qld.zarr --region queensland --start 1990-01-01 --end 1999-12-31
        steppe ingest stations weather two.zarr --points two.csv --start 1980-01-01 --end 1999-12-31

    Parameters
    ----------
    folder
        Folder with stations.csv and a file <id>.csv.gz for each station.
    store
        The store to make; one that is there stays as it is.
    start
        First day, as 1990-01-01.
    end
        Last day, inclusive.
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask.
    points
        A CSV file of points (id, latitude, longitude) that have the ids of stations.
    normals
        Monthly normals of the raster (.npz), instead of those beside the folder.
    variance
        Restore the year-to-year variance that averaging takes away; the default.
    """
    from steppe.io.ingest import ingest_stations

    grid = _grid(region, file, points)
    with _Progress("stations") as progress:
        report = ingest_stations(folder, store, grid, start, end, normals=normals, variance=variance, progress=progress)
    print(report)


@ingest.command
def generate(
    store: Path, /, *, start: Day, end: Day, region: Region = None, file: Path | None = None, points: Path | None = None, seed: int = 1
) -> None:
    """Make a forcing store of generated weather; it says so in every product.

    Examples:

        steppe ingest generate any.zarr --region queensland --start 1990-01-01 --end 1999-12-31

    Parameters
    ----------
    store
        The store to make; one that is there stays as it is.
    start
        First day, as 1990-01-01.
    end
        Last day, inclusive.
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask.
    points
        A CSV file of points (id, latitude, longitude).
    seed
        Another number, other weather of the same climate; default 1.
    """
    from steppe.io.ingest import EXTRAPOLATED
    from steppe.io.ingest import generate as make

    grid = _grid(region, file, points)
    with _Progress("days") as progress:
        extrapolated = make(store, grid, start, end, seed, progress)
    print(f"{store}: generated weather, seed {seed}. No day, year or place of it is real.")
    if extrapolated:
        print(EXTRAPOLATED.format(extrapolated))


@ingest.command
def land(
    store: Path, folder: Path | None = None, /, *, region: Region = None, file: Path | None = None, points: Path | None = None
) -> None:
    """Make a store of land type and plant-available soil water of each cell.

    Without a folder that has soil data every cell gets land type 1 and the soil set's own water.

    Examples:

        steppe ingest land land.zarr weather --region queensland
        steppe ingest land alike.zarr --points two.csv

    Parameters
    ----------
    store
        The store to make; one that is there stays as it is.
    folder
        Folder with queensland_grid/queensland_0p1deg.csv.gz; may be left out.
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask.
    points
        A CSV file of points (id, latitude, longitude).
    """
    from steppe.io.ingest import ingest_land

    if folder is not None and not folder.is_dir():
        raise ForcingError(f'There is no folder "{folder}". Give the one that holds queensland_grid, or none for cells that are all alike.')
    known = ingest_land(folder, store, _grid(region, file, points))
    print(f"{store}: {'soil water and land types from a soil map' if known else 'no soil data were given; all cells are alike'}.")


def _grid(region: str | None, file: Path | None, points: Path | None) -> "Grid":
    from steppe.grid import read_grid

    if sum(source is not None for source in (region, file, points)) != 1:
        raise GridError("A store is made for one grid. Give exactly one of --region, --file and --points.")
    return read_grid(region, file, points)


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
