"""The log of a run folder, `log.jsonl`: a line for each change that a script made, and for each time that the run went back."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from steppe.control.wire import OPEN_END
from steppe.errors import DamagedError, Failure, FolderError
from steppe.files import private, sync, writing
from steppe.io.checkpoints.checkpoint import Checkpoint
from steppe.io.sealed import read_sealed

FILE = "log.jsonl"


class RunLog:
    """The log of a run folder that this process holds. A last line that a killed process did not finish is removed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / FILE
        self._unwritten: list[bytes] = []
        with writing(self._path):
            _cut_torn_line(self._path)
        self._durable = not self._path.exists()

    def add(self, event: Mapping[str, object]) -> None:
        """Appends a line. What cannot be written now, `write` writes."""
        self._unwritten.append(json.dumps(event).encode() + b"\n")
        with suppress(Failure):
            self._write()

    def write(self) -> None:
        """Writes the lines that are not written yet, all or none, and makes all lines durable, as a checkpoint that counts on them needs.

        Raises
        ------
        NoSpaceError, Failure
            The system refused.
        """
        self._write()
        if not self._durable:
            with writing(self._path):
                sync(self._path)
                sync(self._folder)
            self._durable = True

    def _write(self) -> None:
        if not self._unwritten:
            return
        self._durable = False
        with writing(self._path), open(self._path, "ab", 0, opener=private) as file:
            before = os.fstat(file.fileno()).st_size
            try:
                data = b"".join(self._unwritten)
                while data:
                    data = data[file.write(data) :]
            except OSError:
                file.truncate(before)
                raise
        self._unwritten.clear()

    def go_back(self, step: int, seq: int) -> list[dict[str, Any]]:
        """Notes that the run goes on from a position, and returns the changes that it lost: those after it."""
        with suppress(Failure):
            self._write()
        lost = [row for row in changes_of(self._folder) if position_of_row(row) > (step, seq)]
        if lost or self._unwritten:
            self.add({"event": "back", "step": step, "seq": seq})
        return lost


def changes_of(folder: Path) -> list[dict[str, Any]]:
    """The changes of scripts that a run holds, as its log has them: those that it went back behind are left out."""
    found: list[dict[str, Any]] = []
    log = folder / FILE
    for line in log.read_bytes().splitlines() if log.is_file() else ():
        try:
            row = json.loads(line)
        except ValueError:  # a line that a killed process did not finish
            continue
        if row["event"] == "back":
            found = [each for each in found if position_of_row(each) <= position_of_row(row)]
        elif row["event"] == "set":
            found.append(row)
    return found


def position_of_row(row: Mapping[str, Any]) -> tuple[int, int]:
    """The position of a change or a return in the log."""
    return row["step"], row.get("seq", 0)


def forked_at(folder: Path) -> int | None:
    """The step at which the run in a folder left its parent; None if it has none, or there is no folder.

    Raises
    ------
    DamagedError
        The file of its parent is damaged.
    """
    try:
        return int(read_sealed(folder / "parent.json", "Make the branch again.")["step"])
    except FileNotFoundError:
        return None


def held_by(checkpoint: Checkpoint) -> tuple[int, int]:
    """The position up to which a checkpoint holds the changes of scripts. One of a server holds all at its step: it began at them."""
    manifest = checkpoint.manifest
    return checkpoint.step, OPEN_END if manifest.get("applied") else int(manifest.get("changes", 0))


def scripted(folder: Path) -> list[tuple[int, int]]:
    """The positions of the changes of scripts to a run; that of its fork stands for those to its parent."""
    found, fork = [position_of_row(row) for row in changes_of(folder)], forked_at(folder)
    return [(fork, 0), *found] if fork else found


def oldest_with_changes(folder: Path) -> Checkpoint | None:
    """The oldest checkpoint of a run that holds all changes of scripts; None if they changed nothing that a checkpoint holds.

    No journal knows these changes: states before that checkpoint do not lead to later ones.
    """
    there = manifests(folder)
    last = max((at for at in scripted(folder) if there and at <= held_by(there[-1])), default=None)
    return None if last is None else next(each for each in there if held_by(each) >= last)


def manifests(folder: Path) -> list[Checkpoint]:
    """The checkpoints of a run with a manifest that can be read, oldest first."""
    found = []
    for path in reversed(Checkpoint.all(folder / "checkpoints")):
        with suppress(DamagedError, FolderError):
            found.append(Checkpoint.open(path, None))
    return found


def _cut_torn_line(path: Path) -> None:
    """Removes a last line that a killed process did not finish."""
    if path.exists():
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
