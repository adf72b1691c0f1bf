"""A real HTTP server of a folder, with the ways in which real servers fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


@dataclass
class Served:
    """What the server does. drops: how many answers break off after `bytes_before` bytes. busy: how many are 503.

    ranges: answers parts of files. etag: what it says of a file. requests: (path, Range header) in order.
    """

    folder: Path
    address: str = ""
    drops: int = 0
    bytes_before: int = 5_000
    busy: int = 0
    ranges: bool = True
    etag: str = '"one"'
    requests: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def serving(folder: Path, **how: Any) -> Iterator[Served]:
    """A server on a free port of this machine."""
    served = Served(folder, **how)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            span = self.headers.get("Range", "")
            served.requests.append((self.path, span))
            path = folder / self.path.lstrip("/")
            if served.busy:
                served.busy -= 1
                self.send_error(503)
                return
            if not path.is_file():
                self.send_error(404)
                return
            content, start = path.read_bytes(), 0
            if span and served.ranges and self.headers.get("If-Range") == served.etag:
                start = int(span.removeprefix("bytes=").rstrip("-"))
                if start >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(content) - start))
            if served.etag:
                self.send_header("ETag", served.etag)
            self.end_headers()
            body = content[start:]
            if served.drops:
                served.drops -= 1
                body = body[: served.bytes_before]
                self.close_connection = True
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
