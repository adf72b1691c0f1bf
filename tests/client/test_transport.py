"""How the waiting client's requests travel, over a real server of the standard library."""

import os
import socket
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from steppe.client.http_client import HttpClient, now
from steppe.client.transport import LostError, Reply, Waiting


class Echo(BaseHTTPRequestHandler):
    """Answers with the path and what was sent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        content = self.path.encode() + b" " + self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Port", str(self.client_address[1]))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/before"
        server.shutdown()


def posted(over: Waiting, content: str) -> Reply:
    return now(over.send("POST", "/x?y=1", content.encode(), {"a": "b"}))


def test_a_connection_is_kept_and_headers_have_small_letters(url):
    over = Waiting(url, "", True)
    replies = [posted(over, text) for text in ("one", "two")]
    assert [reply.content for reply in replies] == [b"/before/x?y=1 one", b"/before/x?y=1 two"]
    assert replies[0].headers["x-port"] == replies[1].headers["x-port"]
    now(over.close())


def test_threads_use_a_transport_together(url):
    over = Waiting(url, "", True)
    texts = [str(number) for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda text: posted(over, text).content, texts)]
    assert found == [f"/before/x?y=1 {text}".encode() for text in texts]
    now(over.close())


def test_a_fork_has_connections_of_its_own(url):
    over = Waiting(url, "", True)
    port = posted(over, "one").headers["x-port"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, here those of the server
        child = os.fork()
    if not child:
        shared = True
        try:
            shared = posted(over, "two").headers["x-port"] == port
        finally:
            os._exit(shared)
    assert os.waitpid(child, 0)[1] == 0
    assert posted(over, "three").headers["x-port"] == port
    now(over.close())


def test_head_and_body_arrive_together_and_a_connection_that_ends_is_lost_and_then_made_anew():
    arrived: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def answer() -> None:
            for _ in range(2):
                line, _ = door.accept()
                with line:
                    arrived.append(line.recv(1 << 16))
                    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        serving = threading.Thread(target=answer)
        serving.start()
        over = Waiting(f"http://127.0.0.1:{door.getsockname()[1]}", "", True)
        assert posted(over, "one").content == b"ok"
        with pytest.raises(LostError):  # it has been closed without a word
            posted(over, "two")
        assert posted(over, "three").content == b"ok"
        serving.join()
    assert [each.rpartition(b"\r\n\r\n")[2] for each in arrived] == [b"one", b"three"]
    with pytest.raises(LostError):
        posted(over, "four")


class _Away:
    """A server that is away at first. The pauses of its client take no time."""

    def __init__(self, status: int, *times: str) -> None:
        self.replies = [*(Reply(status, "away", {"retry-after": each}, b"") for each in times), Reply(200, "", {}, b"there")]
        self.pauses: list[float] = []

    async def send(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        return self.replies.pop(0)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


@pytest.mark.parametrize("status", [429, 503])
def test_a_client_waits_for_a_time_that_is_a_number_or_a_date(status: int) -> None:
    ahead, past = (formatdate(time.time() + seconds, usegmt=True) for seconds in (3600, -3600))
    server = _Away(status, ahead, "1", past, "0", "Sun, 99 Nov 99999", "soon")
    client = HttpClient("http://127.0.0.1", server, {}, 60.0)  # type: ignore[arg-type]
    assert now(client.ask("GET", "/runs")).content == b"there"
    assert [pause > 0 for pause in server.pauses] == [True, True, False, False, True, True]
    assert max(server.pauses) <= 1
