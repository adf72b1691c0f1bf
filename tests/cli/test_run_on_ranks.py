"""`steppe run` on ranks that are processes: the bytes of one process, under every MPI, stopped and continued by others."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.cli.ending import _environment, processes_of
from steppe.cli.ranks import _mapped, _segments
from steppe.comm import find_launch
from steppe.errors import Exit
from tests import on_disk
from tests.comm.mpis import each_mpi, mpiexec_of, python_of
from tests.engine.test_simulation import digest
from tests.scenario import copied
from tests.server.listening import wait_for

tmp_path = on_disk.tmp_path  # in memory checkpoints of each day take no time: the run would be over

DAILY = ["--set", "engine.checkpoint=1 day"]  # so that 420 days take seconds
RANK = """
import sys
from steppe.cli import main
try:
    main()
finally:
    print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def by_one(made_wide_scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one process makes of the run."""
    return digest(steppe.run(copied(made_wide_scenario, tmp_path_factory.mktemp("one"))))


def start(folder: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment})


def when_it_steps(process: subprocess.Popen[str], folder: Path) -> Path:
    """Waits until a checkpoint is written; gives the file that says how far the run is."""
    progress = folder / "out" / "progress.json"
    while not (progress.exists() and json.loads(progress.read_text())["step"]):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return progress


@each_mpi
def test_a_supervised_run_on_ranks_has_the_bytes_of_one_process(mpi: str, wide_scenario: Path, by_one: dict[str, str]) -> None:
    mpiexec_of(mpi)
    said, wrong = (process := start(wide_scenario.parent, python_of(mpi), "-m", "steppe", "run", "run.toml", "--ranks", "3")).communicate()
    assert process.returncode == 0, wrong
    assert "days: 420 of 420" in said
    assert digest(wide_scenario.parent / "out") == by_one


BAD_CELL = """
import numpy as np
from steppe.models import Role, Variable, record_step
class BadCell:
    "`fresh` is NaN in the first cell from the third step on; `nothing` is -0.0 in the last half of the cells, else 0.0."
    name, version = "bad_cell", "1"
    variables = {
        "age": Variable("age", ("cell",), "1", "float64", Role.STATE, "age", initial=1.0),
        "fresh": Variable("fresh", ("cell",), "1", "float64", Role.DIAGNOSTIC, "fresh"),
        "nothing": Variable("nothing", ("cell",), "1", "float64", Role.DIAGNOSTIC, "nothing"),
    }
    def initialise(self, share, parameters, state, options, reach):
        self.share, self.parameters = share, {}
        self.state = {"age": np.full(share.n_cells, (state or {}).get("age", 1.0)) + 0.0}
    def export(self, name, index=None):
        values = self.state["age"] if name == "age" else getattr(self, name)()
        return values if index is None else values[index]
    def fresh(self):
        bad = (np.asarray(self.share.cells) == 0) & (self.state["age"] > 3)
        return np.where(bad, -np.nan, np.asarray(self.share.cells) + self.state["age"])
    def nothing(self):
        return np.where(np.asarray(self.share.cells) < 21, 0.0, -0.0)
    def advance(self, steps, inputs, clock, recorder):
        for step in steps:
            self.state["age"] += 1.0
            record_step(recorder, step, self.share, {"fresh": self.fresh(), "nothing": self.nothing()}.__getitem__)
MODEL = BadCell
"""
WITH_BAD_CELL = """model = "bad_cell.py"
time = { start = 2000-01-01, end = 2000-01-06 }
grid = { rectangle = { north = 10, west = 0, rows = 6, columns = 7, cell = 1.0 } }
output = { path = "out", series = [
    { name = "least", variables = ["fresh", "nothing"], over = "min" },
    { name = "greatest", variables = ["fresh", "nothing"], over = "max" },
    { name = "mean", variables = ["fresh"] },
] }
"""


def test_extremes_of_regions_with_nan_or_zeros_of_both_signs_have_the_same_bits_on_any_number_of_ranks(tmp_path: Path) -> None:
    run_file = tmp_path / "run.toml"
    run_file.write_text(WITH_BAD_CELL)
    (tmp_path / "bad_cell.py").write_text(BAD_CELL)
    steppe.run(run_file, tmp_path / "one")
    for series in "least", "greatest", "mean":
        with steppe.open(tmp_path / "one", series) as records:
            assert np.isnan(records["fresh"].values.ravel()).tolist() == [False] * 2 + [True] * 4
    process = start(tmp_path, python_of("installed"), "-m", "steppe", "run", "run.toml", "--ranks", "3", "--quiet")
    assert process.communicate()[1] == ""
    assert digest(tmp_path / "out") == digest(tmp_path / "one")


def test_a_run_that_is_stopped_is_continued_on_another_number_of_ranks(wide_scenario: Path, by_one: dict[str, str]) -> None:
    folder = wide_scenario.parent
    python = python_of("installed")
    process = start(folder, python, "-m", "steppe", "run", "run.toml", "--ranks", "3", *DAILY)
    progress = when_it_steps(process, folder)
    process.send_signal(signal.SIGTERM)
    said, wrong = process.communicate()
    assert process.returncode == Exit.STOPPED, wrong
    done = json.loads(progress.read_text())["step"]
    assert 0 < done < 420
    assert f"days: {done} of 420" in said
    assert [line.partition(" ")[0] for line in wrong.splitlines() if line.startswith("Stop")] == ["Stopping", "Stopped"]
    process = start(folder, *mpiexec_of("installed"), "-n", "2", python, "-m", "steppe", "run", "run.toml")
    said, wrong = process.communicate()
    assert process.returncode == 0, wrong
    assert digest(folder / "out") == by_one


def test_a_run_of_which_a_rank_stays_stopped_ends_and_goes_on_from_its_last_checkpoint(
    wide_scenario: Path, by_one: dict[str, str], tmp_path: Path
) -> None:
    folder, python = wide_scenario.parent, python_of("installed")
    times = {"STEPPE_STOPPED": "1", "STEPPE_ENDING": "1", "TMPDIR": str(tmp_path)}
    before = _segments()
    process = start(folder, python, "-m", "steppe", "run", "run.toml", "--ranks", "2", *DAILY, **times)
    when_it_steps(process, folder)
    (control,) = tmp_path.glob("steppe-*/control")
    (rank,) = (pid for pid in processes_of(control) if (found := find_launch(_environment(pid))) and found.rank == 1)
    os.kill(rank, signal.SIGSTOP)
    said, wrong = process.communicate()
    assert (process.returncode, said) == (Exit.FAILURE, "")
    assert wrong.splitlines()[-1].startswith(f"steppe: Rank 1 (process {rank}) was stopped by a signal for 1 s, and no checkpoint was")
    assert list(tmp_path.glob("steppe-*")) == processes_of(control) == []
    wait_for(lambda: {str(path) for path in _segments() - before} <= _mapped())  # of the tests beside it some are about to end
    process = start(folder, python, "-m", "steppe", "run", "run.toml", "--ranks", "2")
    said, wrong = process.communicate()
    assert process.returncode == 0, wrong
    assert wrong.startswith("The run continues at ")
    assert digest(folder / "out") == by_one


def test_a_mistake_is_told_once_and_touches_nothing(wide_scenario: Path) -> None:
    run_file = wide_scenario.parent / "run.toml"
    run_file.write_text(run_file.read_text().replace("capacity = 120.0", "capacity = -1.0"))
    process = start(run_file.parent, *mpiexec_of("installed"), "-n", "3", python_of("installed"), "-m", "steppe", "run", "run.toml")
    said, wrong = process.communicate()
    assert (process.returncode, said) == (2, "")
    (line,) = wrong.splitlines()
    assert line.startswith("steppe: ")
    assert "capacity" in line
    assert not (run_file.parent / "out" / "output.zarr").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [("run run.toml --help", 0), ("run run.toml --thread", 2), ("run run.toml --set=x", 2), ("--debug run run.toml --thread", 2)],
)
def test_the_command_line_is_read_by_one_rank_and_all_end_with_it(words: str, code: int, tmp_path: Path) -> None:
    process = start(tmp_path, *mpiexec_of("installed"), "-n", "3", python_of("installed"), "-m", "steppe", *words.split())
    said, wrong = process.communicate(timeout=240)
    assert process.returncode == code
    assert said.count("Usage: steppe run") == (1 if code == 0 else 0)
    assert len(wrong.splitlines()) == (0 if code == 0 else 1)


def test_ranks_above_0_import_neither_command_line_nor_zarr_nor_pictures_nor_compiler(on_points: Path) -> None:
    shutil.rmtree(on_points / "out", ignore_errors=True)
    process = start(on_points, *mpiexec_of("installed"), "-n", "2", python_of("installed"), "-c", RANK, "run", "run.toml", "--quiet")
    _, wrong = process.communicate()
    assert process.returncode == 0, wrong
    (line,) = (line for line in wrong.splitlines() if line.startswith("[rank 1] "))
    imported = set(line.split())
    assert {"numpy", "mpi4py", "steppe"} <= imported
    assert not imported & {"cyclopts", "rich", "zarr", "xarray", "pandas", "matplotlib", "numba", "netCDF4", "fastapi"}


def test_threads_of_ranks_share_the_cores(on_points: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    code = "from steppe.comm import *; prepare_rank(find_launch()); w = open_world(); print(cores_of_rank(w)); w.close()"
    process = start(on_points, *mpiexec_of("installed"), "-n", "2", python_of("installed"), "-c", code)
    assert process.communicate()[0].splitlines()[0] == str(max(1, cores // 2))
