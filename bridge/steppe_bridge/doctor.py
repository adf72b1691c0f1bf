"""What a link is good for: two ends measure it through gateways, as ranks of a program would use it.

For each number of connections both ends start a gateway, and one rank without MPI at each. The first end sends first.
"""

import math
import os
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from steppe_bridge import native
from steppe_bridge.errors import BRIDGE_FAILED, MISTAKE, Mistake
from steppe_bridge.rank import BYE, CREDIT, HEADER, MESSAGE, PAYLOAD, Frame, Rank

say = partial(print, flush=True)
CONNECTIONS = (1, 2, 4, 8, 16)
ROUNDS = 40  # of the delay
TALK, DATA, LAST = 1, 2, 3  # tags
ENOUGH = 0.85  # of the best rate


@dataclass(frozen=True)
class Doctor:
    """One end. address: HOST:PORT to listen at, or to join. seconds: how long each rate is measured."""

    key: str
    address: str
    listens: bool
    seconds: float
    timeout: int

    @property
    def names(self) -> tuple[str, str]:
        """Of this end and the other one."""
        return ("first", "second") if self.listens else ("second", "first")


def examine(doctor: Doctor) -> None:
    """Measures and says what was found, line by line.

    Raises
    ------
    Mistake
        The gateway ended: its sentence.
    """
    best: dict[int, tuple[float, float]] = {}
    for connections in CONNECTIONS:
        with _end(doctor, connections, "never") as rank:
            if not best:
                say(_delay(_round_trips(rank)))
                say("connections   from the first   from the second   [MB/s]")
            best[connections] = _rates(rank, _noise(), doctor.seconds)
            say(f"{connections:11d}{best[connections][0] / 1e6:17.1f}{best[connections][1] / 1e6:18.1f}")
    chosen = choose(best)
    with _end(doctor, chosen, "auto") as rank:
        there, back = (new / old for new, old in zip(_rates(rank, _smooth(), 2 * doctor.seconds), best[chosen], strict=True))
    say(f"Smooth numbers of 8 bytes, compressed where it pays, come {there:.2f} and {back:.2f} times as fast as noise.")
    say(f"Use --connections {chosen}. What waits for the link is compressed while measurement says that it pays.")


def choose(rates: dict[int, tuple[float, float]]) -> int:
    """The fewest connections with nearly the best rate both ways. rates: connections -> bytes/s each way."""
    together = {connections: there + back for connections, (there, back) in rates.items()}
    return min(connections for connections, rate in together.items() if rate >= ENOUGH * max(together.values()))


@contextmanager
def _end(doctor: Doctor, connections: int, compress: str) -> Iterator[Rank]:
    """The rank of this end, in a world that ends with the block."""
    me, _ = doctor.names
    with tempfile.TemporaryDirectory(prefix="steppe-bridge-") as folder:
        path = Path(folder) / "rank.socket"
        place = ["--listen", doctor.address, "--expect", "first,second"] if doctor.listens else ["--join", doctor.address]
        options = ["--name", me, "--ranks", "1", "--socket", str(path), "--key", doctor.key, *place, "--timeout", str(doctor.timeout)]
        options += ["--connections", str(connections), "--compress", compress]
        gateway = subprocess.Popen([str(native.find_gateway()), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert gateway.stdout
        try:
            gateway.stdout.readline()  # it listens, or has ended
            rank = Rank(path, 0, 1, timeout=doctor.timeout + 5.0).enter()
            yield rank
            rank.leave()
            gateway.wait(15)
        except (OSError, subprocess.TimeoutExpired):
            gateway.kill()
            words = gateway.communicate()[1].strip().removeprefix("steppe bridge: ")
            code = MISTAKE if gateway.returncode == MISTAKE else BRIDGE_FAILED
            raise Mistake(_without_names(doctor, words) or "The gateway ended and did not say why.", code) from None
        finally:
            gateway.kill()
            gateway.wait()


def _without_names(doctor: Doctor, sentence: str) -> str:
    """A sentence of the gateway for a reader that has named no sites."""
    me, other = doctor.names
    for name, end in ((f"site {me}", "this end"), (f"site {other}", "the other end"), ("the first site", "the other end")):
        sentence = sentence.replace(name, end).replace(name.capitalize(), end.capitalize())
    return sentence


def _other(rank: Rank) -> int:
    return 1 - rank.rank


def _receive(rank: Rank) -> Frame:
    frame = rank.receive()
    if frame is None:
        raise ConnectionError
    return frame


def _tell(rank: Rank, number: float) -> None:
    rank.send(Frame(MESSAGE, rank.rank, _other(rank), struct.pack("<d", number), TALK, total=8))


def _hear(rank: Rank) -> float:
    while (frame := _receive(rank)).tag != TALK or frame.type != MESSAGE:
        pass
    return float(struct.unpack("<d", frame.payload)[0])


def _round_trips(rank: Rank) -> list[float]:
    """Of 8 bytes there and back [s]; the same list at both ends."""
    found = []
    for _ in range(ROUNDS):
        if rank.rank == 0:
            started = time.perf_counter()
            _tell(rank, 0.0)
            _hear(rank)
            found.append(time.perf_counter() - started)
            _tell(rank, found[-1])
        else:
            _tell(rank, _hear(rank))
            found.append(_hear(rank))
    return found[ROUNDS // 4 :]


def _delay(round_trips: list[float]) -> str:
    ways = sorted(1e3 * each / 2 for each in round_trips)
    return f"Delay one way {statistics.median(ways):.3f} ms; least {ways[0]:.3f} ms, nine of ten below {ways[len(ways) * 9 // 10]:.3f} ms."


def _rates(rank: Rank, payloads: list[bytes], seconds: float) -> tuple[float, float]:
    """Bytes/s from the first end and from the second, as the receiving end sees them; the same at both ends."""
    found = []
    for source in (0, 1):
        if rank.rank == source:
            _send_for(rank, payloads, seconds)
            found.append(_hear(rank))
        else:
            found.append(_take(rank))
            _tell(rank, found[-1])
    return found[0], found[1]


def _send_for(rank: Rank, payloads: list[bytes], seconds: float) -> None:
    """Sends for so long; waits for credit as ranks do."""
    sent, allowed, number, until = 0, rank.window, 0, time.perf_counter() + seconds
    while time.perf_counter() < until or not number:
        payload = payloads[number % len(payloads)]
        while sent + HEADER.size + len(payload) > allowed:
            frame = _receive(rank)
            allowed = max(allowed, frame.total) if frame.type == CREDIT else allowed
        rank.send(Frame(MESSAGE, rank.rank, _other(rank), payload, DATA, total=len(payload), id=number))
        sent += HEADER.size + len(payload)
        number += 1
    rank.send(Frame(MESSAGE, rank.rank, _other(rank), b"", LAST))


def _take(rank: Rank) -> float:
    """Receives to the end of a stream; bytes/s, the start-up of the connection left out: the first quarter."""
    taken, granted, came = 0, 0, [(time.perf_counter(), 0)]
    while (frame := _receive(rank)).tag != LAST or frame.type != MESSAGE:
        if frame.type in (CREDIT, BYE):
            continue
        taken += HEADER.size + len(frame.payload)
        came.append((time.perf_counter(), taken))
        if taken - granted > rank.window // 4:
            granted = taken
            rank.send(Frame(CREDIT, rank.rank, _other(rank), total=rank.window + taken))
    (start, before), (end, after) = came[len(came) // 4], came[-1]
    return (after - before) / (end - start)


def _noise() -> list[bytes]:
    noise = os.urandom(PAYLOAD + 64)
    return [noise[shift : shift + PAYLOAD] for shift in range(64)]


def _smooth() -> list[bytes]:
    """A field without jumps, with noise in the last of its digits."""
    n = PAYLOAD // 8
    return [
        struct.pack(f"<{n}d", *(280 + 12 * math.sin((i + n * part) / 9000) + 1e-9 * (i * 7919 % 1000) for i in range(n)))
        for part in range(8)
    ]
