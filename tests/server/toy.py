"""A run in this process: the real journal, and a state of NumPy arrays that grows by one a step. What the server asks of a supervisor."""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from steppe.api import empty_frame, tell_missing
from steppe.api.query import LATEST, Along, MapQuery
from steppe.control import Command, CommandReceipt, Order, Refused
from steppe.control.engine.frame_source import FrameSource, at_once
from steppe.control.engine.series_source import SeriesSource
from steppe.control.server.channels import Channels
from steppe.control.server.journal import Journal
from steppe.control.server.live_series import AllSeries
from steppe.control.server.reader import JournalReader
from steppe.control.wire import Follow, Message, Outcome, Position, SeriesRows, Unfollow
from steppe.errors import GridError
from steppe.grid import Grid, as_plain
from steppe.server.request import Buffer
from steppe.service import uploads
from steppe.view import Span, extremes, fit_of, following, levels_of, png, scale_of

VARIABLES = {
    "green": ("state", "kg ha-1", 0.0, 20000.0, []),
    "temperature": ("state", "degC", -60.0, 60.0, []),
    "cover": ("derived", "1", 0.0, 1.0, ["green"]),
    "rain": ("forcing", "mm d-1", 0.0, 2000.0, []),
    "rate": ("parameter", "1", 0.0, 10.0, []),
}


def facts_of(grid: Grid, steps: int, dtype: str = "float32") -> dict[str, Any]:
    """What an engine would say of the run."""
    variables = [
        {
            "name": name,
            "dims": ["cell"],
            "units": units,
            "dtype": dtype,
            "role": role,
            "long_name": f"{name} of the toy",
            "standard_name": "",
            "low": low,
            "high": high,
            "initial": 0.0,
            "source": "made up",
            "cell_methods": "",
            "settable": role in ("state", "parameter"),
            "settable_by": by,
        }
        for name, (role, units, low, high, by) in VARIABLES.items()
    ]
    clock = {"start": "2001-01-01T00:00:00", "step": 86400.0, "calendar": "standard", "units": "days since 2001-01-01"}
    facts = {"model": "toy", "version": "1", "weather": "generated", "variables": variables, "clock": clock, "steps": steps}
    return {**facts, "grid": as_plain(grid)}


class _Values:
    """What an engine is asked for the values of a step."""

    def __init__(self, toy: "Toy") -> None:
        self._toy = toy

    def position(self, branch: int) -> Position:
        return self._toy.at[branch]

    def get(self, branch: int, query: MapQuery) -> tuple[dict[str, Any], Buffer]:
        assert query.along is not None
        return self._toy._along(branch, query, query.along)


class Toy:
    """One run. Orders are carried out when they are accepted; `slow` leaves that to `work`."""

    turned_away = 0

    def __init__(self, folder: Path, grid: Grid, steps: int = 365, name: str = "toy", slow: bool = False) -> None:
        self.folder, self.grid, self.name, self.slow = folder, grid, name, slow
        folder.mkdir(parents=True, exist_ok=True)
        self.journal, self.reader = Journal(folder / "journal.sqlite"), JournalReader(folder / "journal.sqlite")
        self.facts: dict[str, Any] | None = facts_of(grid, steps)
        self.steps = steps
        self.closed = False
        self.failure: Refused | None = None
        self.asked: list[MapQuery] = []
        self.state = {1: self._initial()}
        self.at = {1: Position(0, 0)}
        self.past: dict[tuple[int, int], dict[str, np.ndarray]] = {}
        self.forgotten: set[int] = set()  # steps that series do not have
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.channels = Channels(self)
        self.followed = AllSeries(self)
        self.following = SeriesSource(_Values(self), self._tell_followed, time.monotonic)
        self.showing = FrameSource(self, lambda message, body: self.channels.came(message, bytearray(body)), time.monotonic, at_once)

    def _tell_followed(self, message: Message, body: Buffer) -> None:
        assert isinstance(message, SeriesRows)
        self.followed.came(message, bytes(body))

    # ---- what is watched
    def position(self, branch: int) -> Position | None:
        return self.at.get(branch)

    def named(self, scenario: str) -> int | None:
        return next((each.id for each in self.journal.branches() if each.name == scenario), None)

    def send(self, message: Message, body: Buffer = b"") -> None:
        if isinstance(message, Follow | Unfollow):
            self.following.receive(replace(message, cells=bytes(body)) if isinstance(message, Follow) else message)
            return
        self.showing.receive(message)
        asyncio.get_running_loop().call_soon(self.show)

    def show(self) -> None:
        """As an engine does at ends of steps, and at rest now and then."""
        self.showing.poll(self.at, False)
        if self.channels._numbers and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(0.02, self._show_again)

    def _show_again(self) -> None:
        self._timer = None
        self.show()

    def frames(
        self, branches: Sequence[int], query: MapQuery, bits: int, span: Sequence[Any] | None
    ) -> tuple[list[Any], Callable[[], bytes]]:
        shown = [self.state[branch][query.name] for branch in branches]
        _, least, most = extremes(np.concatenate(shown))
        after = following(None if span is None else Span(*span), least, most)
        after = after._replace(fit=fit_of([levels_of(values, None, after, bits) for values in shown], after, bits))
        found = []
        for branch, values in zip(branches, shown, strict=True):
            rows, columns = self.grid.active.shape
            scale, offset = scale_of(after, bits)
            head = (138.0, -10.0, 2.5, float(scale), float(offset), 0.0, self.at[branch].step)
            content, levels = empty_frame(bits, rows, columns, head)
            levels[self.grid.order] = levels_of(values, None, after, bits)
            tell_missing(content, 0, 1)
            found.append(content.tobytes())
        return list(after), lambda: b"".join(found)

    def _initial(self) -> dict[str, np.ndarray]:
        ramp = np.arange(self.grid.n_cells, dtype=np.float32)
        return {name: ramp + np.float32(100 * number) for number, name in enumerate(VARIABLES)}

    # ---- orders
    def accept(self, order: Order, *more: Order) -> CommandReceipt:
        if self.failure:
            raise self.failure
        accepted = self.journal.accept(order, self.steps, time.time(), *more)
        if not accepted.again and not self.slow:
            self.work()
        return accepted

    def work(self) -> None:
        """Carries out what is waiting."""
        for branch in self.journal.branches():
            if branch.id not in self.state:
                parent = branch.parent or 1
                back = self.past.get((parent, branch.fork_step), self.state[parent])
                self.state[branch.id] = {name: values.copy() for name, values in back.items()}
                self.at[branch.id] = Position(branch.fork_step, 0)
                self.journal.end(branch.made_by, "done", branch.fork_step, {"branch": branch.id, "step": branch.fork_step})
            while (command := self.journal.first_unplaced(branch.id)) is not None and command.due in ("now", "after"):
                self.journal.pin(command.seq, self.at[branch.id].step)
            for command in self.journal.waiting("cancel", branch.id):
                self.journal.end(command.arguments["seq"], "cancelled", self.at[branch.id].step, {})
                self.journal.end(command.seq, "done", self.at[branch.id].step, {})
            for kind in ("pause", "skip", "checkpoint"):
                for command in self.journal.waiting(kind, branch.id):
                    self.journal.end(command.seq, "done", self.at[branch.id].step, {})
            self._advance(branch.id)
        self._news.set()
        self.following.poll(False)
        self.show()
        self.channels.ask()
        self.followed.ask()

    def _advance(self, branch: int) -> None:
        while True:
            step = self.at[branch].step
            for command in self.journal.placed(branch, self.at[branch]):
                if command.at_step == step and command.outcome is None:
                    self._apply(branch, command)
            if step >= self.journal.branch(branch).target:
                break
            for rule in self.journal.rules(branch):
                if rule.kind == "event" and rule.arguments.get("step") == step:
                    self._change(branch, rule.arguments["change"])
            self.past[branch, step] = {name: values.copy() for name, values in self.state[branch].items()}
            for values in self.state[branch].values():
                values += 1
            self.at[branch] = Position(step + 1, 0)
            self.following.take([branch])
            self.journal.seen(branch, step + 1)
        self.journal.reached(branch, self.at[branch].step)

    def _apply(self, branch: int, command: Command) -> None:
        detail = {"rule": command.seq} if command.kind != "set" else self._change(branch, command.arguments)
        self.at[branch] = Position(self.at[branch].step, command.seq)
        self.journal.applied(command.seq, self.at[branch].step, Outcome(True, detail, int(self.digest()[:15], 16)))

    def _change(self, branch: int, arguments: dict[str, Any]) -> dict[str, Any]:
        values = self.state[branch][arguments["variable"]]
        cells = self._file(arguments["cells"], "<u4") if arguments["cells"] else np.arange(self.grid.n_cells)
        given = self._file(arguments["upload"], "<f4") if arguments["upload"] else np.float32(arguments["value"])
        before = float(values[cells].sum())
        values[cells] = {"set": given, "scale": values[cells] * given, "add": values[cells] + given}[arguments["operation"]]
        return {"variable": arguments["variable"], "cells": len(cells), "before": before, "after": float(values[cells].sum())}

    def _file(self, name: str, dtype: str) -> np.ndarray:
        return np.frombuffer(uploads.read(self.folder, name), dtype)

    def digest(self) -> str:
        """Of all states."""
        found = hashlib.sha256()
        for branch, values in sorted(self.state.items()):
            found.update(f"{branch} {self.at[branch]}".encode())
            for array in values.values():
                found.update(array.tobytes())
        return found.hexdigest()

    # ---- questions
    async def get(self, scenario: str | int, query: MapQuery) -> tuple[dict[str, Any], Buffer]:
        self.asked.append(query)
        branch = self.journal.branch(scenario).id
        position = self.at[branch]
        if query.along:
            return self._along(branch, query, query.along)
        step = position.step if query.step is None else query.step
        state = self.state[branch] if step == position.step else self.past.get((branch, step))
        if state is None:
            raise Refused("not-computed", f"Step {step} is not kept.", allowed=[0, position.step])
        values = state[query.name]
        if query.box:
            try:
                self.grid.select({"box": list(query.box)})
            except GridError as error:
                raise Refused(error.code, str(error)) from None
        if query.chosen:
            values = values[np.frombuffer(query.chosen, "<u4")]
        elif query.box and query.packed:
            values = values[self.grid.select({"box": list(query.box)})]
        box = None
        if not query.packed:
            values = self.grid.unpack(values)
            if query.box:
                row, column = np.divmod(self.grid.order[self.grid.select({"box": list(query.box)})], values.shape[1])
                values = np.ascontiguousarray(values[row.min() : row.max() + 1, column.min() : column.max() + 1])
            if width := query.width:
                values = np.ascontiguousarray(values[:, :: max(1, values.shape[1] // width)][:, :width])
            box = [138.0, -30.0, 154.0, -10.0]
        dims = ["cell"] if query.packed else ["lat", "lon"]
        variable = next(each for each in (self.facts or {})["variables"] if each["name"] == query.name)
        date = str(np.datetime64("2001-01-01") + np.timedelta64(max(step - 1, 0), "D"))
        head = {"variable": query.name, "units": variable["units"], "dtype": "float32", "shape": list(values.shape), "dims": dims}
        head |= {
            "step": step,
            "seq": position.seq,
            "date": date,
            "box": box,
            "moved": values.nbytes,
        }
        if query.format == "png":
            levels = np.where(np.isfinite(values), np.nan_to_num(values) % 255, 0).astype(np.uint8)
            return head, png(levels, query.style or "batlow")
        return head, values.astype("<f4").tobytes()

    def _along(self, branch: int, query: MapQuery, along: Along) -> tuple[dict[str, Any], Buffer]:
        """At most 16 steps at once; steps in `forgotten` are not at hand."""
        cells, step = np.frombuffer(query.chosen, "<u4"), self.at[branch].step
        first, last = along.steps if along.steps != LATEST else (step, step)
        last = min(last, first + 15)
        rows = [(self.state[branch] if each == step else self.past[branch, each])[query.name][cells] for each in range(first, last + 1)]
        values = np.array(rows, "<f4")
        gone = [each for each in range(first, last + 1) if each in self.forgotten]
        values[[each - first for each in gone]] = np.nan
        if along.region:
            values = np.stack([values.mean(axis=1), values.min(axis=1), values.max(axis=1)], axis=1)
        missing = [[each, each, "The toy has forgotten it."] for each in gone]
        units = next(each["units"] for each in (self.facts or {})["variables"] if each["name"] == query.name)
        head = {"units": units, "dtype": "<f4", "shape": list(values.shape), "last": last, "missing": missing}
        return head, values.tobytes()

    def scenarios(self) -> list[dict[str, Any]]:
        return [
            {
                "name": each.name,
                "branch": each.id,
                "step": self.at[each.id].step,
                "seq": self.at[each.id].seq,
                "target": each.target,
                "state": "ready",
                "version": self.journal.version(each.id),
                "parent": each.parent,
            }
            for each in self.journal.branches()
            if each.id in self.at
        ]

    def scenario(self, name: str) -> dict[str, Any] | None:
        return next((each for each in self.scenarios() if each["name"] == name), None)

    def info(self) -> dict[str, Any]:
        state = "failed" if self.failure else "archived" if self.closed else "ready"
        about = {"engine": {"epoch": 1, "pid": 1, "host": "here"}, "arrays": {"arrays": 2.0, "bytes": 1.5e6}}
        return {"run": self.name, "state": state, "deaths": 0, **about, "scenarios": self.scenarios()}

    def operation(self, seq: int) -> dict[str, Any] | None:
        command = self.journal.command(seq)
        if command is None:
            return None
        scenario = self.journal.branch(command.branch).name
        found = {"id": seq, "run": self.name, "kind": command.kind, "scenario": scenario, "state": command.outcome or "queued"}
        return found | {"at_step": command.at_step, "target": command.target, "result": command.detail}

    async def settled(self, seq: int, seconds: float) -> dict[str, Any] | None:
        end = time.monotonic() + seconds
        while (found := self.operation(seq)) and found["state"] == "queued" and time.monotonic() < end:
            await asyncio.sleep(0.01)
        return found

    async def changes(self) -> AsyncGenerator[None]:
        while True:
            self._news.clear()
            yield
            await self._news.wait()

    async def happenings(self, after: int) -> AsyncGenerator[tuple[int, dict[str, Any]]]:
        async for _ in self.changes():
            for number, what in self.journal.emissions(after):
                after = number
                yield number, what
            yield 0, self.info()

    def rules(self, scenario: str) -> list[tuple[Command, list[dict[str, Any]]]]:
        branch = self.journal.branch(scenario).id
        return [(each, self.journal.effects(branch, f"{each.kind}:{each.seq}")) for each in self.journal.rules(branch)]

    def checkpoints(self, newest: bool = False) -> list[dict[str, Any]]:
        return self.journal.checkpoints()

    @property
    def process(self) -> "Toy":
        return self

    def launch(self) -> None:
        self.failure = None

    def close(self, keep: bool = True) -> None:
        self.closed = True
        self.reader.close()
        self.journal.close()
