"""The wire on real sockets: who may be an engine, and what a stranger can do."""

import asyncio
import json
import os
import re
import select
import socket
import stat
import struct
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from steppe.api.query import MapQuery
from steppe.control.engine.connection import ServerConnection
from steppe.control.framing import BODY_LIMIT, PREFIX, BadFrame, FrameReader, frame
from steppe.control.rendezvous import Rendezvous
from steppe.control.server.journal import Journal
from steppe.control.server.listener import EngineListener, LoopScheduler
from steppe.control.server.supervisor import Supervisor
from steppe.control.sockets import address_of, connect, split, tcp_listener
from steppe.control.tls import TlsClient, new_certificate
from steppe.control.wire import PROTOCOL, Busy, Data, Description, Get, Greet, Heartbeat, Hello, Load, Position, Ready, Shutdown
from steppe.errors import Mistake

ADDRESSES = {"one machine": ("",), "another, sealed": ("127.0.0.1",), "another, plain": ("127.0.0.1", False)}
FACTS = {"steps": 100, "model": "toy"}


class Nobody:
    """Starts no engine: tests call themselves."""

    def start(self, epoch: int, ended: Any) -> "Nobody":
        return self

    def kill(self) -> None:
        pass


class House:
    """A supervisor that listens, on a loop in a thread of its own."""

    def __init__(self, folder: Path, link: str) -> None:
        self.folder, self._link = folder, link
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.do(self._open())

    async def _open(self) -> None:
        journal = Journal(self.folder / "journal.sqlite")
        journal.begin_engine(0.0)
        self.supervisor = Supervisor("run", self.folder, journal, LoopScheduler(), Nobody())
        self.listener = EngineListener(self.folder, self.supervisor, *ADDRESSES[self._link])
        await self.listener.open()

    def do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def ask(self, look: Any) -> Any:
        async def asked() -> Any:
            return look()

        return self.do(asked())

    def close(self) -> None:
        self.do(self.listener.close())
        self.ask(lambda: self.supervisor.close(keep=False))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(params=ADDRESSES)
def house(tmp_path, request):
    made = House(tmp_path, request.param)
    yield made
    made.close()


def until(true: Any, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def call(house: House) -> tuple[socket.socket | TlsClient, str]:
    """A connection, and the server's nonce."""
    line = connect(house.listener.rendezvous)
    return line, greeted(line)


def greeted(line: socket.socket | TlsClient) -> str:
    """The server's nonce."""
    reader = FrameReader(at_engine=True)
    while not (found := reader.filled(line.recv_into(reader.space()))):
        pass
    assert isinstance(found[0], Greet)
    return str(found[0].nonce)


def turned_away(house: House) -> int:
    return int(house.ask(lambda: house.supervisor.turned_away))


def hello(house: House, nonce: str, epoch: int = 1, **changes: Any) -> bytes:
    facts = {"proof": house.listener.rendezvous.prove(nonce, epoch), "nonce": "ab"} | changes
    return b"".join(bytes(each) for each in frame(Hello(PROTOCOL, epoch, facts["proof"], facts["nonce"], 1, "here", 1)))


def is_closed(line: socket.socket | TlsClient) -> bool:
    """Whether the server has hung up, after whatever it had to say."""
    with closing(line):
        try:
            while line.recv_into(memoryview(bytearray(1 << 16))):
                pass
        except ConnectionError:
            pass
        return True


def engine_of(house: House) -> tuple[ServerConnection, list[Any]]:
    """An engine that was let in and has loaded the run; and what it is told from then on, too."""
    said: list[Any] = []
    line = ServerConnection(house.folder, 1, 1, said.append, lambda: None)
    threading.Thread(target=line.listen, daemon=True).start()
    until(lambda: line.alone_since is None)  # before, what is said is lost; an engine says it once more
    line.send(Description(), json.dumps(FACTS).encode())
    until(lambda: any(isinstance(each, Load) for each in said))
    line.send(Ready(1, Position(0, 0)))
    return line, said


def test_an_engine_that_has_read_the_door_is_heard(house):
    line, said = engine_of(house)
    answers: list[Any] = []
    until(lambda: house.ask(lambda: house.supervisor.process.state) == "up")
    house.ask(lambda: house.supervisor.ask("main", MapQuery(name="green"), answers.append))
    until(lambda: any(isinstance(each, Get) for each in said))
    body = os.urandom(2_300_000)
    line.send(Data(next(each.id for each in said if isinstance(each, Get)), Position(0, 0), {"step": 0}), body)
    until(lambda: bool(answers))
    assert bytes(answers[0][1]) == body
    line.close()
    until(lambda: house.ask(lambda: house.supervisor.process.hello) is None)


def test_an_engine_that_compiles_says_so_before_it_falls_silent(house):
    line, nonce = call(house)
    described = b"".join(bytes(each) for each in frame(Description(), json.dumps(FACTS).encode()))
    said = [Ready(1, Position(0, 0)), Busy("compiling", 300.0)]
    line.sendall(hello(house, nonce) + described + b"".join(bytes(part) for each in said for part in frame(each)))
    until(lambda: house.ask(lambda: house.supervisor.info())["state"] == "compiling")
    time.sleep(0.8)
    assert house.ask(lambda: house.supervisor.info())["silent"]
    line.sendall(b"".join(bytes(part) for part in frame(Heartbeat({1: Position(0, 0)}))))
    until(lambda: house.ask(lambda: house.supervisor.info())["state"] == "ready")
    line.close()


def test_the_door_is_for_its_owner_alone(house):
    door = house.listener.rendezvous
    for path in [house.folder / "door.json", *([Path(door.address)] if door.address.startswith("/") else [])]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_long_path_gets_a_short_socket(tmp_path):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    assert len(Rendezvous.make(folder, "one").address) < 100
    assert Rendezvous.read(folder) == Rendezvous.read(folder)


def test_an_engine_of_a_folder_that_was_removed_leaves(house):
    said: list[Any] = []
    line = ServerConnection(house.folder, 1, 1, said.append, lambda: None)
    threading.Thread(target=line.listen, daemon=True).start()
    until(lambda: house.ask(lambda: house.supervisor.process.hello))
    house.do(house.listener.close())
    Rendezvous.make(house.folder, "another journal")
    house.ask(lambda: house.supervisor.process.link.close())
    until(lambda: any(isinstance(each, Shutdown) for each in said))
    line.close()


def test_an_engine_makes_its_state_durable_and_leaves_when_the_server_has_another_version(house, monkeypatch):
    monkeypatch.setattr("steppe.control.server.listener.PROTOCOL", PROTOCOL + 1)
    said: list[Any] = []
    line = ServerConnection(house.folder, 1, 1, said.append, lambda: None)
    threading.Thread(target=line.listen, daemon=True).start()
    until(lambda: Shutdown(True) in said)
    line.close()


def test_who_does_not_know_the_secret_is_turned_away(house):
    line, _ = call(house)
    line.sendall(hello(house, "another nonce"))
    assert is_closed(line)
    assert house.ask(lambda: house.supervisor.process.hello) is None


def test_an_engine_of_an_older_start_is_told_to_leave(house):
    house.ask(lambda: house.supervisor.journal.begin_engine(1.0))
    line, nonce = call(house)
    line.sendall(hello(house, nonce, epoch=1))
    assert is_closed(line)
    assert house.ask(lambda: house.supervisor.process.hello) is None


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        PREFIX.pack(b"STE1", (64 << 10) + 1, 0),
        PREFIX.pack(b"STE1", 10, 1 << 40),
        PREFIX.pack(b"STE1", 4, 1) + b"abcd",
        PREFIX.pack(b"STE1", 0, 0),
        b"".join(bytes(each) for each in frame(Heartbeat({1: Position(1, 0)}))),
    ],
    ids=["HTTP", "long header", "long body", "a body before the proof", "no header", "another message"],
)
def test_what_is_no_hello_ends_the_connection_and_nothing_else(house, sent):
    engine, nonce = call(house)
    engine.sendall(hello(house, nonce))
    until(lambda: house.ask(lambda: house.supervisor.process.hello))
    line, _ = call(house)
    line.sendall(sent)
    assert is_closed(line)
    assert house.ask(lambda: house.supervisor.process.hello)
    engine.close()


def test_a_second_hello_ends_the_connection(house):
    line, nonce = call(house)
    line.sendall(hello(house, nonce) * 2)
    assert is_closed(line)


def test_strangers_are_few(house):
    door = replace(house.listener.rendezvous, fingerprint="")  # they do not even begin with TLS
    lines = [connect(door) for _ in range(40)]
    until(lambda: turned_away(house) >= 24)
    assert house.ask(lambda: house.listener.strangers) <= 16
    for line in lines:
        line.close()
    until(lambda: house.ask(lambda: house.listener.strangers) == 0)
    engine, nonce = call(house)
    engine.sendall(hello(house, nonce))
    until(lambda: house.ask(lambda: house.supervisor.process.hello))
    engine.close()


def test_who_says_nothing_is_turned_away_after_a_moment(house, monkeypatch):
    monkeypatch.setattr("steppe.control.server.listener.UNPROVED", 1.0)  # in which who is called by TLS must be greeted
    line, _ = call(house)
    assert is_closed(line)
    assert is_closed(connect(replace(house.listener.rendezvous, fingerprint="")))
    until(lambda: house.ask(lambda: house.listener.strangers) == 0)
    assert turned_away(house) == 2


def test_what_is_said_on_a_sealed_line_is_not_seen(tmp_path):
    """And whoever answers with a certificate of his own is told nothing."""
    seen: list[bytes] = []
    house, spy, heard = House(tmp_path, "another, sealed"), socket.create_server(("127.0.0.1", 0)), threading.Event()

    def listen() -> None:
        line, _ = spy.accept()
        with spy, line, socket.create_connection(split(house.listener.rendezvous.address)) as server, suppress(ConnectionError):
            sinks = {line: server, server: line}
            while not heard.is_set():
                for source in select.select([*sinks], [], [], 0.05)[0]:
                    seen.append(source.recv(1 << 16))
                    sinks[source].sendall(seen[-1])

    spying = threading.Thread(target=listen)
    spying.start()
    line = connect(replace(house.listener.rendezvous, address=address_of(spy)))
    nonce = greeted(line)
    line.sendall(hello(house, nonce))
    until(lambda: house.ask(lambda: house.supervisor.process.hello))
    heard.set()
    spying.join()
    line.close()
    assert sum(map(len, seen)) > 500
    assert nonce.encode() not in b"".join(seen)
    house.close()


def test_an_engine_tells_nothing_to_who_shows_another_certificate(tmp_path):
    house, other = House(tmp_path, "another, sealed"), House(Path(mkdtemp(dir=tmp_path)), "another, sealed")
    with pytest.raises(ConnectionError, match="Another process"):
        connect(replace(house.listener.rendezvous, address=other.listener.rendezvous.address))
    house.close()
    other.close()


def test_threads_that_speak_at_once_do_not_disturb_each_other(house):
    line, said = engine_of(house)
    until(lambda: house.ask(lambda: house.supervisor.process.state) == "up")
    answers: dict[int, bytes] = {}

    def took(number: int) -> Any:
        return lambda answer: answers.update({number: bytes(answer[1])})

    bodies = {number: os.urandom(300_000) for number in range(60)}
    for number in bodies:
        house.ask(lambda number=number: house.supervisor.ask("main", MapQuery(name=f"v{number}"), took(number)))

    def beat() -> None:
        for _ in range(500):
            line.send(Heartbeat({1: Position(0, 0)}))

    beating = threading.Thread(target=beat)
    beating.start()
    until(lambda: sum(isinstance(each, Get) for each in said) == 60)
    for each in [each for each in said if isinstance(each, Get)]:
        line.send(Data(each.id, Position(0, 0), {"step": 0}), bodies[int(each.query.name[1:])])
    beating.join()
    until(lambda: len(answers) == 60, 20)
    assert answers == bodies
    line.close()


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "nowhere.invalid:70", "host:port:", "127.0.0.1:99999"])
def test_an_address_that_engines_cannot_call_is_refused(tmp_path, address):
    with pytest.raises(Mistake, match=re.escape(f'at "{address}"')):
        tcp_listener(address)


def test_a_certificate_needs_no_program_and_each_is_another(monkeypatch):
    monkeypatch.setenv("PATH", "")
    made = [new_certificate()[1] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{64}", each) for each in made)
    assert made[0] != made[1]


@given(st.lists(st.tuples(st.integers(0, 1 << 40), st.binary(max_size=300)), min_size=1, max_size=5), st.integers(1, 50))
def test_frames_come_whole_however_they_are_cut(messages, size):
    sent = b"".join(bytes(part) for seq, body in messages for part in frame(Data(seq, Position(seq, 1), {"step": seq}), body))
    reader, found = FrameReader(at_engine=False), []
    while sent:
        space = reader.space()
        count = min(size, len(space), len(sent))
        space[:count] = sent[:count]
        sent = sent[count:]
        del space
        if whole := reader.filled(count):
            found.append((whole[0].id, bytes(whole[1])))
    assert found == messages


@given(st.binary(min_size=1, max_size=200))
def test_noise_is_no_frame(noise):
    reader = FrameReader(at_engine=True)
    data = struct.pack("<4sIQ", b"STE1", len(noise), 0) + noise
    try:
        while data:
            space = reader.space()
            count = min(len(space), len(data))
            space[:count] = data[:count]
            data = data[count:]
            del space
            reader.filled(count)
    except BadFrame:
        return


def test_a_body_has_a_limit():
    reader = FrameReader(at_engine=True)
    reader.space()[:] = PREFIX.pack(b"STE1", 10, BODY_LIMIT + 1)
    with pytest.raises(BadFrame, match="body"):
        reader.filled(PREFIX.size)
