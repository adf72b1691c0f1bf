"""Real ranks send real messages; nothing is said of how fast."""

import json

import jsonschema
import numpy as np
import pytest

from steppe.measure import read_document
from steppe.measure.messages.plan import (
    ARRAY,
    BEHIND,
    COLLECTIVES,
    COMPUTES,
    DICT,
    HUGE,
    LEAST_HUGE,
    NON_BLOCKING,
    NON_BLOCKING_BEHIND,
    ONE_SIDED,
    is_fitted,
    plan,
)
from tests.comm.mpis import each_mpi
from tests.measure.ranks import CORES, SCHEMA, hold_on_both, measured, printed, refused, two_cores


@two_cores
def test_a_quick_measurement_keeps_all_samples_and_fits_them(tmp_path):
    path = tmp_path / "a.json"
    said = measured("messages", "--quick", "--passes", "2", "--json", str(path), limit=280)
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    document = read_document(path)
    assert document.complete
    assert document.machine["mpi"]["thread_level"] == "single"
    assert [(one.operation, one.variant, one.p, one.bytes) for one in document.series] == [
        (task.operation, task.variant, task.p, task.bytes)
        for task in plan(2, quick=True, huge=any(one.variant == HUGE for one in document.series))
    ]
    for one in document.series:
        times = one.times()
        assert times.size == one.statistics.n >= (2 if one.variant.endswith(COMPUTES) else 12)
        assert one.statistics.median == pytest.approx(np.median(times), rel=1e-6)
        assert one.statistics.minimum > 0 or one.variant in (BEHIND, NON_BLOCKING_BEHIND)
    assert 0 < document.clock["cost"] < 1e-5
    assert 0 <= document.clock["loop"] < document.clock["cost"]
    fitted = {(one.operation, one.variant) for one in document.series if is_fitted(one.variant)} - {
        ("barrier", ""),
        ("barrier", NON_BLOCKING),
    }
    assert {(one.name["operation"], one.name.get("variant", "")) for one in document.fits} == fitted
    medians = {one.statistics.median for one in document.series}
    assert all(medians.issuperset(one.points.t) and one.pieces for one in document.fits)
    assert "point-to-point, ping-pong, same " in said
    assert said.count("\n") > 60


def test_more_ranks_than_cores_are_refused_with_the_reason():
    line = refused("messages", "--quick", ranks=CORES + 1)
    assert f"{CORES + 1} ranks on {CORES} cores" in line
    assert "would measure the scheduler" in line


def test_the_full_plan_has_all_sizes_all_operations_and_every_number_of_ranks():
    tasks = plan(5, quick=False, huge=True)
    assert {task.operation for task in tasks} == {*COLLECTIVES, *ONE_SIDED, ARRAY, DICT, "point-to-point"}
    assert {task.bytes for task in tasks if task.variant == "ping-pong"} == {0, *(1 << i for i in range(25))}
    assert {task.p for task in tasks if task.operation == "barrier"} == {2, 3, 4, 5}
    assert {task.operation for task in tasks if task.variant == NON_BLOCKING} == set(COLLECTIVES)
    assert {task.bytes for task in tasks if task.operation == "put"} == {1 << i for i in range(25)}
    assert {task.bytes for task in tasks if task.operation == "accumulate"} == {1 << i for i in range(3, 25)}
    assert len(set(tasks)) == len(tasks)
    assert [task for task in tasks if task not in plan(5, quick=False, huge=False)] == [task for task in tasks if task.variant == HUGE]
    assert {task.bytes for task in tasks if task.variant == HUGE} == {n for n in (1 << i for i in range(25)) if n >= LEAST_HUGE}


CLOCKS = """
from dataclasses import replace
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import Task
raw = open_raw(find_launch())
messages = Messages(raw, 0.02, 0.05, 64)
messages.ticks = replace(messages.ticks, cost=(50e-9, 1e-6)[raw.rank])
blocks = []
for task in (Task("point-to-point", "point-to-point", variant, 2, 8) for variant in ("ping-pong", "64 under way")):
    blocks.append(messages.measure(task).block)
blocks.append(messages.measure(Task("collective", "allreduce", "", 2, 8)).block)
assert raw.texts(str(blocks)) == [str(blocks)] * 2
raw.close()
"""


@two_cores
@each_mpi
def test_ranks_whose_clocks_cost_differently_send_equally_many_messages(mpi):
    hold_on_both(mpi, CLOCKS)


SLEEPER = """
import os, signal, select, time, sys
parent = os.getppid()
while not select.select([0], [], [], 0.01)[0]:
    os.kill(parent, signal.SIGSTOP)
    time.sleep(0.09)
    os.kill(parent, signal.SIGCONT)
"""
SLEEPS = f"""
import subprocess, sys, time
from steppe.comm import find_launch
launch = find_launch()
sleeper = None
if launch.rank == 1:
    sleeper = subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], stdin=subprocess.PIPE)
from steppe.comm.raw import open_raw
raw = open_raw(launch)
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import Task
for _ in range(10):  # on a busy machine both ranks may be kept from running alike for some seconds
    messages = Messages(raw, 0.02, 0.05, 64)
    end = time.monotonic() + 3.0
    while raw.told(float(time.monotonic() < end)):
        messages.measure(Task("collective", "barrier", "", 2, 0))
    warnings = messages.warnings()
    if raw.told(float(bool(warnings))):
        break
if sleeper is not None:
    sleeper.stdin.close()
    sleeper.wait()
if raw.rank == 0:
    print("\\n".join(warnings))
raw.close()
"""


@two_cores
def test_a_rank_that_sleeps_now_and_then_is_named():
    said = printed("installed", 2, "-c", SLEEPS)
    (warning,) = [line for line in said.splitlines() if line.startswith("Rank 1")]
    assert "was not running for" in warning
    assert "something sleeps" in warning
