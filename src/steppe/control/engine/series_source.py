"""Series of cells and regions: the values after every step, collected for a moment and sent together.

Follow ──> single steps ── values ──> pending rows ── after `MOMENT`, or at rest ──> SeriesRows
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steppe.api.query import Along, MapQuery
from steppe.control.engine.session_protocol import SessionProtocol
from steppe.control.wire import Buffer, Follow, Message, Position, SeriesRows, Unfollow
from steppe.errors import SteppeError

MOMENT = 0.1  # [s] between two messages of one number, at least


@dataclass
class _PendingRows:
    """Values of consecutive steps that have not been sent."""

    first: int
    dtype: str
    columns: int
    position: Position
    body: bytearray


class SeriesSource:
    """The series of an engine. send: sends a message, if a server is connected; clock: monotonic seconds."""

    def __init__(self, session: SessionProtocol, send: Callable[[Message, Buffer], None], clock: Callable[[], float]) -> None:
        self._session, self._send_message, self._clock = session, send, clock
        self._follows: dict[int, Follow] = {}
        self._pending: dict[int, _PendingRows] = {}
        self._sent = 0.0

    def clear(self) -> None:
        """Ends all series: the server has gone."""
        self._follows.clear()
        self._pending.clear()

    def receive(self, message: Follow | Unfollow) -> None:
        """Takes a message."""
        self._pending.pop(message.number, None)
        if isinstance(message, Follow):
            self._follows[message.number] = message
        else:
            self._follows.pop(message.number, None)

    def any_of(self, branches: Sequence[int]) -> bool:
        """True if a series needs single steps of these branches."""
        return any(each.branch in branches for each in self._follows.values())

    def take(self, branches: Sequence[int]) -> None:
        """Reads the values of the step that some branches have finished."""
        for number, each in self._follows.items():
            if each.branch not in branches:
                continue
            position = self._session.position(each.branch)
            along = Along(steps=(position.step, position.step), again=False, region=each.region)
            try:
                head, body = self._session.get(each.branch, MapQuery(name=each.name, chosen=each.cells, packed=True, along=along))
            except SteppeError:  # the route of the series reports the reason
                continue
            if head["missing"]:
                continue
            rows = self._pending.get(number)
            columns = head["shape"][1]
            if rows is not None and (rows.position.step + 1 != position.step or rows.dtype != head["dtype"]):
                self._send(number)
                rows = None
            if rows is None:
                rows = self._pending[number] = _PendingRows(position.step, head["dtype"], columns, position, bytearray())
            rows.position = position
            rows.body += body

    def poll(self, busy: bool) -> None:
        """Sends pending rows. busy: more steps are due."""
        if self._pending and (not busy or self._clock() - self._sent > MOMENT):
            self._sent = self._clock()
            for number in [*self._pending]:
                self._send(number)

    def _send(self, number: int) -> None:
        rows, follow = self._pending.pop(number), self._follows[number]
        self._send_message(SeriesRows(number, follow.branch, rows.first, rows.dtype, rows.columns, rows.position), rows.body)
