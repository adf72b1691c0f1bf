"""`steppe ingest netcdf`, `zarr` and `silo`: daily maps of any CF data set become a forcing store.

Variables are written one after the other, a shard's days at a time, so that each map of a file is decompressed once and memory stays
bounded: `BUFFER` for the cells of these days, `READ` for what is read at a time.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ForcingError, nearest
from steppe.grid import Grid, Lattice, Points, Projected, Raster
from steppe.io.axis import Axis, day_name
from steppe.io.forcing_variables import SCALE, WEATHER
from steppe.io.forcing_writer import About, Block, ForcingWriter, Written
from steppe.io.ingest.cf_file import CfFile, Floats
from steppe.io.ingest.cf_names import weather_name
from steppe.io.ingest.map_series import MapSeries, Part, Rows
from steppe.io.ingest.regrid import METHODS, Regrid
from steppe.io.ingest.report import Report
from steppe.io.ingest.source import source_file
from steppe.io.units import SAME, conversion
from steppe.variable import Role, Variable

BUFFER = 120_000_000  # values (480 MB): 384 days of 312,500 cells; with more cells the maps are read again for the next ones
READ = 2_000_000  # values read at a time (8 MB), or one chunk of the file if that is more, ...
LARGEST_CHUNK = 64_000_000  # ... up to this (256 MB); beyond, a chunk is decompressed several times
ROUNDING = 1e-3  # [degC] by which means of equal temperatures may differ

FILLS = ("climatology", "previous")


class Choices(NamedTuple):
    """What the user says of a data set. names: our name -> name in the files. methods, units, day_shift: by our name; methods[""]: for all.

    start, end: inclusive, else all days that every variable has. fill: one of `FILLS`. clip: put values outside limits to the limit.
    intersect: leave out cells of the grid without values. exact: keep float32 instead of packing to 0.1.
    """

    names: Mapping[str, str] = {}
    methods: Mapping[str, str] = {}
    day_shift: Mapping[str, int] = {}
    start: str | None = None
    end: str | None = None
    fill: str | None = None
    clip: bool = False
    intersect: bool = False
    exact: bool = False
    units: Mapping[str, str] = {}


class Product(NamedTuple):
    """What is said of the source. weather: its name in one word. title: instead of that of the files. licence: where the files say none."""

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
    """Makes a forcing store of daily maps.

    Parameters
    ----------
    files
        NetCDF files or Zarr stores, in any order, each with any variables and days.
    grid
        The cells to make weather for; None: those of the files that have values.
    progress
        Called with the part done, 0 to 1.

    Raises
    ------
    ForcingError
        A file is of another kind, grid, calendar or unit than it should be, a day or a value lacks or is outside its limits.
    DamagedError
        A file cannot be read to its end.
    RunFileError
        A date is none.
    """
    _check_choices(choices)
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(CfFile(file))) for file in files]
        series, untaken = _series(opened, choices)
        axis = _axis(series, choices)
        rows = {name: one.rows_of(axis, choices.fill) for name, one in series.items()}
        target, left_out = _grid(grid, rows, choices)
        ways = {name: _way(one, target, choices) for name, one in series.items()}
        methods = [f"{name}: {ways[name].method}, days from {one.days_from}" for name, one in series.items()]
        notes = [*_turned(opened), *untaken, *left_out, *methods, *_filled(rows, choices)]
        about = _about(opened, files, axis, product, notes)
        written = [_written(one, axis, ways[name], choices) for name, one in series.items()]
        with ForcingWriter(path, target, written, about, axis.calendar) as writer:
            transfer = _Transfer(rows, ways, target, choices.clip)
            transfer.write(writer, progress or (lambda part: None))
            for name, count in transfer.clipped.items():
                writer.add_attributes(name, {"clipped": count})
                notes.append(f"{name}: {count} values were outside their limits and put to them")
            if any(one.filled.any() for one in rows.values()):
                _write_flags(writer, rows, choices.fill or "")
    return Report(path, target.n_cells, axis.rows, {}, transfer.mean_annual_rain(), tuple(notes))


def _check_choices(choices: Choices) -> None:
    for name, method in choices.methods.items():
        if method not in METHODS:
            raise ForcingError(f'--method {name and name + "="}"{method}" is not known. Use one of {", ".join(METHODS)}.')
    if choices.fill is not None and choices.fill not in FILLS:
        raise ForcingError(f'--fill "{choices.fill}" is not known. Use one of {", ".join(FILLS)}.')


def _series(files: Sequence[CfFile], choices: Choices) -> tuple[dict[str, MapSeries], list[str]]:
    """The variables to take, and a line about those that are not taken."""
    parts: defaultdict[str, list[Part]] = defaultdict(list)
    described: dict[str, Variable] = {}
    wanted = {theirs: ours for ours, theirs in choices.names.items()}
    seen: set[str] = set()
    untaken: set[str] = set()
    for file in files:
        taken: dict[str, str] = {}
        for source, attributes in file.variables.items():
            seen.add(source)
            name = wanted.get(source) or weather_name(source, attributes)
            if name is None or choices.names.get(name, source) != source:
                untaken.add(source)
                continue
            if name in taken:
                raise ForcingError(
                    f'"{file.path}": both "{taken[name]}" and "{source}" could be {name}. Choose one: --map {name}={taken[name]}.'
                )
            taken[name] = source
            variable = described.setdefault(
                name, WEATHER.get(name) or _described(name, {**attributes, **_said(choices, name)}, f'"{file.path}", "{source}"')
            )
            where = f'"{file.path}", variable "{source}"'
            units = choices.units.get(name, attributes.get("units"))
            if units is None:
                raise ForcingError(f"{where} has no units. Add the attribute, or say it: --units {name}=UNIT; units are never guessed.")
            parts[name].append(Part(file, source, conversion(str(units), variable.units, where)))
    for ours, theirs in choices.names.items():
        if theirs not in seen:
            raise ForcingError(f'--map {ours}={theirs}: no file has daily maps of "{theirs}".{nearest(theirs, seen)}')
    if not parts:
        held = ", ".join(sorted(seen)) or "none of time, latitude and longitude"
        raise ForcingError(
            f'"{files[0].path}": no variable is known by its name or standard_name; it holds {held}. Say it: --map rain=NAME.'
        )
    known = [name for name in (*WEATHER, *parts) if name in parts]
    for name in known:
        _check_lattices(parts[name])
        parts[name].sort(key=lambda part: int(part.file.days(part.source).numbers[0]))
    for name in {*choices.day_shift, *choices.methods, *choices.units} - {"", *parts}:
        raise ForcingError(f'"{name}" is none of the variables that are taken.{nearest(name, parts)}')
    series = {name: MapSeries.of(described[name], parts[name], choices.day_shift.get(name)) for name in known}
    return series, [f"not taken: {', '.join(sorted(untaken))}; --map NAME={sorted(untaken)[0]} takes it as NAME"] if untaken else []


def _described(name: str, attributes: Mapping[str, object], where: str) -> Variable:
    """A variable that Steppe does not know: its own unit and words, and limits where the file gives them."""
    low, high = attributes.get("valid_min"), attributes.get("valid_max")
    if isinstance(span := attributes.get("valid_range"), Sequence | np.ndarray) and len(span) == 2:
        low, high = span
    least, most = (
        float(value) if isinstance(value, int | float | np.number) else unset for value, unset in ((low, -np.inf), (high, np.inf))
    )
    if not name.isidentifier():
        raise ForcingError(f'{where}: "{name}" is no name for a variable. Take letters, digits and underscores.')
    long_name, standard = str(attributes.get("long_name", name)), str(attributes.get("standard_name", ""))
    return Variable(name, ("time", "cell"), str(attributes.get("units", "1")), "float32", Role.FORCING, long_name, standard, least, most)


def _said(choices: Choices, name: str) -> dict[str, str]:
    """The unit that the user gives to a variable, as an attribute."""
    return {"units": choices.units[name]} if name in choices.units else {}


def _check_lattices(parts: Sequence[Part]) -> None:
    first = parts[0].file
    for part in parts[1:]:
        one, other = first.lattice, part.file.lattice
        if (
            one.lat.size != other.lat.size
            or one.lon.size != other.lon.size
            or not _close(one.lat, other.lat)
            or not _close(one.lon, other.lon)
        ):
            raise ForcingError(
                f'"{part.file.path}" has {other}, but "{first.path}" has {one}. '
                "All files of a variable must have one grid; regrid them first."
            )


def _close(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool(np.allclose(one, other, rtol=0.0, atol=1e-3 * abs(one[1] - one[0])))


def _axis(series: Mapping[str, MapSeries], choices: Choices) -> Axis:
    """The days of the store: those asked for, else all from the latest beginning to the earliest end."""
    first = next(iter(series.values()))
    for one in series.values():
        if one.calendar != first.calendar:
            raise ForcingError(
                f'"{one.parts[0].file.path}" has the {one.calendar} calendar, "{first.parts[0].file.path}" the {first.calendar} calendar. '
                "Calendars are never converted; give files of one calendar."
            )
    start = choices.start or day_name(max(int(one.days[0]) for one in series.values()), first.calendar)
    end = choices.end or day_name(min(int(one.days[-1]) for one in series.values()), first.calendar)
    return Axis.of_days(start, end, first.calendar)


def _grid(grid: Grid | None, rows: Mapping[str, Rows], choices: Choices) -> tuple[Grid, list[str]]:
    """The grid of the store, and a line about cells that were left out.

    Raises
    ------
    ForcingError
        Cells of the grid have no values on the first day, and they are not to be left out.
    """
    lattice = next(iter(rows.values())).series.parts[0].file.lattice
    asked = grid or _whole(lattice)
    lacking = np.zeros(asked.n_cells, np.bool_)
    for one in rows.values():
        way = _way(one.series, asked, choices)
        here = ~np.isfinite(way(one.read(range(1), way.rows, way.columns))[0])
        lacking |= here
        if here.any() and grid is not None and not choices.intersect:
            cell = int(np.argmax(here))
            raise ForcingError(
                f"{one.file(0)}, has no value for {int(here.sum())} of {asked.n_cells} cells of the grid on "
                f"{day_name(one.axis.first, one.axis.calendar)}, the first at latitude {asked.cell_lat[cell]:g}, longitude "
                f"{asked.cell_lon[cell]:g}. Give a mask that fits, or leave these cells out with --mask intersect."
            )
    if not lacking.any():
        return asked, []
    if lacking.all() or isinstance(asked, Points):
        raise ForcingError(f"No cell has values of {', '.join(rows)} on the first day. Check the grid and the files.")
    active = np.zeros(asked.active.shape, np.bool_)
    active.ravel()[asked.order[~lacking]] = True
    left_out = f"{int(lacking.sum())} of {asked.n_cells} cells of the grid have no values and were left out"
    return _with_mask(asked, active), [] if grid is None else [left_out]


def _whole(lattice: Lattice) -> Raster | Projected:
    """All cells of a lattice."""
    active = np.ones((lattice.lat.size, lattice.lon.size), np.bool_)
    geometry = (float(lattice.lat[0]), lattice.dlat, float(lattice.lon[0]), lattice.dlon, active)
    return Raster(*geometry) if lattice.crs is None else Projected.project(*geometry, lattice.crs)


def _with_mask(grid: Grid, active: NDArray[np.bool_]) -> Raster | Projected:
    """Some of the cells of a raster."""
    if isinstance(grid, Projected):
        return Projected.project(grid.y0, grid.dy, grid.x0, grid.dx, active, grid.crs)
    assert isinstance(grid, Raster)
    return Raster(grid.lat0, grid.dlat, grid.lon0, grid.dlon, active)


def _way(series: MapSeries, grid: Grid, choices: Choices) -> Regrid:
    file = series.parts[0].file
    method = choices.methods.get(series.variable.name, choices.methods.get(""))
    return Regrid(file.lattice, grid, method, f'"{file.path}"')


def _turned(files: Sequence[CfFile]) -> list[str]:
    return sorted({f"{turn}, and were turned" for file in files for turn in file.lattice.turned})


def _filled(rows: Mapping[str, Rows], choices: Choices) -> list[str]:
    return [
        f"{name}: {int(one.filled.sum())} days that lack are filled ({choices.fill}); `fill_flag` says which"
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


def _written(series: MapSeries, axis: Axis, way: Regrid, choices: Choices) -> Written:
    variable = series.variable
    sources = {part.source for part in series.parts}
    attributes = {"regridding": way.method, "source_variable": ", ".join(sorted(sources)), "days_from": series.days_from}
    theirs = {str(part.file.variables[part.source].get("units", "none")) for part in series.parts}
    if any(part.line != SAME for part in series.parts) or _said(choices, variable.name):
        attributes["source_units"] = ", ".join(sorted(theirs))
    if said := _said(choices, variable.name):
        attributes["source_units"] = f"{said['units']}, as the user says; the file says {attributes['source_units']}"
    dtype = "int16" if variable.name in WEATHER and not choices.exact else "float32"
    return Written(variable, axis, dtype, SCALE, day_shift=series.day_shift, attributes=attributes)


def _write_flags(writer: ForcingWriter, rows: Mapping[str, Rows], fill: str) -> None:
    """Which days of which variables are no data of the source: one bit a variable, (time,)."""
    bits = [1 << i for i in range(len(rows))]
    flags = sum(one.filled.astype(np.int32) * bit for bit, one in zip(bits, rows.values(), strict=True))
    meaning = " ".join(f"{name}_filled" for name in rows)
    attributes = {"long_name": "days that were filled", "flag_masks": bits, "flag_meanings": meaning, "method": fill}
    writer.write_remark("fill_flag", np.asarray(flags, np.int32), attributes, ("time",))


class _Transfer:
    """Values on their way from files to a store. clipped: variable -> values that were put to a limit."""

    def __init__(self, rows: Mapping[str, Rows], ways: Mapping[str, Regrid], grid: Grid, clip: bool) -> None:
        self._rows, self._ways, self._grid, self._clip = rows, ways, grid, clip
        self.clipped: defaultdict[str, int] = defaultdict(int)
        self._rain = 0.0

    def write(self, writer: ForcingWriter, progress: Callable[[float], None]) -> None:
        """Writes all variables."""
        days = next(iter(self._rows.values())).axis.rows
        done = 0.0
        for name in self._rows:
            blocks = sorted(writer.blocks(name), key=lambda block: (block.steps.start, block.cells.start))
            for steps, group in groupby(blocks, key=lambda block: block.steps):
                passes = _passes(list(group))
                for blocks_together in passes:
                    cells = range(blocks_together[0].cells.start, blocks_together[-1].cells.stop)
                    buffer = np.empty((len(steps), len(cells)), np.float32)
                    for batch in self._batches(name, steps):
                        values = self._checked(name, batch)[:, cells.start : cells.stop]
                        buffer[batch.start - steps.start : batch.stop - steps.start] = values
                        done += len(batch) / len(passes)
                        progress(done / days / len(self._rows))
                    if name == "rain":
                        self._rain += float(buffer.sum(dtype=np.float64))
                    for block in blocks_together:
                        writer.write(name, block, buffer[:, block.cells.start - cells.start : block.cells.stop - cells.start])

    def mean_annual_rain(self) -> float | None:
        """Mean of all cells and days [mm a-1], None without rain."""
        if "rain" not in self._rows:
            return None
        return self._rain / self._grid.n_cells / self._rows["rain"].axis.rows * 365.25

    def _batches(self, name: str, days: range) -> list[range]:
        way, rows = self._ways[name], self._rows[name]
        map_size = len(way.rows) * len(way.columns)
        chunk = rows.maps_at_once()
        size = max(1, READ // map_size)
        if chunk * map_size <= LARGEST_CHUNK:
            size = -(-size // chunk) * chunk
        return rows.batches(days, size)

    def _values(self, name: str, days: range) -> Floats:
        """Values of all cells on some days, (days, cells), as the files have them."""
        way, rows = self._ways[name], self._rows[name]
        found = [way(rows.read(batch, way.rows, way.columns)) for batch in self._batches(name, days)]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _checked(self, name: str, days: range) -> Floats:
        """Values that are there, within their limits, and not above tmax where they are tmin."""
        variable = self._rows[name].series.variable
        values = self._values(name, days)
        missing = ~np.isfinite(values)
        if missing.any():
            self._refuse(name, days, values, missing, "a value in every cell", "Correct the file, or take a grid without such cells.")
        limits = f"{variable.low:g} to {variable.high:g} {variable.units}"
        values = self._limited(name, days, values, variable.low, variable.high, limits)
        if name == "tmin" and "tmax" in self._rows:
            tmax = self._values("tmax", days)
            values = self._limited(name, days, values, variable.low, tmax + np.float32(ROUNDING), "not more than tmax of the day")
        return values

    def _limited(self, name: str, days: range, values: Floats, low: float, high: float | Floats, expected: str) -> Floats:
        outside = (values < low) | (values > high)
        if not outside.any():
            return values
        if not self._clip:
            self._refuse(
                name, days, values, outside, expected, "Correct the file or its units, or put such values to the limit with --clip."
            )
        self.clipped[name] += int(outside.sum())
        limited: Floats = np.clip(values, low, high).astype(np.float32)
        return limited

    def _refuse(self, name: str, days: range, values: Floats, wrong: NDArray[np.bool_], expected: str, remedy: str) -> None:
        rows = self._rows[name]
        step, cell = (int(i) for i in np.argwhere(wrong)[0])
        day = days[step]
        value = float(values[step, cell])
        found = "missing" if np.isnan(value) else f"{value:g} {rows.series.variable.units}"
        raise ForcingError(
            f"{rows.file(day)}, {day_name(int(rows.axis.starts[day]), rows.axis.calendar)}, cell {cell} (latitude "
            f"{self._grid.cell_lat[cell]:g}, longitude {self._grid.cell_lon[cell]:g}): {name} is "
            f"{found} ({int(wrong[step].sum())} such cells on this day), "
            f"expected {expected}. {remedy}"
        )


def _passes(blocks: Sequence[Block]) -> list[list[Block]]:
    """Blocks of the same days, cut into groups whose values fit into the buffer."""
    found: list[list[Block]] = []
    for block in blocks:
        if not found or len(block.steps) * (block.cells.stop - found[-1][0].cells.start) > BUFFER:
            found.append([])
        found[-1].append(block)
    return found
