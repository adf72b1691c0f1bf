"""The face of the client for programs that wait: every method of `AsyncRun` and `AsyncOperation`, run to its end."""

from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from steppe.api import CheckpointInfo, EventInfo, Info, ScenarioInfo, TriggerInfo, VariableInfo
from steppe.client import words
from steppe.client.line import now
from steppe.client.live import watch
from steppe.client.operation import AsyncOperation
from steppe.client.picture import Picture
from steppe.client.run import AsyncRun
from steppe.client.widget import widget_of
from steppe.errors import SteppeError

if TYPE_CHECKING:
    import xarray


class Operation:
    """An order in the journal: it is carried out once, through any crash. See `AsyncOperation`."""

    def __init__(self, behind: AsyncOperation) -> None:
        self._behind = behind

    @property
    def id(self) -> int:
        """Its number in the journal."""
        return self._behind.id

    @property
    def kind(self) -> str:
        """Kind of the order: step, set, checkpoint, branch, rewind ..."""
        return self._behind.kind

    @property
    def scenario(self) -> str:
        """Name of its scenario."""
        return self._behind.scenario

    @property
    def state(self) -> str:
        """queued, running, done, failed or cancelled; as it is now."""
        return now(self._behind.refresh()).state

    @property
    def is_over(self) -> bool:
        """Whether it is done, failed or cancelled; as it is now."""
        return now(self._behind.refresh()).is_over

    @property
    def progress(self) -> float | None:
        """The share that is done now, 0 to 1; None where it is not known."""
        return now(self._behind.progress)

    @property
    def result(self) -> Any:
        """The result of a finished order: of a change the sums before and after, of a checkpoint its name and size."""
        return now(self._behind.refresh()).result

    @property
    def problem(self) -> Any:
        """Why it failed or was cancelled, with `code` and `text`; `by`, `kind` and `who` name the command that cancelled it."""
        return now(self._behind.refresh()).problem

    def wait(self, progress: bool | None = None) -> Self:
        """Waits until it is over; see `AsyncOperation.wait`."""
        now(self._behind.wait(progress))
        return self

    def cancel(self) -> Self:
        """Cancels it; see `AsyncOperation.cancel`."""
        now(self._behind.cancel())
        return self

    def __repr__(self) -> str:
        return repr(self._behind).replace("AsyncOperation", "Operation")

    def _repr_html_(self) -> str:
        return self._behind._repr_html_()


class Run:
    """A run on a server, seen from one of its scenarios. Every order happens once, through any crash before its answer.

    Orders wait until they are carried out, with a bar in terminals and notebooks; `wait=False` gives the operation at once. They are made
    on what this client saw last of the scenario: if another client has steered in the meantime, StaleError reports it; `info()` reads on.
    """

    def __init__(self, behind: AsyncRun) -> None:
        self._behind = behind

    @property
    def name(self) -> str:
        """Of the run."""
        return self._behind.name

    @property
    def scenario_name(self) -> str:
        """Of the scenario that is seen and steered."""
        return self._behind.scenario_name

    def info(self) -> Info:
        """The run now: state, engine, scenarios with their steps and dates, version."""
        return now(self._behind.info())

    @property
    def variables(self) -> Mapping[str, VariableInfo]:
        """All variables by name: units, limits, role, whether they may be set."""
        return now(self._behind.variables)

    @property
    def scenarios(self) -> Mapping[str, ScenarioInfo]:
        """All scenarios by name, each with its step."""
        return now(self._behind.scenarios)

    @property
    def checkpoints(self) -> list[CheckpointInfo]:
        """The durable checkpoints."""
        return now(self._behind.checkpoints)

    @property
    def events(self) -> list[EventInfo]:
        """The changes that are still to come."""
        return now(self._behind.events)

    @property
    def triggers(self) -> list[TriggerInfo]:
        """The triggers of all scenarios, with the steps after which they became true."""
        return now(self._behind.triggers)

    @property
    def operations(self) -> list[Operation]:
        """All orders of all scenarios, the first one first."""
        return [Operation(each) for each in now(self._behind.operations)]

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        """The rows of the journal after a number: each order with its client and its outcome."""
        return now(self._behind.log(after))

    def __getitem__(self, name: str) -> "xarray.DataArray":
        return self.get(name)

    def get(
        self,
        name: str,
        *,
        box: words.Box | None = None,
        polygon: Any = None,
        cells: Any = None,
        stride: int = 1,
        width: int | None = None,
        step: int | None = None,
        date: words.Day | tuple[words.Day, words.Day] | slice | None = None,
        scenario: str | None = None,
        **more: Any,
    ) -> "xarray.DataArray":
        """Values of a variable, with coordinates, units and attributes of CF; see `AsyncRun.get`."""
        where = {"box": box, "polygon": polygon, "cells": cells, "stride": stride, "width": width, "step": step, "date": date}
        return now(self._behind.get(name, **where, scenario=scenario, **more))

    def watch(
        self,
        name: str,
        *,
        box: words.Box | None = None,
        stride: int | None = None,
        width: int | None = None,
        rate: float | None = None,
        scenario: str | None = None,
    ) -> Generator["xarray.DataArray", None, None]:
        """The newest map of a variable, and the next ones as the run makes them, until it has ended; see `AsyncRun.watch`."""
        wish = {"box": box, "stride": stride, "width": width, "rate": rate, "scenario": scenario}
        return watch(self._behind._remote.line, self.name, now(self._behind._stream(name, wish)))

    def image(
        self,
        name: str,
        *,
        box: words.Box | None = None,
        width: int | None = None,
        low: float | None = None,
        high: float | None = None,
        style: str | None = None,
        scenario: str | None = None,
    ) -> Picture:
        """A map as a PNG, which a notebook shows; see `AsyncRun.image`."""
        return now(self._behind.image(name, box=box, width=width, low=low, high=high, style=style, scenario=scenario))

    def series(
        self,
        name: str,
        at: words.Corners,
        *,
        date: words.Day | tuple[words.Day, words.Day] | slice | None = None,
        scenario: str | None = None,
    ) -> "xarray.DataArray":
        """Values of a variable at some places (longitude, latitude) over time; (time, place)."""
        return now(self._behind.series(name, at, date=date, scenario=scenario))

    def dataset(self) -> "xarray.Dataset":
        """All variables of all dates of the run, fetched when they are read; see `AsyncRun.dataset`."""
        return self._behind.dataset()

    def widget(self, variable: str = "") -> Any:
        """The run on a map in a notebook, as it goes: to look, play, go back and follow cells. It needs `pip install ".[notebook]"`.

        variable: what is shown at first; a diagnostic or a state of the model.

        Raises
        ------
        Mistake
            anywidget is not installed.
        UnknownError
            There is no variable of this name.
        """
        if variable and variable not in self.variables:
            now(self._behind._remote.variable(variable))
        return widget_of(self._behind._remote.line, self.name, self.scenario_name, variable)

    def step(
        self,
        steps: int | None = None,
        *,
        until: words.Day | None = None,
        end: bool = False,
        speed: float | None = None,
        wait: bool = True,
        progress: bool | None = None,
    ) -> Operation:
        """Computes a number of steps, until a date is done, or to the end; see `AsyncRun.step`."""
        return Operation(now(self._behind.step(steps, until=until, end=end, speed=speed, wait=wait, progress=progress)))

    def play(self, speed: float | None = None) -> Operation:
        """Computes to the end of the run, or until `pause`; returns the operation at once."""
        return Operation(now(self._behind.play(speed)))

    def pause(self, *, wait: bool = True) -> Operation:
        """Stops at the end of the present step."""
        return Operation(now(self._behind.pause(wait=wait)))

    def set(
        self,
        name: str,
        value: Any,
        *,
        box: words.Box | None = None,
        polygon: Any = None,
        cells: Any = None,
        units: str | None = None,
        operation: str = "set",
        when: words.Moment = "after",
        wait: bool | None = None,
    ) -> Operation:
        """Changes a variable: everywhere, or in a box, a polygon or some cells; see `AsyncRun.set`."""
        ordered = self._behind.set(
            *(name, value), box=box, polygon=polygon, cells=cells, units=units, operation=operation, when=when, wait=wait
        )
        return Operation(now(ordered))

    def add_event(
        self,
        name: str,
        value: Any,
        *,
        at: words.Moment | None = None,
        yearly: str | None = None,
        box: words.Box | None = None,
        polygon: Any = None,
        cells: Any = None,
        units: str | None = None,
        operation: str = "set",
        wait: bool = True,
    ) -> Operation:
        """Changes a variable before a future step or date, or every year; see `AsyncRun.add_event`."""
        ordered = self._behind.add_event(
            *(name, value), at=at, yearly=yearly, box=box, polygon=polygon, cells=cells, units=units, operation=operation, wait=wait
        )
        return Operation(now(ordered))

    def remove_event(self, number: int, *, wait: bool = True) -> Operation:
        """Removes an event from this scenario."""
        return Operation(now(self._behind.remove_event(number, wait=wait)))

    def add_trigger(
        self, expression: str, action: str = "message", *, text: str = "", variable: str | None = None, wait: bool = True
    ) -> Operation:
        """Acts when an expression becomes true; see `AsyncRun.add_trigger`."""
        return Operation(now(self._behind.add_trigger(expression, action, text=text, variable=variable, wait=wait)))

    def remove_trigger(self, number: int, *, wait: bool = True) -> Operation:
        """Removes a trigger from this scenario."""
        return Operation(now(self._behind.remove_trigger(number, wait=wait)))

    def checkpoint(self, *, pin: bool = False, wait: bool = True) -> Operation:
        """Writes a durable checkpoint after all earlier orders. pin: it is kept for ever."""
        return Operation(now(self._behind.checkpoint(pin=pin, wait=wait)))

    def branch(self, name: str, *, at: words.Moment | None = None, set: Mapping[str, Any] | None = None, wait: bool = True) -> "Run":
        """Makes a scenario from this one, and gives the run seen from it; see `AsyncRun.branch`."""
        return Run(now(self._behind.branch(name, at=at, set=set, wait=wait)))

    def rewind(self, to: words.Moment, *, wait: bool = True) -> Operation:
        """Goes back to a step, or to the end of a date; see `AsyncRun.rewind`."""
        return Operation(now(self._behind.rewind(to, wait=wait)))

    def restart(self, *, wait: bool = True) -> Operation:
        """Goes back to the initial state."""
        return Operation(now(self._behind.restart(wait=wait)))

    def scenario(self, name: str) -> "Run":
        """The run seen from another scenario."""
        return Run(now(self._behind.scenario(name)))

    def terminate(self) -> None:
        """Ends the run on the server, with the role *admin*; its files stay."""
        now(self._behind.terminate())

    def close(self) -> None:
        """Ends the connections of this client; the run goes on."""
        now(self._behind.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.variables)

    def _look(self) -> AsyncRun:
        with suppress(SteppeError):  # what was seen last will do
            now(self._behind._remote.info(look=False, patience=0.0))
        return self._behind

    def __repr__(self) -> str:
        return repr(self._look()).replace("AsyncRun", "Run", 1)

    def _repr_html_(self) -> str:
        return self._look()._repr_html_()
