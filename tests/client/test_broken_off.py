"""Orders that were broken off, and orders of several threads: the client is never behind itself."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import steppe
from steppe.client import Run, StaleError
from tests.client.served import TOKENS, Served


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C reaches this process, also one that a shell began in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_order_follows_one_that_was_interrupted(slow_server: Served) -> None:
    run = slow_server.connect()
    run.step(1)
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run.step(50)
    assert run.pause().state == "done"
    assert run.operations[-2].state == "cancelled"


def test_an_order_follows_one_that_took_too_long(slow_server: Served) -> None:
    async def steer() -> str:
        async with await steppe.connect_async(slow_server.address, TOKENS["steer"]) as run:
            await run.step(1)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(run.step(50), 0.4)
            return (await run.pause()).state

    assert asyncio.run(steer()) == "done"


def test_a_refused_order_is_not_forgiven_what_others_did(run: Run, shared_server: Served) -> None:
    shared_server.connect("steer").step(1)
    for _ in range(2):
        with pytest.raises(StaleError):
            run.set("water", 1.0)


def test_threads_steer_by_one_run(run: Run) -> None:
    def steer(cell: int) -> None:
        for _ in range(5):
            run.set("water", 10.0 + cell, cells=[cell])
            run.info()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(steer, range(4)))
    assert run.get("water", cells=range(4)).values.tolist() == [10.0, 11.0, 12.0, 13.0]


def test_an_order_under_way_has_a_summary_in_the_list_of_all(slow_server: Served) -> None:
    run = slow_server.connect()
    run.play()
    order = run.operations[-1]
    assert "Operation 1: step of main, running, " in repr(order)
    assert "of 60" in order._repr_html_()
    run.pause()
