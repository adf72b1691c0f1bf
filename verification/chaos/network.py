"""A bad network: a proxy that cuts requests and answers, and sends requests a second time."""

import random
import re
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress

from verification.page.proxy import Proxy

CUT, TWICE = 1 / 3, 1 / 5  # of all requests
PLACES = ("in the request", "before the answer", "in the answer", "after the answer")
LATE = 1.5  # [s] after which a second copy of a request may arrive
VISIT = 20.0  # [s] after which a live socket is cut, if it is
PATIENCE = 30.0  # [s] for an answer


class BadNetwork(Proxy):
    """Stands between clients and a server. counts: of requests, those cut by their place, those sent twice, and live sockets cut."""

    def __init__(self, upstream: int, seed: int) -> None:
        super().__init__(upstream)
        self._chance, self._lock = random.Random(seed), threading.Lock()
        self.counts: Counter[str] = Counter()

    def _forward(self, line: socket.socket, request: bytes) -> None:
        if b"upgrade: websocket" in request.lower():
            if self._drawn() < CUT:
                self._count("live sockets cut")
                threading.Thread(target=_later, args=(self._drawn() * VISIT, line), daemon=True).start()
            super()._forward(line, request)
            return
        request += _missing(line, request)
        cut = PLACES[int(self._drawn() * len(PLACES))] if self._drawn() < CUT else ""
        self._count("requests", *(("cut", cut) if cut else ()))
        if self._drawn() < TWICE:
            self._count("sent twice")
            threading.Thread(target=self._again, args=(request, self._drawn() * LATE), daemon=True).start()
        if cut == "in the request":
            with socket.create_connection(("127.0.0.1", self._upstream)) as server:
                server.sendall(request[: int(len(request) * self._drawn())])
        else:
            answer = self._ask(request)
            line.sendall(answer[: {"before the answer": 0, "in the answer": len(answer) // 2}.get(cut, len(answer))])
        if cut:
            _reset(line)

    def _drawn(self) -> float:
        with self._lock:
            return self._chance.random()

    def _count(self, *names: str) -> None:
        with self._lock:
            self.counts.update(names)

    def _again(self, request: bytes, seconds: float) -> None:
        time.sleep(seconds)
        with suppress(OSError):
            self._ask(request)

    def _ask(self, request: bytes) -> bytes:
        """The answer of the server, whole."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self._upstream), PATIENCE) as server:
            server.sendall(request)
            while piece := server.recv(1 << 20):
                answer += piece
        return answer


def _missing(line: socket.socket, request: bytes) -> bytes:
    """The rest of the body of a request."""
    head, _, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length: *([0-9]+)", head)
    rest = b""
    while length and len(body) + len(rest) < int(length[1]) and (piece := line.recv(1 << 20)):
        rest += piece
    return rest


def _later(seconds: float, line: socket.socket) -> None:
    time.sleep(seconds)
    _reset(line)


def _reset(line: socket.socket) -> None:
    """Ends a connection as a broken network does: at once, by a reset."""
    with suppress(OSError):
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line.shutdown(socket.SHUT_RDWR)
