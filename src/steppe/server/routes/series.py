"""Series: values at some places, or of a region, over time. `points` thins them and names the steps that have no value."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from steppe.api import Gap, SeriesInfo, Thinned
from steppe.control import Refused
from steppe.control.followed import What
from steppe.server import coverage, encode, regions
from steppe.server.asked import Asked, Reply
from steppe.server.decimals import decimals
from steppe.server.house import Known
from steppe.server.moments import date_of
from steppe.server.negotiation import form_of
from steppe.server.query import FORMATS, SERIES, SERIES_FORMATS, one_region, read_query
from steppe.server.routes.data import ACCEPTED, rounding, steps_of
from steppe.server.thinning import thinned

Array = NDArray[Any]
REDUCED = ("mean", "min", "max")  # what is told of a region


class Found(NamedTuple):
    """Values (steps, lines), NaN where there is none, the reasons, and what is known of all of them."""

    values: Array
    gaps: list[Gap]
    head: Mapping[str, Any]


async def series(asked: Asked) -> Reply:
    """GET series/{variable}: values at some places, or of a region, over time."""
    name, run = asked.parameters["variable"], asked.parameters["run"]
    query = read_query(asked.scope["query_string"], SERIES)
    form = query["format"] or form_of(asked.headers.get(b"accept", b""), SERIES_FORMATS)
    variable = asked.house.variable(run, name, query["level"], every=bool(query["at"]))
    name = variable.name
    known, limits, points = asked.house.known(run), asked.house.limits, query["points"]
    region = one_region({**query, "at": query["at"] or None}, ("at", "box", "polygon", "cells"))
    if region is None:
        raise Refused("region-invalid", "Name a place or more, at=longitude,latitude, or a region: box, polygon or cells.", position="at")
    if form == "coverage-json" and region != "at":
        raise Refused("not-acceptable", "CoverageJSON has series of places. Ask for json or csv of a region.", allowed=["json", "csv"])
    cells = await asked.house.in_thread(_cells, known, query, region)
    order: Array = np.arange(len(REDUCED)) if region != "at" else np.unique(cells, return_inverse=True)[1]
    levels = variable.levels.values if variable.levels else []
    order = np.concatenate([number * len(np.unique(cells)) + order for number in range(len(levels))]) if levels else order
    scenario = asked.house.scenario(run, query["scenario"])
    steps = steps_of(query["time"], known, scenario, limits.series_values if points else limits.steps_at_once) or [int(scenario["step"])]
    most = limits.series_values if points else limits.text_values
    if len(steps) * len(order) > most:
        raise Refused(
            "not-acceptable", f"{len(steps) * len(order):,} values are more than {most:,} in a series. Ask for less.", allowed=most
        )
    along = {"steps": [steps[0], steps[-1]], "again": query["compute"] == "1" or not points, "region": region != "at"}
    request = {"name": name, "cells": np.unique(cells).astype("<u4").tobytes(), "packed": True, "along": along}
    found = await gathered(asked, query["scenario"], request)
    if found.gaps and not points:
        raise Refused("not-computed", f"Steps {found.gaps[0].first} to {found.gaps[0].last}: {found.gaps[0].reason}", position="time")
    values, what = found.values[:, order], None
    if points and len(steps) > points:
        there, pieces = await asked.house.in_thread(thinned, values, points)
        what = Thinned(steps=len(steps), pieces=pieces)
        values, steps = values[there], [steps[index] for index in there]
    places = [] if region != "at" else [(float(known.grid.cell_lon[cell]), float(known.grid.cell_lat[cell])) for cell in cells]
    heights = [value for value in levels for _ in places]  # of each line of a profile
    places *= max(1, len(levels))
    headers = (*(() if query["format"] else ACCEPTED), *rounding(found.head))
    if form == "coverage-json":
        if heights:
            raise Refused("not-acceptable", "CoverageJSON has series of one level. Name it, or ask for json or csv.", position="level")
        document = coverage.of_series(values, variable, steps, places, known.facts)
        return Reply(200, document, FORMATS[form].encode(), headers)
    dates = [date_of(step, known.facts) for step in steps]
    if form == "csv":
        when = [date or step for date, step in zip(dates, steps, strict=True)]
        rows = encode.csv_rows(when, places, values, heights) if places else _region_rows(when, values)
        return Reply(200, rows, FORMATS[form].encode(), headers)
    reply = SeriesInfo(
        variable=name,
        units=variable.units,
        scenario=query["scenario"],
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
    return Reply(200, msgspec.json.encode(reply), headers=headers)


def _cells(known: Known, query: Mapping[str, Any], region: str) -> Array:
    """Packed cells: of each place, or of the region."""
    given = query[region]
    if region == "at":
        return np.array([regions.located(known.grid, *place) for place in given])
    return regions.listed(known.grid, given) if region == "cells" else regions.select(known.grid, {region: given})


async def gathered(asked: Asked, scenario: str, request: dict[str, Any]) -> Found:
    """All steps that a request names, as many at once as the engine gives."""
    values: list[Array] = []
    gaps: list[Gap] = []
    whole: dict[str, Any] = {}
    (at, last), along = request["along"]["steps"], request["along"]
    branch = asked.house.scenario(asked.parameters["run"], scenario)["branch"]
    kept = asked.run.followed.kept(What(scenario, request["name"], request["cells"], along["region"]), branch)
    while at <= last:
        stop = last
        if kept is not None and kept.first <= at < kept.end:
            values.append(kept.values(at, min(last + 1, kept.end)))
            at += len(values[-1])
            continue
        if kept is not None and at < kept.first <= last:
            stop = kept.first - 1
        head, body = await asked.run.get(scenario, {**request, "along": {**along, "steps": [at, stop]}})
        values.append(np.frombuffer(body, head["dtype"]).reshape(head["shape"]))
        whole |= head
        for first, end, reason in head["missing"]:
            if gaps and gaps[-1].last == first - 1 and gaps[-1].reason == reason:
                gaps[-1].last = end
            else:
                gaps.append(Gap(first=first, last=end, reason=reason))
        at = int(head["last"]) + 1
    return Found(np.concatenate(values), gaps, whole)


def _region_rows(when: list[Any], values: Array) -> bytes:
    rows = (f"{date},{','.join('' if text == 'nan' else text for text in map(str, row))}" for date, row in zip(when, values, strict=True))
    return "\n".join([f"time,{','.join(REDUCED)}", *rows, ""]).encode()
