"""How far a run has come and what it has taken: `progress.json` of its folder."""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from operator import add
from pathlib import Path

from steppe.errors import FolderError
from steppe.io.sealed import read_sealed, write_sealed


@dataclass(frozen=True)
class Spent:
    """Wall time in seconds that a run took, all its sessions together.

    seconds: of stepping; of these, stall_in: waiting for weather, stall_out: for the disk, compiling: for machine code.
    """

    seconds: float = 0.0
    stall_in: float = 0.0
    stall_out: float = 0.0
    compiling: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class Progress:
    """The progress of a run. state: "running", "stopped", "finished" or "failed", with the reason in message.

    records: key -> records of the output that can be read. checkpoint: name of the newest.
    """

    state: str
    step: int = 0
    date: str = ""
    records: Mapping[str, int] = field(default_factory=dict)
    checkpoint: str = ""
    spent: Spent = Spent()
    message: str = ""

    @classmethod
    def read(cls, folder: Path) -> "Progress | None":
        """The progress of the run in `folder`, None before its first.

        Raises
        ------
        DamagedError
            The file is damaged.
        """
        path = folder / "progress.json"
        try:
            content = read_sealed(path, "Remove it; the next commit of the run writes it again.")
        except FileNotFoundError:
            return None
        return cls(**content | {"spent": Spent(**content["spent"])})

    def write(self, folder: Path) -> None:
        """Replaces the progress file, durably. Call it when the records that it counts are durable."""
        write_sealed(folder / "progress.json", asdict(self))


def expect_checkpoint(folder: Path) -> None:
    """Raises `FolderError` if the run in `folder` has left a checkpoint that is gone: a new start would replace its results."""
    progress = Progress.read(folder)
    if progress and progress.checkpoint and not any(each.suffix != ".tmp" for each in (folder / "checkpoints").glob("*")):
        raise FolderError(
            f'"{folder}" has results of {progress.step:,} steps, but no checkpoint: "checkpoints/{progress.checkpoint}" is gone, and '
            "the run cannot go on without it. Put it back, choose another output path, or start again with --fresh (in Python: fresh=True)."
        )
