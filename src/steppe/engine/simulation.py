"""One run, in one process or on many ranks: initialise, step, look, change, checkpoint, branch.

It holds the run folder and commands the ranks (`crew`), of which it is one itself. It never prints; `on_event` tells what happens.
"""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from steppe.card import card
from steppe.engine.balance import Balance
from steppe.engine.check import announcement, checkpoint_size, shortage
from steppe.engine.crew import Crew
from steppe.engine.part import Part
from steppe.engine.plan import Plan
from steppe.engine.recorder import PIECE
from steppe.engine.run_file import RunFile
from steppe.errors import BadCellError, Failure, GridError, ModelError, nearest
from steppe.grid import Moving, Partition, RegionLike, imbalance
from steppe.io import Checkpoint, Progress, ReadCounters, RunFolder, Spent, create_store
from steppe.models import Increment, Status
from steppe.timeline import Spans
from steppe.variable import Variable

if TYPE_CHECKING:
    import xarray

SECONDS_BETWEEN_CHECKPOINTS = 10.0  # of checkpoint = "auto", and at least 50 times what the last one cost
SECONDS_BETWEEN_ORDERS = 0.1  # of many ranks: as long as a person may wait for an answer


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


@dataclass(frozen=True)
class _Keeping:
    """A checkpoint on its way to the disk. number: how many its run will have begun with it; begin: on the clock."""

    number: int
    aside: Path
    step: int
    date: str
    complete: bool
    records: dict[str, int]
    spent: Spent
    begin: float


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
        self._kept_seconds = 0.0  # what the last checkpoint took from its beginning until it was durable
        self._kept_path: Path | None = None  # of a checkpoint that nobody was told of yet
        self._keeping: _Keeping | None = None  # one is being written
        self._begun_to_keep = 0
        self._pace = 0.0  # seconds that a step of many ranks takes
        self._spent, self._seconds, self._begun = Spent(), 0.0, 0.0
        self._failure: BaseException | None = None
        self._closing = ExitStack()
        with ExitStack() as opening:  # undone when something below fails
            self._number = self.crew.begin(self.plan)
            opening.callback(self._order, "close")
            self.outputs, self._reader = self._part.outputs, self._part.reader
            self.folder = RunFolder(Path(path or self.plan.run.output.path), self.plan.identity, fresh)
            opening.callback(self.folder.close)
            checkpoint = Checkpoint.newest(self.folder.checkpoints, self.plan.identity, lambda text: self._tell("warning", text))
            if checkpoint is None:
                self._create()
            else:
                self._go_on_from(checkpoint)
            opening.callback(self._leave)
            opening.callback(lambda: self.outputs.close())  # those there are then: a recut makes others
            self._closing = opening.pop_all()
        self._checkpoint_time, self._kept_version = time.monotonic(), self.version
        self._balance = Balance(self.grid.n_cells, self.crew.world.size, self.step_index)
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
        facts = {
            "next day": "none, it is finished" if self.finished else self.date,
            "days": f"{self.step_index:,} of {self.steps:,}",
            "cells": f"{self.grid.n_cells:,}",
            "run folder": str(self.folder.path),
            "records": ", ".join(dict.fromkeys(output.variable.name for group in self.outputs.groups for output in group.outputs))
            or "none",
        }
        return facts | ({"weather": "generated"} if self.plan.provenance["weather"] == "generated" else {})

    # ---- time -----------------------------------------------------------------------------------------------------------------------
    @property
    def date(self) -> str:
        """The day that the next step will compute, ISO text."""
        return f"{self.clock.date(self.step_index):%Y-%m-%d}"

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
        return self._spent + Spent(seconds, stall_in, self.outputs.writer.stall)

    def step(self, n: int = 1) -> None:
        """Computes `n` steps, fewer when the run ends before.

        Raises
        ------
        BadCellError
            A cell met forcing outside its limits or its state is no longer finite (on_bad_cell = "stop").
        DamagedError
            The forcing is damaged; the error comes before the step that needs it.
        """
        self._advance(min(self.step_index + n, self.steps), lambda: False, looks=True)

    def run(self, until: str | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Computes up to and with the day `until` (default: the end); True when that was reached.

        `stop` is asked between pieces of at most 64 days; when it says yes, a checkpoint is written and the run can be continued.
        Checkpoints are written as the run file says, and at the end.

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
        with self._timed():
            while self.step_index < end:
                if stop() or self.crew.said.stop:
                    return False
                until, begin = min(end, self._next_border()), time.perf_counter()
                self._order("step", start=self.step_index, stop=until, looks=looks)
                self._pace = (time.perf_counter() - begin) / (until - self.step_index)
                self.step_index = until
                self.version += 1
                if self.crew.said.bad and self.plan.run.engine.on_bad_cell == "stop":
                    self._raise_bad_cell(self._order("tell_status"))
                self._tell("progress", self.date)
                self._seal_what_is_durable()
                self._tell_kept()
                if self.step_index < self.steps and self._checkpoint_is_due():
                    self._keep()
                    if self.crew.world.size > 1 and self.model.needs.unit == "cells":
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
        days = self._checkpoint_days
        borders = [(self.step_index // days + 1) * days] if days else []
        if self.crew.world.size > 1:
            fitting = int(SECONDS_BETWEEN_ORDERS / self._pace) if self._pace else PIECE
            length = max(1, min(fitting, self.outputs.steps_between_exchanges))
            pieces = self._pieces(length + 1)  # to the last whole one, if there is any: a slab that is cut is decoded twice
            stop = pieces[-1].start if len(pieces) > 1 else self.step_index + length
            return min([stop, self.steps, *borders])
        return min([self._pieces(PIECE)[0].stop, *borders])

    def _pieces(self, steps: int) -> list[range]:
        """The next steps, cut where the store of the weather is."""
        coming = range(self.step_index, min(self.step_index + steps, self.steps))
        return self._reader.pieces(coming) if self._reader else [coming]

    # ---- looking and changing ---------------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> xarray.DataArray:
        """Any variable at the last step, on the grid: state, diagnostic, forcing or parameter. Computed when first asked for."""
        import xarray

        variable = self._variable(name)
        coordinates = self.grid.coordinates()
        dims = tuple(self.grid.shape)
        labels: dict[str, Any] = {
            label: (dims[-1] if label.startswith("cell_") else label, values)
            for label, values in coordinates.items()
            if label in dims or (len(dims) == 1 and label.startswith("cell_"))
        }
        labels["time"] = self.clock.date(max(self.step_index - 1, 0))
        return xarray.DataArray(self.grid.unpack(self.get(name)), labels, dims, name, variable.attributes())

    def get(self, name: str, region: RegionLike = "all") -> NDArray[Any]:
        """Values of the packed cells of a region, (cells,), in the variable's unit."""
        self._variable(name)
        version, values = self._kept.get(name, (-1, np.empty(0)))
        if version != self.version:
            values = self._order("export", name=name)
            self._kept[name] = (self.version, values)
        return values if region == "all" else values[self.grid.select(region)]

    def image(self, name: str, width: int | None = None, low: float | None = None, high: float | None = None) -> bytes:
        """A map of a variable at the last step as a PNG file, made where the cells are; the sea is transparent.

        Parameters
        ----------
        name
            Of any variable of the model.
        width
            Pixels of a row, at most one for each cell, which is the default; each is the mean of its cells.
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
        if self.grid.active.ndim != 2:
            raise GridError("An image is of a raster; these are points. Take get() for their values.")
        height, cells = self.grid.active.shape
        columns = cells if width is None else width
        if not 1 <= columns <= cells:
            raise GridError(f"An image of this grid is 1 to {cells} pixels wide, {columns} were asked for.")
        made: bytes = self._order("image", name=name, rows=max(1, round(height * columns / cells)), columns=columns, low=low, high=high)
        return made

    def set(self, name: str, value: float | NDArray[Any] | xarray.DataArray, region: RegionLike = "all") -> Increment:
        """Sets a state, a parameter or an event input (of the next step) in a region from now on.

        value: one number, numbers of the region's packed cells, or a whole map as `sim[name]` gives it, in the variable's unit.

        Raises
        ------
        ModelError
            The name is unknown, the quantity is computed, or the value is outside its limits.
        GridError
            The region is unknown or empty.
        """
        self._variable(name)
        values, cells = np.asarray(value), None if region == "all" else self.grid.select(region)
        if values.ndim > 1 and values.shape == tuple(self.grid.shape.values()):
            values = values.ravel()[self.grid.order][slice(None) if cells is None else cells]
        increment: Increment = self._order("set", name=name, value=values if values.ndim else float(values), cells=cells)
        self.version += 1
        self.folder.log({"event": "set", "step": self.step_index, "region": str(region), **increment._asdict()})
        return increment

    def _variable(self, name: str) -> Variable:
        if name not in self.model.variables:
            raise ModelError(f'There is no variable "{name}".{nearest(name, self.model.variables)}')
        return self.model.variables[name]

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
            self._finish_keeping()
        path = self._kept_path
        assert path is not None, "the writer has done what it was asked for"
        self._tell_kept()
        return path

    def _keep(self) -> None:
        """Begins a checkpoint of copies, so that the run can go on meanwhile; the last one, too, so that all runs need the same memory."""
        if self._keeping:  # the last one is not written yet, and there is room for the copies of one
            self._finish_keeping()
        self._tell_kept()
        begin = time.monotonic()
        self._begun_to_keep += 1
        complete = self.finished and self.outputs.complete
        aside = Checkpoint.begin(self.folder.checkpoints, self.step_index)
        records = dict(self.outputs.writer.records)
        self._keeping = _Keeping(self._begun_to_keep, aside, self.step_index, self.date, complete, records, self.spent, begin)
        self._kept_version = self.version
        self._order("keep", aside=str(aside))
        self._checkpoint_time = time.monotonic()

    def _seal_what_is_durable(self) -> None:
        """Has a checkpoint of which all ranks have written their tiles sealed behind, with the records that can be read from now on."""
        keeping = self._keeping
        if keeping is None or self.crew.said.kept < keeping.number:
            return
        self._keeping = None
        digests, contents = self._order("collect"), self._part.contents

        def seal() -> None:
            if keeping.complete:
                self.outputs.writer.mark_complete()
            step, date, records, spent = keeping.step, keeping.date, keeping.records, keeping.spent
            manifest = {"date": date, "calendar": self.clock.calendar, "records": records, "spent": asdict(spent), "software": software()}
            path = Checkpoint.seal(keeping.aside, contents, digests, manifest, self.plan.identity)
            progress = Progress("finished" if keeping.complete else "running", step, date, records, path.name, spent)
            progress.write(self.folder.path)
            Checkpoint.prune(path)
            self._progress = progress
            self._kept_path, self._kept_seconds = path, time.monotonic() - keeping.begin

        self.outputs.writer.do(seal)

    def recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares of the cells: rank r those from bounds[r] to bounds[r + 1]. Results do not depend on it."""
        path = self.checkpoint()
        self._order("recut", bounds=[int(bound) for bound in bounds], output=str(self.folder.output), checkpoint=str(path))
        self.outputs, self._reader = self._part.outputs, self._part.reader

    def _rebalance(self) -> None:
        """Recuts when the ranks are uneven and it pays by far; called after a checkpoint of a run on many ranks."""
        now = Partition(tuple(self._part.bounds))
        moving = Moving(checkpoint_size(self.model) // max(len(self._part.deal.mine), 1), pause=2 * self._kept_seconds)
        better = self._balance.better(now, self._order("tell_busy"), self.step_index, self.steps, moving)
        if better is not None:
            uneven = imbalance(self._balance.lattice.loads(now))
            self._tell("note", f"Shares are cut anew: the ranks were uneven by {100 * uneven:.0f} %.")
            self.recut(better.bounds)

    def _finish_keeping(self) -> None:
        """Returns when the checkpoint that was begun last is durable."""
        self.outputs.writer.wait()  # the others sleep meanwhile: an order is waited for awake
        if self._keeping:
            self._order("wait")
            self._seal_what_is_durable()
            self.outputs.writer.wait()

    def _tell_kept(self) -> None:
        if self._kept_path:
            self._tell("checkpoint", str(self._kept_path))
            self._kept_path = None

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
            if error is None and self._sound and self.version != self._kept_version:
                self.checkpoint()
        finally:
            self.close()

    # ---- inside -----------------------------------------------------------------------------------------------------------------------
    def _create(self) -> None:
        self.folder.drop_output()
        self.folder.write_run(self.plan.run.as_toml())
        attributes = self.plan.provenance | {"steppe_run": self.folder.id}
        create_store(self.folder.output, self.outputs.groups, attributes)
        self._order("open", output=str(self.folder.output), checkpoint="")
        self.version += 1
        self._progress = Progress("running", 0, self.date)
        self._progress.write(self.folder.path)

    def _go_on_from(self, checkpoint: Checkpoint) -> None:
        self.step_index = checkpoint.step
        records = checkpoint.manifest["records"]
        self._spent = Spent(**checkpoint.manifest["spent"])
        then, now = checkpoint.manifest["software"], software()
        if then != now:
            different = [f"{name} {then.get(name)}, now {now[name]}" for name in now if then.get(name) != now[name]]
            self._tell("warning", f"The run was begun with {'; '.join(different)}. Its last bits may differ from those of a run in one go.")
        state = "finished" if self.finished else "running"
        self._progress = Progress(state, self.step_index, self.date, records, checkpoint.path.name, self._spent)
        if not self.finished:  # readers must not look for what is removed next
            self._progress.write(self.folder.path)
        self._order("open", output=str(self.folder.output), checkpoint=str(checkpoint.path))
        self.version += 1

    @property
    def _part(self) -> Part:
        """What this process computes itself."""
        return self.crew.part(self._number)

    def _order(self, what: str, /, **arguments: Any) -> Any:
        return self.crew.order(self._number, what, **arguments)

    def _leave(self) -> None:
        if self._keeping:
            shutil.rmtree(self._keeping.aside, ignore_errors=True)
        if self._progress.state != "running":
            return
        if self._failure is None:
            replace(self._progress, state="stopped").write(self.folder.path)
            return
        with suppress(Failure):  # the disk may still be full; the failure that ends the run is the one to tell
            replace(self._progress, state="failed", message=str(self._failure)).write(self.folder.path)

    @property
    def _checkpoint_days(self) -> int:
        text = self.plan.run.engine.checkpoint
        return 0 if text in ("auto", "none") else int(text.split()[0])

    def _checkpoint_is_due(self) -> bool:
        if self._checkpoint_days:
            return self.step_index % self._checkpoint_days == 0
        waited = time.monotonic() - self._checkpoint_time
        return self.plan.run.engine.checkpoint == "auto" and waited > max(SECONDS_BETWEEN_CHECKPOINTS, 50 * self._kept_seconds)

    def _raise_bad_cell(self, status: Status) -> NoReturn:
        self._sound = False
        place = f"cell {status.cell:,} (longitude {self.grid.cell_lon[status.cell]:g}, latitude {self.grid.cell_lat[status.cell]:g})"
        when = f"{self.clock.date(status.step):%Y-%m-%d}"
        if status.variable in self.model.variables and np.isfinite(status.low):
            what = f'"{status.variable}" is {status.value:g}, outside {status.low:g} to {status.high:g}'
        else:
            what = f'"{status.variable}" is {status.value:g}'
        others = f" and {status.count - 1:,} more cells are bad" if status.count > 1 else ""
        raise BadCellError(
            f"On {when} in {place} {what}{others}. Results up to the last checkpoint are safe. "
            'Find bad forcing with `steppe check`, or run on without such cells with on_bad_cell = "freeze".'
        )

    def _tell(self, kind: str, text: str) -> None:
        self._on_event(Event(kind, text, self.step_index, self.steps, self.date))


@cache
def software() -> dict[str, str]:
    """What may decide the last bits of a result beside its inputs: versions of libraries, kind of processor."""
    return {**{name: version(name) for name in ("numpy", "llvmlite")}, "processor": platform.machine()}


def run(run_file: RunFile | Path | str, path: Path | str | None = None, *, fresh: bool = False) -> Path:
    """Runs a run file to its end, or goes on with it, and gives the run folder; `steppe.open` opens it.

    Raises what `Simulation` and its `run` raise.
    """
    with Simulation(run_file, path, fresh=fresh) as simulation:
        if not simulation.finished:
            simulation.run()
        return simulation.folder.path
