"""A world in one thread: a server, its engines, clients, a disk; links that delay and cut, deaths, all from one seed.

The supervisor, the endpoint, the journal and the frames are the real ones. Simulated are time, the pipes, the process of an engine, and a
session whose state shows every action that was lost, repeated, or put in another place.
"""

from __future__ import annotations

import heapq
import multiprocessing
import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from steppe.api.query import MapQuery
from steppe.control import Leg, Outcome, Position, SavedCheckpoint
from steppe.control.engine.endpoint import EngineEndpoint
from steppe.control.framing import FrameReader, frame
from steppe.control.orders import CHANGES, FIRST_BRANCH, FIRST_NAME, OF_STATE, BranchRecord, CommandReceipt, Order, Refused, numbered
from steppe.control.server.channels import Channel, View
from steppe.control.server.compaction import compact
from steppe.control.server.journal import Journal
from steppe.control.server.supervisor import Supervisor
from steppe.control.wire import BEGINNING, OPEN_END, Buffer, EngineExit, Heartbeat, Hello, Message, RuleFiring, Shutdown
from steppe.errors import NoSpaceError

STEPS = 400
DISASTERS_END = 9.0  # [s]
MASK = (1 << 61) - 1


class World:
    """Virtual time; what is due at the same moment happens in an order that the seed decides."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.time = 0.0
        self._due: list[tuple[float, float, Timer]] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return 1e9 + self.time

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        timer = Timer(call)
        heapq.heappush(self._due, (self.time + seconds, self.chance.random(), timer))
        return timer

    def soon(self, call: Callable[[], None], most: float = 0.02) -> Timer:
        return self.later(self.chance.random() * most, call)

    def run(self, until: Callable[[], bool], limit: float) -> bool:
        end = self.time + limit
        while not until():
            if not self._due or self.time >= end:
                return False
            self.time, _, timer = heapq.heappop(self._due)
            if timer.call:
                timer.call()
        return True


class Timer:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class State(NamedTuple):
    """Of a toy model: `value` depends on every step and action, and on their order. triggers: number, what divides the value, action."""

    step: int = 0
    place: int = 0
    value: int = 1
    triggers: tuple[tuple[int, int, str], ...] = ()

    def stepped(self) -> State:
        return State(self.step + 1, 0, (self.value * 31 + self.step) & MASK, self.triggers)

    def changed(self, place: int, amount: int) -> State:
        return self._replace(place=place, value=(self.value * 1_000_003 + hash((amount, self.step))) & MASK)

    def done(self, place: int, kind: str, arguments: dict[str, Any]) -> State | None:
        """After an action; None, if it cannot be done."""
        if kind == "trigger":
            new = (arguments["id"], arguments["divisor"], arguments["action"])
            return self.changed(place, arguments["id"])._replace(triggers=(*self.triggers, new))
        if kind == "remove":
            others = tuple(each for each in self.triggers if each[0] != arguments["rule"])
            return self.changed(place, 1)._replace(triggers=others) if others != self.triggers else None
        return self.changed(place, arguments["amount"]) if arguments["amount"] % 7 else None

    def fires(self) -> list[tuple[str, str]]:
        """The triggers that have something to say after this step: source and kind."""
        return [(f"trigger:{number}", action) for number, divisor, action in self.triggers if self.value % divisor == 0]

    @property
    def position(self) -> Position:
        return Position(self.step, self.place)


@dataclass
class Disk:
    """What outlives an engine: checkpoints of each branch, and what was not heeded of it then."""

    saved: dict[int, list[State]] = field(default_factory=dict)
    unacknowledged: dict[tuple[int, State], list[RuleFiring]] = field(default_factory=dict)
    full: bool = False
    keeps: bool = True  # False: no state is saved, so that all has to be done again


class ToySession:
    """A session of ten lines of physics; everything else is as the real one has to be."""

    def __init__(self, world: World, disk: Disk) -> None:
        self._world, self._disk = world, disk
        self._states: dict[int, State] = {}
        self._ring: dict[int, list[State]] = {}
        self._fired: list[RuleFiring] = []
        self._unacknowledged: dict[tuple[int, int, str], RuleFiring] = {}

    def describe(self) -> dict[str, Any]:
        return {"steps": STEPS, "model": "toy"}

    def load(self, branch: int, path: Sequence[Leg], begin: Position = BEGINNING) -> Position:
        known = [State()]
        end = Position(path[-1].step, path[-1].seq)
        for kept in (self._ring, self._disk.saved):  # what lies beyond the end is of a past that may change
            if branch in kept:
                kept[branch] = [state for state in kept[branch] if state.position <= end]
        for leg in path:
            limit = Position(leg.step, leg.seq)
            kept = [*self._ring.get(leg.branch, []), *self._disk.saved.get(leg.branch, [])]
            kept += [self._states[leg.branch]] if leg.branch in self._states else []
            known += [state for state in kept if state.position <= limit]
        state = self._states[branch] = max(known, key=lambda state: state.position)
        assert state.position >= begin, "the journal does not know how it goes on from here"
        for leg in path:
            self._tell(self._disk.unacknowledged.get((leg.branch, state), ()))
        return self.position(branch)

    def position(self, branch: int) -> Position:
        return self._states[branch].position

    def advance(self, branches: Sequence[int], until: int, looked: float) -> None:
        if self._disk.full and self._world.chance.random() < 0.2:
            for branch in branches if self._world.chance.random() < 0.5 else ():
                del self._states[branch]
            raise NoSpaceError("The disk is full.")
        piece = self._world.chance.randint(1, 1 if looked else 12)
        for branch in branches:
            for _ in range(min(piece, until - self._states[branch].step)):
                state = self._states[branch] = self._states[branch].stepped()
                self._tell([RuleFiring(branch, state.step, *said, "") for said in state.fires()])
                if state.fires():
                    break
            if self._states[branch].step % 8 == 0:
                self._ring.setdefault(branch, []).append(self._states[branch])
            if self._world.chance.random() < 0.05 and self._disk.keeps and not self._disk.full:
                self.save(branch)

    @property
    def array_counts(self) -> dict[str, float]:
        return {}

    def kept(self, branch: int) -> int:
        return min((state.step for state in self._ring.get(branch, [])), default=self._states[branch].step)

    def apply(self, branch: int, place: int, kind: str, arguments: dict[str, Any]) -> Outcome:
        state = self._states[branch]
        done = state.done(place, kind, arguments)
        self._states[branch] = done or state._replace(place=place)
        detail = {} if done else {"code": "out-of-range", "text": "Sevens cannot be set, nor can be removed what is not there."}
        return Outcome(done is not None, detail, self._states[branch].value)

    def fired(self) -> Sequence[RuleFiring]:
        found, self._fired = self._fired, []
        return found

    def _tell(self, fired: Sequence[RuleFiring]) -> None:
        self._fired += fired
        self._unacknowledged |= {(each.branch, each.step, each.source): each for each in fired}

    def unacknowledged(self) -> Sequence[RuleFiring]:
        return [*self._unacknowledged.values()]

    def acknowledge(self, branch: int, step: int, source: str) -> None:
        self._unacknowledged.pop((branch, step, source), None)

    def save(self, branch: int, pin: bool = False) -> SavedCheckpoint:
        if self._disk.full:
            raise NoSpaceError("The disk is full.")
        state = self._states[branch]
        self._disk.saved.setdefault(branch, []).append(state)
        self._disk.unacknowledged[branch, state] = [each for each in self._unacknowledged.values() if each.branch == branch]
        return SavedCheckpoint(f"{state.step}-{state.place}", state.position, 8)

    def dirty(self, branch: int) -> bool:
        return self._disk.keeps and self._states[branch] not in self._disk.saved.get(branch, [])

    def has(self, branch: int) -> bool:
        return branch in self._states

    def unload(self, branch: int, keep: bool = True) -> None:
        if branch in self._states:
            del self._states[branch]
            self._ring.pop(branch, None)

    def has_room(self) -> bool:
        return not self._disk.full

    def get(self, branch: int, query: MapQuery) -> tuple[dict[str, Any], Buffer]:
        state = self._states[branch]
        return {"step": state.step, "seq": state.place}, state.value.to_bytes(8, "little")

    def frames(
        self, branches: Sequence[int], query: MapQuery, bits: int, span: Sequence[Any] | None
    ) -> tuple[list[Any], Callable[[], Buffer]]:
        content = b"".join(self._states[branch].value.to_bytes(8, "little") for branch in branches)
        return [1.0], lambda: content


class Pipe:
    """One direction of a connection: bytes in order, in pieces, late; cut, what is under way is lost."""

    def __init__(self, world: World, to_engine: bool, take: Callable[[Message, bytearray], None]) -> None:
        self._world, self._take = world, take
        self._reader = FrameReader(at_engine=to_engine)
        self._bytes = bytearray()
        self._flowing = self.cut = False

    def send(self, message: Message, body: Buffer) -> None:
        if not self.cut:
            for each in frame(message, body):
                self._bytes += each
            self._flow()

    def _flow(self) -> None:
        if self._bytes and not self._flowing:
            self._flowing = True
            self._world.soon(self._arrive, 0.004)

    def _arrive(self) -> None:
        self._flowing = False
        count = self._world.chance.choice((1, 7, 100, len(self._bytes), len(self._bytes)))
        while count and self._bytes and not self.cut:
            space = self._reader.space()
            some = min(len(space), count, len(self._bytes))
            space[:some] = self._bytes[:some]
            del self._bytes[:some], space
            count -= some
            if found := self._reader.filled(some):
                self._take(*found)
        if not self.cut:
            self._flow()


class DiedError(Exception):
    """What a session raises in which an engine dies."""


class Engine:
    """The process of an engine: an endpoint that has turns, beats, and dials when it has no connection."""

    def __init__(self, play: Play, epoch: int, ended: Callable[[str, str], None]) -> None:
        self.play, self.epoch, self._ended = play, epoch, ended
        self.alive, self.hanging, self._waited = True, False, 0
        self.link: Connection | None = None
        self.endpoint = EngineEndpoint(ToySession(play.world, play.disk), self._tell, play.world.now)
        play.world.later(0.1 + play.world.chance.random() * 0.3, self._begin)

    def _begin(self) -> None:
        """Waits for the lock on the run folder, ends whoever does not give it up, then lives."""
        others = [other for other in self.play.engines if other.alive and other.epoch < self.epoch]
        self._waited += 1
        if others and self._waited > 100:
            others[0].kill()
        if others:
            self.play.world.later(0.05, self._begin)
        elif self.alive:
            for live in (self._turn, self._beat, self._dial):
                self.play.world.soon(live)

    def _tell(self, message: Message, body: Buffer) -> None:
        if self.link and self.alive:
            self.link.up.send(message, body)

    def hear(self, message: Message, body: bytearray) -> None:
        if isinstance(message, Shutdown):
            self.kill()
        elif self.alive and not self.hanging:
            try:
                self.endpoint.receive(message)
            except DiedError:
                self.kill()
            except NoSpaceError as error:  # as the engine ends
                self._tell(EngineExit(error.code, error.fault, False), b"")
                self.kill()

    def _turn(self) -> None:
        if self.alive:
            try:
                busy = not self.hanging and self.endpoint.poll()
            except DiedError:
                self.kill()
                return
            self.play.world.soon(self._turn, 0.01 if busy else 0.05)

    def _beat(self) -> None:
        if self.alive:
            if not self.hanging and self.link:
                self._tell(Heartbeat(self.endpoint.positions()), b"")
            self.play.world.later(0.1, self._beat)

    def _dial(self) -> None:
        if not self.alive:
            return
        if self.link is None and not self.hanging and self.play.supervisor:
            self.link = Connection(self.play, self)
            self.play.supervisor.engine_connected(self.link, Hello(1, self.epoch, "", "", self.epoch, "here", 1))
            if self.link:
                self.endpoint.greet()
        self.play.world.later(0.05, self._dial)

    def kill(self) -> None:
        """As SIGKILL does: nothing more is said, the connection ends a moment later, then somebody notices the exit."""
        if self.alive:
            self.alive = False
            if self.link:
                self.link.cut()
            self.play.world.soon(lambda: self._ended("killed", "the last line"), 0.05)


class Connection:
    """Both directions between an engine and the server that it has found."""

    def __init__(self, play: Play, engine: Engine) -> None:
        self._play, self._engine, self._supervisor = play, engine, play.supervisor
        self.down = Pipe(play.world, True, engine.hear)
        self.up = Pipe(play.world, False, self._up)
        self._ended = False

    def _up(self, message: Message, body: bytearray) -> None:
        if self._supervisor is self._play.supervisor and self._supervisor:
            self._supervisor.receive(self, message, body)

    def send(self, message: Message, body: Buffer = b"") -> None:
        self.down.send(message, body)

    def close(self) -> None:
        self.cut()

    def cut(self) -> None:
        if self._ended:
            return
        self._ended = self.up.cut = self.down.cut = True

        def noticed() -> None:
            if self._engine.link is self:
                self._engine.link = None
            if self._supervisor and self._supervisor is self._play.supervisor:
                self._supervisor.connection_lost(self)

        self._play.world.soon(noticed, 0.01)


class Play:
    """A whole play: clients steer, engines and servers die, the disk fills and is emptied."""

    def __init__(
        self,
        seed: int,
        commands: int = 60,
        clients: int = 5,
        disasters: int = 6,
        compactions: int = 0,
        supervisor: type[Supervisor] = Supervisor,
    ) -> None:
        self.world = World(seed)
        self.disk = Disk()
        self.journal = Journal(":memory:")
        self._make = supervisor
        self.supervisor: Supervisor | None = None
        self.engines: list[Engine] = []
        self.accepted: dict[tuple[str, str], CommandReceipt] = {}
        self.refused: dict[tuple[str, str], str] = {}
        self.seen: dict[int, int] = {}
        self._left = [commands // clients] * clients
        self._open: set[tuple[str, str]] = set()  # orders that have no answer yet
        self.frames: set[tuple[int, Position, int]] = set()  # what was shown: branch, where it stood, value
        self._shown: dict[int, int] = {}  # by branch: the step of the last frame
        self._viewers: list[tuple[Channel, Callable[[], None]]] = []
        self.serve()
        self.world.later(1.0, self._look_elsewhere)
        for number in range(clients):
            self.world.later(1.0 + self.world.chance.random(), lambda number=number: self._steer(number))
        for _ in range(disasters):
            self.world.later(1.0 + (DISASTERS_END - 2) * self.world.chance.random(), self._disaster)
        self.behind: dict[tuple[str, str], int] = {}  # orders that are in old journals alone
        self.began = State()  # with which the journal begins
        for _ in range(compactions):
            self.world.later(2.0 + (DISASTERS_END - 3) * self.world.chance.random(), self._compact)

    # ---- processes ------------------------------------------------------------------------------------------------------------------
    def start(self, epoch: int, ended: Callable[[str, str], None]) -> Engine:
        self.engines.append(Engine(self, epoch, ended))
        return self.engines[-1]

    def serve(self) -> None:
        self.supervisor = self._make("run", Path(), self.journal, self.world, self)
        self.supervisor.process.start()
        self._viewers = []
        for _ in range(2):
            self._look_at("main")

    def _disaster(self) -> None:
        living = [engine for engine in self.engines if engine.alive]
        match self.world.chance.choice(("engine", "engine", "server", "link", "hang", "disk")):
            case "engine" if living:
                living[-1].kill()
            case "server" if self.supervisor:
                self._end_server()
            case "link" if living and living[-1].link:
                living[-1].link.cut()
            case "hang" if living and self.world.chance.random() < 0.3:
                living[-1].hanging = True
            case "disk":
                self.disk.full = True
                self.world.later(2.0, lambda: setattr(self.disk, "full", False))

    def _end_server(self) -> None:
        assert self.supervisor
        self.supervisor.process.close(keep=False)
        self.supervisor = None
        for engine in self.engines:
            if engine.alive and engine.link:
                engine.link.cut()
        self.world.later(0.2 + self.world.chance.random(), self.serve)

    def _compact(self) -> None:
        """Somebody ends the server and its engine, has the journal begin anew at one of the checkpoints of main, and serves it again."""
        if self.supervisor:
            self._end_server()
        for engine in self.engines:
            engine.kill()
        main = self.journal.branch(FIRST_NAME).id
        begin, legs = self.journal.begin(main), self.journal.path(main)
        there = [(leg, state) for leg in legs for state in self.disk.saved.get(leg.branch, [])]
        found = [(leg.branch, state) for leg, state in there if begin <= state.position <= (leg.step, leg.seq)]
        found += [(FIRST_BRANCH, State())] if begin == BEGINNING else []
        before = {(each.who, each.key): each.seq for each in self.journal.commands()}
        self._check_shown()
        self.frames.clear()
        on, self.began = self.world.chance.choice(found)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "journal.sqlite"
            with closing(sqlite3.connect(path)) as file:
                self.journal._base.backup(file)
            name = f"{self.began.step}-{self.began.place}" if self.began.position > BEGINNING else ""
            compact(path, SavedCheckpoint(name, self.began.position, 8), on, self.world.wall())
            self.journal = Journal.snapshot(path)
        after = {(each.who, each.key) for each in self.journal.commands()}
        self.behind |= {key: seq for key, seq in before.items() if key not in after}

    # ---- viewers --------------------------------------------------------------------------------------------------------------------
    def _look_at(self, *names: str) -> None:
        """Somebody watches scenarios, and takes a frame when he has time."""
        supervisor = self.supervisor
        assert supervisor

        def tell() -> None:
            for number, position, content in zip(channel.asked.branches, channel.positions, channel.frames, strict=True):
                assert position.step >= self._shown.get(number, 0), f"branch {number} was shown at {position} after {self._shown[number]}"
                self._shown[number] = position.step
                self.frames.add((number, Position(*position), int.from_bytes(content, "little")))
            self.world.soon(lambda: supervisor.channels.taken(channel), 0.3)

        channel = supervisor.channels.open(View(names, MapQuery(), 8, None), tell, self.world.chance.choice((0.0, 0.05, 0.5)))
        self._viewers.append((channel, tell))

    def _look_elsewhere(self) -> None:
        """One of those who watch goes away, another one looks at a pair."""
        if self.supervisor:
            if len(self._viewers) > 2:
                self.supervisor.channels.close(*self._viewers.pop(2))
            names = [branch.name for branch in self.journal.branches() if "@" not in branch.name]
            self._look_at(*sorted({"main", self.world.chance.choice(names)}))
        self.world.later(1.0, self._look_elsewhere)

    # ---- clients --------------------------------------------------------------------------------------------------------------------
    def _steer(self, number: int) -> None:
        if self._left[number] == 0:
            return
        self._insist(number, self._order(f"client {number}", f"key {self._left[number]}"))

    def _order(self, who: str, key: str) -> Order:
        chance = self.world.chance
        names = [branch.name for branch in self.journal.branches() if "@" not in branch.name]
        rare = ["pause", "pause", "checkpoint", "branch", "rewind", "restart", "cancel", "trigger", "trigger", "remove", "rename", "leave"]
        kind = chance.choice(["step"] * 6 + ["set"] * 8 + rare)
        shown = max(branch.shown_step for branch in self.journal.branches())
        when: str | int = chance.choice(["after", "now", "now", shown + chance.randint(0, 30)])
        scenario = chance.choice(names)
        arguments: dict[str, Any] = {}
        match kind:
            case "step":
                slow = {"steps": 5, "speed": chance.choice([20.0, 300.0])}
                until = {"until": shown + chance.randint(1, 60)}
                arguments = chance.choice([{"steps": chance.randint(1, 40)}, slow, until, {"end": True}])
            case "set":
                arguments = {"amount": chance.randint(1, 1000)}
            case "trigger":
                arguments = {"divisor": chance.randint(2, 40), "action": chance.choice(["pause", "message"])}
            case "remove":
                rules = self.journal.rules(self.journal.branch(scenario).id)
                arguments = {"rule": chance.choice(rules).seq if rules else 1}
            case "branch":
                arguments = {"name": f"{who} {key}", "step": chance.choice([None, chance.randint(0, shown)])}
            case "rename":
                arguments = {"name": f"{who} {key}"}
            case "rewind":
                left = [branch.name for branch in self.journal.branches() if branch.name.startswith(f"{scenario}@")]
                arguments = chance.choice([{"step": chance.randint(0, shown)}, *({"left": name} for name in left[-1:])])
            case "cancel":
                waiting = self.journal.waiting("set")
                arguments = {"seq": chance.choice(waiting).seq if waiting else 1}
                scenario = self.journal.branch(chance.choice(waiting).branch if waiting else FIRST_NAME).name
        match_ = chance.choice([None, None, self.journal.version(self.journal.branch(scenario).id)])
        return Order(kind, scenario, arguments, key, who, "steer", repr((kind, arguments)).encode(), when, match_, None)

    def _insist(self, number: int, order: Order) -> None:
        """A client asks until it has an answer, and now and then again."""
        name = (order.who, order.key)
        self._open.add(name)

        def ask() -> None:
            if self.supervisor is None or self.world.chance.random() < 0.05:
                self.world.later(0.1, ask)
                return
            try:
                accepted = self.supervisor.accept(order)
            except Refused as error:
                if error.code == "engine-recovering":
                    self.world.later(0.1, ask)
                    return
                self._check_again(name, error.code)
            else:
                assert name not in self.refused, f"{name} was refused as {self.refused[name]}, then carried out"
                assert self.accepted.setdefault(name, accepted).seq == accepted.seq
            self._open.discard(name)
            kept = name in self.accepted or self.refused[name] in OF_STATE
            if kept and self.world.chance.random() < 0.1:
                self.world.soon(ask, 1.0)
            else:
                self._left[number] -= 1
                self.world.soon(lambda: self._steer(number), 0.3)

        ask()

    def _check_again(self, name: tuple[str, str], code: str) -> None:
        before = self.refused.setdefault(name, code)
        assert before == code, f"{name} was refused as {before}, then as {code}"

    # ---- what must hold ---------------------------------------------------------------------------------------------------------------
    def watch(self) -> None:
        """A person never sees a branch go back."""
        if self.supervisor:
            for each in self.supervisor.scenarios():
                assert each["step"] >= self.seen.get(each["branch"], 0), f"branch {each['branch']} went back to step {each['step']}"
                self.seen[each["branch"]] = each["step"]
            if self.supervisor.process.state == "failed":
                assert (self.supervisor.process.problem or {}).get("code") == "engine-failed", self.supervisor.process.problem
                self.supervisor.process.launch()  # as a person does who has read why

    def at_rest(self) -> bool:
        self.watch()
        if (
            any(self._left)
            or self._open
            or self.supervisor is None
            or self.supervisor.full
            or self.disk.full
            or self.world.time < DISASTERS_END
        ):
            return False
        targets = {branch.id: branch.target for branch in self.journal.branches()}
        if any(each.outcome is None and (each.at_step or 0) <= targets[each.branch] for each in self.journal.commands()):
            return False  # what is ordered for later than anybody steps may wait
        return all(branch.shown_step >= branch.target for branch in self.journal.branches() if "@" not in branch.name)

    def fold(self, branch: int, step: int, place: int = OPEN_END) -> tuple[State, set[tuple[int, int, str, str]]]:
        """The state that the journal says, undisturbed; and what triggers did on the way: branch, step, source, kind.

        place: of the last action at that step.
        """
        begin = self.journal.begin(branch)
        state, fired = self.began if begin > BEGINNING else State(), set()

        def to(end: int) -> None:
            nonlocal state
            while state.step < end:
                state = state.stepped()
                fired.update((self.journal.owner(branch, state.step), state.step, *said) for said in state.fires())

        for each in self.journal.placed(branch, begin if begin > BEGINNING else Position(-1, -1)):
            if (each.at_step, each.place) > (step, place):
                break
            to(each.at_step)
            done = state.done(each.place, each.kind, numbered(each.kind, each.seq, each.arguments))
            state = done or state._replace(place=each.place)
        to(step)
        return state, fired

    def _asked(self, scenario: str) -> Any:
        assert self.supervisor
        answers: list[Any] = []
        self.supervisor.ask(scenario, MapQuery(), answers.append)
        assert self.world.run(lambda: bool(answers), 400), f'scenario "{scenario}" does not answer'
        return answers[0]

    def _check_frames(self) -> None:
        """What people were shown is what the journal says; who watches sees where things came to rest."""
        self._check_shown()
        assert self.supervisor
        channel = self._viewers[0][0]
        self.world.run(lambda: channel.positions == (self.supervisor.position(self.supervisor.named("main")),), 10)
        assert channel.positions == (self.supervisor.position(self.supervisor.named("main")),), "main is not shown where it rests"

    def _check_shown(self) -> None:
        for branch, position, value in self.frames:
            state, _ = self.fold(branch, *position)
            assert (state.position, state.value) == (position, value), f"branch {branch} was shown otherwise than it was at {position}"

    def check(self) -> None:
        commands = [*self.journal.commands()]
        people = [each for each in commands if each.who.startswith("client")]
        behind = {name: seq for name, seq in self.behind.items() if name[0].startswith("client")}
        assert behind | {(each.who, each.key): each.seq for each in people} == {name: each.seq for name, each in self.accepted.items()}
        assert not self.refused.keys() & self.accepted.keys(), "what was accepted was refused when it was said again"
        assert self.supervisor
        for branch in self.journal.branches():
            head, body = self._answer(branch.name)
            expected, fired = self.fold(branch.id, head["step"])
            self._check_fired(branch, fired)
            assert head["step"] >= branch.shown_step
            assert int.from_bytes(body, "little") == expected.value, f"the state of branch {branch.id} differs from the journal's"
            begin = self.journal.begin(branch.id)
            for saved in (each for each in self.disk.saved.get(branch.id, []) if each.position >= begin):
                state, _ = self.fold(branch.id, saved.step)
                assert state.place != saved.place or state.value == saved.value, "a checkpoint differs from the journal's"
        self._check_frames()
        for each in commands:
            if each.kind in CHANGES and each.outcome in ("done", "failed") and each.at_step is not None:
                assert each.at_step == each.ended_step, f"command {each.seq} was pinned at {each.at_step} and ended at {each.ended_step}"

    def _answer(self, scenario: str) -> Any:
        """The answer to a client that starts an engine that has failed, waits for one that hangs, and asks again."""
        assert self.supervisor
        for _ in range(20):
            answers: list[Any] = []
            self.supervisor.ask(scenario, MapQuery(), answers.append)
            assert self.world.run(lambda answers=answers: bool(answers), 400), f"{scenario} does not answer"
            if isinstance(answers[0], tuple):
                return answers[0]
            assert answers[0].code in ("engine-failed", "engine-recovering"), repr(answers[0])
            self.world.run(lambda: False, 5 if answers[0].code == "engine-recovering" else 0)
            self.watch()
        raise AssertionError(repr((answers[0], self.supervisor.info())))

    def _check_fired(self, branch: BranchRecord, expected: set[tuple[int, int, str, str]]) -> None:
        """People were told once what triggers did; each pause is in the journal, at its step."""
        begin = self.journal.begin(branch.id).step
        all_ = [what for _, what in self.journal.emissions(0) if what["source"].startswith("trigger:") and what["step"] > begin]
        said = [what for what in all_ if what["branch"] == branch.id]
        told = {(what["branch"], what["step"], what["source"], what["kind"]) for what in said}
        own = {each for each in expected if each[0] == branch.id and each[1] > begin}
        assert len(told) == len(said)
        assert told <= own, f"branch {branch.id} was said to do {told - own}"
        assert told == own or "@" in branch.name, f"nobody was told that branch {branch.id} did {own - told}"
        pausing = [each for each in self.journal.commands(branch=branch.id) if each.who.startswith("trigger:")]
        rows = {(each.at_step, each.who) for each in pausing if each.at_step is not None and each.at_step > begin}
        pauses = {(step, source) for _, step, source, kind in told if kind == "pause"}
        late = {each for each in pauses - rows if each[0] == branch.closed_step}  # known only after it was left there: that stops nobody
        assert rows == pauses - late, f"branch {branch.id} has the pauses {rows}, its triggers made {pauses}"


def play(seed: int, **options: Any) -> Play:
    """Plays a seed to its end and checks it."""
    made = Play(seed, **options)
    assert made.world.run(made.at_rest, 400), f"seed {seed}: no rest; {made.supervisor.info() if made.supervisor else None}"
    made.check()
    return made


def clean(seed: int) -> str:
    """What is wrong with a seed; nothing, if it is clean."""
    try:
        play(seed)
        play(seed, compactions=2)
    except Exception as error:
        return f"seed {seed}: {error!r}"
    return ""


if __name__ == "__main__":  # python -m tests.control.simulation FIRST LAST
    seeds = range(int(sys.argv[1]), int(sys.argv[2]))
    with multiprocessing.Pool() as pool:
        found = [text for text in pool.imap_unordered(clean, seeds, 10) if text]
    sys.stdout.write("".join(f"{text}\n" for text in found) or f"{len(seeds):,} seeds, all clean\n")
    sys.exit(bool(found))
