"""Signals to a real process: the first asks for a stop, a second Ctrl-C interrupts; the same command goes on."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.cli.stop import stop_signals
from steppe.errors import Exit
from tests import on_disk

tmp_path = on_disk.tmp_path  # in memory checkpoints of each day take no time: the run would be over

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SLOW = f"""\
model = "{HERE / "slow_model.py"}"
time = {{ start = 1990-01-01, end = 1990-03-01 }}
grid = {{ file = "box.zarr" }}
output = {{ path = "out", variables = ["concentration"] }}
"""


@pytest.fixture
def slow(tmp_path) -> Path:
    """A folder with a run of seconds, in one piece."""
    lat, lon = -20.0 - 0.5 * np.arange(4), 140.0 + 0.5 * np.arange(5)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    box = xarray.Dataset({"land_mask": (("lat", "lon"), np.ones((4, 5), "int8"))}, axes)
    box.to_zarr(tmp_path / "box.zarr", consolidated=False)
    (tmp_path / "run.toml").write_text(SLOW)
    return tmp_path


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`steppe run` as a process of its own that has opened its folder; killed at the end if it still is."""
    command = [sys.executable, "-m", "steppe", "run", "run.toml", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not (folder / "out" / "progress.json").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate()


def steps(folder: Path) -> int:
    return json.loads((folder / "out" / "progress.json").read_text())["step"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_stops_with_a_checkpoint_and_the_same_command_goes_on(call, on_points, monkeypatch, number):
    daily = ["--set", "engine.checkpoint=1 day"]  # so that 420 days take seconds
    with running(on_points, *daily) as process:
        while not steps(on_points):
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(number)
        said, wrong = process.communicate(timeout=240)
    assert process.returncode == 75, wrong
    done = steps(on_points)
    assert f"days: {done} of 420" in said
    next_day = date(1990, 1, 10) + timedelta(done)
    assert wrong.splitlines() == [
        "Stopping after the days in work; a second Ctrl-C ends at once, back to the last checkpoint.",
        f"Stopped before {next_day} with a checkpoint. The same command continues.",
    ]
    monkeypatch.chdir(on_points)
    code, said, wrong = call("run", "run.toml")
    assert (code, wrong) == (Exit.DONE, f"The run continues at {next_day}.\n")
    assert "days: 420 of 420" in said


@pytest.mark.parametrize("ranks", ["1", "2"])
def test_a_closed_terminal_stops_with_a_checkpoint(on_points, ranks):
    terminal, end = pty.openpty()
    begin = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(1, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    run = [sys.executable, "-m", "steppe", "run", "run.toml", "--ranks", ranks, "--set", "engine.checkpoint=1 day"]
    words = [sys.executable, "-c", begin, *run]
    process = subprocess.Popen(words, cwd=on_points, stdin=subprocess.DEVNULL, stdout=end, stderr=end)
    os.close(end)
    try:
        while not (on_points / "out" / "progress.json").exists() or not steps(on_points):
            assert process.poll() is None
            time.sleep(0.02)
        os.close(terminal)
        assert process.wait(timeout=60) == Exit.STOPPED
    finally:
        process.kill()
        process.wait()
    newest = max((on_points / "out" / "checkpoints").iterdir())
    assert int(newest.name.partition("-")[0]) == steps(on_points) < 420


def test_nohup_lets_a_run_outlive_its_terminal():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert signal.SIGHUP not in stop_signals()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.SIGHUP in stop_signals()


def test_a_second_interrupt_ends_at_once_and_the_folder_is_good(call, slow, monkeypatch):
    with running(slow) as process:
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline().startswith("Stopping after the days in work;")
        process.send_signal(signal.SIGINT)
        said, wrong = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert "Traceback" not in wrong
    assert steps(slow) == 0
    monkeypatch.chdir(slow)
    code, said, wrong = call("run", "run.toml", "--until", "1990-01-02")
    assert (code, wrong) == (Exit.DONE, "")
    assert "days: 2 of 60" in said


def test_a_reader_that_goes_away_is_no_traceback():
    command = f"{sys.executable} -m steppe describe pasture | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stdout.startswith("pasture ")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
