"""Stations as the cells of a grid: each keeps its own record, in full precision."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from steppe.errors import ForcingError, nearest
from steppe.grid import Points
from steppe.io.axis import Axis
from steppe.io.forcing_variables import WEATHER
from steppe.io.forcing_writer import About, ForcingWriter, Written
from steppe.io.ingest.meteorology import PAN_REMARK, VP_REMARK, Values, pan_evaporation, saturation_vapour_pressure
from steppe.io.ingest.report import Report
from steppe.io.ingest.source import source_file
from steppe.io.ingest.station import Station
from steppe.io.ingest.station_file import read_sites, read_station

REMARKS = {"vp": VP_REMARK, "pan": PAN_REMARK}


def keep_stations(folder: Path, path: Path, grid: Points, axis: Axis, licence: str, progress: Callable[[float], None]) -> Report:
    """Makes a store of the records of the stations that the points are named for, float64.

    Vapour pressure or pan evaporation that a station lacks is computed, and the store says of which and how.

    Raises
    ------
    ForcingError
        A point is no station, or its file is wrong, lacks a column or does not cover the days of `axis`.
    """
    sites = read_sites(folder)
    for name in grid.ids:
        if name not in sites:
            raise ForcingError(f'Point "{name}" is no station of "{folder}".{nearest(name, sites)}')
    weather = {name: np.empty((axis.rows, grid.n_cells)) for name in WEATHER}
    derived: dict[str, list[str]] = {name: [] for name in REMARKS}
    sources = []
    said_of: dict[str, list[str]] = defaultdict(list)
    for cell, name in enumerate(grid.ids):
        station = read_station(folder, sites[name])
        values = _complete(station, axis, derived)
        for key, table in weather.items():
            table[:, cell] = values[key]
        sources.append(source_file(station.file))
        for note in station.notes:
            said_of[note].append(name)
        progress((cell + 1) / grid.n_cells)
    remarks = tuple(f"{note} ({', '.join(ids)})" for note, ids in said_of.items())
    about = About(
        title=f"Daily weather of {grid.n_cells} stations, {axis.period()}",
        summary="Station records as they are. Rain is credited to the day of the reading"
        + (f". {'. '.join(remarks)}. " if remarks else ", pan evaporation to the day before it. ")
        + "Records are patched where a station did not observe; see their source codes.",
        history="; ".join([f"steppe ingest stations, {axis.period()}, unchanged", *remarks]),
        weather="stations",
        licence=licence,
        source=sources,
    )
    said = {name: {"derivation": REMARKS[name], "derived_at": ids} for name, ids in derived.items() if ids}
    written = [Written(variable, axis, "float64", attributes=said.get(variable.name, {})) for variable in WEATHER.values()]
    with ForcingWriter(path, grid, written, about) as writer:
        for name, table in weather.items():
            for block in writer.blocks(name):
                writer.write(name, block, table[block.steps.start : block.steps.stop, block.cells.start : block.cells.stop])
    notes = tuple(f"{name} of {', '.join(ids)}: {REMARKS[name]}" for name, ids in derived.items() if ids) + remarks
    return Report(path, grid.n_cells, axis.rows, {}, float(weather["rain"].mean() * 365.25), notes)


def _complete(station: Station, axis: Axis, derived: Mapping[str, list[str]]) -> dict[str, Values]:
    """All variables of a station on the days of `axis`; those it lacks are computed, and its id noted in `derived`."""
    start = axis.first - int((station.first - np.datetime64("1850-01-01")).astype(np.int64))
    if start < 0 or start + axis.rows > station.days:
        raise ForcingError(
            f'"{station.file}" holds {station.first} to {station.last}, but {axis.period()} was asked for. Take a period that it covers.'
        )
    values = {name: series[start : start + axis.rows] for name, series in station.values.items()}
    lacking = {"tmin", "tmax", "radiation"} - set(values)
    if lacking:
        raise ForcingError(f'"{station.file}" has no {", ".join(sorted(lacking))}. Add the columns, or take the station out of the grid.')
    if "vp" not in values:
        values["vp"] = saturation_vapour_pressure(values["tmin"])
        derived["vp"].append(station.site.id)
    if "pan" not in values:
        values["pan"] = pan_evaporation(values["radiation"], values["tmax"], values["tmin"])
        derived["pan"].append(station.site.id)
    return values
