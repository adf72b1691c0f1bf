"""Series: values at some places, or of a region, over time. `points` thins them and names the steps that have no value."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from steppe.api import Gap, SeriesInfo, Thinned, VariableInfo, array_of
from steppe.api.documents import ArrayHead, ScenarioStatus
from steppe.api.query import LATEST, Along, MapQuery, SeriesQuery
from steppe.array_types import Array, Integers
from steppe.control import Refused
from steppe.control.server.live_series import SeriesKey
from steppe.control.wire import Position
from steppe.grid import Grid
from steppe.service import coverage, encode, regions
from steppe.service.coverage import decimals
from steppe.service.encode import Content
from steppe.service.maps import steps_of
from steppe.service.moments import date_of
from steppe.service.service import Service

REDUCED = ("mean", "min", "max")  # values of a region


class SeriesValues(NamedTuple):
    """Values (steps, lines), NaN where there is none, the reasons, and what is known of all of them."""

    values: Array
    gaps: list[Gap]
    head: ArrayHead


async def series(service: Service, run: str, name: str, query: SeriesQuery) -> Content:
    """Values at some places, or of a region, over time, in the format of the query; JSON when it names none.

    Raises
    ------
    Refused
        The query names no place and no region, or more than one way; there is no such scenario or variable; a step has no value; the answer
        is too long, or the format cannot say it.
    """
    form = query.format or "json"
    variable = service.variable(run, name, query.level, every=bool(query.at))
    name = variable.name
    known, limits, points = service.known(run), service.limits, query.points
    region = regions.named(query, "at", "box", "polygon", "cells")
    if region is None:
        raise Refused("region-invalid", "Name a place or more, at=longitude,latitude, or a region: box, polygon or cells.", position="at")
    if form == "coverage-json" and region != "at":
        raise Refused("not-acceptable", "CoverageJSON has series of places. Ask for json or csv of a region.", allowed=["json", "csv"])
    cells = await service.in_thread(_cells, known.grid, query)
    unique, inverse = np.unique(cells, return_inverse=True)
    order: Array = np.arange(len(REDUCED)) if region != "at" else inverse
    levels = variable.levels.values if variable.levels else []
    order = np.concatenate([number * len(unique) + order for number in range(len(levels))]) if levels else order
    scenario = service.scenario(run, query.scenario)
    steps = steps_of(query.time, known, scenario, limits.series_values if points else limits.steps_at_once) or [int(scenario["step"])]
    most = limits.series_values if points else limits.text_values
    if len(steps) * len(order) > most:
        raise Refused(
            "not-acceptable", f"{len(steps) * len(order):,} values are more than {most:,} in a series. Ask for less.", allowed=most
        )
    latest = query.time == "latest"  # the run may have gone on when the engine answers
    along = Along(steps=LATEST if latest else (steps[0], steps[-1]), again=query.compute or not points, region=region != "at")
    found = await _gathered(service, run, scenario, MapQuery(name=name, chosen=unique.astype("<u4").tobytes(), packed=True), along)
    steps = [int(found.head["last"])] if latest else steps
    if found.gaps and not points:
        raise Refused("not-computed", f"Steps {found.gaps[0].first} to {found.gaps[0].last}: {found.gaps[0].reason}", position="time")
    values, what = found.values[:, order], None
    if points and len(steps) > points:
        there, pieces = await service.in_thread(thinned, values, points)
        what = Thinned(steps=len(steps), pieces=pieces)
        values, steps = values[there], [steps[index] for index in there]
    places = [] if region != "at" else [(float(known.grid.cell_lon[cell]), float(known.grid.cell_lat[cell])) for cell in cells]
    heights = [value for value in levels for _ in places]  # of each line of a profile
    places *= max(1, len(levels))
    rounded = {"rounded": found.head["rounded"]} if "rounded" in found.head else {}
    if form == "coverage-json":
        if heights:
            raise Refused("not-acceptable", "CoverageJSON has series of one level. Name it, or ask for json or csv.", position="level")
        return Content(coverage.of_series(values, variable, steps, places, known), b"", rounded)
    dates = [date_of(step, known.facts) for step in steps]
    when = [date or step for date, step in zip(dates, steps, strict=True)]
    if form == "csv":
        return Content(_csv(variable, when, places, values, heights), b"", rounded)
    reply = SeriesInfo(
        variable=name,
        units=variable.units,
        scenario=query.scenario,
        steps=steps,
        dates=dates,
        places=places,
        levels=heights,
        values=[decimals(np.ascontiguousarray(line)) for line in values.T],
        gaps=found.gaps,
        thinned=what,
        cells=len(cells) if region != "at" else None,
        rounded=found.head.get("rounded"),
    )
    return Content(msgspec.json.encode(reply), b"", rounded)


def _cells(grid: Grid, query: SeriesQuery) -> Array:
    """Packed cells: of each place, or of the region."""
    if query.at:
        return np.array([regions.located(grid, *place) for place in query.at])
    found = regions.asked(grid, query)
    assert found is not None, "a place or a region is named"
    return found


async def _gathered(service: Service, name: str, scenario: ScenarioStatus, query: MapQuery, along: Along) -> SeriesValues:
    """All steps of a series, as many at once as the engine gives: of one branch, though a rewind may give the scenario another."""
    values: list[Array] = []
    gaps: list[Gap] = []
    whole: ArrayHead = {}
    at, last = along.steps
    run, branch, key = service.run(name), scenario["branch"], SeriesKey(scenario["name"], query.name, query.chosen, along.region)
    position = Position(scenario["step"], scenario["seq"])
    while at <= last:
        kept = None if along.steps == LATEST else run.followed.kept(key, branch)
        stop = last
        if kept is not None and kept.first <= at < (end := kept.end_at(position)):
            values.append(kept.values(at, min(last + 1, end)))
            at += len(values[-1])
            continue
        if kept is not None and at < kept.first <= last:
            stop = kept.first - 1
        head, body = await run.get(branch, replace(query, along=replace(along, steps=(at, stop))))
        values.append(array_of(head, body))
        whole |= head
        assert isinstance(head["missing"], list), "it is of a series"
        for first, end, reason in head["missing"]:
            if gaps and gaps[-1].last == first - 1 and gaps[-1].reason == reason:
                gaps[-1].last = end
            else:
                gaps.append(Gap(first=first, last=end, reason=reason))
        at = last + 1 if along.steps == LATEST else int(head["last"]) + 1
    return SeriesValues(np.concatenate(values), gaps, whole)


def _csv(
    variable: VariableInfo, when: Sequence[str | int], places: Sequence[tuple[float, float]], values: Array, levels: Sequence[float]
) -> bytes:
    if places:
        axis = f"{variable.levels.name} [{variable.levels.units}]" if variable.levels else ""
        return encode.csv_rows(f"{variable.name} [{variable.units}]", when, places, values, levels, axis)
    columns = [f"{each}({variable.name}) [{variable.units}]" for each in REDUCED]
    rows = (f"{date},{','.join('' if text == 'nan' else text for text in map(str, row))}" for date, row in zip(when, values, strict=True))
    return "\n".join([f"time,{','.join(columns)}", *rows, ""]).encode()


def thinned(values: Array, points: int) -> tuple[Integers, int]:
    """The steps that stay, about `points` of them, ascending, and into how many pieces all were cut. values: (steps, lines), NaN: missing.

    Of each piece every line keeps its least and greatest value and its first missing one; the first and the last step stay, too.
    """
    steps, lines = values.shape
    pieces = max(1, min(steps, points // (2 * lines)))
    edges = np.linspace(0, steps, pieces + 1).astype(np.int64)
    kept = [np.array([0, steps - 1])]
    for begin, end in pairwise(edges):
        part = values[begin:end]
        known = np.isfinite(part)
        some = np.flatnonzero(known.any(axis=0))
        there = part[:, some]
        inside = known[:, some]
        kept += [
            begin + np.where(inside, there, np.inf).argmin(axis=0),
            begin + np.where(inside, there, -np.inf).argmax(axis=0),
            begin + (~known).argmax(axis=0)[~known.all(axis=0)],
        ]
    return np.unique(np.concatenate(kept)), pieces
