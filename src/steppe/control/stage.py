"""What an engine steps, as its end of the conversation needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from steppe.api.query import MapQuery
from steppe.control.wire import BEGINNING, Buffer, Fired, Leg, Outcome, Position, Saved


class Stage(Protocol):
    """What an engine steps: the branches of one run."""

    def describe(self) -> dict[str, Any]:
        """What the run is, as JSON would have it: declarations, grid, clock, `steps`, parameters."""

    def load(self, branch: int, path: Sequence[Leg], begin: Position = BEGINNING) -> Position:
        """Makes the branch stand at the best position that is known on its path, from `begin` on; it may stand there already.

        States of the branch beyond the end of its path, durable ones too, are forgotten: what led to them may change.
        """

    def position(self, branch: int) -> Position:
        """Where a loaded branch stands."""

    def kept(self, branch: int) -> int:
        """The first step from which on a branch can be shown again within about a second."""

    def advance(self, branches: Sequence[int], until: int, looked: float) -> None:
        """Computes a short piece of branches that stand at the same step, at most up to `until`.

        looked: seconds after which somebody wants to see the next, 0 for nobody.
        """

    def fired(self) -> Sequence[Fired]:
        """What rules did since this was asked last, or had done and nobody had heeded when what was loaded was saved."""

    def unheeded(self) -> Sequence[Fired]:
        """What rules did that is not heeded; it is saved with the states behind it."""

    def heeded(self, branch: int, step: int, source: str) -> None:
        """Somebody knows what a rule did."""

    def apply(self, branch: int, place: int, kind: str, arguments: dict[str, Any]) -> Outcome:
        """Changes the state of a branch, which then stands at (step, place); what cannot be done changes nothing and is an outcome, too."""

    def save(self, branch: int, pin: bool = False) -> Saved:
        """Makes the state durable; at the same position the same checkpoint. pin: it stays for ever."""

    def dirty(self, branch: int) -> bool:
        """Whether something has changed since the last durable checkpoint."""

    def has(self, branch: int) -> bool:
        """Whether a branch is loaded; one that has met a bad cell is not any more."""

    def drop(self, branch: int, keep: bool = True) -> None:
        """Forgets a branch; its folder stays. keep: what is not durable yet is saved before."""

    def has_room(self) -> bool:
        """Whether the disk has room for what a branch writes next."""

    def get(self, branch: int, query: MapQuery) -> tuple[dict[str, Any], Buffer]:
        """Values or an image, at the last step."""

    def frames(
        self, branches: Sequence[int], query: MapQuery, bits: int, span: Sequence[Any] | None
    ) -> tuple[list[Any], Callable[[], Buffer]]:
        """A frame of each branch where it stands: the span that they have, and what makes the bytes of all; any thread may call that."""
