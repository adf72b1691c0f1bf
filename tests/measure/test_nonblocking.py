"""Collective operations that are started and waited for: the same result, hidden or not."""

import numpy as np

from steppe.measure.messages.plan import NON_BLOCKING, NON_BLOCKING_BEHIND
from steppe.measure.report.sentences import overlap_words
from tests.comm.mpis import each_mpi
from tests.measure.made import series_of
from tests.measure.ranks import hold_on_both, two_cores

RESULTS = """
import time
import numpy as np
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import COLLECTIVES, NON_BLOCKING, NON_BLOCKING_BEHIND, Task
raw = open_raw(find_launch())
messages = Messages(raw, 0.02, 0.05, 256)
send, receive = (buffer.view(np.float64) for buffer in messages._buffers)
for name in COLLECTIVES:
    found = []
    for variant in ("", NON_BLOCKING):
        send[:], receive[:] = np.arange(32) + 100 * raw.rank, -1.0
        messages.block_times(Task("collective", name, variant, 2, 0 if name == "barrier" else 128), raw, 2, 3)
        found.append((send.tolist(), receive.tolist()))
    assert found[0] == found[1], name
    moved = send if name == "broadcast" else receive
    assert name == "barrier" or raw.rank == 1 and name in ("gather", "reduction") or (moved >= 0).any(), name
messages._work["barrier", 2, 0] = 0.02
begin = time.monotonic()
left = messages.block_times(Task("collective", "barrier", NON_BLOCKING_BEHIND, 2, 0), raw, 5, 1)
assert time.monotonic() - begin >= 0.1
assert left.min() < 0.02  # another program may hold a core when ranks meet
raw.close()
"""


@two_cores
@each_mpi
def test_non_blocking_operations_bring_what_blocking_ones_bring(mpi):
    hold_on_both(mpi, RESULTS)


def times(operation, variant, size, median):
    return series_of("collective", operation, variant, size, np.full(30, median), 1, True, p=2)


def test_what_work_hides_is_told_at_the_largest_size():
    said = overlap_words(
        [
            times("broadcast", NON_BLOCKING, 8, 1e-6),
            times("broadcast", NON_BLOCKING_BEHIND, 8, 1e-6),
            times("broadcast", NON_BLOCKING, 64, 2e-6),
            times("broadcast", NON_BLOCKING_BEHIND, 64, 0.5e-6),
            times("scatter", NON_BLOCKING, 8, 1e-6),
            times("scatter", NON_BLOCKING_BEHIND, 8, 3e-6),
            times("barrier", NON_BLOCKING_BEHIND, 0, 1e-6),
        ]
    )
    hides = "Overlap: work as long as a non-blocking {} bytes on 2 ranks hides {}."
    assert said == [
        hides.format("broadcast of 64", "75% +- 0% of it"),
        hides.format("scatter of 8", "nothing of it, which then takes 3 times as long"),
    ]
