"""A first run says that it compiles; the next ones have nothing to say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SAID = "Compiling the bucket kernel for this processor; it is kept for the next run.\n"


def said(folder: Path, *arguments: str, cache: Path) -> str:
    """What a command says on standard error, but for how far it has come: a machine may be slow."""
    environment = {**os.environ, "STEPPE_CACHE": str(cache)}
    command = [sys.executable, "-m", "steppe", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return "".join(line for line in done.stderr.splitlines(keepends=True) if " %  " not in line)


@pytest.mark.parametrize("command", [("run", "run.toml", "--fresh"), ("check", "run.toml")], ids=lambda words: words[0])
def test_only_the_first_time_is_said(on_points, tmp_path, command):
    assert said(on_points, *command, cache=tmp_path / "cache") == SAID
    assert said(on_points, *command, cache=tmp_path / "cache") == ""
