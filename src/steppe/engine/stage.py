"""A run that is steered: its branches, what they stand at, what is shown of them. The engine's process talks to this alone.

    stepper   load, advance, apply, save, get ──> shown: position, arrays ──> answer   speaker
              one thread, at boundaries of steps         replaced whole            never waits for a step

What is shown is what somebody asked for in the last two seconds: nothing else is copied or gathered. Who asks for more is answered by
the stepper, at the next boundary, and from then on by the speaker.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.control import Leg, Outcome, Position, Saved
from steppe.engine.branch import Branch
from steppe.engine.branches import Branches
from steppe.engine.crew import Crew
from steppe.engine.facts import facts_of
from steppe.engine.plan import Plan
from steppe.engine.requests import Cut, Request, cut_of
from steppe.engine.uploads import read_cells, read_values
from steppe.errors import BadCellError, Failure, Mistake, NotComputedError, RequestError, UnknownNameError, nearest
from steppe.io import Checkpoint
from steppe.variable import Role

Array = NDArray[Any]
Say = Callable[[str, str], None]
Answer = tuple[dict[str, Any], memoryview]

PIECE = 0.05  # [s] that a piece of steps takes, about: so long may the stepper keep somebody waiting
LOOKED = 0.02  # [s] the same while somebody watches every frame
HOT = 2.0  # [s] after its last request a variable is shown
REMEMBER = 0.025  # [s] of steps, at least, between copies of a branch
PATIENCE = 0.1  # [s] of steps that may be computed again for a branch to know its diagnostics
LONG = 0.2  # [s] a step that takes longer has all states shown


def silence(kind: str, text: str) -> None:
    """Tells nobody."""


class Shown(NamedTuple):
    """What the speaker may say of a branch. arrays: (variable, cut) -> values, in the order of packed cells where the cut is "" ."""

    position: Position
    arrays: Mapping[tuple[str, str], Array]


class Stage:
    """Fulfils what `control` asks of an engine.

    Parameters
    ----------
    folder
        The run folder.
    plan
        The run.
    crew
        The ranks that compute it; default: this process alone.
    say
        Is told what a person may want to know: kind ("note", "warning") and text.

    Raises
    ------
    Mistake
        The weather does not fit the run, or the folder belongs to another one.
    """

    def __init__(
        self, folder: Path, plan: Plan, crew: Crew | None = None, say: Callable[[str, str], None] = lambda kind, text: None
    ) -> None:
        self.plan, self.crew, self._path, self._say = plan, crew or Crew(), folder, say
        self.shown: dict[int, Shown] = {}
        self.moved: Counter[str] = Counter()
        """Bytes of each variable that were gathered for answers."""
        self._hot: dict[int, dict[tuple[str, str], tuple[Cut, float]]] = {}
        self._pace = 0.0  # seconds that a step of one branch takes
        self._steps = 0  # of the last piece
        self._root = self.crew.begin(plan)  # which holds the weather, and computes nothing
        try:
            self._branches = Branches(folder, plan, self.crew, self._root, say)
        except BaseException:
            self.crew.order(self._root, "close")
            raise
        for note in self.crew.part(self._root).notes:
            say("note", note)

    def describe(self) -> dict[str, Any]:
        """What the run is; JSON can hold it."""
        return facts_of(self.plan)

    # ---- positions ------------------------------------------------------------------------------------------------------------------
    def load(self, branch: int, path: Sequence[Leg]) -> Position:
        """Makes a branch stand as near as possible before the end of its path; gives where. One that is in memory stays where it is.

        Raises
        ------
        DamagedError
            There are checkpoints, and none is whole.
        """
        known = branch in self._branches.live
        on = self._branches.load(branch, [Leg(*leg) for leg in path], int(PATIENCE / self._pace) if self._pace else 0)
        if not known:
            self._show(on)
        return on.position

    def position(self, branch: int) -> Position:
        """Where a branch stands."""
        return self._branch(branch).position

    def has(self, branch: int) -> bool:
        """Whether a branch is in memory; one that has met a bad cell is not any more."""
        return branch in self._branches.live

    def dirty(self, branch: int) -> bool:
        """Whether a branch has gone on since its last checkpoint, or since it left its parent."""
        on = self._branch(branch)
        begin = Position(*on.path[-2][1:]) if len(on.path) > 1 else Position(0, 0)
        return on.saved is None and on.position > begin

    def drop(self, branch: int) -> None:
        """Forgets a branch that nobody needs for now; `load` brings it back."""
        if branch in self._branches.live:
            self._hide(branch)
            self._branches.drop(branch)

    def _hide(self, branch: int) -> None:
        self.shown.pop(branch, None)
        self._hot.pop(branch, None)

    def _branch(self, number: int) -> Branch:
        if number not in self._branches.live:
            raise Failure(f"Branch {number} is not loaded. This is a defect of Steppe.")
        return self._branches.live[number]

    # ---- time -----------------------------------------------------------------------------------------------------------------------
    def advance(self, branches: Sequence[int], until: int, looked: bool) -> None:
        """Computes one piece of steps, about 50 ms, of branches that stand at the same step, not beyond `until`.

        looked: somebody watches, and wants to see as many steps as eyes can follow.

        Raises
        ------
        BadCellError
            A cell of a branch is bad: it is not in memory any more, and `load` takes it back to before.
        DamagedError
            The forcing is damaged; the branches stand where they stood, or at the end of the piece.
        """
        group = [self._branch(number) for number in branches]
        start = group[0].position.step
        piece = self._piece(len(group), looked)
        stop = min(until, self.plan.steps, start + piece)
        if stop <= start:
            return
        begin = time.perf_counter()
        for each in group:
            if each.keeper is None and stop >= self.crew.part(each.part).outputs.quiet_until:
                self._branches.settle(each)
            try:
                each.step(stop)
            except BadCellError:
                self._hide(each.number)
                self._branches.lose(each.number)
                raise
        pace = (time.perf_counter() - begin) / (stop - start) / len(group)
        self._pace = (self._pace + pace) / 2 if self._pace else pace
        self._steps = piece  # also where the target cut it short
        for each in group:
            if self._branches.ring.is_due(each.number, stop - int(REMEMBER / self._pace)):
                self._branches.remember(each)
            self._show(each)

    def _piece(self, branches: int, looked: bool) -> int:
        """How many steps of so many branches take as long as a piece should; twice as many as the last time at most."""
        if not self._pace:
            return 1
        fitting = int((LOOKED if looked else PIECE) / (self._pace * branches))
        if self.crew.world.size > 1:
            fitting = min(fitting, self.crew.part(self._root).outputs.steps_between_exchanges)
        return max(1, min(fitting, 2 * self._steps))

    # ---- changes --------------------------------------------------------------------------------------------------------------------
    def apply(self, branch: int, seq: int, kind: str, arguments: Mapping[str, Any]) -> Outcome:
        """Does an action where a branch stands. What it cannot do changes nothing but the position, and is told in the outcome.

        kind "set": variable, operation ("set", "scale", "add"), value or upload (digest of one number for each cell), cells (digest of a
        list of packed ones). Other kinds do nothing to a state.

        Raises
        ------
        Failure
            The action came late, or what was uploaded cannot be read.
        """
        on = self._branch(branch)
        if seq <= on.position.seq:
            raise Failure(f"Action {seq} came after {on.position.seq} was applied at step {on.position.step}. This is a defect of Steppe.")
        ok, detail = True, {}
        if kind == "set":
            try:
                detail = on.change(self._change(arguments))
            except Mistake as mistake:
                ok, detail = False, {"code": mistake.code, "text": str(mistake)}
        on.position, on.saved = Position(on.position.step, seq), None
        outcome = Outcome(ok, detail, on.order("digest"))
        self._show(on)
        return outcome

    def _change(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self._check_name(name := arguments["variable"])
        cells = read_cells(self._path, arguments["cells"], self.plan.grid.n_cells) if arguments.get("cells") else None
        value: float | Array | None = arguments.get("value")
        if arguments.get("upload"):
            value = read_values(self._path, arguments["upload"], self.plan.grid.n_cells if cells is None else len(cells))
        if value is None:
            raise RequestError(f'No value was given for "{name}".')
        return {"name": name, "value": value, "cells": cells, "operation": arguments.get("operation") or "set"}

    def save(self, branch: int, pin: bool = False) -> Saved:
        """A checkpoint of where a branch stands, durable when this returns; the same position has the same name. pin: it stays for ever.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be written; the one before is safe.
        """
        on = self._branch(branch)
        self._branches.settle(on)
        found = on.save()
        if pin:
            Checkpoint.pin(on.settled.folder.checkpoints / found.name)
        return found

    # ---- what people see ------------------------------------------------------------------------------------------------------------
    def get(self, branch: int, request: Mapping[str, Any]) -> Answer:
        """An answer, computed now; by the stepper.

        Raises
        ------
        Mistake
            What is asked for does not exist, or not yet.
        """
        on, asked, cut, key = self._branch(branch), *self._asked(request)
        if asked.step not in (None, on.position.step):
            raise NotComputedError(f"Branch {branch} stands at step {on.position.step}; step {asked.step} is not at hand.")
        self._hot.setdefault(branch, {})[key] = cut, time.monotonic()
        values, moved = self._values(on, key, cut), 0
        if values is None:
            values = self._gathered(on, key, cut)
            moved = values.nbytes
            before = self.shown[branch]
            self.shown[branch] = Shown(on.position, {**before.arrays, key: values})
        return self._answer(on.position, asked, cut, key, values, moved)

    def answer(self, branch: int, request: Mapping[str, Any]) -> Answer | None:
        """An answer from what is shown; by the speaker, at any moment. None: only the stepper can give it.

        Raises
        ------
        Mistake
            What is asked for does not exist.
        """
        shown = self.shown.get(branch)
        if shown is None:
            return None
        asked, cut, key = self._asked(request)
        self._hot.setdefault(branch, {})[key] = cut, time.monotonic()
        values = shown.arrays.get(key)
        if values is None or asked.step not in (None, shown.position.step):
            return None
        return self._answer(shown.position, asked, cut, key, values, 0)

    def _asked(self, request: Mapping[str, Any]) -> tuple[Request, Cut, tuple[str, str]]:
        """A request, how it is cut, and what is kept for it: of a single rank the whole variable, from which anything is cut."""
        asked = Request.of(request)
        self._check_name(asked.name)
        cells = read_cells(self._path, asked.cells, self.plan.grid.n_cells) if asked.cells else None
        cut = cut_of(asked, self.plan.grid, cells)
        whole = self.crew.world.size == 1 or cut.cells is None
        return asked, cut, (asked.name, "" if whole else f"{asked.cells} {asked.box} {asked.stride} {asked.at} {asked.packed}")

    def _values(self, on: Branch, key: tuple[str, str], cut: Cut) -> Array | None:
        shown = self.shown[on.number]
        return shown.arrays.get(key) if shown.position == on.position else None

    def _gathered(self, on: Branch, key: tuple[str, str], cut: Cut) -> Array:
        values: Array = on.order("export", name=key[0], cells=cut.cells if key[1] else None)
        self.moved[key[0]] += values.nbytes
        return values

    def _show(self, on: Branch) -> None:
        """Shows where a branch stands, with what somebody asked for a moment ago."""
        hot, now = self._hot.get(on.number, {}), time.monotonic()
        wanted = {key: cut for key, (cut, asked) in list(hot.items()) if now - asked < HOT}
        if self._pace > LONG:
            wanted |= {(name, ""): Cut((), ()) for name, v in self.plan.model.variables.items() if v.role is Role.STATE}
        arrays = {}
        for key, cut in wanted.items():
            try:
                arrays[key] = self._gathered(on, key, cut)
            except Mistake:  # a diagnostic of a step that is not at hand: who asks is told
                continue
        self.shown[on.number] = Shown(on.position, arrays)

    def _answer(self, position: Position, asked: Request, cut: Cut, key: tuple[str, str], values: Array, moved: int) -> Answer:
        found = np.ascontiguousarray(cut.of(values) if not key[1] else cut.placed(values))
        variable = self.plan.model.variables[asked.name]
        head = {
            "variable": asked.name,
            "units": variable.units,
            "long_name": variable.long_name,
            "dtype": found.dtype.newbyteorder("<").str,
            "shape": list(found.shape),
            "dims": list(cut.dims),
            "step": position.step,
            "seq": position.seq,
            "date": f"{self.plan.clock.date(max(position.step - 1, 0)):%Y-%m-%d}",
            "moved": moved,
        }
        return head, memoryview(found.tobytes())

    def _check_name(self, name: str) -> None:
        if name not in self.plan.model.variables:
            raise UnknownNameError(f'There is no variable "{name}".{nearest(name, self.plan.model.variables)}')

    def close(self) -> None:
        """Ends all branches; what is not saved is lost."""
        self._branches.close()
        self.crew.order(self._root, "close")
