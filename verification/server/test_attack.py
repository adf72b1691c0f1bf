"""What an attacker tries, against a real server: nothing is changed, memory is bounded, and a normal client hardly notices."""

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from tests.server.asking import TOKENS
from tests.server.listening import talk

from verification.server.conftest import Served

ADMIN = f"Host: localhost\r\nAuthorization: Bearer {TOKENS['admin']}\r\n".encode()
RUN = b"/api/v1/runs/toy"
ORDER = b"POST " + RUN + b"/step HTTP/1.1\r\nIdempotency-Key: k\r\n" + ADMIN + b"Content-Type: application/json\r\n"
SOCKET = (
    b"GET " + RUN + b"/live HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: steppe.live.1\r\n"
)
TRICKS = 10_000
PIECES = (
    *(
        "..",
        "%2e%2e",
        "%252e%252e",
        ".%00",
        "%2f",
        "%5c",
        "\\",
        "...",
        "~",
        "etc/passwd",
        "%2fetc%2fpasswd",
        "dev/zero",
        "proc/self/environ",
    ),
    *(
        "file:%2f%2f%2fetc%2fpasswd",
        "s3:%2f%2fbucket",
        "http:%2f%2f169.254.169.254",
        "journal.sqlite",
        "door.json",
        "%c0%ae%c0%ae",
        "%uff0e",
        "green",
        "",
    ),
)
ROOTS = ("data", "image", "zarr", "uploads", "variables", "operations", "checkpoints", "../../assets", "")


def body_of(content: bytes) -> bytes:
    return ORDER + b"Content-Length: %d\r\n\r\n" % len(content) + content


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def standing(port: int) -> tuple[bytes, bytes, bytes]:
    """All that must not change: where the run stands, its journal and its state."""
    return tuple(  # type: ignore[return-value]
        talk(port, b"GET " + RUN + address + b" HTTP/1.1\r\n" + ADMIN + b"Connection: close\r\n\r\n").split(b"\r\n\r\n", 1)[1]
        for address in (b"", b"/log", b"/data/green?packed=1")
    )


def memory(pid: int) -> int:
    """Bytes of a process that are in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


@contextmanager
def somebody(port: int) -> Iterator[list[float]]:
    """A normal client that asks on one connection; the milliseconds of its answers."""
    times: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", port), 10.0) as line:
            while not over.wait(0.005):
                begin = time.perf_counter()
                line.sendall(b"GET " + RUN + b" HTTP/1.1\r\n" + ADMIN + b"\r\n")
                answer = b""
                while b"\r\n\r\n" not in answer or len(answer.split(b"\r\n\r\n", 1)[1]) < int(
                    answer.lower().split(b"content-length: ")[1].split(b"\r")[0]
                ):
                    piece = line.recv(65536)
                    assert piece, "The server has closed the connection of a normal client."
                    answer += piece
                assert status(answer) == 200
                times.append(1e3 * (time.perf_counter() - begin))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield times
    finally:
        over.set()
        thread.join()


def path_tricks(port: int) -> None:
    """Addresses that try to leave the run: each is refused, none tells what is in a file."""
    chance = random.Random(1)
    for _ in range(TRICKS // 100):
        requests = []
        for _ in range(100):
            path = "/".join([chance.choice(ROOTS), *(chance.choice(PIECES) for _ in range(chance.randint(1, 6)))])
            requests.append(b"GET " + RUN + b"/" + path.encode() + b" HTTP/1.1\r\n" + ADMIN + b"\r\n")
        answer = talk(port, *requests, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        codes = [int(line.split(b" ")[1]) for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
        assert b"root:" not in answer
        assert b"SQLite format" not in answer
        assert set(codes) <= {200, 307, 400, 404, 405}, set(codes)
        assert b'"status":"ok"' in answer or 400 in codes


def bombs(port: int) -> None:
    """Bodies that would grow, each refused."""
    deep, wide = b"[" * 500_000 + b"]" * 500_000, b"{" + b",".join(b'"%d":1' % i for i in range(90_000)) + b"}"
    for content in (
        deep,
        wide,
        b"9" * 1_000_000,
        b'{"steps":' + b"9" * 900_000 + b"}",
        b'{"steps":1e999}',
        b'{"steps":1,"steps":2}',
        b'"' + b"\\u0000" * 150_000,
    ):
        for _ in range(5):
            assert status(talk(port, body_of(content), until=b'"code"')) in (400, 413, 422)
    for encoding in (b"gzip", b"zstd", b"deflate, gzip"):
        head = ORDER + b"Content-Encoding: " + encoding + b"\r\nContent-Length: 20\r\n\r\n" + b"\x1f\x8b" * 10
        assert status(talk(port, head, until=b'"code"')) == 415
    chunked = ORDER + b"Transfer-Encoding: chunked\r\n\r\n"
    assert status(talk(port, chunked, *[b"10000\r\n" + b" " * 65536 + b"\r\n"] * 20, until=b"body-too-large")) == 413


def foreign(port: int) -> None:
    """Orders that another site makes a browser send, wrong tokens, other names of the server."""
    content = b'{"steps":1}'
    length = b"Content-Length: %d\r\n\r\n" % len(content) + content
    for origin in (b"http://evil.example", b"null", b"http://localhost.evil.example", b"https://localhost:1"):
        assert status(talk(port, ORDER + b"Origin: " + origin + b"\r\n" + length, until=b'"code"')) == 403
    for media in (b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data"):
        assert status(talk(port, ORDER.replace(b"application/json", media) + length, until=b'"code"')) == 415
    for host in (b"evil.example", b"169.254.169.254", b"localhost.evil.example", b"[::2]"):
        assert status(talk(port, ORDER.replace(b"Host: localhost", b"Host: " + host) + length, until=b'"code"')) == 421
    for token in (b"x" * 43, b"", TOKENS["admin"][:-1].encode(), TOKENS["admin"].encode() + b"a"):
        assert status(talk(port, ORDER.replace(TOKENS["admin"].encode(), token) + length, until=b'"code"')) == 401
    for origin in (b"http://evil.example", b"null", b"https://localhost:1"):
        assert status(talk(port, SOCKET + ADMIN + b"Origin: " + origin + b"\r\n\r\n", until=b'"code"')) == 403


def sockets(port: int) -> None:
    """Three hundred live sockets that never say who they are; those of a token that send what nobody may, or read nothing."""
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
    for line in strangers:
        line.sendall(SOCKET + b"Host: localhost\r\n\r\n")
    codes = [status(line.recv(4096)) for line in strangers]
    assert set(codes) == {101, 429}
    assert codes.count(101) <= 16
    floods = (b"\x89\x80" + bytes(4), b"\x81\xfe\x10\x01" + bytes(4 + 4097), b"\x82\x80" + bytes(4), b"\x01\x80" + bytes(4))
    for flood in floods:
        with socket.create_connection(("127.0.0.1", port), 10.0) as line:
            line.sendall(SOCKET + ADMIN + b"\r\n")
            greeting = b""
            while b'"hello"' not in greeting:
                greeting += line.recv(1 << 16)
            with suppress(OSError):
                for _ in range(1000):
                    line.sendall(50 * flood)
    for line in strangers:
        line.close()


def smuggled(port: int) -> None:
    """Requests of which two readers would see two different ends: none of their second halves is carried out."""
    inner = body_of(b'{"steps":1}')
    for head in (
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(inner),
        b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(inner),
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: \x0bchunked\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 1_0\r\n",
    ):
        answer = talk(port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n0\r\n\r\n" + inner, until=b'"code"', seconds=1.0)
        assert b" 202 " not in answer
        assert b'"target"' not in answer


def slow(port: int) -> None:
    """Two hundred that never come to the end of their headers, twenty that do not read."""
    lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    for line in lines:
        line.sendall(b"GET / HTTP/1.1\r\nX: ")
    readers = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    for line in readers:
        line.sendall((b"GET " + RUN + b"/data/green HTTP/1.1\r\n" + ADMIN + b"\r\n") * 200)
    since = time.monotonic()
    for line in lines:
        line.settimeout(12.0)
        assert status(line.recv(4096)) in (408, 0)
    assert time.monotonic() - since < 8.0
    for line in (*lines, *readers):
        line.close()


def test_nothing_is_changed_and_a_normal_client_hardly_notices(served: Served, measured: Callable[..., None]) -> None:
    port = served.port
    assert status(talk(port, body_of(b'{"steps":3}'), until=b'"target"')) == 200
    before, held = standing(port), memory(served.pid)
    with somebody(port) as times:
        for attack in (path_tricks, bombs, foreign, smuggled, slow, sockets):
            begin = len(times)
            attack(port)
            time.sleep(0.2)  # so that somebody asked, however short it was
            assert len(times) > begin, "A normal client was not answered."
            late = float(np.quantile(times[begin:], 0.99))
            measured("attack", f"{attack.__name__}: answers to somebody else, p99 [ms]", late, "< 50 where nothing else runs")
    assert standing(port) == before
    grown = (memory(served.pid) - held) / 1e6
    measured("attack", "memory grown by [MB]", grown, "< 100")
    assert grown < 100
    assert json.loads(standing(port)[0])["scenarios"][0]["step"] == 3
