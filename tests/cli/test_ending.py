"""Ranks that do not end by themselves, as real processes: stopped by a signal, or deaf to requests. Times are short here."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steppe.cli.ending import Ending, _environment, processes_of
from steppe.comm import find_launch
from steppe.errors import Exit, Mistake
from tests.cli.test_ranks import STOPPING, control_of, long_job, nothing_is_left, until_it_rains  # noqa: F401
from tests.comm.mpis import each_mpi

ON = "The same command continues from the last checkpoint."
WORDS = ["[rank 1] a word", "[rank 2] a word"]


class Job:
    """Three ranks that step until they are asked to stop, and the process that supervises them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        until_it_rains(process)
        self.process, self._control = process, control_of(process)
        self.ranks = {launch.rank: pid for pid in processes_of(self._control) if (launch := find_launch(_environment(pid)))}

    def stop(self, rank: int = 1) -> None:
        os.kill(self.ranks[rank], signal.SIGSTOP)

    def go_on(self, rank: int = 1) -> None:
        os.kill(self.ranks[rank], signal.SIGCONT)

    def ended(self) -> tuple[int, str, list[str]]:
        """Exit code, standard output, lines of standard error; no process, no socket and no folder of it is left."""
        said, wrong = self.process.communicate(timeout=90)
        assert processes_of(self._control) == []
        assert not self._control.parent.exists()
        return self.process.returncode, said, [line for line in wrong.splitlines() if line.startswith(("steppe", "Stop", "[rank"))]


@contextmanager
def job(mpi: str = "installed", what: str = "long", stopped: str = "2", ending: str = "3") -> Iterator[Job]:
    with long_job(mpi, what, STEPPE_STOPPED=stopped, STEPPE_ENDING=ending) as process:
        yield Job(process)


@each_mpi
@pytest.mark.usefixtures("nothing_is_left")
def test_a_rank_that_stays_stopped_ends_all_with_one_line_that_names_it(mpi: str) -> None:
    with job(mpi) as running:
        running.stop()
        name = f"Rank 1 (process {running.ranks[1]})"
        line = f"steppe: {name} was stopped by a signal for 2 s, and no checkpoint was written in 3 s more: all ranks were ended. {ON}"
        assert running.ended() == (Exit.FAILURE, "", [line])


@pytest.mark.usefixtures("nothing_is_left")
def test_sigterm_ends_a_run_of_which_a_rank_is_stopped() -> None:
    with job(stopped="60") as running:
        running.stop(0)
        running.process.terminate()
        name = f"Rank 0 (process {running.ranks[0]})"
        line = f"steppe: {name} is stopped by a signal, and no checkpoint was written within 3 s of SIGTERM: all ranks were ended. {ON}"
        assert running.ended() == (Exit.FAILURE, "", [STOPPING.strip(), line])


@pytest.mark.usefixtures("nothing_is_left")
def test_sigterm_ends_ranks_that_do_not_answer() -> None:
    with job(what="hang") as running:
        running.process.terminate()
        line = f"steppe: No checkpoint was written within 3 s of SIGTERM (STEPPE_ENDING sets this time): all ranks were ended. {ON}"
        assert running.ended() == (Exit.FAILURE, "", [STOPPING.strip(), line])


def test_other_requests_to_stop_wait_as_long_as_a_checkpoint_takes() -> None:
    with job(what="hang", ending="0") as running:
        running.process.send_signal(signal.SIGUSR1)
        time.sleep(8.0)  # longer than SIGTERM would wait
        assert running.process.poll() is None


@pytest.mark.usefixtures("nothing_is_left")
def test_a_rank_that_goes_on_in_time_disturbs_nothing() -> None:
    with job(stopped="4") as running:
        for _ in range(3):  # together longer than 4 s
            running.stop()
            time.sleep(1.5)
            running.go_on()
            time.sleep(1.0)
        assert running.process.poll() is None
        running.process.send_signal(signal.SIGUSR1)
        code, said, (first, *others) = running.ended()
    assert (code, said, first, sorted(others)) == (Exit.STOPPED, "the summary\n", STOPPING.strip(), WORDS)


@pytest.mark.usefixtures("nothing_is_left")
def test_a_rank_that_goes_on_after_the_request_stops_with_a_checkpoint_and_the_line_says_why() -> None:
    with job(stopped="1", ending="60") as running:
        running.stop()
        time.sleep(4.0)
        running.go_on()
        code, said, lines = running.ended()
    assert (code, said) == (Exit.STOPPED, "the summary\n")
    line = f"steppe: The run was stopped because rank 1 (process {running.ranks[1]}) had been stopped by a signal for 1 s."
    assert sorted(lines) == [*WORDS, line]


def test_a_rank_that_is_only_silent_goes_on() -> None:
    with job(what="hang", stopped="1") as running:
        time.sleep(4.0)
        assert running.process.poll() is None


def test_a_job_that_is_suspended_as_a_whole_goes_on() -> None:
    with job(stopped="2") as running:
        running.process.send_signal(signal.SIGSTOP)
        running.stop()
        time.sleep(5.0)
        running.process.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        running.go_on()
        time.sleep(1.5)
        running.process.send_signal(signal.SIGUSR1)
        code, said, (first, *others) = running.ended()
    assert (code, said, first, sorted(others)) == (Exit.STOPPED, "the summary\n", STOPPING.strip(), WORDS)


@pytest.mark.parametrize("value", ["soon", "-1", "nan"])
def test_a_time_that_is_no_number_is_a_mistake(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPPE_STOPPED", value)
    with pytest.raises(Mistake, match=f'STEPPE_STOPPED is "{value}", expected a number of seconds, such as 30. Correct it, or unset it.'):
        Ending(Path("control"))
