"""Station files: `stations.csv` with id, lat, lon of every station, and `<id>.csv.gz` (or `<id>.csv`) with its days.

A station's columns are `date` (ISO) and any of `rain, tmin, tmax, radiation, vp, pan`; `src` and other remarks are not read. A second line
that begins with "units" names the unit of each column; without it they are those of `WEATHER`. A column empty on all days is absent.
Or APSIM files: `<id>.met` in the folder, with or without a `stations.csv`; or one such file in place of the folder.
"""

import csv
import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ForcingError, nearest
from steppe.io.forcing_variables import WEATHER
from steppe.io.ingest.met_file import SUFFIX, read_met, read_met_site
from steppe.io.ingest.meteorology import Values
from steppe.io.ingest.station import ONE_DAY, Site, Station, check_limits, numbers
from steppe.io.units import conversion

REMARKS = ("src",)


def read_sites(folder: Path) -> dict[str, Site]:
    """Id -> site of every line of `folder`/stations.csv that has a latitude and a longitude, in order of the file.

    Without such a list the APSIM files of the folder are the stations, in the order of their names; `folder` may be one of them.

    Raises
    ------
    ForcingError
        There are no such files, a column lacks, an id comes twice, or a coordinate is no number.
    """
    path = folder / "stations.csv"
    if not path.is_file():
        files = [folder] if folder.is_file() else sorted(folder.glob(f"*{SUFFIX}"))
        if not files:
            raise ForcingError(f'There is no "{path}". It must list the stations: id, name, lat, lon. Or give APSIM files, *{SUFFIX}.')
        return {file.stem: read_met_site(file) for file in files}
    sites: dict[str, Site] = {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        lacking = {"id", "lat", "lon"} - set(rows.fieldnames or ())
        if lacking:
            raise ForcingError(f'"{path}" has no column {", ".join(sorted(lacking))}. Its first line must name id, lat and lon.')
        for line, row in enumerate(rows, start=2):
            if row["id"] in sites:
                raise ForcingError(f'"{path}", line {line}: station "{row["id"]}" comes a second time. Remove one of the lines.')
            if not row["lat"] or not row["lon"]:
                continue  # a site without a known place can be no donor and no cell
            try:
                latitude, longitude = float(row["lat"]), float(row["lon"])
            except ValueError:
                raise ForcingError(
                    f'"{path}", line {line}: lat "{row["lat"]}", lon "{row["lon"]}" are no numbers. Write decimal degrees, south negative.'
                ) from None
            sites[row["id"]] = Site(row["id"], row.get("name") or row["id"], latitude, longitude, row.get("note") or "")
    return sites


def read_station(folder: Path, site: Site) -> Station:
    """The record of one station, checked: every day once and in order, values present and within their limits, tmin <= tmax.

    Raises
    ------
    ForcingError
        The file is missing or cut short, or a line of it is wrong; the message names file, line or date, and value.
    """
    path = station_file(folder, site.id)
    if path.suffix == SUFFIX:
        return read_met(path)
    lines = _lines(path)
    if len(lines) < 2:
        raise ForcingError(f'"{path}" holds no day. It must have a header line and one line a day.')
    names = lines[0].split(",")
    _check_names(path, names)
    units = dict(zip(names, lines[1].split(","), strict=False)) if lines[1].startswith("units") else {}
    top = 1 + bool(units)
    rows = [line.split(",") for line in lines[top:]]
    for number, row in enumerate(rows, start=top + 1):
        if len(row) != len(names):
            raise ForcingError(
                f'"{path}", line {number}: {len(row)} fields, expected {len(names)} ({lines[0]}). The file may be cut short; get it again.'
            )
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    dates = _dates(path, columns["date"], top)
    values: dict[str, Values] = {}
    for name in WEATHER:
        if name in columns and any(columns[name]):
            line = conversion(units.get(name, WEATHER[name].units), WEATHER[name].units, f'"{path}", column "{name}"')
            values[name] = numbers(path, name, columns[name], dates) * line.factor + line.offset
    if "rain" not in values:
        raise ForcingError(f'"{path}" has no rain on any day. A station needs at least a rain column.')
    check_limits(path, values, dates)
    return Station(site, path, dates[0], values)


def station_file(folder: Path, name: str) -> Path:
    """The file of a station, compressed or not.

    Raises
    ------
    ForcingError
        There is none.
    """
    if folder.is_file() and folder.stem == name:
        return folder
    for path in (folder / f"{name}.csv.gz", folder / f"{name}.csv", folder / f"{name}{SUFFIX}"):
        if path.is_file():
            return path
    raise ForcingError(f'There is no "{folder / name}.csv.gz" for station "{name}". Add the file, or take the station out of the list.')


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ForcingError(f'"{path}" is cut short or changed ({error}). Get the file again.') from None
    return data.decode("utf-8-sig", errors="replace").splitlines()  # what is no text is found as no number


def _check_names(path: Path, names: list[str]) -> None:
    if "date" not in names:
        raise ForcingError(f'"{path}", line 1: no column "date" in "{",".join(names)}". Name the columns: date,{",".join(WEATHER)}.')
    for name in names:
        if name not in ("date", *WEATHER, *REMARKS):
            raise ForcingError(f'"{path}", line 1: column "{name}" is not known.{nearest(name, WEATHER)}')


def _dates(path: Path, column: Iterable[str], top: int) -> NDArray[np.datetime64]:
    """The days, each one after the one before."""
    texts = list(column)
    try:
        dates = np.array(texts, dtype="datetime64[D]")
    except ValueError:
        line, text = next((i, text) for i, text in enumerate(texts, start=top + 1) if not _is_date(text))
        raise ForcingError(f'"{path}", line {line}: "{text}" is not a date. Write it as 1990-01-31.') from None
    steps = np.diff(dates)
    wrong = np.flatnonzero(steps != ONE_DAY)
    if wrong.size:
        gaps = [f"{dates[i] + ONE_DAY} to {dates[i + 1] - ONE_DAY}" for i in wrong]
        back = [i for i in wrong if steps[i] < ONE_DAY]
        if back:
            i = int(back[0])
            what = "comes twice" if steps[i] == 0 * ONE_DAY else f"comes after {dates[i]}"
            raise ForcingError(f'"{path}", line {i + top + 2}: {dates[i + 1]} {what}. Every day must be there once, in order.')
        raise ForcingError(f'"{path}" lacks days: {"; ".join(gaps[:5])} ({len(gaps)} such gaps). Fill them where the file is made.')
    return dates


def _is_date(text: str) -> bool:
    try:
        np.datetime64(text, "D")
    except ValueError:
        return False
    return bool(text)
