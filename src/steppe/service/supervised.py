"""A run as the server sees it. `steppe.control` has the one that is used; tests hand in a small one of their own."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from steppe.api.query import MapQuery
from steppe.control import Accepted, Command, Order
from steppe.control.channels import Channels
from steppe.control.followed import AllFollowed
from steppe.control.reader import Reader
from steppe.control.records import Records

Answer = tuple[Mapping[str, Any], bytes | bytearray | memoryview]


class Supervisor(Protocol):
    """One run. All methods are called by the event loop's thread and none waits but those that are awaited."""

    @property
    def folder(self) -> Path:
        """The folder of the run; what was uploaded lies in `uploads` of it."""
        ...

    @property
    def facts(self) -> Mapping[str, Any] | None:
        """What the run is: model, variables, clock, steps; None before its first engine was ready."""
        ...

    @property
    def journal(self) -> Records:
        """What was ordered, for short questions; `accept` alone adds to it."""
        ...

    @property
    def reader(self) -> Reader:
        """The rows of the journal, however many they are."""
        ...

    @property
    def turned_away(self) -> int:
        """Callers at the engine's door who were not let in."""
        ...

    @property
    def channels(self) -> Channels:
        """What people watch."""
        ...

    @property
    def followed(self) -> AllFollowed:
        """Series that people follow."""
        ...

    def info(self) -> dict[str, Any]:
        """The run as it is now, from memory."""
        ...

    def accept(self, order: Order, *more: Order) -> Accepted:
        """Stores the orders of a request in the journal, all or none, and returns the receipt of the first; raises Refused."""
        ...

    def refuse_without_room(self, who: str, key: str) -> None:
        """Keeps that an order was refused because the disk is full: a duplicate of it gets the same answer later."""
        ...

    async def get(self, scenario: str, query: MapQuery) -> Answer:
        """An array or image and what it is; raises Refused. Equal queries are answered from what is kept."""
        ...

    def operation(self, seq: int) -> Mapping[str, Any] | None:
        """What became of an order; None when there is none of this number."""
        ...

    async def settled(self, seq: int, seconds: float) -> Mapping[str, Any] | None:
        """The operation when it is over, or as it is after some seconds."""
        ...

    def happenings(self, after: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        """What people are told, from a number on, and all that follows; number 0: something of `info` has changed."""
        ...

    def scenarios(self) -> Sequence[Mapping[str, Any]]:
        """All scenarios; each the same object as long as nothing of it has changed."""
        ...

    def scenario(self, name: str) -> Mapping[str, Any] | None:
        """One of them; None when there is none of this name."""
        ...

    def rules(self, scenario: str) -> list[tuple[Command, list[dict[str, Any]]]]:
        """The events and triggers of a scenario, and what each did: step, kind, text; raises Refused."""
        ...

    def checkpoints(self, newest: bool = False) -> list[dict[str, Any]]:
        """All durable checkpoints. newest: of the scenarios that `info` has, those that may still be there."""
        ...

    def launch(self) -> None:
        """Starts an engine where there is none, also after the last one has died again and again."""
        ...

    def close(self, keep: bool = True) -> None:
        """Ends the supervision. keep: the engine makes its state durable and ends; else it goes on and waits for another server."""
        ...


class Opener(Protocol):
    """Who begins and ends runs. folder: where new ones are made, None for none; launchers: what may start their engines, by name."""

    folder: Path | None
    launchers: Mapping[str, str]

    async def begin(self, folder: Path, launcher: str = "") -> Supervisor:
        """Opens the run of a folder; raises SteppeError."""
        ...

    def archive(self, name: str) -> None:
        """Ends a run; its engine has some seconds to make its state durable."""
        ...
