import logging
import subprocess
import sys
import time
from threading import Event

import pytest

from steppe.errors import ModelError
from steppe.kernels import Background
from steppe.kernels.loading import go_on

ENDLESS = """
from threading import Event
from steppe.kernels import Background
from steppe.kernels.loading import go_on

begun = Event()

def make():
    begun.set()
    while True:
        go_on()

Background(make)
begun.wait()
"""
LATER = """
import time
from threading import Thread, main_thread
from steppe.kernels import Background
from steppe.kernels.loading import go_on

def make():
    while main_thread().is_alive():
        time.sleep(0.001)
    go_on()
    return "made"

def wait():
    while main_thread().is_alive():
        time.sleep(0.001)
    print(loading.result())

loading = Background(make)
Thread(target=wait).start()
"""


def test_it_is_made_meanwhile_and_waited_for() -> None:
    go, begun = Event(), Event()

    def make() -> str:
        begun.set()
        go.wait()
        go_on()
        return "made"

    loading = Background(make)
    begun.wait()
    go.set()
    assert loading.result() == loading.result() == "made"


def test_what_goes_wrong_is_raised_where_it_is_waited_for() -> None:
    def make() -> None:
        raise ModelError("It cannot be compiled.")

    with pytest.raises(ModelError, match="cannot be compiled"):
        Background(make).result()


def test_a_program_that_ends_waits_for_nothing_that_nobody_needs() -> None:
    assert subprocess.run([sys.executable, "-c", ENDLESS], timeout=60).returncode == 0


def test_a_thread_that_outlives_the_program_gets_what_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "made\n"), done.stderr


def test_a_thread_that_waits_long_for_a_value_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "steppe")
    assert Background(lambda: 1).result() == 1
    assert caplog.messages == []
    assert Background(lambda: time.sleep(0.5) or 2).result() == 2
    assert caplog.messages == ["Waiting for a kernel that is compiled or read."]


def test_what_ends_the_thread_is_raised_where_the_value_is_awaited() -> None:
    def make() -> str:
        raise SystemExit(3)

    with pytest.raises(SystemExit, match="3"):
        Background(make).result()
