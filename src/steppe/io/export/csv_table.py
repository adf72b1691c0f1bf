"""CSV files: a line for each place and record, ISO dates, units in the header. Spreadsheets, R and pandas read them as they are."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steppe.array_types import Array
from steppe.errors import Mistake, nearest
from steppe.io.axis import Axis
from steppe.io.export.aside import aside, refuse_existing
from steppe.io.export.selection import ExportSource, Progress, refuse_ensemble
from steppe.io.results.dataset import names_of
from steppe.io.results.records import StoredRecords


def write_cells(
    source: ExportSource,
    path: Path,
    places: Sequence[tuple[float, float]] = (),
    overwrite: bool = False,
    progress: Progress = lambda part: None,
) -> Path:
    """Writes the series of single cells: date, place, latitude, longitude, one column for each variable.

    Parameters
    ----------
    places
        (longitude, latitude) of each wanted cell [degrees]; the cells of the source when there are none.

    Raises
    ------
    GridError
        No active cell is at a place; the message names the nearest one.
    Mistake
        The variables do not share a time axis, or there is an ensemble.
    FolderError, NoSpaceError, Failure, DamagedError
        As for `write_netcdf`.
    """
    refuse_ensemble(source.path)
    refuse_existing([path], overwrite)
    cells = np.array([source.grid.locate(*place) for place in places]) if places else source.cells
    axis = _common_axis(source)
    ids = source.store.small("cell_id") if "cell_id" in source.store.attributes else None
    where = [
        [*([str(ids[cell])] if ids is not None else []), _digits(source.grid.cell_lat[cell]), _digits(source.grid.cell_lon[cell])]
        for cell in cells
    ]
    head = [*(["date"] if axis else []), *(["place"] if ids is not None else []), "latitude", "longitude"]
    units = [str(source.store.attributes[name].get("units", "1")) for name in source.names]
    with aside(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*head, *(f"{name} [{unit}]" for name, unit in zip(source.names, units, strict=True))])
        for blocks in zip(*(source.blocks(name, cells) for name in source.names), strict=True):
            first, count = blocks[0].first, len(blocks[0].values)
            dates = _dates(axis, first, first + count) if axis else [""]
            columns = [_texts(block.values) for block in blocks]
            for row, date in enumerate(dates):
                begin = [date] if axis else []
                writer.writerows([*begin, *place, *(column[row][i] for column in columns)] for i, place in enumerate(where))
            progress((first + count) / source.records(source.names[0]))
    return path


def write_series(
    path: Path,
    series: str,
    target: Path,
    variables: Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes the area means of regions that a run recorded: date, region, one column for each variable.

    Parameters
    ----------
    path, series
        The run, and the name of a series of it; "" when it has only one.

    Raises
    ------
    Mistake
        There is no such series, variable or day; there are several series and none is named; or there is an ensemble.
    FolderError, NoSpaceError, Failure, DamagedError
        As for `write_netcdf`.
    """
    refuse_ensemble(path)
    refuse_existing([target], overwrite)
    name = _only_series(path, series)
    store = StoredRecords.open(path, name)
    held = sorted(store.names)
    for variable in variables or []:
        if variable not in held:
            raise Mistake(f'Series "{name}" of "{path}" holds no variable "{variable}".{nearest(variable, held)}')
    names = list(variables or held)
    axis, committed = store.whole["time"], min(store.axes[variable].rows for variable in names)
    found = axis.between(start, end)
    if found is None or found.start >= min(found.stop, committed) or (end and found.stop > committed):
        raise Mistake(f'Series "{name}" of "{path}" holds {_period(axis, committed)}. Ask for days of these, written as 1990-01-31.')
    records = slice(found.start, min(found.stop, committed))
    columns = [_texts(store.read(variable, records)) for variable in names]
    regions = [str(region) for region in store.small("region")]
    with aside(target) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["date", "region", *(f"{variable} [{store.attributes[variable]['units']}]" for variable in names)])
        for row, date in enumerate(_dates(axis, records.start, records.stop)):
            writer.writerows([date, region, *(column[row][i] for column in columns)] for i, region in enumerate(regions))
    return target


def _only_series(path: Path, series: str) -> str:
    held = names_of(path, "series")
    if series in held:
        return series
    StoredRecords.open(path)  # raises if there is no store at all
    if series:
        raise Mistake(f'"{path}" has no series "{series}".{nearest(series, held)}')
    if len(held) == 1:
        return held[0]
    choice = f"one of its series with --series ({', '.join(held)}), or cells" if held else "cells"
    raise Mistake(f'Of "{path}" a CSV file takes {choice} with --at LATITUDE,LONGITUDE or --region. Give one.')


def _common_axis(source: ExportSource) -> Axis | None:
    dims = list(dict.fromkeys(source.time_of(name) for name in source.names))
    if len(dims) > 1:
        times = "; ".join(f"{name}: {source.time_of(name) or 'no time'}" for name in source.names)
        raise Mistake(f'The variables of "{source.path}" do not share a time axis ({times}). Name some that do with --variables.')
    return source.axes[dims[0]] if dims[0] else None


def _period(axis: Axis, records: int) -> str:
    if not records:
        return f"nothing yet of {axis.period()}"
    return f"{axis.begin_of(0)} to {axis.end_of(records - 1)}"


def _dates(axis: Axis, first: int, stop: int) -> list[str]:
    """First days of some records, or the instants of their ends."""
    return [axis.name_of(row) for row in range(first, stop)]


def _texts(values: Array) -> list[list[str]]:
    """Numbers with as many digits as their type needs; an empty text for a missing one."""
    texts = values.astype(str)
    texts[~np.isfinite(values)] = ""
    rows: list[list[str]] = texts.tolist()
    return rows


def _digits(value: float) -> str:
    return f"{value:.10g}"
