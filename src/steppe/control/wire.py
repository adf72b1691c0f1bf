"""The messages between a server and an engine; `framing` turns them into bytes.

A repeated message does no harm: every message is absolute or carries the `seq` of its command. A tag is the name under which a message
travels. Tags stay as they are, so that a new server understands an engine that outlived the old one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from steppe.api.query import MapQuery

PROTOCOL = 2
OPEN_END = 1 << 62  # step and seq of the last leg of an open path

Buffer = bytes | bytearray | memoryview


class Position(NamedTuple):
    """The position of a state; positions compare as tuples.

    step: steps done; seq: place of the last action at that step, 0 for none.
    """

    step: int
    seq: int


BEGINNING = Position(0, 0)  # of the initial state
FULL = "no-space"  # error code of a full disk


class Leg(NamedTuple):
    """A part of the path to a state: along `branch` up to and including the position (step, seq)."""

    branch: int
    step: int
    seq: int


class SavedCheckpoint(NamedTuple):
    """A durable checkpoint of a branch. name: of its folder."""

    name: str
    position: Position
    bytes: int


class Outcome(NamedTuple):
    """The result of an action. detail: the change, or `code` and `text` of the error; digest: of the state after it."""

    ok: bool
    detail: dict[str, Any]
    digest: int


class Message(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Base of all messages. New fields go to the end, with a default."""


# ---- server to engine -------------------------------------------------------------------------------------------------------------------
class Greet(Message, frozen=True):
    """The first message of every connection. nonce: hex; the engine proves on it that it knows the secret."""

    protocol: int
    nonce: str


class Welcome(Message, frozen=True):
    """Accepts the engine. proof: of the server, on the engine's nonce."""

    proof: str


class Load(Message, frozen=True):
    """Loads a branch at the best known position before the end of its path; answered by `Ready`.

    begin: states before this position cannot be used, since the journal no longer holds the actions after them.
    """

    branch: int
    path: list[Leg]
    begin: Position = BEGINNING


class Target(Message, frozen=True):
    """Steps a branch up to `step`, which never decreases. speed: most steps a second, 0 for no limit."""

    branch: int
    step: int
    speed: float = 0.0


class BranchAction(Message, frozen=True, tag="Action"):
    """A command with an effect at a step. at_step None: name a step from `earliest` on (`Boundary`) and wait there for the `Pin`.

    place: rank of this action among all actions that have a step; 0 before it has one.
    """

    seq: int
    branch: int
    place: int
    at_step: int | None
    earliest: int
    kind: str  # one of `orders.ACTIONS`
    arguments: dict[str, Any]


class Pin(Message, frozen=True):
    """Action `seq` happens at this step, as the journal holds; -1: never."""

    seq: int
    branch: int
    step: int
    place: int


class Withdraw(Message, frozen=True):
    """Cancels action `seq` if it has not happened; answered by `Withdrawal`."""

    seq: int
    branch: int


class AcknowledgeOutcome(Message, frozen=True, tag="Noted"):
    """The journal holds the outcome of `seq` on a branch; the engine discards its copy."""

    seq: int
    branch: int


class AcknowledgeRule(Message, frozen=True, tag="Heeded"):
    """The journal holds the effect of a rule; the engine discards its copy. stop: the branch does not pass this step."""

    branch: int
    step: int
    source: str
    stop: bool


class Get(Message, frozen=True):
    """Asks for values or an image; answered by `Data`, `Same` or `QueryRefusal`. have: the position of the server's cached answer.

    The body is the member `chosen` of the query, which may be too long for a header.
    """

    id: int
    branch: int
    query: MapQuery
    have: Position | None


class Show(Message, frozen=True):
    """Makes frames of some branches at ends of steps, each after the last one is acknowledged; replaces an earlier `Show` of the channel.

    query: the map. span: of the frames before, or a fixed one; None: find one. interval: least seconds
    between two frames.
    """

    channel: int
    branches: list[int]
    query: MapQuery
    bits: int
    span: list[Any] | None
    interval: float


class Hide(Message, frozen=True):
    """Ends a channel: it has no viewers."""

    channel: int


class AcknowledgeFrames(Message, frozen=True, tag="Taken"):
    """A viewer was sent the last frames of a channel; the engine may make the next ones."""

    channel: int


class Follow(Message, frozen=True):
    """Reports a variable in some cells after every step of a branch from now on. The body is the cells: packed numbers, uint32.

    region: report their mean by area, least and greatest value instead of each cell. The engine makes single steps meanwhile.
    """

    number: int
    branch: int
    name: str
    region: bool
    cells: bytes = b""


class Unfollow(Message, frozen=True):
    """Ends a series."""

    number: int


class Unload(Message, frozen=True, tag="Drop"):
    """Takes a branch out of memory; its folder stays."""

    branch: int


class Shutdown(Message, frozen=True, tag="Leave"):
    """Makes the state durable and ends. keep False: ends at once, since another engine has taken over."""

    keep: bool


# ---- engine to server -------------------------------------------------------------------------------------------------------------------
class Hello(Message, frozen=True):
    """Answers `Greet`. epoch: number of this start of an engine; proof: on the server's nonce and the epoch."""

    protocol: int
    epoch: int
    proof: str
    nonce: str
    pid: int
    host: str
    ranks: int


class Description(Message, frozen=True, tag="Described"):
    """Describes the run: declarations, grid, clock, parameters. It is the last message of the greeting.

    The body is JSON, as `SessionProtocol.describe` returns it.
    """


class Ready(Message, frozen=True):
    """A branch is loaded and stands here."""

    branch: int
    position: Position


class Boundary(Message, frozen=True):
    """Action `seq` can happen at this step; the branch does not pass the step before the `Pin`."""

    seq: int
    branch: int
    step: int


class ActionOutcome(Message, frozen=True, tag="Applied"):
    """An action happened; sent again on every connection until `AcknowledgeOutcome`."""

    seq: int
    branch: int
    step: int
    outcome: Outcome


class RuleFiring(Message, frozen=True, tag="Fired"):
    """An event or a trigger had an effect; sent again on every connection until `AcknowledgeRule`. A pause stops the branch until then.

    step: steps done when the effect is visible; source: "trigger:7"; kind: pause, message, image, event or warning.
    """

    branch: int
    step: int
    source: str
    kind: str
    text: str


class Withdrawal(Message, frozen=True, tag="Withdrawn"):
    """gone: action `seq` will not happen, unless the journal holds its outcome. Otherwise its `ActionOutcome` is on its way."""

    seq: int
    gone: bool


class CheckpointReport(Message, frozen=True, tag="Kept"):
    """A checkpoint of a branch is durable."""

    branch: int
    saved: SavedCheckpoint


class BranchFailure(Message, frozen=True, tag="Failed"):
    """The next step of a branch fails, and would fail again.

    With the code `FULL` the branch waits for room on the disk; the next `Load` tries again. gone: its state is no longer in memory.
    """

    branch: int
    position: Position
    code: str
    text: str
    gone: bool = False


class Data(Message, frozen=True):
    """Answers a `Get`; the body is the array or the image."""

    id: int
    position: Position
    head: Mapping[str, Any]


class Same(Message, frozen=True):
    """Answers a `Get`: the branch has not moved, the cached answer of the server is right."""

    id: int


class QueryRefusal(Message, frozen=True, tag="Refused"):
    """Answers a `Get` that cannot be met; nothing has changed."""

    id: int
    code: str
    text: str
    facts: dict[str, Any]


class ChannelFrames(Message, frozen=True, tag="Shown"):
    """Frames of a channel, one of each branch at its position; the body holds them one after the other. span: common to all."""

    channel: int
    branches: list[int]
    positions: list[Position]
    span: list[Any]


class SeriesRows(Message, frozen=True, tag="Followed"):
    """Values of consecutive steps from `first` on; the body is (steps, values). position: of the branch."""

    number: int
    branch: int
    first: int
    dtype: str
    columns: int
    position: Position


class EngineExit(Message, frozen=True, tag="Ended"):
    """The last message of an engine that ends with an error. code, text: of the error; final: every later engine would meet it, too."""

    code: str
    text: str
    final: bool


class Busy(Message, frozen=True):
    """Announces that heartbeats may be missing for up to `limit` seconds. what: the reason."""

    what: str
    limit: float


class Heartbeat(Message, frozen=True, tag="Beat"):
    """The position of each branch; every 100 ms, and when an engine comes to rest.

    kept: by branch, the first step that can be shown again within about a second, where it has changed.
    arrays: numbers of the global arrays of the models, when they have changed.
    """

    positions: dict[int, Position]
    kept: dict[int, int] = {}
    arrays: dict[str, float] = {}


class News(Message, frozen=True):
    """A text for clients. kind: note or warning."""

    branch: int
    kind: str
    text: str


Watching = Show | Hide | AcknowledgeFrames | Follow | Unfollow
Acknowledgement = AcknowledgeOutcome | AcknowledgeRule
ToEngine = Greet | Welcome | Load | Target | BranchAction | Pin | Withdraw | Acknowledgement | Get | Watching | Unload | Shutdown
Answer = Data | Same | QueryRefusal
Progress = Ready | Boundary | ActionOutcome | RuleFiring | Withdrawal | CheckpointReport | BranchFailure
ToServer = Hello | Description | Progress | Answer | ChannelFrames | SeriesRows | EngineExit | Busy | Heartbeat | News | Shutdown
