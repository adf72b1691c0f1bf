"""A toy run behind a real server in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest


class Served(NamedTuple):
    """Where it listens, and its process."""

    port: int
    pid: int


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The server; all limits hold but those of rates."""
    command = [sys.executable, "-m", "tests.server.program", str(tmp_path / "run")]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        try:
            assert process.stdout is not None
            yield Served(int(process.stdout.readline()), process.pid)
            assert process.poll() is None, "The server has died."
        finally:
            process.kill()
    assert "Traceback" not in (tmp_path / "log").read_text()
