"""The gateway: sites form a world, frames cross, failures are told everywhere. Sockets of the tests play the ranks."""

import contextlib
import itertools
import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from steppe_bridge.rank import ABORT, ACKNOWLEDGE, BYE, CREDIT, FRAGMENT, HELLO, MACHINE, MESSAGE, PAYLOAD, Frame
from tests.bridge.gateways import FAILED, MISTAKE, Rank, Sites, can_read, free_port, part
from tests.bridge.wan import start_wan


def say(name: str) -> str:
    return f"steppe bridge: {name}"


@pytest.mark.parametrize("layout", [(1, 1), (3, 1), (2, 1, 1)])
def test_sites_form_one_world_and_end_well(sites: Sites, layout: tuple[int, ...]) -> None:
    gateways, ranks = sites.world(layout)
    expected = [site for site, n in enumerate(layout) for _ in range(n)]
    assert [(rank.rank, rank.world, rank.sites) for rank in ranks] == [(w, len(expected), expected) for w in range(len(expected))]
    assert len({rank.window for rank in ranks}) == 1
    for source, dest in itertools.permutations(range(len(ranks)), 2):
        ranks[source].send(Frame(MESSAGE, source, dest, b"%d to %d" % (source, dest), context=1 << 40, tag=7, total=6, id=9))
    for dest, rank in enumerate(ranks):
        frames = sorted((rank.receive() for _ in range(len(ranks) - 1)), key=lambda frame: frame.source)
        others = [w for w in range(len(ranks)) if w != dest]
        assert frames == [Frame(MESSAGE, w, dest, b"%d to %d" % (w, dest), 7, 1 << 40, 6, 9) for w in others]
    part(gateways, ranks)
    assert gateways[0].events[-1]["event"] == "end"


@pytest.mark.parametrize("order", ["abc", "bca", "cba"])
def test_sites_may_start_in_any_order(sites: Sites, order: str) -> None:
    port, started = free_port(), {}
    for name in order:
        if name == "a":
            started[name] = sites.first("a", 1, "a,b,c", port=port)
        else:
            started[name] = sites.other(name, 1, port)
        time.sleep(random.uniform(0, 0.7))
    ranks = [rank for name in order for rank in started[name].join()]
    ranks = sorted((rank.enter() for rank in ranks), key=lambda rank: rank.rank)
    assert ranks[0].sites == [0, 1, 2]
    part([*started.values()], ranks)


def test_a_relay_that_accepts_and_closes_is_dialled_again(sites: Sites) -> None:
    port = free_port()
    with start_wan(port, delay=0.001) as wan:
        other = sites.other("b", 1, wan.port)
        time.sleep(0.3)
        first = sites.first("a", 1, "a,b", port=port)
        ranks = [rank.enter() for rank in [*first.join(), *other.join()]]
        part([first, other], ranks)


def test_world_ranks_may_be_dealt_in_turn(sites: Sites) -> None:
    gateways, ranks = sites.world((2, 3, 1), "--map", "turns")
    assert ranks[0].sites == [0, 1, 2, 0, 1, 1]
    ranks[5].send(Frame(MESSAGE, 5, 3, b"to the second rank of a"))
    frame = ranks[3].receive()
    assert frame is not None
    assert frame.payload == b"to the second rank of a"
    part(gateways, ranks)


def test_sites_that_do_not_reach_each_other_are_routed_by_the_first(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b,c")
    port = first.event("listening")["port"]
    others = [sites.other("b", 1, port, "--listen", "127.0.0.2:0"), sites.other("c", 1, port)]
    ranks = [rank for gateway in (first, *others) for rank in gateway.join()]
    ranks = [rank.enter() for rank in ranks]
    ranks[1].send(Frame(MESSAGE, 1, 2, b"b to c"))
    ranks[2].send(Frame(MESSAGE, 2, 1, b"c to b"))
    assert [rank.receive().payload for rank in ranks[1:]] == [b"c to b", b"b to c"]
    part([first, *others], ranks)
    assert {"event": "routed", "site": "b"} in others[1].events


def test_another_key_is_refused_and_the_others_are_served(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b")
    port = first.event("listening")["port"]
    wrong = sites.key("wrong")
    stranger = sites.other("b", 1, port, key=wrong)
    assert stranger.ended() == (FAILED, say(f"The gateway at 127.0.0.1:{port} refused the key in {wrong}."))
    assert "did not prove the key" in first.event("refused")["why"]
    other = sites.other("b", 1, port)
    ranks = [rank.enter() for rank in [*first.join(), *other.join()]]
    part([first, other], ranks)


def test_a_key_that_others_can_read_is_refused(sites: Sites) -> None:
    key = sites.key("open", mode=0o640)
    code, sentence = sites.first("a", 1, "a,b", key=key).ended()
    assert (code, sentence) == (MISTAKE, say(f"The key file {key} has mode 0640, others can use it; chmod 600 {key}."))


def test_a_short_key_is_refused(sites: Sites) -> None:
    key = sites.key("short")
    key.write_bytes(b"secret")
    assert sites.first("a", 1, "a,b", key=key).ended() == (MISTAKE, say(f"The key file {key} has 6 bytes; a key has at least 32."))


def test_a_name_that_is_taken_or_not_expected_is_refused(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b,c")
    port = first.event("listening")["port"]
    sites.other("b", 1, port)
    first.event("joined")
    for name, sentence in [
        ("b", "Site b has come twice; each site needs a name of its own."),
        ("d", "Site d is not among the sites that take part: a,b,c."),
    ]:
        assert sites.other(name, 1, port).ended() == (FAILED, say(sentence))
        assert first.event("refused")["why"] == sentence


def test_a_launcher_with_another_number_of_ranks_ends_all_sites(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b")
    other = sites.other("b", 4, first.event("listening")["port"])
    other.event("listening")
    rank = Rank(other.path, 0, 3)
    sentence = "The launcher of site b started 3 ranks; -n says 4."
    frame = rank.receive()
    assert frame is not None
    assert (frame.type, frame.tag, frame.payload.decode()) == (ABORT, FAILED, sentence)
    assert [gateway.ended() for gateway in (first, other)] == [(FAILED, say(sentence))] * 2


@pytest.mark.parametrize(("local", "ranks"), [(5_000_000, 6_000_000), (-5_000_000, 6)])
def test_a_rank_that_is_none_of_its_site_ends_the_world(sites: Sites, local: int, ranks: int) -> None:
    first = sites.first("a", 2, "a")
    first.event("listening")
    rank = Rank(first.path, local, ranks)
    sentence = f"The launcher of site a started {ranks} ranks; -n says 2."
    assert rank.receive().payload.decode() == sentence
    assert first.ended() == (FAILED, say(sentence))


def test_a_rank_of_another_protocol_is_named(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b")
    first.event("listening")
    rank = Rank(first.path, 0, 1, protocol=2)
    assert rank.receive().payload.startswith(b"A rank of site a speaks protocol 2 of the bridge, its gateway protocol 1")
    assert first.ended()[0] == FAILED


def test_a_local_rank_that_comes_twice_is_refused_and_the_world_stands(sites: Sites) -> None:
    gateways, ranks = sites.world((1, 1))
    frame = Rank(gateways[0].path, 0, 1).receive()
    assert frame is not None
    assert frame.payload == b"Rank 0 of site a has come twice: more than one program uses this gateway."
    part(gateways, ranks)


def test_a_site_that_never_comes_is_named(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b,c", "--timeout", 1)
    other = sites.other("b", 1, first.event("listening")["port"], "--timeout", 30)
    ranks = [*first.join(), *other.join()]
    sentence = "Site c has not come within 1 s."
    assert [gateway.ended() for gateway in (first, other)] == [(FAILED, say(sentence))] * 2
    assert [rank.receive().payload.decode() for rank in ranks] == [sentence] * 2


def test_a_site_that_never_comes_is_named_with_why_others_were_refused(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b", "--timeout", 4)
    port = first.event("listening")["port"]
    sites.other("b", 1, port, key=sites.key("wrong")).ended()
    sites.other("c", 1, port).ended()
    why = "2 connections were refused, the last one for this: Site c is not among the sites that take part: a,b."
    assert first.ended() == (FAILED, say(f"Site b has not come within 4 s. {why}"))


def test_a_first_site_that_is_not_there_is_named(sites: Sites) -> None:
    port = free_port()
    other = sites.other("b", 1, port, "--timeout", 1)
    other.join()
    assert other.ended() == (FAILED, say(f"Site b has not reached the first site at 127.0.0.1:{port} within 1 s."))


def test_ranks_that_never_come_are_named_whichever_site_waits(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b", "--timeout", 1)
    other = sites.other("b", 4, first.event("listening")["port"], "--timeout", 30)
    first.join()
    other.event("listening")
    ranks = [Rank(other.path, local, 4) for local in (0, 2)]
    sentence = "Ranks 1, 3 of site b have not come within 30 s."
    assert [gateway.ended() for gateway in (first, other)] == [(FAILED, say(sentence))] * 2
    assert ranks[0].receive().payload.decode() == sentence


def test_no_rank_at_all_may_be_a_static_program(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b", "--timeout", 1)
    sites.other("b", 1, first.event("listening")["port"])
    sentence = "No rank of site a has come within 1 s: the program may be static, or may not use MPI."
    assert first.ended() == (FAILED, say(sentence))


def test_unlike_machines_are_refused_before_the_world_stands(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b")
    other = sites.other("b", 1, first.event("listening")["port"])
    other.event("listening")
    ranks = [*first.join(), Rank(other.path, 0, 1, machine=MACHINE[:2] + bytes([8]) + MACHINE[3:])]
    sentence = "The machines of sites a and b differ in the size of long double: 16 and 8; values cannot cross between them."
    assert [gateway.ended() for gateway in (first, other)] == [(FAILED, say(sentence))] * 2
    frames = [rank.receive() for rank in ranks]
    assert [(frame.type, frame.payload.decode()) for frame in frames] == [(ABORT, sentence)] * 2


def test_a_rank_that_dies_ends_every_site(sites: Sites) -> None:
    gateways, ranks = sites.world((2, 2, 1))
    started = time.monotonic()
    ranks[3].socket.close()
    sentence = "Rank 1 of site b (world rank 3) ended without MPI_Finalize."
    frames = [rank.receive() for rank in ranks if rank.rank != 3]
    assert [(frame.type, frame.tag, frame.payload.decode()) for frame in frames] == [(ABORT, FAILED, sentence)] * 4
    assert [gateway.ended() for gateway in gateways] == [(FAILED, say(sentence))] * 3
    assert time.monotonic() - started < 3


def test_an_abort_has_its_code_and_its_sentence_everywhere(sites: Sites) -> None:
    gateways, ranks = sites.world((1, 1))
    ranks[1].send(Frame(ABORT, 1, tag=3))
    sentence = "Rank 0 of site b called MPI_Abort with code 3."
    frame = ranks[0].receive()
    assert frame is not None
    assert (frame.tag, frame.payload.decode()) == (3, sentence)
    assert [gateway.ended() for gateway in gateways] == [(3, say(sentence))] * 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_gateway_that_is_stopped_tells_the_others(sites: Sites, number: int) -> None:
    gateways, _ = sites.world((1, 1))
    gateways[1].stop(number)
    assert [gateway.ended() for gateway in gateways] == [(FAILED, say("Site b was stopped."))] * 2


def test_a_gateway_that_is_killed_is_noticed(sites: Sites) -> None:
    gateways, _ = sites.world((1, 1))
    gateways[1].stop(signal.SIGKILL)
    assert gateways[0].ended() == (FAILED, say("The link to site b was lost."))


@pytest.mark.parametrize("how", ["cut", "drop"])
def test_a_link_that_is_cut_ends_both_sites(sites: Sites, how: str) -> None:
    first = sites.first("a", 1, "a,b", "--link-timeout", 3)
    with start_wan(first.event("listening")["port"], delay=0.001) as wan:
        other = sites.other("b", 1, wan.port, "--link-timeout", 3)
        for rank in [*first.join(), *other.join()]:
            rank.enter()
        getattr(wan, how)()
        said = "The link to site {} was lost." if how == "cut" else "Site {} has not answered for 3 s."
        assert first.ended() == (FAILED, say(said.format("b")))
        assert other.ended() == (FAILED, say(said.format("a")))


def test_a_link_that_stalls_for_less_than_its_limit_is_kept(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b", "--link-timeout", 4)
    with start_wan(first.event("listening")["port"], delay=0.001) as wan:
        other = sites.other("b", 1, wan.port, "--link-timeout", 4)
        ranks = [rank.enter() for rank in [*first.join(), *other.join()]]
        wan.stall()
        ranks[0].send(Frame(MESSAGE, 0, 1, b"patience"))
        assert not can_read(ranks[1], 2.5)
        wan.go()
        assert ranks[1].receive().payload == b"patience"
        part([first, other], ranks)


def malformed_frames(seed: int) -> list[bytes]:
    some = random.Random(seed)
    good = Frame(HELLO, 0, 1, MACHINE, tag=1).packed()
    return [
        some.randbytes(some.randrange(1, 100)),
        b"GET / HTTP/1.1\r\n\r\n" + bytes(48),
        Frame(some.choice([0, 2, MESSAGE, CREDIT, BYE, 9, 13, 60000]), 0, 0, b"x").packed(),
        good[:28] + b"\xff\xff\xff\xff" + good[32:],  # a length of 4 GiB
        Frame(HELLO, -1, 1, MACHINE, tag=1).packed(),
        good[: some.randrange(1, len(good))],
        Frame(HELLO, 0, 1, b"short", tag=1).packed(),
    ]


def pester(connect: Callable[[], socket.socket], n: int, seed: int) -> None:
    """So many connections with malformed frames, closed by either end."""
    frames = itertools.cycle(frame for more in range(16) for frame in malformed_frames(seed + more))
    for frame in itertools.islice(frames, n):
        with connect() as stranger, contextlib.suppress(OSError):
            stranger.sendall(frame)


def to_unix(path: Path) -> socket.socket:
    stranger = socket.socket(socket.AF_UNIX)
    stranger.connect(str(path))
    return stranger


def test_malformed_frames_of_strangers_harm_nobody(sites: Sites) -> None:
    first = sites.first("a", 1, "a,b")
    port = first.event("listening")["port"]
    pester(lambda: to_unix(first.path), 1000, 1)
    pester(lambda: socket.create_connection(("127.0.0.1", port)), 1000, 2)
    other = sites.other("b", 1, port)
    ranks = [rank.enter() for rank in [*first.join(), *other.join()]]
    pester(lambda: to_unix(first.path), 4000, 3)
    pester(lambda: socket.create_connection(("127.0.0.1", port)), 4000, 4)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]  # these wait for their time limit
    ranks[0].send(Frame(MESSAGE, 0, 1, b"all is well"))
    assert ranks[1].receive().payload == b"all is well"
    assert first.memory() < 40e6
    for stranger in silent:
        stranger.close()
    part([first, other], ranks)
    assert first.events[-1]["refused"] > 5000


def test_a_rank_by_tcp_that_does_not_know_the_secret_is_refused(sites: Sites) -> None:
    port = free_port()
    first = sites.first("a", 1, "a,b", "--nodes", f"127.0.0.1:{port}", "--secret", sites.key("secret"))
    other = sites.other("b", 1, first.event("listening")["port"])
    with socket.create_connection(("127.0.0.1", port), 10) as stranger:
        assert len(stranger.recv(48 + 32, socket.MSG_WAITALL)) == 48 + 32  # the challenge
        stranger.sendall(Frame(HELLO, 0, 1, MACHINE + bytes(32), tag=1).packed())
        assert b"does not know the secret" in stranger.recv(1000, socket.MSG_WAITALL)
    part([first, other], [rank.enter() for rank in [*first.join(), *other.join()]])


@pytest.mark.parametrize(
    "frame",
    [
        Frame(MESSAGE, 1, 1, b"of another source"),
        Frame(MESSAGE, 0, 2, b"beyond the world"),
        Frame(MESSAGE, 0, -1, b"to nobody"),
        Frame(HELLO, 0, 1, MACHINE, tag=1),
        Frame(99, 0, 1),
        Frame(MESSAGE, 0, 1, bytes(PAYLOAD + 1)),
    ],
)
def test_a_malformed_frame_of_a_rank_of_the_world_ends_it(sites: Sites, frame: Frame) -> None:
    gateways, ranks = sites.world((1, 1))
    ranks[0].send(frame)
    sentence = "Rank 0 of site a (world rank 0) sent a malformed frame."
    assert ranks[1].receive().payload.decode() == sentence
    assert [gateway.ended() for gateway in gateways] == [(FAILED, say(sentence))] * 2


def stream(rank: Rank, dest: int, sizes: list[int], noise: bytes) -> None:
    for number, size in enumerate(sizes):
        rank.send(Frame(MESSAGE if number % 3 else FRAGMENT, rank.rank, dest, noise[number : number + size], id=number))


@pytest.mark.parametrize("rate", [None, 30e6])
def test_frames_of_a_pair_keep_their_order_and_bytes(sites: Sites, rate: float | None) -> None:
    noise = random.Random(1).randbytes(PAYLOAD + 1000)
    sizes = random.Random(2).choices([0, 1, 47, 1000, 16384, 40000, PAYLOAD], k=480)  # 8 MiB
    first = sites.first("a", 2, "a,b")
    with start_wan(first.event("listening")["port"], delay=0.0005, rate=rate) as wan:
        other = sites.other("b", 2, wan.port)
        ranks = [rank.enter() for rank in [*first.join(), *other.join()]]
        pairs = [(0, 2), (1, 3), (2, 1), (3, 0)]
        threads = [threading.Thread(target=stream, args=(ranks[source], dest, sizes, noise)) for source, dest in pairs]
        for thread in threads:
            thread.start()
        for _source, dest in pairs:
            for number, size in enumerate(sizes):
                frame = ranks[dest].receive()
                assert frame is not None
                assert (frame.type, frame.id) == (MESSAGE if number % 3 else FRAGMENT, number)
                assert frame.payload == noise[number : number + size]
        for thread in threads:
            thread.join()
        part([first, other], ranks)


def test_a_small_message_overtakes_the_bulk_of_another_rank(sites: Sites) -> None:
    first = sites.first("a", 2, "a,b")
    with start_wan(first.event("listening")["port"], delay=0.005, rate=20e6) as wan:
        other = sites.other("b", 2, wan.port)
        ranks = [rank.enter() for rank in [*first.join(), *other.join()]]
        bulk = threading.Thread(target=stream, args=(ranks[0], 2, [PAYLOAD] * 300, bytes(2 * PAYLOAD)))  # takes a second
        bulk.start()
        sink = threading.Thread(target=lambda: [ranks[2].receive() for _ in range(300)])
        sink.start()
        time.sleep(0.3)
        for _ in range(5):
            started = time.monotonic()
            ranks[1].send(Frame(MESSAGE, 1, 3, b"small"))
            assert ranks[3].receive().payload == b"small"
            assert time.monotonic() - started < 0.1  # behind all of the bulk it would take a second
        bulk.join()
        sink.join()
        part([first, other], ranks)


def test_a_flood_to_a_rank_that_does_not_read_stops_no_other_pair(sites: Sites) -> None:
    gateways, ranks = sites.world((4, 2))
    window = ranks[0].window
    assert window == 4 << 20  # 32 MiB for the 8 pairs
    frames = window // PAYLOAD
    for source in range(4):  # each uses its credits to the end: 16 MiB for rank 4, which does not read
        stream(ranks[source], 4, [PAYLOAD] * frames, bytes(2 * PAYLOAD))
        other = threading.Thread(target=stream, args=(ranks[source], 5, [PAYLOAD] * frames, bytes(2 * PAYLOAD)))
        other.start()
        assert all(len(ranks[5].receive().payload) == PAYLOAD for _ in range(frames))
        other.join()
    ranks[5].send(Frame(ACKNOWLEDGE, 5, 3, id=8))
    assert ranks[3].receive().id == 8
    ranks[3].send(Frame(MESSAGE, 3, 5, b"passes"))
    assert ranks[5].receive().payload == b"passes"
    for _ in range(4 * frames):
        assert len(ranks[4].receive().payload) == PAYLOAD
    assert all(gateway.memory() < (64 + 8) << 20 for gateway in gateways)
    part(gateways, ranks)


def test_a_rank_that_floods_a_stalled_link_is_not_read_and_costs_no_memory(sites: Sites) -> None:
    first = sites.first("a", 2, "a,b", "--link-timeout", 20)
    with start_wan(first.event("listening")["port"], delay=0.001, rate=50e6) as wan:
        other = sites.other("b", 1, wan.port, "--link-timeout", 20)
        ranks = [rank.enter() for rank in [*first.join(), *other.join()]]
        wan.stall()
        ranks[0].socket.settimeout(0.5)
        for _ in range((4 << 20) // PAYLOAD):
            try:
                ranks[0].send(Frame(MESSAGE, 0, 2, bytes(PAYLOAD)))
            except TimeoutError:
                break
        else:
            pytest.fail("the gateway took 4 MiB of a rank whose link is stalled")
        assert first.memory() < 40e6
        ranks[1].send(Frame(MESSAGE, 1, 0, b"inside"))  # the other rank is served
        assert ranks[0].receive().payload == b"inside"
        first.stop()
        wan.go()
        assert first.ended()[0] == other.ended()[0] == FAILED
