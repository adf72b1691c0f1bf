"""Runs in which one call that changes files fails, at the level of the C library."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ERRORS = {"no space, once": errno.ENOSPC, "input/output error": errno.EIO, "a disk that stays full": -errno.ENOSPC, "a short write": 0}


class Ended(NamedTuple):
    """How a run ended. failed: name and file of the call that failed; calls: how many were counted."""

    code: int
    said: str
    failed: str
    calls: int


class Warm:
    """A process that has imported everything and forks a child for each run."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, arguments: list[str], folder: Path, at: int = 0, error: int = 0) -> Ended:
        """`steppe ARGUMENTS`; the `at`-th call on files under `folder` fails with `error` (see layer.c)."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task: dict[str, Any] = {"arguments": arguments, "folder": str(folder), "at": at, "error": error}
        print(json.dumps(task), file=self._process.stdin, flush=True)
        return Ended(**json.loads(self._process.stdout.readline()))


@contextmanager
def warm(folder: Path) -> Iterator[Warm]:
    """Builds the layer in `folder` and starts the process."""
    library = folder / "layer.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library, HERE / "layer.c", "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.faults.warm"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Warm(process)  # its input is closed at the end, and it leaves
