"""The weather of a run: a store, fields, or station files for a grid of points with the ids of the stations."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from steppe.clock import length_text
from steppe.engine.run_file import ForcingSection, RunFile
from steppe.errors import ForcingError, RunFileError, some
from steppe.grid import Grid, Points
from steppe.io import FieldStore, ForcingStore
from steppe.kernels import cache_folder
from steppe.variable import Variable

ADVICE = "Remove [grid] from the run file: the run then takes the grid of its weather. Or make a store for the grid of the run."


def open_weather(run: RunFile, grid: Grid) -> ForcingStore | FieldStore | None:
    """The forcing store or the store of fields of a run, None for a run without weather.

    Station files become a store in the cache. Steppe makes it again when a file, the points, the period, `map` or `units` change.

    Raises
    ------
    RunFileError
        Stations are given for a grid that is not a list of points.
    ForcingError
        There is no such store, it is for another grid, or a station file is wrong.
    """
    if run.forcing is None:
        return None
    if run.forcing.fields is not None:
        return FieldStore.open(run.forcing.fields)
    if run.forcing.store is not None:
        store = ForcingStore.open(run.forcing.store)
        store.check_grid(grid, ADVICE)
        return store
    assert run.forcing.stations is not None
    if not isinstance(grid, Points):
        raise RunFileError(
            '[forcing] "stations" are for a grid of points with the same ids. For a raster make a store: `steppe ingest stations`.'
        )
    return ForcingStore.open(_store(run.forcing.stations, grid, run, run.forcing))


def weather_cautions(
    forcing: ForcingStore | FieldStore | None, variables: Mapping[str, Variable], cadence: Mapping[str, str], step: timedelta | None
) -> list[str]:
    """What a run does with its weather that is possible, and perhaps not meant. variables: those that it reads; step: None for months."""
    if forcing is None:
        return []
    if isinstance(forcing, FieldStore):
        told = list(filter(None, (forcing.off_stamps(name, variable.between == "last") for name, variable in variables.items())))
        return told + ([] if step is None else _passed_over(forcing, list(variables), step))
    rounded = []
    for name in sorted(cadence):
        stored = forcing.variables.get(name)
        if stored and cadence[name] != "1 day" and stored.axis.is_daily and stored.layout.dtype == "int16":
            rounded.append(f"{name} to {stored.scale:g} {stored.units}")
    if not rounded:
        return []
    return [
        f"[forcing] cadence: the store is packed, so weekly means are rounded: {', '.join(rounded)}. A mean below half of that is 0. "
        "A store made with --exact keeps them."
    ]


def unread(forcing: ForcingStore | FieldStore | None, read: Collection[str]) -> list[str]:
    """The maps of a store of fields that a run does not read. Packed weather is made for many models."""
    return [name for name in forcing.maps if name not in read] if isinstance(forcing, FieldStore) else []


def _passed_over(store: FieldStore, names: Sequence[str], step: timedelta) -> list[str]:
    """A sentence for each number of records that a step takes less than; it takes the values of one instant, out of two records."""
    found: dict[timedelta, list[str]] = {}
    for name in names:
        apart = store.apart(name)
        if apart and step > 2 * apart > timedelta(0):
            found.setdefault(apart, []).append(name)
    return [
        f'"{store.path}" has records of {some(each, 5)} every {length_text(apart)}, and a step of {length_text(step)} takes two at most, '
        f"of {step / apart:.3g}. Take a shorter step, or a store of means."
        for apart, each in found.items()
    ]


def _store(folder: Path, grid: Points, run: RunFile, section: ForcingSection) -> Path:
    from steppe.ingest import ColumnNames, StationChoices, ingest_stations, station_file

    said = ColumnNames(section.map, section.units)
    digest = hashlib.sha256(f"{grid.digest} {run.time.start} {run.time.end} {json.dumps(said, sort_keys=True)} ".encode())
    listed = folder / "stations.csv"
    for file in [*([listed] if listed.is_file() else []), *(station_file(folder, station) for station in grid.ids)]:
        try:
            digest.update(file.read_bytes())
        except OSError as error:
            raise ForcingError(f'"{file}" cannot be read: {error.strerror}. Each point needs the file of its station.') from None
    path = cache_folder().parent / "forcing" / f"{digest.hexdigest()[:24]}.zarr"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        ingest_stations(folder, path, grid, run.time.start, run.time.end, StationChoices(said=said))
    return path
