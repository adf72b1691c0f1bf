"""The variables of files that become variables of a store: by the table of names, or as the user says."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.errors import ForcingError, nearest
from steppe.grid import FileLattice
from steppe.grid.projected import parse_crs, unproject
from steppe.ingest.cf_file import CfFile
from steppe.ingest.cf_names import DEFICIT, DOUBTFUL, weather_name
from steppe.ingest.map_series import MapSeries, SeriesPart
from steppe.ingest.regrid import METHODS
from steppe.io.axis import Axis, day_name
from steppe.io.forcing.units import check_rate, conversion
from steppe.io.forcing.valid_range import stated_span
from steppe.io.forcing.variables import WEATHER
from steppe.variable import Role, Variable

EVERY = (-np.inf, np.inf)
FILLS = ("climatology", "previous")


class Choices(NamedTuple):
    """Choices of the user for a data set. names: our name -> name in the files. units, day_shift: by our name.

    methods: by our name; methods[""]: for all. start, end: inclusive, else all days that every variable has. fill: one of `FILLS`.
    clip: set values outside limits to the limit. intersect: leave out cells of the grid without values. exact: keep float32 instead of
    packing to 0.1.
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


def check_choices(choices: Choices) -> None:
    """Checks the words of the choices.

    Raises
    ------
    ForcingError
        A word is not known.
    """
    for name, method in choices.methods.items():
        if method not in METHODS:
            raise ForcingError(f'--method {name and name + "="}"{method}" is not known. Use one of {", ".join(METHODS)}.')
    if choices.fill is not None and choices.fill not in FILLS:
        raise ForcingError(f'--fill "{choices.fill}" is not known. Use one of {", ".join(FILLS)}.')


def choose_series(files: Sequence[CfFile], choices: Choices) -> tuple[dict[str, MapSeries], list[str]]:
    """The variables to take, and a line about those that are not taken.

    Raises
    ------
    ForcingError
        No variable is known, two could be the same, units lack or do not convert, or files of one variable do not fit together.
    """
    parts: defaultdict[str, list[SeriesPart]] = defaultdict(list)
    described: dict[str, Variable] = {}
    wanted = {theirs: ours for ours, theirs in choices.names.items()}
    for ours, theirs in choices.names.items():
        if (other := wanted[theirs]) != ours:
            copied = f'Copy it in the file: dataset["{other}"] = dataset["{theirs}"].'
            raise ForcingError(f"--map {ours}={theirs} and --map {other}={theirs} take one variable twice. {copied}")
    seen: set[str] = set()
    untaken: set[str] = set()
    for file in files:
        taken: dict[str, str] = {}
        untaken |= {*file.maps} - {*file.variables}
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
                name, WEATHER.get(name) or _described(name, {**attributes, **said_units(choices, name)}, f'"{file.path}", "{source}"')
            )
            where = f'"{file.path}", variable "{source}"'
            units = choices.units.get(name, attributes.get("units"))
            if units is None:
                raise ForcingError(f"{where} has no units. Add the attribute, or say it: --units {name}=UNIT; units are never guessed.")
            if file.days(source).lengths.max() > 1:
                check_rate(str(units), variable.units, where, str(attributes.get("cell_methods", "")))
            span = file.valid_range(source) if name in WEATHER else EVERY  # else limits are those of the variable
            parts[name].append(SeriesPart(file, source, conversion(str(units), variable.units, where), span))
    for doubtful in sorted(name for name in untaken if name.lower() == DOUBTFUL and not {"vp", DEFICIT} & set(parts)):
        raise ForcingError(
            f'"{files[0].path}": "{doubtful}" may hold vapour pressure or its deficit. Type --map vp={doubtful} if it is vapour '
            f"pressure, or --map deficit={doubtful} if it is the deficit."
        )
    for ours, theirs in choices.names.items():
        if theirs not in seen:
            unfit = next(filter(None, (file.unfit(theirs) for file in files)), "")
            raise ForcingError(unfit or f'--map {ours}={theirs}: no file has daily maps of "{theirs}".{nearest(theirs, seen)}')
    if not parts:
        for file in files:
            if file.maps and not file.variables:
                raise ForcingError(file.unfit(file.maps[0]))
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
    """The declaration of a variable that Steppe does not know: unit, words and limits as the file has them."""
    least, most = stated_span(attributes)
    if not name.isidentifier():
        raise ForcingError(f'{where}: "{name}" is no name for a variable. Take letters, digits and underscores.')
    long_name, standard = str(attributes.get("long_name", name)), str(attributes.get("standard_name", ""))
    return Variable(name, ("time", "cell"), str(attributes.get("units", "1")), "float32", Role.FORCING, long_name, standard, least, most)


def said_units(choices: Choices, name: str) -> dict[str, str]:
    """The unit that the user gives to a variable, as an attribute."""
    return {"units": choices.units[name]} if name in choices.units else {}


def _check_lattices(parts: Sequence[SeriesPart]) -> None:
    first = parts[0].file
    for part in parts[1:]:
        one, other = first.lattice, part.file.lattice
        if (
            one.lat.size != other.lat.size
            or one.lon.size != other.lon.size
            or not _close(one.lat, other.lat, one.dlat)
            or not _close(one.lon, other.lon, one.dlon)
            or (one.crs != other.crs and not _close(_ends(one), _ends(other), 1.0))
        ):
            raise ForcingError(
                f'"{part.file.path}" has {other}, but "{first.path}" has {one}. '
                "All files of a variable must have one grid; regrid them first."
            )


def _close(one: Floats, other: Floats, step: float) -> bool:
    return bool(np.allclose(one, other, rtol=0.0, atol=1e-3 * abs(step)))


def _ends(lattice: FileLattice) -> Floats:
    """Longitude and latitude of the first and the last cell [degrees], since a projection has many spellings."""
    x, y = lattice.lon[[0, -1]], lattice.lat[[0, -1]]
    return np.array([x, y] if lattice.crs is None else unproject(parse_crs(lattice.crs), x, y))


def choose_axis(series: Mapping[str, MapSeries], choices: Choices) -> Axis:
    """The days of the store: those asked for, else all from the latest beginning to the earliest end.

    Raises
    ------
    ForcingError
        The variables have different calendars.
    RunFileError
        A date is not a date, or the variables have no day in common.
    """
    first = next(iter(series.values()))
    for one in series.values():
        if one.calendar != first.calendar:
            raise ForcingError(
                f'"{one.parts[0].file.path}" has the {one.calendar} calendar, "{first.parts[0].file.path}" the {first.calendar} calendar. '
                "Calendars are never converted; give files of one calendar."
            )
    start = choices.start or day_name(max(int(one.days[0]) for one in series.values()), first.calendar)
    end = choices.end or day_name(min(one.last for one in series.values()), first.calendar)
    return Axis.of_days(start, end, first.calendar)
