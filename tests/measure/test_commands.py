"""The commands that measure: what they refuse, what a stop leaves, all in one."""

import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from steppe.cli.progress import Shares
from steppe.errors import Mistake
from steppe.files import check_writable
from steppe.measure import Document, joined, read_document
from tests.comm.mpis import ROOT, mpiexec_of, run_ranks
from tests.measure.made import series_of
from tests.measure.ranks import CORES, refused, two_cores
from tests.small_disk import mount_small_disk

STEPPE = [sys.executable, "-m", "steppe"]


def stopped_after(seconds, command, begun=lambda: True):
    """Its exit code and what it said, when it is interrupted so long after it has begun."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True)
    try:
        end = time.monotonic() + 60
        while not begun() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    return process.returncode, output, error


def stopped_midway(seconds, folder, command, begun=lambda place: True):
    """Where it wrote, its document and what it said, when it is interrupted once something was measured.

    seconds: on a machine with nothing else to do; command: of the folder in which it writes a.json; begun: of the same.
    """
    for factor in (1, 2, 4, 8):
        place = folder / f"{factor}"
        place.mkdir()
        code, output, error = stopped_after(factor * seconds, command(place), lambda place=place: begun(place))
        if (place / "a.json").exists() and (document := read_document(place / "a.json")).series:
            break
    assert code == 75, error
    assert not document.complete
    assert document.series
    assert "Stopped before the end" in output
    return place, document, output


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_interrupt_leaves_the_files_that_were_measured(ranks, tmp_path):
    if ranks > CORES:
        pytest.skip("two ranks need two cores")
    launcher = [*mpiexec_of("installed"), "-n", str(ranks)] if ranks > 1 else []

    def command(place):
        (place / "disk").mkdir()
        files = ["--json", str(place / "a.json"), "--html", str(place / "a.html")]
        return [*launcher, *STEPPE, "measure", "files", str(place / "disk"), *files]

    place, _, _ = stopped_midway(6.0, tmp_path, command, lambda place: bool(list(place.glob("disk/.steppe-measure-*/*"))))
    assert "Stopped before the end" in (place / "a.html").read_text()
    assert list((place / "disk").iterdir()) == []


@two_cores
def test_an_interrupt_of_all_ranks_leaves_the_messages_that_were_measured(tmp_path):
    launcher = [*mpiexec_of("installed"), "-n", "2"]
    stopped_midway(12.0, tmp_path, lambda place: [*launcher, *STEPPE, "measure", "messages", "--json", str(place / "a.json")])


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_interrupt_of_all_leaves_one_document_and_one_page(ranks, tmp_path):
    if ranks > CORES:
        pytest.skip("two ranks need two cores")
    launcher = [*mpiexec_of("installed"), "-n", str(ranks)] if ranks > 1 else []

    def command(place):
        files = ["--json", str(place / "a.json"), "--html", str(place / "a.html")]
        return [*launcher, *STEPPE, "measure", "all", str(place), "--quick", *files]

    place, document, output = stopped_midway(12.0, tmp_path, command)
    assert {one.group for one in document.series} >= ({"point-to-point"} if ranks > 1 else {"files"})
    assert ("Messages, and files of many ranks, need ranks" in output) == (ranks == 1)
    assert sorted(entry.name for entry in place.iterdir()) == ["a.html", "a.json"]


def test_results_are_refused_where_they_cannot_be_written(tmp_path):
    check_writable(None)
    check_writable(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Mistake, match="is a folder, expected the name of a file"):
        check_writable(tmp_path)
    with pytest.raises(Mistake, match=r'cannot be written: there is no folder ".*no"\. Make it, or give another place'):
        check_writable(tmp_path / "no" / "a.json")
    undo = mount_small_disk(tmp_path / "disk", "100k")
    try:
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path / "disk")], check=True)
        with pytest.raises(Mistake, match="cannot be written: Read-only file system"):
            check_writable(tmp_path / "disk" / "a.json")
    finally:
        undo()


@pytest.mark.parametrize(
    "command", [["kernels"], ["files", "."], ["all", "."], ["report", "tests/measure/measure_v1.json"]], ids=lambda command: command[0]
)
def test_every_command_says_so_before_it_measures(command, tmp_path):
    begin = time.monotonic()
    done = subprocess.run(
        [*STEPPE, "measure", *command, "--html", str(tmp_path / "no" / "a.html")], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode != 0
    assert "cannot be written" in done.stderr
    assert time.monotonic() - begin < 30
    assert list(tmp_path.iterdir()) == []


SHORT = """
from steppe.cli import progress, run_command
from steppe.measure.messages import session
progress.SECONDS_BETWEEN_LINES = 0.0
session.plan = lambda *a, plan=session.plan, **k: [task for task in plan(*a, **k) if task.operation in ("barrier", "allreduce")]
run_command(["measure", "messages", "--quick", "--passes", "1"])
"""


@two_cores
def test_ranks_say_in_lines_how_far_they_are():
    """They have no terminal, wherever they were started; rank 0 tells, from the second series on."""
    done = run_ranks("installed", 2, "-c", SHORT)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("messages ")]
    said = [re.fullmatch(r"messages +(\d+) %  \d:\d\d left  (barrier|allreduce)(, non-blocking.*)?, 2 ranks", line) for line in lines]
    shares = [int(found[1]) for found in said]
    assert shares == sorted(set(shares))
    assert shares[-1] == 100
    assert "0:00 left" in lines[-1]
    assert len(shares) > 3


def test_time_left_counts_from_the_first_share_on(monkeypatch, capsys):
    """Of 100 s, after a minute in which loops were compiled."""
    clock = iter((0.0, 60.0, 61.0, 70.0, 79.0, 150.0))
    monkeypatch.setattr("steppe.cli.progress.time", SimpleNamespace(monotonic=lambda: next(clock)))
    tell = Shares("kernels")
    for part in (0.0, 0.01, 0.1, 0.19, 0.9):
        tell(part)
    assert capsys.readouterr().err.splitlines() == ["kernels    1 %  1:39 left", "kernels   19 %  1:21 left", "kernels   90 %  0:10 left"]


@two_cores
def test_kernels_of_many_ranks_are_refused_in_one_sentence():
    assert refused("kernels", "--quick") == "Kernels are measured by one process, on one core and then on all. Leave out mpiexec."


@two_cores
def test_messages_say_so_on_all_ranks(tmp_path):
    assert "there is no folder" in refused("messages", "--json", str(tmp_path / "no" / "a.json"))


def test_documents_of_one_machine_become_one():
    def made(operation, **more):
        return Document(made="2026-01-01", series=[series_of("files", operation, "", 8, np.full(5, 1e-3), 1, True)], **more)

    found = joined(
        [
            made("a", machine={"cpu": "x", "mpi": "MPICH"}, clock={"cost": 1.0, "others": 0.1}, warnings=["slept", "crowded"]),
            made("b", machine={"cpu": "x", "array": 8}, clock={"cost": 2.0, "others": 0.3}, warnings=["slept"], complete=False),
        ]
    )
    assert [one.operation for one in found.series] == ["a", "b"]
    assert found.machine == {"cpu": "x", "mpi": "MPICH", "array": 8}
    assert found.clock == {"cost": 1.0, "others": 0.3}
    assert found.warnings == ["slept", "crowded"]
    assert not found.complete
