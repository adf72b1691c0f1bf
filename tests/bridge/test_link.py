"""The link between two gateways: several connections, compression, and connections that are lost and come back."""

import hashlib
import math
import random
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from steppe_bridge.rank import ABORT, HEADER, MACHINE, MESSAGE, PARCEL, PAYLOAD, PROTOCOL, READY, SITE, Frame
from tests.bridge.built import needs_zstd
from tests.bridge.gateways import FAILED, Gateway, Rank, Sites, part
from tests.bridge.wan import Wan, start_wan

Linked = tuple[list[Gateway], list[Rank], Wan]


@contextmanager
def linked(sites: Sites, options: list[object], layout: tuple[int, int] = (2, 2), **wan: float) -> Iterator[Linked]:
    """Two sites with a wide area network between them, in which their world stands."""
    first = sites.first("a", layout[0], "a,b", *options)
    with start_wan(first.event("listening")["port"], **wan) as between:
        other = sites.other("b", layout[1], between.port, *options)
        yield [first, other], [rank.enter() for rank in [*first.join(), *other.join()]], between


def exchange(ranks: list[Rank], sizes: list[int], noise: bytes, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Every rank sends to one of the other site, all at once; each stream arrives whole and in order."""
    pairs = list(zip(range(len(ranks)), reversed(range(len(ranks))), strict=True))
    got: dict[int, list[bytes]] = {dest: [] for _, dest in pairs}

    def send(source: int, dest: int) -> None:
        for number, size in enumerate(sizes):
            ranks[source].send(Frame(MESSAGE, source, dest, noise[number : number + size], id=number))

    def receive(dest: int) -> None:
        with suppress(ConnectionError):
            for number in range(len(sizes)):
                frame = ranks[dest].receive()
                if frame.id != number:
                    return
                got[dest].append(frame.payload)

    threads = [threading.Thread(target=send, args=pair) for pair in pairs]
    threads += [threading.Thread(target=receive, args=(dest,)) for _, dest in pairs]
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join()
    expected = [noise[number : number + size] for number, size in enumerate(sizes)]
    assert all(each == expected for each in got.values())


NOISE = random.Random(1).randbytes(PAYLOAD + 1000)
SIZES = random.Random(2).choices([0, 1, 47, 1000, 16384, 40000, PAYLOAD], k=480)  # 8 MiB


def smooth(n: int) -> bytes:
    """So many doubles of a field without jumps."""
    return struct.pack(f"<{n}d", *(280 + 12 * math.sin(i / 9000) + 1e-9 * (i * 7919 % 1000) for i in range(n)))


def open_connections(gateway: Gateway, port: int) -> int:
    """Of this process, to or from a port."""
    inodes = {str(link.readlink()) for link in gateway.files()}
    tables = [Path(f"/proc/{gateway.process.pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table.splitlines()[1:]]
    ends = [(line[1], line[2], line[3], line[9]) for line in lines]
    return sum(state == "01" and f"socket:[{inode}]" in inodes and f":{port:04X}" in here + there for here, there, state, inode in ends)


@pytest.mark.parametrize("options", [["--connections", 4], ["--connections", 4, "--reconnect", 20], ["--reconnect", 20]])
def test_parcels_over_unlike_connections_keep_the_order_of_their_source(sites: Sites, options: list[object]) -> None:
    with linked(sites, options, delay=0.002, rate_each=20e6) as (gateways, ranks, wan):
        exchange(ranks, SIZES, NOISE)
        assert open_connections(gateways[1], wan.port) == (4 if "--connections" in options else 1)
        part(gateways, ranks)


def test_either_end_may_ask_for_more_connections(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b", "--connections", 3)
    port = first.event("listening")["port"]
    other = sites.other("b", 1, port)
    ranks = [rank.enter() for rank in [*first.join(), *other.join()]]
    deadline = time.monotonic() + 5
    while open_connections(other, port) < 3:
        assert time.monotonic() < deadline
    exchange(ranks, [PAYLOAD] * 50, NOISE)
    part([first, other], ranks)


def seconds_of(ranks: list[Rank], payload: bytes, frames: int) -> float:
    """What so many frames of one rank of the first site to one of the other take."""
    started = time.monotonic()
    sender = threading.Thread(target=lambda: [ranks[0].send(Frame(MESSAGE, 0, 1, payload)) for _ in range(frames)])
    sender.start()
    for _ in range(frames):
        frame = ranks[1].receive()
        assert frame is not None
        assert frame.payload == payload
    sender.join()
    return time.monotonic() - started


def test_several_connections_carry_more_where_each_is_limited(sites: Sites) -> None:
    taken = []
    for connections in (1, 8):
        with linked(sites, ["--connections", connections, "--compress", "never"], (1, 1), delay=0.002, rate_each=5e6) as (
            gateways,
            ranks,
            _,
        ):
            taken.append(seconds_of(ranks, NOISE[:PAYLOAD], 60))  # the window of a pair
            part(gateways, ranks)
    assert taken[0] > 2 * taken[1]


@pytest.mark.parametrize("more", [[], ["--connections", 3], ["--reconnect", 20]])
def test_smooth_numbers_are_compressed_and_arrive_as_they_were(sites: Sites, more: list[object]) -> None:
    needs_zstd()
    payload = smooth(PAYLOAD // 8)
    with linked(sites, more, (1, 1), delay=0.001, rate=10e6) as (gateways, ranks, _):
        for _ in range(4):
            seconds_of(ranks, payload, 60)
        part(gateways, ranks)
        said = [event for event in gateways[0].events if event["event"] == "compresses"]
        assert [event["site"] for event in said] == ["b"]
        assert said[0]["ratio"] > 1.5


def test_noise_is_never_compressed(sites: Sites) -> None:
    with linked(sites, [], (1, 1), delay=0.001, rate=20e6) as (gateways, ranks, _):
        for _ in range(4):
            seconds_of(ranks, NOISE[:PAYLOAD], 60)
        part(gateways, ranks)
        assert not [event for event in gateways[0].events if event["event"] == "compresses"]


@pytest.mark.parametrize(("how", "connections"), [("cut", 1), ("cut", 4), ("drop", 4)])
def test_a_link_that_comes_back_has_lost_nothing(sites: Sites, how: str, connections: int) -> None:
    options = ["--reconnect", 30, "--link-timeout", 1, "--connections", connections]
    with linked(sites, options, delay=0.002, rate=10e6) as (gateways, ranks, wan):

        def accident() -> None:
            for _ in range(2):
                time.sleep(0.3)
                getattr(wan, how)()
                time.sleep(1.5 if how == "drop" else 0.5)
                wan.go()

        exchange(ranks, SIZES, NOISE, accident)
        exchange(ranks, SIZES[:50], NOISE)
        part(gateways, ranks)
        for gateway in gateways:
            names = [event["event"] for event in gateway.events if event["event"] in ("broken", "resumed")]
            assert names
            assert names == ["broken", "resumed"] * (len(names) // 2)


def test_a_link_that_does_not_come_back_is_named_at_both_ends(sites: Sites) -> None:
    with linked(sites, ["--reconnect", 1], (1, 1), delay=0.001) as (gateways, ranks, wan):
        wan.cut()
        for gateway, other in zip(gateways, "ba", strict=True):
            assert gateway.ended() == (FAILED, f"steppe bridge: Site {other} has been out of reach for 1 s.")
        assert all(frame is not None and frame.type == ABORT for frame in (rank.receive() for rank in ranks))


def test_the_end_waits_for_a_link_that_comes_back(sites: Sites) -> None:
    with linked(sites, ["--reconnect", 20], (1, 1), delay=0.001) as (gateways, ranks, wan):
        wan.cut()
        ranks[0].send(Frame(MESSAGE, 0, 1, b"late"))
        ranks[0].leave()
        time.sleep(0.5)
        wan.go()
        frame = ranks[1].receive()
        assert frame is not None
        assert frame.payload == b"late"
        part(gateways, ranks[1:])


def test_a_cut_after_the_last_word_is_no_failure(sites: Sites) -> None:
    for pause in (0.0, 0.005, 0.02):
        with linked(sites, ["--reconnect", 20], (1, 1), delay=0.005) as (gateways, ranks, wan):
            for rank in ranks:
                rank.leave()
            time.sleep(pause)
            wan.cut()
            wan.go()
            assert [gateway.ended() for gateway in gateways] == [(0, "")] * 2


def test_memory_is_bounded_while_a_link_is_broken(sites: Sites) -> None:
    with linked(sites, ["--reconnect", 20, "--connections", 2], (2, 2), delay=0.001) as (gateways, ranks, wan):
        wan.cut()
        ranks[0].socket.settimeout(0.5)
        flood = b"".join(Frame(MESSAGE, 0, 2, bytes(PAYLOAD)).packed() for _ in range(1000))
        with pytest.raises(TimeoutError):
            ranks[0].socket.sendall(flood)
        assert gateways[0].memory() < 40e6
        wan.go()
        gateways[0].stop()
        assert [gateway.ended()[0] for gateway in gateways] == [FAILED] * 2


def test_a_site_whose_parcels_never_follow_each_other_is_not_held_without_end(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b", "--connections", 2)
    port = first.event("listening")["port"]
    first.join()
    secret = hashlib.sha256((sites.folder / "key").read_bytes()).hexdigest()
    words = f"openssl s_client -quiet -connect 127.0.0.1:{port} -tls1_3 -ciphersuites TLS_AES_128_GCM_SHA256 -psk_identity b -psk {secret}"
    with subprocess.Popen(words.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as other:
        assert other.stdin
        assert other.stdout

        def say(*frames: Frame) -> None:
            other.stdin.write(b"".join(frame.packed() for frame in frames))
            other.stdin.flush()

        def skip() -> tuple[int, ...]:
            head = HEADER.unpack(other.stdout.read(HEADER.size))
            other.stdout.read(head[7])
            return head

        say(Frame(SITE, 0, 1, b"b", tag=PROTOCOL, id=1))
        say(Frame(SITE, 0, 1, b"b", tag=PROTOCOL, id=4, context=skip()[5]))
        skip()
        say(Frame(READY, 1, 0, MACHINE))
        first.event("world")
        message = Frame(MESSAGE, 1, 0, bytes(60000), total=60000).packed()
        with suppress(BrokenPipeError):
            for number in range(2, 2000):  # the first one is missing; 120 MB
                say(Frame(PARCEL, 1, 0, message, context=number, id=number - 1, total=len(message)))
        assert first.ended() == (FAILED, "steppe bridge: Site b sent a malformed frame.")
        other.kill()
