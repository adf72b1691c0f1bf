"""`steppe export`: results for programs that do not read Zarr."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steppe.cli.making import CountBar
from steppe.cli.typed_places import names_of, place_of, region_of
from steppe.errors import Mistake

Names = Annotated[list[str] | None, Parameter(name=("--variables", "--variable"), metavar="NAME")]
Day = Annotated[str | None, Parameter(metavar="DATE")]


def export(
    path: Path,
    /,
    *,
    netcdf: Annotated[Path | None, Parameter(metavar="FILE|FOLDER")] = None,
    csv: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    cog: Annotated[Path | None, Parameter(metavar="FILE|FOLDER")] = None,
    variables: Names = None,
    start: Day = None,
    end: Day = None,
    date: Day = None,
    region: Annotated[str | None, Parameter(metavar="NAME|BOX", allow_leading_hyphen=True)] = None,
    at: Annotated[list[str] | None, Parameter(metavar="LAT,LON", allow_leading_hyphen=True)] = None,
    series: Annotated[str | None, Parameter(metavar="NAME")] = None,
    maps: Annotated[str | None, Parameter(metavar="NAME")] = None,
    overwrite: bool = False,
    quiet: bool = False,
) -> None:
    """Write results, or a forcing store, as NetCDF, CSV or GeoTIFF.

    The records that a run has committed can be exported while it computes. Each file is written whole or not at all.

    Examples:

        steppe export runs/queensland --netcdf queensland.nc
        steppe export runs/queensland --netcdf maps --variables growth \\
            --start 1995-01-01 --region west
        steppe export runs/queensland --netcdf daily.nc --maps daily
        steppe export runs/queensland --csv regions.csv --series regions
        steppe export runs/queensland --csv longreach.csv --at -23.44,144.25 \\
            --variables growth
        steppe export runs/queensland --cog june.tif --variables growth \\
            --date 1993-06-15

    Parameters
    ----------
    path
        The run folder, the folder of an ensemble, or a store.
    netcdf
        Maps after CF 1.11, (time, lat, lon): one file that ends in .nc, or a folder with a file for each variable. Points become time
        series; an ensemble has a dimension scenario.
    csv
        Series of cells (--at) or of the run's regions (--series): ISO dates, units in the header.
    cog
        Maps as cloud-optimised GeoTIFF: one file that ends in .tif, or a folder with a file for each variable and record.
    variables
        Variables, instead of all: soil,runoff. May be given several times.
    start
        First day, as 1990-01-01; the record that holds it is included.
    end
        Last day, inclusive.
    date
        Only the record that holds this day.
    region
        Only these cells: a name, such as west, or a box WEST,SOUTH,EAST,NORTH in degrees.
    at
        The cell at this latitude and longitude, as -23.44,144.25. May be given several times.
    series
        Name of an `[[output.series]]` of the run; not needed when it has only one.
    maps
        Name of an `[[output.maps]]` of the run, instead of the maps of `[output]`.
    overwrite
        Replace files that are there.
    quiet
        No progress, and no list of the written files.
    """
    if [netcdf, csv, cog].count(None) != 2:
        raise Mistake("The command writes one format at a time. Give exactly one of --netcdf, --csv and --cog, with the file to write.")
    if csv is None and (at or series):
        raise Mistake("--at and --series choose the lines of a table. Give them with --csv; --region chooses cells of maps.")
    if date is not None and (start or end):
        raise Mistake("--date is one day, --start and --end are a period. Give one or the other.")
    if at and (series or region):
        raise Mistake("--at, --region and --series each choose the lines of a table. Give one of them.")
    if maps is not None and csv is not None and not at and not region:
        raise Mistake("--maps chooses maps of cells, and --csv writes series of regions. Give --at or --region with it.")
    if maps is not None and series is not None:
        raise Mistake("--maps chooses maps of cells, --series means of regions. Give one or the other.")
    start, end = (date, date) if date else (start, end)
    from steppe.files import writing
    from steppe.io import results_folder
    from steppe.io.export import ExportSource, write_cells, write_geotiff, write_netcdf, write_series

    if netcdf and (netcdf / "identity.json").exists():
        raise Mistake(f'--netcdf "{netcdf}" is a run folder, in which only runs write. Choose another folder.')
    variables = names_of(variables)
    places, part, path = [place_of(text) for text in at or []], region_of(region), results_folder(path)
    with CountBar("exporting", quiet) as progress, writing(netcdf or csv or cog or path):
        if csv and not places and part is None:
            files = [write_series(path, series or "", csv, variables, start, end, overwrite)]
        else:
            source = ExportSource(path, variables, start, end, part or "all", maps or "", levels=netcdf is not None)
            if source.unfinished:
                written = "Only records that all scenarios with results have are exported."
                sys.stderr.write(f"Unfinished scenarios: {source.unfinished}. {written}\n")
            if csv:
                files = [write_cells(source, csv, places, overwrite, progress)]
            elif cog:
                files = write_geotiff(source, cog, overwrite, progress)
            else:
                assert netcdf, "one of the three is given"
                files = write_netcdf(source, netcdf, shlex.join(["steppe", *sys.argv[1:]]), overwrite, progress)
    if not quiet:
        print(_said(files))


def _said(files: list[Path]) -> str:
    size = sum(file.stat().st_size for file in files)
    said = f"{size / 1e6:,.2f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
    return f"{files[0]}: {said}" if len(files) == 1 else f"{files[0].parent}: {len(files):,} files, {said}"
