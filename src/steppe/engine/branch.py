"""One branch of a run that is steered, where it stands: its parts on all ranks, and what of it is on the disk."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steppe.control import Position, Saved
from steppe.engine.bad_cell import bad_cell
from steppe.engine.crew import Crew
from steppe.engine.keeper import Keeper
from steppe.engine.plan import Plan
from steppe.io import Spent


@dataclass
class Branch:
    """A branch that is in memory. part: the number of its parts; keeper: of its run folder; saved: the checkpoint of where it stands."""

    number: int
    plan: Plan
    crew: Crew
    part: int
    keeper: Keeper
    position: Position
    spent: Spent = field(default_factory=Spent)
    saved: Saved | None = None

    def order(self, what: str, /, **arguments: Any) -> Any:
        """Has every rank do something for this branch."""
        return self.crew.order(self.part, what, **arguments)

    def step(self, stop: int) -> None:
        """Computes up to a step.

        Raises
        ------
        BadCellError
            A cell met forcing outside its limits or its state is no longer finite: the state is of no use any more.
        DamagedError
            The forcing is damaged; nothing was computed.
        """
        begin = time.perf_counter()
        self.order("step", start=self.position.step, stop=stop, looks=True)
        self.position, self.saved = Position(stop, 0), None
        self.spent += Spent(time.perf_counter() - begin)
        if self.crew.said.bad and self.plan.run.engine.on_bad_cell == "stop":
            raise bad_cell(self.order("tell_status"), self.plan)

    def change(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Sets, scales or adds to a variable; tells what that did.

        Raises
        ------
        Mistake
            It cannot be done; nothing has changed.
        """
        increment = self.order("set", **arguments)
        return {"variable": increment.name, "cells": increment.cells, "before": increment.before, "after": increment.after}

    def save(self) -> Saved:
        """A checkpoint of where it stands, durable when this returns."""
        if self.saved is None:
            self.keeper.keep(self.position.step, self.spent, self.position.seq)
            self.saved = saved(self.keeper.finish(), self.position)
        return self.saved

    def close(self) -> None:
        """Forgets it; what is not in a checkpoint is lost."""
        self.keeper.leave()
        self.order("close")


def saved(path: Path, position: Sequence[int]) -> Saved:
    """What there is to say of a checkpoint."""
    return Saved(path.name, Position(*position), sum(file.stat().st_size for file in path.iterdir()))
