"""What people get wrong with arrays, queues and files: one sentence, on one rank and on several, and no rank waits for ever."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from steppe.arrays import GlobalArray, MemoryFile, open_world
from steppe.errors import ArrayError
from tests.comm.mpis import ROOT, run_ranks

PROGRAM = """
import sys
import numpy as np
from steppe.arrays import GlobalArray, MemoryFile, WorkQueue, open_world
with open_world() as world:
    array = GlobalArray(world, (2, 5), name="load")
    {within}
{after}
"""
MISTAKES = {  # within, after the world -> the sentence
    (
        "MemoryFile(sys.argv[1], 'w', world, size=9).write_at(0, 1, b'a')",
        "",
    ): "was not closed; what was written after its last flush is lost.",
    ("WorkQueue(world, 10.0)", ""): "A queue has 10.0 tasks in chunks of at least 1. Expected whole numbers",
    ("GlobalArray(world, 1e3)", ""): "a shape has whole numbers, not 1000.0.",
    ("GlobalArray(world, 3, 'floot')", ""): "'floot' is no dtype of NumPy. An array holds int32, int64, float32, float64.",
    ("GlobalArray(3, world)", ""): "3 is no world. Give what open_world() returned.",
    ("MemoryFile(sys.argv[1], 'w', world, size=9).write('a')", ""): "takes bytes, not a text.",
    ("MemoryFile(sys.argv[1], 'r', world, size=9)", ""): 'is opened with mode "r" and size=9. Leave `size` out',
    ("with array.read_only() as seen: seen[0, 0] = 1.0", ""): '"load" is read-only until all ranks leave `read_only`',
    ("pass", "array[0]"): '"load" belongs to a world that has ended.',
    ("pass", "GlobalArray(world, 3)"): "The world has ended.",
}


@pytest.mark.parametrize(("within", "after"), MISTAKES)
def test_a_mistake_is_one_sentence_alone_and_on_two_ranks(within: str, after: str, tmp_path: Path) -> None:
    words = "-c", PROGRAM.format(within=within, after=after), str(tmp_path / "file")
    alone = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    for done in (alone, run_ranks("installed", 2, *words, limit=60.0)):
        assert done.returncode != 0
        assert MISTAKES[within, after] in done.stderr
    assert "closed" not in MISTAKES[within, after] or not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["array.sync()", "array.free()", "WorkQueue(world, 7)", "array.sync(); array.sync()"])
def test_a_rank_that_leaves_the_world_while_another_waits_is_named(call: str) -> None:
    within = f"array.sync()\n    if world.rank == 0: {call}"
    done = run_ranks("installed", 2, "-c", PROGRAM.format(within=within, after=""), limit=60.0)
    assert done.returncode != 0
    assert "The ranks disagree: rank 0 is in" in done.stderr
    assert "rank 1 in the end of the world." in done.stderr


def test_a_rank_that_gave_up_a_call_is_in_no_other_one_and_no_rank_waits_for_ever() -> None:
    within = """if world.rank:
        import time
        time.sleep(1.0)
    else:
        try: array.read_only(patience=0.3).__enter__()
        except Exception: print("given up")
    array.sync()"""
    done = run_ranks("installed", 2, "-c", PROGRAM.format(within=within, after=""), limit=60.0)
    assert done.returncode != 0
    assert "given up" in done.stdout
    assert 'Rank 0 has waited 0.3 s in read_only of "load" for rank 1.' in done.stderr


def test_a_copy_of_a_rank_makes_no_arrays() -> None:
    within = """import os
    if world.rank == 1 and os.fork() == 0:
        try: GlobalArray(world, 3)
        except Exception as error: print(error, flush=True)
        os._exit(0)"""
    done = run_ranks("installed", 2, "-c", PROGRAM.format(within=within, after=""), limit=60.0)
    assert "This process is a copy of rank 1, made by a fork. Only the rank makes arrays, queues and files." in done.stdout


def test_a_second_world_of_a_process_is_refused() -> None:
    done = run_ranks("installed", 2, "-c", PROGRAM.format(within="pass", after="open_world()"), limit=60.0)
    assert "MPI has ended in this process, and begins once." in done.stderr


def test_numpy_takes_an_array_by_its_values() -> None:
    with open_world() as world:
        array = GlobalArray(world, (2, 5))
        array[...] = np.arange(10.0).reshape(2, 5)
        assert np.array_equal(array, np.arange(10.0).reshape(2, 5))
        assert (np.sum(array), np.max(array), np.asarray(array, np.float32).dtype) == (45.0, 9.0, np.float32)
        assert isinstance(array[1, 2], float)
        with array.read_only() as seen:
            assert isinstance(seen[1, 2], float)
            assert (np.sum(seen), np.asarray(seen).shape) == (45.0, (2, 5))
        array[1] = np.ones((1, 1, 5))  # NumPy drops leading dimensions of length 1
        assert array[1].tolist() == [1.0] * 5
        number = GlobalArray(world, ())
        number[()] = 2.5
        assert (np.asarray(number).shape, float(np.sum(number)), number[()]) == ((), 2.5, 2.5)


def test_a_file_that_an_error_left_open_keeps_its_own_error(tmp_path: Path) -> None:
    def leave(error: Exception | None) -> None:
        with open_world() as world:
            MemoryFile(tmp_path / "file", "w", world, size=9)
            if error:
                raise error

    with pytest.raises(ValueError, match="own"):
        leave(ValueError("own"))
    with pytest.raises(ArrayError, match="was not closed"):
        leave(None)
