"""Orders of clients, the answers to them, and the records of a journal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from steppe.control.wire import Leg, Position

FIRST_BRANCH, FIRST_NAME = 1, "main"
JOURNAL = "journal.sqlite"  # file of a run folder
FORKS = ("branch", "rewind", "restart")  # what makes a branch
NAMINGS = ("rename", "leave")  # of a scenario; over as soon as they are in the journal
RULES = ("event", "trigger")  # what is to happen by itself from then on, until it is removed
OF_STATE = (  # codes of refusals that depend on the state of the run; each is stored under the key of its order
    *("already-finished", "engine-busy-conflict", "name-taken", "out-of-range", "scenario-closed"),
    *("step-passed", "too-many-scenarios", "unknown-operation", "unknown-scenario", "version-stale"),
)
CHANGES = ("set", *RULES, "remove")  # of a state
ACTIONS = (*CHANGES, "checkpoint", "pause")  # kinds that an engine receives; the server handles the rest, or makes it a target


class Order(msgspec.Struct, frozen=True):
    """An order of a client.

    kind: step {"steps" | "until" | "end", "speed"}, pause {}, set {...}, event {...}, trigger {...}, remove {"rule"}, checkpoint {"pin"},
    branch {"name", "step"}, rewind {"step" | "left"}, restart {}, rename {"name"}, leave {}, cancel {"seq"}, skip {"seq"}.

    when: "after" all earlier orders, "now" at the next boundary, or a step.
    """

    kind: str
    scenario: str
    arguments: dict[str, Any]
    key: str
    who: str
    role: str
    request: bytes
    when: str | int = "after"
    if_match: str | None = None
    if_step: int | None = None


class CommandReceipt(msgspec.Struct, frozen=True):
    """The answer to an accepted order. seq: number of the command and of its operation; again: it was accepted before."""

    seq: int
    again: bool
    version: str
    target: int | None
    at_step: int | None


class Refused(Exception):
    """An order or a question that cannot be met; the run has not changed. code: kind of problem; facts: values for programs."""

    def __init__(self, code: str, detail: str, **facts: Any) -> None:
        super().__init__(detail)
        self.code, self.detail, self.facts = code, detail, facts


class ReplayDiffersError(Exception):
    """A repeated action gave another state than the first time."""


@dataclass(frozen=True, slots=True)
class BranchRecord:
    """A branch in the journal: its name, fork, target, the last step that clients have seen, and the position at which a rewind left it."""

    id: int
    name: str
    parent: int | None
    fork_step: int
    fork_place: int
    made_by: int
    target: int
    shown_step: int
    closed_step: int
    closed_place: int


@dataclass(frozen=True, slots=True)
class Command:
    """A command in the journal."""

    seq: int
    branch: int
    place: int
    key: str
    who: str
    role: str
    kind: str
    arguments: dict[str, Any]
    due: str
    accepted_at: float
    target: int | None
    at_step: int | None
    ended_step: int | None
    outcome: str | None
    detail: dict[str, Any]


@dataclass(frozen=True)
class JournalStart:
    """The start of a compacted journal.

    at: the position of the checkpoint; on: its branch; name: of its folder, "" for the initial state. path: the legs that led to the
    scenario's branch, whose rows were removed. branches: the greatest number of a branch so far. journal: the file with everything
    before.
    """

    at: Position
    on: int
    name: str
    path: list[Leg]
    branches: int
    journal: str


def folder_of(run: Path, branch: int) -> Path:
    """The folder of a branch; the first branch uses the run folder itself."""
    return run if branch == FIRST_BRANCH else run / "branches" / str(branch)


def numbered(kind: str, seq: int, arguments: dict[str, object]) -> dict[str, object]:
    """The arguments of an action for a session: events and triggers carry the number of their command."""
    return arguments | {"id": seq} if kind in RULES else arguments
