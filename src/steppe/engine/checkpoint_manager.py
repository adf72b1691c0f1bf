"""The run folder of a branch: its store of results, its checkpoints and its progress. Rank 0 manages it; all ranks write.

keep ──> every rank copies, then writes its tiles behind the run ──> seal_what_is_durable ──> finish
         the run continues meanwhile                                  all tiles are durable: a checkpoint, and progress.json
"""

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
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

ROOM = 1 << 20  # free bytes, at least, with which a branch continues after a full disk


@dataclass(frozen=True)
class _Keeping:
    """A checkpoint on its way to the disk. number: of checkpoints that were begun, with this one; begin: time of the clock [s].

    progress: of the branch, once the checkpoint is durable.
    """

    number: int
    aside: Path
    progress: Progress
    manifest: Mapping[str, Any]
    begin: float


class CheckpointManager:
    """Writes the folder of one branch.

    Parameters
    ----------
    folder
        Locked for writing.
    plan
        The run.
    ranks, number
        The ranks, and the number of their states of the branch.
    """

    def __init__(self, folder: RunFolder, plan: Plan, ranks: Ranks, number: int) -> None:
        self.folder = folder
        self.seconds = 0.0
        """Seconds of the last checkpoint, from its begin until it was durable."""
        self._plan, self._ranks, self._number = plan, ranks, number
        self._path: Path | None = None
        self._untold = False
        self._keeping: _Keeping | None = None
        self._begun = 0
        self.progress = Progress("running")
        """The progress that readers of the folder see."""

    # ---- where it begins ------------------------------------------------------------------------------------------------------------
    def create(self) -> None:
        """Makes the store of results, and begins the branch on all ranks at its initial state.

        Raises
        ------
        NoSpaceError, Failure
            The folder cannot be written.
        """
        self.folder.drop_output()
        self.folder.write_run(self._plan.run.as_toml())
        create_store(self.folder.output, self._state.outputs.groups, self._plan.provenance | {"steppe_run": self.folder.id})
        self._order("open", output=str(self.folder.output), checkpoint="")
        self.go_back(None)

    def go_on_from(self, checkpoint: Checkpoint) -> None:
        """Begins the branch on all ranks at a checkpoint; later results are removed.

        Raises
        ------
        DamagedError
            The store is not what was written.
        """
        self.progress = self._progress_at(checkpoint)
        if self.progress.state == "running":  # readers must not look for what is removed next
            self._report(self.progress)
        self._order("open", output=str(self.folder.output), checkpoint=str(checkpoint.path))

    def go_back(self, checkpoint: Checkpoint | None) -> None:
        """Tells readers that the branch begins again at a checkpoint, None: at the initial state. Then later ones may be removed."""
        self._report(self._progress_at(checkpoint) if checkpoint else Progress("running", 0, self._date(0)))

    def _progress_at(self, checkpoint: Checkpoint) -> Progress:
        state, step = "finished" if checkpoint.step >= self._plan.steps else "running", checkpoint.step
        spent = Spent(**checkpoint.manifest["spent"])
        return Progress(state, step, self._date(step), checkpoint.manifest["records"], checkpoint.path.name, spent)

    def go_on(self, step: int, records: Mapping[str, int]) -> None:
        """Tells readers that the branch continues at a step with so many records; later records will be removed."""
        readable = {key: min(count, self.progress.records.get(key, 0)) for key, count in records.items()}
        self._report(Progress("running", step, self._date(step), readable, self.progress.checkpoint))

    def _report(self, progress: Progress) -> None:
        """Shows readers of the folder a progress."""
        progress.write(self.folder.path)
        self.progress = progress

    # ---- checkpoints ----------------------------------------------------------------------------------------------------------------
    def keep(self, step: int, spent: Spent, applied: int | None = None, more: Mapping[str, object] | None = None) -> str:
        """Begins a checkpoint made of copies, so that the run continues meanwhile; returns its name.

        step: steps done. applied: the seq of the last action at this step, of a steered run; the same position has the same name.
        more: for the manifest.
        """
        if self._keeping:  # there is memory for the copies of one checkpoint
            self.finish()
        begin, outputs = time.monotonic(), self._state.outputs
        self._begun += 1
        state = "finished" if step >= self._plan.steps and outputs.complete else "running"
        aside = Checkpoint.begin(self.folder.checkpoints, step, applied)
        name = aside.name.removesuffix(".tmp")
        progress = Progress(state, step, self._date(step), dict(outputs.writer.records), name, spent)
        manifest = {
            "date": progress.date,
            "calendar": self._plan.clock.calendar,
            "records": progress.records,
            "spent": asdict(spent),
            "software": software(),
            "applied": applied or 0,
            **(more or {}),
        }
        self._keeping = _Keeping(self._begun, aside, progress, manifest, begin)
        self._order("keep", aside=str(aside))
        return name

    def seal_what_is_durable(self) -> None:
        """Seals a checkpoint behind the run once all ranks have written their tiles; readers then see its records."""
        keeping = self._keeping
        if keeping is None or self._ranks.consensus.kept < keeping.number:
            return
        self._keeping = None
        digests, contents, writer = self._order("collect"), self._state.contents, self._state.outputs.writer

        def seal() -> None:
            self.folder.expect_in_place()
            if keeping.progress.state == "finished":
                writer.mark_complete()
            path = Checkpoint.seal(keeping.aside, contents, digests, keeping.manifest, self._plan.identity)
            self._report(keeping.progress)
            Checkpoint.prune(path, needed=keeping.manifest.get("behind", [""])[0])
            self._path, self._untold, self.seconds = path, True, time.monotonic() - keeping.begin

        writer.do(seal)

    def finish(self) -> Path:
        """Waits until the checkpoint that was begun last is durable; returns its folder. Raises as `wait` does."""
        self.wait()
        assert self._path is not None, "the writer has sealed it"
        return self._path

    def wait(self) -> None:
        """Waits until all writes that were begun are durable.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be written; the checkpoint before is safe.
        """
        writer = self._state.outputs.writer
        writer.wait()  # before the order, in which the other ranks would wait awake
        if self._keeping:
            self._order("wait")
            self.seal_what_is_durable()
            writer.wait()

    def tell(self, say: Callable[[Path], None]) -> None:
        """Reports the newest checkpoint to `say`, once."""
        if self._untold and self._path:
            self._untold = False
            say(self._path)

    def leave(self, failure: Failure | None = None) -> None:
        """Writes how the run ended; removes a checkpoint that is not durable."""
        if self._keeping:
            shutil.rmtree(self._keeping.aside, ignore_errors=True)
        if self.progress.state != "running":
            return
        with suppress(Failure) if failure else nullcontext():  # the disk may still be full; `failure` is the one to report
            self.folder.expect_in_place()
            state, message = ("failed", str(failure)) if failure else ("stopped", "")
            replace(self.progress, state=state, message=message).write(self.folder.path)

    @property
    def _state(self) -> RankState:
        return self._ranks.state(self._number)

    def _order(self, what: str, **arguments: object) -> dict[int, bytes]:
        found: dict[int, bytes] = self._ranks.order(self._number, what, **arguments)
        return found

    def _date(self, step: int) -> str:
        return self._plan.clock.begin(step)


def has_room(path: Path) -> bool:
    """True if the disk of a run folder has room for two checkpoints, and for at least `ROOM` bytes."""
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
    """Versions of libraries and kind of processor, which may decide the last bits of a result."""
    return {**{name: version(name) for name in ("numpy", "llvmlite")}, "processor": platform.machine()}
