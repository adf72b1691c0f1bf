"""The data set of a run, which reads with the patience of the client and at a Unix socket."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.client import UnreachableError
from tests.client.served import TOKENS, Served, until


def test_a_data_set_waits_for_a_server_that_is_started_again(scenario: Path) -> None:
    server = Served(scenario)
    try:
        run = server.connect()
        run.step(3)
        water, data = run["water"].values, run.dataset()["water"]
        hasty = server.connect(patience=0.5).dataset()["water"]
        server.kill()
        with ThreadPoolExecutor() as others:
            found = others.submit(lambda: data[2].values)
            server.start()
            np.testing.assert_array_equal(found.result(60), water)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(data))[2], water)
        np.testing.assert_array_equal(data.copy(deep=True)[2], water)
        server.kill()
        with pytest.raises(UnreachableError, match=r"did not answer for 0\.5 s"):
            hasty[1].load()
    finally:
        server.stop()


def test_a_data_set_comes_through_a_unix_socket(scenario: Path) -> None:
    server = Served(scenario, "--uds", "socket")
    try:
        until((scenario.parent / "socket").exists)
        with steppe.connect(f"unix:{scenario.parent / 'socket'}", TOKENS["steer"]) as run:
            run.step(2)
            data = run.dataset()
            np.testing.assert_array_equal(data["water"][1], run["water"])
            assert data["water"][5].isnull().all()
    finally:
        server.stop()
