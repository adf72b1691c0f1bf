"""Removes a run folder: only if no process uses it and no run needs it, and only files that Steppe wrote."""

import os
import re
import shutil
from contextlib import ExitStack
from pathlib import Path

from steppe.control.orders import JOURNAL
from steppe.errors import FolderError
from steppe.files import LockedError, lock, writing
from steppe.io.folders.folder import JOURNALS, LOCK, OWN, SERVED, read_identity
from steppe.io.folders.run_folders import RunFolderInfo, Tree
from steppe.io.folders.scenarios import Ensemble

MADE = ("picture.png", "images", "ranges.json")  # of `steppe plot`, of triggers, of viewers of a served run
EXACT = "|".join(re.escape(name) for name in (*OWN, *SERVED, *MADE, LOCK) if not name.endswith("."))
BEGINNINGS = "|".join(re.escape(name) for name in SERVED if name.endswith("."))
WRITTEN = re.compile(rf"(?:{EXACT})(?:(?:\..*)?\.tmp)?|(?:{BEGINNINGS}).*")
MOST = 3  # foreign files that a message names


def check_removal(path: Path, with_branches: bool = False) -> RunFolderInfo:
    """The run folder that `remove_run` would remove.

    Parameters
    ----------
    with_branches
        Branches that lie in the folder may go with it.

    Raises
    ------
    FolderError
        It is not a run folder, a process uses it, it is part of an ensemble or of a served run, it has branches, or it holds files that
        Steppe did not write.
    DamagedError
        Its identity cannot be read.
    """
    if path.is_symlink():
        raise FolderError(f'"{path}" is a link to "{path.resolve()}". Give that folder.')
    found = RunFolderInfo.at(path)
    if found.state == "damaged":
        read_identity(path)  # raises where the identity is the damaged file
    _refuse_part(path)
    if holder := Tree.of(path).holder():
        raise FolderError(f'"{path}" is in use by {holder}. Wait until it ends, or stop it.')
    if found.branches and not with_branches:
        some = f"{len(found.branches):,} branches" if len(found.branches) > 1 else "a branch"
        raise FolderError(
            f'"{path}" has {some}, {", ".join(found.branches)}: they lie in this folder and share its files. '
            "Give --branches to remove them too."
        )
    if foreign := _foreign(path):
        more = f" and {len(foreign) - MOST:,} more" if len(foreign) > MOST else ""
        raise FolderError(f'"{path}" holds {", ".join(foreign[:MOST])}{more}, which Steppe did not write. Move that away first.')
    return found


def remove_run(path: Path, with_branches: bool = False) -> RunFolderInfo:
    """Removes a run folder and nothing else, and returns it. After an interruption it can be called again.

    Raises
    ------
    FolderError, DamagedError
        As for `check_removal`.
    NoSpaceError, Failure
        The system refused.
    """
    found = check_removal(path, with_branches)
    with ExitStack() as holding:
        for file in Tree.of(path).locks:
            holding.callback(os.close, _held(file, path))
        with writing(path):
            last = ("identity.json", LOCK)  # until then they mark the folder as a run folder, and lock it
            for entry in sorted(path.iterdir(), key=lambda entry: last.index(entry.name) if entry.name in last else -1):
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
            path.rmdir()
    return found


def _refuse_part(path: Path) -> None:
    """Refuses a folder in `branches/` of another run that is a scenario of that run."""
    if path.absolute().parent.name != "branches":
        return
    whole = path.absolute().parents[1]
    ensemble = Ensemble.read(whole)
    for member in ensemble.members if ensemble else ():
        if member.folder.name == path.name:
            raise FolderError(f'"{path}" is scenario "{member.name}" of the ensemble "{whole}". Only the whole ensemble can be removed.')
    if (whole / JOURNAL).is_file():
        raise FolderError(f'"{path}" is a scenario of the served run "{whole}". Remove it there, or remove the whole run.')


def _foreign(path: Path, within: str = "") -> list[str]:
    """Files in a run folder and its branches under names that Steppe does not use."""
    found = []
    for entry in sorted(path.iterdir()):
        if entry.name == "branches":
            for branch in sorted(entry.iterdir()):
                name = f"{within}branches/{branch.name}"
                if (branch / "identity.json").is_file():
                    found += _foreign(branch, f"{name}/")
                elif not branch.name.endswith(".tmp"):
                    found.append(name)
        elif not WRITTEN.fullmatch(entry.name) and not JOURNALS.fullmatch(entry.name):
            found.append(within + entry.name)
    return found


def _held(file: Path, path: Path) -> int:
    """The open lock file, locked: no process begins to use the folder while it is removed."""
    try:
        return lock(file)
    except LockedError:
        raise FolderError(f'"{path}" is in use since a moment ago. Wait until that ends, or stop it.') from None
