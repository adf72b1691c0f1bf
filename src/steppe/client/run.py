"""Steering a run on a server. `steppe.client.sync` only waits for what is here and in `look`."""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from steppe.api import OperationInfo
from steppe.client import words
from steppe.client.look import AsyncLook
from steppe.client.operation import AsyncOperation
from steppe.client.refusals import UnknownError
from steppe.errors import Mistake, RequestError
from steppe.given import check_numbers, check_steps, level_of_array, moment_text, unit_of


class AsyncRun(AsyncLook):
    """A run on a server, seen from one of its scenarios. Every order happens once, through any crash before its answer.

    Orders wait until they are carried out; `wait=False` gives the operation at once. They are made on what this client saw last of the
    scenario: if another client has steered in the meantime, StaleError reports it, and `info()` reads the new version.
    """

    async def step(
        self,
        steps: int | None = None,
        *,
        until: words.Day | None = None,
        end: bool = False,
        speed: float | None = None,
        wait: bool = True,
        progress: bool | None = None,
    ) -> AsyncOperation:
        """Computes a number of steps after all earlier orders (default: one), until a date is done, or to the end.

        speed: at most so many steps a second.

        Raises
        ------
        RequestError
            `steps` is no whole number, or less than 1; `speed` is no finite number over 0.
        RefusedError
            out-of-range: the run has not so many steps.
        """
        if speed is not None and not (isinstance(speed, int | float | np.number) and 0 < speed < math.inf):
            raise RequestError(f"step(speed) takes a number over 0, the most steps a second; speed is {speed!r}.")
        count = _whole(steps) if steps is not None else 1 if until is None and not end else None
        what: dict[str, object] = {"steps": count, "end": end or None, "speed": speed}
        what["until"] = None if until is None else moment_text(words.plain(until))
        operation = await self._order("/step", what, wait, progress)
        if wait:
            await self._remote.warn_of_events()
        return operation

    async def play(self, speed: float | None = None) -> AsyncOperation:
        """Computes to the end of the run, or until `pause`; returns the operation at once."""
        return await self.step(end=True, speed=speed, wait=False)

    async def pause(self, *, wait: bool = True) -> AsyncOperation:
        """Stops at the end of the present step."""
        return await self._order("/pause", {}, wait)

    async def set(
        self,
        name: str,
        value: ArrayLike,
        *,
        box: words.Box | None = None,
        polygon: words.Polygon | None = None,
        cells: ArrayLike | None = None,
        units: str | None = None,
        level: int | str | None = None,
        operation: str = "set",
        when: words.Moment = "after",
        wait: bool | None = None,
    ) -> AsyncOperation:
        """Changes a variable: everywhere, or in a box, a polygon or some cells.

        Parameters
        ----------
        name
            Of a variable that may be set.
        value
            A number, or an array: a map of the grid, one value a cell of the region, or one of xarray, which goes by its coordinates.
        units
            Unit of the value, if it is not the variable's own; an array of xarray may carry it, and a different one is refused.
        level
            Number of one level, or its value with its unit, "850 hPa"; default: all levels of a variable that has some.
        operation
            "set", "scale" or "add".
        when
            "after" all that was ordered before, "now" at the end of the present step, or a step or date that is still to come.
        wait
            None: unless it is still to come.

        Returns
        -------
        AsyncOperation
            Its `result` has the number of cells and the sums before and after.

        Raises
        ------
        UnknownError
            There is no such variable.
        RefusedError
            It cannot be set, or value, unit or region do not fit; `allowed` has the accepted values.
        ModelError
            The value is no number or array of numbers, or a cell has none.
        """
        what = await self._change(await self._level_to_set(name, level, value), value, words.region(box, polygon, cells), units, operation)
        soon = when in ("after", "now") if isinstance(when, str) else False
        what["when"] = when if soon else words.at(when)
        return await self._order("/set", what, soon if wait is None else wait)

    async def add_event(
        self,
        name: str,
        value: ArrayLike,
        *,
        at: words.Moment | None = None,
        yearly: str | None = None,
        box: words.Box | None = None,
        polygon: words.Polygon | None = None,
        cells: ArrayLike | None = None,
        units: str | None = None,
        level: int | str | None = None,
        operation: str = "set",
        wait: bool = True,
    ) -> AsyncOperation:
        """Changes a variable before a future step or date (`at`), or every year on a month-day (`yearly`, "07-01").

        It is a part of the state: scenarios that branch off later have it, too. The rest as for `set`; `remove_event` takes its `id`.
        The `step` that finds an event of a date impossible, because a value would lie outside its limits, warns with the reason.

        Raises
        ------
        UnknownError, RefusedError
            As `set` does; the date lies outside the run, or has passed.
        """
        if (at is None) == (yearly is None):
            raise Mistake("Give at or yearly.")
        what = await self._change(await self._level_to_set(name, level, value), value, words.region(box, polygon, cells), units, operation)
        what["when"] = {"yearly": yearly} if at is None else words.at(at)
        event = await self._order("/events", what, wait)
        if at is not None:
            self._remote.events.add(event.id)
        return event

    async def remove_event(self, number: int, *, wait: bool = True) -> AsyncOperation:
        """Removes an event from this scenario."""
        self._remote.events.discard(number)
        return await self._remove(f"/events/{number}", wait)

    async def add_trigger(
        self, expression: str, action: str = "message", *, text: str = "", variable: str | None = None, wait: bool = True
    ) -> AsyncOperation:
        """Acts when an expression becomes true; the expression is evaluated after each step.

        Parameters
        ----------
        expression
            Such as "mean(water) < 20 and max(runoff) > 3": variables in their units, + - * / < > and or, mean, min, max, sum of all cells.
        action
            "pause" stops the scenario, "message" sends a message, "image" saves a map of `variable` and sends a message.
        text
            Text of the message.

        Raises
        ------
        RefusedError
            expression-invalid: `position` is the column.
        """
        what = {"expression": expression, "action": action, "text": text or None, "variable": variable}
        return await self._order("/triggers", what, wait)

    async def remove_trigger(self, number: int, *, wait: bool = True) -> AsyncOperation:
        """Removes a trigger from this scenario."""
        return await self._remove(f"/triggers/{number}", wait)

    async def checkpoint(self, *, pin: bool = False, wait: bool = True) -> AsyncOperation:
        """Writes a durable checkpoint after all earlier orders. pin: it is kept for ever."""
        return await self._order("/checkpoints", {"pin": pin}, wait)

    async def branch(
        self, name: str, *, at: words.Moment | None = None, set: Mapping[str, object] | None = None, wait: bool = True
    ) -> Self:
        """Makes a scenario from this one: at its present step, or at an earlier step or the end of a date.

        set: variable -> value, or -> {"value", "box", "polygon", "cells", "units", "operation"}, changed at once.

        Returns
        -------
        AsyncRun
            The run, seen from the new scenario.
        """
        changes = []
        for variable, given in (set or {}).items():
            said: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {"value": given}
            region = words.region(*(said.pop(key, None) for key in ("box", "polygon", "cells")))
            value, units, operation = said.pop("value", None), said.pop("units", None), said.pop("operation", "set")
            if said or value is None:
                wrong = next(iter(said), "value")
                raise Mistake(f'The change of "{variable}" has {"an unknown" if said else "no"} "{wrong}".')
            changes.append(await self._change(variable, value, region, units, operation))
        origin = {"scenario": self._scenario} | ({} if at is None else words.at(at))
        made = await self._remote.order("POST", "/scenarios", {"name": name, "from": origin, "set": changes}, self._scenario, wait)
        await self._remote.made(name)
        if wait:
            await made.wait()
            await self._wait_for_changes(made.id, name, len(changes))
        return type(self)(self._remote, name)

    async def rewind(self, to: words.Moment, *, wait: bool = True) -> AsyncOperation:
        """Goes back to a step, or to the end of a date. Later steps and orders stay in the scenario `name@n`."""
        return await self._order(f"/scenarios/{self._scenario}/rewind", words.at(to), wait, named=False)

    async def restart(self, *, wait: bool = True) -> AsyncOperation:
        """Goes back to the initial state."""
        return await self._order("/restart", {}, wait)

    async def terminate(self) -> None:
        """Ends the run on the server, with the role *admin*; its engine makes its state durable, and its files stay."""
        try:
            await self._remote.line.ask("DELETE", self._remote.path)
        except UnknownError as error:
            if error.code != "unknown-run":  # it was ended by this request, sent before
                raise

    def widget(self, variable: str = "") -> Any:
        """Refused here: `steppe.connect` gives a run that has a widget.

        Raises
        ------
        Mistake
            Always.
        """
        raise Mistake("A widget needs a run of steppe.connect: steppe.connect(address, token).widget(). steppe.connect_async has none.")

    # ---- parts --------------------------------------------------------------------------------------------------------------------------
    async def _order(
        self, path: str, what: Mapping[str, object], wait: bool, progress: bool | None = None, named: bool = True
    ) -> AsyncOperation:
        said = {key: value for key, value in what.items() if value is not None} | ({"scenario": self._scenario} if named else {})
        operation = await self._remote.order("POST", path, said, self._scenario, wait)
        return await operation.wait(progress) if wait else operation

    async def _remove(self, path: str, wait: bool) -> AsyncOperation:
        operation = await self._remote.order("DELETE", path, None, self._scenario, wait, {"scenario": self._scenario})
        return await operation.wait() if wait else operation

    async def _level_to_set(self, name: str, level: int | str | None, value: object) -> str:
        """The name of the level that is set: as it is asked for, or as an array of xarray says."""
        known = await self._remote.variable(name)
        asked = await self._remote.one_level(name, level)
        return level_of_array(value, name, known.levels.name, known.levels.values, asked) if known.levels else asked

    async def _change(self, name: str, value: Any, region: Mapping[str, object], units: str | None, operation: str) -> dict[str, object]:
        variable = await self._remote.variable(name)
        check_numbers(value, variable.name, variable.units)
        what: dict[str, object] = {"variable": name, "operation": operation, "region": region or "all"}
        units = unit_of(value, units, name)
        if np.ndim(value) == 0:
            what["value"] = number = float(value)
            if not np.isfinite(number):  # JSON has no such number
                raise Mistake(f'The value of "{name}" is {number:g}. Give a finite number.')
        elif variable.settable:
            what["upload"] = await self._remote.upload(await self._remote.places.packed(value, region, variable))
        else:
            what["value"] = 0.0  # the server says why it cannot be set
        return what | ({} if units is None else {"units": units})

    async def _wait_for_changes(self, after: int, scenario: str, count: int) -> None:
        """Waits for the changes of a new scenario, which are orders of their own."""
        if count:
            number = (await self.scenarios)[scenario].branch
            rows = [row for row in await self.log(after) if row["branch"] == number and row["kind"] == "set"][:count]
            for row in rows:
                told = OperationInfo(id=row["seq"], run=self.name, kind="set", state="queued")
                await (await AsyncOperation(self._remote, told, scenario).refresh()).wait()


def _whole(steps: Any) -> int:
    """A number of steps; raises `RequestError` where it is none."""
    steps = words.plain(steps)
    check_steps(steps, "steps")
    return int(steps)
