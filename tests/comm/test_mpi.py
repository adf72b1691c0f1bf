"""Programs of ranks that do not end as they should: the others do not wait for ever."""

import pytest

from tests.comm.mpis import each_mpi, run_ranks

ENDS = {
    "raise ValueError('no luck')": "steppe: rank 1: ValueError: no luck.",
    "import threading, time; threading.Thread(target=lambda: 1 // 0).start(); time.sleep(9)": "steppe: rank 1: ZeroDivisionError",
    "sys.exit(3)": "steppe: rank 1 ended without closing its world; the other ranks would wait for it.",
    "w.gather(np.zeros(2, np.float32)); w.barrier()": "steppe: rank 0: Failure: Rank 0 gathers float64, but other ranks sent",
    "w.send(np.zeros(300), 0); w.barrier()": "steppe: rank 0: Failure: Rank 0 got more than 8 bytes from rank 1, tag 0, expected",
}
PROGRAM = """
import sys
import numpy as np
from steppe.comm import open_world
w = open_world()
if w.rank == 1:
    {}
else:
    w.receive(np.zeros(1), 1).wait() if {!r} and w.rank == 0 else None
    w.gather(np.zeros(2)) if {!r} else None
    w.barrier()
w.close()
"""


@pytest.mark.parametrize("end", ENDS)
def test_a_rank_that_ends_otherwise_than_the_others_ends_all_with_a_sentence(end: str) -> None:
    done = run_ranks("installed", 3, "-c", PROGRAM.format(end, end if "send" in end else "", end if "gather" in end else ""))
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("steppe: ")]
    assert len(said) == 1, done.stderr
    assert said[0].startswith(ENDS[end])
    assert "defect" not in said[0]


@each_mpi
def test_a_message_that_nobody_received_is_found_at_the_end_or_does_no_harm(mpi: str) -> None:
    code = "import numpy as np; from steppe.comm import open_world; w = open_world(); w.send(np.zeros(1), 0, tag=5); w.close()"
    done = run_ranks(mpi, 2, "-c", code)
    assert done.returncode == 0 or "messages that it never received" in done.stderr
