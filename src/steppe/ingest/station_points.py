"""Stations as the cells of a grid: each keeps its own record, in full precision."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from steppe.errors import ForcingError
from steppe.grid import Points
from steppe.ingest.cf_names import DEFICIT
from steppe.ingest.columns import ColumnNames, check_said, remarks, typed
from steppe.ingest.meteorology import DEFICIT_REMARK, PAN_REMARK, VP_REMARK, Values, pan_evaporation, saturation_vapour_pressure
from steppe.ingest.provenance import TERMS, Report, source_file
from steppe.ingest.station import Site, Station, moved
from steppe.ingest.station_file import LIST, read_sites, read_station
from steppe.io.axis import Axis
from steppe.io.forcing.variables import WEATHER
from steppe.io.forcing.writer import About, ForcingWriter, Written
from steppe.variable import Role, Variable

COMPUTED = {VP_REMARK: "vp", PAN_REMARK: "pan", DEFICIT_REMARK: "vp"}  # how -> what


def keep_stations(folder: Path, path: Path, grid: Points, axis: Axis, said: ColumnNames, progress: Callable[[float], None]) -> Report:
    """Makes a store of the records of the stations that the points are named for, float64.

    Where a station has no vapour pressure or pan evaporation, Steppe computes it; the store says for which stations and how. The store is
    without a variable that no station has.

    Raises
    ------
    ForcingError
        A point has no file; its file is wrong, lacks a variable that another has, or does not cover the days of `axis`.
    """
    listed = read_sites(folder) if (folder / LIST).is_file() else {}
    found: list[dict[str, Values]] = []  # of each point
    derived: dict[str, list[str]] = {remark: [] for remark in COMPUTED}
    sources, stations = [], []
    said_of: dict[str, list[str]] = defaultdict(list)
    for cell, name in enumerate(grid.ids):
        place = float(grid.cell_lat[cell]), float(grid.cell_lon[cell])
        known = listed.get(name, Site(name, name, *place, ""))
        station = read_station(folder, known._replace(latitude=place[0], longitude=place[1]), said)
        found.append(_complete(station, axis, derived))
        sources.append(source_file(station.file))
        stations.append(station)
        for note in (*station.notes, *moved(station.site, known, LIST), *remarks(station)):
            said_of[note].append(name)
        progress((cell + 1) / grid.n_cells)
    check_said(said, stations, own=True)
    variables = _held(stations, found)
    lacking = [name for name in WEATHER if name not in variables]
    none = (f"no station has {', '.join(lacking)}: the store is without",) if lacking else ()
    noted = (*(f"{note} ({', '.join(ids)})" for note, ids in said_of.items()), *none)
    computed = tuple(f"{COMPUTED[remark]} of {', '.join(ids)}: {remark}" for remark, ids in derived.items() if ids)
    about = About(
        title=f"Daily weather of {grid.n_cells} stations, {axis.period()}",
        summary="Station records as they are. Rain is credited to the day of the reading"
        + (". " if any(station.notes for station in stations) else ", pan evaporation to the day before it. ")
        + "".join(f"{note}. " for note in noted)
        + "Records are patched where a station did not observe; see their source codes.",
        history="; ".join([f"steppe ingest stations, {axis.period()}, unchanged", *noted, *computed]),
        weather="stations",
        licence=TERMS,
        source=sources,
    )
    written = [Written(variable, axis, "float64", attributes=_derivation(variable.name, derived)) for variable in variables.values()]
    with ForcingWriter(path, grid, written, about) as writer:
        for name in variables:
            for block in writer.blocks(name):
                days, cells = slice(block.steps.start, block.steps.stop), found[block.cells.start : block.cells.stop]
                writer.write(name, block, np.stack([values[name][days] for values in cells], axis=1))
    rain = float(np.mean([values["rain"].mean() for values in found]))
    return Report(path, grid.n_cells, axis.rows, {}, rain * 365.25, computed + noted)


def _held(stations: Sequence[Station], found: Sequence[Mapping[str, Values]]) -> dict[str, Variable]:
    """The variables that the stations have, those that Steppe knows first."""
    own = {name: unit for station in stations for name, unit in station.own.items()}
    held: dict[str, Variable] = {}
    for name in (*WEATHER, *own):
        with_it = [station for station, values in zip(stations, found, strict=True) if name in values]
        if not with_it:
            continue
        for station, values in zip(stations, found, strict=True):
            if name not in values:
                raise ForcingError(
                    f'"{station.file}" has no {name}, and "{with_it[0].file}" has. Add the column, or take one of them out of the grid.'
                )
            if station.own.get(name) != with_it[0].own.get(name):
                units = f'"{station.own[name]}", and in "{with_it[0].file}" "{with_it[0].own[name]}"'
                raise ForcingError(f'"{station.file}": the unit of {name} is {units}. Give one unit: {typed("units", name, "UNIT")}.')
        held[name] = WEATHER.get(name) or Variable(name, ("time", "cell"), own[name], "float64", Role.FORCING, with_it[0].taken[name])
    return held


def _derivation(name: str, derived: Mapping[str, list[str]]) -> dict[str, object]:
    """The attributes of a variable that was computed at some stations: how, and at which."""
    used = {remark: ids for remark, ids in derived.items() if ids and COMPUTED[remark] == name}
    if not used:
        return {}
    every = [station for ids in used.values() for station in ids]
    how = [remark if len(used) == 1 else f"{', '.join(ids)}: {remark}" for remark, ids in used.items()]
    return {"derivation": "; ".join(how), "derived_at": every}


def _complete(station: Station, axis: Axis, derived: Mapping[str, list[str]]) -> dict[str, Values]:
    """The variables of a station on the days of `axis`; vp and pan are computed if they are missing and what they need is there.

    derived: gets the id, under the method.
    """
    start = axis.first - int((station.first - np.datetime64("1850-01-01")).astype(np.int64))
    if start < 0 or start + axis.rows > station.days:
        raise ForcingError(
            f'"{station.file}" holds {station.first} to {station.last}, but {axis.period()} was asked for. Take a period that it covers.'
        )
    values = {name: series[start : start + axis.rows] for name, series in station.values.items()}
    if DEFICIT in station.taken:
        derived[DEFICIT_REMARK].append(station.site.id)
    if "vp" not in values and "tmin" in values:
        values["vp"] = saturation_vapour_pressure(values["tmin"])
        derived[VP_REMARK].append(station.site.id)
    if "pan" not in values and {"radiation", "tmax", "tmin"} <= values.keys():
        values["pan"] = pan_evaporation(values["radiation"], values["tmax"], values["tmin"])
        derived[PAN_REMARK].append(station.site.id)
    return values
