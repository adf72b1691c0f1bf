"""Values at one step or several: what a query means on a run as it stands, the array that the engine gives, and its bytes in a format."""

import asyncio
from collections.abc import Mapping
from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from steppe.api import Fit, array_of, has_value
from steppe.api.documents import ArrayHead, ScenarioStatus
from steppe.api.query import MapQuery
from steppe.control import Refused
from steppe.control.wire import Buffer
from steppe.grid import Points, Raster, every_nth, window_of
from steppe.service import encode, regions
from steppe.service.encode import Content
from steppe.service.moments import date_of, step_behind, step_from
from steppe.service.service import RunDescription, Service

PLACED = ("csv", "netcdf", "coverage-json")  # formats that say where each value lies
USUAL = MapQuery()
TOGETHER = 16  # steps of a series that the engine is asked for at once: one that steps answers all that it has at the end of a piece


class MapValues(NamedTuple):
    """An array of one step, or of several one behind the other, and what it is. cells: of its region, None for all or those of a box."""

    head: ArrayHead
    body: Buffer
    cells: regions.Cells | None = None


class Meant(NamedTuple):
    """The meaning of a query on a run as it stands. origin: names the journal and the engine, since a script may change a run between two;
    inner: what the engine is asked, but for step and cells; steps: None for the last finished one; is_now: what happens at the step may
    still change the answer."""

    run: str
    origin: str
    query: MapQuery
    inner: MapQuery
    scenario: ScenarioStatus
    steps: list[int] | None
    is_now: bool

    def version(self, head: Mapping[str, object] | None = None) -> str:
        """Names the state that is answered: origin, branch, step, what happened at it. head: of an answer; None: before there is one."""
        if head is None:
            head = self.scenario if self.steps is None else {"step": self.steps[-1], "seq": self.scenario["seq"]}
        return f"{self.origin}.{self.scenario['branch']}.{head.get('step', 0)}.{head.get('seq', 0) if self.is_now else 'p'}"


def meant(service: Service, run: str, name: str, query: MapQuery) -> Meant:
    """The meaning of a query.

    Raises
    ------
    Refused
        region-invalid, out-of-range, unknown-variable, unknown-scenario, date-wrong, date-outside-forcing, not-computed or
        not-acceptable.
    """
    known, form = service.known(run), query.format or "raw"
    region = regions.named(query)
    if query.low is not None and query.high is not None and query.low >= query.high:
        raise Refused("out-of-range", "The key low must be less than high.", value=query.low, allowed=query.high, position="low")
    if query.level is not None or name not in known.variables or known.variables[name].levels:
        name = service.variable(run, name, query.level).name
    scenario = service.scenario(run, query.scenario)
    steps = steps_of(query.time, known, scenario, service.limits.steps_at_once)
    if form == "png" and steps is not None and len(steps) > 1:
        raise Refused("not-acceptable", "An image is of one time.", value=query.time, allowed="one date")
    even = isinstance(known.grid, Raster) or form not in PLACED
    packed = region in ("polygon", "cells") or query.packed or isinstance(known.grid, Points)
    packed = packed or (not query.in_pixels and (form == "csv" or not even))
    image = form == "png"
    said = replace(query, name=name, packed=packed and not image, format="png" if image else None, dtype=None)
    inner = replace(said, scenario=USUAL.scenario, level=None, time=USUAL.time, polygon=None, cells=None)
    journal = service.run(run).journal
    return Meant(run, f"{journal.id}.{journal.epoch}", query, inner, scenario, steps, steps is None or steps[-1] == scenario["step"])


async def ask(service: Service, what: Meant) -> MapValues:
    """The array or image that a query means; raises Refused."""
    run, branch, query, cells = service.run(what.run), what.scenario["branch"], what.inner, None
    if what.query.polygon or what.query.cells:
        cells = await service.in_thread(regions.asked, service.known(what.run).grid, what.query)
        assert cells is not None, "a region is named"
        query = replace(query, chosen=cells.astype("<u4").tobytes())
    if what.steps is not None and len(what.steps) > 1:
        return MapValues(*await _stacked(service, what, query, what.steps), cells)
    query = query if what.steps is None else replace(query, step=what.steps[0])
    return MapValues(*await run.get(branch, query), cells)


async def content(service: Service, what: Meant, piece: MapValues, digest: str) -> Content:
    """An answer in the format of its query. digest: names the query.

    Raises
    ------
    Refused
        not-acceptable: it is too long, or the format cannot say it.
    """
    head, body = piece.head, piece.body
    known, query, form, most = service.known(what.run), what.query, what.query.format or "raw", service.limits.reply
    if form == "png":
        return Content(b"", body)
    if len(body) > most:
        raise Refused("not-acceptable", f"The answer has {len(body):,} bytes, more than {most:,}. Ask for less.", value=len(body))
    if form == "raw" and (query.dtype is None or np.dtype(query.dtype) == np.dtype(head["dtype"])):
        return Content(service.front(what.run, query.scenario, what.inner.name, digest, head), body)
    places = _placed(known, what, piece) if form in PLACED else encode.CellPlaces()
    whole: ArrayHead = {**head, "scenario": query.scenario}
    return await asyncio.to_thread(encode.encode, form, whole, body, query.dtype, known, places, service.limits)


def _placed(known: RunDescription, what: Meant, piece: MapValues) -> encode.CellPlaces:
    """Where the values of an answer lie."""
    grid, query, stride, head = known.grid, what.query, what.query.stride, piece.head
    if piece.cells is not None:
        return encode.CellPlaces(cells=piece.cells.astype(np.int64))
    boxed = regions.asked(grid, query)
    inside = None if boxed is None else boxed.astype(np.int64)
    if what.inner.packed:
        return encode.CellPlaces(cells=every_nth(grid, inside, stride, query.box))
    if query.in_pixels or not isinstance(grid, Raster):
        box = head.get("box")
        if box is None:
            raise Refused("not-acceptable", "This format needs even degrees. Ask for format=raw or packed=1.", allowed=["raw", "npy"])
        west, south, east, north = box
        rows, columns = head["shape"][-2:]
        lat = head.get("lat", north - (np.arange(rows) + 0.5) * (north - south) / rows)
        return encode.CellPlaces(lat=np.round(lat, 10), lon=np.round(west + (np.arange(columns) + 0.5) * (east - west) / columns, 10))
    window = window_of(grid, inside, stride=stride, box=query.box)
    cut = {"lat": np.asarray(window.rows[::stride]), "lon": np.asarray(window.columns[::stride]) % grid.nlon}
    return encode.CellPlaces(lat=grid.lat[cut["lat"]], lon=window.longitudes(grid.lon), cut=cut)


def steps_of(time: str, known: RunDescription, scenario: ScenarioStatus, most: int) -> list[int] | None:
    """The steps that a request means, None for the last finished one.

    Raises
    ------
    Refused
        date-wrong, date-outside-forcing, not-computed with what there is, out-of-range.
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
        *begin, end = time.split("/")
        last = step_behind(end, facts, "time")
        first = step_from(begin[0], facts, "time") if begin else last
    if first > last:
        raise Refused("out-of-range", f"{time} ends before it begins.", value=time, position="time")
    if last > shown:
        span = [date_of(1, facts), date_of(shown, facts)] if shown else []
        date = f", {span[1]}" if span and span[1] else ""
        text = f"time={time} has not been computed: {scenario['name']} stands at step {shown}{date}."
        raise Refused("not-computed", text, value=time, allowed=span, computed=[0, shown], position="time")
    if last - first + 1 > most:
        raise Refused("not-acceptable", f"{last - first + 1:,} steps are more than {most:,} at once. Ask for parts.", allowed=most)
    return list(range(first, last + 1))


async def _stacked(service: Service, what: Meant, query: MapQuery, steps: list[int]) -> tuple[ArrayHead, bytes]:
    """The arrays of several steps one behind the other, (time, ...)."""
    run, branch, most = service.run(what.run), what.scenario["branch"], service.limits.reply
    bodies: list[Buffer] = []
    heads: list[ArrayHead] = []
    total = 0
    for begin in range(0, len(steps), TOGETHER):
        some = steps[begin : begin + TOGETHER]
        for said, body in await asyncio.gather(*(run.get(branch, replace(query, step=step)) for step in some)):
            total += memoryview(body).nbytes
            heads.append(said)
            bodies.append(body)
        if total > most:
            raise Refused("not-acceptable", f"The answer has more than {most:,} bytes. Ask for less.")
    last = heads[-1]
    head: ArrayHead = {**last, "shape": [len(steps), *last["shape"]], "dims": ["time", *last["dims"]]}
    head["steps"], head["dates"] = steps, [each.get("date") for each in heads]
    if rounded := next(filter(None, (each.get("rounded") for each in heads)), None):
        head["rounded"] = rounded
    return head, b"".join(bodies)


async def fit(service: Service, run: str, name: str, query: MapQuery) -> Fit:
    """Round ends of colours that fit one map; raises Refused."""
    name = service.variable(run, name, query.level).name
    steps = steps_of(query.time, service.known(run), service.scenario(run, query.scenario), 1)
    head, body = await service.run(run).get(query.scenario, MapQuery(name=name, packed=True, step=steps[0] if steps else None))
    values = array_of(head, body)
    known = values[has_value(values)]
    if not known.size:
        raise Refused("not-computed", f'No cell of "{name}" has a value at step {head["step"]}.', position="time")
    low, high = outward(*np.percentile(known, [2, 98]).tolist())
    return Fit(variable=name, step=head["step"], low=low, high=high)


NARROWEST = 1e-30  # that float32 tells


def outward(low: float, high: float) -> tuple[float, float]:
    """Round ends of colours for values from low to high: steps of 1, 2 or 5; amounts are read against nothing."""
    if 0.0 <= low < 0.3 * high or (low == high == 0.0):
        low = 0.0
    size = max(abs(low), abs(high))
    if high - low <= max(1e-6 * size, NARROWEST):  # one value, give or take rounding
        half = 0.1 * size if size > NARROWEST else 1.0
        low, high = low - half * (low != 0.0), high + half
    power = 10.0 ** floor(log10((high - low) / 10))
    step = next(digit * power for digit in (1, 2, 5, 10) if (high - low) / 10 <= digit * power * (1 + 1e-9))
    return float(f"{floor(low / step + 1e-9) * step:.12g}"), float(f"{ceil(high / step - 1e-9) * step:.12g}")
