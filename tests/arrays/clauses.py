"""What global arrays keep to in any world. `python -m tests.arrays.clauses HOSTS` checks it as one rank of an MPI job."""

import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from steppe.arrays import GlobalArray, WorkQueue
from steppe.comm import World, find_launch, open_world
from steppe.errors import ArrayError, Failure
from steppe.kernels import field_kernel
from steppe.kernels.elements import element_access

load, store, add = element_access("float64")
Integers, Reals = np.typing.NDArray[np.int64], np.typing.NDArray[np.float64]


@field_kernel
def work(n: int, out: Reals) -> None:
    """Computes for a while without the interpreter lock."""
    x = 0.5
    for _ in range(n):
        x = 3.9 * x * (1.0 - x)
    out[0] = x


@field_kernel
def count_up(n: int, shift: int, table: Integers) -> None:
    """A kernel that is handed an array: adds 1 to its elements in turn, and doubles by `load` and `store` the one behind."""
    for k in range(n):
        add(table, shift, k % 10, 1.0)
    store(table, shift, 10, load(table, shift, 10) * 2.0)


@field_kernel
def read(n: int, shift: int, table: Integers, index: Integers, out: Reals) -> None:
    """A kernel that reads elements."""
    for k in range(n):
        out[k] = load(table, shift, index[k])


def no_increment_is_lost_while_an_owner_computes(world: World) -> None:
    for n, dtype in ((1, "int64"), (8, "float64"), (1_024, "float32")):
        array = GlobalArray(world, n, dtype, page=64)
        index = np.random.default_rng(world.rank).integers(0, n, 20_000)
        if world.rank == world.size - 1:
            work(10_000_000, np.empty(1))
        for part in np.split(index, 10):
            array.update(part, 1)
        array.sync()
        assert array[:].sum() == 20_000 * world.size
        array.free()


def each_ticket_is_given_once(world: World) -> None:
    array = GlobalArray(world, 3, "int32", page=4)
    tickets = np.concatenate([array.update([2] * 5, 1, fetch=True) for _ in range(40)])
    array.sync()
    every = np.concatenate(world.exchange([tickets] * world.size))
    assert sorted(every.tolist()) == list(range(200 * world.size))


def each_task_is_given_once_again_and_again(world: World) -> None:
    queue = WorkQueue(world, 1_000)
    for _ in range(2):
        mine = np.array([task for chunk in queue for task in chunk], np.int64)
        every = np.concatenate(world.exchange([mine] * world.size))
        assert sorted(every.tolist()) == list(range(1_000))
        assert len(queue.take()) == 0
        queue.reset()
    assert list(WorkQueue(world, 0)) == []
    whole = WorkQueue(world, 10, least=2**62)
    every = world.exchange([np.array([task for _ in range(6) for task in whole.take()], np.int64)] * world.size)
    assert np.concatenate(every).tolist() == list(range(10))


def updates_with_keys_have_the_bits_of_one_rank(world: World) -> None:
    random, n = np.random.default_rng(3), 4_000
    index, value = random.integers(0, 50, n), random.normal(size=n) * 10.0 ** random.integers(-9, 9, n)
    expected = np.zeros(50)
    for i, x in zip(index, value, strict=True):
        expected[i] = 0.5 * x + 0.75 * expected[i]
    array = GlobalArray(world, 50, page=64)
    for keys in np.array_split(np.arange(n)[world.rank :: world.size], 3):
        array.update(index[keys], value[keys], 0.5, 0.75, key=keys)
    assert not array[:].any() or world.size > 1
    array.sync()
    assert array[:].tobytes() == expected.tobytes()
    array.sync()
    assert array[:].tobytes() == expected.tobytes()
    if world.rank == 0:
        array.update([3], [1.0], key=[0])
    with array.read_only() as seen:
        assert seen[3] == expected[3] + 1.0
        array.sync()
        assert seen[3] == expected[3] + 1.0


def keys_are_in_order_over_the_whole_range_of_integers(world: World) -> None:
    array = GlobalArray(world, 1)
    if world.rank == 0:
        array.update([0] * 4, [1, 2, 3, 4], b=10, key=[2**63 - 1, -(2**63), 0, 2**62])
    array.sync()
    assert array[0] == 2341


def what_is_begun_ends_with_wait(world: World) -> None:
    array = GlobalArray(world, (20, 30), "float32", page=128)
    if world.rank == 0:
        array[:] = np.arange(600).reshape(20, 30)
    array.sync()
    index = np.arange(599, -1, -1).reshape(6, 100)
    first, second = array.fetch(index), array.fetch([[5], [5]])
    assert second.wait().tolist() == [[5.0], [5.0]]
    assert (first.wait() == index).all()
    assert array.gather(7).shape == ()


def what_is_begun_and_not_waited_for_may_be_freed(world: World) -> None:
    n = 800_000
    array = GlobalArray(world, n)
    for first, end in array.own:
        array.scatter(np.arange(first, end), np.arange(first, end))
    array.sync()
    index = np.random.default_rng(1).integers(3 * n // 4, n, 200_000)  # of the last rank
    coming = [array.fetch(index) for _ in range(12)] if world.rank == 0 else []
    array.free()
    assert all((each.wait() == index).all() for each in coming)


def indices_may_be_the_values(world: World) -> None:
    array, each = GlobalArray(world, 10, "int64", page=64), np.arange(10)
    if world.rank == 0:
        array.scatter(each, each)
        array.update(each[:8], each[1:9])
        assert array.update(each, each, fetch=True).tolist() == [1, 3, 5, 7, 9, 11, 13, 15, 8, 9]
    array.sync()
    assert array[:].tolist() == [1, 4, 7, 10, 13, 16, 19, 22, 16, 18]


def threads_of_a_rank_may_use_an_array_at_the_same_time(world: World) -> None:
    n, threads, times = 5_000, 4, 15
    array, ones, keyed = GlobalArray(world, n, "int64", page=256), GlobalArray(world, n, "int64", page=256), GlobalArray(world, n, page=256)
    queue = WorkQueue(world, 2_000)
    for first, end in array.own:
        array.scatter(np.arange(first, end), np.arange(first, end) * 3)
    array.sync()

    def work(number: int) -> tuple[int, list[int]]:
        random, done, tasks = np.random.default_rng([world.rank, number]), 0, list[int]()
        for _ in range(times):
            index = random.integers(0, n, random.integers(1, 2_000))
            coming = array.fetch(index)
            ones.update(index, 1)
            keyed.update(index, 1.0, key=np.arange(index.size))
            assert (array.gather(index[::-1]) == 3 * index[::-1]).all()
            assert (coming.wait() == 3 * index).all()
            with pytest.raises(IndexError, match=f"index {n} at position {index.size} "):
                array.gather([*index, n])
            tasks += queue.take()
            done += index.size
        return done, tasks + [task for chunk in queue for task in chunk]

    with ThreadPoolExecutor(threads) as pool:
        done, tasks = zip(*pool.map(work, range(threads)), strict=True)
    ones.sync()
    keyed.sync()
    total = int(world.reduce(np.array([sum(done)]), "sum")[0])
    every = np.concatenate(world.exchange([np.concatenate([np.array(each, np.int64) for each in tasks])] * world.size))
    assert (ones[:].sum(), keyed[:].sum(), sorted(every.tolist())) == (total, total, list(range(2_000)))


def many_elements_and_every_way_to_ask_for_them(world: World) -> None:
    n = 50_000
    array = GlobalArray(world, n, "int64", layout="wrapped", page=256)
    for first, end in array.own:
        array.scatter(np.arange(first, end), np.arange(first, end) ** 2)
    array.sync()
    index = np.random.default_rng(world.rank).integers(0, n, 3 * n)
    for chosen in (index, np.sort(index), np.arange(n), np.arange(n)[::-7], index[:5], np.repeat(index[:9], 999)):
        assert (array.gather(chosen) == chosen**2).all()
    with array.read_only(cache=20_000) as seen:
        for chosen in (index, np.arange(300, 900), index[:10], np.arange(n), index):
            assert (seen.gather(chosen) == chosen**2).all()
        assert (seen[100:300:3] == np.arange(100, 300, 3) ** 2).all()
    with pytest.raises(ArrayError, match="has ended"):
        seen.gather([0])
    traffic = array.traffic
    several = bool(traffic.messages)
    assert (traffic.hits > 0, traffic.misses > 0) == (several, several)


def a_context_within_read_only_leaves_the_array_read_only(world: World) -> None:
    array = GlobalArray(world, 3)
    with array.read_only() as seen:
        with array.read_only() as again:
            assert seen[0] == again[0] == 0.0
        with pytest.raises(ArrayError, match="is read-only until all ranks leave"):
            array.scatter([0], 1.0)
    array.scatter([world.rank % 3], 1.0)


def a_kernel_is_handed_an_array(world: World) -> None:
    array = GlobalArray(world, 11, page=32)
    array.update([10], [1.0])
    array.sync()
    if world.size == 1 or array.layout.in_one_piece() or max(array.layout.hosts) == 0:
        raw = array.raw()
        if world.rank == 0:
            count_up(1_000, raw.shift, raw.table)
        array.sync()
        assert array[:].tolist() == [100.0] * 10 + [2.0 * world.size]
    else:
        with pytest.raises(ArrayError, match="on other hosts"):
            array.raw()


def a_kernel_reads_pages_of_other_hosts_while_the_next_come(world: World) -> None:
    random, n, page = np.random.default_rng(world.rank), 2_001, 256
    array = GlobalArray(world, n, page=page)
    for first, end in array.own:
        array.scatter(np.arange(first, end), np.arange(first, end) ** 2.0)
    with array.read_only(cache=9 * page) as seen:
        table, shift = seen.raw()
        parts = [random.choice(n, 4) for _ in range(20)]  # there is room for the pages of two
        pages = [part >> shift for part in parts]
        coming = seen.bring(pages[0])
        for k, part in enumerate(parts):
            coming.wait()
            if k + 1 < len(parts):
                coming = seen.bring(pages[k + 1], keep=pages[k])
            out = np.empty(part.size)
            read(part.size, shift, table, part, out)
            assert (out == part**2.0).all()
    assert array.traffic.passed_by == 0
    assert (array.traffic.misses > 0) == (max(array.layout.hosts) > 0)


def mistakes_of_one_rank_are_told_to_it_and_change_nothing(world: World) -> None:
    array = GlobalArray(world, 10, "int32", name="counts")
    real, point, none = GlobalArray(world, 10, name="real"), GlobalArray(world, ()), GlobalArray(world, 0, name="none")
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: array.gather([3, -1, 11]), '"counts" has 10 elements, index -1 at position 1 is not from 0 to 9'),
        (lambda: array.update([2, 10], 1), "index 10 at position 1"),
        (lambda: array.gather(np.array([2**40], np.uint64)), f"index {2**40}"),
        (lambda: array.scatter([2], [1.5]), "holds int32, it was given values of float64"),
        (lambda: array.scatter([2, 3], [1, 2**31]), "holds int32, which has no 2147483648"),
        (lambda: array.scatter([2, 3], [5, -(2**63)]), "which has no -9223372036854775808"),
        (lambda: array.update([2], [1], a=0.5), "the factor a is 0.5"),
        (lambda: real.update([2], [1], a="x", key=[0]), "the factor a is 'x'. Give one number"),
        (lambda: real.update([2], [1], b=[1, 2], key=[0]), r"the factor b is \[1, 2\]"),
        (lambda: real.update([2], [1], a=None), "the factor a is None"),
        (lambda: point[0], "too many indices"),
        (lambda: array.update([2], [1], a=2**40 + 3), '"counts" holds int32, which has no factor a = 1099511627779'),
        (lambda: array.update([2], [1], b=-(2**64) - 3, key=[0]), "has no factor b = -18446744073709551619"),
        (lambda: real.update([2], [1], a=True), "the factor a is True. Give one number"),
        (lambda: real.update([2], [1], a=10**400), '"real" holds float64, which has no factor a = 1000'),
        (lambda: real.update([2, 2], [1, 2], key=np.array([2**63, 1], np.uint64)), '"real": 9223372036854775808 is no index and no key'),
        (lambda: array.gather(np.array([2**63 + 5], np.uint64)), '"counts": 9223372036854775813 is no index'),
        (lambda: none.gather([0]), '"none" has 0 elements, index 0 at position 0 is outside'),
        (lambda: array.gather([1.0]), "takes integers as indices, it was given float64"),
        (lambda: array.gather([True]), "it was given bool"),
        (lambda: array.scatter([1, 2], [1, 2, 3]), r"\(2,\) indices were given values of shape \(3,\)"),
        (lambda: array.update([1], [1], key=[1], fetch=True), "`fetch` or `key`"),
        (lambda: array.update([1, 2], 1, key=[1, 2, 3]), r"\(2,\) indices were given keys of shape \(3,\). Give a key for each"),
        (lambda: array[10], "out of bounds"),
    ]
    for wrong, said in cases:
        with pytest.raises(ArrayError, match=said):
            wrong()
    with pytest.raises(IndexError):
        array.gather(-1)
    with pytest.raises(TypeError, match=r'"counts" is no array of NumPy. Compare its elements: array\[:\] == other'):
        array == 0  # noqa: B015
    assert array.gather([]).tolist() == []
    array.update([], [])
    array.sync()
    assert not array[:].any()


def an_array_that_cannot_be_made_is_refused_on_all_ranks(world: World) -> None:
    for wrong, said in (
        (lambda: GlobalArray(world, 3, "float16"), "holds int32, int64, float32, float64, not float16"),
        (lambda: GlobalArray(world, 3, "complex128"), "not complex128"),
        (lambda: GlobalArray(world, 3, ">f8"), "holds int32, int64, float32, float64, not >f8"),
        (lambda: GlobalArray(world, -3), "negative length"),
        (lambda: GlobalArray(world, (2, 2.5)), "whole numbers"),
        (lambda: GlobalArray(world, 3, layout="rows"), 'no layout "rows"'),
        (lambda: WorkQueue(world, -1), "-1 tasks"),
    ):
        with pytest.raises(ArrayError, match=said):
            wrong()
    with pytest.raises(Failure, match=r"cannot share .* MB of memory"):
        GlobalArray(world, (2**40, 2**40))
    assert GlobalArray(world, 0)[:].size == 0
    assert GlobalArray(world, (3, 0, 2)).gather([]).size == 0


def ranks_that_disagree_are_named(world: World) -> None:
    if world.size == 1:
        return
    last = world.size - 1
    with pytest.raises(ArrayError, match=rf'rank 0 is in the making of "array \d+" \(float64 \(3,\).* rank {last} in .*\(4,\)'):
        GlobalArray(world, 4 if world.rank == last else 3)
    one, other = GlobalArray(world, 1, name="one"), GlobalArray(world, 1, name="other")
    with pytest.raises(ArrayError, match=rf'rank 0 is in free of "one", rank {last} in free of "other"'):
        (other if world.rank == last else one).free()


def a_freed_array_is_of_no_more_use(world: World) -> None:
    array = GlobalArray(world, 3)
    array.free()
    for wrong in (lambda: array.gather([0]), lambda: array.update([0], 1), array.sync, array.free, lambda: array[:]):
        with pytest.raises(ArrayError, match="has been freed"):
            wrong()


CLAUSES: dict[str, Callable[[World], None]] = {
    function.__name__: function
    for function in list(globals().values())
    if callable(function) and getattr(function, "__module__", "") == __name__ and not hasattr(function, "function")
}


def main(hosts: int) -> None:
    """Runs the clauses; rank 0 prints each that was kept, any rank that finds one broken ends the job."""
    launch = find_launch()
    assert launch is not None
    with open_world(f"host {launch.rank % hosts}") as world:
        for name, clause in CLAUSES.items():
            try:
                clause(world)
            except BaseException:
                traceback.print_exc()
                world.abort(f"rank {world.rank} of {world.size} broke: {name}")
            if world.rank == 0:
                print(name, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
