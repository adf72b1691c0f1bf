"""Stations spread over a raster by the anomaly method: the choice of donors, and the attributes of the store."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steppe.errors import ForcingError
from steppe.grid import Grid
from steppe.ingest.columns import ColumnNames, check_said, remarks
from steppe.ingest.donors import BASE, Donors, make_donors
from steppe.ingest.meteorology import PAN_REMARK, Values
from steppe.ingest.months import Months
from steppe.ingest.normals import REACH, Normals, read_normals
from steppe.ingest.provenance import TERMS, Report, source_file
from steppe.ingest.spread import StationSpread
from steppe.ingest.station import Station
from steppe.ingest.station_file import read_sites, read_station
from steppe.io.axis import Axis
from steppe.io.forcing.variables import WEATHER
from steppe.io.forcing.writer import About, ForcingWriter, Written
from steppe.variable import Role, Variable

NORMALS = Path("normals") / "queensland_climatology_0p1deg.npz"  # beside the folder of the stations
WEST, SOUTH = 138.0, -31.0  # [degrees] stations beyond belong to the winter-rain south: their departures are of another season
RAIN_ONLY = frozenset({"bundaberg"})  # its other columns came out of a weather generator
FAR = 300.0  # [km] from any donor: a cell's own drought or flood year is not in the data; judgement
DISTANCE = Variable("distance_to_nearest_donor", ("cell",), "km", "float32", Role.PARAMETER, "distance to the nearest station", low=0.0)


class StationChoices(NamedTuple):
    """Choices for a store of stations.

    Parameters
    ----------
    normals
        File of monthly normals for a raster; default: queensland_climatology_0p1deg.npz in the folder `normals` beside the stations.
    variance
        Whether the year-to-year variance that averaging takes away is restored, on a raster.
    said
        Names and units of columns, as the user gives them.
    """

    normals: Path | None = None
    variance: bool = True
    said: ColumnNames = ColumnNames()


def read_donors(folder: Path, normals_file: Path, months: Months, said: ColumnNames | None = None) -> tuple[Donors, list[Station]]:
    """The stations of `folder` that lie in the summer-rain region, as donors over `months`, and their records.

    Raises
    ------
    ForcingError
        There is none, or a file is wrong.
    """
    sites = [site for site in read_sites(folder).values() if site.longitude >= WEST and site.latitude > SOUTH]
    if not sites:
        raise ForcingError(f'"{folder / "stations.csv"}" lists no station east of {WEST:g} and north of {SOUTH:g} degrees. Add stations.')
    stations = [read_station(folder, site, said) for site in sites]
    check_said(said or ColumnNames(), stations)
    at_sites = read_normals(normals_file, np.array([s.latitude for s in sites]), np.array([s.longitude for s in sites]))
    return make_donors(stations, months, at_sites, RAIN_ONLY), stations


def spread_stations(
    folder: Path,
    path: Path,
    grid: Grid,
    axis: Axis,
    choices: StationChoices,
    progress: Callable[[float], None],
) -> Report:
    """Makes a store of the weather of every cell on the days of `axis`, a shard at a time.

    Raises
    ------
    ForcingError
        A file is wrong, no station covers a month, or a cell is beyond the normals.
    """
    normals_file = choices.normals or folder.parent / NORMALS
    first, last = np.datetime64("1850-01-01") + axis.starts[[0, -1]]
    years = range(int(str(first)[:4]), int(str(last)[:4]) + 1)
    months = Months(min(years[0], BASE[0]), max(years[-1], BASE[1]))
    normals = read_normals(normals_file, grid.cell_lat, grid.cell_lon)
    _check_normals(normals_file, normals, grid)
    donors, stations = read_donors(folder, normals_file, months, choices.said)
    files = [station.file for station in stations]
    counts = {year: donors.covering(year) for year in years}
    within = [month for month, _ in months.pieces(range(months.day(first), months.day(last) + 1))]
    giving = np.isfinite(donors.rain_ratio[within]).any(axis=0)
    if not giving.any():
        raise ForcingError(f'No station of "{folder}" covers a whole month of {axis.period()}. Take a period that some station covers.')
    away = StationSpread(donors, normals, grid.cell_lat, grid.cell_lon).distances[:, giving].min(axis=1)
    about = _about(donors, away, axis, choices.variance, counts)._replace(source=[source_file(f) for f in (*files, normals_file)])
    written = [Written(v, axis, attributes={"derivation": PAN_REMARK} if v.name == "pan" else {}) for v in WEATHER.values()]
    rain = 0.0
    with ForcingWriter(path, grid, [*written, Written(DISTANCE, None, "float32")], about) as writer:
        writer.write_static(DISTANCE.name, away)
        blocks = writer.blocks("rain")
        done = 0
        for cells, group in groupby(blocks, key=lambda block: block.cells):
            part = slice(cells.start, cells.stop)
            here = Normals(*(table[:, part] for table in normals))
            spread = StationSpread(donors, here, grid.cell_lat[part], grid.cell_lon[part], choices.variance)
            for block in group:
                offset = months.day(first)
                weather = spread.weather(range(offset + block.steps.start, offset + block.steps.stop))
                for name, values in weather.items():
                    writer.write(name, block, values)
                rain += float(weather["rain"].sum())
                done += 1
                progress(done / len(blocks))
    notes = (*_notes(donors, within), *(f"{note} ({station.site.id})" for station in stations for note in remarks(station)))
    return Report(path, grid.n_cells, axis.rows, counts, rain / grid.n_cells / axis.rows * 365.25, notes)


def _check_normals(file: Path, normals: Normals, grid: Grid) -> None:
    beyond = np.flatnonzero(np.isnan(normals.rain[0]))
    if beyond.size:
        cell = int(beyond[0])
        raise ForcingError(
            f'"{file}" has no normals within {REACH:g} km of {beyond.size} of {grid.n_cells} cells, the first at '
            f"latitude {grid.cell_lat[cell]:g}, longitude {grid.cell_lon[cell]:g}. Give normals that cover the grid."
        )


def _notes(donors: Donors, months: Sequence[int]) -> tuple[str, ...]:
    """Notes: when donors begin and end within some months, and donors that give nothing."""
    notes = []
    for column, site in enumerate(donors.sites):
        there = np.isfinite(donors.rain_ratio[months, column])
        if not there.any():
            notes.append(f'Station "{site.id}" gives nothing: it has no record in the period, or no normals.')
            continue
        turns = [i for i in range(len(months)) if there[i] != (there[i - 1] if i else True)]
        if turns:
            said = ", ".join(f"{'with' if there[i] else 'without'} it from {donors.months.name(months[i])}" for i in turns)
            notes.append(f'Station "{site.id}" is not a donor throughout: weights are normalised anew {said}.')
    return tuple(notes)


def _about(donors: Donors, away: Values, axis: Axis, variance: bool, counts: Mapping[int, int]) -> About:
    ids = ", ".join(site.id for site in donors.sites)
    return About(
        title=f"Daily weather from {len(donors.sites)} stations spread by anomalies, {axis.period()}",
        summary=f"Monthly normals of every cell, and the departures of {len(donors.sites)} stations ({ids}) from their own normals, "
        "weighted with the inverse square of distance; the rain of a month falls on the days of the nearest station with rain. "
        "Means, seasons and the range of years are real. The day-to-day sequence is that of a station as far away as "
        f"`{DISTANCE.name}` says: {np.mean(away > FAR):.0%} of the cells are more than {FAR:g} km from any (in Queensland the country west "
        "of 147 E and north of 23 S, 500-1,500 km), and there the individual drought or flood year is not the real one. "
        "A map of one day shows straight borders between nearest stations.",
        history=f"steppe ingest stations, {axis.period()}, variance {'restored' if variance else 'not restored'}",
        weather="stations",
        licence=TERMS,
        attributes={"donors_by_year": {str(year): count for year, count in counts.items()}, "variance_restored": variance},
    )
