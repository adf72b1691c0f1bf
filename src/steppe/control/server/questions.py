"""Questions of clients to an engine: equal ones are joined, and answers are cached as long as they are right."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace

from steppe.api.documents import ArrayHead
from steppe.api.query import MapQuery
from steppe.control.framing import detach_cells
from steppe.control.orders import Refused
from steppe.control.wire import Buffer, Get, Position

if TYPE_CHECKING:
    from steppe.control.server.supervisor import Supervisor

CACHE_BYTES = 256 << 20  # of cached answers
NOT_LOADED = "engine-recovering"  # the code of an engine for a branch that it has unloaded
AT_ONCE = 64  # questions under way to an engine, at most
FRESH = 0.02  # [s] for which an answer counts as the present while the run goes on: the time between two positions of an engine

Answer = tuple[ArrayHead, Buffer]
Key = tuple[int, MapQuery]
Tell = Callable[[Answer | Refused], None]


@dataclass
class _CachedAnswer:
    """An answer, the position of its branch, and the time at which the engine last confirmed it."""

    position: Position
    answer: Answer
    at: float


@dataclass
class _Question:
    branch: int
    query: MapQuery
    key: Key
    tell: list[Tell] = field(default_factory=list)
    asked_at: Position | None = None  # of the branch when the question was sent: the answer is not older
    kept: _CachedAnswer | None = None  # the cached answer at that time

    def answer(self, answer: Answer | Refused) -> None:
        for tell in self.tell:
            tell(answer)


class Questions:
    """The questions of one run. An unchanged answer moves no data.

    While a run goes on, an answer of a moment ago is right as long as no client has seen a later step. So clients that ask at the same time
    get one answer, which the engine sends once. now: monotonic seconds.
    """

    def __init__(self, supervisor: Supervisor, now: Callable[[], float]) -> None:
        self._supervisor, self._now = supervisor, now
        self._asked = 0
        self._closed: Refused | None = None
        self._under_way: dict[int, _Question] = {}  # sent to the engine
        self._waiting: OrderedDict[Key, _Question] = OrderedDict()
        self._kept: OrderedDict[Key, _CachedAnswer] = OrderedDict()
        self._kept_bytes = 0
        self._present: dict[int, set[Key]] = {}  # cached answers by branch, all of one position
        self._past: dict[int, set[Key]] = {}  # cached answers about past steps

    def ask(self, branch: int, query: MapQuery, tell: Tell) -> None:
        """Calls `tell` with the answer: at once, or when the engine has sent it."""
        if self._closed:
            tell(self._closed)
            return
        dispatch, position = self._supervisor.dispatch, self._supervisor.position(branch)
        key, rests = _key(branch, query), dispatch.rests(branch)
        kept = self._kept.get(key)
        soon = kept is not None and self._now() - kept.at < FRESH and dispatch.branch(branch).shown_step <= kept.position.step
        fresh = kept is not None and (rests or soon) and position == kept.position
        if kept and (fresh or _is_past(query, kept.position, position)):
            self._kept.move_to_end(key)
            tell(kept.answer)
            return
        same = self._waiting.get(key)
        if same is None:
            same = next((each for each in self._under_way.values() if each.key == key and (rests or each.asked_at == position)), None)
        if same:
            same.tell.append(tell)
            return
        self._waiting[key] = _Question(branch, query, key, [tell])
        self.ask_on()

    def ask_on(self) -> None:
        """Sends waiting questions to the engine."""
        for key, question in [*self._waiting.items()]:
            if len(self._under_way) >= AT_ONCE:
                return
            position = self._supervisor.position(question.branch)
            if position is None:
                continue
            del self._waiting[key]
            question.asked_at = position
            self._asked += 1
            self._under_way[self._asked] = question
            question.kept = kept = self._kept.get(key)
            self._supervisor.send(*detach_cells(Get(self._asked, question.branch, question.query, kept.position if kept else None)))

    def came(self, id: int, position: Position, answer: Answer) -> int | None:
        """Takes an answer; returns its branch, or None for an answer without a question."""
        question = self._under_way.pop(id, None)
        if question is None:
            return None
        self._keep(question, _CachedAnswer(position, answer, self._now()))
        question.answer(answer)
        return question.branch

    def same(self, id: int) -> None:
        """Answers with the cached answer, which the engine has confirmed."""
        if (question := self._under_way.pop(id, None)) and question.kept:
            question.kept.at = self._now()
            question.answer(question.kept.answer)

    def refused(self, id: int, why: Refused) -> None:
        """Answers with a refusal of the engine. If the branch was unloaded meanwhile, the question waits until it is loaded."""
        if question := self._under_way.pop(id, None):
            if why.code == NOT_LOADED:
                self._wait(question)
            else:
                question.answer(why)

    def reset(self) -> None:
        """Queues the unanswered questions of an engine again, for the next one."""
        for question in self._under_way.values():
            self._wait(question)
        self._under_way.clear()

    def ask_kept(self, branch: int, query: MapQuery, tell: Tell, why: Refused) -> None:
        """Answers without the engine: with a cached answer of the last position that a client has seen, else with a refusal."""
        kept, known = self._kept.get(_key(branch, query)), self._supervisor.journal.known(branch)
        is_last = kept is not None and kept.position >= known and query.step is None
        tell(kept.answer if kept and (is_last or _is_past(query, kept.position, known)) else why)

    def give_up(self, why: Refused, branch: int | None = None) -> None:
        """Answers the open questions of all branches, or of one, without the engine."""
        questions = [each for each in (*self._under_way.values(), *self._waiting.values()) if branch in (None, each.branch)]
        self._under_way = {id: each for id, each in self._under_way.items() if each not in questions}
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
        """The branches with an open question."""
        return {each.branch for some in (self._under_way, self._waiting) for each in some.values()}

    @property
    def answered(self) -> set[int]:
        """The branches with cached answers."""
        return {*self._present, *self._past}

    def discard(self, branch: int) -> None:
        """Removes all cached answers about a branch."""
        self._remove([*self._present.get(branch, ()), *self._past.get(branch, ())])

    def _keep(self, question: _Question, kept: _CachedAnswer) -> None:
        """Caches an answer; answers of earlier positions of its branch are removed, except those about past steps."""
        key, over = question.key, question.query.step is not None
        self._remove([key] if key in self._kept else [])
        there = self._present.get(question.branch, set())
        if not over and any(self._kept[each].position != kept.position for each in [*there][:1]):
            self._remove([*there])
        (self._past if over else self._present).setdefault(question.branch, set()).add(key)
        self._kept[key] = kept
        self._kept_bytes += _size(kept.answer)
        while self._kept_bytes > CACHE_BYTES:
            self._remove([next(iter(self._kept))])

    def _remove(self, keys: list[Key]) -> None:
        for key in keys:
            self._kept_bytes -= _size(self._kept.pop(key).answer)
            for some in (self._present, self._past):
                if key in some.get(key[0], ()):
                    some[key[0]].remove(key)
                    if not some[key[0]]:
                        del some[key[0]]

    def close(self, why: Refused) -> None:
        """Refuses all open questions and those to come: the supervision ends."""
        self._closed = self._closed or why
        self.end(self._closed)

    def end(self, why: Refused) -> None:
        """Refuses all open questions: no engine will answer."""
        questions = [*self._under_way.values(), *self._waiting.values()]
        self._under_way.clear()
        self._waiting.clear()
        for question in questions:
            question.answer(why)


def _is_past(query: MapQuery, of: Position, at: Position | None) -> bool:
    """True for an answer about a past step, before any action at it: it stays right. at: the position of the branch."""
    return at is not None and (of.step, of.seq) == (query.step, 0) and of.step < at.step


def _key(branch: int, query: MapQuery) -> Key:
    """The branch and the query, with a digest of its cells, which may be very many."""
    return branch, replace(query, chosen=sha256(query.chosen).digest()) if query.chosen else query


def _size(answer: Answer) -> int:
    return memoryview(answer[1]).nbytes
