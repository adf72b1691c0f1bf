"""MPI's functions by address do what mpi4py's do; compiled once, they serve every process and every library."""

from pathlib import Path

from steppe.comm.raw import _is_huge, huge_buffer, page_buffer
from tests.comm.mpis import each_mpi, run_ranks

PAYLOADS = """
import numpy as np
from steppe.comm import find_launch
from steppe.comm.raw import ADDRESS, call, open_raw, page_buffer, pointers
from numba import njit

@njit
def send(f, arguments):
    return call(f, arguments)

raw = open_raw(find_launch())
I, f = np.int64, raw.addresses
mine, other = page_buffer(800).view(np.float64), page_buffer(800).view(np.float64)
status = np.zeros(raw.status_size, np.uint8)
mine[:] = np.arange(100) + 1000 * raw.rank
a, b = map(I, pointers([mine, other]))
comm, tag = I(raw.comm), I(3)
if raw.rank == 0:
    assert send(f[ADDRESS["Send"]], (a, I(800), raw.byte, I(1), tag, comm)) == 0
else:
    assert send(f[ADDRESS["Recv"]], (b, I(800), raw.byte, I(0), tag, comm, I(status.ctypes.data))) == 0
    assert (other == np.arange(100)).all()
assert send(f[ADDRESS["Allreduce"]], (a, b, I(100), raw.double, raw.sum, comm)) == 0
assert (other == 2 * np.arange(100) + 1000).all()
assert raw.together(np.array([float(raw.rank)]))[:, 0].tolist() == [0.0, 1.0]
assert raw.told(7.0 + raw.rank) == 7.0
assert raw.texts(str(raw.rank)) == ["0", "1"]
part = raw.of([0])
assert (part is None) == (raw.rank == 1)
assert raw.thread_level == "single"
raw.close()
print("done")
"""
TIMED = """
import numpy as np
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
raw = open_raw(find_launch(), "multiple")
from steppe.measure.messages import loops
assert raw.thread_level == "multiple"
found = np.empty(100)
loops.ticks(raw.addresses, found)
loops.empty(raw.addresses, found, 10, 0.0)
compiled = raw.together(np.array([sum(sum(one.stats.cache_misses.values()) for one in (loops.ticks, loops.empty))], float))
if raw.rank == 0:
    print(int(compiled.sum()))  # either rank may have been the first
raw.close()
"""


@each_mpi
def test_what_is_sent_by_address_arrives(mpi):
    done = run_ranks(mpi, 2, "-c", PAYLOADS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 2


@each_mpi
def test_a_second_job_compiles_nothing(mpi, tmp_path):
    first, second = (run_ranks(mpi, 2, "-c", TIMED, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert int(first.stdout) > 0
    assert int(second.stdout) == 0


def test_mpi_that_was_begun_before_is_refused():
    code = "from mpi4py import MPI; from steppe.comm import find_launch; from steppe.comm.raw import open_raw; open_raw(find_launch())"
    done = run_ranks("installed", 2, "-c", code)
    assert done.returncode != 0
    assert "MPI has begun already, with another thread level." in done.stderr


def test_buffers_lie_on_the_pages_that_were_asked_for():
    if "never" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text().partition("[")[2].partition("]")[0]:
        assert huge_buffer(8) is None
        return
    small, huge = page_buffer(4 << 20), huge_buffer(3 << 20)
    assert not _is_huge(small.ctypes.data)
    assert huge is not None
    assert (huge.size, huge.ctypes.data % (2 << 20), huge.min(), huge.max()) == (3 << 20, 0, 1, 1)
    assert _is_huge(huge.ctypes.data)
