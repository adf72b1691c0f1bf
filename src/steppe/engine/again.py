"""A step that is over, computed again from an earlier state, for diagnostics that are not kept. A served run and a `Simulation` share it.

    earlier state ── steps, changes, events ──> a branch that stands where the run stood and has the diagnostics of that step

The branch records nothing and uses the weather of the run. The run itself does not change.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from steppe.control import Leg, Position
from steppe.engine.branch import Actions, Branch, EarlierState
from steppe.engine.branch_rules import Rules
from steppe.engine.plan import Plan
from steppe.engine.ranks import Ranks
from steppe.errors import DamagedError
from steppe.io import Checkpoint, Spent

NOBODY = -1  # the number of a branch that is only looked at

Do = Callable[[Branch, str, Mapping[str, Any]], object]
"""Does an action of some kind, with its arguments, to a branch."""

Go = Callable[[Branch, int], object]
"""Computes a branch up to a step."""


def stand_behind(behind: EarlierState, checkpoints: Path, plan: Plan, ranks: Ranks, like: int, path: Sequence[Leg] = ()) -> Branch | None:
    """A branch that stands at an earlier state of a run; the caller closes it. None: that checkpoint is removed or damaged.

    Parameters
    ----------
    checkpoints
        The folder of the checkpoints of the run.
    ranks, like
        The ranks, and the number of the states whose weather the branch uses.
    path
        The way to the branch that it is of.
    """
    found, rules = "", {}
    if behind.name:
        try:
            checkpoint = Checkpoint.open(checkpoints / behind.name, plan.identity)
            checkpoint.verify()
        except DamagedError:
            return None
        found, rules = str(checkpoint.path), checkpoint.manifest.get("rules", {})
    again = plan.again()
    then = Branch(NOBODY, tuple(path), again, ranks, ranks.begin(again, like=like), behind.position, Spent(), since=behind.position)
    then.rules = Rules.of(rules)
    try:
        then.order("open", output="", checkpoint=found, muted=True)
    except BaseException:
        then.order("close")
        raise
    return then


def redo(on: Branch, actions: Actions, do: Do, go: Go) -> None:
    """Does actions, each at its step."""
    for position in sorted(actions):
        go(on, position.step)
        do(on, *actions[position])
        on.position, on.saved = position, None


def up_to(actions: Actions, limit: Position) -> Actions:
    """The actions that were done up to a position."""
    return {at: done for at, done in actions.items() if at <= limit}
