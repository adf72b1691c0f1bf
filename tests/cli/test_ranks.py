"""Ranks as real processes under real launchers: how they end, what they print, what is left of them."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steppe.cli.control import VARIABLE, Listener
from steppe.cli.ranks import _mapped, _segments, processes_of, remove_dead_folders, run_job
from steppe.cli.run import arguments_of
from steppe.errors import Exit, Mistake
from tests.comm.mpis import ROOT, each_mpi, mpiexec_of, python_of, run_ranks

ENDS = {
    "raise": 'steppe: rank 1 (cells 100-200), step 10 (1990-01-11): ForcingError: Variable "rain" ends on day 10.',
    "raise in a thread": 'steppe: rank 1 (cells 100-200), step 10 (1990-01-11): ForcingError: Variable "rain" ends on day 10.',
    "wrong line": f"steppe: rank 1 (cells 100-200), step 10 (1990-01-11): {ROOT}/tests/cli/ranked.py, line ",
    "exit": "steppe: rank 1 (cells 100-200), step 10 (1990-01-11): called exit (3) before the run was over.",
    "memory": "steppe: rank 1 (cells 100-200), step 10 (1990-01-11): MemoryError: no memory is left",
}


def supervise(mpi: str, what: str, ranks: int = 3) -> subprocess.CompletedProcess[str]:
    mpiexec_of(mpi)
    command = [python_of(mpi), "-m", "tests.cli.ranked", "start", str(ranks), what]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=240)


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    before = _segments()
    yield
    wait_until(lambda: {str(path) for path in _segments() - before} <= _mapped())  # those of another job that is ending go by themselves


@each_mpi
@pytest.mark.usefixtures("nothing_is_left")
def test_ranks_that_end_well_print_whole_lines_and_only_rank_0_to_standard_output(mpi: str) -> None:
    done = supervise(mpi, "talk")
    assert done.returncode == 0, done.stderr
    expected = [f"line {number} of rank 0 has ten words as it should" for number in range(100)]
    assert done.stdout.splitlines() == [*expected, "the summary"]
    others = done.stderr.splitlines()
    assert others[0] == "It rains."
    for rank in (1, 2):
        expected = [f"[rank {rank}] line {number} of rank {rank} has ten words as it should" for number in range(100)]
        assert [line for line in others if line.startswith(f"[rank {rank}]")] == [*expected, f"[rank {rank}] a word"]
    assert len(others) == 203


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.usefixtures("nothing_is_left")
def test_a_rank_that_fails_ends_all_with_one_line(end: str) -> None:
    done = supervise("installed", end)
    assert done.returncode == (Exit.MISTAKE if "ForcingError" in ENDS[end] else Exit.FAILURE)  # as one process ends
    rains, line = done.stderr.splitlines()
    assert rains == "It rains."
    assert line.startswith(ENDS[end])
    assert ('("print(1 // 0)"): ZeroDivisionError: integer division or modulo by zero. Correct this line' in line) == (end == "wrong line")
    assert done.stdout == ""


@each_mpi
def test_without_a_supervisor_the_line_is_there_too(mpi: str) -> None:
    done = run_ranks(mpi, 3, "-m", "tests.cli.ranked", "exit")
    # MPICH's launcher may kill the rank that ends all before it has ended itself, or take its neighbours from under it
    assert done.returncode in (1, signal.SIGKILL, signal.SIGABRT)
    assert [line for line in done.stderr.splitlines() if line.startswith("steppe: ")] == [ENDS["exit"]]


@each_mpi
def test_a_mistake_of_the_user_is_told_as_by_one_process(mpi: str) -> None:
    done = supervise(mpi, "mistake")
    assert (done.returncode, done.stderr, done.stdout) == (2, 'steppe: Key "x" is not known.\n', "")


@each_mpi
@pytest.mark.usefixtures("nothing_is_left")
def test_a_rank_that_is_killed_is_told_of_by_the_supervisor(mpi: str) -> None:
    done = supervise(mpi, "kill")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "steppe: The ranks ended by signal 9 (SIGKILL), without a message. Often the system sends it when memory runs out."
    )


@contextmanager
def long_job(mpi: str = "installed", what: str = "long", **environment: str) -> Iterator[subprocess.Popen[str]]:
    mpiexec_of(mpi)
    command = [python_of(mpi), "-m", "tests.cli.ranked", "start", "3", what]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, env={**os.environ, **environment})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until_it_rains(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    assert process.stderr.readline() == "It rains.\n"


STOPPING = "Stopping after the days in work; a second Ctrl-C ends at once, back to the last checkpoint.\n"


@each_mpi
@pytest.mark.usefixtures("nothing_is_left")
def test_a_request_to_stop_reaches_all_ranks(mpi: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM) if mpi == "installed" else (signal.SIGTERM,):
        with long_job(mpi) as process:
            until_it_rains(process)
            process.send_signal(number)
            said, wrong = process.communicate(timeout=60)
        assert process.returncode == Exit.STOPPED
        assert said == "the summary\n"
        assert sorted(wrong.splitlines(keepends=True)) == [STOPPING, "[rank 1] a word\n", "[rank 2] a word\n"]


def test_a_request_to_stop_before_all_ranks_are_there_waits_for_them() -> None:
    with long_job() as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        said, wrong = process.communicate(timeout=60)
    assert process.returncode == (Exit.STOPPED if STOPPING in wrong else -signal.SIGTERM), wrong  # so early that Python was not there
    assert (said == "the summary\n") == (STOPPING in wrong)


@each_mpi
@pytest.mark.usefixtures("nothing_is_left")
def test_a_second_interrupt_ends_all_at_once(mpi: str) -> None:
    with long_job(mpi, "hang") as process:
        until_it_rains(process)
        control = control_of(process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() == STOPPING
        process.send_signal(signal.SIGINT)
        said, wrong = process.communicate(timeout=60)
    assert (process.returncode, said, wrong) == (Exit.INTERRUPTED, "", "")
    wait_until(lambda: not processes_of(control))


@each_mpi
@pytest.mark.parametrize("what", ["long", "quiet and long"])
def test_ranks_whose_supervisor_is_gone_stop(mpi: str, what: str) -> None:
    with long_job(mpi, what) as process:
        until_it_rains(process)
        control = control_of(process)
        process.kill()
        wait_until(lambda: not processes_of(control))


def test_the_folder_of_a_killed_supervisor_is_removed_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    alive = {}
    for name in ("dead", "young", "alive", "fuller"):
        folder = tmp_path / f"steppe-{name}"
        folder.mkdir()
        alive[name] = Listener(folder / "control")
        if name == "fuller":
            (folder / "a").touch()
        if name != "alive":
            alive[name].close()
        if name != "young":
            os.utime(folder, (0.0, 0.0))
    remove_dead_folders()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["steppe-alive", "steppe-fuller", "steppe-young"]
    assert alive["alive"].messages() == []
    alive["alive"].close()


def control_of(process: subprocess.Popen[str]) -> Path:
    """What marks the three ranks of a supervisor and their launcher."""
    (launcher,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    environment = dict(line.split("=", 1) for line in Path(f"/proc/{launcher}/environ").read_text().split("\0") if line)
    control = Path(environment[VARIABLE])
    assert len(processes_of(control)) >= 4
    return control


def wait_until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_command_line_of_a_run_is_made_again() -> None:
    options = {
        "until": "1990-01-31",
        "output": Path("out"),
        "set": ["a=1", "b=2"],
        "threads": 0,
        "fresh": True,
        "quiet": False,
        "json": False,
    }
    expected = "run run.toml --until 1990-01-31 --output out --set a=1 --set b=2 --threads 0 --fresh"
    assert " ".join(arguments_of("run", Path("run.toml"), **options)) == expected


def test_another_number_of_ranks_than_was_started_is_a_mistake(tmp_path: Path) -> None:
    done = run_ranks("installed", 2, "-m", "steppe", "run", str(tmp_path / "run.toml"), "--ranks", "3")
    assert done.returncode == 2
    assert done.stderr == "steppe: MPICH started this as 2 ranks, --ranks says 3. Leave one of them out.\n"


@pytest.mark.parametrize(("launcher", "library"), [("installed", "openmpi"), ("openmpi", "installed"), ("system", "openmpi")])
def test_a_wrong_pair_is_refused_in_one_line_before_a_file_is_touched(launcher: str, library: str, tmp_path: Path) -> None:
    command = [*mpiexec_of(launcher), "-n", "3", python_of(library), "-m", "steppe", "run", str(tmp_path / "run.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 2
    ours = [line for line in done.stderr.splitlines() if "each would run alone" in line]
    assert len(ours) == 1
    assert ours[0].startswith("steppe: The mpiexec of ")
    assert (done.stdout, list(tmp_path.iterdir())) == ("", [])


def test_an_mpiexec_that_cannot_be_started_is_a_mistake() -> None:
    with pytest.raises(Mistake, match=r'"/nowhere/mpiexec" cannot be started: No such file or directory. STEPPE_MPIEXEC names'):
        run_job(["/nowhere/mpiexec", "-n", "2"])


@pytest.mark.skipif(sys.platform != "linux", reason="a terminal as Linux makes it")
def test_on_a_terminal_the_supervisor_draws_the_bar() -> None:
    mpiexec_of("installed")
    outer, inner = os.openpty()
    command = [sys.executable, "-m", "tests.cli.ranked", "start", "2", "ok"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=inner, cwd=ROOT)
    os.close(inner)
    drawn = b""
    try:
        while data := os.read(outer, 1 << 16):
            drawn += data
    except OSError:  # the other end is closed
        pass
    said, _ = process.communicate(timeout=30)
    os.close(outer)
    assert said == b"the summary\n"
    text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", drawn).decode()
    assert "1990-01-" in text
    assert "%" in text
    assert "It rains." in text
    assert "[rank 1] a word" in text
