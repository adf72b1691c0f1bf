"""The feed of a run: its events as texts for all viewers. Each text is encoded once; the newest are kept."""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import msgspec

from steppe.api import PACKED_MAGIC, PROTOCOL
from steppe.api.documents import CheckpointStatus, RunFacts, ScenarioStatus
from steppe.control.server.channels import View
from steppe.server.live.line import BINARY, TEXT, message_of
from steppe.server.live.ranges import Ranges
from steppe.service.moments import date_of

if TYPE_CHECKING:
    from steppe.server.context import ServerContext

KEPT = 200  # texts; a viewer that is farther behind begins anew
ROUND = 0.1  # [s] between two looks at a run
SELDOM = 1.0  # [s] at least between two messages of progress
CROWD = 200  # of such messages that are sent in a second, at most: frames have the step, too
MOVING = ("step", "at", "seq", "date", "kept")  # of a scenario


async def feed_of(context: ServerContext, run: str) -> Feed:
    """The feed of a run, one for all its viewers."""
    if not _there(context, run):
        ranges = await asyncio.to_thread(Ranges, context.run(run).folder)
        if not _there(context, run):  # another viewer may have come meanwhile
            context.feeds[run] = Feed(context, run, ranges)
    return context.feeds[run]


def _there(context: ServerContext, run: str) -> bool:
    return run in context.feeds and not context.feeds[run].over


TOLD = ("model", "title", "steps", "clock", "variables", "parameters", "given", "outputs", "planned")  # facts of the run


class Feed:
    """The feed of one run, as long as it has listeners."""

    def __init__(self, context: ServerContext, run: str, ranges: Ranges) -> None:
        self._context, self.run, self._ranges = context, run, ranges
        self.count = 0
        """Of all texts that there were."""
        self.over = False
        self._texts: deque[bytes] = deque(maxlen=KEPT)
        self._listeners: set[Callable[[], None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._known = False  # what the run is
        self._event = 0  # the last that was reported
        self._info: dict[str, object] = {}
        self._progress: list[dict[str, object]] = []
        self._seldom_at, self._timer = 0.0, cast(asyncio.TimerHandle | None, None)
        self._last, self._open = 0, list[int]()  # commands: the last, and those that are not over
        self._checkpoints: list[CheckpointStatus] = []
        self._kept: dict[str, list[int]] = {}
        self._viewers = 0  # as reported

    def listen(self, tell: Callable[[], None]) -> None:
        """Adds a listener; `tell` is called at each new text."""
        self._listeners.add(tell)
        if self._task is None:
            self._begin()
            self._task = asyncio.create_task(self._follow())
        self._look_soon()

    def leave(self, tell: Callable[[], None]) -> None:
        """Removes a listener."""
        self._listeners.discard(tell)
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None
        self._look_soon()

    def _look_soon(self) -> None:
        """Reports the number of viewers, also while the run rests."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(self._seldom_at, self._look_later)

    def after(self, count: int) -> list[bytes] | None:
        """The texts after a number; None when they are no longer kept."""
        missing = self.count - count
        return None if missing > len(self._texts) else [self._texts[i] for i in range(len(self._texts) - missing, len(self._texts))]

    # ---- hello --------------------------------------------------------------------------------------------------------------------------
    def hello(self, name: str, role: str, *, packed: bool) -> bytes | None:
        """The first message for a viewer; None until an engine has described the run."""
        facts = self._context.run(self.run).facts
        if facts is None:
            return None
        grid = {key: value for key, value in facts["grid"].items() if not key.startswith("cell_")}
        content = msgspec.json.encode(
            {
                "type": "hello",
                "protocol": PROTOCOL,
                "run": self.run,
                **{key: facts.get(key) for key in TOLD},
                "name": name,
                "role": role,
                "read_only": self._context.read_only,
                "steers": self._steers(),
                "info": self._context.info(self.run),
                "forcing": _forcing(facts),
                "grid": {**grid, "crs": grid.get("crs", {"grid_mapping_name": "latitude_longitude"}), "rows": "north to south"},
                "kept": _kept(self._context.run(self.run).info()["scenarios"]),
                "checkpoints": self._context.run(self.run).checkpoints(newest=True),
                "ranges": self._ranges.known,
                "viewers": len(self._listeners),
                "event": self._event,
            }
        )
        return message_of(PACKED_MAGIC + zlib.compress(content, 1), BINARY) if packed else message_of(content, TEXT)

    def info(self) -> bytes:
        """The state of the run."""
        return _text({"type": "info", **self._context.info(self.run)})

    def _steers(self) -> dict[str, object] | None:
        """The client of the last order."""
        last = self._context.run(self.run).journal.command(self._last)
        return {"who": last.who, "kind": last.kind, "id": last.seq, "at": last.accepted_at} if last else None

    # ---- what happens -------------------------------------------------------------------------------------------------------------------
    def _begin(self) -> None:
        """Notes the state that the hello text has."""
        run = self._context.run(self.run)
        self._last, self._open, self._known = run.journal.last, run.journal.unfinished(), run.facts is not None
        self._info, self._progress = self._stripped(self._context.info(self.run))
        self._checkpoints = run.checkpoints(newest=True)
        self._kept = _kept(run.info()["scenarios"])
        run.channels.fitted = self._fitted

    def _fitted(self, view: View, fit: Sequence[float]) -> None:
        """Reports new ranges of colours, to each viewer before their frame."""
        if news := self._ranges.widen(view, fit):
            self._tell({"type": "ranges", "ranges": news})

    async def _follow(self) -> None:
        old = True  # of the events
        async with aclosing(self._context.run(self.run).happenings(0)) as following:
            async for number, what in following:
                if number:
                    self._event = number
                    if not old:
                        self._tell({"type": "event", "number": number, **what})
                    continue
                old = False
                self._look()
                await asyncio.sleep(ROUND)
        self.over = True
        self._call()

    def _look(self) -> None:
        """Reports all changes."""
        run = self._context.runs.get(self.run)
        if run is None:
            return
        if not self._known and run.facts is not None:
            self._known = True
            self._call()  # viewers that wait for hello
        self._look_at_orders()
        info = self._context.info(self.run)
        stripped, progress = self._stripped(info)
        if stripped != self._info:
            self._info, self._progress = stripped, progress
            self._tell({"type": "info", **info})
        loop = asyncio.get_running_loop()
        if loop.time() >= self._seldom_at:
            self._seldom_at = loop.time() + max(SELDOM, len(self._listeners) / CROWD)
            self._look_at_what_moves(progress)
        else:
            self._look_soon()

    def _look_later(self) -> None:
        self._timer = None
        if self._task is not None:
            self._look()

    def _look_at_what_moves(self, progress: list[dict[str, object]]) -> None:
        run = self._context.run(self.run)
        if progress != self._progress:
            self._progress = progress
            self._tell({"type": "progress", "scenarios": progress})
        if (found := run.checkpoints(newest=True)) != self._checkpoints:
            self._checkpoints = found
            self._tell({"type": "checkpoints", "checkpoints": found})
        kept = _kept(run.info()["scenarios"])
        if news := {name: span for name, span in kept.items() if self._kept.get(name, [None])[0] != span[0]}:
            self._tell({"type": "kept", "kept": news})
        self._kept = kept
        if len(self._listeners) != self._viewers:
            self._viewers = len(self._listeners)
            self._tell({"type": "viewers", "viewers": self._viewers})

    def _stripped(self, info: Mapping[str, Any]) -> tuple[dict[str, object], list[dict[str, object]]]:
        """The state without the members that change at every step; and these."""
        scenarios = [msgspec.json.decode(each) for each in info["scenarios"]]
        resting = [{key: value for key, value in each.items() if key not in MOVING} for each in scenarios]
        moving = [{key: each.get(key) for key in ("name", "branch", *MOVING, "target")} for each in scenarios]
        return {**info, "waited": None, "scenarios": resting}, moving

    def _look_at_orders(self) -> None:
        run = self._context.run(self.run)
        for command in run.journal.commands(self._last):
            self._last = command.seq
            self._open.append(command.seq)
            self._tell({"type": "ordered", **(run.operation(command.seq) or {}), "who": command.who})
        before, self._open = self._open, run.journal.unfinished(self._open)
        for seq in sorted({*before} - {*self._open}):
            ended = run.journal.command(seq)
            self._tell({"type": "command", **(run.operation(seq) or {}), "who": ended.who if ended else ""})

    def _tell(self, what: Mapping[str, object]) -> None:
        self._texts.append(_text(what))
        self.count += 1
        self._call()

    def _call(self) -> None:
        for tell in [*self._listeners]:
            tell()


def _text(what: Mapping[str, object]) -> bytes:
    return message_of(msgspec.json.encode(what), TEXT)


def _kept(scenarios: Iterable[ScenarioStatus]) -> dict[str, list[int]]:
    """The first and last kept step of each scenario."""
    return {each["name"]: [each["kept"], each["step"]] for each in scenarios if each.get("kept") is not None}


def _forcing(facts: RunFacts) -> dict[str, str | None] | None:
    first, last = date_of(1, facts), date_of(facts["steps"], facts)
    return None if first is None else {"first": first, "last": last}
