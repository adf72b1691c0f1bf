"""Pages and their owners, for any number of pretended ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from steppe.arrays import PageLayout
from steppe.errors import ArrayError

LAYOUTS = some.builds(
    PageLayout,
    some.integers(0, 5_000),
    some.sampled_from([4, 8]),
    some.lists(some.integers(0, 3), min_size=1, max_size=12).map(
        lambda found: tuple(list(dict.fromkeys(found)).index(one) for one in found)
    ),
    some.sampled_from(["blocks", "wrapped"]),
    some.sampled_from([64, 256]),
)


@given(LAYOUTS)
def test_every_page_lies_once_in_the_memory_of_one_host(layout: PageLayout) -> None:
    hosts = range(max(layout.hosts) + 1)
    tables = np.array([layout.table(host, 1 << 20) for host in hosts]).reshape(len(hosts), layout.pages)
    assert ((tables != 0).sum(axis=0) == 1).all()
    for host, table in zip(hosts, tables, strict=True):
        there = np.sort(table[table != 0])
        assert (there == (1 << 20) + layout.page * np.arange(there.size)).all()
        assert (layout.page_hosts[table != 0] == host).all()
        assert layout.bytes_on(host) == there.size * layout.page


@given(LAYOUTS)
def test_the_ranges_of_all_ranks_are_the_whole_array_once(layout: PageLayout) -> None:
    owned = sorted(found for rank in range(len(layout.hosts)) for found in layout.elements_of(rank))
    assert [first for first, _ in owned] == [0, *(end for _, end in owned[:-1])] if owned else layout.length == 0
    assert not owned or owned[-1][1] == layout.length


@given(LAYOUTS)
def test_an_array_in_one_piece_has_its_elements_in_order(layout: PageLayout) -> None:
    table = layout.table(0, 1 << 20)
    in_order = (table == (1 << 20) + layout.page * np.arange(layout.pages)).all()
    assert in_order or not layout.in_one_piece()
    assert layout.in_one_piece() == (len(set(layout.hosts)) == 1 and (layout.kind == "blocks" or len(layout.hosts) == 1))


def test_wrapped_pages_go_round_and_blocks_follow_each_other() -> None:
    assert PageLayout(80, 8, (0,) * 3, "wrapped", 64).owners.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    assert PageLayout(80, 8, (0,) * 3, "blocks", 64).owners.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_ten_thousand_ranks_on_a_hundred_hosts_have_even_shares() -> None:
    layout = PageLayout(10**9, 8, tuple(np.repeat(range(100), 100).tolist()))
    shares = np.bincount(layout.owners)
    assert shares.size == 10_000
    assert shares.max() - shares.min() <= 1
    assert layout.pages_of(99).size == shares[9_900:].sum()


@pytest.mark.parametrize(
    ("kind", "page", "said"),
    [("cyclic", 64, 'no layout "cyclic"'), ("blocks", 4, "4 bytes"), ("blocks", 100, "100 bytes"), ("blocks", 64.0, "64.0 bytes")],
)
def test_layouts_and_pages_that_cannot_be_are_refused(kind: str, page: int, said: str) -> None:
    with pytest.raises(ArrayError, match=said):
        PageLayout(10, 8, (0,), kind, page)
