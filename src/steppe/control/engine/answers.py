"""Answers to the questions of clients about the last step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container

from steppe.control.engine.session_protocol import SessionProtocol
from steppe.control.wire import Buffer, Data, Get, Message, QueryRefusal, Same
from steppe.errors import SteppeError
from steppe.failpoint import reach

ANSWERING = 0.05  # [s] of answers in one poll; a single answer may take longer
RECENT = 2.0  # [s] after a question in which clients may ask for each step


class Answers:
    """The queue of questions of an engine. send: sends a message, if a server is connected; clock: monotonic seconds."""

    def __init__(self, session: SessionProtocol, send: Callable[[Message, Buffer], None], clock: Callable[[], float]) -> None:
        self._session, self._send, self._clock = session, send, clock
        self._queue: deque[Get] = deque()
        self._asked_at = float("-inf")

    def clear(self) -> None:
        """Discards the queue: the server has gone, and the next one numbers its questions from 1 again."""
        self._queue.clear()

    def receive(self, question: Get) -> None:
        """Queues a question."""
        self._queue.append(question)

    @property
    def recent(self) -> bool:
        """True if a client asked for the last steps."""
        return self._clock() - self._asked_at < RECENT

    def poll(self, loaded: Container[int]) -> bool:
        """Answers what is queued, for `ANSWERING` seconds; True if questions still wait. loaded: the branches in memory.

        An answer about the past may take long: the other questions wait for the next poll, so that the branches go on, too.
        """
        begin = self._clock()
        while self._queue and self._clock() - begin < ANSWERING:
            self._answer(self._queue.popleft(), loaded)
        return bool(self._queue)

    def _answer(self, question: Get, loaded: Container[int]) -> None:
        self._asked_at = self._clock()
        if question.branch not in loaded:
            self._send(QueryRefusal(question.id, "engine-recovering", f"Branch {question.branch} is not loaded yet.", {}), b"")
            return
        position = self._session.position(question.branch)
        if question.have == position:
            self._send(Same(question.id), b"")
            return
        try:
            head, body = self._session.get(question.branch, question.query)
        except SteppeError as error:
            self._send(QueryRefusal(question.id, error.code, str(error), getattr(error, "facts", {})), b"")
        else:
            assert reach("data.before")
            self._send(Data(question.id, position, head), body)
