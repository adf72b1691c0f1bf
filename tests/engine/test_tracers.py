"""The example of tracers on levels: the same bits as plain NumPy, on any ranks, whatever interrupts it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.engine import Plan, Simulation
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest
from tests.tracers import made, winds

NAMES, SPACING, SECONDS, DECAY = ("smoke", "dust", "ozone"), 50e3, 600.0, {"smoke": 0.5, "dust": 0.0, "ozone": 0.0}
STEPS = 144


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    return made(tmp_path)


def wind_of(records: np.ndarray, step: int) -> np.ndarray:
    """A component in the middle of a step, linear between records of every three hours, (level, row, column) with halos."""
    at = (step + 0.5) * SECONDS / 10800.0
    record, share = int(at), at - int(at)
    values = (records[record + 1] - records[record]) * np.float32(share) + records[record]
    return np.pad(values, ((0, 0), (1, 1), (1, 1)), "edge")


def computed(run_file: Path, steps: int) -> dict[str, np.ndarray]:
    """The tracers by plain NumPy over the whole grid, (steps, level, row, column)."""
    grid = Plan.of(run_file).grid
    records = winds()
    amounts = {name: np.zeros((4, 48, 96)) for name in NAMES}
    events = {0: [("smoke", 100.0, [-6.0, 46.0, 0.0, 50.0], [0]), ("dust", 50.0, [4.0, 36.0, 12.0, 40.0], [0, 1, 2, 3])]}
    events[36] = [("ozone", 80.0, [10.0, 50.0, 16.0, 56.0], [3])]
    found: dict[str, list[np.ndarray]] = {name: [] for name in NAMES}
    here, share = (slice(None), slice(1, -1), slice(1, -1)), SECONDS / SPACING
    west, east = (slice(None), slice(1, -1), slice(0, -2)), (slice(None), slice(1, -1), slice(2, None))
    north, south = (slice(None), slice(0, -2), slice(1, -1)), (slice(None), slice(2, None), slice(1, -1))
    for step in range(steps):
        for name, value, box, levels in events.get(step, []):
            for level in levels:
                amounts[name][level].reshape(-1)[grid.order[grid.select({"box": box})]] = value
        u, v = (wind_of(records[name].values, step) for name in "uv")
        for name in NAMES:
            q = np.pad(amounts[name], ((0, 0), (1, 1), (1, 1)), "edge")
            flow = []
            for wind, before, behind in ((u, west, here), (u, here, east), (v, south, here), (v, here, north)):
                over = 0.5 * (wind[before] + wind[behind])
                flow.append(np.maximum(over, 0.0) * q[before] + np.minimum(over, 0.0) * q[behind])
            left = 1.0 - DECAY[name] * SECONDS / 86400.0
            amounts[name] = left * (q[here] + share * ((flow[0] - flow[1]) + (flow[2] - flow[3])))
            found[name].append(amounts[name].copy())
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_the_tracers_are_those_of_plain_numpy_to_the_bit(run_file, ranks):
    on_ranks(ranks, run_file, Simulation.run)
    expected = computed(run_file, STEPS)
    with steppe.open(run_file.parent / "out") as dataset:
        maps = steppe.unpack(dataset)
        for name in NAMES:
            np.testing.assert_array_equal(maps[name].values, expected[name][5::6])
            assert maps[name].max() > 1.0


@pytest.mark.parametrize(("first", "then"), [(1, 4), (3, 2)])
def test_a_run_that_stops_branches_and_goes_on_has_the_same_bytes(run_file, first, then):
    on_ranks(1, run_file, Simulation.run, **{"output.path": '"whole"'})
    on_ranks(first, run_file, lambda simulation: simulation.run("2001-03-05T08:20"))

    def branched(simulation: Simulation) -> None:
        with simulation.branch("other") as other:
            other.run()
        simulation.run()

    on_ranks(then, run_file, branched) if then == 1 else on_ranks(then, run_file, Simulation.run)
    assert digest(run_file.parent / "out") == digest(run_file.parent / "whole")


def test_a_branch_has_the_bytes_of_the_whole_run(run_file):
    with Simulation(run_file) as simulation:
        simulation.run("2001-03-05T08:20")
        with simulation.branch("other") as other:
            other.run()
            branch = digest(other.folder.path)
        simulation.run()
    whole = digest(run_file.parent / "out")
    origin = {"output.zarr/zarr.json"}  # says which run it is a branch of
    assert {name: branch[name] for name in branch.keys() - origin} == {name: whole[name] for name in whole.keys() - origin}


def test_a_run_that_is_killed_at_six_moments_ends_with_the_same_bytes(run_file):
    on_ranks(1, run_file, Simulation.run, **{"output.path": '"whole"'})
    command = [sys.executable, "-m", "steppe", "run", "run.toml", "--quiet"]
    moments = [f"checkpoint.{point}:{number}" for number in range(1, 4) for point in ("part_written", "renamed")]
    killed = 0
    for moment in moments:
        environment = {**os.environ, "STEPPE_FAIL": f"{moment}:kill"}
        done = subprocess.run(command, cwd=run_file.parent, env=environment, capture_output=True, text=True)
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert killed == len(moments)
    subprocess.run(command, cwd=run_file.parent, check=True)
    assert digest(run_file.parent / "out") == digest(run_file.parent / "whole")
