"""Maps of a run while it computes: from the live socket, as arrays of xarray.

server --{hello, watching, frames}--> Stream --> an array --> the loop of the caller; when it asks for the next one: --{ack}--> server

So a slow program gets fewer maps, is one behind at most, and slows neither the run nor others. A program may end its loop when an order is
over, and the last map may come before that. So while no message comes the client asks for its orders, and gives the last map once more.
"""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import nullcontext, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import numpy as np

from steppe.api import VariableInfo
from steppe.api.frame import MAGIC, PROTOCOL, Frame, read_frame
from steppe.client.http_client import BASE, HttpClient, now, problem_of
from steppe.client.labels import TIME, attributes_of, times
from steppe.client.refusals import UnknownError, UnreachableError, lasting, raised
from steppe.client.run_places import CF
from steppe.levels import LevelArray

if TYPE_CHECKING:
    import xarray

PAUSES = (0.1, 2.0)  # [s] before a lost socket is opened again: the first, and the longest
QUIET = 0.5  # [s] without a message after which orders are asked for
BITS = 16
ENDED = 1000  # code with which a server closes the socket of a run that has ended
REFUSED = 500  # statuses below it are for good
TOO_MANY = 429  # the status while a token has as many sockets as it may have
CLOSING = 3.0  # [s] that a socket may take to be closed, which makes room for another one
PARTING = 1.0  # [s] that the server may take to close a socket, too; with full buffers this client does not hear of it
LEFT = "@"  # in the names of scenarios that rewinds left; a run names only the newest of them


class LiveStream:
    """The messages of one stream of the socket, on any transport.

    Parameters
    ----------
    wish
        The stream as docs/live.md has it, without its number; None stands for the default.
    variable
        That is watched.
    axes
        Centres along each dimension of the map of the whole grid.
    level
        The coordinate of the level that is watched, if it is one.
    """

    def __init__(
        self, wish: Mapping[str, object], variable: VariableInfo, axes: Mapping[str, list[float]], level: Mapping[str, LevelArray]
    ) -> None:
        wanted = {name: value for name, value in wish.items() if value is not None}
        self.wish = json.dumps({"watch": [{"stream": 1, "bits": BITS, **wanted}]})
        self._variable, self._axes, self._level, self._in_pixels = variable, axes, level, "width" in wanted
        self._clock: Mapping[str, Any] = {}
        self._grid: Mapping[str, Any] = {}
        self._told: Mapping[str, Any] = {}
        self._last: Frame | None = None

    def ack(self, wait: bool) -> str:
        """Acknowledges a frame, so that the server sends one more, the newest then; wait: none yet.

        A server has two frames of a stream under way. So this acknowledges the one before the last; the last is the other of the two.
        """
        number = self._last.number if self._last else 0
        return json.dumps({"ack": max(number - (2 if wait else 1), 0), "stream": 1})

    def hear(self, message: str | bytes) -> "xarray.DataArray | None":
        """Takes a message; gives the map if it brought one that is new.

        Raises
        ------
        RefusedError
            The stream cannot be shown.
        UnknownError
            Its scenario is not there, or no longer.
        """
        if isinstance(message, bytes):
            return self._seen(read_frame(message)) if message[:4] == MAGIC and self._told else None
        said = json.loads(message)
        if said["type"] == "hello":
            self._clock, self._grid = said["clock"], said["grid"]
        elif said["type"] == "info" and self._told:
            self._expect([each["name"] for each in said["scenarios"]])
        elif said["type"] == "watching":
            self._told = said["streams"][0]
        elif said["type"] == "problem":
            raise raised(said["problem"])
        return None

    def _expect(self, scenarios: list[str]) -> None:
        """Raises `UnknownError` if the scenario is no longer one of the run: no map of it will come."""
        name = self._told["scenario"]
        if scenarios and name not in scenarios and LEFT not in name:
            facts = {"code": "unknown-scenario", "status": 404, "value": name, "allowed": scenarios}
            raise UnknownError(f'There is no scenario "{name}" any more: it was renamed or removed.', facts)

    def _seen(self, frame: Frame) -> "xarray.DataArray | None":
        import xarray  # 0.5 s

        last, self._last = self._last, frame
        as_before = last and (last.step, last.scale, last.offset) == (frame.step, frame.scale, frame.offset)
        if last and as_before and np.array_equal(last.levels, frame.levels):
            return None  # sent again, on another socket
        values = frame.values.astype(np.float32)
        dims, coordinates = self._coordinates()
        if dims == ("cell",):
            values = values.ravel()[: len(self._grid["lat"])]
        if self._clock["step"] is not None:
            coordinates["time"] = _time(frame.time, self._clock)
        said = attributes_of(self._variable, "cell_methods") | {
            "scenario": self._told["scenario"],
            "step": frame.step,
            "precision": frame.scale / 2,
        }
        return xarray.DataArray(values, {**coordinates, **self._level}, dims, self._variable.name, said)

    def _coordinates(self) -> tuple[tuple[str, ...], dict[str, object]]:
        """Dimensions, and centres of what the frames show: degrees, or metres of a projected grid."""
        grid, told = self._grid, self._told
        if grid["kind"] == "points":
            places = {name: ("cell", np.array(grid[name]), CF[name]) for name in ("lat", "lon")}
            return ("cell",), {"cell": np.arange(len(grid["lat"])), **places}
        dims = ("lat", "lon") if grid["kind"] == "raster" else ("y", "x")
        found: dict[str, object] = {}
        west, south, east, north = told["bounds"]
        sides = {dims[0]: ("row", told["rows"], north, south), dims[1]: ("column", told["columns"], west, east)}
        for name, (first, count, begin, end) in sides.items():
            if not self._in_pixels:
                axis, places = np.array(self._axes[name]), told[first] + np.arange(count) * told["stride"]
                centres = axis[places % len(axis)]  # a box may go round the Earth over the last column
                if places[-1] >= len(axis):
                    centres = begin + 180.0 / len(axis) + np.arange(count) * told["stride"] * 360.0 / len(axis)
            else:
                centres = begin + (np.arange(count) + 0.5) * (end - begin) / count
            found[name] = (name, centres if name != "lat" else told.get("lat", centres), CF[name])
        return dims, found


async def watch(
    line: HttpClient,
    run: str,
    made: Callable[[], Awaitable[LiveStream]],
    orders_over: Callable[[], Coroutine[Any, Any, int]],
    asynchronous: bool = True,
) -> "AsyncGenerator[xarray.DataArray, None]":
    """The maps of a stream as they come, until the run has ended.

    No other asynchronous generator may be open in it or around it. A loop that ends closes all of them at once, and each closes the others.

    made: gives the stream, when the first map is asked for. orders_over: asks for the client's orders; counts those that are over.
    asynchronous: False for programs that wait; then nothing here waits for an event loop.

    Raises
    ------
    RefusedError
        The stream cannot be shown, or the token is invalid.
    UnreachableError
        The server did not answer within the patience of the line.
    """
    from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, WebSocketException

    client = import_module(f"websockets.{'asyncio' if asynchronous else 'sync'}.client")
    stream, (address, how) = await made(), how_to_open(line, run)
    lost, last, over = _Outage(line), None, await orders_over()
    while True:
        try:
            path = line.address.socket
            opened = client.unix_connect(path, address, **how) if path else client.connect(address, **how)
            async with opened if asynchronous else _Waited(opened) as socket:
                await socket.send(stream.wish)
                while True:
                    message = None
                    with suppress(TimeoutError):
                        async with asyncio.timeout(QUIET) if asynchronous else nullcontext():
                            message = await socket.recv()
                    if message is None:
                        before, over = over, await orders_over()
                        if last is not None and over > before:
                            yield last
                        continue
                    lost.found()
                    if (seen := stream.hear(message)) is not None:
                        await socket.send(stream.ack(wait=True))
                        if asynchronous:  # properties of an operation cannot ask: they are as of the newest map
                            over = await orders_over()
                        yield (last := seen)
                    if isinstance(message, bytes):
                        await socket.send(stream.ack(wait=False))
        except ConnectionClosedOK:
            return  # closed by the server, since there is no run any more
        except (OSError, TimeoutError, WebSocketException) as error:
            if isinstance(error, ConnectionClosed) and error.rcvd is not None and error.rcvd.code == ENDED:
                return
            pause = lost.pause(error)
            await asyncio.sleep(pause) if asynchronous else time.sleep(pause)


def in_turn(maps: "AsyncGenerator[xarray.DataArray, None]") -> "Generator[xarray.DataArray, None, None]":
    """The maps of `watch` for a program that waits."""
    try:
        while True:
            yield now(maps.asend(None))
    except StopAsyncIteration:
        return
    finally:
        now(maps.aclose())


class _Waited:
    """A socket of `websockets.sync`, whose methods are awaited and never wait for an event loop."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    async def __aenter__(self) -> Self:
        self._socket = self._opened.__enter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._opened.__exit__(*error)

    async def send(self, text: str) -> None:
        self._socket.send(text)

    async def recv(self) -> str | bytes:
        return self._socket.recv(QUIET)  # type: ignore[no-any-return]


def how_to_open(line: HttpClient, run: str) -> tuple[str, dict[str, Any]]:
    """The address of the live socket of a run, and how websockets is to open it."""
    address = f"{line.url}{BASE}/runs/{quote(run)}/live".replace("http", "ws", 1)
    how: dict[str, Any] = {"subprotocols": [PROTOCOL], "additional_headers": line.headers, "compression": None, "max_size": None}
    how["close_timeout"] = PARTING
    if address.startswith("wss"):
        how["ssl"] = line.verify if isinstance(line.verify, ssl.SSLContext) else ssl.create_default_context()
        if line.verify is False:
            how["ssl"].check_hostname, how["ssl"].verify_mode = False, ssl.CERT_NONE
    return address, how


class _Outage:
    """How long a socket has been lost, and when it is opened again."""

    def __init__(self, line: HttpClient) -> None:
        self._line = line
        self.found()

    _since: float | None

    def found(self) -> None:
        """It is open."""
        self._pause, self._since = PAUSES[0], None

    def pause(self, error: Exception) -> float:
        """Seconds until it is tried again; raises what there is to say when that has no sense."""
        from websockets.exceptions import InvalidStatus

        if text := lasting(error, self._line.url, met=True):
            raise UnreachableError(text) from None
        self._since = self._since or time.monotonic()
        lost, why = time.monotonic() - self._since, f"{error}. Is steppe serve running there?"
        if isinstance(error, InvalidStatus):
            status = error.response.status_code
            facts = problem_of(status, error.response.body or b"", f"The live socket was answered by {status}.")
            if status < REFUSED and (status != TOO_MANY or lost > CLOSING):
                raise raised(facts) from None
            why = str(facts.get("detail", error))
        if lost > self._line.patience:
            raise UnreachableError(f"{self._line.url} showed nothing for {self._line.patience:g} s: {why}") from None
        pause, self._pause = self._pause, min(2 * self._pause, PAUSES[1])
        return pause


def _time(moment: float, clock: Mapping[str, Any]) -> tuple[tuple[()], object, dict[str, str]]:
    import cftime

    date = cftime.num2date(moment, clock["units"], clock["calendar"])
    return (), times([date.isoformat()], clock["calendar"])[0], TIME
