"""What an engine shows: one frame of a channel at a time, nothing while nobody watches, and no more than its share of the time of steps."""

from collections.abc import Callable, Sequence
from typing import Any

from steppe.api.query import MapQuery
from steppe.control.engine.frame_source import AGAIN, AT_ONCE, SHARE, WATCHED, FrameSource, at_once
from steppe.control.wire import AcknowledgeFrames, ChannelFrames, Hide, Message, Position, Show
from steppe.errors import NotComputedError


class Engine:
    """A branch that stands at `at`; each frame takes `cost` seconds."""

    def __init__(self, cost: float = 0.0) -> None:
        self.at, self.time, self.cost = Position(0, 0), 0.0, cost
        self.made: list[int] = []  # channels
        self.source = FrameSource(self, self.tell, lambda: self.time, at_once)

    def position(self, branch: int) -> Position:
        return self.at

    def frames(self, branches: Sequence[int], query: MapQuery, bits: int, span: Any) -> tuple[list[Any], Callable[[], bytes]]:
        self.time += self.cost
        return [0.0, 1.0], lambda: bytes(8)

    def tell(self, message: Message, body: Any) -> None:
        assert isinstance(message, ChannelFrames)
        self.made.append(message.channel)

    def watch(self, channel: int = 1, interval: float = 0.0, **words: Any) -> None:
        self.source.receive(Show(channel, [1], MapQuery(**words), 8, None, interval))

    def turn(self, busy: bool = False, steps: int = 1, seconds: float = 0.001) -> int:
        """How many frames an end of a step gives."""
        self.at, self.time, before = Position(self.at.step + steps, 0), self.time + seconds, len(self.made)
        self.source.poll({1}, busy)
        return len(self.made) - before


def test_nothing_is_shown_to_nobody() -> None:
    engine = Engine()
    assert engine.turn() == 0
    engine.watch()
    assert engine.turn() == 1
    engine.source.receive(AcknowledgeFrames(1))
    engine.source.receive(Hide(1))
    assert engine.turn() == 0


def test_a_frame_that_could_not_be_made_is_made_later_without_a_step() -> None:
    engine = Engine()
    engine.watch()
    make, engine.frames = engine.frames, missing  # type: ignore[method-assign]
    assert engine.turn() == 0
    engine.frames = make  # type: ignore[method-assign]
    assert engine.turn(steps=0, seconds=AGAIN / 2) == 0
    assert engine.turn(steps=0, seconds=AGAIN) == 1


def missing(*_: Any) -> Any:
    raise NotComputedError("There is none.")


def test_a_frame_is_made_when_the_last_was_taken_and_the_branch_has_moved() -> None:
    engine = Engine()
    engine.watch()
    assert [engine.turn() for _ in range(3)] == [1, 0, 0]
    engine.source.receive(AcknowledgeFrames(1))
    assert engine.turn() == 1
    engine.source.receive(AcknowledgeFrames(1))
    assert engine.turn(steps=0) == 0
    assert engine.turn() == 1


def test_frames_come_no_faster_than_they_are_wanted() -> None:
    engine = Engine()
    engine.watch(interval=0.1)
    for _ in range(1000):
        engine.turn()
        engine.source.receive(AcknowledgeFrames(1))
    assert len(engine.made) in (10, 11)


def test_frames_take_no_more_than_their_share_of_the_time_of_steps() -> None:
    engine = Engine(cost=0.002)
    engine.watch()
    while engine.time < 10:
        engine.turn(busy=True)
        engine.source.receive(AcknowledgeFrames(1))
    assert 0.5 * SHARE < 0.002 * len(engine.made) / engine.time < 1.05 * SHARE
    before = len(engine.made)
    for _ in range(10):  # while nothing is to be done they cost nobody anything
        engine.turn(busy=False)
        engine.source.receive(AcknowledgeFrames(1))
    assert len(engine.made) == before + 10


def test_a_frame_that_once_took_long_does_not_put_off_the_next() -> None:
    engine = Engine(cost=0.0001)
    engine.watch()
    for number in range(200):
        engine.cost = 0.5 if number == 100 else 0.0001
        engine.turn(busy=True, seconds=0.01)
        engine.source.receive(AcknowledgeFrames(1))
    assert len(engine.made) == 200


def test_pieces_of_steps_are_short_only_where_frames_may_come_so_often() -> None:
    cheap, dear = Engine(cost=0.0001), Engine(cost=0.002)
    for engine in (cheap, dear):
        engine.watch(interval=0.2)
        engine.turn(busy=True)
        assert engine.source.piece == 0
        engine.watch(interval=1 / 60)
        for _ in range(10):
            engine.source.receive(AcknowledgeFrames(1))
            engine.turn(busy=True, seconds=0.1)
    assert cheap.source.piece == WATCHED
    assert abs(dear.source.piece - 0.002 / SHARE) < 1e-6


def test_very_many_channels_have_their_turn_one_after_the_other() -> None:
    engine = Engine(cost=0.002)
    for channel in range(1, 101):
        engine.watch(channel, stride=channel)
    while len(engine.made) < 100:
        begin = engine.time
        engine.turn(busy=True)
        assert engine.time - begin <= AT_ONCE + 0.002 + 0.0011
    assert sorted(engine.made) == [*range(1, 101)]


def test_who_shows_something_else_is_shown_it_at_once() -> None:
    engine = Engine()
    engine.watch(interval=10.0)
    assert engine.turn() == 1
    engine.watch(interval=10.0, name="other")
    assert engine.turn(steps=0) == 1
    engine.source.clear()
    assert engine.turn() == 0


def test_a_frame_under_way_is_dropped_when_its_channel_shows_another_map_or_its_server_has_gone() -> None:
    engine, under_way = Engine(), list[Callable[[], None]]()
    engine.source = FrameSource(engine, engine.tell, lambda: engine.time, under_way.append)
    for anew in (lambda: engine.watch(name="water"), engine.source.clear, lambda: None):
        engine.watch()
        engine.turn()
        anew()
        under_way.pop()()
    assert engine.made == [1], "the last one alone"
