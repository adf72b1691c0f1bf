"""`steppe ingest`: making forcing stores."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from steppe.cli.commands import COMMANDS
from steppe.errors import ForcingError, GridError

if TYPE_CHECKING:
    from steppe.grid import Grid

Day = Annotated[str, Parameter(metavar="DATE")]
Region = Annotated[str | None, Parameter(metavar="NAME")]

OptionalDay = Annotated[str | None, Parameter(metavar="DATE")]
Output = Annotated[Path, Parameter(name=("--output", "-o"), metavar="STORE")]
Pairs = Annotated[tuple[str, ...], Parameter(metavar="NAME=VALUE")]
Fill = Literal["previous", "climatology"] | None
Mask = Literal["error", "intersect"]

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
    """Make a forcing store from daily station records, or from weather files of APSIM (.met).

    On a raster the records are spread by the anomaly method onto monthly normals; points take the weather of their own stations unchanged.
    Without a grid every APSIM file is a point, at the place that its header gives.

    Examples:

        steppe ingest stations weather qld.zarr --region queensland --start 1990-01-01 --end 1999-12-31
        steppe ingest stations weather two.zarr --points two.csv --start 1980-01-01 --end 1999-12-31
        steppe ingest stations dalby.met dalby.zarr --start 1990-01-01 --end 1999-12-31

    Parameters
    ----------
    folder
        Folder with stations.csv and a file <id>.csv.gz for each station, or with APSIM files <id>.met; or one such file.
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
    from steppe.io.ingest import ingest_stations, station_points

    of_apsim = not (folder / "stations.csv").is_file() and not any((region, file, points))
    grid = station_points(folder) if of_apsim else _grid(region, file, points)
    with _Progress("stations") as progress:
        report = ingest_stations(folder, store, grid, start, end, normals=normals, variance=variance, progress=progress)
    print(report)


@ingest.command
def netcdf(
    *files: Path,
    output: Output,
    region: Region = None,
    file: Path | None = None,
    points: Path | None = None,
    start: OptionalDay = None,
    end: OptionalDay = None,
    map: Pairs = (),
    method: Pairs = (),
    day_shift: Pairs = (),
    fill: Fill = None,
    mask: Mask = "error",
    clip: bool = False,
    exact: bool = False,
) -> None:
    """Make a forcing store from NetCDF files of daily maps.

    Any CF data set on an even latitude-longitude grid, any variables and days per file. Without a grid the cells are those with values.
    A coarser grid gets the area mean; every method is recorded in the store, and `steppe info` shows it.

    Examples:

        steppe ingest netcdf agcd/*.nc -o agcd.zarr --region queensland --day-shift rain=0
        steppe ingest netcdf pr_*.nc tas*_*.nc rsds_*.nc -o model.zarr --start 2071-01-01 --end 2100-12-30
        steppe ingest netcdf own.nc -o own.zarr --map rain=RAINNC --map tmax=T2MAX --method nearest

    Parameters
    ----------
    files
        NetCDF files, in any order.
    output
        The store to make; one that is there stays as it is.
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask.
    points
        A CSV file of points (id, latitude, longitude); each gets the cell in which it lies.
    start
        First day, as 1990-01-01; default: the first that all variables have.
    end
        Last day, inclusive; default: the last that all variables have.
    map
        NAME=THEIRS: take their variable as NAME, such as rain=RAINNC. Needed where names and standard_names do not tell.
    method
        "area mean" or nearest, for all variables or as NAME=METHOD.
    day_shift
        NAME=DAYS added to the day of the stamp. Needed for rain and pan where time bounds do not say which 24 hours a value is for.
    fill
        Fill days that lack: previous (the day before) or climatology (mean of that day in other years); recorded in fill_flag.
    mask
        intersect leaves out cells of the grid that have no values; default: they are an error.
    clip
        Put values outside their limits to the limit, and record how many.
    exact
        Keep values in single precision instead of steps of 0.1.
    """
    _maps("netcdf", files, output, (region, file, points), (start, end), (map, method, day_shift), fill, mask, clip, exact)


@ingest.command
def zarr(
    *stores: Path,
    output: Output,
    region: Region = None,
    file: Path | None = None,
    points: Path | None = None,
    start: OptionalDay = None,
    end: OptionalDay = None,
    map: Pairs = (),
    method: Pairs = (),
    day_shift: Pairs = (),
    fill: Fill = None,
    mask: Mask = "error",
    clip: bool = False,
    exact: bool = False,
) -> None:
    """Make a forcing store from Zarr stores of daily maps (version 2 or 3).

    As `steppe ingest netcdf`, which says more of the options.

    Examples:

        steppe ingest zarr era5.zarr -o weather.zarr --region queensland --start 1990-01-01 --end 1999-12-31 --day-shift rain=0

    Parameters
    ----------
    stores
        Zarr stores with daily maps.
    output
        The store to make; one that is there stays as it is.
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask.
    points
        A CSV file of points (id, latitude, longitude).
    start
        First day; default: the first that all variables have.
    end
        Last day, inclusive; default: the last that all variables have.
    map
        NAME=THEIRS: take their variable as NAME.
    method
        "area mean" or nearest, for all variables or as NAME=METHOD.
    day_shift
        NAME=DAYS added to the day of the stamp.
    fill
        Fill days that lack: previous or climatology.
    mask
        intersect leaves out cells of the grid that have no values.
    clip
        Put values outside their limits to the limit, and record how many.
    exact
        Keep values in single precision instead of steps of 0.1.
    """
    _maps("zarr", stores, output, (region, file, points), (start, end), (map, method, day_shift), fill, mask, clip, exact)


@ingest.command
def silo(
    source: str,
    /,
    *,
    years: Annotated[str, Parameter(metavar="YEARS")],
    region: Region = None,
    file: Path | None = None,
    points: Path | None = None,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="STORE")] = None,
    downloads: Path | None = None,
    start: OptionalDay = None,
    end: OptionalDay = None,
    method: Pairs = (),
    day_shift: Pairs = (),
    fill: Fill = None,
    mask: Mask = "error",
    clip: bool = False,
) -> None:
    """Make a forcing store from SILO's annual files of Australia (NetCDF, one a variable, 0.05 degree).

    From a folder, or from an address: then files that are not in the download folder are fetched first, and what breaks off goes on
    where it was when the command is given again.

    Examples:

        steppe ingest silo silo --region queensland --years 1990-1999
        steppe ingest silo https://data.example/annual --region australia --years 2000 --downloads silo -o weather.zarr

    Parameters
    ----------
    source
        Folder or address with 1990.daily_rain.nc and so on, also each in a folder of its variable.
    years
        1990 or 1990-1999, inclusive.
    region
        A built-in raster, such as queensland or australia.
    file
        A CF raster with a mask.
    points
        A CSV file of points (id, latitude, longitude).
    output
        The store to make; default: silo-YEARS.zarr, with the region in its name.
    downloads
        Where fetched files are kept; default: silo in the present folder.
    start
        First day, when not that of the years.
    end
        Last day, inclusive, when not that of the years.
    method
        "area mean" or nearest, for all variables or as NAME=METHOD; default: area mean on a coarser grid.
    day_shift
        NAME=DAYS added to the day of the stamp. Rain and pan are stamped with the day of their reading at 9 am; pan=-1: the day before.
    fill
        Fill days that lack: previous (the day before) or climatology (mean of that day in other years); recorded in fill_flag.
    mask
        intersect leaves out cells of the grid that have no values; default: they are an error.
    clip
        Put values outside their limits to the limit, and record how many.
    """
    from steppe.io.ingest import Choices, fetch_silo, ingest_silo, years_of

    span = years_of(years)
    grid = _grid(region, file, points) if any(place is not None for place in (region, file, points)) else None
    choices = Choices({}, _named("method", method), _whole(_named("day-shift", day_shift)), start, end, fill, clip, mask == "intersect")
    store = output or Path("-".join(["silo", *([region] if region else []), years]) + ".zarr")
    folder = Path(source)
    if "://" in source:
        folder = downloads or Path("silo")
        with _Progress("download") as progress:
            fetch_silo(source, folder, span, choices.day_shift, progress)
    with _Progress("silo") as progress:
        report = ingest_silo(folder, store, grid, span, choices, progress)
    print(report)


@ingest.command
def generate(
    store: Path, /, *, start: Day, end: Day, region: Region = None, file: Path | None = None, points: Path | None = None, seed: int = 1
) -> None:
    """Make a forcing store of generated weather; it says so in every product.

    A day at a place is the same in every grid and period; its climate is that of Australia, from a formula.

    Examples:

        steppe ingest generate any.zarr --region queensland --start 1990-01-01 --end 1999-12-31
        steppe ingest generate other.zarr --points two.csv --start 1990-01-01 --end 1999-12-31 --seed 2

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


def _maps(
    command: str,
    files: tuple[Path, ...],
    output: Path,
    place: tuple[str | None, Path | None, Path | None],
    period: tuple[str | None, str | None],
    pairs: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    fill: Fill,
    mask: Mask,
    clip: bool,
    exact: bool,
) -> None:
    from steppe.io.ingest import Choices, Product, ingest_maps

    if not files:
        raise ForcingError(f"No file was given. Write `steppe ingest {command} FILES -o {output}`.")
    grid = _grid(*place) if any(source is not None for source in place) else None
    names, methods, shifts = (_named(option, values) for option, values in zip(("map", "method", "day-shift"), pairs, strict=True))
    choices = Choices(names, methods, _whole(shifts), *period, fill, clip, mask == "intersect", exact)
    with _Progress(command) as progress:
        print(ingest_maps(files, output, grid, choices, Product(f"steppe ingest {command}", command), progress), file=sys.stdout)


def _named(option: str, pairs: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE as a table; a value without a name is for all and stands under the empty name."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.rpartition("=")
        if not value or (option != "method" and not name):
            raise ForcingError(f'--{option} "{pair}" must be NAME=VALUE, such as rain={"0" if option == "day-shift" else "daily_rain"}.')
        found[name] = value
    return found


def _whole(pairs: dict[str, str]) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in pairs.items()}
    except ValueError:
        raise ForcingError(f"--day-shift {', '.join(pairs.values())} must be whole days, such as rain=0 or pan=-1.") from None


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
