"""What an engine shows to people who watch: frames at ends of steps, of each channel one at a time, and none while nobody watches.

Show ──> free ── the branches have moved, the interval is over ──> a frame ── Taken ──> free
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from dataclasses import dataclass
from statistics import median
from typing import Any

from steppe.control.stage import Stage
from steppe.control.wire import Buffer, Hide, Message, Position, Show, Shown, Taken
from steppe.errors import SteppeError
from steppe.failpoint import reach

QUICK, WATCHED = 0.05, 1 / 30  # [s] between frames of people who watch closely, and that a piece of steps then takes: short ones cost more
SHARE, AT_ONCE = 0.025, 0.005  # of the stepper's time that frames may take from steps, and [s] at one end of a step

Behind = Callable[[Callable[[], None]], None]
"""Has something done, soon, in the order in which it is told."""


def at_once(work: Callable[[], None]) -> None:
    """Does it now."""
    work()


@dataclass
class _Channel:
    show: Show
    span: list[Any] | None
    free: bool = True  # the last frame was taken
    due: float = 0.0  # when the next one may be made
    shown: tuple[Position, ...] = ()  # where the branches stood in the last one


class Showing:
    """The channels of an engine.

    Parameters
    ----------
    stage
        What makes frames.
    tell
        Sends a message, if anybody listens.
    clock
        Seconds that only grow.
    behind
        Does what need not keep the stepper: joining and sending.
    spent
        Seconds of a processor that the stepper has had; default: the clock.
    """

    def __init__(
        self,
        stage: Stage,
        tell: Callable[[Message, Buffer], None],
        clock: Callable[[], float],
        behind: Behind,
        spent: Callable[[], float] | None = None,
    ) -> None:
        self._stage, self._tell, self._clock, self._behind, self._spent = stage, tell, clock, behind, spent or clock
        self._channels: dict[int, _Channel] = {}
        self._costs = deque((0.0, 0.0, 0.0), maxlen=3)  # [s] of ends of steps with frames; what once took long says nothing of the next
        self._affordable = 0.0  # of what is spent: from then on there is time for frames while steps are made

    @property
    def looks(self) -> float:
        """Seconds after which somebody wants to see the next steps, 0 where pieces of steps are short enough by themselves."""
        return WATCHED if any(each.show.interval < QUICK for each in self._channels.values()) else 0.0

    def clear(self) -> None:
        """Who watched has gone."""
        self._channels.clear()

    def hear(self, message: Show | Hide | Taken) -> None:
        """Takes a message."""
        former = self._channels.get(message.channel)
        match message:
            case Show():
                same = former is not None and former.show.branches == message.branches and former.show.query == message.query
                if former is not None and same:
                    former.show, former.due = message, min(former.due, self._clock() + message.interval)
                else:
                    self._channels[message.channel] = _Channel(message, message.span)
            case Hide(channel):
                self._channels.pop(channel, None)
            case Taken() if former is not None:
                former.free = True

    def turn(self, loaded: Container[int], busy: bool) -> None:
        """Makes the frames that are due, of branches that are loaded. busy: there are steps to be made, and frames may not take much."""
        if not self._channels:
            return
        now, begin, made = self._clock(), self._spent(), False
        if busy and begin < self._affordable:
            return
        for number, each in [*self._channels.items()]:
            branches = each.show.branches
            if not each.free or now < each.due or not all(branch in loaded for branch in branches):
                continue
            positions = tuple(self._stage.position(branch) for branch in branches)
            if positions != each.shown:
                each.shown, made = positions, True
                self._show(number, each, now)
                self._channels[number] = self._channels.pop(number)  # behind those that have not had their turn
            if busy and self._clock() - now > AT_ONCE:
                break
        if made:
            self._costs.append(self._spent() - begin)
            self._affordable = begin + median(self._costs) / SHARE

    def _show(self, number: int, channel: _Channel, now: float) -> None:
        show = channel.show
        try:
            channel.span, join = self._stage.frames(show.branches, show.query, show.bits, channel.span)
        except SteppeError:  # a diagnostic of a step that is not at hand
            return
        assert reach("slot.filled")
        channel.free, channel.due = False, max(channel.due, now - show.interval) + show.interval
        message = Shown(number, show.branches, list(channel.shown), channel.span)
        self._behind(lambda: self._send(message, join))

    def _send(self, message: Shown, join: Callable[[], Buffer]) -> None:
        self._tell(message, join())
        assert reach("frame.sent")
