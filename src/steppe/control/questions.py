"""What people ask of an engine, joined where it is the same, and the answers that are kept as long as they are right."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from msgspec.structs import replace

from steppe.api.query import MapQuery
from steppe.control.orders import Refused
from steppe.control.wire import Buffer, Get, Message, Position, asking

KEPT_BYTES = 256 << 20  # of answers that are kept
NOT_LOADED = "engine-recovering"  # what an engine says of a branch that it has closed
AT_ONCE = 64  # questions that an engine may have before it
FRESH = 0.02  # [s] that an answer is given again while the run goes on: as long as an engine steps before it shows where it is

Answer = tuple[dict[str, Any], Buffer]
Key = tuple[int, MapQuery]
Tell = Callable[[Answer | Refused], None]


class Desk(Protocol):
    """Who knows the branches, and has the line to the engine."""

    def position(self, branch: int) -> Position | None:
        """Where a branch stands, if it can be asked; else it is fetched, and questions wait."""

    def known(self, branch: int) -> Position:
        """The last position of a branch that any client may have heard of."""

    def shown_step(self, branch: int) -> int:
        """The last step of a branch that people have heard of; what a rule did may tell of one before its position does."""

    def rests(self, branch: int) -> bool:
        """Whether nothing is under way or due where a branch stands, so that what was answered is still right."""

    def send(self, message: Message, body: Buffer = b"") -> None:
        """Says something to the engine, if there is one."""


@dataclass
class _Kept:
    """An answer, where the branch stood, and when the engine said that it is right."""

    position: Position
    answer: Answer
    at: float


@dataclass
class _Question:
    branch: int
    query: MapQuery
    key: Key
    tell: list[Tell] = field(default_factory=list)
    asked_at: Position | None = None  # where the branch stood when the engine was asked: the answer is not of before
    kept: _Kept | None = None  # what was known then

    def answer(self, answer: Answer | Refused) -> None:
        for tell in self.tell:
            tell(answer)


class Questions:
    """Those of one run. What was asked before and has not changed moves no data.

    While a run goes on, an answer of a moment ago is right as long as nobody has heard of a later step; so all who look at it at once see
    one thing, which comes from the engine once. now: seconds that only grow.
    """

    def __init__(self, desk: Desk, now: Callable[[], float]) -> None:
        self._desk, self._now = desk, now
        self.moved_bytes = self.gathers = 0
        self._asked = 0
        self._before: dict[int, _Question] = {}  # the engine
        self._waiting: OrderedDict[Key, _Question] = OrderedDict()
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._kept_bytes = 0
        self._present: dict[int, set[Key]] = {}  # of these by branch, all of one position
        self._past: dict[int, set[Key]] = {}  # about steps that are over

    def ask(self, branch: int, query: MapQuery, tell: Tell) -> None:
        """Has `tell` called with the answer: at once, or when the engine has given it."""
        key, rests, position = _key(branch, query), self._desk.rests(branch), self._desk.position(branch)
        kept = self._kept.get(key)
        soon = kept is not None and self._now() - kept.at < FRESH and self._desk.shown_step(branch) <= kept.position.step
        fresh = kept is not None and (rests or soon) and position == kept.position
        if kept and (fresh or _is_past(query, kept.position, position)):
            self._kept.move_to_end(key)
            tell(kept.answer)
            return
        same = self._waiting.get(key)
        if same is None:
            same = next((each for each in self._before.values() if each.key == key and (rests or each.asked_at == position)), None)
        if same:
            same.tell.append(tell)
            return
        self._waiting[key] = _Question(branch, query, key, [tell])
        self.ask_on()

    def ask_on(self) -> None:
        """Puts before the engine what waits."""
        for key, question in [*self._waiting.items()]:
            if len(self._before) >= AT_ONCE:
                return
            position = self._desk.position(question.branch)
            if position is None:
                continue
            del self._waiting[key]
            question.asked_at = position
            self._asked += 1
            self._before[self._asked] = question
            question.kept = kept = self._kept.get(key)
            self._desk.send(*asking(Get(self._asked, question.branch, question.query, kept.position if kept else None)))

    def came(self, id: int, position: Position, answer: Answer) -> int | None:
        """Takes an answer; gives the branch that it is of."""
        question = self._before.pop(id, None)
        if question is None:
            return None
        self.gathers += 1
        self.moved_bytes += _size(answer)
        self._keep(question, _Kept(position, answer, self._now()))
        question.answer(answer)
        return question.branch

    def same(self, id: int) -> None:
        """The engine says that what is kept is right."""
        if (question := self._before.pop(id, None)) and question.kept:
            question.kept.at = self._now()
            question.answer(question.kept.answer)

    def refused(self, id: int, why: Refused) -> None:
        """The engine says that it cannot be answered; one that closed the branch meanwhile is asked again when it is open."""
        if question := self._before.pop(id, None):
            if why.code == NOT_LOADED:
                self._wait(question)
            else:
                question.answer(why)

    def again(self) -> None:
        """Another engine is asked what the one before has not answered."""
        for question in self._before.values():
            self._wait(question)
        self._before.clear()

    def ask_kept(self, branch: int, query: MapQuery, tell: Tell, why: Refused) -> None:
        """Answers without the engine: with what is kept of the last position that any client has heard of, else with a refusal."""
        kept, known = self._kept.get(_key(branch, query)), self._desk.known(branch)
        is_last = kept is not None and kept.position >= known and query.step is None
        tell(kept.answer if kept and (is_last or _is_past(query, kept.position, known)) else why)

    def give_up(self, why: Refused, branch: int | None = None) -> None:
        """Answers the questions that wait for the engine without it; those of all branches, or of one."""
        questions = [each for each in (*self._before.values(), *self._waiting.values()) if branch in (None, each.branch)]
        self._before = {id: each for id, each in self._before.items() if each not in questions}
        self._waiting = OrderedDict((key, each) for key, each in self._waiting.items() if each not in questions)
        for question in questions:
            for tell in question.tell:
                self.ask_kept(question.branch, question.query, tell, why)

    def _wait(self, question: _Question) -> None:
        if waiting := self._waiting.get(question.key):
            waiting.tell += question.tell
        else:
            self._waiting[question.key] = question

    @property
    def branches(self) -> set[int]:
        """Branches about which a question waits."""
        return {each.branch for some in (self._before, self._waiting) for each in some.values()}

    @property
    def answered(self) -> set[int]:
        """The branches about which answers are kept."""
        return {*self._present, *self._past}

    def forget(self, branch: int) -> None:
        """Gives up all answers about a branch."""
        self._give_up([*self._present.get(branch, ()), *self._past.get(branch, ())])

    def _keep(self, question: _Question, kept: _Kept) -> None:
        """Keeps an answer; those of where its branch stood before cannot be right again, but for those about a step that is over."""
        key, over = question.key, question.query.step is not None
        self._give_up([key] if key in self._kept else [])
        there = self._present.get(question.branch, set())
        if not over and any(self._kept[each].position != kept.position for each in [*there][:1]):
            self._give_up([*there])
        (self._past if over else self._present).setdefault(question.branch, set()).add(key)
        self._kept[key] = kept
        self._kept_bytes += _size(kept.answer)
        while self._kept_bytes > KEPT_BYTES:
            self._give_up([next(iter(self._kept))])

    def _give_up(self, keys: list[Key]) -> None:
        for key in keys:
            self._kept_bytes -= _size(self._kept.pop(key).answer)
            for some in (self._present, self._past):
                if key in some.get(key[0], ()):
                    some[key[0]].remove(key)
                    if not some[key[0]]:
                        del some[key[0]]

    def end(self, why: Refused) -> None:
        """Nobody will answer."""
        questions = [*self._before.values(), *self._waiting.values()]
        self._before.clear()
        self._waiting.clear()
        for question in questions:
            question.answer(why)


def _is_past(query: MapQuery, of: Position, at: Position | None) -> bool:
    """Whether an answer is of a step that is over, before anything else happened at it: it stays right. at: where the branch stands."""
    return at is not None and (of.step, of.seq) == (query.step, 0) and of.step < at.step


def _key(branch: int, query: MapQuery) -> Key:
    """The branch and the query; of its cells, of which there may be very many, a digest."""
    return branch, replace(query, chosen=sha256(query.chosen).digest()) if query.chosen else query


def _size(answer: Answer) -> int:
    return memoryview(answer[1]).nbytes
