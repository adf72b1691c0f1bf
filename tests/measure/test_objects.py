"""Python objects between real ranks, and what first messages find."""

import pickle

import numpy as np

from steppe.comm.raw import page_buffer
from steppe.measure.messages.objects import made
from steppe.measure.messages.plan import ARRAY, BUFFERS, DICT, FIRST, FRESH, LATER, OUT_OF_BAND, PACKING, PICKLED, TOUCHED, UNPACKING, Task
from steppe.measure.report.sentences import first_words, object_words
from tests.comm.mpis import each_mpi
from tests.measure.made import series_of
from tests.measure.ranks import hold_on_both, printed, two_cores

ARRIVES = """
import numpy as np
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
raw = open_raw(find_launch())
arrays = [np.arange(10.0), np.arange(5000.0) ** 2]
for way, sent in (("buffers", arrays), ("pickled", {"a": arrays, "b": "word"}), ("out of band", {"a": arrays, "b": "word"})):
    send, receive = raw.objects(way, [np.zeros_like(array) for array in arrays])
    if raw.rank == 0:
        send(sent, 1)
        continue
    found = receive(0)
    assert way == "buffers" or found["b"] == "word"
    found = found if way == "buffers" else found["a"]
    assert len(found) == 2 and all((one == other).all() for one, other in zip(found, arrays))
raw.close()
"""
MEASURED = """
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import plan
raw = open_raw(find_launch())
messages = Messages(raw, 0.02, 0.01, 1 << 20)
tasks = [task for task in plan(2, quick=True, huge=False) if task.group == "Python objects" or "message" in task.variant]
series = [messages.measure(task) for task in tasks]
assert len(series) == 12 + 28
assert raw.rank == 1 or all(one.statistics.minimum > 0 for one in series)
least = {}
for task in tasks:
    if task.bytes == 1 << 20 and task.variant.startswith("first message"):
        least[task.variant] = messages.block_times(task, raw, 400, 1)[0].min()
if raw.rank == 0:
    print(least["first message, fresh buffers"] / least["first message, touched buffers"])
raw.close()
"""


@two_cores
@each_mpi
def test_objects_arrive_whatever_the_way(mpi):
    hold_on_both(mpi, ARRIVES)


@two_cores
def test_pages_that_are_not_there_cost_time():
    """256 faults on each side, of some tenths of a microsecond, beside 1 MiB that takes less than 200 us."""
    assert float(printed("installed", 2, "-c", MEASURED)) > 1.1


def test_what_is_sent_has_the_bytes_that_are_told():
    array, parts = (made(Task("Python objects", name, BUFFERS, 2, 1024)) for name in (ARRAY, DICT))
    assert array.nbytes == 1024
    assert len(parts) == 8
    assert sum(part.nbytes for part in parts.values()) == 1024
    assert all(part.base is None for part in parts.values())  # a view would be pickled otherwise
    assert len(pickle.dumps(parts, 5)) > 1024


def test_a_fresh_buffer_is_not_in_memory_and_a_touched_one_is():
    def faults(buffer):
        import resource

        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        buffer[::4096] = 2
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert faults(page_buffer(64 * 4096, touched=False)) >= 64
    assert faults(page_buffer(64 * 4096)) < 8


def times(group, operation, variant, size, median):
    return series_of(group, operation, variant, size, np.full(30, median), 1, True, p=2)


def test_first_messages_are_told_beside_later_ones_for_each_size():
    medians = {(FIRST, FRESH): 8e-6, (LATER, FRESH): 2e-6, (FIRST, TOUCHED): 3e-6, (LATER, TOUCHED): 2e-6}
    series = [times("point-to-point", "point-to-point", f"{which}, {of}", n, t) for n in (8, 1024) for (which, of), t in medians.items()]
    assert first_words(series) == [
        "First message / later ones, fresh buffers: 4 at 8, 4 at 1024 bytes.",
        "First message / later ones, touched buffers: 1.5 at 8, 1.5 at 1024 bytes.",
        "First message, fresh buffers / touched buffers: 2.67 at 8, 2.67 at 1024 bytes.",
    ]


def test_what_pickling_costs_is_told_beside_buffers():
    medians = {BUFFERS: 1e-5, PICKLED: 4e-5, OUT_OF_BAND: 2e-5, f"{PACKING}, {PICKLED}": 1e-5, f"{UNPACKING}, {PICKLED}": 2e-6}
    assert object_words([times("Python objects", ARRAY, variant, 64, t) for variant, t in medians.items()]) == [
        "Python array of 64 bytes, by mpi4py: 10 us as buffers; pickled 4 times as long, of which packing 25% and unpacking 5%; "
        "out of band 2 times."
    ]
