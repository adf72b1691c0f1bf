"""What people watch of one run: a channel for all who watch the same, with one slot, in which the newest frames are.

viewers ── watch ──> channel ── Show ──> engine ── Shown ──> slot, numbered ── each viewer takes it, or the next ──> Taken ──> engine
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from steppe.api.query import MapQuery
from steppe.control.wire import Buffer, Hide, Message, Position, Show, Shown, Taken

FIT = 6  # the member `fit` of a span


class Desk(Protocol):
    """Who knows the branches, and has the line to the engine."""

    def position(self, branch: int) -> Position | None:
        """Where a branch stands, if it can be asked; else it is fetched."""

    def named(self, scenario: str) -> int | None:
        """The branch that a name stands on."""

    def send(self, message: Message, body: Buffer = b"") -> None:
        """Says something to the engine, if there is one."""


class View(NamedTuple):
    """What a channel shows. query: which part of which variable; span: of fixed ends, None for an automatic one."""

    scenarios: tuple[str, ...]
    query: MapQuery
    bits: int
    span: tuple[float, float] | None


@dataclass
class Channel:
    """What all see who watch the same.

    frames: the newest, of each scenario one, and of which branches at which positions; count: of those that there were. viewers: what is
    called when there are others, and how many seconds each wants between two.
    """

    number: int
    view: View
    count: int = 0
    frames: tuple[memoryview, ...] = ()
    branches: list[int] = field(default_factory=list)
    positions: tuple[Position, ...] = ()
    span: list[Any] | None = None
    viewers: dict[Callable[[], None], float] = field(default_factory=dict)
    made: dict[Any, Any] = field(default_factory=dict)
    """What was made of the newest frames, once for all."""
    asked: Show | None = None  # what this engine was told
    interval: float = 0.0  # [s] between frames at least, as who wants most of them
    owed: bool = False  # nobody has taken the newest frames yet


class Channels:
    """Those of one run. What the engine makes is asked only as fast as the fastest viewer takes it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._channels: dict[View, Channel] = {}
        self._numbers: dict[int, Channel] = {}
        self._last = 0
        self.fitted: Callable[[View, Sequence[float]], None] = lambda view, fit: None
        """Is called before viewers are: percentiles of what a channel shows, see `steppe.view.Span.fit`."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self._channels)

    def open(self, view: View, tell: Callable[[], None], interval: float) -> Channel:
        """Begins to watch. tell: is called when there are newer frames; interval: seconds between two that are wanted."""
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
        """Watches no longer."""
        channel.viewers.pop(tell, None)
        if not channel.viewers and self._channels.get(channel.view) is channel:
            del self._channels[channel.view]
            del self._numbers[channel.number]
            if channel.asked:
                self._desk.send(Hide(channel.number))
        elif channel.viewers:
            channel.interval = min(channel.viewers.values())
            self.ask()

    def ask(self) -> None:
        """Tells the engine what is watched, where that is news and the branches stand where people have seen them."""
        for channel in self._numbers.values():
            branches = [self._desk.named(scenario) for scenario in channel.view.scenarios]
            if channel.asked and channel.asked.branches != branches:  # a name stands on another branch, the old one may be over
                self._desk.send(Hide(channel.number))
                channel.asked, channel.owed = None, False
            there = [branch for branch in branches if branch is not None and self._desk.position(branch) is not None]
            interval = channel.interval
            if len(there) == len(branches) and (channel.asked is None or channel.asked.interval != interval):
                channel.asked = Show(channel.number, there, channel.view.query, channel.view.bits, channel.span, interval)
                self._desk.send(channel.asked)

    @property
    def branches(self) -> set[int]:
        """Branches that a viewer watches."""
        names = {scenario for view in self._channels for scenario in view.scenarios}
        return {branch for name in names if (branch := self._desk.named(name)) is not None}

    def hide(self, branch: int) -> None:
        """Shows a branch no more until it stands again where clients have seen it."""
        for channel in self._numbers.values():
            if channel.asked and branch in channel.asked.branches:
                self._desk.send(Hide(channel.number))
                channel.asked, channel.owed = None, False

    def came(self, message: Shown, body: bytearray) -> None:
        """Takes frames; who watches is told. Those that were shown before are not shown again."""
        channel = self._numbers.get(message.channel)
        if channel is None or channel.asked is None or channel.asked.branches != message.branches:
            return
        positions = tuple(message.positions)
        channel.span = message.span
        if (message.branches, positions) == (channel.branches, channel.positions):
            self._desk.send(Taken(channel.number))
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
        """Somebody is sent the newest frames: the engine may make others."""
        if channel.owed:
            channel.owed = False
            self._desk.send(Taken(channel.number))

    def again(self) -> None:
        """There is another engine, or none; spans stay as they are."""
        for channel in self._numbers.values():
            channel.asked, channel.owed = None, False
