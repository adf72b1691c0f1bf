"""A kernel reads pages of other hosts that were brought before: they come, are right, and stay while they are promised."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from steppe.arrays import GlobalArray, ModelArrays
from steppe.arrays.reading import ComingPages, ReadOnly
from steppe.comm import BoxReach, Serial, World
from steppe.errors import ArrayError
from steppe.kernels.elements import ONE_PAGE, element_access
from steppe.kernels.sums import totals
from steppe.testing import run_threads
from tests.arrays.crew import Crew

load = element_access("int64").load
N, PER_PAGE = 197, 8  # elements; the last page is partly used
PAGES = -(-N // PER_PAGE)
NUMBERS = some.sets(some.integers(0, PAGES - 1), max_size=5)


def _fill(array: GlobalArray) -> None:
    for first, end in array.own:
        array.scatter(np.arange(first, end), np.arange(first, end) ** 2)


@contextmanager
def reading(hosts: str, slots: int, layout: str = "blocks", n: int = N, page: int = 8 * PER_PAGE) -> Iterator[tuple[GlobalArray, ReadOnly]]:
    """The squares of 0 .. n - 1, and their `ReadOnly` on the first rank: its host answers it, the test's thread asks."""
    crew = Crew(list(hosts))
    with ExitStack() as end:
        end.callback(crew.close)
        arrays = crew.all(lambda world: GlobalArray(world, n, "int64", layout=layout, page=page))
        crew.all(lambda world: _fill(arrays[world.rank]))
        entered = [array.read_only(slots * page) for array in arrays]
        seen = crew.all(lambda world: entered[world.rank].__enter__())
        end.callback(crew.all, lambda world: entered[world.rank].__exit__(None, None, None))
        yield arrays[0], seen[0]


def right(seen: ReadOnly, pages: set[int]) -> bool:
    """True if a kernel reads every element of the pages, by the table and, where elements have places, there."""
    table, shift = seen.raw()
    runs = [np.arange(page << shift, min(N << shift - 3, page + 1 << shift)) for page in pages]
    if not all(table[page] for page in pages) or any(load(table, shift, i) != i * i for run in runs for i in run[:PER_PAGE].tolist()):
        return False
    return shift == 3 or all((seen.places[run] == run**2).all() for run in runs)


def there(seen: ReadOnly) -> set[int]:
    return set(np.flatnonzero(seen.raw().table).tolist())


@settings(max_examples=100, deadline=None)
@given(
    hosts=some.sampled_from(["ab", "abc", "baba"]),
    slots=some.integers(0, 8),
    layout=some.sampled_from([("blocks", 64), ("wrapped", 64), ("blocks", 4096)]),
    calls=some.lists(some.tuples(NUMBERS, some.integers(0, 15), some.integers(-1, 3), some.booleans()), min_size=5, max_size=20),
)
def test_what_is_brought_and_kept_is_there_whatever_the_order_of_waits(
    hosts: str, slots: int, layout: tuple[str, int], calls: list[tuple[set[int], int, int, bool]]
) -> None:
    kind, page = layout
    with reading(hosts, slots, kind, N * page // 64, page) as (array, seen):
        own = set(array.layout.pages_of(array.host).tolist())
        assert seen.room == min(slots, PAGES - len(own))
        promised, coming, asked_for, messages = set[int](), list[tuple[set[int], ComingPages]](), 0, 0
        for pages, kept, waited, through_gather in calls:
            keep = {page for k, page in enumerate(sorted(promised | set().union(*(each for each, _ in coming)))) if kept >> k % 4 & 1}
            under_way = set().union(*(each for each, _ in coming)) - there(seen)
            wanted = pages - there(seen) - under_way
            held = ((pages | keep) & there(seen) - own) | under_way
            if len(wanted) + len(held) > seen.room:
                before = there(seen)
                with pytest.raises(ArrayError, match=f"{len(wanted)} more pages .* beside {len(held)} .* room for {seen.room}"):
                    seen.bring(list(pages), list(keep))
                assert there(seen) == before
            else:
                coming.append((pages, seen.bring(list(pages), list(keep))))
                assert not wanted & there(seen)
                asked_for += len(wanted)
                messages += len({array.layout.hosts[array.layout.owners[page]] for page in wanted})
                promised &= pages | keep
                coming = [(each & (pages | keep | under_way), one) for each, one in coming]
            assert right(seen, promised | own)
            if coming and waited >= 0:
                pages, one = coming.pop(waited % len(coming))
                one.wait()
                one.wait()
                promised |= pages
                assert right(seen, promised)
            assert (array.traffic.misses, array.traffic.messages, array.traffic.passed_by) == (asked_for, messages, 0)
            if through_gather and not promised and not coming:
                assert (seen.gather(np.arange(array.size)) == np.arange(array.size) ** 2).all()
                asked_for, messages = array.traffic.misses, array.traffic.messages
                array.traffic.passed_by = 0


def test_requests_leave_at_once_and_the_pages_are_in_the_table_after_wait() -> None:
    with reading("ab", slots=6) as (array, seen):
        table, shift = seen.raw()
        far = np.flatnonzero(table == 0)
        assert shift == 3
        first, second = seen.bring(far[[0, 1, 4]]), seen.bring([far[-1]])
        assert (array.traffic.messages, array.traffic.misses, array.traffic.longest_wait) == (2, 4, 0.0)
        last = N - PER_PAGE * (PAGES - 1)
        assert array.traffic.sent == 8 * (3 * PER_PAGE + last) + 16 * (2 + 1)  # elements, and the runs of pages 0, 1 and of page 4
        assert not table[far].any()
        second.wait()
        assert np.flatnonzero(table[far]).tolist() == [far.size - 1]
        first.wait()
        assert np.flatnonzero(table[far]).tolist() == [0, 1, 4, far.size - 1]
        assert right(seen, there(seen))
        assert array.traffic.longest_wait > 0.0
        seen.bring(far[[0, 1]]).wait()
        assert array.traffic.messages == 2
    assert not table[far].any()  # of a view that has ended


def test_a_page_that_is_kept_stays_however_old_it_is() -> None:
    with reading("ab", slots=2) as (_, seen):
        kept, *others = np.flatnonzero(seen.raw().table == 0).tolist()
        seen.bring([kept]).wait()
        for page in others:
            seen.bring([page], keep=[kept]).wait()
            assert right(seen, {kept, page})


def test_a_page_that_two_ask_for_comes_once_and_the_second_waits_for_the_first() -> None:
    with reading("ab", slots=3) as (array, seen):
        far = np.flatnonzero(seen.raw().table == 0).tolist()
        seen.bring(far[:2])
        seen.bring(far[1:3]).wait()
        assert array.traffic.misses == 3
        assert right(seen, set(far[:3]))


def test_the_memory_of_a_page_that_makes_room_is_given_back() -> None:
    with reading("ab", slots=1, n=64 * N, page=4096) as (array, seen):
        first, second = np.flatnonzero(seen.raw().table == 0)[:2].tolist()
        seen.bring([first]).wait()
        assert right(seen, {first})
        seen.bring([second]).wait()
        assert right(seen, {second, *array.layout.pages_of(array.host).tolist()})
        assert not seen.places[first << 9 : first + 1 << 9].any()


def test_what_is_stored_in_the_place_of_another_hosts_element_is_scattered_from_there() -> None:
    def rank(world: World) -> None:
        array = GlobalArray(world, 2048, page=4096)  # four pages, two a host
        array.places[world.rank :: 2] = 1.0 + world.rank
        far = array.elsewhere(np.arange(world.rank, 2048, 2))
        assert (far // 1024 == 1 - world.rank).all()
        assert far.size == 512
        array.sync()
        assert array[0] == array[1025] - 1.0 == 1.0
        assert array[1] == array[1024] == 0.0
        array.sync()
        array.scatter(far, array.places[far])
        array.sync()
        assert (array[:] == 1.0 + np.arange(2048) % 2).all()
        array.sync()  # the other may still read of this rank's host

    run_threads(2, rank, hosts=["a", "b"])


def test_elements_have_places_where_the_system_can_map_their_pages() -> None:
    def rank(world: World) -> None:
        for layout, page in (("blocks", 64), ("wrapped", 4096)):
            array = GlobalArray(world, 2048, layout=layout, page=page)
            with pytest.raises(ArrayError, match=f"pages of {page} bytes, {layout}, .* Choose the layout .blocks. and pages of 4096 bytes"):
                _ = array.places

    run_threads(2, rank, hosts=["a", "b"])


def test_gather_and_flush_leave_alone_what_is_under_way() -> None:
    with reading("ab", slots=3) as (array, seen):
        far = np.flatnonzero(seen.raw().table == 0).tolist()
        coming = seen.bring(far[:2])
        assert (seen.gather(np.arange(N)) == np.arange(N) ** 2).all()
        assert array.traffic.misses == 3
        seen.flush()
        assert not seen.raw().table[far].any()
        seen.bring(far[5:6]).wait()
        coming.wait()
        assert there(seen) & set(far) == {*far[:2], far[5]}
        assert right(seen, there(seen))


def test_a_long_request_is_cut() -> None:
    n = 5_000_000
    with reading("ab", slots=100, n=n, page=1 << 18) as (array, seen):
        far = np.flatnonzero(seen.raw().table == 0)
        seen.bring(far).wait()
        assert array.traffic.messages == 3  # each of at most 2^20 elements
        assert (seen.gather(np.arange(n)) == np.arange(n) ** 2).all()
        assert (array.traffic.messages, array.traffic.passed_by) == (3, 0)


def test_one_host_has_all_pages_and_needs_no_room() -> None:
    world = Serial()
    array = GlobalArray(world, N, "int64", page=64)
    array[:] = np.arange(N) ** 2
    with array.read_only() as seen:
        assert seen.room == 0
        seen.bring([0], keep=[0]).wait()
        table, shift = seen.raw()
        assert (table.tolist(), shift) == (array.raw().table.tolist(), ONE_PAGE)
        assert [load(table, shift, i) for i in (0, 100, N - 1)] == [0, 10_000, (N - 1) ** 2]
    assert array.traffic.misses == 0


def test_mistakes_are_told_and_ask_for_nothing() -> None:
    with reading("ab", slots=2) as (array, seen):
        far = np.flatnonzero(seen.raw().table == 0)
        for wrong, said in (
            (lambda: seen.bring([PAGES]), f"has the pages 0 to {PAGES - 1}, not {PAGES} to {PAGES}"),
            (lambda: seen.bring([0], keep=[-1]), "not -1 to -1"),
            (lambda: seen.bring([0.5]), "takes integers"),
            (lambda: seen.bring(far[:3]), "3 more pages of other hosts .* beside 0 that must stay; there is room for 2"),
        ):
            with pytest.raises(ArrayError, match=said):
                wrong()
        assert array.traffic.messages == 0
        coming = seen.bring(far[:2])
    for late in (coming.wait, seen.raw, lambda: seen.places, lambda: seen.bring([])):
        with pytest.raises(ArrayError, match="has ended"):
            late()


@pytest.mark.parametrize("hosts", ["aa", "ab"])
def test_a_view_of_an_array_that_was_freed_is_no_longer_read(hosts: str) -> None:
    def rank(world: World) -> None:
        array = GlobalArray(world, N, "int64", page=64)
        with array.read_only() as seen:
            array.free()
            calls = (lambda: seen.gather([0, N - 1]), lambda: seen[:3], seen.raw, lambda: seen.bring([0]), lambda: array.places)
            for late in calls:
                with pytest.raises(ArrayError, match="has been freed"):
                    late()

    run_threads(2, rank, hosts=list(hosts))


def test_a_model_chooses_the_page() -> None:
    world = Serial()
    reach = BoxReach(world, None, totals, ModelArrays(world))
    assert reach.array(N, "int64", page=64).layout.page == 64
    with pytest.raises(ArrayError, match="power of two"):
        reach.array(N, page=65)
