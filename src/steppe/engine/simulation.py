"""One run, in one process or on many ranks: initialise, step, look, change, checkpoint, branch.

It holds the run folder and commands the ranks (`crew`), of which it is one itself. It never prints; `on_event` tells what happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steppe.card import card
from steppe.engine.bad_cell import bad_cell
from steppe.engine.balance import Balance
from steppe.engine.cadence import Cadence
from steppe.engine.check import announcement, checkpoint_size, shortage
from steppe.engine.crew import Crew
from steppe.engine.differences import open_folder
from steppe.engine.keeper import Keeper, software
from steppe.engine.looks import image_of
from steppe.engine.notebook import facts, finished, labelled, pixels
from steppe.engine.part import Part
from steppe.engine.plan import Plan
from steppe.engine.recorder import PIECE
from steppe.engine.run_file import RunFile
from steppe.engine.trail import Trail
from steppe.errors import Failure, ModelError, NotComputedError, RequestError, nearest
from steppe.grid import Moving, RegionLike, imbalance
from steppe.io import Checkpoint, ReadCounters, Spent
from steppe.io.ensemble import expect_no_ensemble
from steppe.models import Increment
from steppe.timeline import Spans
from steppe.variable import Variable

if TYPE_CHECKING:
    import xarray

SECONDS_BETWEEN_ORDERS = 0.1  # as long as a person may wait for an answer


@dataclass(frozen=True)
class Event:
    """Something that happened. kind: "started", "resumed", "progress", "checkpoint", "note", "warning", "stopped" or "finished".

    Commands that show events add "compiling", which Steppe's log says.
    """

    kind: str
    text: str
    step: int
    steps: int
    date: str


class Simulation:
    """A run that people can step, look at, change and branch.

    Everything that a run file can get wrong is raised as a `Mistake` before anything is written. A run folder with an unfinished run
    is continued from its newest checkpoint. What is set by hand is in the next checkpoint; a process that dies before it loses it.
    """

    def __init__(
        self,
        run: RunFile | Plan | Path | str,
        path: Path | str | None = None,
        *,
        fresh: bool = False,
        on_event: Callable[[Event], None] | None = None,
        crew: Crew | None = None,
    ) -> None:
        """Opens the run folder `path` (default: that of the run file) and goes on where it stands.

        crew: the ranks that compute it, on rank 0 while the others `obey`; default: this process alone.

        Raises
        ------
        Mistake
            Anything wrong in the run file or the data that it names.
        FolderError
            The folder holds another run, foreign files, or is in use.
        DamagedError
            A checkpoint or a store is damaged and no older one is good.
        """
        self.plan = run if isinstance(run, Plan) else Plan.of(run)
        self.grid, self.clock, self.steps, self.model = self.plan.grid, self.plan.clock, self.plan.steps, self.plan.model
        self.crew = crew or Crew()
        self.version = 0
        self._kept_version = 0  # of what is safe
        self._sound = True  # no cell was found bad: the state may be kept
        self.step_index = 0
        self._on_event = on_event or (lambda event: None)
        self._kept: dict[str, tuple[int, NDArray[Any]]] = {}
        self._pace = 0.0  # seconds that a step takes
        self._spent, self._seconds, self._begun = Spent(), 0.0, 0.0
        self._failure: Failure | None = None
        self._closing = ExitStack()
        with ExitStack() as opening:  # undone when something below fails
            self._number = self.crew.begin(self.plan)
            opening.callback(self._order, "close")
            self.outputs, self._reader = self._part.outputs, self._part.reader
            self.folder = open_folder(self.plan, Path(path or self.plan.run.output.path), fresh)
            opening.callback(self.folder.close)
            expect_no_ensemble(self.folder.path)
            self._keeper = Keeper(self.folder, self.plan, self.crew, self._number)
            checkpoint = Checkpoint.newest(self.folder.checkpoints, self.plan.identity, lambda text: self._tell("warning", text))
            if checkpoint is None:
                self._keeper.create()
            else:
                self._go_on_from(checkpoint)
            self._trail = Trail(self.plan, self.folder, self.crew, self._number, checkpoint)
            self.version += 1
            opening.callback(lambda: self._keeper.leave(self._failure))
            opening.callback(lambda: self.outputs.close())  # those there are then: a recut makes others
            opening.callback(self._trail.leave)
            self._closing = opening.pop_all()
        self._kept_version, self._cadence = self.version, Cadence(self.plan.run.engine.checkpoint, self.plan.run.time.length)
        self._balance = Balance(self.grid.n_cells, self.crew.world.size, self.step_index)
        now = self._part.cut.partition
        if checkpoint and now and now.ranks > 1:
            even = self._balance.begin(now, self.folder)
            if even:
                self._cut(even.bounds, checkpoint.path)
        self._tell("resumed" if checkpoint else "started", f"at {self.date}")
        if checkpoint is None:
            for kind, text in (
                *(("note", text) for text in self._part.notes),
                ("note", announcement(self.plan, self.outputs)),
                ("warning", shortage(self.plan, self.outputs, checkpoint_size(self.model))),
            ):
                if text:
                    self._tell(kind, text)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}: {text}" for name, text in self._facts().items())
        return f"<Simulation of {self.model.name} {self.model.version}, {facts}>"

    def _repr_html_(self) -> str:
        active = self.grid.active if self.grid.active.ndim == 2 else None
        return card(f"{self.model.name} {self.model.version}", self._facts(), self.step_index / self.steps, active)

    def _facts(self) -> dict[str, str]:
        return facts(self.plan, self.outputs, self.folder.path, self.step_index)

    # ---- time -----------------------------------------------------------------------------------------------------------------------
    @property
    def date(self) -> str:
        """The day that the next step will compute, ISO text."""
        return self.clock.begin(self.step_index)

    @property
    def finished(self) -> bool:
        """Whether the last step of the run file is done."""
        return self.step_index >= self.steps

    @property
    def reading(self) -> ReadCounters | None:
        """What reading the weather has cost this process so far; None for a model without."""
        return self._reader.counters if self._reader else None

    @property
    def spent(self) -> Spent:
        """What stepping took so far, with the sessions before this one."""
        seconds = self._seconds + (time.perf_counter() - self._begun if self._begun else 0.0)
        stall_in = self._reader.counters.stall_seconds if self._reader else 0.0
        return self._spent + Spent(seconds, stall_in, self.outputs.writer.stall, self.model.compiling)

    def step(self, n: int = 1) -> None:
        """Computes `n` steps, fewer when the run ends before.

        Raises
        ------
        FinishedError
            The run is at its last step already.
        RequestError
            `n` is less than 1.
        BadCellError
            A cell met forcing outside its limits or its state is no longer finite (on_bad_cell = "stop").
        DamagedError
            The forcing is damaged; the error comes before the step that needs it.
        """
        if self.finished:
            raise finished(self.plan, self.folder.path)
        if n < 1:
            raise RequestError(f"step(n) computes one step or more, n is {n}.")
        self._advance(min(self.step_index + n, self.steps), lambda: False, looks=True)

    def run(self, until: str | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Computes up to and with the day `until` (default: the end); True when that was reached.

        `stop` is asked every tenth of a second, or every 64 days where they take longer; when it says yes, a checkpoint is written and the
        run can be continued. Checkpoints are written as the run file says, and at the end.

        Raises
        ------
        RunFileError
            `until` is outside the run.
        """
        end = self.steps if until is None else self.plan.step_after(until)
        reached = self._advance(end, stop)
        self.checkpoint()
        self._tell("finished" if self.finished else "stopped", f"at {self.date}")
        return reached

    def _advance(self, end: int, stop: Callable[[], bool], looks: bool = False) -> bool:
        self._trail.leave()
        with self._timed():
            while self.step_index < end:
                if stop() or self.crew.said.stop:
                    return False
                until, begin = min(end, self._next_border()), time.perf_counter()
                if until == end and not looks and self._cadence.far((self.step_index - self._trail.step) * self._pace):
                    self._keep()
                self._order("step", start=self.step_index, stop=until, looks=looks)
                self._pace = (time.perf_counter() - begin) / (until - self.step_index)
                self.step_index = until
                self.version += 1
                if self.crew.said.bad and self.plan.run.engine.on_bad_cell == "stop":
                    self._sound = False
                    raise bad_cell(self._order("tell_status"), self.plan)
                self._tell("progress", self.date)
                self._keeper.seal_what_is_durable()
                self._keeper.tell(self._tell_kept)
                if self.step_index < self.steps and self._cadence.due(self.step_index, self._keeper.seconds):
                    self._keep()
                    self._rebalance()
        return True

    @contextmanager
    def _timed(self) -> Iterator[None]:
        self._begun = time.perf_counter()
        try:
            yield
        finally:
            self._seconds += time.perf_counter() - self._begun
            self._begun = 0.0

    def _next_border(self) -> int:
        """The next step before which something other than computing may have to happen."""
        every = self._cadence.steps
        borders = [(self.step_index // every + 1) * every] if every else []
        fitting = int(SECONDS_BETWEEN_ORDERS / self._pace) if self._pace else PIECE
        if self.crew.world.size > 1:
            length = max(1, min(fitting, self.outputs.steps_between_exchanges))
        else:
            length = max(PIECE, min(fitting, self.outputs.recorder.most_steps))
        coming = range(self.step_index, min(self.step_index + length + 1, self.steps))
        pieces = self._reader.pieces(coming) if self._reader else [coming]  # to the last whole one, or a slab is decoded twice
        stop = pieces[-1].start if len(pieces) > 1 else self.step_index + length
        return min([stop, self.steps, *borders])

    # ---- looking and changing ---------------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> xarray.DataArray:
        """Any variable at the last step, on the grid: state, diagnostic, forcing or parameter. Computed when first asked for.

        Raises
        ------
        ModelError
            The name is unknown, or belongs to a step and none was made.
        """
        variable, values = self._variable(name), self.get(name)
        return labelled(values, variable, self.grid, self.clock, self.step_index, self.plan.variables.levels(name))

    def get(self, name: str, region: RegionLike = "all") -> NDArray[Any]:
        """Values of the packed cells of a region, (cells,), in the variable's unit; (levels, cells) of a variable with levels.

        One level of it has a name, too: `get("ozone[3]")`.
        """
        self._variable(name)
        version, values = self._kept.get(name, (-1, np.empty(0)))
        if version != self.version:
            values = self._look("export", name=name)
            self._kept[name] = (self.version, values)
        return values if region == "all" else values[..., self.grid.select(region)]

    def image(self, name: str, width: int | None = None, low: float | None = None, high: float | None = None) -> bytes:
        """A map of a variable at the last step as a PNG file, made where the cells are; the sea is transparent.

        Parameters
        ----------
        name
            Of any variable of the model; of one with levels with the level, "ozone[3]".
        width
            Pixels of a row, at most one for each cell, which is the default; each is the mean of its cells by area.
        low, high
            The values at the ends of the colours; default: round numbers about nearly all of them.

        Raises
        ------
        ModelError
            The name is unknown, or belongs to a step and none was made.
        GridError
            The grid is no raster, or `width` is not possible.
        """
        self._variable(name)
        self.plan.variables.expect_no_levels(name)
        reduced = pixels(self.grid, width)
        if reduced is None:
            values = self.grid.unpack(self.get(name))
        else:
            values = self._look("reduce", request={"name": name, "width": reduced[0], "height": reduced[1]}, cells=None)
        return image_of(values, self._variable(name), low, high)[0]

    def set(
        self, name: str, value: float | NDArray[Any] | xarray.DataArray, region: RegionLike = "all", level: int | str | None = None
    ) -> Increment:
        """Sets a state, a parameter or an event input (of the next step) in a region from now on.

        value: one number, numbers of the region's packed cells, or a whole map as `sim[name]` gives it, in the variable's unit. level:
        number of one level, or its value with its unit, "850 hPa"; default: all levels of a variable that has some.

        Raises
        ------
        FinishedError
            The run is at its last step: no step follows that the value could change.
        ModelError
            The name is unknown, the quantity is computed, or the value is outside its limits.
        GridError
            The region is unknown or empty.
        """
        self._variable(name)
        name = name if level is None else self.plan.variables.layer(name, level)
        values, cells = np.asarray(value), None if region == "all" else self.grid.select(region)
        if values.ndim > 1 and values.shape[-2:] == tuple(self.grid.shape.values()):
            values = values.reshape(*values.shape[:-2], -1)[..., self.grid.order][..., slice(None) if cells is None else cells]
        if self.finished:
            raise finished(self.plan, self.folder.path)
        given = values if values.ndim else float(values)
        increment: Increment = self._order("set", name=name, value=given, cells=cells)
        self._trail.note(self.step_index, name, given, cells)
        self.version += 1
        self.folder.log({"event": "set", "step": self.step_index, "region": str(region), **increment._asdict()})
        return increment

    def _variable(self, name: str) -> Variable:
        if name not in self.plan.variables:
            raise ModelError(f'There is no variable "{name}".{nearest(name, self.model.variables)}')
        return self.plan.variables[name]

    def watch(self) -> None:
        """Begins a timeline of what the threads of all ranks do; `timeline` ends it."""
        self._order("watch")

    def timeline(self) -> list[Spans]:
        """What the threads of each rank did since `watch`, by rank; for `steppe.timeline.to_trace` and `steppe.view.draw_timeline`."""
        spans: list[Spans] = self._order("tell_timeline")
        return spans

    # ---- keeping ----------------------------------------------------------------------------------------------------------------------
    def checkpoint(self) -> Path:
        """Writes a checkpoint, durable when this returns, and gives its folder.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be written; the one before is safe.
        """
        with self._timed():
            self._keep()
            path = self._keeper.finish()
        self._keeper.tell(self._tell_kept)
        return path

    def _keep(self) -> None:
        """Begins a checkpoint; the last one, too, is made of copies, so that all runs need the same memory."""
        name = self._keeper.keep(self.step_index, self.spent, more=self._trail.told(self.step_index))
        self._trail.keep(self.step_index, name)
        self._keeper.tell(self._tell_kept)  # of the one before, which may have been waited for
        self._kept_version = self.version
        self._cadence.made()

    def recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares of the cells: rank r those from bounds[r] to bounds[r + 1]. Results do not depend on it.

        Raises
        ------
        ModelError
            The model computes boxes, which are cut by the grid alone.
        """
        if self._part.cut.partition is None:
            raise ModelError(
                f'Model "{self.model.name}" computes boxes, which are cut by the grid and the number of ranks. Do not recut it.'
            )
        self._cut(bounds, self.checkpoint())

    def _cut(self, bounds: Sequence[int], checkpoint: Path) -> None:
        self._trail.leave()
        self._order("recut", bounds=[int(bound) for bound in bounds], output=str(self.folder.output), checkpoint=str(checkpoint))
        self.outputs, self._reader = self._part.outputs, self._part.reader

    def _rebalance(self) -> None:
        """Recuts when the ranks are uneven and it pays by far; called after a checkpoint of a run on many ranks."""
        now = self._part.cut.partition
        if now is None or now.ranks == 1:
            return
        moving = Moving(checkpoint_size(self.model) // max(len(self._part.deal.mine), 1), pause=2 * self._keeper.seconds)
        better = self._balance.better(now, self._order("tell_busy"), self.step_index, self.steps, moving)
        self.outputs.writer.do(lambda: self._balance.keep(self.folder))
        if better is not None:
            uneven = imbalance(self._balance.lattice.loads(now))
            self._tell("note", f"Shares are cut anew: the ranks were uneven by {100 * uneven:.0f} %.")
            self.recut(better.bounds)

    def _tell_kept(self, path: Path) -> None:
        self._tell("checkpoint", str(path))

    def branch(self, name: str = "") -> Simulation:
        """A run of its own that starts from here: it shares what is committed and is free to differ from now on.

        name: of its folder in `branches/` of this run; without it a number.

        Raises
        ------
        FolderError
            There is a branch of this name.
        """
        checkpoint = Checkpoint.open(self.checkpoint(), self.plan.identity)
        branches = self.folder.path / "branches"
        number = 1 + len(list(branches.iterdir())) if branches.is_dir() else 1
        folder = self.folder.branch(name or str(number), checkpoint)
        return Simulation(Plan.of(self.plan.run, cores=self.plan.cores), folder, on_event=self._on_event, crew=self.crew)

    def close(self) -> None:
        """Ends reading and writing and frees the folder. What is not in a checkpoint is lost; leaving a `with` block makes one first."""
        self._closing.close()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._failure = error if isinstance(error, Failure) else None
        try:
            if error is None and self._sound and not self._part.torn:
                if self.version != self._kept_version:
                    self._keep()
                self._keeper.wait()
                self._keeper.tell(self._tell_kept)
        finally:
            self.close()

    # ---- inside -----------------------------------------------------------------------------------------------------------------------
    def _go_on_from(self, checkpoint: Checkpoint) -> None:
        self.step_index = checkpoint.step
        self._spent = Spent(**checkpoint.manifest["spent"])
        then, now = checkpoint.manifest["software"], software()
        if then != now:
            different = [f"{name} {then.get(name)}, now {now[name]}" for name in now if then.get(name) != now[name]]
            self._tell("warning", f"The run was begun with {'; '.join(different)}. Its last bits may differ from those of a run in one go.")
        self._keeper.go_on_from(checkpoint)

    def _look(self, what: str, /, **arguments: Any) -> Any:
        """An order that looks at the last step, which is computed again where this session has not made it."""
        try:
            return self._order(what, **arguments)
        except NotComputedError:
            then = self._trail.last_step(self.step_index)
            if then is None:
                raise
            return then.order(what, **arguments)

    @property
    def _part(self) -> Part:
        """What this process computes itself."""
        return self.crew.part(self._number)

    def _order(self, what: str, /, **arguments: Any) -> Any:
        return self.crew.order(self._number, what, **arguments)

    def _tell(self, kind: str, text: str) -> None:
        self._on_event(Event(kind, text, self.step_index, self.steps, self.date))


def run(run_file: RunFile | Path | str, path: Path | str | None = None, *, fresh: bool = False) -> Path:
    """Runs a run file to its end, or goes on with it, and gives the run folder; `steppe.open` opens it.

    Raises what `Simulation` and its `run` raise.
    """
    with Simulation(run_file, path, fresh=fresh) as simulation:
        if not simulation.finished:
            simulation.run()
        return simulation.folder.path
