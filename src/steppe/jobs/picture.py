"""A run as one picture: maps of its records, and lines of regions or single cells."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import cftime
import numpy as np

from steppe.array_types import Array, Floats, Integers
from steppe.clock import EPOCH
from steppe.errors import RunFileError, nearest
from steppe.grid import Grid, RegionLike
from steppe.io import MAPS, Axis, Ensemble, StoredRecords, listed, names_of
from steppe.io.export import aside
from steppe.levels import numbered, parted, which_level
from steppe.view import Colours, LinePlot, MapPlot, ScenarioBand, class_colours, degrees, draw_run, picture_colours, quantiles

GENERATED = "The weather is generated: no day, year or place of it is real."
BLOCK = 64  # records that are read at a time
MOST_RECORDS = 400  # of a line: a year of days
METHODS = {"sum": "sum", "minimum": "least", "maximum": "greatest"}  # CF method -> what a title calls it
TAKEN = {"time": "each interval", "area": "the region"}


class PicturePlace(NamedTuple):
    """Cells whose mean is drawn as a line, and the weight of each. at: (longitude, latitude) to mark on the maps."""

    label: str
    cells: Integers
    weights: Floats
    at: tuple[float, float] | None = None


class PictureChoices(NamedTuple):
    """The contents of a picture.

    Parameters
    ----------
    variables
        The variables to draw; default: all.
    date
        Maps show the interval that holds this day; default: means over the computed days.
    at
        (longitude, latitude) of cells whose lines are drawn, instead of those of the run's series.
    region
        Part of the maps that is shown; its mean is the line.
    scale
        Ends of the colours of all maps, instead of round numbers about the values.
    maps
        Name of an [[output.maps]], instead of the maps of [output].
    """

    variables: list[str] | None = None
    date: str | None = None
    at: Sequence[tuple[float, float]] = ()
    region: RegionLike = "all"
    scale: tuple[float, float] | None = None
    maps: str = ""


def draw(path: Path, output: Path, choices: PictureChoices = PictureChoices()) -> Path:  # noqa: B008  # never changed
    """Draws maps and lines of a run as one PNG; gives its path. Of an ensemble: the median of its maps, and the lines of all scenarios.

    path: a run folder, the folder of an ensemble, or a store.

    Raises
    ------
    RunFileError
        The run has no such variable, no such day, or no results yet.
    GridError
        There is no such region, or no cell at a place.
    FolderError, DamagedError, NoSpaceError, Failure
        There is no run, a file of it is damaged, or the picture cannot be written.
    """
    variables, date, at, region, scale, maps = choices
    ensemble, folders, scenarios = scenarios_of(path)
    every = [StoredRecords.open(folder, maps, MAPS) for folder in folders]
    records = every[0]
    variables = None if variables is None else [numbered(name, records.levels) for name in variables]
    held = held_in(records, path, maps, variables)
    first = [name for name in held if parted(name)[1] in (None, 0)]  # of each variable one map
    common = {name: min((one.axes[name] for one in every), key=lambda axis: axis.rows) for name in variables or first}
    names = [name for name, axis in common.items() if axis.rows]
    grid = records.grid if at or region != "all" else None
    places = _places(grid, at, region) if grid else []
    wanted = None if variables is None else set(variables)
    lines = _lines(every, names, places, scenarios) if places else _series(folders, wanted, scenarios)
    if not names and not lines:
        raise RunFileError(f'The run "{path}" has no results yet. Perhaps `[output]` records none.')
    cells = grid.select(region) if grid else None
    shown = {name: rows_at("--date", date, common[name], path) for name in names}
    drawn = [_map(every, name, shown[name], cells, scale) for name in names]
    marks = [place.at for place in places if place.at]
    about = records.about
    notes = [f"{about.get('source', '')}. {_of_maps(records, shown, date)}{_of_lines(records, names, places)}", *notes_of(about)]
    if ensemble:
        notes.insert(1, _of_ensemble(ensemble))
    with aside(output) as beside:
        draw_run(beside, str(about.get("title", path.name)), [one._replace(marks=marks) for one in drawn], lines, notes)
    return output


def scenarios_of(path: Path) -> tuple[Ensemble | None, list[Path], list[str]]:
    """The ensemble at a path, and the folders and names of its scenarios that were begun; of a run its folder, without a name."""
    ensemble = Ensemble.read(path)
    begun = [member for member in ensemble.members if member.folder.is_dir()] if ensemble else []
    return ensemble, [member.folder for member in begun] or [path], [member.name for member in begun]


def held_in(records: StoredRecords, path: Path, maps: str, wanted: list[str] | None) -> list[str]:
    """The variables that have maps, in the order of the run file; of a variable with levels each level.

    Raises
    ------
    RunFileError
        A wanted variable has no map.
    """
    held = _in_order(records.names, path, maps)
    for name in wanted or []:
        if name not in held:
            other = f" {which_level(name, *records.levels[name])}" if name in records.levels else nearest(name, held)
            raise RunFileError(f'The run "{path}" has no map of "{name}".{other}')
    return held


def notes_of(about: Mapping[str, object]) -> list[str]:
    """Lines for the foot of a picture: weather and options. about: attributes of the results."""
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
    return sorted(names, key=lambda name: (wanted.index(parted(name)[0]) if parted(name)[0] in wanted else len(wanted), *parted(name)))


def _places(grid: Grid, at: Sequence[tuple[float, float]], region: RegionLike) -> list[PicturePlace]:
    """Single cells, or the cells of a region together."""
    if not at:
        cells = grid.select(region)
        return [PicturePlace(f"mean of {len(cells):,} cells", cells, grid.cell_area[cells])]
    found = []
    for longitude, latitude in at:
        cell = grid.locate(longitude, latitude)
        lon, lat = float(grid.cell_lon[cell]), float(grid.cell_lat[cell])
        name = f"{degrees(lat, 'N', 'S')} {degrees(lon, 'E', 'W')}"
        found.append(PicturePlace(name, np.array([cell]), np.ones(1), (lon, lat)))
    return found


def rows_at(option: str, date: str | None, axis: Axis, path: Path) -> slice:
    """The records that hold for a day or an instant; all records if none is given.

    Raises
    ------
    RunFileError
        The run has no such day.
    """
    rows = axis.between(date, date)
    if rows is None:
        raise RunFileError(f'{option} {date} is not in the run "{path}", which holds {axis.period()}.')
    return rows


def _map(every: Sequence[StoredRecords], name: str, rows: slice, cells: Integers | None, scale: tuple[float, float] | None) -> MapPlot:
    """The mean over some records; of several scenarios the median of their means."""
    records, attributes = every[0], every[0].attributes[name]
    ground, title = Ground.of(records, cells), title_of(attributes, name, len(every))
    if classes := classes_of(attributes):
        times = np.sum([_lengths(one, name, rows, cells, classes) for one in every], axis=0)
        return ground.map(title, commonest(times, classes), "1", class_colours(classes))
    means = [_mean(one, name, rows, cells) for one in every]
    values = means[0] if len(means) == 1 else quantiles(np.stack(means))[1]
    units, standard_name, long_name = (
        str(attributes.get(key, default)) for key, default in (("units", "1"), ("standard_name", ""), ("long_name", name))
    )
    colours = picture_colours(values, name, units, standard_name, long_name, scale)
    return ground.map(title, values, units, colours)


def classes_of(attributes: Mapping[str, Any]) -> dict[int, str]:
    """Number -> name of the classes of a variable, by its CF flags; empty for one of numbers."""
    numbers, names = attributes.get("flag_values", []), attributes.get("flag_meanings", "").split()
    return {int(number): name.replace("_", " ") for number, name in zip(np.ravel(numbers), names, strict=False)}


def commonest(times: Array, classes: Mapping[int, str]) -> Array:
    """The class that each cell has most often, (..., cells), NaN where none; of equals the first. times (classes, ..., cells)."""
    return np.where(times.any(axis=0), np.array(list(classes), np.float64)[times.argmax(axis=0)], np.nan)


def title_of(attributes: Mapping[str, object], name: str, scenarios: int) -> str:
    """The title of a map of a variable."""
    middle = "commonest" if classes_of(attributes) else "median"
    return _name_of(attributes, name) + (f", {middle} of {scenarios:,} scenarios" if scenarios > 1 else "")


def _name_of(attributes: Mapping[str, object], name: str) -> str:
    """The long name of what is recorded, with what was taken of an interval and of a region where that is no mean."""
    methods = dict(pairwise(str(attributes.get("cell_methods", "")).replace(":", "").split()))
    taken = [f"{words} of {what}" for key, what in TAKEN.items() if (words := METHODS.get(methods.get(key, "")))]
    return ", ".join([str(attributes.get("long_name", name)), *taken])


class Ground(NamedTuple):
    """The places of cells on a map. place: rows and columns of the cells in a raster, None for points. lat, lon: as in a Map."""

    lat: Array
    lon: Array
    place: tuple[Array, Array] | None
    projected: bool

    @classmethod
    def of(cls, records: StoredRecords, cells: Integers | None) -> "Ground":
        """The part of the map that holds some cells, or all of them."""
        if not records.raster:
            lat, lon = (records.small(f"cell_{which}") for which in ("lat", "lon"))
            return cls(lat if cells is None else lat[cells], lon if cells is None else lon[cells], None, False)
        y, x = (records.small(axis) for axis in records.raster)
        order = records.small("cell")
        row, column = np.divmod(order if cells is None else order[cells], len(x))
        if cells is not None:
            y, x = (axis[index.min() : index.max() + 1] for axis, index in ((y, row), (x, column)))
            row, column = row - row.min(), column - column.min()
        return cls(y, x, (row, column), records.raster != ("lat", "lon"))

    def spread(self, values: Array) -> Array:
        """Values (cells,) in the shape of the map."""
        if self.place is None:
            return values
        whole = np.full((len(self.lat), len(self.lon)), np.nan)
        whole[self.place] = values
        return whole

    def map(self, title: str, values: Array, units: str, colours: Colours) -> MapPlot:
        """A map of values (cells,)."""
        return MapPlot(title, self.spread(values), units, self.lat, self.lon, colours, self.projected)


def _mean(records: StoredRecords, name: str, rows: slice, cells: Integers | None) -> Array:
    """The mean over records, weighted by their lengths, without missing values, (cells,)."""
    total: Array = np.zeros(1)
    days: Array = np.zeros(1)
    for length, values in _blocks(records, name, rows, cells):
        there = np.isfinite(values)
        if not there.all():
            values[~there] = 0.0
        total = total + length @ values
        days = days + (length.sum() if there.all() else length @ there.astype(np.float64))
    return np.where(days > 0.0, total / np.where(days > 0.0, days, 1.0), np.nan)


def _lengths(records: StoredRecords, name: str, rows: slice, cells: Integers | None, classes: Mapping[int, str]) -> Array:
    """The days that each cell has each class, (classes, cells)."""
    blocks = _blocks(records, name, rows, cells)
    total: Array = np.sum([[length @ (values == number) for number in classes] for length, values in blocks], axis=0)
    return total


def _blocks(records: StoredRecords, name: str, rows: slice, cells: Integers | None) -> Iterator[tuple[Floats, Array]]:
    """Lengths [d] and values (records, cells) of records, block by block."""
    axis = records.axes[name]
    for first in range(rows.start, rows.stop, BLOCK):
        part = slice(first, min(first + BLOCK, rows.stop))
        yield (axis.stops[part] - axis.starts[part]).astype(np.float64), records.read(name, part, cells)


def _lines(
    every: Sequence[StoredRecords], names: list[str], places: list[PicturePlace], scenarios: Sequence[str]
) -> list[LinePlot | ScenarioBand]:
    """The records of the maps at some places, one panel a variable; of scenarios one for each place, too."""
    found: list[LinePlot | ScenarioBand] = []
    for name in names:
        attributes, axis = every[0].attributes[name], _longest(every, name)
        for place in places:
            values = _stacked([_over(one.read(name, slice(None), place.cells), place.weights) for one in every])
            found.append(_line(_name_of(attributes, name), _dates(axis), values, str(attributes["units"]), place.label, scenarios))
    return found


def _over(values: Array, weights: Array) -> Array:
    """Weighted means of (records, cells), without missing values."""
    there = np.isfinite(values)
    total = np.where(there, weights, 0.0).sum(axis=1)
    return np.where(total > 0, np.where(there, values * weights, 0.0).sum(axis=1) / np.where(total > 0, total, 1.0), np.nan)


def _series(folders: Sequence[Path], wanted: set[str] | None, scenarios: Sequence[str]) -> list[LinePlot | ScenarioBand]:
    """Every series of a run, or of scenarios: its records, or means of months if a line cannot show so many records."""
    found: list[LinePlot | ScenarioBand] = []
    for group in names_of(folders[0], "series"):
        every = [StoredRecords.open(folder, group) for folder in folders]
        regions = [str(region) for region in every[0].small("region")]
        for name in _in_order(every[0].names, folders[0], group):
            axis = _longest(every, name)
            if not axis.rows or (name not in wanted if wanted is not None else parted(name)[1]):  # of each variable the first level
                continue
            attributes = every[0].attributes[name]
            values = _stacked([one.read(name, slice(None)) for one in every])
            dates, means = (_dates(axis), values) if axis.rows <= MOST_RECORDS else _monthly(axis, values)
            title = f"{_name_of(attributes, name)}, {group}"
            lines = ((region, means[:, :, i]) for i, region in enumerate(regions))
            found += [_line(title, dates, line, str(attributes["units"]), region, scenarios) for region, line in lines]
    return found


def _line(title: str, dates: Sequence[object], values: Array, units: str, label: str, scenarios: Sequence[str]) -> LinePlot | ScenarioBand:
    """values (scenario, record): of a run that is no ensemble there is one, without a name."""
    return (
        ScenarioBand(f"{title}: {label}", dates, values, units, scenarios) if scenarios else LinePlot(title, dates, values[0], units, label)
    )


def _longest(every: Sequence[StoredRecords], name: str) -> Axis:
    return max((one.axes[name] for one in every), key=lambda axis: axis.rows)


def _stacked(parts: Sequence[Array]) -> Array:
    """(part, record, ...), NaN where a part is shorter than the longest."""
    found = np.full((len(parts), max(map(len, parts)), *parts[0].shape[1:]), np.nan)
    for i, part in enumerate(parts):
        found[i, : len(part)] = part
    return found


def _monthly(axis: Axis, values: Array) -> tuple[list[cftime.datetime], Array]:
    """Means of the records (..., record, region) that begin in each month, and the first days of the months."""
    dates = _dates(axis, axis.starts)
    months = [(date.year, date.month) for date in dates]
    borders = [0, *(i for i in range(1, len(months)) if months[i] != months[i - 1])]
    there = np.isfinite(values)
    sums, counts = (np.add.reduceat(table, borders, axis=-2) for table in (np.where(there, values, 0.0), there.astype(float)))
    return [dates[i].replace(day=1) for i in borders], np.where(counts > 0, sums / np.maximum(counts, 1.0), np.nan)


def _dates(axis: Axis, days: Array | None = None) -> list[cftime.datetime]:
    return list(cftime.num2date(axis.times if days is None else days, EPOCH, calendar=axis.calendar))


def _of_maps(records: StoredRecords, shown: dict[str, slice], date: str | None) -> str:
    """The period of the maps, for the foot of the picture."""
    if not shown:
        return ""
    name = next(iter(shown))
    axis, rows = records.axes[name], shown[name]
    first, last = axis.begin_of(rows.start), axis.end_of(rows.stop - 1)
    if first == last:
        return f"Maps: {first}. "
    means = "means, of classes the commonest," if any(classes_of(records.attributes[name]) for name in shown) else "means of"
    return f"Maps: {'interval that holds ' + date + ',' if date else means} {first} to {last}. "


def _of_lines(records: StoredRecords, names: list[str], places: list[PicturePlace]) -> str:
    if not places:
        return f"Lines: records of the series; means of months where there are more than {MOST_RECORDS}."
    methods = dict.fromkeys(str(records.attributes[name].get("cell_methods", "")).removeprefix("time: ") for name in names)
    return f"Lines: records of the run ({', '.join(filter(None, methods)) or 'as they are'})."


def _of_ensemble(ensemble: Ensemble) -> str:
    """The line about the scenarios at the foot of the picture."""
    unfinished = ensemble.unfinished()
    words = f"{len(ensemble.members):,} scenarios: each a line, their median, and the band between 10 and 90 % of them."
    return words + (f" Unfinished: {listed(unfinished)}. Maps are of the days that all with results have." if unfinished else "")
