"""The folder of an ensemble: a run folder with `ensemble.json`, which has name, folder and settings of each scenario.

ensemble/
  ensemble.json          "columns": of the table, with units; "scenarios": name, settings, folder
  output.zarr            the arrays that each scenario has, without a record
  branches/<number>/     a scenario: a run folder, from its first commit on
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steppe.array_types import Floats
from steppe.errors import FolderError
from steppe.io.folders.run_progress import Progress
from steppe.io.sealed import read_sealed, write_sealed

FILE = "ensemble.json"
SCENARIO = {"long_name": "scenario of the ensemble", "standard_name": "realization"}
"""CF attributes of the names of scenarios."""


@dataclass(frozen=True)
class Member:
    """A scenario. set: state or parameter -> value from the first day on."""

    name: str
    set: Mapping[str, float]
    folder: Path


@dataclass(frozen=True)
class Ensemble:
    """The scenarios of a folder.

    columns: name of a setting -> CF attributes, and "coordinate": its name in a dataset, which a state may also have.
    """

    members: tuple[Member, ...]
    columns: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> "Ensemble | None":
        """The ensemble in a folder; None if the folder has no `ensemble.json`.

        Raises
        ------
        DamagedError
            The file is damaged.
        """
        try:
            content = read_sealed(path / FILE, "Remove it; the same `steppe ensemble` writes it again.")
        except FileNotFoundError:
            return None
        members = (Member(each["name"], each["set"], path / each["folder"]) for each in content["scenarios"])
        return cls(tuple(members), content["columns"])

    def write(self, path: Path) -> None:
        """Writes or replaces the file in a folder, durably.

        Raises
        ------
        NoSpaceError, Failure
            The system refused.
        """
        scenarios = [{"name": m.name, "set": dict(m.set), "folder": m.folder.relative_to(path).as_posix()} for m in self.members]
        write_sealed(path / FILE, {"columns": self.columns, "scenarios": scenarios})

    def values(self, column: str) -> Floats:
        """The value that each scenario sets in a column; NaN if it leaves that of the run file."""
        return np.array([member.set.get(column, np.nan) for member in self.members])

    def progress(self) -> dict[str, Progress]:
        """Name -> progress of each scenario.

        Raises
        ------
        DamagedError
            The progress file of one is damaged.
        """
        return {member.name: Progress.read(member.folder) or Progress("not begun") for member in self.members}

    def unfinished(self) -> dict[str, str]:
        """Name -> the readable period as words, of the scenarios that are not at the end of the run."""
        return {name: _so_far(far) for name, far in self.progress().items() if far.state != "finished"}


def expect_no_ensemble(path: Path) -> None:
    """Raises `FolderError` for the folder of an ensemble: readers would not see the results of a run there."""
    if (path / FILE).is_file():
        raise FolderError(f'"{path}" holds an ensemble. Choose another folder for the run; `steppe run --fresh` would remove the ensemble.')


def expect_no_results(path: Path) -> None:
    """Raises `FolderError` for the folder of a run: readers would not see its results any more."""
    progress = Progress.read(path)
    if progress and progress.step and not (path / FILE).is_file():
        raise FolderError(f'"{path}" holds the results of a run. Choose another folder for the ensemble, or remove this one.')


def listed(unfinished: Mapping[str, str], most: int = 8) -> str:
    """Unfinished scenarios as words; of many the first."""
    words = [f"{name} ({far})" for name, far in unfinished.items()]
    return ", ".join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")


def _so_far(progress: Progress) -> str:
    return f"until before {progress.date}" if progress.step else "nothing yet"
