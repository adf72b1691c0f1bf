"""What of a run is on the disk and how it gets there: the store of results, checkpoints, how far it is. Rank 0 has it; all ranks write.

keep ──> every rank copies, then writes its tiles behind the run ──> seal_what_is_durable ──> finish
         the run goes on meanwhile                                    all ranks have written: a checkpoint, and progress.json
"""

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from steppe.engine.plan import Plan
from steppe.engine.rank_state import RankState
from steppe.engine.ranks import Ranks
from steppe.errors import Failure
from steppe.io import Checkpoint, Progress, RunFolder, Spent, create_store

ROOM = 1 << 20  # bytes that are free, at least, where a branch goes on for which the disk was full


@dataclass(frozen=True)
class _Keeping:
    """A checkpoint on its way to the disk. number: how many its run will have begun with it; begin: on the clock."""

    number: int
    aside: Path
    step: int
    applied: int
    date: str
    complete: bool
    records: dict[str, int]
    spent: Spent
    more: Mapping[str, Any]
    begin: float


class CheckpointManager:
    """Keeps one run, which the ranks compute.

    Parameters
    ----------
    folder
        Held for writing.
    plan
        The run.
    ranks, number
        The ranks, and the number of their states of it.
    """

    def __init__(self, folder: RunFolder, plan: Plan, ranks: Ranks, number: int) -> None:
        self.folder = folder
        self.seconds = 0.0
        """What the last checkpoint took from its beginning until it was durable."""
        self._plan, self._ranks, self._number = plan, ranks, number
        self._path: Path | None = None
        self._untold = False
        self._keeping: _Keeping | None = None
        self._begun = 0
        self.progress = Progress("running")
        """How far it is, as readers are told."""

    # ---- where it begins ------------------------------------------------------------------------------------------------------------
    def create(self) -> None:
        """Makes the store of a run that begins, and has all ranks begin it.

        Raises
        ------
        NoSpaceError, Failure
            The system refused.
        """
        self.folder.drop_output()
        self.folder.write_run(self._plan.run.as_toml())
        create_store(self.folder.output, self._state.outputs.groups, self._plan.provenance | {"steppe_run": self.folder.id})
        self._order("open", output=str(self.folder.output), checkpoint="")
        self.progress = Progress("running", 0, self._date(0))
        self.progress.write(self.folder.path)

    def go_on_from(self, checkpoint: Checkpoint) -> None:
        """Has all ranks go on from a checkpoint; what was written after it is removed.

        Raises
        ------
        DamagedError
            The store is not what was written.
        """
        state = "finished" if checkpoint.step >= self._plan.steps else "running"
        manifest = checkpoint.manifest
        spent, name = Spent(**manifest["spent"]), checkpoint.path.name
        self.progress = Progress(state, checkpoint.step, self._date(checkpoint.step), manifest["records"], name, spent)
        if state == "running":  # readers must not look for what is removed next
            self.progress.write(self.folder.path)
        self._order("open", output=str(self.folder.output), checkpoint=str(checkpoint.path))

    def go_on(self, step: int, records: Mapping[str, int]) -> None:
        """Tells readers that a run goes on from a step before which there are so many records; those after it will be removed."""
        readable = {key: min(count, self.progress.records.get(key, 0)) for key, count in records.items()}
        self.progress = Progress("running", step, self._date(step), readable, self.progress.checkpoint)
        self.progress.write(self.folder.path)

    # ---- checkpoints ----------------------------------------------------------------------------------------------------------------
    def keep(self, step: int, spent: Spent, applied: int | None = None, more: Mapping[str, Any] | None = None) -> str:
        """Begins a checkpoint of copies, so that the run continues meanwhile; gives the name that it will have.

        step: steps done. applied: the seq of the last action applied at this step, of a run that is steered; such a checkpoint has
        the same name for the same position. more: for the manifest.
        """
        if self._keeping:  # the last one is not written yet, and there is room for the copies of one
            self.finish()
        begin = time.monotonic()
        self._begun += 1
        outputs = self._state.outputs
        complete = step >= self._plan.steps and outputs.complete
        aside = Checkpoint.begin(self.folder.checkpoints, step, applied)
        records = dict(outputs.writer.records)
        self._keeping = _Keeping(self._begun, aside, step, applied or 0, self._date(step), complete, records, spent, more or {}, begin)
        self._order("keep", aside=str(aside))
        return aside.name.removesuffix(".tmp")

    def seal_what_is_durable(self) -> None:
        """Has a checkpoint of which all ranks have written their tiles sealed behind, with the records that can be read from now on."""
        keeping = self._keeping
        if keeping is None or self._ranks.said.kept < keeping.number:
            return
        self._keeping = None
        digests, contents, writer = self._order("collect"), self._state.contents, self._state.outputs.writer

        def seal() -> None:
            if keeping.complete:
                writer.mark_complete()
            step, date, records, spent = keeping.step, keeping.date, keeping.records, keeping.spent
            manifest = {
                "date": date,
                "calendar": self._plan.clock.calendar,
                "records": records,
                "spent": asdict(spent),
                "software": software(),
                "applied": keeping.applied,
                **keeping.more,
            }
            path = Checkpoint.seal(keeping.aside, contents, digests, manifest, self._plan.identity)
            progress = Progress("finished" if keeping.complete else "running", step, date, records, path.name, spent)
            progress.write(self.folder.path)
            Checkpoint.prune(path, needed=keeping.more.get("behind", [""])[0])
            self.progress = progress
            self._path, self._untold, self.seconds = path, True, time.monotonic() - keeping.begin

        writer.do(seal)

    def finish(self) -> Path:
        """Returns the folder of the checkpoint that was begun last, when it is durable. Raises as `wait` does."""
        self.wait()
        assert self._path is not None, "the writer has done what it was asked for"
        return self._path

    def wait(self) -> None:
        """Waits until all that was begun is durable.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be written; the checkpoint before is safe.
        """
        writer = self._state.outputs.writer
        writer.wait()  # the others sleep meanwhile: an order is waited for awake
        if self._keeping:
            self._order("wait")
            self.seal_what_is_durable()
            writer.wait()

    def tell(self, say: Callable[[Path], None]) -> None:
        """Calls `say` with a checkpoint that nobody was told of yet."""
        if self._untold and self._path:
            self._untold = False
            say(self._path)

    def leave(self, failure: Failure | None = None) -> None:
        """Says how the run was left; a checkpoint that is not durable is given up."""
        if self._keeping:
            shutil.rmtree(self._keeping.aside, ignore_errors=True)
        if self.progress.state != "running":
            return
        if failure is None:
            replace(self.progress, state="stopped").write(self.folder.path)
            return
        with suppress(Failure):  # the disk may still be full; the failure that ends the run is the one to tell
            replace(self.progress, state="failed", message=str(failure)).write(self.folder.path)

    @property
    def _state(self) -> RankState:
        return self._ranks.state(self._number)

    def _order(self, what: str, **arguments: object) -> dict[int, bytes]:
        found: dict[int, bytes] = self._ranks.order(self._number, what, **arguments)
        return found

    def _date(self, step: int) -> str:
        return self._plan.clock.begin(step)


def has_room(path: Path) -> bool:
    """Whether the disk of a run folder has room for two checkpoints, and at least for `ROOM` bytes."""
    newest = max((path / "checkpoints").glob("*"), default=None)
    size = sum(file.stat().st_size for file in newest.iterdir()) if newest and newest.is_dir() else 0
    try:
        with tempfile.TemporaryFile(dir=path) as probe:
            os.posix_fallocate(probe.fileno(), 0, max(2 * size, ROOM))
    except OSError:
        return False
    return True


@cache
def software() -> dict[str, str]:
    """What may decide the last bits of a result beside its inputs: versions of libraries, kind of processor."""
    return {**{name: version(name) for name in ("numpy", "llvmlite")}, "processor": platform.machine()}
