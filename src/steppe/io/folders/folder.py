"""The folder of a run: its files, its lock and its progress.

queensland/
  identity.json      digests of model, parameters, grid, forcing: they decide the results
  run.toml           as it was started
  output.zarr        maps and series
  checkpoints/       the newest few
  progress.json      how many records can be read, and the state of the run; replaced whole
  costs.json         the cost of cells as many ranks measured it, for the next session
  log.jsonl          events, a line each
  lock               held while a process writes here
  branches/<name>/   a run folder each: what-if runs that share the output of the time before
"""

import errno
import os
import re
import shutil
import socket
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType

from steppe.control.orders import JOURNAL
from steppe.errors import DamagedError, Failure, FolderError
from steppe.files import LockedError, lock, place, writing
from steppe.io.checkpoints.checkpoint import Checkpoint
from steppe.io.folders.run_log import RunLog
from steppe.io.folders.run_progress import Progress
from steppe.io.identity import Identity, check_identity, run_id
from steppe.io.output.store import mark
from steppe.io.sealed import read_sealed, write_sealed
from steppe.io.shard import write_durable

OWN = (
    "identity.json",
    "run.toml",
    "output.zarr",
    "output.zarr.json",
    "checkpoints",
    "progress.json",
    "costs.json",
    "log.jsonl",
    "parent.json",
    "ensemble.json",
    "branches",
    JOURNAL,
)
BRANCH = re.compile(r"[0-9A-Za-z][-\w. ]{0,63}")  # name of one
JOURNALS = re.compile(r"journal-[1-9][0-9]*\.sqlite|journal\.sqlite-(wal|shm|refused)")  # former ones, and left-overs of a server
TABLES = ("run", "branch", "command", "emission")  # that tell a journal from another data base
LOCK = "lock"
SERVED = (
    JOURNAL,
    "door.json",
    "engine.",
    "server.",
    "uploads",
    "status.json",
    "tokens.json",
    "run.toml",
)  # beginnings of files that a server may put there first


class RunFolder:
    """A run folder held for writing, by one process; use it in a `with` statement.

    Parameters
    ----------
    path
        Made when it is not there.
    identity
        The properties that decide the results. A folder with another identity is refused.
    fresh
        Removes the files of an earlier run.

    Raises
    ------
    FolderError
        The folder is in use, belongs to another run, or holds foreign files.
    """

    def __init__(self, path: Path, identity: Identity, fresh: bool = False) -> None:
        self.path = path
        self.output = path / "output.zarr"
        self.checkpoints = path / "checkpoints"
        check_place(path)
        with writing(path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _locked(path / LOCK, run_id(identity))
        self._held = os.stat(path)
        try:
            if fresh:
                with writing(path):
                    self._remove_own()
            self._identify(identity)
            self.log = RunLog(path)
        except BaseException:
            self.close()
            raise

    def __fspath__(self) -> str:
        """The path, so that `steppe.open` and `os` take a folder for it."""
        return str(self.path)

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Releases the lock."""
        os.close(self._lock)

    def expect_in_place(self) -> None:
        """Raises `Failure` if the folder was moved away or removed: a write would make another one in its place."""
        if self.path.is_dir() and os.path.samestat(os.stat(self.path), self._held):
            return
        now = Path(os.readlink(f"/proc/self/fd/{self._lock}")).parent
        if now.is_dir() and os.path.samestat(os.stat(now), self._held):
            raise Failure(f'"{self.path}" was moved to "{now}" while the run was open. Move it back, then continue the run.')
        raise Failure(f'"{self.path}" was removed while the run was open. Begin the run again.')

    @property
    def id(self) -> str:
        """The run id: made of the identity, and for a branch also of the step and run that it leaves."""
        return _id_of(self.path)

    def write_run(self, text: str) -> None:
        """Stores the run file as it was started."""
        write_durable(self.path / "run.toml", text.encode())

    def keep_costs(self, costs: Mapping[str, object]) -> None:
        """Stores the cost of cells for the next session."""
        self.expect_in_place()
        write_sealed(self.path / "costs.json", costs)

    def drop_output(self) -> None:
        """Removes the store of a start that was killed before its first checkpoint."""
        with writing(self.output):
            if self.output.exists():
                shutil.rmtree(self.output)

    def branch(self, name: str, checkpoint: Checkpoint) -> Path:
        """Makes `branches/<name>`, a run folder that goes on from a checkpoint of this one; output files are shared by hard links.

        The branch cuts its output back when it starts. Files are replaced, never changed, so neither changes the other's.

        Raises
        ------
        FolderError
            There is a branch of this name, or it is none, or a number in a run that was served.
        """
        if not isinstance(name, str) or not BRANCH.fullmatch(name) or name.endswith(".tmp"):
            raise FolderError(
                f"{name!r:.80} is no name of a branch. Write 1 to 64 letters, digits, _ - . and blanks, a letter or digit first, "
                'and not ".tmp" last.'
            )
        if name.isdecimal() and (self.path / JOURNAL).exists():
            raise FolderError(f'"{self.path}" was served, and numbers name scenarios of the server, not "{name}". Write a letter, too.')
        path = self.path / "branches" / name
        if path.exists():
            raise FolderError(f'"{path}" exists already. Choose another name for the branch.')
        here, manifest = checkpoint.path, checkpoint.manifest
        progress = Progress("stopped", checkpoint.step, str(manifest.get("date", "")), manifest.get("records", {}), here.name)
        aside = self._aside(path, self.path, self.id, progress)
        with writing(path):
            for name in {here.name, checkpoint.behind or here.name}:
                if (self.checkpoints / name).is_dir():
                    _link(self.checkpoints / name, aside / "checkpoints" / name)
            if (self.path / "uploads").is_dir():  # orders of the parent may name them
                _link(self.path / "uploads", aside / "uploads")
        os.sync()  # links live in many folders; all at once is quicker than each
        with writing(path):
            place(aside, path)
        return path

    def fork(self, path: Path, parent: Path, parent_id: str, progress: Progress, rows: Mapping[str, int]) -> None:
        """Makes `path`, a run folder without a checkpoint yet, whose store shares the first whole shards of this one's.

        Nothing is durable before the first checkpoint. A folder that was at `path` is removed.

        Parameters
        ----------
        parent, parent_id
            The run that it forks from, at the step of `progress`: its folder, which need not be there, and its run id.
        progress
            Its records that can be read.
        rows
            Path of an array in the store -> how many rows of shards it shares.
        """
        aside = self._aside(path, parent, parent_id, progress, rows)
        with writing(path):
            shutil.rmtree(path, ignore_errors=True)
            place(aside, path, durable=False)

    def _aside(self, path: Path, parent: Path, parent_id: str, progress: Progress, rows: Mapping[str, int] | None = None) -> Path:
        """A folder beside `path` with all of a branch but its checkpoints. rows: None for all rows."""
        aside = path.with_name(path.name + ".tmp")
        shutil.rmtree(aside, ignore_errors=True)
        with writing(path):
            _link(self.output, aside / "output.zarr", rows)
            for file in ("identity.json", "run.toml"):
                if (self.path / file).exists():
                    shutil.copyfile(self.path / file, aside / file)
        step = progress.step
        write_sealed(aside / "parent.json", {"run": os.path.relpath(parent, path), "id": parent_id, "step": step})
        mark(aside / "output.zarr", steppe_run=_id_of(aside), steppe_parent_run=parent_id, steppe_parent_step=step)
        progress.write(aside)
        return aside

    def _identify(self, identity: Identity) -> None:
        path = self.path / "identity.json"
        try:
            found = read_identity(self.path)
        except FileNotFoundError:
            write_sealed(path, identity)
            return
        check_identity(self.path, found, identity)

    def _remove_own(self) -> None:
        for path in [*self.path.iterdir()]:
            if JOURNALS.fullmatch(path.name) and (path.suffix != ".sqlite" or _is_journal(path)):
                path.unlink()
        for name in reversed(OWN):  # the identity last: until then it marks the folder as a run folder
            for path in (self.path / name, self.path / f"{name}.tmp"):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)


def check_place(path: Path, identity: Identity | None = None) -> None:
    """Checks that a run folder is or can be made at a path. identity: of the run, which a folder that is there must have.

    Raises
    ------
    FolderError
        There or above it is a file, or a folder of other things or of another run, or one that takes no files.
    """
    there = next(each for each in (path, *path.parents) if each.exists())
    if not there.is_dir():
        raise FolderError(f'"{there}" is a file, expected a folder. Choose another folder for the output.')
    if not os.access(there, os.W_OK | os.X_OK):
        reason = os.strerror(errno.EROFS if os.statvfs(there).f_flag & os.ST_RDONLY else errno.EACCES)
        raise FolderError(f'"{path}" cannot be written: {reason}. Check the disk and the permissions of the folder.')
    if there != path:
        return
    if (path / "identity.json").exists():
        if identity:
            check_identity(path, read_identity(path), identity)
        return
    # A run that was killed while it began leaves its lock and perhaps a file made aside.
    own = (LOCK, *(f"{name}.tmp" for name in OWN))
    foreign = sorted(each.name for each in path.iterdir() if each.name not in own and not each.name.startswith(SERVED))
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise FolderError(
            f'"{path}" is no run folder, it holds {", ".join(foreign[:3])}{more}. Choose an empty or a new folder for the output.'
        )


def _is_journal(path: Path) -> bool:
    """Whether a file is a journal of a run, under any name."""
    if path.is_symlink() or not path.is_file():
        return False
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
        try:
            return {*TABLES} <= {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.DatabaseError:
            return False


def link_run(source: Path, target: Path, checkpoint: str) -> None:
    """Makes the run folder `target`, which continues from a checkpoint of `source` and shares its results. `source` may be in use.

    Raises
    ------
    DamagedError
        There is no such checkpoint.
    NoSpaceError, Failure
        The system refused.
    """
    if not (source / "checkpoints" / checkpoint).is_dir():
        raise DamagedError(f'"{source}" has no checkpoint "{checkpoint}" any more.')
    with writing(target):
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(source / "identity.json", target / "identity.json")
        for name in ("output.zarr", f"checkpoints/{checkpoint}"):
            _link(source / name, target / name)


def read_costs(folder: Path) -> dict[str, object]:
    """The cost of cells that an earlier session stored; empty if it cannot be read, since no result depends on it."""
    try:
        return read_sealed(folder / "costs.json", "Remove it.")
    except (OSError, DamagedError):
        return {}


def read_identity(folder: Path) -> dict[str, str]:
    """The identity of the run in a folder.

    Raises
    ------
    FileNotFoundError
        It is no run folder.
    DamagedError
        The file is damaged.
    """
    return read_sealed(folder / "identity.json", "Start with --fresh.")


def _id_of(folder: Path) -> str:
    identity: dict[str, object] = {**read_identity(folder)}
    if (folder / "parent.json").exists():
        identity["parent"] = read_sealed(folder / "parent.json", "Make the branch again.")
        identity["name"] = folder.name.removesuffix(".tmp")
    return run_id(identity)


def _locked(path: Path, run: str) -> int:
    """The open, locked file, which names its holder."""
    try:
        return lock(path, f"process {os.getpid()} on {socket.gethostname()}, run {run}\n")
    except LockedError as holder:
        raise FolderError(f'"{path.parent}" is in use by {holder}. Wait until it ends, or choose another folder.') from None


def _link(source: Path, target: Path, rows: Mapping[str, int] | None = None) -> None:
    """Makes the same tree of hard links; files that are being written are left out.

    rows: path of an array in a store -> how many of its rows of shards, c/0, c/1, ..., are linked.
    """
    for folder, below, names in os.walk(source):
        place = os.path.relpath(folder, source)
        array, _, last = place.rpartition("/")
        if rows is not None and last == "c" and array in rows:
            below[:] = [row for row in below if int(row) < rows[array]]
        here = target / place
        here.mkdir(parents=True)
        for name in names:
            if not name.endswith(".tmp"):
                _link_or_copy(os.path.join(folder, name), here / name)


def _link_or_copy(source: str, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(source, target)  # on another disk
