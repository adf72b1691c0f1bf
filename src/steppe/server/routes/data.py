"""Values and images: what is looked at. A whole map in its own format goes from the engine to the client untouched."""

import asyncio
import zlib
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np

from steppe.api import Fit
from steppe.control import Refused
from steppe.grid import Grid, Points, Raster
from steppe.server import encode, regions
from steppe.server.asked import Asked, Buffer, Headers, Reply
from steppe.server.colours import outward
from steppe.server.house import Known
from steppe.server.moments import date_of, step_behind
from steppe.server.negotiation import form_of
from steppe.server.query import DATA, FIT, FORMATS, IMAGE, one_region, read_query
from steppe.server.routes.state import ASK_AGAIN, has

RAW = FORMATS["raw"].encode()
ACCEPTED: Headers = ((b"vary", b"accept"),)  # of an answer whose format the client did not name
PLACED = ("csv", "netcdf", "coverage-json")  # formats that say where each value lies
TOGETHER = 16  # steps of a series that the engine is asked for at once: one that steps answers all that it has at the end of a piece
GRAMMARS = {"data": DATA, "image": IMAGE}


class Piece(NamedTuple):
    """An array of one step, or of several one behind the other, and what it is."""

    head: Mapping[str, Any]
    body: Buffer


class Plan(NamedTuple):
    """A query, read. request: what the engine is asked, but for step and cells, nothing said that is as usual; digest: names the query and
    the format; headers: of every answer to it."""

    query: Mapping[str, Any]
    request: dict[str, Any]
    form: str
    digest: str
    region: Any
    headers: Headers


@lru_cache(512)
def plan(query: bytes, name: str, what: str, grid: type[Grid], accept: bytes) -> Plan:
    """How a query is answered; it depends on its text, the kind of grid and the header Accept alone, so that it is read once.

    Raises
    ------
    Refused
        bad-query, out-of-range, region-invalid or not-acceptable.
    """
    asked = read_query(query, GRAMMARS[what])
    one_region(asked)
    if what == "image" and asked["low"] is not None and asked["high"] is not None and asked["low"] >= asked["high"]:
        raise Refused("out-of-range", "The key low must be less than high.", value=asked["low"], allowed=asked["high"], position="low")
    named = "png" if what == "image" else asked["format"]
    form = named or form_of(accept, FORMATS)
    region = {"polygon": asked["polygon"]} if asked.get("polygon") is not None else asked.get("cells")
    request: dict[str, Any] = {"name": name}
    request |= {key: asked[key] for key in ("box", "width", "height", "low", "high", "style") if asked.get(key) is not None}
    request |= {key: asked[key] for key, usual in (("stride", 1), ("reduce", "mean")) if asked.get(key, usual) != usual}
    even = issubclass(grid, Raster) or form not in PLACED
    whole = not request.keys() & {"width", "height"}
    if form == "png":
        request["format"] = "png"
    elif region is not None or asked["packed"] == "1" or grid is Points or (whole and (form == "csv" or not even)):
        request["packed"] = True
    digest = f"{zlib.crc32(query + form.encode()):08x}"
    return Plan(MappingProxyType(asked), request, form, digest, region, () if named else ACCEPTED)


async def data(asked: Asked) -> Reply:
    """GET data/{variable}."""
    return await _answer(asked, "data")


async def image(asked: Asked) -> Reply:
    """GET image/{variable}.png."""
    return await _answer(asked, "image")


def _cells(grid: Grid, region: Any) -> bytes:
    """The cells of a region as a question carries them."""
    found = regions.listed(grid, region) if isinstance(region, list) else regions.select(grid, region)
    return found.astype("<u4").tobytes()


async def _answer(asked: Asked, what: str) -> Reply:
    house, run, name = asked.house, asked.parameters["run"], asked.parameters["variable"]
    known = house.known(run)
    accept = asked.headers.get(b"accept", b"")
    query, request, form, digest, region, more = plan(asked.scope["query_string"], name, what, type(known.grid), accept)
    if query["level"] is not None or name not in known.variables or known.variables[name].levels:
        name = house.variable(run, name, query["level"]).name
        request = {**request, "name": name}
    scenario = house.scenario(run, query["scenario"])
    steps = steps_of(query["time"], known, scenario, house.limits.steps_at_once)
    now = steps is None or steps[-1] == scenario["step"]  # what happens at this step may still change it; what is past stays
    front = f'"{run}.{scenario["branch"]}.'
    if b"if-none-match" in asked.headers:
        tag = f'{front}{scenario["step"] if steps is None else steps[-1]}.{scenario["seq"] if now else "p"}.{digest}"'
        if has(asked, tag.encode()):
            return Reply(304, b"", b"", ((b"etag", tag.encode()), *more), cache=ASK_AGAIN)
    if region is not None:
        request = {**request, "cells": await house.in_thread(_cells, known.grid, region)}
    scenario_name = query["scenario"]
    if steps is None:
        head, body = await asked.run.get(scenario_name, request)
    elif len(steps) == 1:
        head, body = await asked.run.get(scenario_name, {**request, "step": steps[0]})
    elif form == "png":
        raise Refused("not-acceptable", "An image is of one time.", value=query["time"], allowed="one date")
    else:
        head, body = await _stacked(asked, scenario_name, request, steps)
    tag = f'{front}{head.get("step", 0)}.{head.get("seq", 0) if now else "p"}.{digest}"'
    headers: Headers = ((b"etag", tag.encode()), *more)
    if "moved" in head:
        headers = (*headers, (b"server-timing", b'moved;desc="%d"' % head["moved"]))
    headers = (*headers, *rounding(head))
    if form == "png":
        return Reply(200, b"", b"image/png", headers, (body,), cache=ASK_AGAIN)
    if len(body) > house.limits.reply:
        raise Refused(
            "not-acceptable", f"The answer has {len(body):,} bytes, more than {house.limits.reply:,}. Ask for less.", value=len(body)
        )
    if form == "raw" and (query["dtype"] is None or np.dtype(query["dtype"]) == np.dtype(head["dtype"])):
        return Reply(200, house.front(run, scenario_name, name, digest, head), RAW, headers, (body,), cache=ASK_AGAIN)
    places = _placed(known, request, head) if form in PLACED else encode.Places()
    arguments = (form, {**head, "scenario": scenario_name}, body, query["dtype"], known, places, house.limits)
    content = await asyncio.to_thread(encode.encode, *arguments)
    return Reply(200, content.head, FORMATS[form].encode(), (*headers, *content.headers), (content.body,), cache=ASK_AGAIN)


def _placed(known: Known, request: Mapping[str, Any], head: Mapping[str, Any]) -> encode.Places:
    """Where the values of an answer lie."""
    grid, box, stride = known.grid, request.get("box"), request.get("stride", 1)
    if request.get("cells"):
        return encode.Places(cells=np.frombuffer(request["cells"], "<u4").astype(np.int64))
    inside = np.arange(grid.n_cells) if box is None else regions.select(grid, {"box": box}).astype(np.int64)
    if request.get("packed"):
        return encode.Places(cells=inside[::stride])
    if request.keys() & {"width", "height"} or not isinstance(grid, Raster):
        if head.get("box") is None:
            raise Refused("not-acceptable", "This format needs even degrees. Ask for format=raw or packed=1.", allowed=["raw", "npy"])
        west, south, east, north = head["box"]
        rows, columns = head["shape"][-2:]
        lat = head.get("lat", north - (np.arange(rows) + 0.5) * (north - south) / rows)
        return encode.Places(lat=np.round(lat, 10), lon=np.round(west + (np.arange(columns) + 0.5) * (east - west) / columns, 10))
    if box is None:
        return encode.Places(lat=grid.lat[::stride], lon=grid.lon[::stride])
    row, column = np.divmod(grid.order[inside], grid.nlon)
    return encode.Places(lat=grid.lat[row.min() : row.max() + 1 : stride], lon=grid.lon[column.min() : column.max() + 1 : stride])


def steps_of(time: str, known: Known, scenario: Mapping[str, Any], most: int) -> list[int] | None:
    """The steps that a request means, None for the last finished one.

    Raises
    ------
    Refused
        date-outside-forcing, not-computed with what there is, out-of-range.
    """
    if time == "latest":
        return None
    facts, shown = known.facts, int(scenario["step"])
    if time.startswith("step:"):
        named = time[5:].split("/")
        first, last = int(named[0]), int(named[-1])
        if last > facts["steps"]:
            raise Refused(
                "date-outside-forcing", f"The run has {facts['steps']} steps.", value=last, allowed=[0, facts["steps"]], position="time"
            )
    else:
        dates = time.split("/")
        first, last = step_behind(dates[0], facts, "time"), step_behind(dates[-1], facts, "time")
    if first > last:
        raise Refused("out-of-range", f"{time} ends before it begins.", value=time, position="time")
    if last > shown:
        span = [date_of(1, facts), date_of(shown, facts)] if shown else []
        text = f"time={time} has not been computed: {scenario['name']} stands at step {shown}."
        raise Refused("not-computed", text, value=time, allowed=span, computed=[0, shown], position="time")
    if last - first + 1 > most:
        raise Refused("not-acceptable", f"{last - first + 1:,} steps are more than {most:,} at once. Ask for parts.", allowed=most)
    return list(range(first, last + 1))


def rounding(head: Mapping[str, Any]) -> Headers:
    """The header of an answer with values of a record that was rounded."""
    return ((b"steppe-rounded", str(head["rounded"]).encode()),) if "rounded" in head else ()


async def _stacked(asked: Asked, scenario: str, request: dict[str, Any], steps: list[int]) -> Piece:
    """The arrays of several steps one behind the other, (time, ...)."""
    bodies: list[Buffer] = []
    heads: list[Mapping[str, Any]] = []
    total = 0
    for begin in range(0, len(steps), TOGETHER):
        some = steps[begin : begin + TOGETHER]
        for head, body in await asyncio.gather(*(asked.run.get(scenario, {**request, "step": step}) for step in some)):
            total += memoryview(body).nbytes
            heads.append(head)
            bodies.append(body)
        if total > asked.house.limits.reply:
            raise Refused("not-acceptable", f"The answer has more than {asked.house.limits.reply:,} bytes. Ask for less.")
    last = heads[-1]
    head = {**last, "shape": [len(steps), *last["shape"]], "dims": ["time", *last["dims"]]}
    head |= {"steps": steps, "dates": [each.get("date") for each in heads]}
    head |= next(({"rounded": each["rounded"]} for each in heads if "rounded" in each), {})
    return Piece(head, b"".join(bodies))


async def fit(asked: Asked) -> Reply:
    """GET fit/{variable}: round ends of colours that fit one map."""
    name, run = asked.parameters["variable"], asked.parameters["run"]
    query = read_query(asked.scope["query_string"], FIT)
    name = asked.house.variable(run, name, query["level"]).name
    steps = steps_of(query["time"], asked.house.known(run), asked.house.scenario(run, query["scenario"]), 1)
    request = {"name": name, "packed": True} | ({} if steps is None else {"step": steps[0]})
    head, body = await asked.run.get(query["scenario"], request)
    values = np.frombuffer(body, np.dtype(head["dtype"]).newbyteorder("<"))
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if not known.size:
        raise Refused("not-computed", f'No cell of "{name}" has a value at step {head["step"]}.', position="time")
    low, high = outward(*np.percentile(known, [2, 98]).tolist())
    return Reply(200, msgspec.json.encode(Fit(variable=name, step=head["step"], low=low, high=high)))
