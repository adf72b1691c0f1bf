"""`steppe ingest netcdf`, `zarr` and `silo`: daily and weekly maps of any CF data set become a forcing store."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.errors import ForcingError
from steppe.grid import FileLattice, Gaussian, Grid, Points, Projected, Raster
from steppe.ingest.cf_file import CfFile
from steppe.ingest.map_choices import Choices, check_choices, choose_axis, choose_series, said_units
from steppe.ingest.map_series import SHOWN, MapSeries, Rows
from steppe.ingest.map_transfer import Transfer
from steppe.ingest.provenance import Report, source_file
from steppe.ingest.regrid import Regrid
from steppe.io.axis import Axis
from steppe.io.forcing.units import SAME
from steppe.io.forcing.variables import SCALE, WEATHER
from steppe.io.forcing.writer import About, ForcingWriter, Written


class Product(NamedTuple):
    """The source of maps. weather: its name in one word. title: instead of that of the files. licence: used if the files have none."""

    command: str
    weather: str
    title: str = ""
    licence: str = ""


def ingest_maps(
    files: Sequence[Path],
    path: Path,
    grid: Grid | None,
    choices: Choices,
    product: Product,
    progress: Callable[[float], None] | None = None,
) -> Report:
    """Makes a forcing store of daily or weekly maps.

    Parameters
    ----------
    files
        NetCDF files or Zarr stores, in any order, each with any variables and days.
    grid
        The cells to make weather for; None: those of the files that have values.
    progress
        Gets the part that is done, 0 to 1.

    Raises
    ------
    ForcingError
        The kind, grid, calendar or unit of a file is wrong; a day or a value is missing; or a value is outside its limits.
    DamagedError
        A file cannot be read to its end.
    Failure
        There are more files than a process may open.
    RunFileError
        A date is not a date.
    """
    check_choices(choices)
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(CfFile(file))) for file in files]
        series, untaken = choose_series(opened, choices)
        axis = choose_axis(series, choices)
        if choices.fill:
            series = {name: one.without_empty() for name, one in series.items()}
        rows = {name: one.rows_of(axis, choices.fill) for name, one in series.items()}
        target, left_out = _grid(grid, rows, choices)
        ways = {name: _way(one, target, choices) for name, one in series.items()}
        methods = [f"{name}: {ways[name].method}, days from {one.days_from}" for name, one in series.items()]
        own = [name for name in series if name not in WEATHER]
        alike = [f"all in single precision, as {own[0]} is not packed to 0.1" for _ in own[:1] if len(own) < len(series)]
        turned = sorted({f"{turn}, and were turned" for file in opened for turn in file.lattice.turned})
        notes = [*turned, *_in_utc(opened), *untaken, *left_out, *methods, *alike, *_filled(rows, choices)]
        about = _about(opened, files, axis, product, notes)
        axes = _axes(rows)
        exact = choices.exact or bool(own)
        written = [_written(one, axes[name], ways[name], exact, choices) for name, one in series.items()]
        with ForcingWriter(path, target, written, about, axis.calendar) as writer:
            transfer = Transfer(rows, ways, target, choices.clip, packed=not exact)
            transfer.write(writer, progress or (lambda part: None))
            for name, count in transfer.clipped.items():
                writer.add_attributes(name, {"clipped": count})
                notes.append(f"{name}: {count} values were outside their limits and put to them")
            notes += transfer.lost_rain()
            if any(one.filled.any() for one in rows.values()):
                _write_flags(writer, rows, choices.fill or "")
    return Report(path, target.n_cells, axis.rows, {}, transfer.mean_annual_rain(), tuple(notes))


def _grid(grid: Grid | None, rows: Mapping[str, Rows], choices: Choices) -> tuple[Grid, list[str]]:
    """The grid of the store, and a line about cells that were left out.

    Raises
    ------
    ForcingError
        Cells of the grid have no values on the first and the last day, and leaving them out is not asked for.
    """
    lattice = next(iter(rows.values())).series.parts[0].file.lattice
    asked = grid or _whole(lattice)
    lacking = np.zeros(asked.n_cells, np.bool_)
    for one in rows.values():
        way = _way(one.series, asked, choices)
        ends = range(1), range(one.axis.rows - 1, one.axis.rows)
        here = ~np.any([np.isfinite(way(one.read(end, way.rows, way.columns))[0]) for end in ends], axis=0)  # a gap at one end is refused
        lacking |= here
        if here.any() and grid is not None and (isinstance(grid, Points) or not choices.intersect):
            raise ForcingError(f"{one.file(0)}, has no value for {_without_value(grid, np.flatnonzero(here))}")
    if not lacking.any():
        return asked, []
    if lacking.all():
        raise ForcingError(f"No cell has values of {', '.join(rows)} on the first and the last day. Check the grid and the files.")
    active = np.zeros(asked.active.shape, np.bool_)
    active.ravel()[asked.order[~lacking]] = True
    of = "the grid" if grid is not None else "the files"
    left_out = f"{int(lacking.sum())} of {asked.n_cells} cells of {of} have no values and were left out"
    return _with_mask(asked, active), [left_out]


def _without_value(grid: Grid, cells: Integers) -> str:
    """Names the cells or points of a grid that lack values, and says what to do."""
    if isinstance(grid, Points):
        names = ", ".join(f'"{grid.ids[cell]}"' for cell in cells[:SHOWN])
        names += f" and {cells.size - SHOWN} more" if cells.size > SHOWN else ""
        return (
            f"{cells.size} of {grid.n_cells} points on the first and the last day: {names}. "
            "Take these points out of the list; --mask intersect is for rasters."
        )
    return (
        f"{cells.size} of {grid.n_cells} cells of the grid on the first and the last day, the first at latitude "
        f"{grid.cell_lat[cells[0]]:g}, longitude {grid.cell_lon[cells[0]]:g}. "
        "Give a mask that fits, or leave these cells out with --mask intersect."
    )


def _axes(rows: Mapping[str, Rows]) -> dict[str, Axis]:
    """The time axis of each variable; those of the same weeks share one, others have names of their own."""
    known: list[Axis] = []
    found: dict[str, Axis] = {}
    for name, one in rows.items():
        axis = one.axis
        same = next((each for each in known if np.array_equal(each.starts, axis.starts) and np.array_equal(each.stops, axis.stops)), None)
        if same is None:
            like = sum(each.name.startswith(axis.name) for each in known) if not axis.is_daily else 0
            same = replace(axis, name=f"{axis.name}_{like + 1}") if like else axis
            known.append(same)
        found[name] = same
    return found


def _whole(lattice: FileLattice) -> Raster | Projected:
    """All cells of a lattice."""
    active = np.ones((lattice.lat.size, lattice.lon.size), np.bool_)
    geometry = (float(lattice.lat[0]), lattice.dlat, float(lattice.lon[0]), lattice.dlon, active)
    return Raster(*geometry) if lattice.crs is None else Projected.project(*geometry, lattice.crs)


def _with_mask(grid: Grid, active: NDArray[np.bool_]) -> Raster | Projected:
    """Some of the cells of a raster."""
    if isinstance(grid, Projected):
        return Projected.project(grid.y0, grid.dy, grid.x0, grid.dx, active, grid.crs)
    if isinstance(grid, Gaussian):
        return Gaussian(grid.nlat, active, grid.lon0)
    assert isinstance(grid, Raster)
    return Raster(grid.lat0, grid.dlat, grid.lon0, grid.dlon, active)


def _way(series: MapSeries, grid: Grid, choices: Choices) -> Regrid:
    file = series.parts[0].file
    method = choices.methods.get(series.variable.name, choices.methods.get(""))
    return Regrid(file.lattice, grid, method, f'"{file.path}"')


def _in_utc(files: Sequence[CfFile]) -> list[str]:
    """A line about times with an offset."""
    offsets = sorted({offset for file in files for offset in file.offsets})
    told = f"times of the files have the offset {', '.join(offsets)} from UTC"
    return [f"{told}; days are those of UTC, and --day-shift NAME=1 or NAME=-1 moves them" for _ in offsets[:1]]


def _filled(rows: Mapping[str, Rows], choices: Choices) -> list[str]:
    return [
        f"{name}: {int(one.filled.sum())} missing days are filled ({choices.fill}); `fill_flag` says which"
        for name, one in rows.items()
        if one.filled.any()
    ]


def _about(opened: Sequence[CfFile], files: Sequence[Path], axis: Axis, product: Product, notes: Sequence[str]) -> About:
    def said(*names: str) -> str:
        return next((str(opened[0].attributes[name]) for name in names if name in opened[0].attributes), "")

    title = product.title or said("title") or f"Daily maps of {files[0].name}"
    return About(
        title=f"{title}, {axis.period()}",
        summary=f"Made from {len(files)} file{'s' if len(files) > 1 else ''} of daily maps by Steppe. {'. '.join(notes)}.",
        history=f"{product.command}, {axis.period()}: {'; '.join(notes)}",
        weather=product.weather,
        licence=said("license", "licence") or product.licence or "The terms of the source apply.",
        source=[source_file(file) for file in files],
    )


def _written(series: MapSeries, axis: Axis, way: Regrid, exact: bool, choices: Choices) -> Written:
    """A variable of the store. exact: single precision, which all have if one of them has: a run reads variables of one kind."""
    variable = series.variable
    sources = {part.source for part in series.parts}
    attributes = {"regridding": way.method, "source_variable": ", ".join(sorted(sources)), "days_from": series.days_from}
    theirs = {str(part.file.variables[part.source].get("units", "none")) for part in series.parts}
    if any(part.line != SAME for part in series.parts) or said_units(choices, variable.name):
        attributes["source_units"] = ", ".join(sorted(theirs))
    if said := said_units(choices, variable.name):
        attributes["source_units"] = f"{said['units']}, as the user says; the file says {attributes['source_units']}"
    dtype = "float32" if exact else "int16"
    return Written(variable, axis, dtype, SCALE, day_shift=series.day_shift, attributes=attributes)


def _write_flags(writer: ForcingWriter, rows: Mapping[str, Rows], fill: str) -> None:
    """Writes flags of filled days, (time,): one bit a variable."""
    rows = {name: one for name, one in rows.items() if one.series.is_daily}  # weeks are not filled
    bits = [1 << i for i in range(len(rows))]
    flags = sum(one.filled.astype(np.int32) * bit for bit, one in zip(bits, rows.values(), strict=True))
    meaning = " ".join(f"{name}_filled" for name in rows)
    attributes = {"long_name": "days that were filled", "flag_masks": bits, "flag_meanings": meaning, "method": fill}
    writer.write_remark("fill_flag", np.asarray(flags, np.int32), attributes, ("time",))
