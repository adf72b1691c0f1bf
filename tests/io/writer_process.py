"""A small run in a process of its own that kills itself, without any farewell, at the n-th file that it opens, renames or removes."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from steppe.grid import Raster
from steppe.io.axis import Axis
from steppe.io.checkpoints.checkpoint import Checkpoint
from steppe.io.folders.folder import RunFolder
from steppe.io.folders.run_progress import Progress
from steppe.io.output.store import Group, Output, create_store
from steppe.io.output.writer import OutputWriter
from steppe.variable import Role, Variable
from tests.io.checkpoints import write_checkpoint

DAYS = 800  # two whole shards of daily records and a short one
EVERY = 90  # days between checkpoints
IDENTITY = {"model": "decay 1", "grid": "abc"}
FILE_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link"}


def variable(name: str) -> Variable:
    return Variable(name, ("cell",), "kg ha-1", "float32", Role.STATE, name, low=0.0)


def raster() -> Raster:
    active = np.ones((20, 20), bool)
    active[:, :5] = False
    return Raster(-20.0, -0.1, 140.0, 0.1, active)


def tens(first: int, days: int) -> Axis:
    starts = np.arange(first, first + days, 10)
    return Axis("time", starts, np.append(starts[1:], first + days))


def groups() -> list[Group]:
    first = 51134  # 1990-01-01
    return [
        Group(Axis("time", np.arange(first, first + DAYS), np.arange(first, first + DAYS) + 1), raster(), (Output(variable("growth")),)),
        Group(tens(first, DAYS), ("north", "south"), (Output(variable("growth"), "sum", area="mean"),), "series/ten"),
        Group(tens(first, DAYS), raster(), (Output(variable("water"), "last", "12 bits"),), "series/maps"),
    ]


def advance(state: np.ndarray, day: int) -> np.ndarray:
    return state * 0.97 + np.sin(np.arange(state.size) * 0.1 + day * 0.37)


def run(path: Path) -> None:
    """Begins, or goes on from the newest checkpoint, to the end."""
    with RunFolder(path, IDENTITY) as folder:
        if not folder.output.exists():
            create_store(folder.output, groups(), {"title": "decay"})
        writer = OutputWriter(folder.output, groups())
        checkpoint = Checkpoint.newest(folder.checkpoints, IDENTITY, print)
        first, state, records = 0, np.zeros(raster().n_cells), dict.fromkeys(writer.records, 0)
        if checkpoint:
            first, state, records = checkpoint.step, checkpoint.read("state"), checkpoint.manifest["records"]
        Progress("running", first, records=records).write(path)
        writer.restore(records)
        for day in range(first, DAYS):
            state = advance(state, day)
            writer.put("growth", day, state)
            if day % 10 == 9:
                writer.put("series/ten/growth", day // 10, state[:2])
                writer.put("series/maps/water", day // 10, state)
            if day % EVERY == EVERY - 1:
                committed = writer.commit()
                write_checkpoint(folder.checkpoints, day + 1, {"state": state}, {"records": committed}, IDENTITY)
                Progress("running", day + 1, records=committed).write(path)
        Progress("finished", DAYS, records=writer.finish()).write(path)
        writer.close()


def count_file_events(kill_at: int) -> list[int]:
    """Counts file events from now on, of all threads, and kills the process at one of them (never for 0)."""
    seen = [0]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS:
            seen[0] += 1
            if seen[0] == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return seen


def run_and_die(path: Path, kill_at: int) -> None:
    """Runs until the `kill_at`-th file event; prints how many there were if it comes to the end."""
    seen = count_file_events(kill_at)
    run(path)
    (path.parent / f"{path.name}-events").write_text(str(seen[0]))
