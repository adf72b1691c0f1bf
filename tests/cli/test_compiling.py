"""A first run says that it compiles, and for how long; the next ones have nothing to say."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from steppe.cli.compiling import compiling_is_said

SAID = "Compiling the bucket kernel for this processor; it is kept for the next run.\n"


def said(folder: Path, *arguments: str, cache: Path) -> str:
    """What a command says on standard error, but for how far it has come: a machine may be slow."""
    environment = {**os.environ, "STEPPE_CACHE": str(cache)}
    command = [sys.executable, "-m", "steppe", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return without_progress(done.stderr)


def without_progress(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if " %  " not in line)


EVENT = "[[event]]\ndate = 1990-03-01\nset = { capacity = 150.0 }\nregion = { box = [147.0, -26.0, 148.0, -24.0] }\n"


def test_only_the_first_time_is_said_and_a_run_uses_the_machine_code_of_its_check(on_points, tmp_path):
    """A parameter that an event sets in some cells needs other machine code than one number for all."""
    (on_points / "run.toml").write_text((on_points / "run.toml").read_text() + EVENT)
    for command, expected in ((["check"], SAID), (["check"], ""), (["run", "--fresh"], "")):
        assert said(on_points, *command, "run.toml", cache=tmp_path / "cache") == expected


def test_a_first_run_says_that_it_compiles_and_counts_that_time_apart_from_the_rate(on_points, tmp_path):
    environment = {**os.environ, "STEPPE_CACHE": str(tmp_path / "cache")}

    def done(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "steppe", "run", "run.toml", *arguments]
        return subprocess.run(command, cwd=on_points, env=environment, check=True, capture_output=True, text=True)

    first = done("--fresh")
    assert without_progress(first.stderr) == SAID
    found = json.loads(done("--json").stdout)  # complete: what the folder keeps
    assert 0.1 < found["compiling_seconds"] <= found["seconds"]
    computing = found["seconds"] - found["compiling_seconds"]
    assert found["cell_days_per_second"] == pytest.approx(3 * 420 / computing, rel=0.2)
    assert f"s after {found['compiling_seconds']:.1f} s of compiling, " in first.stdout


def test_an_engine_announces_each_kernel_and_names_the_same_one_once(monkeypatch):
    """A change in some cells needs another kernel of the same name; an engine that does not announce it seems to hang."""
    log, heard = logging.getLogger("steppe.kernels.cell_kernel"), []
    monkeypatch.setattr(logging.getLogger("steppe"), "disabled", False)
    with compiling_is_said(heard.append, lambda: heard.append("")):
        for _ in range(2):
            log.info("Compiling the bucket kernel.")
        log.debug("Compiling the kernel paths.")
    assert heard == ["", "Compiling the bucket kernel.", "", ""]
