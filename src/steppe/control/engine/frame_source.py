"""Frames for viewers, made at ends of steps: one at a time for each channel, and none without viewers.

Show ──> free ── the branches have moved, the interval is over ──> a frame ── AcknowledgeFrames ──> free
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from statistics import median

from steppe.control.engine.session_protocol import SessionProtocol
from steppe.control.wire import AcknowledgeFrames, Buffer, ChannelFrames, Hide, Message, Position, Show
from steppe.errors import SteppeError
from steppe.failpoint import reach

QUICK, WATCHED = 0.05, 1 / 30  # [s] interval below which pieces of steps become short, and how short: shorter ones cost more
AGAIN = 0.5  # [s] after which a frame that could not be made is tried again
SHARE, AT_ONCE = 0.025, 0.005  # of the stepping thread's time that frames may take, and [s] at one end of a step

Behind = Callable[[Callable[[], None]], None]
"""Runs work later, in the order of the calls."""


def at_once(work: Callable[[], None]) -> None:
    """Runs work in the calling thread."""
    work()


@dataclass
class _Channel:
    show: Show
    span: list[object] | None
    free: bool = True  # the last frame was taken
    due: float = 0.0  # time of the next frame
    shown: tuple[Position, ...] = ()  # positions of the branches in the last frame


class FrameSource:
    """The channels of an engine.

    Parameters
    ----------
    session
        Makes the frames.
    send
        Sends a message, if a server is connected.
    clock
        Monotonic seconds.
    behind
        Runs work beside the stepping thread: joining and sending.
    spent
        Processor seconds of the stepping thread; default: the clock.
    """

    def __init__(
        self,
        session: SessionProtocol,
        send: Callable[[Message, Buffer], None],
        clock: Callable[[], float],
        behind: Behind,
        spent: Callable[[], float] | None = None,
    ) -> None:
        self._session, self._send_message, self._clock, self._behind, self._spent = session, send, clock, behind, spent or clock
        self._channels: dict[int, _Channel] = {}
        self._costs = deque((0.0, 0.0, 0.0), maxlen=3)  # [s] of ends of steps with frames; their median ignores an outlier
        self._affordable = 0.0  # processor time from which on frames may interrupt steps again

    @property
    def piece(self) -> float:
        """Seconds of a piece of steps that the viewers want; 0: the default piece is short enough.

        Not shorter than the time between two frames that their share allows: what a short piece costs more would show nothing.
        """
        quick = any(each.show.interval < QUICK for each in self._channels.values())
        return max(WATCHED, median(self._costs) / SHARE) if quick else 0.0

    def clear(self) -> None:
        """Removes all channels: the server has gone."""
        self._channels.clear()

    def receive(self, message: Show | Hide | AcknowledgeFrames) -> None:
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
            case AcknowledgeFrames() if former is not None:
                former.free = True

    def poll(self, loaded: Container[int], busy: bool) -> None:
        """Makes the frames that are due, of loaded branches. busy: steps are due, too, and frames may only take their share."""
        if not self._channels:
            return
        now, begin, made = self._clock(), self._spent(), False
        if busy and begin < self._affordable:
            return
        for number, each in [*self._channels.items()]:
            branches = each.show.branches
            if not each.free or now < each.due or not all(branch in loaded for branch in branches):
                continue
            positions = tuple(self._session.position(branch) for branch in branches)
            if positions != each.shown:
                made = True
                if self._show(number, each, positions, now):
                    each.shown = positions
                else:
                    each.due = now + AGAIN
                self._channels[number] = self._channels.pop(number)  # to the end of the queue
            if busy and self._clock() - now > AT_ONCE:
                break
        if made:
            self._costs.append(self._spent() - begin)
            self._affordable = begin + median(self._costs) / SHARE

    def _show(self, number: int, channel: _Channel, positions: Sequence[Position], now: float) -> bool:
        """Makes the frame of a channel; False: there is none at these positions yet."""
        show = channel.show
        try:
            channel.span, join = self._session.frames(show.branches, show.query, show.bits, channel.span)
        except SteppeError:  # a diagnostic of a step that is not in memory
            return False
        assert reach("slot.filled")
        channel.free, channel.due = False, max(channel.due, now - show.interval) + show.interval
        message = ChannelFrames(number, show.branches, list(positions), channel.span)
        self._behind(lambda: self._send(channel, message, join))
        return True

    def _send(self, channel: _Channel, message: ChannelFrames, join: Callable[[], Buffer]) -> None:
        body = join()
        if self._channels.get(message.channel) is channel:  # the next server may give its number to another map
            self._send_message(message, body)
            assert reach("frame.sent")
