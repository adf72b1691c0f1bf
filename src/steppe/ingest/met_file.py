"""Weather files of APSIM (.met): a header of `name = value` lines, a line of columns, a line of their units, one line a day.

    [weather.met.weather]
    !Station: Dalby Airport          comments begin with !, anywhere in a line; empty lines do not count
    latitude = -27.16 (DECIMAL DEGREES)
    longitude = 151.26
    year day radn maxt mint rain pan vp code
    ()   ()  (MJ/m^2) (oC) (oC) (mm) (mm) (hPa) ()
    1990 1   26.0 31.2 19.4 0.0 8.2 20.1 222222

A line of the header such as `vp = 10.0 (hPa)` gives weather that is the same on every day.

Rain is credited to the day of the reading. Pan evaporation is, in files from SILO, already moved to the day before the reading, and the
header says so; Steppe takes it as it is in both cases, and the store says which.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ForcingError
from steppe.ingest.cf_names import DOUBTFUL, station_names
from steppe.ingest.columns import ColumnNames, ColumnTable, read_columns
from steppe.ingest.station import ONE_DAY, Site, Station, check_place, moved

SUFFIX = ".met"
EXAMPLE = {"latitude": "-27.16", "longitude": "151.26"}
PLACE = re.compile(r"([-+]?\d+(?:\.\d*)?)\s*(?:\(.*\))?")  # a number, and words in brackets; "27.16 S" would be taken for the north
MOVED = re.compile(r"(evap|pan)[^.]*(shift|moved|previous day|day before|day earlier|one day)", re.IGNORECASE)
PAN_AS_SAID = "pan evaporation is credited to the day before its reading, as the header says"
PAN_UNSAID = "the header does not say to which day pan evaporation is credited; it is taken as it stands"


class _Text(NamedTuple):
    """A file taken apart. rows: number of the line, counted from 1, and fields of each day."""

    constants: dict[str, str]
    comments: str
    names: list[str]
    units: list[str]
    rows: list[tuple[int, list[str]]]


def read_met_site(path: Path) -> Site:
    """The place of the station of a file; its id is the name of the file.

    Raises
    ------
    ForcingError
        The header has no latitude or longitude or an impossible one, or the file is not an APSIM file.
    """
    return check_place(_site(path, _take_apart(path)), f'"{path}"')


def read_met(path: Path, site: Site | None = None, said: ColumnNames | None = None) -> Station:
    """The record of a file, checked: every day once and in order, values present and within their limits, tmin <= tmax.

    Parameters
    ----------
    site
        The place of the station; default: as in the header.
    said
        Names and units of columns, from the user.

    Raises
    ------
    ForcingError
        The file is not an APSIM file, or a line of it is wrong; the message names file, line or date, and value.
    """
    text = _take_apart(path)
    for number, row in text.rows:
        if len(row) != len(text.names):
            raise ForcingError(
                f'"{path}", line {number}: {len(row)} fields, expected {len(text.names)} ({" ".join(text.names)}). '
                "The file may be cut short; get it again."
            )
    columns = {name: tuple(row[place] for _, row in text.rows) for place, name in enumerate(text.names)}
    units = {name: unit for name, unit in zip(text.names, text.units, strict=True) if unit}
    notes = []
    for name, value in _same_every_day(text, said or ColumnNames()).items():
        amount, _, unit = value.partition("(")
        columns[name], units[name] = (amount.strip(),) * len(text.rows), unit.rstrip(") ")
        notes.append(f"{name} = {value} on every day, as the header says")
    record = read_columns(ColumnTable(path, columns, units, _dates(path, text, columns)), said or ColumnNames())
    notes += [PAN_AS_SAID if MOVED.search(text.comments) else PAN_UNSAID] if "pan" in record.values else []
    if site is None:
        site = check_place(_site(path, text), f'"{path}"')
    elif {"latitude", "longitude"} <= set(text.constants):
        notes += moved(site, _site(path, text), f"the header of {path.name}")
    return Station(site, path, *record, tuple(notes))


def _take_apart(path: Path) -> _Text:
    constants: dict[str, str] = {}
    comments: list[str] = []
    names: list[str] = []
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise ForcingError(f'"{path}" cannot be read: {error.strerror}.') from None
    for number, line in enumerate(lines, start=1):
        said, _, comment = line.partition("!")
        comments.append(comment)
        fields = said.split()
        if not fields or said.lstrip().startswith("["):
            continue
        if "=" in said:
            name, _, value = said.partition("=")
            constants[name.strip().lower()] = value.strip()
        elif not names:
            names = [field.lower() for field in fields]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ForcingError(f'"{path}", line {number}: the column "{twice[0]}" is there {names.count(twice[0])} times. Keep one.')
        else:
            units = [unit.strip() for unit in re.findall(r"\(([^)]*)\)", said)]
            if not said.lstrip().startswith("(") or len(units) != len(names):
                raise ForcingError(
                    f'"{path}", line {number}: "{said.strip()}" are no units of the {len(names)} columns {" ".join(names)}. '
                    "Each needs one, in brackets: () () (MJ/m^2) (oC)."
                )
            rows = [(at, line.partition("!")[0].split()) for at, line in enumerate(lines[number:], start=number + 1)]
            return _Text(constants, "\n".join(comments), names, units, [(at, row) for at, row in rows if row])
    raise ForcingError(
        f'"{path}" has no line of columns with a line of units below it. An APSIM weather file has: year day radn maxt mint rain.'
    )


def _same_every_day(text: _Text, said: ColumnNames) -> dict[str, str]:
    """The weather that the header gives as one number, where no column does: name -> number and unit."""
    known = {**station_names(), **{column.lower(): name for name, column in said.names.items()}, DOUBTFUL: DOUBTFUL}
    held = {known.get(name) for name in text.names}
    return {name: value for name, value in text.constants.items() if name in known and known[name] not in held}


def _site(path: Path, text: _Text) -> Site:
    place = []
    for name in ("latitude", "longitude"):
        number = PLACE.fullmatch(text.constants.get(name, ""))
        if not number:
            found = f'"{name} = {text.constants[name]}"' if name in text.constants else f"no {name}"
            raise ForcingError(
                f'"{path}": the header has {found}. Write {name} = {EXAMPLE[name]}, decimal degrees, south and west negative. '
                f'Or give the place of "{path.stem}" with --points.'
            )
        place.append(float(number.group(1)))
    named = re.search(r"(?:station name|station)\s*[:=]\s*(.+)", text.comments, re.IGNORECASE)
    name = text.constants.get("station name") or (named.group(1).strip() if named else path.stem)
    return Site(path.stem, name, place[0], place[1], "")


def _dates(path: Path, text: _Text, columns: dict[str, tuple[str, ...]]) -> NDArray[np.datetime64]:
    """The days of the lines, each one after the one before."""
    for name in ("year", "day"):
        if name not in columns:
            raise ForcingError(
                f'"{path}" has no column "{name}"; it has {" ".join(text.names)}. Days are given as year and day of the year.'
            )
    found: list[np.datetime64] = []
    for (number, _), year, day in zip(text.rows, columns["year"], columns["day"], strict=True):
        try:
            new_year = np.datetime64(f"{int(year):04d}-01-01")
            date = new_year + (int(day) - 1) * ONE_DAY
            if not 1 <= int(day) <= 366 or str(date)[:4] != f"{int(year):04d}":
                raise ValueError
        except ValueError:
            raise ForcingError(f'"{path}", line {number}: year {year}, day {day} is no day. Days of a year count from 1.') from None
        if found and date != found[-1] + ONE_DAY:
            raise ForcingError(
                f'"{path}", line {number}: {date} comes after {found[-1]}, expected {found[-1] + ONE_DAY}. '
                "Every day must be there once, in order."
            )
        found.append(date)
    if not found:
        raise ForcingError(f'"{path}" holds no day. There must be one line a day below the units.')
    return np.array(found, dtype="datetime64[D]")
