"""The folder of a run: where everything of it lies, who may write there, and how far it is.

queensland/
  identity.json      what the run computes: digests of model, parameters, grid, forcing
  run.toml           as it was started
  output.zarr        maps and series
  checkpoints/       the newest few
  progress.json      how far the output can be read, and the state of the run; replaced whole
  log.jsonl          what happened, a line each
  lock               held while a process writes here
  branches/<name>/   a run folder each: what-if runs that share the output of the time before
"""

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from steppe.errors import DamagedError, Failure, FolderError
from steppe.io.checkpoint import Checkpoint
from steppe.io.identity import Identity, check_identity
from steppe.io.shard import sync_folder, write_durable, writing

OWN = ("identity.json", "run.toml", "output.zarr", "checkpoints", "progress.json", "log.jsonl", "branches", "journal.sqlite")
LOCK = "lock"


@dataclass(frozen=True)
class Progress:
    """How far a run is. state: "running", "stopped", "finished" or "failed". records: key -> records of the output that can be read."""

    state: str
    step: int = 0
    date: str = ""
    records: Mapping[str, int] = field(default_factory=dict)
    message: str = ""

    @classmethod
    def read(cls, folder: Path) -> "Progress | None":
        """The progress of the run in `folder`, None before its first.

        Raises
        ------
        DamagedError
            The file is not what was written.
        """
        path = folder / "progress.json"
        try:
            return cls(**json.loads(path.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise DamagedError(f'"{path}" cannot be read ({error}). Remove it; the next commit of the run writes it again.') from None

    def write(self, folder: Path) -> None:
        """Replaces the progress file, durably. Call it when what it says is durable."""
        write_durable(folder / "progress.json", json.dumps(asdict(self), indent=1).encode())


class RunFolder:
    """A run folder held for writing, by one process; use it in a `with` statement.

    Parameters
    ----------
    path
        Made when it is not there.
    identity
        What the run computes. A folder with another identity is refused.
    fresh
        Remove what an earlier run left.

    Raises
    ------
    FolderError
        The folder is in use, belongs to another run, or holds files of something else.
    """

    def __init__(self, path: Path, identity: Identity, fresh: bool = False) -> None:
        self.path = path
        self.output = path / "output.zarr"
        self.checkpoints = path / "checkpoints"
        if path.exists() and not path.is_dir():
            raise FolderError(f'"{path}" is a file, expected a folder. Choose another folder for the output.')
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        self._refuse_foreign()
        self._lock = _locked(path / LOCK)
        try:
            if fresh:
                self._remove_own()
            self._identify(identity)
            _cut_torn_line(path / "log.jsonl")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Lets others write here."""
        os.close(self._lock)

    def write_run(self, text: str) -> None:
        """Keeps the run file as it was started."""
        write_durable(self.path / "run.toml", text.encode())

    def log(self, event: Mapping[str, Any]) -> None:
        """Appends a line to the log."""
        with writing(self.path / "log.jsonl"), open(self.path / "log.jsonl", "ab", buffering=0) as file:
            file.write(json.dumps(event).encode() + b"\n")

    def branch(self, name: str, checkpoint: Checkpoint) -> Path:
        """Makes `branches/<name>`, a run folder that goes on from a checkpoint of this one; output files are shared by hard links.

        The branch cuts its output back when it starts; files are replaced, never changed, so the two do not touch each other's.

        Raises
        ------
        FolderError
            There is a branch of this name.
        """
        path = self.path / "branches" / name
        if path.exists():
            raise FolderError(f'"{path}" exists already. Choose another name for the branch.')
        aside = path.with_name(name + ".tmp")
        shutil.rmtree(aside, ignore_errors=True)
        here = checkpoint.path
        with writing(path):
            _link(self.output, aside / "output.zarr")
            _link(here, aside / "checkpoints" / here.name)
            for file in ("identity.json", "run.toml"):
                if (self.path / file).exists():
                    shutil.copyfile(self.path / file, aside / file)
        progress = Progress("stopped", checkpoint.step, str(checkpoint.manifest.get("date", "")), checkpoint.manifest.get("records", {}))
        progress.write(aside)
        write_durable(aside / "parent.json", json.dumps({"run": os.path.relpath(self.path, path), "step": checkpoint.step}).encode())
        os.sync()  # links live in many folders; all at once is quicker than each
        with writing(path):
            os.rename(aside, path)
            sync_folder(path.parent)
        return path

    def _refuse_foreign(self) -> None:
        names = sorted(entry.name for entry in self.path.iterdir())
        if "identity.json" in names:
            return
        # A run that was killed while it began leaves its lock and perhaps a file made aside.
        foreign = [name for name in names if name not in (LOCK, *(f"{own}.tmp" for own in OWN))]
        if foreign:
            more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
            raise FolderError(
                f'"{self.path}" is no run folder, it holds {", ".join(foreign[:3])}{more}. Choose an empty or a new folder for the output.'
            )

    def _identify(self, identity: Identity) -> None:
        path = self.path / "identity.json"
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            write_durable(path, json.dumps(dict(identity), indent=1).encode())
            return
        except ValueError as error:
            raise DamagedError(f'"{path}" cannot be read ({error}). Start with --fresh.') from None
        check_identity(self.path, found, identity)

    def _remove_own(self) -> None:
        for name in reversed(OWN):  # the identity last: until then the folder is known as ours
            for path in (self.path / name, self.path / f"{name}.tmp"):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)


def _locked(path: Path) -> int:
    """The open, locked file. The system lets go of the lock when the process ends, however it ends."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(file, 200, 0).decode(errors="replace").strip() or "a process that just began"
        os.close(file)
        raise FolderError(f'"{path.parent}" is in use by {holder}. Wait until it ends, or choose another folder.') from None
    except OSError as error:
        os.close(file)
        raise Failure(f'"{path}" cannot be locked: {error.strerror}. Put the run folder on a file system that has locks.') from None
    os.ftruncate(file, 0)
    os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return file


def _cut_torn_line(path: Path) -> None:
    """Takes away a last line that a killed process did not finish."""
    if path.exists():
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)


def _link(source: Path, target: Path) -> None:
    """The same tree with hard links; files that are being written are left out."""
    for folder, _, names in os.walk(source):
        here = target / os.path.relpath(folder, source)
        here.mkdir(parents=True)
        for name in names:
            if not name.endswith(".tmp"):
                os.link(os.path.join(folder, name), here / name)
