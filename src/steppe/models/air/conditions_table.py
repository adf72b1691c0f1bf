"""The rows of a table of conditions, a CSV file: one entry on each line, or names in the first line and values in the second."""

import csv
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from steppe.errors import ModelError

PREFIXES = ("ENV", "CONC", "PHOTO", "USER", "EMIS", "LOSS", "SURF")
SEPARATORS = {";": "a semicolon", "\t": "a tab"}  # of other programs; a comma is expected


class Row(NamedTuple):
    """Place of an entry, for messages; name, unit ("" if there is none) and values of it."""

    where: str
    name: str
    unit: str
    values: list[str]


def read_rows(path: Path, names: Collection[str], units: Collection[str]) -> list[Row]:
    """The entries of a file. names: those that need no prefix. units: those that may stand behind a dot, as in "CONC.O3.mol m-3".

    Raises
    ------
    ModelError
        It cannot be read, is empty, has another separator, has a name twice or without a value, or has conditions that change in time.
    """
    (first, header), *rest = numbered = _cells(path)
    if len(header) > 1 and rest and all(_prefixed(cell) or _split(cell, units)[0] in names for cell in header if cell):
        n, values = _values_of(path, _without_end(header), rest, units)
        entries = [(first, n, cell, [value]) for cell, value in zip(header, values, strict=False) if _split(cell, units)[0] != "time"]
    else:
        name = _split(header[0], units)[0]
        titled = not (_prefixed(name) or name in names) and any(header[1:]) and not _numeric(header[1])
        entries = [(n, n, cells[0], cells[1:]) for n, cells in (rest if titled else numbered)]
        if not entries:
            raise _empty(path)
    found: dict[str, tuple[int, Row]] = {}
    for line, n, cell, values in entries:
        row = Row(f'"{path}", line {n}', *_split(cell, units), [value for value in values if value])
        if not row.values:
            raise ModelError(f"{row.where}: {row.name} has no value. Write one, as {row.name},1.0e-6, or remove the name.")
        short = row.name.removeprefix("CONC.").removeprefix("ENV.")
        if short in found:
            before = found[short][0]
            both = f"lines {before} and {line} have" if before != line else f"line {line} has"
            raise ModelError(f'"{path}", {both} {row.name} twice. Remove one.')
        found[short] = line, row
    return [row for _, row in found.values()]


def _cells(path: Path) -> list[tuple[int, list[str]]]:
    """Number and cells of each line that has some."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "this is no text file in UTF-8. Save it as CSV in UTF-8")
        raise ModelError(f'The conditions "{path}" cannot be read: {why}.') from None
    lines = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]
    numbered = [(n, row) for n, row in enumerate(lines, 1) if any(row) and not row[0].startswith("#")]
    if not numbered:
        raise _empty(path)
    for n, row in numbered:
        for sign, called in SEPARATORS.items():
            if any(sign in cell for cell in row):
                raise ModelError(f'"{path}", line {n}: {called} separates name and value. Separate them with a comma, as CONC.O3,2.5e-6.')
    return numbered


def _empty(path: Path) -> ModelError:
    return ModelError(f'The conditions "{path}" are empty. Write lines such as CONC.O3,2.5e-6 or ENV.temperature,290.')


def _values_of(path: Path, names: Sequence[str], rest: Sequence[tuple[int, list[str]]], units: Collection[str]) -> tuple[int, list[str]]:
    """Number and values of the second line, one for each name of the first; that of the time must be 0."""
    if len(rest) > 1:
        raise ModelError(f'"{path}" has {len(rest)} rows of conditions. A box takes one: conditions that change in time are not read.')
    n, values = rest[0]
    values = _without_end(values) if len(values) > len(names) else values
    if len(values) != len(names):
        some = f"{len(values)} value{'s' * (len(values) != 1)}"
        raise ModelError(f'"{path}", line {n} has {some} for {len(names)} names. Write one value for each name.')
    for name, value in zip(names, values, strict=True):
        if _split(name, units)[0] == "time" and value and not (_numeric(value) and float(value) == 0.0):
            why = "0 is expected, the start. Conditions that change in time are not read"
            raise ModelError(f'"{path}", line {n}: {name} is {value}, and {why}.')
    return n, values


def _without_end(cells: Sequence[str]) -> list[str]:
    """Without the empty cells behind the last one that is not."""
    last = max((n for n, cell in enumerate(cells, 1) if cell), default=0)
    return list(cells[:last])


def _prefixed(cell: str) -> bool:
    return cell.split(".")[0] in PREFIXES or _split(cell, ("s",))[0] == "time"


def _numeric(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _split(text: str, units: Collection[str]) -> tuple[str, str]:
    """Name and unit of "CONC.O3 [mol m-3]" or "CONC.O3.mol m-3"; the unit may be missing."""
    if text.endswith("]") and "[" in text:
        name, _, unit = text[:-1].partition("[")
        return name.strip(), unit.strip()
    name, _, last = text.rpartition(".")
    return (name, last) if (name.count(".") or name == "time") and last in units else (text, "")
