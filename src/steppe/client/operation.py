"""An order that was accepted, and its outcome."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from steppe.api import OperationInfo as Told
from steppe.api.documents import JournalRow
from steppe.client.progress import Bar
from steppe.client.refusals import EngineFailedError, raised
from steppe.html_summary import html_summary

if TYPE_CHECKING:
    from steppe.client.remote import Remote

OVER = ("done", "failed", "cancelled")
HELD = 1  # [s] that a reply may be held back while an order is carried out


def told_of(row: JournalRow, run: str) -> Told:
    """The state of an order, from its row of the journal. One that is not over counts as queued: the journal has no progress."""
    problem = row["detail"] if row["outcome"] in ("failed", "cancelled") else None
    steps = {"done": row["ended_step"], "total": row["target"]}
    return Told(id=row["seq"], run=run, kind=row["kind"], state=row["outcome"] or "queued", **steps, result=row["detail"], problem=problem)


class AsyncOperation:
    """An order in the journal: it is carried out once, through any crash.

    id, kind, state (queued, running, done, failed, cancelled), done and total (steps), result: as they were last heard of, by `wait`,
    `refresh` or the newest map of `watch`.
    """

    def __init__(self, remote: "Remote", told: Told, scenario: str = "") -> None:
        self._remote, self._told, self.scenario = remote, told, scenario

    @property
    def id(self) -> int:
        """Its number in the journal."""
        return self._told.id

    @property
    def kind(self) -> str:
        """Kind of the order: step, set, checkpoint, branch, rewind ..."""
        return self._told.kind

    @property
    def state(self) -> str:
        """queued, running, done, failed or cancelled."""
        return self._told.state

    @property
    def is_over(self) -> bool:
        """Whether it is done, failed or cancelled."""
        return self._told.state in OVER

    @property
    def result(self) -> Any:
        """The result of a finished order: of a change the sums before and after, of a checkpoint its name and size."""
        return self._told.result

    @property
    def problem(self) -> Any:
        """Why it failed or was cancelled, with `code` and `text`; `by`, `kind` and `who` name the command that cancelled it."""
        return self._told.problem

    def part(self) -> float | None:
        """The share that is done, 0 to 1; None where it is not known."""
        if self.is_over:
            return 1.0
        told = self._told
        return told.done / told.total if told.done is not None and told.total else None

    @property
    async def progress(self) -> float | None:
        """The share that is done now, 0 to 1; None where it is not known."""
        await self.refresh()
        return self.part()

    async def refresh(self, wait: int = 0) -> "AsyncOperation":
        """Asks for its state; waits `wait` seconds at most until it is over."""
        if not self.is_over:
            path = f"{self._remote.path}/operations/{self.id}"
            reply = await self._remote.line.ask("GET", path, headers={"prefer": f"wait={wait}"})
            self._told = msgspec.json.decode(reply.content, type=Told)
        return self

    async def wait(self, progress: bool | None = None) -> "AsyncOperation":
        """Waits until it is over, through crashes of the engine and of the server.

        progress: whether a bar is shown; None: in a terminal or a notebook.

        Raises
        ------
        RefusedError
            It failed and changed nothing.
        EngineFailedError
            The engine gave up.
        """
        with Bar(f"{self.kind} {self.scenario}".strip(), progress) as bar:
            while not self.is_over:
                await self.refresh(HELD)
                if not self.is_over:
                    info = await self._remote.info(look=False)
                    if info.problem and info.state == "failed":
                        raise raised({"code": "engine-failed", **info.problem})
                    if self.problem:
                        raise EngineFailedError(self.problem["text"], self.problem)
                    bar.tell(self._told.done, self._told.total, "" if info.state == "stepping" else info.state)
        if self.state == "cancelled":
            await self._remote.learn_of_triggers(self.scenario, self.id)
        if self.state == "failed":
            raise raised(self.problem if isinstance(self.problem, Mapping) else {"text": f"Command {self.id} failed."})
        return self

    async def cancel(self) -> "AsyncOperation":
        """Cancels it. A computation stops at the end of its step; finished work is not undone: that is a rewind.

        Raises
        ------
        RefusedError
            already-finished: it is over.
        """
        await self._remote.order("DELETE", f"/operations/{self.id}", None, self.scenario or "main")
        return await self.refresh(HELD)

    def _steps(self) -> str:
        """How many of its steps are done, "" where that is not known."""
        done, total = self._told.done, self._told.total
        return f"{done:,} of {total:,}" if done is not None and total is not None else ""

    def __repr__(self) -> str:
        steps = f", {self._steps()} steps" if self._steps() else ""
        return f"<{type(self).__name__.removeprefix('Async')} {self.id}: {self.kind} of {self.scenario or 'main'}, {self.state}{steps}>"

    def _repr_html_(self) -> str:
        facts = {"scenario": self.scenario or "main", "state": self.state}
        if self._steps():
            facts["steps"] = self._steps()
        if isinstance(self.result, Mapping):
            facts |= {str(name): str(value) for name, value in self.result.items()}
        if self.problem:
            facts["problem"] = str(self.problem.get("text", self.problem))
        return html_summary(f"{self.kind} ({self.id})", facts, self.part())
