"""A viewer of a run: sends it frames and texts, as fast as it wants and reads them, and handles its messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from steppe.api import DROPPED, DROPPED_MAGIC, Said, Stream, numbered
from steppe.api.frame import REPLAYING
from steppe.control import Refused
from steppe.control.server.channels import Channel, View
from steppe.server.live.cursors import Cursors
from steppe.server.live.following import FollowedSeries
from steppe.server.live.line import BINARY, TEXT, ViewerLink, message_of
from steppe.server.live.watched import StreamMap, stream_map
from steppe.server.problems import problem

if TYPE_CHECKING:
    from steppe.api.query import MapQuery
    from steppe.control.server.supervisor import Supervisor
    from steppe.server.context import ServerContext
    from steppe.server.live.feed import Feed

UNACKNOWLEDGED = 2  # frames of a stream, at most, for a client that acknowledges


@dataclass(eq=False, slots=True)
class _Subscription:
    """The subscription of one viewer to a channel. streams: the number of each of its scenarios' streams."""

    channel: Channel
    streams: tuple[int, ...]
    interval: float
    seen: int = 0  # frames of the channel when the viewer got its last
    due: float = 0.0
    owed: int = 0  # the frame that was due while the line was not free
    dropped: int = 0
    told: int = 0  # of those
    acknowledged: int | None = None
    timer: asyncio.TimerHandle | None = None
    tell: Callable[[], None] = field(default=lambda: None)


class Viewer:
    """One viewer of a run.

    Parameters
    ----------
    context, name
        The server, and the run's name in it.
    line
        To the client.
    feed
        What happens to the run.
    who, role
        The viewer.
    """

    def __init__(self, context: ServerContext, name: str, line: ViewerLink, feed: Feed, who: str, role: str) -> None:
        self._context, self._name, self._line, self._feed, self._who, self._role = context, name, line, feed, who, role
        self._run: Supervisor = context.run(name)
        self._loop = asyncio.get_running_loop()
        self._watching: list[_Subscription] = []
        self._streams: dict[int, tuple[_Subscription, Stream, StreamMap]] = {}
        self._greeted, self._told = False, 0
        self._held: Sequence[Stream] | None = None  # the wanted streams, until an engine has described the run
        self._cursors = Cursors(self._run, self._say_if_he_reads)
        self._following = FollowedSeries(context, name, line, self._say)
        line.when_free = self._go_on
        feed.listen(self._tell_news)
        self._told = feed.count
        self._tell_news()
        if not self._greeted:
            line.write(feed.info())

    def close(self) -> None:
        """Ends the viewer."""
        self._line.when_free = lambda: None
        self._feed.leave(self._tell_news)
        self._unwatch()
        self._following.clear()
        del self._cursors, self._following  # which hold this

    # ---- output ----------------------------------------------------------------------------------------------------------------
    def _go_on(self) -> None:
        """The line is free."""
        self._tell_news()
        self._following.tell()
        self._watching = [*self._watching[1:], *self._watching[:1]]  # none of them is always the last
        for each in self._watching:
            self._offer(each)

    def _tell_news(self) -> None:
        if self._feed.over:
            self._line.end(1000, "the run has ended")
        if not self._line.free:
            return
        texts = self._feed.after(self._told)
        if texts is None or not self._greeted:
            hello = self._feed.hello(self._who, self._role, packed=self._line.packed)
            if hello is not None:
                self._greeted, texts = True, []
                self._line.write(hello)
                self._watch_what_is_held()
        for text in texts or ():
            self._line.write(text)
        self._told = self._feed.count

    def _say(self, what: Mapping[str, object]) -> None:
        self._line.write(message_of(msgspec.json.encode(what), TEXT))

    def _say_if_he_reads(self, what: Mapping[str, object]) -> None:
        if self._line.free:
            self._say(what)

    def _offer(self, watching: _Subscription) -> None:
        """Sends the newest frames of a channel, if they are new and due and the line is free."""
        channel = watching.channel
        if watching.seen == channel.count:
            return
        if watching.acknowledged is not None and watching.seen - watching.acknowledged >= UNACKNOWLEDGED:
            return
        if watching.interval > channel.interval and self._loop.time() < watching.due:  # otherwise the engine keeps the interval
            if watching.timer is None:
                watching.timer = self._loop.call_at(watching.due, self._offer_later, watching)
        elif self._line.free:
            self._send(watching)
        elif watching.owed != channel.count:
            watching.dropped += watching.owed > 0
            watching.owed = channel.count
            self._wait(watching)

    def _wait(self, watching: _Subscription) -> None:
        """The next frame is due one interval later; a late frame does not delay the others."""
        now = self._loop.time()
        watching.due = max(watching.due, now - watching.interval) + watching.interval

    def _offer_later(self, watching: _Subscription) -> None:
        watching.timer = None
        self._offer(watching)

    def _send(self, watching: _Subscription) -> None:
        channel, flags = watching.channel, 0 if watching.channel.asked else REPLAYING
        if watching.owed:
            watching.dropped += watching.owed < channel.count
            watching.owed = 0
        if watching.dropped != watching.told:
            watching.told = watching.dropped
            for stream in watching.streams:
                self._line.write(message_of(DROPPED.pack(DROPPED_MAGIC, stream, watching.dropped), BINARY))
        for index, stream in enumerate(watching.streams):
            self._line.write(_bytes_of(channel, index, stream, flags))
        if self._cursors.placed:
            for stream in watching.streams:
                self._cursors.moved(stream)
        watching.seen = channel.count
        if watching.interval > channel.interval:
            self._wait(watching)
        if channel.owed:
            self._run.channels.taken(channel)

    # ---- input -------------------------------------------------------------------------------------------------------------------
    async def hear(self, said: Said) -> None:
        """Takes a message. One that is refused changes nothing, and the viewer gets the reason."""
        try:
            if said.watch is not None and self._run.facts is None and self._run.info()["state"] != "failed":
                self._held = said.watch
            elif said.watch is not None:
                self._watch(said.watch)
            elif said.follow is not None:
                await self._following.set(said.follow)
            elif said.ack is not None:
                self._acknowledge(said.ack, said.stream or 1)
            elif said.cursor is not None:
                self._cursor(said.cursor.stream, said.cursor.cell)
            elif said.ping is not None:
                self._say({"type": "pong", "ping": said.ping})
            else:
                raise Refused("bad-field", "A token is the first message, and only where none came with the request.", position="$.token")
        except Refused as wrong:
            self.refuse(wrong)

    def _watch_what_is_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            try:
                self._watch(held)
            except Refused as wrong:
                self.refuse(wrong)

    def refuse(self, wrong: Refused) -> None:
        """Sends a refusal."""
        body = problem(wrong.code, wrong.detail, f"/api/v1/runs/{self._name}/live", wrong.facts).body
        self._line.write(message_of(b'{"type":"problem","problem":' + body + b"}", TEXT))

    def _watch(self, streams: Sequence[Stream]) -> None:
        numbers = [each.stream for each in streams]
        if len(set(numbers)) < len(numbers):
            twice = next(number for number in numbers if numbers.count(number) > 1)
            raise Refused("bad-field", f"Stream {twice} comes twice. Give each a number of its own.", value=twice, position="$.watch")
        seen = [stream_map(self._context, self._name, each) for each in streams]
        groups: dict[tuple[MapQuery, int, tuple[float, float] | None], dict[str, tuple[Stream, StreamMap]]] = {}
        for stream, view in zip(streams, seen, strict=True):
            group = groups.setdefault((view.query, stream.bits, view.span), {})
            if stream.scenario in group:
                twice = group[stream.scenario][0].stream
                raise Refused(
                    "bad-field", f"Streams {twice} and {stream.stream} show the same. Leave one of them away.", position="$.watch"
                )
            group[stream.scenario] = stream, view
        views = {View(tuple(sorted(group)), *what): group for what, group in groups.items()}
        others, most = self._run.channels.of_others({each.tell for each in self._watching}), self._context.limits.channels
        if len(others | views.keys()) > most:
            text = f"Other viewers watch the run in {len(others)} ways, and it takes {most}. Watch what others do."
            raise Refused("too-busy", text, allowed=most)
        self._unwatch()
        for wanted, group in views.items():
            self._open(wanted, group)
        self._say({"type": "watching", "streams": [self._told_of(stream, view) for stream, view in zip(streams, seen, strict=True)]})
        for each in self._watching:
            self._offer(each)

    def _open(self, view: View, group: Mapping[str, tuple[Stream, StreamMap]]) -> None:
        interval = 1.0 / next(iter(group.values()))[0].rate
        watching = _Subscription(Channel(0, view), tuple(group[name][0].stream for name in view.scenarios), interval)
        watching.tell = partial(self._offer, watching)
        watching.channel = channel = self._run.channels.open(view, watching.tell, interval)
        watching.seen = channel.count if not channel.frames else channel.count - 1
        self._watching.append(watching)
        for stream, seen in group.values():
            self._streams[stream.stream] = watching, stream, seen

    def _told_of(self, stream: Stream, seen: StreamMap) -> dict[str, object]:
        watching = self._streams[stream.stream][0]
        chosen = {"stream": stream.stream, "bits": stream.bits, "range": stream.range, "rate": stream.rate}
        return {**seen.told, **chosen, "pair": list(watching.streams)}

    def _unwatch(self) -> None:
        for each in self._watching:
            self._run.channels.close(each.channel, each.tell)
            each.tell = lambda: None  # it holds itself otherwise
            if each.timer is not None:
                each.timer.cancel()
        self._watching, self._streams = [], {}
        self._cursors.clear()

    def _known(self, stream: int) -> tuple[_Subscription, Stream, StreamMap]:
        found = self._streams.get(stream)
        if found is None:
            raise Refused("bad-field", f"Stream {stream} is not watched.", value=stream, allowed=[*self._streams], position="$.stream")
        return found

    def _acknowledge(self, number: int, stream: int) -> None:
        watching = self._known(stream)[0]
        watching.acknowledged = max(watching.acknowledged or 0, min(number, watching.seen))
        self._offer(watching)

    def _cursor(self, stream: int, cell: int | None) -> None:
        _, wanted, seen = self._known(stream)
        known = self._context.known(self._name)
        self._cursors.set(stream, wanted.scenario, seen.query.name, known.grid, cell)


def _bytes_of(channel: Channel, index: int, stream: int, flags: int) -> bytes:
    """A frame as bytes of a message; one object for all viewers that give a stream the same number."""
    key = index, stream, flags
    if key not in channel.made:
        channel.made[key] = message_of(numbered(channel.frames[index], stream, channel.count & 0xFFFFFFFF, flags), BINARY)
    return channel.made[key]
