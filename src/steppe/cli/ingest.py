"""`steppe ingest`: makes forcing stores."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from steppe.cli.commands import COMMANDS
from steppe.cli.ingest_maps import Pairs, named, netcdf, silo, zarr
from steppe.cli.making import CountBar, Day, Region, grid_of
from steppe.errors import ForcingError

ingest = App(name="ingest", help=COMMANDS["ingest"], help_format="plaintext")
for command in (netcdf, zarr, silo):
    ingest.command(command)


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
    map: Pairs = (),
    units: Pairs = (),
) -> None:
    """Make a forcing store from daily station records, or from weather files of APSIM (.met).

    On a raster the anomaly method spreads the records onto monthly normals; points take the weather of their own stations unchanged.
    Without a grid each station of stations.csv is a point. Without that list each APSIM file is one, at the place in its header.

    Examples:

        steppe ingest stations weather qld.zarr --region queensland \\
            --start 1990-01-01 --end 1999-12-31
        steppe ingest stations weather two.zarr --points two.csv \\
            --start 1980-01-01 --end 1999-12-31
        steppe ingest stations dalby.met dalby.zarr --start 1990-01-01 \\
            --end 1999-12-31
        steppe ingest stations dalby.met dalby.zarr --start 1990-01-01 \\
            --end 1999-12-31 --map vp=vpd --units vp=hPa

    Parameters
    ----------
    folder
        Folder with a file <id>.csv, <id>.csv.gz or <id>.met for each station, and stations.csv with their places; or one such file.
    store
        The store to make; an existing store is not changed.
    start
        First day, as 1990-01-01.
    end
        Last day, inclusive.
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask, or a store.
    points
        A CSV file of points (id, latitude, longitude) that have the ids of stations; it gives their places.
    normals
        Monthly normals of the raster (.npz), instead of those beside the folder.
    variance
        Restore the year-to-year variance that averaging removes; the default.
    map
        NAME=COLUMN: read this column of the files as NAME, such as vp=vpd. With deficit=COLUMN vapour pressure is computed from its
        deficit.
    units
        NAME=UNIT: the unit of a column for which the file has none or a wrong one, such as vp=kPa.
    """
    from steppe.ingest import ColumnNames, StationChoices, ingest_stations, station_points

    choices = StationChoices(normals, variance, ColumnNames(named("map", map), named("units", units)))
    grid = grid_of(region, file, points) if any((region, file, points)) else station_points(folder)
    with CountBar("stations") as progress:
        report = ingest_stations(folder, store, grid, start, end, choices, progress)
    print(report)


@ingest.command
def generate(
    store: Path, /, *, start: Day, end: Day, region: Region = None, file: Path | None = None, points: Path | None = None, seed: int = 1
) -> None:
    """Make a forcing store of generated weather; results computed from it state that.

    A day at a place has the same weather in every grid and period. The climate is that of Australia, from a formula.

    Examples:

        steppe ingest generate any.zarr --region queensland --start 1990-01-01 \\
            --end 1999-12-31
        steppe ingest generate other.zarr --points two.csv --start 1990-01-01 \\
            --end 1999-12-31 --seed 2

    Parameters
    ----------
    store
        The store to make; an existing store is not changed.
    start
        First day, as 1990-01-01.
    end
        Last day, inclusive.
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask, or a store.
    points
        A CSV file of points (id, latitude, longitude).
    seed
        Each number gives other weather of the same climate; default 1.
    """
    from steppe.ingest import EXTRAPOLATED
    from steppe.ingest import generate as make

    grid = grid_of(region, file, points)
    with CountBar("days") as progress:
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
        The store to make; an existing store is not changed.
    folder
        Folder with queensland_grid/queensland_0p1deg.csv.gz; may be left out.
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask, or a store.
    points
        A CSV file of points (id, latitude, longitude).
    """
    from steppe.ingest import ingest_land

    if folder is not None and not folder.is_dir():
        raise ForcingError(f'There is no folder "{folder}". Give the one that holds queensland_grid, or none for cells that are all alike.')
    known = ingest_land(folder, store, grid_of(region, file, points))
    print(f"{store}: {'soil water and land types from a soil map' if known else 'no soil data were given; all cells are alike'}.")
