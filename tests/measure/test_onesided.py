"""One-sided operations on real ranks: what arrives where, and who waits for whom."""

import numpy as np

from steppe.measure.messages.plan import ALLOCATED, COMPUTES, CREATED
from steppe.measure.report.sentences import owner_words
from tests.comm.mpis import each_mpi
from tests.measure.made import series_of
from tests.measure.ranks import hold_on_both, printed, two_cores

ARRIVES = """
import numpy as np
from steppe.comm import find_launch
from steppe.comm.raw import open_raw, page_buffer, pointers
from steppe.measure.messages.onesided import OneSided
from steppe.measure.messages.plan import ALLOCATED, CREATED, Task
raw = open_raw(find_launch())
sided, mine = OneSided(raw, 800), page_buffer(800)
numbers, place = mine.view(np.float64), np.int64(pointers([mine])[0])

def do(operation, memory, n, k):
    raw.barrier()
    assert sided.loop(Task("one-sided", operation, memory, 2, n), place, 0.0)(np.empty(2), k) == 0
    raw.barrier()

for memory, allocated in ((ALLOCATED, True), (CREATED, False)):
    there = sided.memory(allocated).bytes
    there[:] = 7
    mine[:] = np.arange(800) % 251 if raw.rank == 0 else 9
    do("put", memory, 500, 3)
    expected = np.where(np.arange(800) < 500, np.arange(800) % 251, 7)
    assert (there == (expected if raw.rank == 1 else 7)).all()
    there.view(np.float64)[:] = np.arange(100) + 1000 * raw.rank
    do("get", memory, 400, 1)
    assert (numbers[:50] == np.arange(50) + 1000).all() if raw.rank == 0 else (mine == 9).all()
    numbers[:] = 0.5
    do("accumulate", memory, 80, 3)
    added = 3.0 if raw.rank == 1 else 0.0  # two blocks of three halves
    assert (there.view(np.float64) == np.arange(100) + 1000 * raw.rank + added * (np.arange(100) < 10)).all()
sided.close()
raw.close()
"""
WAITS = """
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import ALLOCATED, COMPUTES, CREATED, Task
raw = open_raw(find_launch())
messages = Messages(raw, 0.02, 0.05, 64)
medians = [
    messages.measure(Task("one-sided", "get", memory + more, 2, 64)).statistics.median
    for memory in (ALLOCATED, CREATED)
    for more in ("", COMPUTES)
]
messages.close()
if raw.rank == 0:
    print(*medians)
raw.close()
"""


@two_cores
@each_mpi
def test_what_is_put_got_and_accumulated_is_there(mpi):
    hold_on_both(mpi, ARRIVES)


@two_cores
def test_a_get_waits_for_an_owner_that_computes_unless_memory_is_in_common():
    """What the installed library does on one host; 100 ms are far from any time of a message."""
    shared, shared_busy, own, own_busy = map(float, printed("installed", 2, "-c", WAITS).split())
    assert max(shared, shared_busy, own) < 0.02
    assert 0.05 < own_busy < 0.2


@two_cores
def test_with_asynchronous_progress_nobody_waits_for_the_owner():
    said = printed("installed", 2, "-c", WAITS, MPICH_ASYNC_PROGRESS="1")
    assert float(said.split()[3]) < 0.098  # who waits, waits 99 ms


def times(operation, variant, size, median):
    return series_of("one-sided", operation, variant, size, np.full(6, median), 1, True, p=2)


def test_who_waits_for_the_owner_is_told_in_words():
    said = owner_words(
        [
            times("get", CREATED, 8, 1e-6),
            times("get", CREATED + COMPUTES, 8, 0.099),
            times("get", ALLOCATED + COMPUTES, 8, 2e-6),
            times("get", ALLOCATED + COMPUTES, 65_536, 3e-6),
            times("accumulate", CREATED + COMPUTES, 8, 5e-6),
            times("accumulate", CREATED + COMPUTES, 65_536, 0.0994),
        ]
    )
    assert said == [
        "A get (allocated by MPI) does not wait while the owner computes: a single one of 8 bytes in 2 us, 65536 bytes in 3 us.",
        "A get (memory of the process) waits until the owner calls MPI: 99 ms where it computes for 100 ms.",
        "An accumulate (memory of the process) waits until the owner calls MPI: 99 ms where it computes for 100 ms (65536 bytes).",
        "An accumulate (memory of the process) does not wait while the owner computes: a single one of 8 bytes in 5 us.",
    ]
