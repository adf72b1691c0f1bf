"""Series of cells and regions: the values after every step, collected for a moment and sent together.

Follow ──> single steps ── values ──> pending rows ── after `MOMENT`, or at rest ──> SeriesRows
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from steppe.api.query import Along, MapQuery
from steppe.control.engine.session_protocol import SessionProtocol
from steppe.control.wire import Buffer, Follow, Message, SeriesRows, Unfollow
from steppe.errors import SteppeError

MOMENT = 0.1  # [s] between two messages of one number, at least


class SeriesSource:
    """The series of an engine. send: sends a message, if a server is connected; clock: monotonic seconds."""

    def __init__(self, session: SessionProtocol, send: Callable[[Message, Buffer], None], clock: Callable[[], float]) -> None:
        self._session, self._send_message, self._clock = session, send, clock
        self._follows: dict[int, Follow] = {}
        self._pending: dict[int, tuple[SeriesRows, bytearray]] = {}  # values of consecutive steps that have not been sent
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
            message, rows = self._pending.get(number, (None, bytearray()))
            if message and (message.position.step + 1 != position.step or message.dtype != head["dtype"]):
                self._send(number)
                message, rows = None, bytearray()
            message = message or SeriesRows(number, each.branch, position.step, head["dtype"], head["shape"][1], position)
            rows += body
            self._pending[number] = replace(message, position=position), rows

    def poll(self, busy: bool) -> None:
        """Sends pending rows. busy: more steps are due."""
        if self._pending and (not busy or self._clock() - self._sent > MOMENT):
            self._sent = self._clock()
            for number in [*self._pending]:
                self._send(number)

    def _send(self, number: int) -> None:
        self._send_message(*self._pending.pop(number))
