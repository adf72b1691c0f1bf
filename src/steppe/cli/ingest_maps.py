"""`steppe ingest netcdf`, `zarr` and `silo`: make forcing stores from daily maps."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from steppe.cli.making import CountBar, OptionalDay, Region, grid_of
from steppe.errors import ForcingError

if TYPE_CHECKING:
    from steppe.grid import Grid
    from steppe.ingest import Choices

Output = Annotated[Path, Parameter(name=("--output", "-o"), metavar="STORE")]
Pairs = Annotated[tuple[str, ...], Parameter(metavar="NAME=VALUE")]
Fill = Literal["previous", "climatology"] | None
Mask = Literal["error", "intersect"]
EXAMPLES = {"map": "daily_rain", "method": "nearest", "day-shift": "0", "units": "mm"}


@Parameter(name="*")
@dataclass(frozen=True)
class OfMaps:
    """Options of every command that reads daily maps.

    Parameters
    ----------
    region
        A built-in raster, such as queensland.
    file
        A CF raster with a mask, or a store.
    points
        A CSV file of points (id, latitude, longitude); each gets the cell in which it lies.
    start
        First day, as 1990-01-01; default: the first that all variables have.
    end
        Last day, inclusive; default: the last that all variables have.
    method
        "area mean" or nearest, for all variables or as NAME=METHOD; default: area mean on a coarser grid.
    day_shift
        NAME=DAYS: days to add to the day of the time stamp. Needed for rain and pan if time bounds do not give the 24 hours of a value.
    fill
        Fill missing days: previous (the day before) or climatology (mean of that day in other years); recorded in fill_flag.
    mask
        intersect leaves out cells of the grid that have no values; default: they are an error.
    clip
        Set values outside their limits to the limit, and record their number.
    """

    region: Region = None
    file: Path | None = None
    points: Path | None = None
    start: OptionalDay = None
    end: OptionalDay = None
    method: Pairs = ()
    day_shift: Pairs = ()
    fill: Fill = None
    mask: Mask = "error"
    clip: bool = False

    def grid(self) -> "Grid | None":
        """Returns the grid of the options; None if they name none. Raises GridError."""
        place = self.region, self.file, self.points
        return grid_of(*place) if any(source is not None for source in place) else None

    def choices(self, names: dict[str, str], units: dict[str, str], exact: bool = False) -> "Choices":
        """Returns the options in the form of `steppe.ingest`. Raises ForcingError."""
        from steppe.ingest import Choices

        methods, shifts = named("method", self.method), _whole(named("day-shift", self.day_shift))
        return Choices(names, methods, shifts, self.start, self.end, self.fill, self.clip, self.mask == "intersect", exact, units)


@Parameter(name="*")
@dataclass(frozen=True)
class OfAnyMaps(OfMaps):
    """Options of commands that read maps of any origin: those of `OfMaps`, and some for what the files lack.

    Parameters
    ----------
    map
        NAME=VARIABLE: read this variable of the files as NAME, such as rain=RAINNC. Needed if names and standard_names do not determine it.
    units
        NAME=UNIT: the unit of a variable for which the file has none or a wrong one, such as rain="m d-1"; recorded.
    exact
        Keep values in single precision instead of steps of 0.1.
    """

    map: Pairs = ()
    units: Pairs = ()
    exact: bool = False


def netcdf(*files: Path, output: Output, options: OfAnyMaps = OfAnyMaps()) -> None:
    """Make a forcing store from NetCDF files of daily maps.

    The files hold a CF data set on an even latitude-longitude grid, with any variables and days in each. Without a grid the cells are
    those with values. A coarser grid gets the area mean; the store records every method, and `steppe info` shows it.

    Examples:

        steppe ingest netcdf agcd/*.nc -o agcd.zarr --region queensland \\
            --day-shift rain=0
        steppe ingest netcdf pr_*.nc tas*_*.nc rsds_*.nc -o model.zarr \\
            --start 2071-01-01 --end 2100-12-30
        steppe ingest netcdf own.nc -o own.zarr --map rain=RAINNC --map tmax=T2MAX \\
            --method nearest

    Parameters
    ----------
    files
        NetCDF files, in any order.
    output
        The store to make; an existing store is not changed.
    """
    _maps("netcdf", files, output, options)


def zarr(*stores: Path, output: Output, options: OfAnyMaps = OfAnyMaps()) -> None:
    """Make a forcing store from Zarr stores of daily maps (version 2 or 3).

    Examples:

        steppe ingest zarr era5.zarr -o weather.zarr --region queensland \\
            --start 1990-01-01 --end 1999-12-31 --day-shift rain=0

    Parameters
    ----------
    stores
        Zarr stores with daily maps.
    output
        The store to make; an existing store is not changed.
    """
    _maps("zarr", stores, output, options)


def silo(
    source: str,
    /,
    *,
    years: Annotated[str, Parameter(metavar="YEARS")],
    output: Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="STORE")] = None,
    downloads: Path | None = None,
    options: OfMaps = OfMaps(),
) -> None:
    """Make a forcing store from SILO's annual files of Australia (NetCDF, one a variable, 0.05 degree).

    The files come from a folder or from an address. From an address the command downloads the files that are missing in the download
    folder. Give it again to resume an interrupted download. Rain and pan are stamped with the day of their reading at 9 am; --day-shift
    pan=-1 moves pan to the day before.

    Examples:

        steppe ingest silo silo --region queensland --years 1990-1999
        steppe ingest silo https://data.example/annual --region australia \\
            --years 2000 --downloads silo -o weather.zarr

    Parameters
    ----------
    source
        Folder or address with 1990.daily_rain.nc and so on; the files of each variable may lie in a folder of its name.
    years
        1990 or 1990-1999, inclusive; --start and --end take a part of them.
    output
        The store to make; default: silo-YEARS.zarr, with the region in its name.
    downloads
        Folder of downloaded files; default: silo in the working folder.
    """
    from steppe.ingest import fetch_silo, ingest_silo, years_of

    span, grid, choices = years_of(years), options.grid(), options.choices({}, {})
    store = output or Path("-".join(["silo", *([options.region] if options.region else []), years]) + ".zarr")
    folder = Path(source)
    if "://" in source:
        folder = downloads or Path("silo")
        with CountBar("download") as progress:
            fetch_silo(source, folder, span, choices.day_shift, progress)
    with CountBar("silo") as progress:
        report = ingest_silo(folder, store, grid, span, choices, progress)
    print(report)


def _maps(command: str, files: tuple[Path, ...], output: Path, options: OfAnyMaps) -> None:
    from steppe.ingest import Product, ingest_maps

    if not files:
        raise ForcingError(f"No file was given. Write `steppe ingest {command} FILES -o {output}`.")
    grid = options.grid()
    choices = options.choices(named("map", options.map), named("units", options.units), options.exact)
    with CountBar(command) as progress:
        print(ingest_maps(files, output, grid, choices, Product(f"steppe ingest {command}", command), progress), file=sys.stdout)


def named(option: str, pairs: tuple[str, ...]) -> dict[str, str]:
    """The values of an option NAME=VALUE, by name; --method takes a value for all variables, whose name is empty.

    Raises
    ------
    ForcingError
        A pair has no name or no value.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.rpartition("=")
        if not value or (option != "method" and not name):
            raise ForcingError(f'--{option} "{pair}" must be NAME=VALUE, such as rain={EXAMPLES[option]}.')
        if name in found:
            raise ForcingError(f'--{option} is given twice for {name or "all variables"}: "{found[name]}" and "{value}". Keep one.')
        found[name] = value
    return found


def _whole(pairs: dict[str, str]) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in pairs.items()}
    except ValueError:
        raise ForcingError(f"--day-shift {', '.join(pairs.values())} must be whole days, such as rain=0 or pan=-1.") from None
