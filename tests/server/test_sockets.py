import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from steppe.control import Order
from steppe.grid import Raster
from steppe.server import Access, Limits
from steppe.server.application import application
from steppe.server.routes import streams
from tests.server.asking import TOKENS, access_of_all
from tests.server.listening import WAIT, listening, talk
from tests.server.toy import Toy

LIMITS = Limits(header_seconds=1.0, body_seconds=1.0, connections=40, write_seconds=0.5, requests_burst=1e6, strangers_burst=1e6)
TOKEN = f"Host: localhost\r\nAuthorization: Bearer {TOKENS['admin']}\r\n".encode()
GET = b"GET /api/v1/whoami HTTP/1.1\r\n" + TOKEN


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, raster: Raster) -> Iterator[int]:
    toy = Toy(tmp_path_factory.mktemp("sockets") / "run", raster)
    with listening(application({"toy": toy}, access_of_all(), LIMITS)) as port:
        yield port
    toy.close()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def test_requests_follow_each_other_on_one_connection(port: int) -> None:
    answer = talk(port, GET + b"\r\n" + GET + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert b"server:" not in answer.lower()


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (b"GET /" + b"a" * 8200 + b" HTTP/1.1\r\n\r\n", 414),
        (GET + b"X: " + b"a" * 17_000 + b"\r\n\r\n", 431),
        (GET + b"".join(b"X%d: y\r\n" % i for i in range(3000)) + b"\r\n", 431),
        (GET + b"X: " + b"a" * 40_000, 431),
        (b"GARBAGE\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400),
        (GET + b"Bad Name: x\r\n\r\n", 400),
        (GET + b"X: a\r\n b\r\n\r\n", 400),
        (GET + b"X: a\x00b\r\n\r\n", 400),
        (GET + b"Host: localhost\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 421),
        (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400),
        (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nabcdef", 400),
        (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n", 413),
        (GET + b"Upgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n", 200),
        (GET.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n", 200),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_request_or_a_trick_is_answered_once_and_no_more(port: int, request_: bytes, wanted: int) -> None:
    answer = talk(port, request_, until=b'"code"', seconds=2.0)
    assert status(answer) == wanted, answer[:300]
    assert answer.count(b"HTTP/1.1 ") == 1
    if wanted >= 400:
        assert json.JSONDecoder().raw_decode(answer.split(b"\r\n\r\n", 1)[1].decode())[0]["status"] == wanted


def test_a_body_larger_than_it_may_be_is_refused_while_it_arrives(port: int) -> None:
    head = (
        b"POST /api/v1/runs/toy/step HTTP/1.1\r\nIdempotency-Key: k\r\n"
        + TOKEN
        + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    assert status(talk(port, head, *[piece] * 17, until=b"body-too-large")) == 413


@pytest.mark.parametrize(
    ("begin", "wanted"),
    [
        (b"", 0),
        (b"GET /healthz HTTP/1.1\r\nHost: loc", 408),
        (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", 408),
        (GET + b"\r\n" + b"GET /healthz HTTP/1.1\r\nHost: loc", 200),
    ],
    ids=["nothing", "head", "body", "second"],
)
def test_who_takes_too_long_is_let_go(port: int, begin: bytes, wanted: int) -> None:
    since = time.monotonic()
    answer = talk(port, begin, seconds=10.0)
    assert time.monotonic() - since < 5.0
    assert status(answer) == wanted
    if b"GET /healthz" in begin:
        assert b"too-slow" in answer


def test_slow_connections_leave_room_for_others(port: int) -> None:
    slow = []
    for _ in range(30):
        line = socket.create_connection(("127.0.0.1", port))
        line.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        slow.append(line)
    assert status(talk(port, GET + b"Connection: close\r\n\r\n")) == 200
    for line in slow:
        line.settimeout(10.0)
        assert b"408" in line.recv(100)
        line.close()


def test_more_connections_than_there_may_be_are_told_so(port: int) -> None:
    lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    assert status(talk(port, GET + b"\r\n", until=b"too-busy")) == 503
    for line in lines:
        line.close()
    for _ in range(100):  # until the server has noticed
        if status(talk(port, GET + b"Connection: close\r\n\r\n")) == 200:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("Connections that were closed are still counted.")


def test_who_does_not_read_is_let_go(toy: Toy, access: Access) -> None:
    async def much(*_: object) -> tuple[dict, bytes]:
        return {"variable": "green", "units": "1", "dtype": "uint8", "shape": [40_000_000], "dims": ["cell"]}, bytes(40_000_000)

    toy.get = much  # type: ignore[method-assign,assignment]
    with listening(application({"toy": toy}, access, LIMITS)) as port, socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"GET /api/v1/runs/toy/data/green HTTP/1.1\r\n" + TOKEN + b"\r\n")
        end = time.monotonic() + WAIT
        while is_open_there(line):
            assert time.monotonic() < end
            time.sleep(0.05)
        line.settimeout(5.0)
        assert sum(iter(lambda: len(_received(line)), 0)) < 40_000_000


def is_open_there(line: socket.socket) -> bool:
    """Whether the server has its end of a connection open; the other end is told only behind what it has not read."""
    here, there = f":{line.getpeername()[1]:04X}", f":{line.getsockname()[1]:04X}"
    rows = (row.split() for row in Path("/proc/net/tcp").read_text().splitlines())
    return any(row[1].endswith(here) and row[2].endswith(there) and row[3] == "01" for row in rows)


def _received(line: socket.socket) -> bytes:
    """What has come; nothing when the other end is gone."""
    try:
        return line.recv(1 << 20)
    except ConnectionResetError:
        return b""


def test_news_come_as_they_happen_and_end_when_the_server_does(toy: Toy, access: Access) -> None:
    toy.journal.emit(1, 0, "a", "warning", "first")
    with listening(application({"toy": toy}, access, LIMITS)) as port, socket.create_connection(("127.0.0.1", port), 5.0) as line:
        line.sendall(b"GET /api/v1/runs/toy/events-stream HTTP/1.1\r\n" + TOKEN + b"\r\n")
        found = b""
        while b"event: info" not in found:
            found += line.recv(65536)
        assert b"content-type: text/event-stream" in found
        assert b"id: 1\nevent: warning\n" in found
        toy.journal.emit(1, 0, "b", "done", "second")
        line.close()
        again = b"GET /api/v1/runs/toy/events-stream HTTP/1.1\r\nLast-Event-ID: 1\r\n" + TOKEN + b"\r\n"
        found = talk(port, again, until=b"event: info")
        assert b"first" not in found
        assert b"id: 2\nevent: done\n" in found


def test_a_stream_ends_with_its_token(toy: Toy, access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "QUIET", 0.1)
    with listening(application({"toy": toy}, access, LIMITS)) as port, socket.create_connection(("127.0.0.1", port), 5.0) as line:
        line.sendall(b"GET /api/v1/runs/toy/events-stream HTTP/1.1\r\n" + TOKEN + b"\r\n")
        found = b""
        while b"still here" not in found:
            found += line.recv(65536)
        access.revoke(TOKENS["admin"])
        while not found.endswith(b"\r\n0\r\n\r\n"):
            found += (more := line.recv(65536))
            assert more


def test_an_operation_is_told_until_it_is_over(toy: Toy, access: Access) -> None:
    def ordered(key: str) -> int:
        return toy.accept(Order("step", "main", {"steps": 1}, key, "steer", "steer", key.encode())).seq

    done = ordered("a")
    toy.slow = True
    waiting = ordered("b")
    with listening(application({"toy": toy}, access, LIMITS)) as port:
        ask = b"GET /api/v1/runs/toy/operations/%d/stream HTTP/1.1\r\n" + TOKEN + b"\r\n"
        found = talk(port, ask % done, until=b"\r\n0\r\n\r\n")
        assert found.endswith(b"\r\n0\r\n\r\n"), "it ends"
        assert found.count(b"event: operation") == 1
        assert b'"state":"done"' in found
        with socket.create_connection(("127.0.0.1", port), 5.0) as line:
            line.sendall(ask % waiting)
            assert b'"state":"queued"' in _until(line, b"}\n\n")
            toy.slow = False
            body = b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            pause = b"POST /api/v1/runs/toy/pause HTTP/1.1\r\nConnection: close\r\nIdempotency-Key: c\r\n" + TOKEN + body
            assert status(talk(port, pause)) in (200, 202)
            found = _until(line, b"\r\n0\r\n\r\n")
            assert (found.count(b"event: operation"), found.count(b'"state":"cancelled"')) == (1, 1), "a pause ends what was to be computed"
        assert status(talk(port, ask % 99, seconds=2.0)) == 404


def _until(line: socket.socket, end: bytes) -> bytes:
    found = b""
    while end not in found:
        piece = line.recv(65536)
        assert piece, found
        found += piece
    return found


def test_limits_can_be_others(toy: Toy, access: Access) -> None:
    with listening(application({"toy": toy}, access, replace(LIMITS, address=100))) as port:
        assert status(talk(port, b"GET /" + b"a" * 120 + b" HTTP/1.1\r\n\r\n", seconds=2.0)) == 414
