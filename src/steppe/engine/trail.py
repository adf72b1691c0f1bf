"""What led to the state of a `Simulation`: it says how to come to the last step again, in this session and in the next.

    checkpoint (or initial state) ── what was set by hand ──> checkpoint ── what was set by hand ──> here

A checkpoint names the one before it and what was set between the two. So a run that is opened again, here or by a server, computes the
diagnostics of its last step from the state before it.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.control import OPEN_END, Position
from steppe.control.wire import BEGINNING
from steppe.engine.again import go_again, redo, stand_behind, up_to
from steppe.engine.branch import MOST, Actions, Behind, Branch, behind_next
from steppe.engine.branches import position_of
from steppe.engine.crew import Crew
from steppe.engine.plan import Plan
from steppe.engine.uploads import read_change, write_upload
from steppe.io import Checkpoint, RunFolder

Array = NDArray[Any]

MOST_BYTES = 64 << 20  # of arrays that were set since the last checkpoint; beyond them the way here is not known


class Trail:
    """Of one run, from its newest checkpoint on.

    Parameters
    ----------
    plan, folder
        The run.
    crew, number
        The ranks, and the number of their parts of it.
    checkpoint
        The one that it continues from; None: it begins.
    """

    def __init__(self, plan: Plan, folder: RunFolder, crew: Crew, number: int, checkpoint: Checkpoint | None) -> None:
        self._plan, self._folder, self._crew, self._number = plan, folder, crew, number
        self._kept = (checkpoint.path.name, position_of(checkpoint)) if checkpoint else ("", BEGINNING)
        self._behind = Behind.of(checkpoint.manifest["behind"]) if checkpoint and checkpoint.behind is not None else None
        self._here = self._kept[1]
        self._set: dict[Position, tuple[str, float | Array, Array | None]] | None = {}  # since `_kept`; None: not known
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
            self._set[self._here] = name, np.array(value) if isinstance(value, np.ndarray) else value, cells

    def told(self, step: int) -> dict[str, Any]:
        """What the manifest of a checkpoint says, which is made after so many steps."""
        behind = self._next(step)
        return {"behind": behind.plain()} if behind else {}

    def keep(self, step: int, name: str) -> None:
        """The checkpoint `name` is made after so many steps; the trail begins there."""
        here = self._here if self._here.step == step else Position(step, 0)
        self._kept, self._behind, self._here = (name, here), self._next(step), here
        self._set, self._bytes = {}, 0

    def last_step(self, step: int) -> Branch | None:
        """A branch with the diagnostics of the last step, after so many steps; it stays until `leave`. None: the way there is not known."""
        if self._then is None and step and (behind := self._next(step)):
            then = stand_behind(behind, self._folder.checkpoints, self._plan, self._crew, self._number)
            if then is None:
                return None
            try:
                go = partial(go_again, happen=lambda on: None)
                redo(then, up_to(behind.actions, Position(step - 1, OPEN_END)), self._do, go)
                go(then, step)
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

    def _next(self, step: int) -> Behind | None:
        return behind_next(self._kept, Position(step, 0), self._behind, lambda since: self._actions())

    def _actions(self) -> Actions | None:
        """What was set since the newest checkpoint, as orders of a served run have it; arrays go to the uploads."""
        if self._set is None:
            return None
        return {position: ("set", self._order(*change)) for position, change in self._set.items()}

    def _order(self, name: str, value: float | Array, cells: Array | None) -> dict[str, Any]:
        write = partial(write_upload, self._folder.path)
        given = {"upload": write(np.asarray(value, "<f8"))} if isinstance(value, np.ndarray) else {"value": value}
        return {"variable": name, **given} | ({} if cells is None else {"cells": write(np.asarray(cells, "<u4"))})

    def _do(self, on: Branch, kind: str, arguments: Mapping[str, Any]) -> object:
        return on.change(read_change(self._folder.path, self._plan, arguments))
