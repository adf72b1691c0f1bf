"""Tables of measured times: CSV with a header.

bytes,t_us                       one series           columns   n, bytes or size [bytes]; p or ranks;
ranks,bytes,average_us           p varies, too                  t, time or average; first and pack beside it
operation,ranks,bytes,t_us       a series an operation          any other column distinguishes series
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steppe.array_types import Floats
from steppe.errors import Mistake, nearest
from steppe.measure.laws.points import SamplePoints, medians
from steppe.measure.laws.size_lines import fit_lines

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SIZE_UNITS = ("b", "bytes")
SIZES, RANKS, TIMES, BESIDE = ("n", "bytes", "size"), ("p", "ranks"), ("t", "time", "average"), ("first", "pack")
Line = tuple[int, list[str]]  # its number, and its cells
MEANINGS = {"sizes": SIZES, "ranks": RANKS, "times": TIMES, "first times": ("first",), "packing": ("pack",)}


@dataclass(frozen=True)
class Series:
    """The times of one series. first_to_later: (bytes, first time over later ones); pack_rate [bytes/s], None where there is none.

    has_sizes: false if the table has no column of sizes; every message then has 0 bytes.
    """

    name: dict[str, str]
    points: SamplePoints
    first_to_later: list[tuple[float, float]]
    pack_rate: float | None
    has_sizes: bool = True


def read_table(path: Path, unit: str | None = None, spread: float | None = None) -> list[Series]:
    """The series of a CSV file. unit: of times whose column does not name it (t_us does); spread: see `medians`.

    Raises
    ------
    Mistake
        The file cannot be read, or a value is no number, below its limit, or no whole number of ranks. A column or the unit is missing,
        two columns have one meaning, a unit is not known, or no column needs `unit`.
    """
    if unit is not None and unit not in UNITS:
        raise Mistake(f'--unit "{unit}" is no unit of time.{nearest(unit, UNITS)}')
    header, lines = _read(path)
    _check_units(path, header)
    size, ranks, time, first, pack = (_column(path, header, what) for what in MEANINGS)
    if (size is None and ranks is None) or time is None:
        wanted = "sizes (n or bytes) or ranks (p)" if time is not None else "times (t, time or average, with the unit: t_us)"
        raise Mistake(
            f'"{path}" has the column {header[0]} alone. Separate the columns by commas, as n,t_us.'
            if len(header) == 1
            else f'"{path}" has the columns {", ".join(header)}, and none of {wanted}.'
        )
    scales = _scales(path, header, [column for column in (time, first, pack) if column is not None], unit)
    taken = {size, ranks, *scales}
    names = [column for column in range(len(header)) if column not in taken]
    groups: dict[tuple[str, ...], list[Line]] = {}
    for number, line in lines:
        groups.setdefault(tuple(line[column].strip() for column in names), []).append((number, line))
    found = []
    for key, rows in groups.items():
        n = _numbers(path, rows, size, header, 0.0) if size is not None else np.zeros(len(rows))
        p = _numbers(path, rows, ranks, header, 1.0, whole=True) if ranks is not None else np.full(len(rows), 2.0)
        t = _numbers(path, rows, time, header, None) * scales[time]
        firsts, packs = (_beside(path, rows, column, header, scales) for column in (first, pack))
        name = {header[column]: text for column, text in zip(names, key, strict=True)}
        ratios = [(float(n[i]), float(firsts[i] / t[i])) for i in np.flatnonzero(np.isfinite(firsts))]
        found.append(Series(name, medians(n, p, t, spread), ratios, _pack_rate(n, packs), size is not None))
    return found


def _read(path: Path) -> tuple[list[str], list[Line]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets write a byte order mark
            reader = csv.reader(file)
            lines = [(reader.line_num, line) for line in reader if any(value.strip() for value in line)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        text = error.strerror if isinstance(error, OSError) else str(error)
        raise Mistake(f'"{path}" cannot be read as CSV: {text}.') from None
    if len(lines) < 2:
        raise Mistake(
            f'"{path}" holds {"a header and no times" if lines else "nothing"}. Give a header such as n,t_us and a line for each time.'
        )
    header = [name.strip().lower() for name in lines[0][1]]
    for number, line in lines[1:]:
        if len(line) != len(header):
            raise Mistake(f'"{path}", line {number}: {len(line)} values, the header names {len(header)} columns.')
    return header, lines[1:]


def _check_units(path: Path, header: list[str]) -> None:
    """Refuses a name that stands twice, and one that begins as a size or a time does but ends with no unit of it."""
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise Mistake(f'"{path}" has two columns {twice}. Keep one of them.')
    for name in header:
        stem, joint, suffix = name.rpartition("_")
        for stems, what, units in ((SIZES, "size", SIZE_UNITS), ((*TIMES, *BESIDE), "time", tuple(UNITS))):
            if joint and name.startswith(tuple(f"{one}_" for one in stems)) and not (stem in stems and suffix in units):
                ending = name.split("_", 1)[1]
                raise Mistake(
                    f'"{path}": column {name} begins as a {what} does, but "{ending}" is no unit of it. Known: {", ".join(units)}. '
                    "Convert the column, or rename it if it separates series."
                )


def _column(path: Path, header: list[str], what: str) -> int | None:
    """The column of a meaning, with or without a unit in its name; None if there is none."""
    stems = MEANINGS[what]
    found = [column for column, name in enumerate(header) if name in stems or (stems != RANKS and name.rpartition("_")[0] in stems)]
    if len(found) > 1:
        raise Mistake(f'"{path}" has {len(found)} columns of {what}: {", ".join(header[column] for column in found)}. Keep one of them.')
    return found[0] if found else None


def _scales(path: Path, header: list[str], columns: list[int], unit: str | None) -> dict[int, float]:
    """Seconds of the unit of each column of times; `unit` is that of the columns that do not name it."""
    bare = [header[column] for column in columns if "_" not in header[column]]
    if bare and unit is None:
        raise Mistake(
            f'"{path}" does not say the unit of column {bare[0]}. Name it {bare[0]}_us, {bare[0]}_ms or {bare[0]}_s, or give --unit us.'
        )
    if unit is not None and not bare:
        raise Mistake(f'--unit {unit} is not used: column {header[columns[0]]} of "{path}" names its own unit. Leave out --unit.')
    return {column: UNITS[header[column].rpartition("_")[2] if "_" in header[column] else str(unit)] for column in columns}


def _numbers(path: Path, rows: list[Line], column: int, header: list[str], least: float | None, whole: bool = False) -> Floats:
    values = []
    for number, line in rows:
        try:
            value = float(line[column])
        except ValueError:
            raise Mistake(f'"{path}", line {number}: {header[column]} "{line[column]}" is no number.') from None
        if not np.isfinite(value) or (value <= 0.0 if least is None else value < least):
            limit = "above 0" if least is None else f"{least:g} or more"
            raise Mistake(f'"{path}", line {number}: {header[column]} = {line[column]} must be {limit}.')
        if whole and not value.is_integer():
            raise Mistake(f'"{path}", line {number}: {header[column]} = {line[column]} must be a whole number of ranks.')
        values.append(value)
    return np.array(values)


def _beside(path: Path, rows: list[Line], column: int | None, header: list[str], scales: dict[int, float]) -> Floats:
    """Another time of each row, NaN where its cell is empty."""
    found = np.full(len(rows), np.nan)
    if column is not None:
        there = [i for i, (_, line) in enumerate(rows) if line[column].strip()]
        found[there] = _numbers(path, [rows[i] for i in there], column, header, 0.0) * scales[column]
    return found


def _pack_rate(n: Floats, pack: Floats) -> float | None:
    there = np.isfinite(pack) & (pack > 0.0)
    if np.unique(n[there]).size < 2:
        return None
    points = medians(n[there], np.ones(int(there.sum())), pack[there])
    lines = fit_lines(points.sizes, *points.table())
    return float(lines.rate[0]) if lines.has_rate else None
