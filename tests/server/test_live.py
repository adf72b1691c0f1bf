"""The live socket of a toy run: what it tells, whom it lets in, what closes it, and that nobody who is slow is in anybody's way."""

import json
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus

from steppe.api import PACKED, PACKED_MAGIC, PROTOCOL
from steppe.control import Refused
from steppe.grid import Raster
from steppe.server import Limits, Token
from steppe.server.application import application
from steppe.server.tokens import TokenFile
from tests.server.asking import TOKENS, access_of_all, bearer
from tests.server.listening import listening
from tests.server.toy import Toy
from tests.server.viewers import Viewer, masked, raw_viewer, viewer

LIMITS = Limits(
    requests=1e9, requests_burst=1e9, strangers=1e9, strangers_burst=1e9, write_seconds=0.7, sockets_of_token=5, sockets=20, channels=6
)


VISIT = sys.modules["steppe.server.live.visit"]


@pytest.fixture
def toy(tmp_path: Path, raster: Raster) -> Iterator[Toy]:
    run = Toy(tmp_path / "run", raster, steps=100_000)
    yield run
    run.close()


@pytest.fixture
def port(toy: Toy) -> Iterator[int]:
    with listening(application({"toy": toy}, access_of_all(), LIMITS)) as port:
        yield port


class Steering:
    """Somebody who orders steps by HTTP."""

    def __init__(self, port: int) -> None:
        self._base, self._keys = f"http://127.0.0.1:{port}/api/v1/runs/toy", 0

    def order(self, path: str, **content: Any) -> None:
        self._keys += 1
        headers = {**bearer("admin"), "Idempotency-Key": f"k{self._keys}"}
        answer = httpx.post(self._base + path, json=content, headers=headers, timeout=60.0)
        assert answer.status_code < 300, answer.text

    def step(self, steps: int = 1) -> None:
        self.order("/step", steps=steps)


@pytest.fixture
def steering(port: int) -> Steering:
    return Steering(port)


def exact(toy: Toy, name: str = "green") -> np.ndarray:
    return toy.grid.unpack(toy.state[1][name])


# ---- what is told -------------------------------------------------------------------------------------------------------------------
def test_a_viewer_is_told_first_what_the_run_is(port: int, toy: Toy) -> None:
    with viewer(port, "steer") as one:
        hello = one.told[0]
    assert (hello["type"], hello["protocol"], hello["run"], hello["role"], hello["name"]) == ("hello", PROTOCOL, "toy", "steer", "steer")
    assert {each["name"]: each["settable"] for each in hello["variables"]}["green"] is True
    assert hello["grid"]["shape"] == {"lat": 8, "lon": 6}
    assert hello["grid"]["digest"] == toy.grid.digest
    assert hello["grid"]["crs"] == {"grid_mapping_name": "latitude_longitude"}
    assert (hello["clock"]["step"], hello["clock"]["calendar"], hello["steps"]) == (86400.0, "standard", 100_000)
    assert hello["forcing"]["first"] == "2001-01-01"
    assert hello["info"]["scenarios"][0]["name"] == "main"
    assert hello["steers"] is None
    assert (hello["checkpoints"], hello["event"]) == ([], 0)


def test_a_viewer_that_offers_it_gets_a_packed_hello(port: int) -> None:
    with viewer(port, greeted=False, subprotocols=[PROTOCOL, PACKED]) as one, viewer(port) as other:
        assert one.line.subprotocol == PROTOCOL
        message = one.line.recv(timeout=5.0)
        assert isinstance(message, bytes)
        assert message[:4] == PACKED_MAGIC
        told = json.loads(zlib.decompress(message[4:]))
        assert {**told, "viewers": 2} == other.told[0]


def test_the_newest_frame_comes_at_once_and_then_each_that_follows(port: int, toy: Toy, steering: Steering) -> None:
    with viewer(port) as one:
        told = one.watch(bits=16)
        assert (told["rows"], told["columns"], told["bounds"]) == (8, 6, [138.0, -30.0, 153.0, -10.0])
        assert (told["row"], told["column"], told["units"], told["pair"]) == (0, 0, "kg ha-1", [1])
        first = one.frame()
        assert first.step == 0
        assert np.nanmax(np.abs(first.values - exact(toy))) <= first.scale / 2 * (1 + 1e-9)
        for step in (1, 2, 3):
            steering.step()
            frame = one.frame()
            assert (frame.step, frame.number, frame.stream) == (step, first.number + step, 1)
            assert np.nanmax(np.abs(frame.values - exact(toy))) <= frame.scale / 2 * (1 + 1e-9)
        assert one.quiet() == 0


def test_a_viewer_who_watches_while_the_engine_starts_is_answered_when_it_is_there(port: int, toy: Toy, steering: Steering) -> None:
    facts, toy.facts = toy.facts, None
    with viewer(port, greeted=False) as one:
        one.say({"watch": [{"stream": 1, "variable": "green"}]})
        assert one.quiet() == 0
        toy.facts = facts
        steering.step()
        assert one.until("watching")["streams"][0]["variable"] == "green"
        assert one.frame().step == 1
        kinds = [each["type"] for each in one.told]
        assert "problem" not in kinds
        assert kinds.index("hello") < kinds.index("watching")


def test_a_viewer_who_watches_a_run_that_failed_before_it_began_is_told_so(port: int, toy: Toy) -> None:
    toy.facts, toy.failure = None, Refused("engine-failed", "There is no weather.")
    with viewer(port, greeted=False) as one:
        one.say({"watch": [{"stream": 1, "variable": "green"}]})
        assert one.until("problem")["problem"]["code"] == "engine-failed"


def test_all_who_watch_the_same_get_the_same_bytes_and_the_engine_makes_them_once(port: int, toy: Toy, steering: Steering) -> None:
    with viewer(port) as one, viewer(port) as two:
        for each in (one, two):
            each.watch()
            each.frame()
        steering.step()
        assert (one.frame().step, two.frame().step) == (1, 1)
        assert one.raw[-1] == two.raw[-1]
        assert len(toy.channels._numbers) == 1


def test_while_nobody_watches_no_frame_is_made(port: int, toy: Toy, steering: Steering, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(toy, "frames", lambda *given: made.append(given) or Toy.frames(toy, *given))
    steering.step()
    with viewer(port) as one:
        steering.step()
        assert made == []
        one.watch()
        one.frame()
        one.say({"watch": []})
        assert one.until("watching")["streams"] == []
        before = len(made)
        steering.step(5)
        assert one.quiet() == 0
        assert len(made) == before > 0
        one.watch()
        assert one.frame().step == 7


def test_what_happens_is_told_to_all(port: int, steering: Steering) -> None:
    with viewer(port) as one:
        steering.order("/set", variable="green", value=5.0)
        ordered = one.until("ordered")
        assert (ordered["kind"], ordered["who"]) == ("set", "admin")
        done = one.until("command")
        assert (done["id"], done["state"], done["result"]["after"]) == (ordered["id"], "done", 200.0)
        steering.step(3)
        while (told := one.take()).get("scenarios", [{"step": 0}])[0]["step"] < 3:
            assert told["type"] in ("ordered", "command", "info", "progress", "viewers")
        steering.order("/scenarios", name="dry")
        names = {each["name"] for each in one.until("info")["scenarios"]}
        while "dry" not in names:
            names = {each["name"] for each in one.until("info")["scenarios"]}
    with viewer(port) as two:
        assert two.told[0]["steers"]["who"] == "admin"


def test_the_end_of_an_order_is_told_though_many_older_ones_wait(port: int, steering: Steering) -> None:
    with viewer(port) as one:
        for value in range(60):
            steering.order("/set", variable="green", value=value, when={"step": 9})
        steering.step(5)
        ended: list[str] = [one.until("command")["kind"]]
        assert ended == ["step"]
        steering.step(5)
        while ended.count("step") < 2 or ended.count("set") < 60:
            ended.append(one.until("command")["kind"])


def test_the_end_of_an_order_from_before_the_first_viewer_is_told(port: int, steering: Steering) -> None:
    steering.order("/set", variable="green", value=5.0, when={"step": 3})
    for end in (3, 6):
        with viewer(port) as one:
            steering.step(3)
            ended = [one.until("command")["kind"] for _ in range(2 if end == 3 else 1)]
        assert sorted(ended) == ["set", "step"][-len(ended) :]


def test_viewers_are_told_how_many_they_are_while_the_run_rests(port: int) -> None:
    with viewer(port) as one:
        assert one.told[0]["viewers"] == 1
        with viewer(port, "steer") as two:
            assert two.told[0]["viewers"] == 2
            while one.until("viewers")["viewers"] != 2:
                pass
        while one.until("viewers")["viewers"] != 1:
            pass


def test_a_cursor_is_exact_and_follows_the_frames(port: int, toy: Toy, steering: Steering) -> None:
    steering.order("/set", variable="green", value=0.1)
    with viewer(port) as one:
        one.watch()
        one.frame()
        one.say({"cursor": {"stream": 1, "cell": 7}})
        assert one.until("cursor") == {"type": "cursor", "stream": 1, "cell": 7, "step": 0, "value": 0.1, "text": "0.1"}
        steering.step()
        found = one.until("cursor")
        assert (found["step"], found["text"]) == (1, str(toy.state[1]["green"][0]))
        asked = len(toy.asked)
        one.say({"cursor": {"stream": 1, "cell": None}})
        one.say({"ping": 1})
        one.until("pong")
        steering.step()
        one.frame()
        assert one.quiet() == 0
        assert len(toy.asked) == asked


def test_the_streams_of_a_pair_share_their_range_and_come_together(port: int, steering: Steering) -> None:
    steering.order("/scenarios", name="wet")
    steering.order("/set", variable="green", value=9000.0, scenario="wet")
    pair = [{"stream": 2, "scenario": "wet", "variable": "green"}, {"stream": 1, "scenario": "main", "variable": "green"}]
    with viewer(port) as one:
        one.say({"watch": pair})
        assert [each["pair"] for each in one.until("watching")["streams"]] == [[1, 2], [1, 2]]
        first, second = one.frame(), one.frame()
        assert (first.stream, second.stream) == (1, 2)
        assert (first.scale, first.offset, first.step) == (second.scale, second.offset, second.step)
        assert np.nanmin(second.values) > 8000 > np.nanmax(first.values)


# ---- pace ---------------------------------------------------------------------------------------------------------------------------
def test_each_viewer_has_a_pace_of_his_own(port: int, steering: Steering) -> None:
    with viewer(port) as quick, viewer(port) as slow:
        quick.watch(rate=60)
        slow.watch(rate=2)
        quick.frame(), slow.frame()
        begin = time.monotonic()
        for _ in range(30):
            steering.step()
            quick.frame()
        while slow.frame().step < 30:
            pass
        assert len(slow.frames) <= 3 + 2 * (time.monotonic() - begin)
        assert slow.dropped == {}


def test_who_acknowledges_gets_no_more_than_two_frames_ahead(port: int, steering: Steering) -> None:
    with viewer(port) as one:
        one.watch(rate=60)
        one.say({"ack": one.frame().number})
        for _ in range(6):
            steering.step()
            time.sleep(0.03)
        one.say({"ping": 1})
        one.until("pong")  # all that he was to be sent is here
        assert len(one.frames) == 3
        while one.frames[-1].step < 6:
            one.say({"ack": one.frames[-1].number})
            one.frame()


def test_a_viewer_who_reads_nothing_takes_little_memory_is_closed_and_harms_nobody(tmp_path: Path) -> None:
    large = Toy(tmp_path / "large", Raster(60.0, -0.1, 0.0, 0.1, np.ones((700, 600), bool)), steps=100_000)
    limits = replace(LIMITS, write_seconds=3.0)  # in which a busy machine makes some frames for the other
    with listening(application({"toy": large}, access_of_all(), limits)) as port, viewer(port) as other:
        size = 2 * large.grid.n_cells
        stuck = raw_viewer(port, "admin")
        watch = {"watch": [{"stream": 1, "variable": "green", "bits": 16, "rate": 60}]}
        begin = time.monotonic()  # before the first frame, which may fill his line already
        stuck.sendall(masked(json.dumps(watch).encode()))
        other.watch(bits=16, rate=60)
        while not (waiting := [each for each in _lines(large) if each.client[1] == stuck.getsockname()[1]]):
            time.sleep(0.01)
        waiting = waiting[0]
        steering, most, ages = Steering(port), 0, []
        while not waiting.transport.is_closing():
            asked = time.monotonic()
            steering.step()
            while other.frame().step < large.at[1].step:
                pass
            ages.append(time.monotonic() - asked)
            most = max(most, waiting.transport.get_write_buffer_size())
            assert time.monotonic() < begin + 60
        assert 0 < most < 2 * size
        assert len(ages) > 5
        assert limits.write_seconds * 0.9 < time.monotonic() - begin < limits.write_seconds + 5
        stuck.close()
    large.close()


def _lines(toy: Toy) -> list[Any]:
    """The protocols of all who watch."""
    return [tell.func.__self__._line for channel in [*toy.channels._numbers.values()] for tell in [*channel.viewers]]  # others are coming


def test_who_reads_again_is_told_what_was_dropped_and_sent_the_newest(tmp_path: Path) -> None:
    steps = 40  # of 0.8 MB each: more than sockets hold
    large = Toy(tmp_path / "large", Raster(60.0, -0.1, 0.0, 0.1, np.ones((700, 600), bool)), steps=100_000)
    with (
        listening(application({"toy": large}, access_of_all(), replace(LIMITS, write_seconds=60.0))) as port,
        viewer(port) as other,
        viewer(port, "steer", max_queue=1) as slow,
    ):
        slow.watch(bits=16, rate=60)
        other.watch(bits=16, rate=60)
        steering = Steering(port)
        for _ in range(steps):
            steering.step()
            while other.frame().step < large.at[1].step:
                pass
        while slow.frame().step < steps:
            pass
        assert 0 < slow.dropped[1] < steps
        assert len(slow.frames) + slow.dropped[1] == slow.frames[-1].number - slow.frames[0].number + 1
    large.close()


# ---- what is refused ----------------------------------------------------------------------------------------------------------------
GOOD = {"stream": 1, "variable": "green"}


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"watch": [{**GOOD, "variable": "gren"}]}, "unknown-variable"),
        ({"watch": [{**GOOD, "scenario": "mian"}]}, "unknown-scenario"),
        ({"watch": [{**GOOD, "stream": number} for number in (1, 2, 3, 4, 4)]}, "bad-field"),
        ({"watch": [GOOD, GOOD]}, "bad-field"),
        ({"watch": [GOOD, {**GOOD, "stream": 2}]}, "bad-field"),
        ({"watch": [{**GOOD, "stream": 5}]}, "out-of-range"),
        ({"watch": [{**GOOD, "bits": 12}]}, "bad-field"),
        ({"watch": [{**GOOD, "rate": 1000}]}, "out-of-range"),
        ({"watch": [{**GOOD, "range": [3, 3]}]}, "out-of-range"),
        ({"watch": [{**GOOD, "range": [0, 1e300]}]}, "out-of-range"),
        ({"watch": [{**GOOD, "width": 4, "stride": 2}]}, "bad-field"),
        ({"watch": [{**GOOD, "box": [0, 0, 1, 1]}]}, "region-invalid"),
        ({"watch": [{**GOOD, "colour": "red"}]}, "bad-field"),
        ({"watch": [{"variable": "green"}]}, "bad-field"),
        ({"follow": [{"line": 1, "variable": "green", "polygon": [0, 0, 40, 0, 40, 40]}]}, "polygon-invalid"),
        ({"follow": [{"line": 1, "variable": "green", "polygon": "x"}]}, "polygon-invalid"),
        ({"step": 3}, "bad-field"),
        ({}, "bad-field"),
        ({"ping": 1, "ack": 1}, "bad-field"),
        ({"ping": 1, "stream": 1}, "bad-field"),
        ({"ack": 1, "stream": 2}, "bad-field"),
        ({"cursor": {"stream": 2, "cell": 1}}, "bad-field"),
        ({"cursor": {"stream": 1, "cell": 48}}, "cell-outside"),
        ({"cursor": {"stream": 1, "cell": 5}}, "cell-inactive"),
        ({"token": TOKENS["admin"]}, "bad-field"),
    ],
    ids=str,
)
def test_what_cannot_be_met_changes_nothing(port: int, steering: Steering, said: dict[str, Any], code: str) -> None:
    with viewer(port) as one:
        one.watch()
        one.frame()
        one.say(said)
        problem = one.until("problem")["problem"]
        assert (problem["code"], problem["type"]) == (code, f"/problems/{code}")
        assert problem["detail"]
        steering.step()
        assert one.frame().step == 1


def closing(one: Viewer, before: object = None) -> int | None:
    """The code with which the server closes; None when it says something before."""
    try:
        while True:
            if one.take() == before is not None:
                return None
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 0


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"\x00\x01", 1003),
        ("nonsense", 1008),
        ('{"ping": 1, "ping": 2}', 1008),
        ('{"ping": 1e999}', 1008),
        ('{"ping": NaN}', 1008),
        ("[" * 3000, 1008),
        ('{"token": "' + "a" * 4090 + '"}', 1009),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_message_closes_the_socket(port: int, said: str | bytes, code: int) -> None:
    with viewer(port) as one, viewer(port) as other:
        one.say(said)
        assert closing(one) == code
        other.watch()
        assert other.frame().step == 0


def test_what_is_not_utf8_closes_the_socket(port: int) -> None:
    line = raw_viewer(port, "view")
    line.sendall(masked(b"\xff\xfe"))
    found = b""
    while b"\x88" not in found or b"\x03\xef" not in found:  # a close, 1007
        piece = line.recv(65536)
        assert piece
        found += piece
    line.close()


def test_more_than_twenty_messages_a_second_close_the_socket(port: int) -> None:
    with viewer(port) as one:
        begin = time.monotonic()
        # at one stroke: between two of them the line may be closed, or a second be over
        one.line.socket.sendall(b"".join(masked(json.dumps({"ping": number}).encode()) for number in range(100)))
        assert closing(one) == 1008
        seconds = time.monotonic() - begin
        assert 20 <= sum(each["type"] == "pong" for each in one.told) <= 21 + 20 * seconds


@pytest.mark.parametrize("piece", [b"\x89\x80" + bytes(4), b"\x8a\x80" + bytes(4), b"\x00\x80" + bytes(4)], ids=["ping", "pong", "piece"])
def test_a_flood_of_what_is_no_message_closes_the_socket(port: int, piece: bytes) -> None:
    line = raw_viewer(port, "view")
    first = b"\x01\x80" + bytes(4) if piece[0] == 0 else b""  # the beginning of a text in pieces
    found = b""
    with suppress(ConnectionError):
        line.sendall(first + 5000 * piece)
        while b"\x03\xf0too many pings" not in found and (got := line.recv(65536)):  # 1008
            found += got
    assert b"\x03\xf0too many pings" in found
    line.close()


def test_a_run_is_watched_in_so_many_ways_and_no_more(port: int, steering: Steering) -> None:
    def ask(one: Viewer, *highs: int) -> None:
        one.say({"watch": [{**GOOD, "stream": number, "bits": 16, "range": [0, high]} for number, high in enumerate(highs, 1)]})

    with viewer(port) as one, viewer(port) as two, viewer(port) as three:
        for each, highs, answer in (
            (one, (1, 2, 3, 4), "watching"),
            (two, (5, 6, 7), "problem"),
            (two, (5, 6, 4), "watching"),  # one of them is watched already
            (three, (1, 6), "watching"),
            (three, (1, 7), "problem"),
            (two, (4, 5, 7), "problem"),  # another viewer watches 6, too
        ):
            ask(each, *highs)
            each.until(answer)
        assert two.told[-1]["problem"]["code"] == "too-busy"
        steering.step()
        while {each.stream for each in three.frames if each.step == 1} != {1, 2}:  # a refusal ends no stream
            three.take()


MESSAGES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["watch", "ack", "cursor", "ping", "token", "stream", "variable", "cell", "box"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


def test_no_message_breaks_the_server(port: int) -> None:
    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
    @given(MESSAGES)
    def say(message: Any) -> None:
        with viewer(port) as one:
            one.say(json.dumps(message))
            with suppress(ConnectionClosed):
                one.say({"ping": 7})
            assert closing(one, {"type": "pong", "ping": 7}) in (None, 1008)
            assert {each["type"] for each in one.told} <= {"hello", "problem", "watching", "pong", "info", "cursor", "viewers"}

    say()


# ---- who comes in -------------------------------------------------------------------------------------------------------------------
def refused(port: int, **more: Any) -> int:
    """The status with which a visitor is turned away."""
    with pytest.raises(InvalidStatus) as wrong, viewer(port, **more):
        pass
    answer = wrong.value.response
    assert json.loads(answer.body)["status"] == answer.status_code
    return int(answer.status_code)


def test_who_may_not_come_in_is_told_why_in_the_way_of_http(port: int) -> None:
    assert refused(port, role=None, headers={"Authorization": "Bearer wrong"}) == 401
    assert refused(port, run="none") == 404
    assert refused(port, subprotocols=["other"]) == 400
    assert refused(port, origin="http://example.org") == 403
    assert refused(port, origin="null") == 403
    assert refused(port, role=None, run=f"toy/live?token={TOKENS['steer']}&x=") == 400
    with viewer(port, origin=f"http://127.0.0.1:{port}"):
        pass
    answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/runs/toy/live", headers=bearer("view"))
    assert (answer.status_code, answer.json()["code"], answer.headers["upgrade"]) == (426, "upgrade-needed", "websocket")


def test_a_page_comes_in_with_its_cookie_and_no_other_site_can(port: int) -> None:
    home = f"http://127.0.0.1:{port}"
    answer = httpx.post(f"{home}/api/v1/login", json={"token": TOKENS["view"]}, headers={"Origin": home})
    cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    with viewer(port, None, headers=cookie, origin=home) as one:
        assert one.told[0]["role"] == "view"
    assert refused(port, role=None, headers=cookie) == 403
    assert refused(port, role=None, headers=cookie, origin="http://example.org") == 403
    assert refused(port, role=None, headers={"Cookie": cookie["Cookie"][:-3]}, origin=home) == 401


def test_a_token_may_be_the_first_message(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with viewer(port, None, greeted=False) as one:
        one.say({"token": TOKENS["steer"]})
        assert one.until("hello")["role"] == "steer"
        one.watch()
        assert one.frame().step == 0
    for said in ({"token": "wrong"}, {"ping": 1}):
        with viewer(port, None, greeted=False) as one:
            one.say(said)
            assert closing(one) == 1008
    monkeypatch.setattr(VISIT, "UNKNOWN", 0.2)
    with viewer(port, None, greeted=False) as one:
        assert closing(one) == 1008


def test_a_token_has_so_many_sockets_and_no_more(port: int) -> None:
    with ExitStack() as stack:
        for _ in range(LIMITS.sockets_of_token):
            stack.enter_context(viewer(port))
        assert refused(port) == 429
        stack.enter_context(viewer(port, "steer"))
    for _ in range(200):
        try:
            with viewer(port):
                break
        except InvalidStatus:
            time.sleep(0.05)
    else:
        raise AssertionError("A socket that was closed is still counted.")


def test_a_token_of_another_run_is_no_good_one(tmp_path: Path, raster: Raster) -> None:
    runs = {name: Toy(tmp_path / name, raster, name=name) for name in ("toy", "other")}
    TokenFile(runs["other"].folder).add(Token.of("guest", "view", "g" * 43, time.time() + 3600))
    with listening(application(runs, access_of_all(), LIMITS)) as port:
        for run, good in (("other", True), ("toy", False)):
            with viewer(port, role=None, run=run, greeted=False) as one:
                one.say({"token": "g" * 43})
                assert one.until("hello") if good else closing(one) == 1008
            headers = {"Authorization": f"Bearer {'g' * 43}"}
            assert good or refused(port, role=None, headers=headers) == 404
    for each in runs.values():
        each.close()


def test_a_visit_ends_with_its_token(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VISIT, "STILL", 0.1)
    access = access_of_all()
    with listening(application({"toy": toy}, access, LIMITS)) as port, viewer(port) as one, viewer(port, "steer") as other:
        access.revoke(TOKENS["view"])
        assert closing(one) == 1008
        other.watch()
        assert other.frame().step == 0


def test_at_the_end_of_the_server_viewers_are_told(toy: Toy) -> None:
    server = application({"toy": toy}, access_of_all(), LIMITS)
    with listening(server) as port:
        stack = ExitStack()
        one = stack.enter_context(viewer(port))
    assert closing(one) == 1012
    stack.close()
