"""Reading a run on a server: its description and its values."""

from collections.abc import AsyncGenerator, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec.structs import replace
from numpy.typing import ArrayLike

from steppe.api import (
    CheckpointInfo,
    CheckpointList,
    EventInfo,
    EventList,
    Info,
    ScenarioInfo,
    SeriesInfo,
    TriggerInfo,
    TriggerList,
    VariableInfo,
    decode,
)
from steppe.api.documents import JournalRow
from steppe.api.query import MapQuery
from steppe.client import words
from steppe.client.labels import all_levels, series_array
from steppe.client.live_stream import LiveStream, watch
from steppe.client.one_state import MapAnswer, of_one_state
from steppe.client.operation import AsyncOperation, told_of
from steppe.client.picture import Picture
from steppe.client.remote import Remote
from steppe.errors import Mistake
from steppe.html_summary import html_summary
from steppe.levels import HYBRID, layer

if TYPE_CHECKING:
    import xarray

FIRST = "main"


class AsyncLook:
    """A run on a server, seen from one of its scenarios."""

    def __init__(self, remote: Remote, scenario: str = FIRST) -> None:
        self._remote, self._scenario = remote, scenario

    @property
    def name(self) -> str:
        """Of the run."""
        return self._remote.name

    @property
    def scenario_name(self) -> str:
        """Of the scenario that is seen and steered."""
        return self._scenario

    # ---- what it is ---------------------------------------------------------------------------------------------------------------------
    async def info(self) -> Info:
        """The run now: state, engine, scenarios with their steps and dates, version."""
        return await self._remote.info()

    @property
    async def variables(self) -> Mapping[str, VariableInfo]:
        """All variables by name: units, limits, role, whether they may be set."""
        return await self._remote.variables()

    @property
    async def scenarios(self) -> Mapping[str, ScenarioInfo]:
        """All scenarios by name, each with its step. An unknown name raises `UnknownError`."""
        return await self._remote.scenarios()

    @property
    async def checkpoints(self) -> list[CheckpointInfo]:
        """The durable checkpoints."""
        return msgspec.json.decode(await self._ask("checkpoints"), type=CheckpointList).checkpoints

    @property
    async def events(self) -> list[EventInfo]:
        """The changes that are still to come."""
        return msgspec.json.decode(await self._ask("events"), type=EventList).events

    @property
    async def triggers(self) -> list[TriggerInfo]:
        """The triggers of all scenarios, with the steps after which they became true."""
        return msgspec.json.decode(await self._ask("triggers"), type=TriggerList).triggers

    @property
    async def operations(self) -> list[AsyncOperation]:
        """All orders of all scenarios, the first one first."""
        names = {each.branch: each.name for each in (await self.scenarios).values()}
        rows = await self.log()
        return [await AsyncOperation(self._remote, told_of(row, self.name), names.get(row["branch"], "")).refresh() for row in rows]

    async def log(self, after: int = 0) -> list[JournalRow]:
        """The rows of the journal after a number: each order with its client and its outcome."""
        return await self._remote.log(after)

    # ---- what is seen -------------------------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> Coroutine[Any, Any, "xarray.DataArray"]:
        return self.get(name)

    async def get(
        self,
        name: str,
        *,
        level: int | str | None = None,
        box: words.Box | None = None,
        polygon: words.Polygon | None = None,
        cells: ArrayLike | None = None,
        stride: int = 1,
        width: int | None = None,
        step: int | None = None,
        date: words.Day | tuple[words.Day, words.Day] | slice | None = None,
        scenario: str | None = None,
        **more: Any,
    ) -> "xarray.DataArray":
        """Values of a variable at the last finished step, with coordinates, units and attributes of CF.

        Parameters
        ----------
        name
            Of the variable; of one of its levels, counted from 0, as "ozone[3]".
        level
            Number of one level, or its value with its unit, "850 hPa"; default: all levels of a variable that has some.
        box, polygon, cells
            West, south, east, north; corners (longitude, latitude); packed numbers. Outside a polygon the map is NaN.
        stride
            Every n-th row and column only; of a polygon and of listed cells all come.
        width
            Number of columns; the server makes means of cells, and takes the first cell of classes.
        more
            `height`, the number of rows; `reduce`, the operation on the cells of a pixel: "mean", "min", "max" or "first".
        step, date
            A past step or date, or from and to, where available.
        scenario
            Another scenario than that of this view.

        Returns
        -------
        DataArray
            (lat, lon) of a raster, (y, x) of a projected grid, (cell,) of points and of `cells`; (time, ...) of several dates;
            (level, ...) of a variable with levels.

        Raises
        ------
        UnknownError
            There is no such variable or scenario.
        NotAtHandError
            The step is not computed yet, or no longer available.
        RefusedError
            The region holds no cell, or is none; or orders changed the run between the levels, again and again.
        """
        words.check_more(width, more)
        name = await self._remote.one_level(name, level)
        variable = await self._remote.variable(name)
        region = words.region(box, polygon, cells)
        if step is not None and date is not None:
            raise Mistake("Give step or date, not both.")
        time = words.time(date) if step is None else words.of_step(step)
        asked = MapQuery(**region, stride=stride, width=width, time=time, scenario=scenario or self._scenario, **more)
        asked = replace(asked, packed=stride == 1 and not asked.in_pixels)
        if not variable.levels:
            return (await self._map(name, asked, region)).values
        names = [layer(variable.name, number) for number in range(len(variable.levels.values))]
        return all_levels(await of_one_state(lambda each, query: self._map(each, query, region), names, asked), variable)

    def watch(
        self,
        name: str,
        *,
        level: int | str | None = None,
        box: words.Box | None = None,
        stride: int | None = None,
        width: int | None = None,
        rate: float | None = None,
        scenario: str | None = None,
    ) -> AsyncGenerator["xarray.DataArray", None]:
        """The newest map of a variable, and the next ones as the run makes them, until it has ended.

        It waits while the engine or the server restarts. A slow caller gets a map that was made meanwhile, then the newest; the run does
        not wait. No map comes while nothing is computed or changed, but the last one comes once more when an order of this client that was
        given with `wait=False` is over: a loop can end then. Close it if you leave it early (`contextlib.aclosing`).

        Parameters
        ----------
        name
            Of the variable.
        level
            Number of one level, or its value with its unit.
        box
            West, south, east, north: only the rows and columns around the cells in it.
        stride, width
            Every n-th row and column; a number of columns, which hold means of cells, of classes the first cell.
        rate
            Maps a second at most; default 30.
        scenario
            Another scenario than that of this view.

        Yields
        ------
        DataArray
            float32, (lat, lon) of a raster, (y, x) of a projected grid, (cell,) of points; NaN where there is no cell or no value. It comes
            in 16 bits: right to `attrs["precision"]`. `attrs["step"]` says of which step it is; `get` has exact values.

        Raises
        ------
        UnknownError
            There is no such variable or scenario.
        RefusedError
            The region holds no cell, or is none.
        UnreachableError
            No server answers any more.
        """
        wish = {"box": box, "stride": stride, "width": width, "rate": rate, "scenario": scenario}

        async def made() -> LiveStream:
            return await self._stream(await self._remote.one_level(name, level), wish)

        return watch(self._remote.line, self.name, made, self._remote.orders_over)

    async def image(
        self,
        name: str,
        *,
        level: int | str | None = None,
        box: words.Box | None = None,
        width: int | None = None,
        low: float | None = None,
        high: float | None = None,
        style: str | None = None,
        scenario: str | None = None,
    ) -> Picture:
        """A map as a PNG, which a notebook shows. low, high: values of the first and last colour; style: name of a colour map."""
        name = await self._remote.one_level(name, level)
        await self._remote.variable(name)
        looks: dict[str, Any] = {"low": low, "high": high, "style": style, "scenario": scenario or self._scenario}
        return Picture(await self._ask(f"image/{name}.png", words.keys(MapQuery(**words.region(box), width=width, **looks))))

    async def series(
        self,
        name: str,
        at: words.Corners = (),
        *,
        level: int | str | None = None,
        box: words.Box | None = None,
        polygon: words.Polygon | None = None,
        cells: ArrayLike | None = None,
        date: words.Day | tuple[words.Day, words.Day] | slice | None = None,
        points: int | None = None,
        scenario: str | None = None,
    ) -> "xarray.DataArray":
        """Values of a variable over time: at some places, or of a region its mean by area, its least and its greatest value.

        Parameters
        ----------
        name
            Of the variable.
        at
            Places (longitude, latitude), or a single one.
        level
            Number of one level, or its value with its unit; default: all levels at places. A region needs one.
        box, polygon, cells
            A region, as in `get`.
        date
            From and to, or a single date; default: all steps up to the present one.
        points
            About so many steps of a longer series: its least and greatest values stay, and what is not at hand is NaN. Without it each step
            must be at hand, and the server gives 1,500 at once.
        scenario
            Another scenario than that of this view.

        Returns
        -------
        DataArray
            (time, place), of all levels (time, level, place); of a region (time, statistic).

        Raises
        ------
        UnknownError
            There is no such variable, level or scenario.
        NotAtHandError
            A step is not computed yet, or no longer available.
        RefusedError
            The region holds no cell, or is none.
        """
        name = await self._remote.one_level(name, level)
        variable, scenario = await self._remote.variable(name), scenario or self._scenario
        region = words.region(box, polygon, cells)
        there = words.places(at)
        if bool(there) == bool(region):
            raise Mistake("Give places, at=[(longitude, latitude)], or a region: box, polygon or cells." + " Not both." * bool(region))
        span = words.time(date) if date is not None else await self._remote.until_now(scenario)
        query: dict[str, object] = {"at": there} if there else {}
        query |= words.keys(MapQuery(time=span, scenario=scenario, **region)) | ({"points": str(points)} if points is not None else {})
        found = msgspec.json.decode(await self._ask(f"series/{name}", query), type=SeriesInfo)
        levels = (await self._remote.variables()).coordinate(name)
        return series_array(found, variable, levels, len(there), self._remote.seen.calendar)

    async def dataset(self) -> "xarray.Dataset":
        """All variables of all dates of the run, as the server gives them to readers of Zarr: maps are fetched when they are read.

        The time axis is that of the whole run; what is not computed yet is NaN, and comes with a later look. A map is one request, so is a
        day of a series: `series` is faster for places. After a rewind it still shows what was left.

        Raises
        ------
        NotAtHandError
            When a map is read: its step was not recorded and cannot be computed again soon. The text names the steps that are at hand.
        """
        import xarray

        from steppe.client.zarr_store import RunStore

        path = f"{self._remote.path}/zarr/{self._scenario}~{(await self.scenarios)[self._scenario].branch}"
        line = self._remote.line
        store: Any = RunStore(path, line.address, line.patience, line.verify)
        # no cache: what was NaN may have come since
        found = xarray.open_dataset(store, engine="zarr", decode_coords="all", cache=False)
        return found.set_coords([name for name in HYBRID if name in found])

    async def scenario(self, name: str) -> Self:
        """The run seen from another scenario.

        Raises
        ------
        UnknownError
            There is none of this name.
        """
        return type(self)(self._remote, (await self.scenarios)[name].name)

    async def close(self) -> None:
        """Ends the connections of this client; the run goes on."""
        await self._remote.line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # ---- parts --------------------------------------------------------------------------------------------------------------------------
    async def _ask(self, path: str, query: Mapping[str, object] | None = None) -> bytes:
        return (await self._remote.line.ask("GET", f"{self._remote.path}/{path}", query)).content

    async def _map(self, name: str, asked: MapQuery, region: Mapping[str, Any]) -> MapAnswer:
        variable, places, calendar = await self._remote.variable(name), self._remote.places, self._remote.seen.calendar
        reply = await self._remote.line.ask("GET", f"{self._remote.path}/data/{name}", words.keys(asked))
        head, values = decode(reply.content)
        state = reply.headers.get("etag", "").removeprefix("W/").rpartition(".")[0]  # without the digest of the query
        found = await places.labelled(head, values, region, variable, calendar, asked.stride)
        return MapAnswer(state, head["step"], found.assign_coords((await self._remote.variables()).coordinate(name)))

    async def _stream(self, name: str, wish: Mapping[str, Any]) -> LiveStream:
        """The stream to watch."""
        variable, grid = await self._remote.variable(name), await self._remote.places.grid()
        whole = {**wish, "variable": name, "scenario": wish["scenario"] or self._scenario, "box": wish["box"] and list(wish["box"])}
        return LiveStream(whole, variable, grid.axes, (await self._remote.variables()).coordinate(name))

    def _stands(self) -> ScenarioInfo | None:
        return next((each for each in self._remote.seen.scenarios if each.name == self._scenario), None)

    def __repr__(self) -> str:
        stands, name = self._stands(), type(self).__name__
        where = f"step {stands.step:,} of {self._remote.seen.steps or 0:,}, {stands.date}, {stands.state}" if stands else "not seen yet"
        return f"<{name} {self.name}, {self._scenario}: {where}; {self._remote.line.url}>"

    def _repr_html_(self) -> str:
        seen, stands = self._remote.seen, self._stands()
        facts: dict[str, object] = {"address": self._remote.line.url, "model": seen.model, "state": seen.state, "scenario": self._scenario}
        part = None
        if stands and seen.steps:
            facts |= {"step": f"{stands.step:,} of {seen.steps:,}", "date": stands.date, "goes to": f"{stands.target:,}"}
            part = stands.step / seen.steps
        if seen.problem:
            facts["problem"] = str(seen.problem.get("text", seen.problem))
        rows = [(each.name, each.date or "", f"step {each.step:,}", each.state) for each in seen.scenarios]
        return html_summary(f"Run {self.name}", facts, part, tables={"scenarios": rows})
