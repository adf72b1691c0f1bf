"""The session of an engine as its end of the wire needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from steppe.api.documents import ArrayHead, RunFacts
from steppe.api.query import MapQuery
from steppe.control.wire import BEGINNING, Buffer, Leg, Outcome, Position, RuleFiring, SavedCheckpoint


class SessionProtocol(Protocol):
    """The branches of one run, which an engine steps."""

    def describe(self) -> RunFacts:
        """Describes the run in types of JSON: declarations, grid, clock, `steps`, parameters."""

    @property
    def array_counts(self) -> dict[str, float]:
        """Numbers of the global arrays of the models; empty without any."""

    def load(self, branch: int, path: Sequence[Leg], begin: Position = BEGINNING) -> Position:
        """Brings the branch to the best known position on its path, from `begin` on; returns that position.

        States of the branch beyond the end of its path are discarded, durable ones too: the actions before them may change.
        """

    def position(self, branch: int) -> Position:
        """The position of a loaded branch."""

    def kept(self, branch: int) -> int:
        """The first step of a branch that can be shown again within about a second."""

    def advance(self, branches: Sequence[int], until: int, looked: float) -> None:
        """Computes a short piece of branches that stand at the same step, at most up to `until`.

        looked: seconds after which a client wants the next step; 0: no client does.
        """

    def fired(self) -> Sequence[RuleFiring]:
        """Effects of rules since the last call; after a load also those that were not acknowledged when that state was saved."""

    def unacknowledged(self) -> Sequence[RuleFiring]:
        """Effects of rules without an acknowledgement; they are saved with later states."""

    def acknowledge(self, branch: int, step: int, source: str) -> None:
        """Acknowledges the effect of a rule; it is not reported again."""

    def apply(self, branch: int, place: int, kind: str, arguments: dict[str, object]) -> Outcome:
        """Changes the state of a branch, which then stands at (step, place). An impossible change has an outcome, too, and no effect."""

    def save(self, branch: int, pin: bool = False) -> SavedCheckpoint:
        """Makes the state durable; returns the existing checkpoint of the same position. pin: never remove it."""

    def dirty(self, branch: int) -> bool:
        """True if the state has changed since the last durable checkpoint."""

    def has(self, branch: int) -> bool:
        """True if a branch is loaded; a bad cell unloads it."""

    def unload(self, branch: int, keep: bool = True) -> None:
        """Takes a branch out of memory; its folder stays. keep: save its state before."""

    def has_room(self) -> bool:
        """True if the disk has room for the next writes of a branch."""

    def get(self, branch: int, query: MapQuery) -> tuple[ArrayHead, Buffer]:
        """Values or an image of the last step."""

    def frames(
        self, branches: Sequence[int], query: MapQuery, bits: int, span: Sequence[object] | None
    ) -> tuple[list[object], Callable[[], Buffer]]:
        """A frame of each branch at its position: the common span, and a function that makes the bytes of all, on any thread."""
