"""A simulation that several threads or forks call computes each step once, or refuses the call."""

import os
import pickle
import warnings
from contextlib import suppress
from copy import deepcopy
from threading import Barrier, Thread

import numpy as np
import pytest

import steppe
from steppe.engine import Simulation
from steppe.errors import RequestError


def test_a_call_of_another_thread_is_refused_and_no_step_is_lost(scenario, tmp_path):
    steppe.run(scenario, tmp_path / "whole")
    begun, done, refused = Barrier(4), [], []
    with Simulation(scenario) as simulation:

        def work() -> None:
            begun.wait()
            try:
                simulation.step(5)
                done.append(simulation.step_index)
            except RequestError as error:
                refused.append(str(error))

        threads = [Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert simulation.step_index == 5 * len(done)
        assert len(done) + len(refused) == 4
        assert all(said.startswith("Another thread uses this simulation. Wait for it") for said in refused)
        simulation.run()
    with steppe.open(tmp_path / "whole") as whole, steppe.open(scenario.parent / "out") as found:
        np.testing.assert_array_equal(found["water"], whole["water"])


def test_a_fork_neither_computes_nor_writes_into_the_run_folder(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(5)
        before = {path: path.stat().st_mtime_ns for path in simulation.folder.path.rglob("*")}
        uses = (lambda: simulation.set("water", 1.0), simulation.checkpoint, simulation.close, lambda: simulation["water"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads
            child = os.fork()
        if not child:
            refused = 0
            try:
                for use in uses:
                    with suppress(RequestError):
                        use()
                        break
                    refused += 1
            finally:
                os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(uses)
        assert {path: path.stat().st_mtime_ns for path in simulation.folder.path.rglob("*")} == before
        simulation.step()


@pytest.mark.parametrize("copied", [pickle.dumps, deepcopy])
def test_a_copy_is_refused_with_what_to_do(scenario, copied):
    with Simulation(scenario) as simulation, pytest.raises(TypeError, match="A simulation cannot be pickled or copied"):
        copied(simulation)


def test_a_function_that_gets_events_may_look(scenario):
    seen = []
    simulation = Simulation(scenario, on_event=lambda event: seen.append(simulation.step_index) if event.kind == "progress" else None)
    with simulation:
        simulation.step(3)
    assert seen


def test_another_thread_is_refused_while_one_computes(scenario):
    refused = []

    def other() -> None:
        for work in (lambda: simulation.step(), lambda: simulation.get("water"), simulation.close):
            try:
                work()
            except RequestError as error:
                refused.append(str(error))

    def told(event: steppe.Event) -> None:
        if event.kind == "progress":
            assert simulation.get("water").size
            thread = Thread(target=other)
            thread.start()
            thread.join()

    simulation = Simulation(scenario, on_event=told)
    with simulation:
        simulation.step()
    assert len(refused) == 3
