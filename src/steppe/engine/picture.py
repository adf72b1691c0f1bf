"""A run as one picture: maps of what was recorded, and lines of regions or single cells."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cftime
import numpy as np
from numpy.typing import NDArray

from steppe.clock import EPOCH, parse_date
from steppe.errors import RunFileError, nearest
from steppe.grid import Grid, RegionLike
from steppe.io import Axis, Records
from steppe.io.axis import day_name, day_number
from steppe.io.export import aside
from steppe.io.results import names_of
from steppe.view import Map, Series, choose_colours, draw_run

Array = NDArray[Any]

GENERATED = "The weather is generated: no day, year or place of it is real."
BLOCK = 64  # records that are read at a time
MOST_RECORDS = 400  # of a line: a year of days


class Place(NamedTuple):
    """Cells of which a line is drawn, and the weight of each. at: (longitude, latitude) to mark on the maps."""

    label: str
    cells: NDArray[np.int64]
    weights: NDArray[np.float64]
    at: tuple[float, float] | None = None


def draw(
    path: Path,
    output: Path,
    variables: list[str] | None = None,
    date: str | None = None,
    at: Sequence[tuple[float, float]] = (),
    region: RegionLike = "all",
    scale: tuple[float, float] | None = None,
    maps: str = "",
) -> Path:
    """Draws maps and lines of a run as one PNG; gives its path.

    Parameters
    ----------
    path
        A run folder or a store.
    variables
        What is drawn, all when left out.
    date
        Maps of the interval that holds this day; means over what was computed when left out.
    at
        (longitude, latitude) of cells whose lines are drawn, instead of those of the run's series.
    region
        Part of the maps that is shown; its mean is the line.
    scale
        Ends of the colours of all maps, instead of round numbers about the values.
    maps
        Name of an [[output.maps]], instead of the maps of [output].

    Raises
    ------
    RunFileError
        The run has no such variable, no such day, or no results yet.
    GridError
        There is no such region, or no cell at a place.
    FolderError, DamagedError, NoSpaceError, Failure
        There is no run, a file of it is damaged, or the picture cannot be written.
    """
    records = Records.open(path, maps)
    held = _in_order(list(records.axes), path, maps)
    for name in variables or []:
        if name not in held:
            raise RunFileError(f'The run "{path}" has no map of "{name}".{nearest(name, held)}')
    names = [name for name in variables or held if records.axes[name].rows]
    grid = records.grid if at or region != "all" else None
    places = _places(grid, at, region) if grid else []
    lines = _lines(records, names, places) if places else _series(path, None if variables is None else set(variables))
    if not names and not lines:
        raise RunFileError(f'The run "{path}" has no results yet.')
    cells = grid.select(region) if grid else None
    shown = {name: _shown(records.axes[name], path, date) for name in names}
    drawn = [_map(records, name, shown[name], cells, scale) for name in names]
    marks = [place.at for place in places if place.at]
    about = records.about
    notes = [f"{about.get('source', '')}. {_of_maps(records, shown, date)}{_of_lines(records, names, places)}", *notes_of(about)]
    with aside(output) as beside:
        draw_run(beside, str(about.get("title", path.name)), [one._replace(marks=marks) for one in drawn], lines, notes)
    return output


def notes_of(about: Mapping[str, Any]) -> list[str]:
    """What the foot of a picture says of the weather and of the options. about: attributes of the results."""
    weather = GENERATED if about.get("weather") == "generated" else str(about.get("weather_summary", about.get("summary", "")))
    return [weather, *([f"Options: {about['options']}."] if "options" in about else [])]


def _in_order(names: list[str], path: Path, group: str = "") -> list[str]:
    """The variables of the maps, or of a named group, in the order of the run file; those of a store that lies alone by name."""
    run_file = path / "run.toml"
    if not run_file.is_file():
        return sorted(names)
    output = tomllib.loads(run_file.read_text(encoding="utf-8")).get("output", {})  # it was checked when the run began
    if group:
        named = (*output.get("series", []), *output.get("maps", []))
        output = next((one for one in named if one.get("name") == group), {})
    wanted = output.get("variables", [])
    return sorted(names, key=lambda name: (wanted.index(name) if name in wanted else len(wanted), name))


def _places(grid: Grid, at: Sequence[tuple[float, float]], region: RegionLike) -> list[Place]:
    """Single cells, or the cells of a region together."""
    if not at:
        cells = grid.select(region)
        return [Place(f"mean of {len(cells):,} cells", cells, grid.cell_area[cells])]
    found = []
    for longitude, latitude in at:
        cell = grid.locate(longitude, latitude)
        lon, lat = float(grid.cell_lon[cell]), float(grid.cell_lat[cell])
        found.append(
            Place(
                f"{abs(lat):g}°{'N' if lat > 0 else 'S'} {abs(lon):g}°{'E' if lon > 0 else 'W'}", np.array([cell]), np.ones(1), (lon, lat)
            )
        )
    return found


def _shown(axis: Axis, path: Path, date: str | None) -> slice:
    """The records of which a map is drawn."""
    if date is None:
        return slice(0, axis.rows)
    day = day_number(parse_date(date, axis.calendar))
    if not axis.first <= day < axis.stop:
        raise RunFileError(f'--date {date} is not in the run "{path}", which holds {axis.period()}.')
    row = int(axis.row_of_day[day - axis.first])
    return slice(row, row + 1)


def _map(records: Records, name: str, rows: slice, cells: NDArray[np.int64] | None, scale: tuple[float, float] | None) -> Map:
    attributes = records.attributes[name]
    values = _mean(records, name, rows, cells)
    title, units = str(attributes.get("long_name", name)), str(attributes.get("units", "1"))
    colours = choose_colours(values, name, units, str(attributes.get("standard_name", "")), title)
    if scale:
        colours = colours.between(*scale)
    if not records.raster:
        lat, lon = (records.small(f"cell_{which}") if cells is None else records.small(f"cell_{which}")[cells] for which in ("lat", "lon"))
        return Map(title, values, units, lat, lon, colours)
    y, x = (records.small(axis) for axis in records.raster)
    order = records.small("cell")
    row, column = np.divmod(order if cells is None else order[cells], len(x))
    whole = np.full((len(y), len(x)), np.nan)
    whole[row, column] = values
    if cells is not None:
        rows, columns = (slice(int(index.min()), int(index.max()) + 1) for index in (row, column))
        whole, y, x = whole[rows, columns], y[rows], x[columns]
    return Map(title, whole, units, y, x, colours, projected=records.raster != ("lat", "lon"))


def _mean(records: Records, name: str, rows: slice, cells: NDArray[np.int64] | None) -> Array:
    """The mean over records as long as they are, of what is there, (cells,)."""
    axis = records.axes[name]
    total: Array = np.zeros(1)
    days: Array = np.zeros(1)
    for first in range(rows.start, rows.stop, BLOCK):
        part = slice(first, min(first + BLOCK, rows.stop))
        values = records.read(name, part, cells)
        length = (axis.stops[part] - axis.starts[part]).astype(np.float64)
        there = np.isfinite(values)
        if not there.all():
            values[~there] = 0.0
        total = total + length @ values
        days = days + (length.sum() if there.all() else length @ there.astype(np.float64))
    return np.where(days > 0.0, total / np.maximum(days, 1.0), np.nan)


def _lines(records: Records, names: list[str], places: list[Place]) -> list[Series]:
    """The records of the maps at some places, one panel a variable."""
    found = []
    for name in names:
        attributes, axis = records.attributes[name], records.axes[name]
        for place in places:
            values = records.read(name, slice(None), place.cells)
            weights = np.where(np.isfinite(values), place.weights, 0.0)
            total = weights.sum(axis=1)
            means = np.where(
                total > 0, np.where(np.isfinite(values), values * weights, 0.0).sum(axis=1) / np.where(total > 0, total, 1.0), np.nan
            )
            found.append(Series(str(attributes.get("long_name", name)), _dates(axis), means, str(attributes["units"]), place.label))
    return found


def _series(path: Path, wanted: set[str] | None) -> list[Series]:
    """Every series of a run: its records, or their means of months when a line could not show so many."""
    found = []
    for group in names_of(path, "series"):
        records = Records.open(path, group)
        regions = [str(region) for region in records.small("region")]
        for name in _in_order(list(records.axes), path, group):
            if not records.axes[name].rows or (wanted is not None and name not in wanted):
                continue
            attributes = records.attributes[name]
            axis, values = records.axes[name], records.read(name, slice(None))
            dates, means = (_dates(axis), values) if axis.rows <= MOST_RECORDS else _monthly(axis, values)
            title = f"{attributes.get('long_name', name)}, {group}"
            found += [Series(title, dates, means[:, i], str(attributes["units"]), region) for i, region in enumerate(regions)]
    return found


def _monthly(axis: Axis, values: Array) -> tuple[list[Any], Array]:
    """Means of the records that begin in each month, and the first days of the months."""
    dates = _dates(axis)
    months = [(date.year, date.month) for date in dates]
    borders = [0, *(i for i in range(1, len(months)) if months[i] != months[i - 1])]
    there = np.isfinite(values)
    sums, counts = (np.add.reduceat(table, borders, axis=0) for table in (np.where(there, values, 0.0), there.astype(float)))
    return [dates[i].replace(day=1) for i in borders], np.where(counts > 0, sums / np.maximum(counts, 1.0), np.nan)


def _dates(axis: Axis) -> list[Any]:
    return list(cftime.num2date(axis.starts, EPOCH, calendar=axis.calendar))


def _of_maps(records: Records, shown: dict[str, slice], date: str | None) -> str:
    """What the maps are of, for the foot of the picture."""
    if not shown:
        return ""
    name = next(iter(shown))
    axis, rows = records.axes[name], shown[name]
    first, last = (day_name(int(day), axis.calendar) for day in (axis.starts[rows.start], axis.stops[rows.stop - 1] - 1))
    if first == last:
        return f"Maps: {first}. "
    return f"Maps: {'interval that holds ' + date + ', ' if date else 'means of '}{first} to {last}. "


def _of_lines(records: Records, names: list[str], places: list[Place]) -> str:
    if not places:
        return f"Lines: records of the series; means of months where there are more than {MOST_RECORDS}."
    methods = dict.fromkeys(str(records.attributes[name].get("cell_methods", "")).removeprefix("time: ") for name in names)
    return f"Lines: records of the run ({', '.join(filter(None, methods)) or 'as they are'})."
