"""What led to the state of a `Simulation`: it says how to come to an earlier step again, and to the last one in the next session, too.

    checkpoint (or initial state) ── what was set by hand ──> checkpoint ── what was set by hand ──> here

A checkpoint names the one before it and what was set between the two. So a run that is opened again, here or by a server, computes the
diagnostics of its last step from the state before it.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.control import OPEN_END, Position
from steppe.engine.again import Go, redo, stand_behind, up_to
from steppe.engine.branch import MOST, Actions, Branch, EarlierState, behind_next
from steppe.engine.uploads import read_change, write_upload
from steppe.errors import NotComputedError
from steppe.io import Checkpoint, RunFolder

Array = NDArray[Any]
Action = tuple[str, Mapping[str, Any]]

MOST_BYTES = 64 << 20  # of arrays that were set since the last checkpoint; beyond them the way here is not known


class Trail:
    """Of one run, from the checkpoint that its session begins with.

    Parameters
    ----------
    on, folder
        The run, which stands where its session begins.
    go
        Computes a branch up to a step, of a past that is only looked at.
    """

    def __init__(self, on: Branch, folder: RunFolder, go: Go) -> None:
        self._on, self._folder, self._go = on, folder, go
        self._here = on.position
        self._states = {self._kept[1]: self._kept[0]}  # of this session: where each stands, and the name of its checkpoint
        self._done: dict[Position, Action] = {}  # from the first of them to the newest
        self._set: dict[Position, Callable[[], Action]] | None = {}  # since then; None: not known
        self._bytes = 0
        self._then: Branch | None = None

    @property
    def step(self) -> int:
        """Steps that were done when the newest checkpoint was made."""
        return self._kept[1].step

    def note(self, step: int, name: str, value: float | Array, cells: Array | None) -> None:
        """A variable was set by hand after so many steps, everywhere or in some packed cells."""
        self._here = Position(step, self._here.seq + 1 if self._here.step == step else 1)
        self._bytes += sum(values.nbytes for values in (value, cells) if isinstance(values, np.ndarray))
        if self._set is None or len(self._set) == MOST or self._bytes > MOST_BYTES:
            self._set = None
        else:
            order = partial(self._order, name, np.array(value) if isinstance(value, np.ndarray) else value, cells)
            self._set[self._here] = cache(order)  # so that arrays are written once, however often the way here is asked for

    @property
    def _kept(self) -> tuple[str, Position]:
        """Name and position of the newest checkpoint, or of the initial state."""
        assert self._on.kept is not None, "it begins at one"
        return self._on.kept

    def behind(self, step: int) -> EarlierState | None:
        """The state behind a checkpoint that is made after so many steps."""
        return behind_next(self._kept, Position(step, 0), self._on.behind, lambda since: self._actions())

    def keep(self, step: int, name: str) -> None:
        """The checkpoint `name` is made after so many steps; the trail goes on there."""
        here, behind, actions = self._here if self._here.step == step else Position(step, 0), self.behind(step), self._actions()
        if actions is None:  # no way leads here from an earlier state
            self._states, self._done = {}, {}
        self._done |= actions or {}
        self._states[here] = name
        self._on.kept, self._on.behind, self._here = (name, here), behind, here
        self._set, self._bytes = {}, 0

    def go_back(self, step: int) -> tuple[Checkpoint | None, Position, Actions]:
        """The nearest state from which a step can be come to again, and what was set on the way; what came later is forgotten.

        Raises
        ------
        NotComputedError
            There is no such state in this session.
        """
        end, folder, plan = Position(step, 0), self._folder.checkpoints, self._on.plan
        there = [at for at, name in self._states.items() if at <= end and (not name or (folder / name).is_dir())]
        if not there or (self._set is None and end > self._kept[1]):
            raise NotComputedError(
                f"This session has no state of the run from before step {step}. Go back less far, or begin the run again."
            )
        at = max(there)
        every = {position: done for position, done in {**self._done, **(self._actions() or {})}.items() if position <= end}
        beyond = {name for position, name in self._states.items() if position > at}
        Checkpoint.remove(folder, plan.identity, lambda each: each.path.name in beyond)
        self._states = {position: name for position, name in self._states.items() if position <= at}
        name = self._states[at]
        self._done = {position: done for position, done in every.items() if position <= at}
        again = {position: done for position, done in every.items() if position > at}
        self._set = {position: partial(_same, done) for position, done in again.items()}
        self._here, self._bytes = max(again, default=at), 0
        return Checkpoint.open(folder / name, plan.identity) if name else None, at, again

    def last_step(self, step: int) -> Branch | None:
        """A branch with the diagnostics of the last step, after so many steps; it stays until `leave`. None: the way there is not known."""
        if self._then is None and step and (behind := self.behind(step)):
            then = stand_behind(behind, self._folder.checkpoints, self._on.plan, self._on.ranks, self._on.state_id)
            if then is None:
                return None
            try:
                redo(then, up_to(behind.actions, Position(step - 1, OPEN_END)), self.do, self._go)
                self._go(then, step)
            except BaseException:
                then.close()
                raise
            self._then = then
        return self._then

    def leave(self) -> None:
        """Ends what `last_step` computed: the run takes another step, or ends."""
        if self._then:
            self._then.close()
            self._then = None

    def _actions(self) -> Actions | None:
        """What was set since the newest checkpoint, as orders of a served run have it; arrays go to the uploads."""
        if self._set is None:
            return None
        return {position: order() for position, order in self._set.items()}

    def _order(self, name: str, value: float | Array, cells: Array | None) -> Action:
        write = partial(write_upload, self._folder.path)
        given = {"upload": write(np.asarray(value, "<f8"))} if isinstance(value, np.ndarray) else {"value": value}
        return "set", {"variable": name, **given} | ({} if cells is None else {"cells": write(np.asarray(cells, "<u4"))})

    def do(self, on: Branch, kind: str, arguments: Mapping[str, Any]) -> object:
        """Sets what was set by hand once more."""
        return on.change(read_change(self._folder.path, self._on.plan, arguments))


def _same(action: Action) -> Action:
    return action
