"""A run on a map in a notebook: the page's own parts in an anywidget. This process passes on requests and live messages.

    browser --{ask, watch, follow, cursor}--> kernel --HTTP, WebSocket--> server

So the browser needs no way to the server, and the token stays here.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steppe.client.http_client import BASE, HttpClient, now
from steppe.client.live_stream import how_to_open
from steppe.client.transport import LostError
from steppe.errors import Mistake, not_installed

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

PAGE = Path(__file__).resolve().parents[1] / "server" / "page"  # where the build of the page puts it; nothing of the server is imported
SAID = ("watch", "follow", "cursor")  # of the live socket, passed on as they are
PAUSES = (0.25, 8.0)  # [s] before a lost socket is opened again: the first, and the longest


class Relay:
    """Between a widget and a server: answers its requests, and passes on the messages of the live socket.

    Parameters
    ----------
    line
        To the server; of the kind that waits.
    run
        Name of the run.
    tell
        Called from other threads with a message for the browser and what goes with it as bytes.
    """

    def __init__(self, line: HttpClient, run: str, tell: Callable[[Mapping[str, object], Sequence[bytes]], object]) -> None:
        self._line, self._run, self._tell = line, run, tell
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="steppe-widget")
        self._left = threading.Event()
        self._socket: ClientConnection | None = None
        self._watched: str | None = None
        self._reader: threading.Thread | None = None

    def hear(self, message: Mapping[str, object]) -> None:
        """Carries out a message of the browser."""
        if "ask" in message:
            self._threads.submit(self._answer, dict(message))
        elif "leave" in message:
            self.leave()
        elif any(name in message for name in SAID):
            text = json.dumps({name: message[name] for name in SAID if name in message})
            if "watch" in message:
                self._watched = text
            self._say(text)
            if self._reader is None:
                self._reader = threading.Thread(target=self._read, name="steppe-widget", daemon=True)
                self._reader.start()

    def leave(self) -> None:
        """Ends all threads and the socket."""
        self._left.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._socket is not None:
            self._socket.close()

    def _say(self, text: str) -> None:
        if self._socket is not None:
            from websockets.exceptions import ConnectionClosed

            with suppress(ConnectionClosed):  # said again when it is open again
                self._socket.send(text)

    def _answer(self, message: dict[str, Any]) -> None:
        number, path = message["ask"], str(message["path"])
        if path == "/coast":
            found = next(iter(PAGE.glob("assets/land-*.json")), None)
            self._tell({"answer": number, "status": 200 if found else 404}, [found.read_bytes() if found else b""])
            return
        body = message.get("body")
        headers = {name: str(value) for name, value in dict(message.get("headers") or {}).items()}
        try:
            if not path.startswith(f"{BASE}/"):
                raise LostError("no address of the server's")
            reply = now(self._line.pass_on(str(message["method"]), path, None if body is None else str(body).encode(), headers))
        except LostError as error:
            problem = {"status": 503, "code": "unreachable", "title": "The server did not answer", "detail": str(error)}
            self._tell({"answer": number, "status": 503}, [json.dumps(problem).encode()])
        else:
            self._tell({"answer": number, "status": reply.status}, [reply.content])

    def _read(self) -> None:
        from websockets.exceptions import WebSocketException

        pause = PAUSES[0]
        while not self._left.is_set():
            try:
                with self._open() as self._socket:
                    if self._watched:
                        self._socket.send(self._watched)
                    for message in self._socket:
                        pause = PAUSES[0]
                        if isinstance(message, str):
                            self._tell({"live": message}, [])
                        else:
                            self._tell({}, [message])
            except (OSError, TimeoutError, WebSocketException):
                pass
            self._socket = None
            if not self._left.is_set():
                self._tell({"link": "lost"}, [])
                self._left.wait(pause)
                pause = min(2 * pause, PAUSES[1])

    def _open(self) -> "ClientConnection":
        from websockets.sync.client import connect, unix_connect

        address, how = how_to_open(self._line, self._run)
        path = self._line.address.socket
        opened: ClientConnection = unix_connect(path, address, **how) if path else connect(address, **how)
        return opened


def widget_of(line: HttpClient, run: str, scenario: str, variable: str) -> Any:
    """A widget that shows a variable of a scenario.

    Raises
    ------
    Mistake
        anywidget is not installed, or this installation was made without the page.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise not_installed("A run in a notebook", "notebook", "anywidget") from None
    script = PAGE / "widget.js"
    if not script.is_file():
        raise Mistake(f'"{script}" is not there: this checkout has no built page. Build it: make.')

    def close(widget: object) -> None:
        relay.leave()
        anywidget.AnyWidget.close(widget)

    parts = {name: traitlets.Unicode().tag(sync=True) for name in ("run", "scenario", "variable")}
    text = "The map of a run, with what is under the pointer, series and the bar of time."
    kind = type("RunWidget", (anywidget.AnyWidget,), {"__doc__": text, "_esm": script.read_text(encoding="utf-8"), "close": close, **parts})
    widget = kind(run=run, scenario=scenario, variable=variable)
    relay = Relay(line, run, lambda content, buffers: widget.send(content, buffers))
    widget.on_msg(lambda _, content, __: relay.hear(content))
    return widget
