"""The application on a real socket, and what arrives on one."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from steppe.server import Server, configuration

WAIT = 30.0  # [s]


@contextmanager
def listening(server: Server) -> Iterator[int]:
    """Serves on a port of this machine, which it gives, until the end."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as door:
        serving = uvicorn.Server(configuration(server))
        thread = threading.Thread(target=serving.run, args=([door],), daemon=True)
        thread.start()
        while not serving.started:
            time.sleep(0.005)
        try:
            yield door.getsockname()[1]
        finally:
            server.drain()
            serving.should_exit = True
            thread.join(WAIT)
            assert not thread.is_alive()


def talk(port: int, *pieces: bytes, until: bytes = b"", seconds: float = WAIT) -> bytes:
    """What comes back for these bytes, until the server closes, or `until` has come, or time is up."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), seconds) as line:
        with suppress(ConnectionError):  # a server that has heard enough may close meanwhile: what it said is read
            for piece in pieces:
                line.sendall(piece)
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (until and until in found):
            line.settimeout(max(0.01, end - time.monotonic()))
            try:
                piece = line.recv(65536)
            except (TimeoutError, ConnectionResetError):
                break
            if not piece:
                break
            found += piece
    return found


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
