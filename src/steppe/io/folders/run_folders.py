"""The run folders below a folder: model, progress, size and state of each, and whether a process uses it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from steppe.errors import DamagedError, FolderError
from steppe.files import holder, take
from steppe.io.folders.folder import LOCK, read_identity
from steppe.io.folders.run_progress import Progress
from steppe.io.folders.scenarios import Ensemble
from steppe.io.folders.served import ServedRun

LOCKS = (LOCK, "server.lock")  # files that a process holds locked while it uses the folder
BLOCK = 512  # [byte] of `st_blocks`


@dataclass(frozen=True)
class Tree:
    """The files of a folder. size: bytes on the disk, of files with several names once. locks: lock files, of branches too."""

    size: int
    locks: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> "Tree":
        """Looks at all files of a folder; those that vanish meanwhile are left out."""
        sizes: dict[tuple[int, int], int] = {}
        locks = []
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                try:
                    found = os.lstat(path)
                except FileNotFoundError:
                    continue
                sizes[found.st_dev, found.st_ino] = found.st_blocks * BLOCK
                if name in LOCKS:
                    locks.append(Path(path))
        return cls(sum(sizes.values()), tuple(locks))

    def holder(self) -> str:
        """The process that uses the folder or a branch in it, in its own words; "" if there is none."""
        return next((text for path in self.locks if (text := _holder(path))), "")


@dataclass(frozen=True)
class RunFolderInfo:
    """A run folder.

    state: "finished", "unfinished", "in use", "ensemble", "failed" or "damaged". detail: a text about the state.
    """

    path: Path
    state: str
    model: str = ""
    days: str = ""
    size: int = 0
    detail: str = ""
    branches: tuple[str, ...] = field(default=())

    @classmethod
    def at(cls, path: Path) -> "RunFolderInfo":
        """The facts of a run folder.

        Raises
        ------
        FolderError
            It is not a run folder.
        """
        tree, served = Tree.of(path), ServedRun.of(path)
        main = served.main if served else path  # once it was rewound on a server: of scenario main
        try:
            identity, progress, ensemble = read_identity(path), Progress.read(main), Ensemble.read(path)
            finished = len(ensemble.members) - len(ensemble.unfinished()) if ensemble else 0
        except FileNotFoundError:
            raise FolderError(f'"{path}" is not a run folder. `steppe list FOLDER` shows the run folders below a folder.') from None
        except DamagedError as error:
            return cls(path, "damaged", size=tree.size, detail=str(error))
        state, detail = _state(progress or Progress("unfinished"))
        if ensemble:
            state, detail = "ensemble", f"{finished:,} of {len(ensemble.members):,} scenarios finished"
        if holder := tree.holder():
            state, detail = "in use", holder
        model, days = (identity.get(name, "").rpartition(" ")[0] for name in ("model", "time"))  # without digest and calendar
        return cls(path, state, model, days, tree.size, detail, () if ensemble else branches_of(path))


def find_runs(folder: Path) -> list[RunFolderInfo]:
    """The run folders in a folder, or this folder, by path. Branches and scenarios belong to their run.

    Raises
    ------
    FolderError
        There is no such folder.
    """
    if not folder.is_dir():
        raise FolderError(f'There is no folder "{folder}".')
    return [RunFolderInfo.at(path) for path in _run_folders(folder)]


def branches_of(path: Path) -> tuple[str, ...]:
    """Names of the branches that lie in a run folder."""
    return tuple(sorted(each.parent.name for each in path.glob("branches/*/identity.json")))


def in_use(path: Path) -> bool:
    """Whether a process uses a run folder, or the run of which it is a branch."""
    whole = path.absolute()
    folders = [whole, whole.parents[1]] if whole.parent.name == "branches" else [whole]
    return any(_holder(folder / name) for folder in folders for name in LOCKS)


def _run_folders(folder: Path) -> Iterator[Path]:
    for place, below, names in os.walk(folder):
        below.sort()
        if "identity.json" in names and ("progress.json" in names or LOCK in names):
            below.clear()
            yield Path(place)
        elif "zarr.json" in names:
            below.clear()


def _state(progress: Progress) -> tuple[str, str]:
    if progress.state in ("finished", "failed"):
        return progress.state, progress.message
    return "unfinished", f"until before {progress.date}" if progress.step else "no day is computed"


def _holder(lock: Path) -> str:
    try:
        file = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return ""
    try:
        return "" if take(file, shared=True) else holder(file)
    finally:
        os.close(file)
