"""What a thread level costs, from two runs."""

import numpy as np
import pytest

from steppe.errors import Mistake
from steppe.measure import Document, read_document, write_document
from steppe.measure.messages.plan import COMPUTES, CREATED, PING_PONG
from steppe.measure.messages.price import beside, check_beside, price_words, settings_of
from tests.measure.made import series_of
from tests.measure.ranks import printed, refused, two_cores

SINGLE = {"name": "MPICH", "version": "MPICH 5", "thread_level": "single", "asynchronous_progress": "not asked for"}
MULTIPLE = {"name": "MPICH", "version": "MPICH 5", "thread_level": "multiple"}


def times(median, group="collective", operation="barrier", variant="", size=0):
    return series_of(group, operation, variant, size, np.full(30, median), 1, True, p=2)


def run_of(factor, mpi):
    return Document(
        made="2026-01-01",
        machine={"mpi": mpi},
        series=[
            times(1e-6 * factor, "point-to-point", "point-to-point", PING_PONG, 8),
            times(2e-6 * factor, "point-to-point", "point-to-point", PING_PONG, 1024),
            times(3e-6 * factor, operation="allreduce", size=8),
            times(4e-6 * factor),
            times(5e-6 * factor, "one-sided", "get", CREATED + COMPUTES, 8),
            times(6e-6 * factor, operation="scan", size=8),
        ],
    )


def test_the_price_of_a_thread_level_is_told_of_small_messages():
    here, other = run_of(1.0, SINGLE), run_of(4.0, MULTIPLE)
    rows = beside(here.series, SINGLE, other)
    assert [(one.operation, one.variant) for one in rows] == [
        ("point-to-point", "ping-pong, beside: threads multiple"),
        ("allreduce", "beside: threads multiple"),
        ("barrier", "beside: threads multiple"),
    ]
    said = price_words([*here.series, *rows])
    assert said[0] == "With threads multiple: point-to-point, ping-pong, 8 bytes on 2 ranks 4 us instead of 1, 4 +- 0 times."
    assert said[2] == "With threads multiple: barrier on 2 ranks 16 us instead of 4, 4 +- 0 times."
    assert price_words(here.series) == []
    progress = run_of(0.5, {**MULTIPLE, "asynchronous_progress": "MPICH_ASYNC_PROGRESS=1"})
    last = price_words([*here.series, *beside(here.series, SINGLE, progress)])[-1]
    assert last.startswith(
        "With threads multiple, asynchronous progress MPICH_ASYNC_PROGRESS=1: get, memory of the process, owner computes, 8"
    )


def test_files_that_tell_no_price_are_refused():
    check_beside(run_of(1.0, MULTIPLE), settings_of(SINGLE), "MPICH 5")
    with pytest.raises(Mistake, match=r"has the settings of this run \(threads single, asynchronous progress not asked for\)"):
        check_beside(run_of(1.0, SINGLE), settings_of(SINGLE), "MPICH 5")
    with pytest.raises(Mistake, match='is of "MPICH 5", this run of "Open MPI 5"'):
        check_beside(run_of(1.0, MULTIPLE), settings_of(SINGLE), "Open MPI 5")
    with pytest.raises(Mistake, match="holds no messages"):
        check_beside(Document(made="2026-01-01"), settings_of(SINGLE), "MPICH 5")


@two_cores
def test_a_file_without_a_price_ends_all_ranks_with_the_reason(tmp_path):
    path = tmp_path / "kernels.json"
    write_document(Document(made="2026-01-01"), path)
    assert "the file holds no messages" in refused("messages", "--quick", "--beside", str(path))


LEVELS = """
import sys
from pathlib import Path
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure import write_document
from steppe.measure.messages import session
raw = open_raw(find_launch(), sys.argv[1])
options = session.MessageOptions(quick=True, beside=Path(sys.argv[3]) if sys.argv[3:] else None, passes=1)
kept = {"ping-pong", ""}
session.plan = lambda *a, plan=session.plan, **k: [task for task in plan(*a, **k) if task.variant in kept and task.bytes in (0, 8)]
document, _ = session.measure_messages(raw, options, lambda *_: None, lambda: False)
if raw.rank == 0:
    write_document(document, Path(sys.argv[2]))
raw.close()
"""


@two_cores
def test_two_runs_of_real_ranks_tell_the_price(tmp_path):
    other, here = str(tmp_path / "multiple.json"), tmp_path / "single.json"
    for arguments in (["multiple", other], ["serialized", str(here), other]):
        printed("installed", 2, "-c", LEVELS, *arguments)
    document = read_document(here)
    assert document.machine["mpi"]["thread_level"] == "serialized"
    rows = [one for one in document.series if one.variant.endswith("beside: threads multiple")]
    assert [(one.operation, one.bytes) for one in rows] == [("point-to-point", 8), ("allreduce", 8), ("barrier", 0)]
    known = {
        (one.operation, one.bytes): one.samples
        for one in read_document(tmp_path / "multiple.json").series
        if one.variant in ("ping-pong", "")
    }
    assert all(known[one.operation, one.bytes] == one.samples for one in rows)
    assert len(price_words(document.series)) == 3
