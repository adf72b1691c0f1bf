"""One run, in one process or on many ranks: initialise, step, look, change, checkpoint, branch.

It owns the run folder and commands the ranks, as rank 0. It never prints; `on_event` gets the events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.engine.branch_rules import ACTIONS
from steppe.engine.given_array import packed
from steppe.engine.notebook import earlier_step, end_of_step, facts, finished, labelled, no_past, pixels
from steppe.engine.one_thread import Calls, one_thread
from steppe.engine.outputs import Outputs
from steppe.engine.plan import Plan
from steppe.engine.query_cache import image_of
from steppe.engine.ranks import Ranks
from steppe.engine.run_file import RunFile
from steppe.engine.script_session import Event, ScriptSession
from steppe.errors import Failure, ModelError, RequestError, SteppeError
from steppe.given import Day, level_of_array, moment_text
from steppe.grid import Region, RegionLike
from steppe.html_summary import html_summary
from steppe.io import Checkpoint, ReadCounters, Spent, check_continuable
from steppe.models import Increment, Model
from steppe.timeline import Spans
from steppe.variable import Variable

if TYPE_CHECKING:
    import xarray


@one_thread("step", "run", "rewind", "add_trigger", "remove_trigger", "get", "image", "set", "checkpoint", "recut", "branch", "__exit__")
class Simulation:
    """A run that a script steps, looks at, changes and branches.

    A wrong run file raises a `Mistake` before a file is written. A run folder with an unfinished run continues from its newest
    checkpoint. The next checkpoint has the values that a script has set; a process that dies before it loses them.
    """

    def __init__(
        self,
        run: RunFile | Plan | Path | str,
        path: Path | str | None = None,
        *,
        fresh: bool = False,
        on_event: Callable[[Event], None] | None = None,
        ranks: Ranks | None = None,
        crew: Ranks | None = None,
    ) -> None:
        """Opens the run folder `path` (default: that of the run file) and continues at its newest checkpoint.

        ranks: the ranks that compute it; ranks other than 0 call `serve_orders`. Default: this process alone. crew: its former name.

        Raises
        ------
        Mistake
            The run file or data that it names are wrong.
        FolderError
            The folder holds another run, foreign files, or is in use.
        DamagedError
            A checkpoint or a store is damaged and no older one is good.
        """
        self._calls = Calls()  # first, so that a copy is refused by its message
        self.plan = run if isinstance(run, Plan) else Plan.of(run)
        self.grid, self.clock, self.steps = self.plan.grid, self.plan.clock, self.plan.steps
        self.ranks, self._closed = ranks or crew or Ranks(), False
        folder = Path(path or self.plan.run.output.path)
        if not fresh:
            check_continuable(folder)
        self._session = session = ScriptSession(self.plan, folder, fresh, self.ranks, on_event or (lambda event: None))
        self.folder = session.folder
        try:
            session.tell_begin()
        except BaseException:  # of `on_event`, or Ctrl-C
            session.close()
            raise

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}: {text}" for name, text in self._facts().items())
        return f"<Simulation of {self.model.name} {self.model.version}, {facts}>"

    def _repr_html_(self) -> str:
        active = self.grid.active if self.grid.active.ndim == 2 else None
        return html_summary(f"{self.model.name} {self.model.version}", self._facts(), self.step_index / self.steps, active)

    def _facts(self) -> dict[str, str]:
        return facts(self.plan, self.outputs, self.folder.path, self.step_index)

    # ---- time -----------------------------------------------------------------------------------------------------------------------
    @property
    def model(self) -> Model:
        """The model, with the state of this rank."""
        return self._session.on.plan.model

    @property
    def step_index(self) -> int:
        """The number of steps done."""
        return self._session.on.position.step

    @property
    def version(self) -> int:
        """The number of changes of the state in this session."""
        return self._session.version

    @property
    def outputs(self) -> Outputs:
        """The records of the run."""
        return self._session.outputs

    @property
    def date(self) -> str:
        """The begin of the next step, ISO text."""
        return self.clock.begin(self.step_index)

    @property
    def finished(self) -> bool:
        """True if the last step of the run file is done."""
        return self.step_index >= self.steps

    @property
    def reading(self) -> ReadCounters | None:
        """The cost of reading the weather in this process so far; None for a model without weather."""
        return self._session.reader.counters if self._session.reader else None

    @property
    def array_counts(self) -> dict[str, float]:
        """Numbers of the model's global arrays over all ranks (`steppe.arrays`); empty for a model without."""
        return self._session.array_counts

    @property
    def spent(self) -> Spent:
        """The cost of stepping so far, with the sessions before this one."""
        return self._session.spent

    def step(self, n: int | None = None, *, until: Day | None = None) -> None:
        """Computes `n` steps (default: one), or up to and with the day `until`; fewer when the run ends or a trigger pauses it before.

        Raises
        ------
        FinishedError
            The run is at its last step already.
        RequestError, RunFileError
            `n` is no whole number, or less than 1; `until` is past, or outside the run.
        BadCellError
            A cell met forcing outside its limits or its state is no longer finite (on_bad_cell = "stop").
        DamagedError
            The forcing is damaged; the error comes before the step that needs it.
        """
        end = end_of_step(n, until, self.plan, self.step_index)
        if self.finished and until is None and not self._closed:
            raise finished(self.plan, self.folder.path)
        self._open.compute(end, lambda: False, keep_last_step=True)

    def run(self, until: Day | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Computes up to and with the day `until` (default: the end); True if that was reached.

        `stop` is called every tenth of a second, or every 64 days where they take longer. If it returns True, or a trigger pauses the run,
        a checkpoint is written and the run can be continued. Checkpoints are written as the run file says, and at the end.

        Raises
        ------
        RunFileError
            `until` is outside the run.
        """
        end = self.steps if until is None else self.plan.step_after(moment_text(until))
        if end < self.step_index:  # as where a script is started again
            self._session.tell("note", f"The run is computed up to {self.plan.clock.name(self.step_index - 1)} already.")
        reached = self._open.compute(end, stop)
        self.checkpoint()
        self._session.tell_end()
        return reached

    def rewind(self, to: int | Day) -> None:
        """Returns to the state after so many steps, or at the end of a date, before any change at that step.

        Changes and triggers from that step on are discarded; a served run keeps those at it. It goes on from the nearest checkpoint.
        At the step where this session began, what earlier sessions changed stays. After a step that failed, as on a full disk, the run
        can be used again.

        Raises
        ------
        RequestError
            The run has not reached it, or it is a date from before the first step.
        NotComputedError
            This session has no state of the run before it.
        """
        self._open.rewind(earlier_step(to, self.clock, self.step_index))

    def add_trigger(self, expression: str, action: str = "message", *, text: str = "", variable: str = "") -> int:
        """Adds an action for when an expression becomes true; it is evaluated after each step. Returns the number of the trigger.

        Parameters
        ----------
        expression
            Such as "mean(water) < 20 and max(runoff) > 3": variables in their units, + - * / < > and or, mean, min, max, sum of all cells.
        action
            "message": `on_event` gets it. "pause": `run` and `step` end there, too. "image": a map of `variable` is saved, too.
        text
            The message of the event.

        Raises
        ------
        Mistake
            The expression or the action is not possible.
        """
        if action not in ACTIONS:
            raise RequestError(f'A trigger has no action "{action}". Write one of {", ".join(ACTIONS)}.')
        number = self._open.on.rules.free
        self._open.rule("trigger", {"expression": expression, "action": action, "text": text, "variable": variable, "id": number})
        return number

    def remove_trigger(self, number: int) -> None:
        """Removes a trigger. Raises `RequestError` if there is none with this number."""
        self._open.rule("remove", {"rule": number})

    # ---- looking and changing ---------------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> xarray.DataArray:
        """Any variable at the last step, on the grid: state, diagnostic, forcing or parameter. The first call computes it.

        Raises
        ------
        ModelError
            The name is unknown, or belongs to a step and none was made.
        """
        variable, values = self._variable(name), self.get(name)
        return labelled(values, variable, self.grid, self.clock, self.step_index, self.plan.variables.coordinate(name))

    def get(self, name: str, region: RegionLike = "all", *, date: Day | None = None) -> Array:
        """Values of the packed cells of a region, (cells,), in the variable's unit; (levels, cells) of a variable with levels.

        One level of it has a name, too: `get("ozone[3]")`. date: refused; only the client of a served run shows past dates.
        """
        self._variable(name)
        if date is not None:
            raise no_past(self.folder.path)
        values = self._open.values(name)
        return values if Region.of(region).kind == "all" else values[..., self.grid.select(region)]

    def image(self, name: str, width: int | None = None, low: float | None = None, high: float | None = None) -> bytes:
        """A map of a variable at the last step as a PNG file, made where the cells are; the sea is transparent.

        Parameters
        ----------
        name
            Of any variable of the model; of one with levels with the level, "ozone[3]".
        width
            Pixels of a row, at most one for each cell, which is the default; each is the mean of its cells by area, of classes the first.
        low, high
            The values at the ends of the colours; default: round numbers about nearly all of them.

        Raises
        ------
        ModelError
            The name is unknown, or belongs to a step and none was made.
        GridError
            The grid is no raster, or `width` is not possible.
        """
        variable = self._variable(name)
        self.plan.variables.expect_no_levels(name)
        if reduced := pixels(self.grid, width):
            values = self._open.look("reduce", query=MapQuery(name=name, width=reduced[0], height=reduced[1]), cells=None)
        else:
            values = self.grid.unpack(self.get(name))
        return image_of(values, variable, low, high)[0]

    def set(
        self,
        name: str,
        value: float | Array | xarray.DataArray,
        region: RegionLike = "all",
        level: int | str | None = None,
        units: str | None = None,
        operation: str = "set",
    ) -> Increment:
        """Sets, scales or adds to a state, a parameter or an event input (of the next step) in a region from now on.

        value: one number, numbers of the region's packed cells, or a whole map, (rows, columns), in the variable's unit. An array of xarray
        goes by its coordinates, in any order, and by its attribute `units`, which is converted. level: number of one level, or its value
        with its unit, "850 hPa"; default: all levels of a variable that has some. units: of the value, where no attribute says another.
        operation: "set", "scale" or "add"; a factor has no unit, and an amount to add is a difference: 1 degC is 1 K.

        Raises
        ------
        FinishedError
            The run is at its last step: no step follows that the value could change.
        ModelError, ForcingError
            The name is unknown, the quantity is computed, the value is outside its limits, or an array is of another shape, extent or unit.
        GridError
            The region is unknown or empty.
        """
        self._variable(name)
        levels, asked = self.plan.variables.levels(name), name if level is None else self.plan.variables.layer(name, level)
        name = level_of_array(value, name, levels[0], levels[1].values, asked) if levels else asked
        cells = None if Region.of(region).kind == "all" else self.grid.select(region)
        values = packed(value, self.plan.variables[name], self.grid, self.plan.variables.levels(name), cells, units, operation)
        if self.finished and not self._closed:
            raise finished(self.plan, self.folder.path)
        increment = self._open.set(name, values if values.ndim else float(values), cells, operation)
        given = ({} if values.ndim else {"value": float(values)}) | ({} if operation == "set" else {"operation": operation})
        self.folder.log.add({"event": "set", **self._open.on.position._asdict(), "region": str(region), **given, **increment._asdict()})
        return increment

    def _variable(self, name: str) -> Variable:
        if name not in self.plan.variables:
            raise ModelError(self.plan.variables.missing(name))
        return self.plan.variables[name]

    def watch(self) -> None:
        """Begins a timeline of the threads of all ranks; `timeline` ends it."""
        self._open.on.order("watch")

    def timeline(self) -> list[Spans]:
        """The spans of the threads of each rank since `watch`, by rank; for `steppe.timeline.to_trace` and `steppe.view.draw_timeline`."""
        spans: list[Spans] = self._open.on.order("tell_timeline")
        return spans

    # ---- keeping ----------------------------------------------------------------------------------------------------------------------
    def checkpoint(self) -> Path:
        """Writes a checkpoint, durable when this returns; returns its folder.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be written; the one before is safe.
        """
        return self._open.checkpoint()

    def recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares of the cells: rank r those from bounds[r] to bounds[r + 1]. Results do not depend on it.

        Raises
        ------
        ModelError
            The model computes boxes, which are cut by the grid alone.
        """
        if self._open.on.state.cut.partition is None:
            raise ModelError(
                f'Model "{self.model.name}" computes boxes, which are cut by the grid and the number of ranks. Do not recut it.'
            )
        self._open.recut(bounds)

    def branch(self, name: str = "") -> Simulation:
        """Another run that begins at this state, and shares the results so far.

        name: of its folder in `branches/` of this run, at most 64 letters, digits, _ - . and blanks; default: "branch-1", "branch-2", ...

        Raises
        ------
        FolderError
            There is a branch of this name, or it is none, or a number in a run that was served.
        """
        checkpoint = Checkpoint.open(self.checkpoint(), self.plan.identity)
        branches = self.folder.path / "branches"
        free = next(each for number in count(1) if not (branches / (each := f"branch-{number}")).exists())
        folder = self.folder.branch(name or free, checkpoint)
        return Simulation(Plan.of(self.plan.run, cores=self.plan.cores), folder, on_event=self._session.on_event, ranks=self.ranks)

    def close(self) -> None:
        """Saves what was computed, ends reading and writing and frees the folder, as leaving a `with` block does."""
        self.__exit__(None, None, None)

    @property
    def _open(self) -> ScriptSession:
        """What computes. Raises `RequestError` after `close`."""
        if self._closed:
            raise RequestError(f'This simulation is closed. steppe.Simulation(...) with the output "{self.folder.path}" continues it.')
        return self._session

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._session.failure = error if isinstance(error, Failure) else None
        try:
            if not isinstance(error, Failure):  # of the script, or Ctrl-C: what was computed is whole
                with suppress(SteppeError) if error else nullcontext():  # `error` is raised
                    self._session.save_last()
        finally:
            self._closed = True
            self._session.close()


def run(run_file: RunFile | Path | str, path: Path | str | None = None, *, fresh: bool = False) -> Path:
    """Computes or continues the run of a run file to its end; returns the run folder, which `steppe.open` opens.

    Raises what `Simulation` and its `run` raise.
    """
    with Simulation(run_file, path, fresh=fresh) as simulation:
        if not simulation.finished:
            simulation.run()
        return simulation.folder.path
