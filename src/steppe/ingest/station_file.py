"""Station files: `stations.csv` with id, latitude and longitude of every station, and `<id>.csv` or `<id>.csv.gz` with its days.

A station's columns are `date` (ISO) and any of `rain, tmin, tmax, radiation, vp, pan`, or other names of the table in `cf_names`, in
large or small letters. A second line that begins with "units" states the unit of each column; without it they are those of `WEATHER`.
Empty lines, and lines that begin with #, do not count.
Or APSIM files: `<id>.met` in the folder, with or without a `stations.csv`; or one such file in place of the folder.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from datetime import date as Date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ForcingError, GridError, nearest
from steppe.grid import place_columns, semicolons
from steppe.ingest.columns import ColumnNames, ColumnTable, read_columns
from steppe.ingest.met_file import SUFFIX, read_met, read_met_site
from steppe.ingest.station import ONE_DAY, Site, Station, check_place
from steppe.io.forcing.variables import WEATHER

LIST = "stations.csv"
DAY = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
NUMBER = re.compile(r"[-+]?\.?\d")
SUFFIXES = (".csv.gz", ".csv", SUFFIX)  # in the order in which they are looked for


def read_sites(folder: Path) -> dict[str, Site]:
    """Id -> site of every line of `folder`/stations.csv that has a latitude and a longitude, in order of the file.

    Without such a list the APSIM files of the folder are the stations, in the order of their names; `folder` may be one of them.

    Raises
    ------
    ForcingError
        There are no such files, a column is missing, an id comes twice, or a coordinate is not a number or lies nowhere.
    """
    path = folder / LIST
    if path.is_file():
        return _listed(path)
    files = [folder] if folder.is_file() else sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise ForcingError(
            f'There is no "{path}". It must list the stations: id, latitude, longitude. Or give APSIM files (*{SUFFIX}), or --points.'
        )
    for file in files:
        if not file.name.endswith(SUFFIX):
            raise ForcingError(f'"{file}" does not say where its station is. Give the place with --points: id, latitude, longitude.')
    return {file.stem: read_met_site(file) for file in files}


def _listed(path: Path) -> dict[str, Site]:
    sites: dict[str, Site] = {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file, restval="")
        rows.fieldnames = [name.strip().lower() for name in rows.fieldnames or ()]
        try:
            identity, north, east = place_columns(rows.fieldnames)
        except GridError as error:
            raise ForcingError(f'"{path}": {error}') from None
        for line, row in enumerate(rows, start=2):
            name = row[identity].strip()
            if name in sites:
                raise ForcingError(f'"{path}", line {line}: station "{name}" comes a second time. Remove one of the lines.')
            if not row[north].strip() or not row[east].strip():
                continue  # a site without a known place can be neither a donor nor a cell
            try:
                latitude, longitude = float(row[north]), float(row[east])
            except ValueError:
                raise ForcingError(
                    f'"{path}", line {line}: {north} "{row[north]}", {east} "{row[east]}" are not numbers. '
                    "Write decimal degrees, south negative."
                ) from None
            site = Site(name, row.get("name") or name, latitude, longitude, row.get("note") or "")
            sites[name] = check_place(site, f'"{path}", line {line}')
    return sites


def read_station(folder: Path, site: Site, said: ColumnNames | None = None) -> Station:
    """The record of one station, checked: every day once and in order, values present and within their limits, tmin <= tmax.

    Raises
    ------
    ForcingError
        The file is missing or cut short, or a line of it is wrong; the message names file, line or date, and value.
    """
    path = station_file(folder, site.id)
    if path.name.endswith(SUFFIX):
        return read_met(path, site, said)
    (top, names), *rows = _rows(path) or [(1, [])]
    if not rows:
        raise ForcingError(f'"{path}" does not hold a day. It must have a header line and one line a day.')
    date = next((place for place, name in enumerate(names) if name.lower() == "date"), None)
    if date is None:
        advice = semicolons(names) or f" Name the columns: date,{','.join(WEATHER)}."
        raise ForcingError(f'"{path}", line {top}: no column "date" in "{",".join(names)}".{advice}')
    if twice := [name for name in names if names.count(name) > 1]:
        raise ForcingError(f'"{path}", line {top}: the column "{twice[0]}" is there {names.count(twice[0])} times. Keep one.')
    units = dict(zip(names, rows.pop(0)[1], strict=False)) if _has_units(rows[0][1], date) else {}
    for number, row in rows:
        if len(row) != len(names):
            raise ForcingError(
                f'"{path}", line {number}: {len(row)} fields, expected {len(names)} ({",".join(names)}). The file may be cut short; '
                "get it again."
            )
    if not rows:
        raise ForcingError(f'"{path}" does not hold a day: below its units there is no line. It must have one line a day.')
    columns = dict(zip(names, zip(*(row for _, row in rows), strict=True), strict=True))
    stated = {name: unit for name, unit in units.items() if unit}
    dates = _dates(path, columns[names[date]], [number for number, _ in rows])
    return Station(site, path, *read_columns(ColumnTable(path, columns, stated, dates), said or ColumnNames()))


def _has_units(fields: Sequence[str], date: int) -> bool:
    """True for a line of units: it begins with "units", or that or nothing stands in place of the date and no field is a number."""
    if any(label.lower().startswith("units") for label in (fields[0], *fields[date : date + 1])):
        return True
    return fields[date : date + 1] == [""] and not any(NUMBER.match(field) for field in fields)


def station_file(folder: Path, name: str) -> Path:
    """The file of a station: <id>.csv.gz, <id>.csv or <id>.met.

    Raises
    ------
    ForcingError
        There is none; the message has the names that were looked for, and the files that are there.
    """
    if Path(name).name != name:
        raise ForcingError(f'Station "{name}": an id is the name of a file in "{folder}" and holds no folder. Rename the station.')
    if folder.is_file() and _id(folder) == name:
        return folder
    for suffix in SUFFIXES:
        if (path := folder / f"{name}{suffix}").is_file():
            return path
    looked_for = ", ".join(f"{name}{suffix}" for suffix in SUFFIXES)
    held = [folder] if folder.is_file() else [file for suffix in SUFFIXES for file in sorted(folder.glob(f"*{suffix}"))]
    there = nearest(name, {_id(file) for file in held if file.name != LIST})
    where = f'"{folder}" is not the file of station "{name}"' if folder.is_file() else f'"{folder}" has no file of station "{name}"'
    raise ForcingError(f"{where}: {looked_for} was looked for.{there} The ids of points and stations are the names of the files.")


def _id(file: Path) -> str:
    return next((file.name.removesuffix(suffix) for suffix in SUFFIXES if file.name.endswith(suffix)), file.stem)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The number and the fields of each line, without empty lines and comments, which begin with #."""
    reader = csv.reader(_lines(path), skipinitialspace=True)
    try:
        rows = [(reader.line_num, [field.strip() for field in fields]) for fields in reader]
    except csv.Error as error:
        raise ForcingError(f'"{path}", line {reader.line_num}: this is no line of a CSV file ({error}). Correct it.') from None
    return [(number, fields) for number, fields in rows if any(fields) and not fields[0].startswith("#")]


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ForcingError(f'"{path}" is cut short or changed ({error}). Get the file again.') from None
    return data.decode("utf-8-sig", errors="replace").splitlines()  # bytes that are not text are reported as values that are not numbers


def _dates(path: Path, column: Sequence[str], lines: Sequence[int]) -> NDArray[np.datetime64]:
    """The days, each one after the one before. A day is that which is written, whatever time and zone follow it."""
    days = []
    for text, line in zip(column, lines, strict=True):
        try:
            days.append(Date.fromisoformat(text[:10] if DAY.fullmatch(text) else ""))
        except ValueError:
            raise ForcingError(f'"{path}", line {line}: "{text}" is not a date. Write it as 1990-01-31.') from None
    dates = np.array(days, dtype="datetime64[D]")
    steps = np.diff(dates)
    wrong = np.flatnonzero(steps != ONE_DAY)
    if wrong.size:
        gaps = [f"{dates[i] + ONE_DAY} to {dates[i + 1] - ONE_DAY}" for i in wrong]
        back = [i for i in wrong if steps[i] < ONE_DAY]
        if back:
            i = int(back[0])
            what = "comes twice" if steps[i] == 0 * ONE_DAY else f"comes after {dates[i]}"
            raise ForcingError(f'"{path}", line {lines[i + 1]}: {dates[i + 1]} {what}. Every day must be there once, in order.')
        raise ForcingError(f'"{path}" lacks days: {"; ".join(gaps[:5])} ({len(gaps)} such gaps). Fill them where the file is made.')
    return dates
