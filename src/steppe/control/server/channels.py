"""Live maps of one run. Viewers of the same map share one channel, with one slot for the newest frames.

viewers ── open ──> channel ── Show ──> engine ── ChannelFrames ──> slot, numbered ── each viewer takes this one or the next
engine <── AcknowledgeFrames ── channel <── the first viewer has taken it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from steppe.api.query import MapQuery
from steppe.control.wire import AcknowledgeFrames, ChannelFrames, Hide, Position, Show

if TYPE_CHECKING:
    from steppe.control.server.supervisor import Supervisor

FIT = 6  # the member `fit` of a span


class View(NamedTuple):
    """The map of a channel. query: the variable and its part; span: fixed limits of the colours, None for automatic ones."""

    scenarios: tuple[str, ...]
    query: MapQuery
    bits: int
    span: tuple[float, float] | None


@dataclass
class Channel:
    """The newest frames of one view.

    frames: one of each scenario, with the branches and their positions; count: frames so far. viewers: the function to call when there are
    newer frames, and the seconds that each viewer wants between two.
    """

    number: int
    view: View
    count: int = 0
    frames: tuple[memoryview, ...] = ()
    branches: list[int] = field(default_factory=list)
    positions: tuple[Position, ...] = ()
    span: list[object] | None = None
    viewers: dict[Callable[[], None], float] = field(default_factory=dict)
    made: dict[tuple[int, int, int], bytes] = field(default_factory=dict)
    """Values derived from the newest frames, shared by the viewers."""
    asked: Show | None = None  # as sent to the connected engine
    interval: float = 0.0  # [s] between frames at least: the least of all viewers
    owed: bool = False  # no viewer has taken the newest frames


class Channels:
    """The channels of one run. The engine makes frames only as fast as the fastest viewer takes them."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._channels: dict[View, Channel] = {}
        self._numbers: dict[int, Channel] = {}
        self._last = 0
        self.fitted: Callable[[View, Sequence[float]], None] = lambda view, fit: None
        """Called before the viewers, with the percentiles of a frame; see `steppe.view.Span.fit`."""

    def of_others(self, tells: Set[Callable[[], None]]) -> set[View]:
        """The views that viewers beside these watch."""
        return {view for view, channel in self._channels.items() if channel.viewers.keys() - tells}

    def open(self, view: View, tell: Callable[[], None], interval: float) -> Channel:
        """Adds a viewer. tell: called when there are newer frames; interval: least seconds between two."""
        channel = self._channels.get(view)
        if channel is None:
            self._last += 1
            channel = self._channels[view] = self._numbers[self._last] = Channel(self._last, view)
            channel.span = [*view.span, 0, 0.0, 0.0, True] if view.span else None
        channel.viewers[tell] = interval
        channel.interval = min(channel.viewers.values())
        self.ask()
        return channel

    def close(self, channel: Channel, tell: Callable[[], None]) -> None:
        """Removes a viewer."""
        channel.viewers.pop(tell, None)
        if not channel.viewers and self._channels.get(channel.view) is channel:
            del self._channels[channel.view]
            del self._numbers[channel.number]
            if channel.asked:
                self._supervisor.send(Hide(channel.number))
        elif channel.viewers:
            channel.interval = min(channel.viewers.values())
            self.ask()

    def ask(self) -> None:
        """Sends new and changed channels to the engine, if their branches have caught up with what clients have seen."""
        for channel in self._numbers.values():
            branches = [self._supervisor.named(scenario) for scenario in channel.view.scenarios]
            if channel.asked and channel.asked.branches != branches:  # a rewind has given a scenario another branch
                self._supervisor.send(Hide(channel.number))
                channel.asked, channel.owed = None, False
            there = [branch for branch in branches if branch is not None and self._supervisor.position(branch) is not None]
            interval = channel.interval
            if len(there) == len(branches) and (channel.asked is None or channel.asked.interval != interval):
                channel.asked = Show(channel.number, there, channel.view.query, channel.view.bits, channel.span, interval)
                self._supervisor.send(channel.asked)

    @property
    def branches(self) -> set[int]:
        """The branches with a viewer."""
        names = {scenario for view in self._channels for scenario in view.scenarios}
        return {branch for name in names if (branch := self._supervisor.named(name)) is not None}

    def hide(self, branch: int) -> None:
        """Ends the frames of a branch until it has caught up again with what clients have seen."""
        for channel in self._numbers.values():
            if channel.asked and branch in channel.asked.branches:
                self._supervisor.send(Hide(channel.number))
                channel.asked, channel.owed = None, False

    def came(self, message: ChannelFrames, body: bytearray) -> None:
        """Stores new frames and calls the viewers. A repeated frame is only acknowledged."""
        channel = self._numbers.get(message.channel)
        if channel is None or channel.asked is None or channel.asked.branches != message.branches:
            return
        positions = tuple(message.positions)
        channel.span = message.span
        if (message.branches, positions) == (channel.branches, channel.positions):
            self._supervisor.send(AcknowledgeFrames(channel.number))
            return
        size = len(body) // len(positions)
        channel.frames = tuple(memoryview(body)[i * size : (i + 1) * size] for i in range(len(positions)))
        channel.branches, channel.positions, channel.made, channel.owed = message.branches, positions, {}, True
        channel.count += 1
        if len(message.span) > FIT and message.span[FIT] and channel.view.span is None:
            self.fitted(channel.view, message.span[FIT])
        for tell in [*channel.viewers]:
            tell()

    def taken(self, channel: Channel) -> None:
        """Acknowledges the newest frames: a viewer was sent them, the engine may make the next."""
        if channel.owed:
            channel.owed = False
            self._supervisor.send(AcknowledgeFrames(channel.number))

    def reset(self) -> None:
        """Discards what the engine knew: it is gone, or another one has connected. Spans stay."""
        for channel in self._numbers.values():
            channel.asked, channel.owed = None, False
