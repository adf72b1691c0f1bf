"""What a server and an engine say to each other: a 16-byte prefix, a MessagePack header, raw bytes.

    4s "STE1" | u32 bytes of the header | u64 bytes of the body | header | body          (little-endian)

The header is an array whose first item is the message's name. Both lengths are checked before anything is allocated. What is said twice
does no harm: every message is absolute or carries the `seq` of its command.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from steppe.api.query import MapQuery

PROTOCOL = 1
PREFIX = struct.Struct("<4sIQ")
MAGIC = b"STE1"
HEADER_LIMIT, BODY_LIMIT = 64 << 10, 1 << 30
OPEN_END = 1 << 62  # step and seq of a path's last leg: it goes on

Buffer = bytes | bytearray | memoryview


class Position(NamedTuple):
    """Where a state stands; they compare as tuples.

    step: steps done; seq: place of the last action that happened at that step, 0 for none.
    """

    step: int
    seq: int


BEGINNING = Position(0, 0)  # of the initial state
FULL = "no-space"  # the code of what has no room on the disk


class Leg(NamedTuple):
    """A part of the way to a state: along `branch` up to and with the position (step, seq)."""

    branch: int
    step: int
    seq: int


class Saved(NamedTuple):
    """A durable checkpoint of a branch. name: of its folder."""

    name: str
    position: Position
    bytes: int


class Outcome(NamedTuple):
    """What an action did. detail: what it changed, or `code` and `text` of why not; digest: of the state after it."""

    ok: bool
    detail: dict[str, Any]
    digest: int


class Message(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Base of all messages; the tag is the class's name. Fields may be added at the end."""


# ---- server to engine -------------------------------------------------------------------------------------------------------------------
class Greet(Message, frozen=True):
    """First on every connection. nonce: hex, to be proved with."""

    protocol: int
    nonce: str


class Welcome(Message, frozen=True):
    """The engine is the one that is waited for. proof: of the server, on the engine's nonce."""

    proof: str


class Load(Message, frozen=True):
    """Make a branch stand as near as possible before the end of its path; answered by `Ready`.

    begin: states before it are of no use, since nobody knows any more what happened between.
    """

    branch: int
    path: list[Leg]
    begin: Position = BEGINNING


class Target(Message, frozen=True):
    """Step a branch on until here; never less than what was said before. speed: steps a second at most, 0 for as fast as can be."""

    branch: int
    step: int
    speed: float = 0.0


class Action(Message, frozen=True):
    """A command that happens at a step. at_step None: name one from `earliest` on (`Boundary`) and wait there for its `Pin`.

    place: in the order of all actions that have a step; 0 before it has one.
    """

    seq: int
    branch: int
    place: int
    at_step: int | None
    earliest: int
    kind: str  # one of `orders.ACTIONS`
    arguments: dict[str, Any]


class Pin(Message, frozen=True):
    """The journal holds it: action `seq` happens at this step; -1: never."""

    seq: int
    branch: int
    step: int
    place: int


class Withdraw(Message, frozen=True):
    """Forget action `seq` if it has not happened; answered by `Withdrawn`."""

    seq: int
    branch: int


class Noted(Message, frozen=True):
    """The journal holds the outcome of `seq` on a branch: forget it."""

    seq: int
    branch: int


class Heeded(Message, frozen=True):
    """The journal holds what a rule did: forget it. stop: the branch goes no farther than this step."""

    branch: int
    step: int
    source: str
    stop: bool


class Get(Message, frozen=True):
    """Values or an image; answered by `Data`, `Same` or `Refused`. have: the position of what the server has kept of it.

    The body is the member `chosen` of the query, which a header would be too short for.
    """

    id: int
    branch: int
    query: MapQuery
    have: Position | None


class Show(Message, frozen=True):
    """People watch: make frames of some branches at ends of steps, each once the last was taken; replaces the former of the same channel.

    query: which part of which variable. span: of the frames before, or a fixed one; None: find one. interval: seconds between two frames
    at least.
    """

    channel: int
    branches: list[int]
    query: MapQuery
    bits: int
    span: list[Any] | None
    interval: float


class Hide(Message, frozen=True):
    """Nobody watches a channel any more."""

    channel: int


class Taken(Message, frozen=True):
    """Somebody was sent the last frame of a channel: make another one."""

    channel: int


class Follow(Message, frozen=True):
    """Tell what a variable is in some cells after every step of a branch from now on. The body is the cells: packed numbers, uint32.

    region: their mean by area, least and greatest value instead of each. Steps are made one by one meanwhile.
    """

    number: int
    branch: int
    name: str
    region: bool
    cells: bytes = b""


class Unfollow(Message, frozen=True):
    """Nobody follows a number any more."""

    number: int


class Drop(Message, frozen=True):
    """Nobody needs this branch for now."""

    branch: int


class Leave(Message, frozen=True):
    """Keep what there is and end; `keep` False: end at once, another engine has taken over."""

    keep: bool


# ---- engine to server -------------------------------------------------------------------------------------------------------------------
class Hello(Message, frozen=True):
    """Answers `Greet`. epoch: which start of an engine this is; proof: on the server's nonce and the epoch."""

    protocol: int
    epoch: int
    proof: str
    nonce: str
    pid: int
    host: str
    ranks: int


class Described(Message, frozen=True):
    """What the run is: declarations, grid, clock, parameters; the last of what an engine says when it has called.

    The body is JSON, as `Stage.describe` gives it.
    """


class Ready(Message, frozen=True):
    """A branch stands here."""

    branch: int
    position: Position


class Boundary(Message, frozen=True):
    """Action `seq` can happen at this step; the branch will not pass it before the `Pin`."""

    seq: int
    branch: int
    step: int


class Applied(Message, frozen=True):
    """An action happened; said again on every connection until it is `Noted`."""

    seq: int
    branch: int
    step: int
    outcome: Outcome


class Fired(Message, frozen=True):
    """An event or a trigger did something; said again on every connection until it is `Heeded`. After a pause a branch waits for that.

    step: steps done when it can be seen; source: "trigger:7"; kind: pause, message, image, event or warning.
    """

    branch: int
    step: int
    source: str
    kind: str
    text: str


class Withdrawn(Message, frozen=True):
    """Action `seq` will not happen (`gone`), unless the journal knows that it has; or its `Applied` is on its way."""

    seq: int
    gone: bool


class Kept(Message, frozen=True):
    """A checkpoint of a branch has become durable."""

    branch: int
    saved: Saved


class Failed(Message, frozen=True):
    """A branch cannot go on: its next step fails, and will fail again.

    With the code `FULL` it waits for room on the disk, and the next `Load` of it tries again. gone: its state is not in memory any more.
    """

    branch: int
    position: Position
    code: str
    text: str
    gone: bool = False


class Data(Message, frozen=True):
    """The answer to a `Get`; the body is the array, or the image."""

    id: int
    position: Position
    head: dict[str, Any]


class Same(Message, frozen=True):
    """The answer to a `Get`: the branch still stands where it stood, what was kept is right."""

    id: int


class Refused(Message, frozen=True):
    """The answer to a `Get` that cannot be met; nothing has changed."""

    id: int
    code: str
    text: str
    facts: dict[str, Any]


class Shown(Message, frozen=True):
    """Frames of a channel, one of each branch at its position; the body is all of them, one behind the other. span: theirs."""

    channel: int
    branches: list[int]
    positions: list[Position]
    span: list[Any]


class Followed(Message, frozen=True):
    """Values of some steps side by side, from `first` on; the body is (steps, values). position: where the branch stands."""

    number: int
    branch: int
    first: int
    dtype: str
    columns: int
    position: Position


class Ended(Message, frozen=True):
    """The last message of an engine that ends with an error. code, text: of the error; final: each engine after it would meet the same."""

    code: str
    text: str
    final: bool


class Busy(Message, frozen=True):
    """No beat may come for some seconds, and all is well."""

    what: str
    limit: float


class Beat(Message, frozen=True):
    """Every 100 ms, and when an engine comes to rest: where each branch stands.

    kept: the first step from which on it can be shown again within about a second, of those for which that has changed.
    """

    positions: dict[int, Position]
    kept: dict[int, int] = {}


class News(Message, frozen=True):
    """Something that people may want to read. kind: note or warning."""

    branch: int
    kind: str
    text: str


Watching = Show | Hide | Taken | Follow | Unfollow
ToEngine = Greet | Welcome | Load | Target | Action | Pin | Withdraw | Noted | Heeded | Get | Watching | Drop | Leave
FromStage = Ready | Boundary | Applied | Fired | Withdrawn | Kept | Failed | Data | Same | Refused | Shown | Followed
ToServer = Hello | Described | FromStage | Ended | Busy | Beat | News | Leave

_encoder = msgspec.msgpack.Encoder()
_decode_to_engine = msgspec.msgpack.Decoder(ToEngine).decode
_decode_to_server = msgspec.msgpack.Decoder(ToServer).decode


class BadFrame(Exception):
    """The bytes are no frame of this protocol; the connection is of no use any more."""


def following(follow: Follow) -> tuple[Follow, bytes]:
    """What is followed as it travels: its cells are the body."""
    return replace(follow, cells=b""), follow.cells


def asking(get: Get) -> tuple[Get, bytes]:
    """A question as it travels: its cells are the body."""
    cells = get.query.chosen
    return (replace(get, query=replace(get.query, chosen=b"")) if cells else get), cells


def asked(get: Get | Follow, body: Buffer) -> Get | Follow:
    """A question, or what is followed, that has travelled."""
    if isinstance(get, Follow):
        return replace(get, cells=bytes(body))
    return replace(get, query=replace(get.query, chosen=bytes(body))) if body else get


def frame(message: Message, body: Buffer = b"") -> list[Buffer]:
    """A message as buffers to be sent one after the other."""
    header = _encoder.encode(message)
    if len(header) > HEADER_LIMIT:
        raise BadFrame(f"The header of a {type(message).__name__} has {len(header):,} bytes; {HEADER_LIMIT:,} are allowed.")
    head = PREFIX.pack(MAGIC, len(header), memoryview(body).nbytes) + header
    return [head, body] if memoryview(body).nbytes else [head]


class FrameReader:
    """Takes bytes as they come, in pieces of any length, into the buffers where they stay.

    Ask `space` for where the next bytes go, and tell `filled` how many came; it gives the message when it is whole.

    Parameters
    ----------
    at_engine
        Whether this is the engine's end.
    body_limit
        Bytes that a body may have; the reader of someone who has not proved who he is takes none.
    """

    def __init__(self, at_engine: bool, body_limit: int = BODY_LIMIT) -> None:
        self._decode = _decode_to_engine if at_engine else _decode_to_server
        self.body_limit = body_limit
        self._stage, self._buffer, self._count = 0, bytearray(PREFIX.size), 0
        self._body_bytes = 0
        self._message: Any = None

    def space(self) -> memoryview:
        """Where the next bytes go; never empty."""
        return memoryview(self._buffer)[self._count :]

    def filled(self, count: int) -> tuple[Any, bytearray] | None:
        """Takes the next `count` bytes of `space`; the message and its body when they are whole.

        Raises
        ------
        BadFrame
            The bytes are no frame, or a message that the other end never says.
        """
        self._count += count
        while self._count == len(self._buffer):
            if self._stage == 0:
                magic, header, body = PREFIX.unpack(self._buffer)
                if magic != MAGIC or not 0 < header <= HEADER_LIMIT or body > self.body_limit:
                    raise BadFrame(f"No frame of an engine: it begins with {bytes(magic)!r}, header {header:,}, body {body:,} bytes.")
                self._body_bytes = body
                self._next(1, header)
            elif self._stage == 1:
                try:
                    self._message = self._decode(self._buffer)
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    raise BadFrame(f"A header that is no message: {error}") from None
                self._next(2, self._body_bytes)
            if self._stage == 2 and self._count == len(self._buffer):
                found = self._message, self._buffer
                self._next(0, PREFIX.size)
                return found
        return None

    def _next(self, stage: int, size: int) -> None:
        self._stage, self._buffer, self._count = stage, bytearray(size), 0
