"""What an engine tells of cells and regions that are followed: the values of every step, gathered for a moment before they are sent.

Follow ──> each step made alone ── values ──> due ── after `MOMENT`, or at rest ──> Followed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steppe.api.query import Along, MapQuery
from steppe.control.stage import Stage
from steppe.control.wire import Buffer, Follow, Followed, Message, Position, Unfollow
from steppe.errors import SteppeError

MOMENT = 0.1  # [s] between two messages of one number, at least


@dataclass
class _Due:
    """Values of steps side by side that have not been sent."""

    first: int
    dtype: str
    columns: int
    position: Position
    body: bytearray


class Following:
    """Those of an engine. tell: sends a message, if anybody listens; clock: seconds that only grow."""

    def __init__(self, stage: Stage, tell: Callable[[Message, Buffer], None], clock: Callable[[], float]) -> None:
        self._stage, self._tell, self._clock = stage, tell, clock
        self._follows: dict[int, Follow] = {}
        self._due: dict[int, _Due] = {}
        self._sent = 0.0

    def clear(self) -> None:
        """Who followed has gone."""
        self._follows.clear()
        self._due.clear()

    def hear(self, message: Follow | Unfollow) -> None:
        """Takes a message."""
        self._due.pop(message.number, None)
        if isinstance(message, Follow):
            self._follows[message.number] = message
        else:
            self._follows.pop(message.number, None)

    def any_of(self, branches: Sequence[int]) -> bool:
        """Whether something of these branches is followed: their steps are made one by one then."""
        return any(each.branch in branches for each in self._follows.values())

    def take(self, branches: Sequence[int]) -> None:
        """Takes the values of the step that some branches have made."""
        for number, each in self._follows.items():
            if each.branch not in branches:
                continue
            position = self._stage.position(each.branch)
            along = Along(steps=(position.step, position.step), again=False, region=each.region)
            try:
                head, body = self._stage.get(each.branch, MapQuery(name=each.name, chosen=each.cells, packed=True, along=along))
            except SteppeError:  # who asks for it is told why
                continue
            if head["missing"]:
                continue
            due = self._due.get(number)
            columns = head["shape"][1]
            if due is not None and (due.position.step + 1 != position.step or due.dtype != head["dtype"]):
                self._send(number)
                due = None
            if due is None:
                due = self._due[number] = _Due(position.step, head["dtype"], columns, position, bytearray())
            due.position = position
            due.body += body

    def turn(self, busy: bool) -> None:
        """Sends what is due. busy: there are more steps to be made."""
        if self._due and (not busy or self._clock() - self._sent > MOMENT):
            self._sent = self._clock()
            for number in [*self._due]:
                self._send(number)

    def _send(self, number: int) -> None:
        due, follow = self._due.pop(number), self._follows[number]
        self._tell(Followed(number, follow.branch, due.first, due.dtype, due.columns, due.position), due.body)
