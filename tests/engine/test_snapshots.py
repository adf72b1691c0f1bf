"""Which copies of the past there are: never too many bytes, never one beyond a path, and near enough to any date."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from steppe.control import OPEN_END, Leg, Position
from steppe.engine.snapshots import SPACING, Snapshot, Snapshots

END = (OPEN_END, OPEN_END)


def filled(limit: int, steps: list[int], branch: int = 1, bytes: int = 10, released: list[int] | None = None) -> Snapshots:
    snapshots = Snapshots(limit, ([] if released is None else released).extend)
    last = -SPACING
    for step in steps:
        if step - last >= snapshots.spacing:
            snapshots.add(Snapshot(step, branch, Position(step, 0), {}, bytes, Position(0, 0)))
            last = step
    return snapshots


@given(limit=st.integers(10, 400), steps=st.lists(st.integers(1, 30), max_size=200))
def test_there_are_never_more_bytes_than_allowed_and_no_date_is_far_from_an_entry(limit: int, steps: list[int]) -> None:
    at = [sum(steps[: k + 1]) for k in range(len(steps))]
    snapshots = filled(limit, [0, *at])
    assert snapshots.bytes <= max(limit, 10)
    kept = sorted(entry.position.step for entry in snapshots.entries)
    if limit >= 40:  # an entry at the beginning, the newest, and some between
        assert kept[0] == 0
        assert all(after - before <= 2 * snapshots.spacing + 30 for before, after in pairwise(kept))
        assert snapshots.spacing <= max(SPACING, 8 * (max(at, default=0) + 1) * 10 / limit)


def test_a_year_of_queensland_is_kept_every_eight_days() -> None:
    assert [entry.position.step for entry in filled(256 << 20, list(range(366)), bytes=1 << 21).entries] == list(range(0, 366, 8))


@given(
    entries=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 60), st.integers(0, 3)), max_size=30),
    forks=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=3),
    patience=st.integers(0, 20),
)
def test_what_is_found_lies_on_the_path(entries: list[tuple[int, int, int]], forks: list[tuple[int, int]], patience: int) -> None:
    snapshots = Snapshots()
    snapshots.entries = [Snapshot(k, branch, Position(step, seq), {}, 1, Position(0, 0)) for k, (branch, step, seq) in enumerate(entries)]
    path = [*(Leg(k + 1, *fork) for k, fork in enumerate(sorted(forks))), Leg(len(forks) + 1, *END)]
    within = [each for each in snapshots.entries for leg in path if each.branch == leg.branch and each.position <= (leg.step, leg.seq)]
    found = snapshots.best(path, patience)
    assert (found is None) == (not within)
    if found is not None:
        assert found in within
        nearest = max(each.position for each in within)
        assert found.position.step >= nearest.step - patience or found.position == nearest


def test_a_state_a_step_before_the_fork_is_better_than_one_without_diagnostics() -> None:
    snapshots = filled(1000, [0, 8, 16, 24])
    path = [Leg(1, 16, 0), Leg(2, *END)]
    assert snapshots.best(path, 0).position == (16, 0)
    assert snapshots.best(path, 8).position == (8, 0)
    assert snapshots.best([Leg(1, 0, 5), Leg(2, *END)], 8).position == (0, 0)


def test_what_is_forgotten_makes_room_for_nearer_entries() -> None:
    released: list[int] = []
    snapshots = filled(100, list(range(400)), released=released)
    assert snapshots.spacing > SPACING
    there = [entry.number for entry in snapshots.entries]
    assert there
    assert not set(there) & set(released)
    snapshots.discard(1)
    assert released[-len(there) :] == there
    assert len(set(released)) == len(released)
    assert (snapshots.entries, snapshots.spacing) == ([], SPACING)
