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
from functools import partial
from pathlib import Path

from steppe_bridge.errors import BRIDGE_FAILED, MISTAKE, Mistake
from steppe_bridge.mpi import find_gateway
from steppe_bridge.rank import BYE, CREDIT, HEADER, MESSAGE, PAYLOAD, Frame, Rank

say = partial(print, flush=True)
CONNECTIONS = (1, 2, 4, 8, 16)
ROUNDS = 40  # of the delay
TALK, DATA, LAST = 1, 2, 3  # tags
ENOUGH = 0.85  # of the best rate


def examine(key: str, address: str, listens: bool, timeout: int, seconds: float) -> None:
    """Measures at one end, and says what was found, line by line.

    address: HOST:PORT to listen at, or to join. timeout: for the other end to come [s]. seconds: how long each rate is measured.

    Raises
    ------
    Mistake
        The gateway ended: its sentence.
    """
    best: dict[int, tuple[float, float]] = {}
    join = partial(_join, key, address, listens, timeout)
    for connections in CONNECTIONS:
        with join(connections, "never") as rank:
            if not best:
                say(_delay(_round_trips(rank)))
                say("connections   from the first   from the second   [MB/s]")
            best[connections] = _rates(rank, _noise(), seconds)
            say(f"{connections:11d}{best[connections][0] / 1e6:17.1f}{best[connections][1] / 1e6:18.1f}")
    chosen = choose(best)
    with join(chosen, "auto") as rank:
        there, back = (new / old for new, old in zip(_rates(rank, _smooth(), 2 * seconds), best[chosen], strict=True))
    say(f"Smooth numbers of 8 bytes, compressed where it pays, come {there:.2f} and {back:.2f} times as fast as noise.")
    say(f"Use --connections {chosen}. What waits for the link is compressed while measurement says that it pays.")


def choose(rates: dict[int, tuple[float, float]]) -> int:
    """The fewest connections with nearly the best rate both ways. rates: connections -> bytes/s each way."""
    together = {connections: there + back for connections, (there, back) in rates.items()}
    return min(connections for connections, rate in together.items() if rate >= ENOUGH * max(together.values()))


@contextmanager
def _join(key: str, address: str, listens: bool, timeout: int, connections: int, compress: str) -> Iterator[Rank]:
    """The rank of this end, in a world that ends with the block."""
    me, other = ("first", "second") if listens else ("second", "first")
    with tempfile.TemporaryDirectory(prefix="steppe-bridge-") as folder:
        path = Path(folder) / "rank.socket"
        words = [str(find_gateway()), "--name", me, "--ranks", "1", "--socket", str(path), "--key", key, "--timeout", str(timeout)]
        words += ["--listen", address, "--expect", "first,second"] if listens else ["--join", address]
        words += ["--connections", str(connections), "--compress", compress]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stdout
            try:
                gateway.stdout.readline()  # it listens, or has ended
                rank = Rank(path, 0, 1, timeout=timeout + 5.0).enter()
                yield rank
                rank.leave()
                gateway.wait(15)
            except (OSError, subprocess.TimeoutExpired):
                gateway.kill()
                said = gateway.communicate()[1].strip().removeprefix("steppe bridge: ")
                for name, end in ((f"site {me}", "this end"), (f"site {other}", "the other end"), ("the first site", "the other end")):
                    said = said.replace(name, end).replace(name.capitalize(), end.capitalize())  # its reader has named no sites
                code = MISTAKE if gateway.returncode == MISTAKE else BRIDGE_FAILED
                raise Mistake(said or "The gateway ended and did not say why.", code) from None
            finally:
                gateway.kill()


def _send(rank: Rank, tag: int, payload: bytes, number: int = 0) -> None:
    rank.send(Frame(MESSAGE, rank.rank, 1 - rank.rank, payload, tag, total=len(payload), id=number))


def _tell(rank: Rank, number: float) -> float:
    _send(rank, TALK, struct.pack("<d", number))
    return number


def _hear(rank: Rank) -> float:
    while (frame := rank.receive()).tag != TALK or frame.type != MESSAGE:
        pass
    return float(struct.unpack("<d", frame.payload)[0])


def _round_trips(rank: Rank) -> list[float]:
    """Of 8 bytes there and back [s]; the same list at both ends."""
    found = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        if rank.rank == 0:
            _tell(rank, 0.0)
            _hear(rank)
            found.append(_tell(rank, time.perf_counter() - started))
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
            found.append(_tell(rank, _take(rank)))
    return found[0], found[1]


def _send_for(rank: Rank, payloads: list[bytes], seconds: float) -> None:
    """Sends for so long; waits for credit as ranks do."""
    sent, allowed, number, until = 0, rank.window, 0, time.perf_counter() + seconds
    while time.perf_counter() < until or not number:
        payload = payloads[number % len(payloads)]
        while sent + HEADER.size + len(payload) > allowed:
            frame = rank.receive()
            allowed = max(allowed, frame.total) if frame.type == CREDIT else allowed
        _send(rank, DATA, payload, number)
        sent += HEADER.size + len(payload)
        number += 1
    _send(rank, LAST, b"")


def _take(rank: Rank) -> float:
    """Receives to the end of a stream; bytes/s, the start-up of the connection left out: the first quarter."""
    taken, granted, came = 0, 0, [(time.perf_counter(), 0)]
    while (frame := rank.receive()).tag != LAST or frame.type != MESSAGE:
        if frame.type in (CREDIT, BYE):
            continue
        taken += HEADER.size + len(frame.payload)
        came.append((time.perf_counter(), taken))
        if taken - granted > rank.window // 4:
            granted = taken
            rank.send(Frame(CREDIT, rank.rank, 1 - rank.rank, total=rank.window + taken))
    (start, before), (end, after) = came[len(came) // 4], came[-1]
    return (after - before) / (end - start)


def _noise() -> list[bytes]:
    noise = os.urandom(PAYLOAD + 64)
    return [noise[shift : shift + PAYLOAD] for shift in range(64)]


def _smooth() -> list[bytes]:
    """A field without jumps, with noise in the last of its digits."""
    field = [280 + 12 * math.sin(i / 9000) + 1e-9 * (i * 7919 % 1000) for i in range(PAYLOAD)]
    return [struct.pack(f"<{PAYLOAD // 8}d", *field[part * PAYLOAD // 8 : (part + 1) * PAYLOAD // 8]) for part in range(8)]
