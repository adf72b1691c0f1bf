"""The weather that each column of a station file holds: by the table of names, or as the user says."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ForcingError, nearest
from steppe.ingest.cf_names import DEFICIT, DOUBTFUL, station_names
from steppe.ingest.meteorology import Values, saturation_vapour_pressure, vapour_pressure_of
from steppe.ingest.station import Record, Station, check_limits, numbers
from steppe.io.forcing.units import conversion
from steppe.io.forcing.variables import WEATHER

DAYS = ("date", "year", "day")  # columns that say which day a line is for
CODES = ("src", "code")  # columns that say how a value was observed
UNITS = {**{name: variable.units for name, variable in WEATHER.items()}, DEFICIT: "hPa"}
LIKENESS = 0.75  # [1] of difflib: one letter wrong or two exchanged in a name of four
LARGEST_DEFICIT = 200.0  # [hPa] saturation at 60 degC


class ColumnNames(NamedTuple):
    """Names and units of columns, from the user. names: our name -> column of the files. units: our name -> unit of that column."""

    names: Mapping[str, str] = {}
    units: Mapping[str, str] = {}


class ColumnTable(NamedTuple):
    """The parts of a station file. columns: name -> text of every day. units: name -> unit, if the file states one."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    units: Mapping[str, str]
    dates: NDArray[np.datetime64]


def read_columns(table: ColumnTable, said: ColumnNames) -> Record:
    """The weather of a file in Steppe's units, checked, and which columns it came from. A column that is empty on all days is absent.

    Vapour pressure is computed where the file holds its deficit.

    Raises
    ------
    ForcingError
        A name is in doubt, two columns have one meaning, rain is missing, or a unit or value is wrong.
    """
    taken = _choose(table, said)
    found = {name: _values(table, name, column, said) for name, column in taken.items()}
    if "rain" not in found:
        raise ForcingError(
            f'"{table.path}" has no column "rain" with values; it has {" ".join(table.columns)}. Add the column, or type --map rain=COLUMN.'
        )
    if DEFICIT in found:
        found["vp"] = _from_deficit(table, found)
    own = {name: _unit(table, name, column, said) for name, column in taken.items() if name not in UNITS}
    values = {name: found[name] for name in (*WEATHER, *own) if name in found}
    check_limits(table.path, values, table.dates)
    unread = [name for name, texts in table.columns.items() if any(texts) and name not in taken.values() and not _is_label(name)]
    return Record(table.dates[0], values, taken, tuple(unread), own)


def check_said(said: ColumnNames, records: Sequence[Station], own: bool = False) -> None:
    """Checks that at least one station has each column that the user names. own: variables that Steppe does not know are taken, too.

    Raises
    ------
    ForcingError
        A name is not one of Steppe's, no file has the column, or a unit is given for a variable that is not read.
    """
    columns = {column for record in records for column in (*record.taken.values(), *record.unread)}
    for name, column in said.names.items():
        if name not in UNITS and not own:
            raise ForcingError(
                f'{typed("map", name, column)}: "{name}" cannot be spread over a raster.{nearest(name, UNITS)} '
                "Points take any variable: --points."
            )
        if all(record.taken.get(name, "").lower() != column.lower() for record in records):
            for other in (ours for record in records for ours, theirs in record.taken.items() if theirs.lower() == column.lower()):
                raise ForcingError(f"{typed('map', name, column)}: the column is taken as {other}. Map it to one variable.")
            raise ForcingError(f'{typed("map", name, column)}: no station file has a column "{column}".{nearest(column, columns)}')
    read = {name for record in records for name in record.taken}
    for name, unit in said.units.items():
        if name not in read:
            raise ForcingError(f'{typed("units", name, unit)}: no station file has a column for "{name}".{nearest(name, read)}')


def typed(option: str, name: str, value: str) -> str:
    """An option of `steppe ingest stations`, and the key of a run file that says the same."""
    return f'--{option} {name}={value} (in a run file, under [forcing]: {option}.{name} = "{value}")'


def remarks(station: Station) -> list[str]:
    """Sentences for the report: columns that the user named, and columns that were not read."""
    known = station_names()
    chosen = [(name, column) for name, column in station.taken.items() if known.get(column.lower()) != name]
    found = [f'{name} was read from the column "{column}", as requested{_humidity(station, name)}' for name, column in chosen]
    return found + ([f"columns that are not read: {', '.join(station.unread)}"] if station.unread else [])


def _humidity(station: Station, name: str) -> str:
    """Means that show whether a column was vapour pressure or its deficit at this station."""
    if name not in ("vp", DEFICIT) or "tmin" not in station.values:
        return ""
    saturated = saturation_vapour_pressure(station.values["tmin"]).mean()
    return f"; the mean of vp is {station.values['vp'].mean():.1f} hPa, saturation at tmin {saturated:.1f} hPa"


def _choose(table: ColumnTable, said: ColumnNames) -> dict[str, str]:
    """Our name -> column."""
    held = [name for name, texts in table.columns.items() if any(texts) and name.lower() not in DAYS]
    wanted = {column.lower(): name for name, column in said.names.items()}
    mapped = {wanted[column.lower()] for column in held if column.lower() in wanted}
    known = station_names()
    taken: dict[str, str] = {}
    for column in held:
        name = wanted.get(column.lower()) or known.get(column.lower())
        if name is None or (column.lower() not in wanted and (name in mapped or (name == "vp" and DEFICIT in mapped))):
            continue
        if name in taken:
            raise ForcingError(
                f'"{table.path}": the columns "{taken[name]}" and "{column}" could both be {name}. '
                f"Choose one: {typed('map', name, column)}."
            )
        taken[name] = column
    if "vp" in taken and DEFICIT in taken and DEFICIT not in mapped:
        del taken[DEFICIT]  # the file has both; vapour pressure needs no computing
    rest = [column for column in held if column not in taken.values() and not _is_label(column)]
    _refuse_doubt(table, taken, rest, said)
    _refuse_misspelt(table, taken, rest, known)
    return taken


def _is_label(column: str) -> bool:
    """True for a column that says which day a line is for, or how a value was observed."""
    return column.lower() in (*DAYS, *CODES)


def _refuse_doubt(table: ColumnTable, taken: Mapping[str, str], rest: Sequence[str], said: ColumnNames) -> None:
    doubtful = [column for column in rest if column.lower() == DOUBTFUL]
    if not doubtful or {"vp", DEFICIT} & set(taken):
        return
    column = doubtful[0]
    mean = float(_values(table, "vp", column, said).mean())
    saturated = [
        f"{float(saturation_vapour_pressure(_values(table, name, taken[name], said)).mean()):.1f} hPa at {name}"
        for name in ("tmin", "tmax")
        if name in taken
    ]
    against = f"; saturation is {' and '.join(saturated)}" if saturated else ""
    raise ForcingError(
        f'"{table.path}": the column "{column}" may hold vapour pressure or its deficit. Its mean is {mean:.1f} hPa{against}. '
        f"Type --map vp={column} if it is vapour pressure, or --map deficit={column} if it is the deficit; "
        f'in a run file, under [forcing]: map.vp = "{column}", or map.deficit = "{column}".'
    )


def _refuse_misspelt(table: ColumnTable, taken: Mapping[str, str], rest: Sequence[str], known: Mapping[str, str]) -> None:
    for column in rest:
        if column.lower() in (DOUBTFUL, *known):
            continue
        for names in (WEATHER, known):
            missing = [name for name in names if known.get(name, name) not in taken]
            if near := difflib.get_close_matches(column.lower(), missing, n=1, cutoff=LIKENESS):
                break
        if near:
            raise ForcingError(
                f'"{table.path}": column "{column}" is not known. Did you mean "{near[0]}"? '
                f"Type {typed('map', known[near[0]], column)}, or rename the column."
            )


def _values(table: ColumnTable, name: str, column: str, said: ColumnNames) -> Values:
    unit = _unit(table, name, column, said)
    line = conversion(unit, UNITS.get(name, unit), f'"{table.path}", column "{column}"')
    return numbers(table.path, column, table.columns[column], table.dates) * line.factor + line.offset


def _unit(table: ColumnTable, name: str, column: str, said: ColumnNames) -> str:
    unit = said.units.get(name) or table.units.get(column) or UNITS.get(name)
    if unit is None:
        raise ForcingError(f'"{table.path}", column "{column}" has no unit. Type {typed("units", name, "UNIT")}, or add a line of units.')
    return unit


def _from_deficit(table: ColumnTable, found: Mapping[str, Values]) -> Values:
    if not {"tmin", "tmax"} <= set(found):
        raise ForcingError(f'"{table.path}": vapour pressure follows from its deficit, tmin and tmax. Add the columns tmin and tmax.')
    deficit = found[DEFICIT]
    vp = vapour_pressure_of(deficit, found["tmin"], found["tmax"])
    wrong = np.flatnonzero((deficit < 0.0) | (deficit > LARGEST_DEFICIT) | (vp < 0.0))
    if wrong.size:
        i = int(wrong[0])
        raise ForcingError(
            f'"{table.path}", {table.dates[i]}: the deficit is {deficit[i]:g} hPa, expected 0 to the saturation of that day, '
            f"{vp[i] + deficit[i]:.1f} hPa ({wrong.size} such days). Correct the file, or its unit: "
            f"{typed('units', DEFICIT, 'UNIT')}."
        )
    return vp
