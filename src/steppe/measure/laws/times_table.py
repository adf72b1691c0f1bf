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
SIZES, RANKS, TIMES = ("n", "bytes", "size"), ("p", "ranks"), ("t", "time", "average")


@dataclass(frozen=True)
class Series:
    """The times of one series. first_to_later: (bytes, first time over later ones); pack_rate [bytes/s], None where there is none."""

    name: dict[str, str]
    points: SamplePoints
    first_to_later: list[tuple[float, float]]
    pack_rate: float | None


def read_table(path: Path, unit: str | None = None, spread: float | None = None) -> list[Series]:
    """The series of a CSV file. unit: of times whose column does not name it (t_us does); spread: see `medians`.

    Raises
    ------
    Mistake
        The file cannot be read, a column or the unit is missing, a value is no number or below its limit.
    """
    header, lines = _read(path)
    size, ranks = _column(header, SIZES), _column(header, RANKS)
    time, scale = _time(header, TIMES, unit)
    if (size is None and ranks is None) or time is None:
        wanted = "sizes (n or bytes) or ranks (p)" if time is not None else "times (t, time or average, with the unit: t_us)"
        raise Mistake(f'"{path}" has the columns {", ".join(header)}, and none of {wanted}.')
    if scale is None:
        raise Mistake(f'"{path}" does not say the unit of column {header[time]}. Name it t_us, t_ms or t_s, or give --unit us.')
    beside = {name: _time(header, (name,), unit) for name in ("first", "pack")}
    taken = {size, ranks, time, *(column for column, _ in beside.values())}
    names = [column for column in range(len(header)) if column not in taken]
    groups: dict[tuple[str, ...], list[tuple[int, list[str]]]] = {}
    for number, line in lines:
        groups.setdefault(tuple(line[column].strip() for column in names), []).append((number, line))
    found = []
    for key, rows in groups.items():
        n = _numbers(path, rows, size, header, 0.0) if size is not None else np.zeros(len(rows))
        p = _numbers(path, rows, ranks, header, 1.0) if ranks is not None else np.full(len(rows), 2.0)
        t = _numbers(path, rows, time, header, None) * scale
        first, pack = (_beside(path, rows, column, header, factor) for column, factor in beside.values())
        name = {header[column]: text for column, text in zip(names, key, strict=True)}
        found.append(Series(name, medians(n, p, t, spread), _first_to_later(n, first, t), _pack_rate(n, pack)))
    return found


def _read(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
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


def _column(header: list[str], names: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _time(header: list[str], names: tuple[str, ...], unit: str | None) -> tuple[int | None, float | None]:
    """Column and seconds of its unit; None where neither the column nor `unit` names one."""
    if unit is not None and unit not in UNITS:
        raise Mistake(f'--unit "{unit}" is no unit of time.{nearest(unit, UNITS)}')
    for column, name in enumerate(header):
        stem, _, suffix = name.rpartition("_")
        if stem in names and suffix in UNITS:
            return column, UNITS[suffix]
        if name in names:
            return column, UNITS[unit] if unit else None
    return None, None


def _numbers(path: Path, rows: list[tuple[int, list[str]]], column: int, header: list[str], least: float | None) -> Floats:
    values = []
    for number, line in rows:
        try:
            value = float(line[column])
        except ValueError:
            raise Mistake(f'"{path}", line {number}: {header[column]} "{line[column]}" is no number.') from None
        if not np.isfinite(value) or (value <= 0.0 if least is None else value < least):
            limit = "above 0" if least is None else f"{least:g} or more"
            raise Mistake(f'"{path}", line {number}: {header[column]} = {line[column]} must be {limit}.')
        values.append(value)
    return np.array(values)


def _beside(path: Path, rows: list[tuple[int, list[str]]], column: int | None, header: list[str], factor: float | None) -> Floats:
    """Another time of each row, NaN where its cell is empty."""
    found = np.full(len(rows), np.nan)
    if column is not None:
        there = [i for i, (_, line) in enumerate(rows) if line[column].strip()]
        found[there] = _numbers(path, [rows[i] for i in there], column, header, 0.0) * (factor or np.nan)
    return found


def _first_to_later(n: Floats, first: Floats, later: Floats) -> list[tuple[float, float]]:
    return [(float(size), float(one / other)) for size, one, other in zip(n, first, later, strict=True) if np.isfinite(one)]


def _pack_rate(n: Floats, pack: Floats) -> float | None:
    there = np.isfinite(pack) & (pack > 0.0)
    if np.unique(n[there]).size < 2:
        return None
    points = medians(n[there], np.ones(int(there.sum())), pack[there])
    lines = fit_lines(points.sizes, *points.table())
    return float(lines.rate[0]) if lines.has_rate else None
