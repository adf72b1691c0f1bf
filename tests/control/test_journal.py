"""The journal by itself: keys, versions, steps of actions, forks. What it is for is tested by the simulation."""

import sqlite3
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.control import OPEN_END, Leg, Order, Outcome, Position, Refused, SavedCheckpoint
from steppe.control.orders import ReplayDiffersError
from steppe.control.server import refusals
from steppe.control.server.journal import Journal
from steppe.control.server.refusals import Refusals
from steppe.errors import DamagedError, Failure, Mistake, NoSpaceError
from tests.small_disk import fill, mount_small_disk, resize

STEPS = 100


def journal() -> Journal:
    return Journal(":memory:")


def order(kind: str, key: str, scenario: str = "main", when: str | int = "after", **arguments) -> Order:
    if_match = arguments.pop("if_match", None)
    return Order(kind, scenario, arguments, key, "anna", "steer", repr((kind, arguments)).encode(), when, if_match)


def accept(base: Journal, kind: str, key: str, **options) -> int:
    return base.accept(order(kind, key, **options), STEPS, 0.0).seq


def test_a_step_is_stored_as_its_target():
    base = journal()
    assert base.accept(order("step", "a", steps=30), STEPS, 0).target == 30
    assert base.accept(order("step", "b", steps=30), STEPS, 0).target == 60
    assert base.accept(order("step", "c", until=70), STEPS, 0).target == 70
    assert base.accept(order("step", "d", end=True), STEPS, 0).target == STEPS


@pytest.mark.parametrize("arguments", [{"steps": 0}, {"steps": -5}, {"steps": 101}, {"until": 0}, {"until": 101}])
def test_a_step_to_nowhere_is_refused_and_changes_nothing(arguments):
    base = journal()
    with pytest.raises(Refused) as refused:
        accept(base, "step", "a", **arguments)
    assert refused.value.code == "out-of-range"
    assert refused.value.facts["allowed"] == [1, STEPS]
    assert list(base.commands()) == []


def test_a_scenario_takes_no_number_that_names_a_folder_already(tmp_path):
    (tmp_path / "branches" / "7").mkdir(parents=True)
    (tmp_path / "branches" / "branch-9").mkdir()
    base = Journal(tmp_path / "journal.sqlite")
    accept(base, "branch", "a", name="wet")
    accept(base, "branch", "b", name="dry")
    assert [each.id for each in base.branches()] == [1, 8, 9]
    base.close()


def test_a_scenario_from_before_the_changes_of_a_script_is_refused():
    base = journal()
    accept(base, "step", "a", steps=30)
    base.stood(1, 30)
    assert base.begin(1) == (0, 0)
    base.describe({"since": [20, 0]})
    with pytest.raises(Refused, match="Step 15 is before step 20, with which the journal begins since a script changed the run before"):
        accept(base, "rewind", "b", step=15)
    accept(base, "rewind", "c", step=20)
    assert base.begin(base.branch("main").id) == (20, 0)


def test_the_same_key_gives_the_same_command_and_another_request_is_refused():
    base = journal()
    first = base.accept(order("step", "a", steps=3), STEPS, 0)
    again = base.accept(order("step", "a", steps=3), STEPS, 0)
    assert (again.seq, again.target, again.again) == (first.seq, first.target, True)
    with pytest.raises(Refused, match="another command"):
        accept(base, "step", "a", steps=4)
    assert len(list(base.commands())) == 1


REFUSALS = {  # by code: an order that the journal refuses, and what makes the same order possible
    "version-stale": (order("set", "k", if_match="b1.9"), [("set", {})] * 9),
    "out-of-range": (order("rewind", "k", step=20), [("step", {"steps": 30})]),
    "step-passed": (order("set", "k", when=20), [("rewind", {"step": 0})]),
    "engine-busy-conflict": (order("step", "k", steps=1), []),
    "already-finished": (order("step", "k", end=True), [("rewind", {"step": 0})]),
    "name-taken": (order("branch", "k", name="wet"), [("rename", {"name": "dry", "scenario": "wet"})]),
    "unknown-scenario": (order("step", "k", scenario="wet", steps=1), [("branch", {"name": "wet"})]),
    "unknown-operation": (order("cancel", "k", seq=1), [("set", {"when": 99})]),
}


def refuses(base: Journal, code: str) -> None:
    """Brings a journal to a state in which it refuses the order of a code."""
    if code in ("step-passed", "already-finished"):
        accept(base, "step", "first", end=True)
        base.stood(1, 50)
    if code == "engine-busy-conflict":
        accept(base, "pause", "pause")
    if code == "name-taken":
        accept(base, "branch", "first", name="wet")


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refused_order_is_refused_in_the_same_words_when_it_comes_again_in_another_state(code, tmp_path):
    base, (refused_order, others) = Journal(tmp_path / "journal.sqlite"), REFUSALS[code]
    refuses(base, code)
    with pytest.raises(Refused) as first:
        base.accept(refused_order, STEPS, 0)
    assert first.value.code == code
    for number, (kind, arguments) in enumerate(others):
        accept(base, kind, f"other {number}", **arguments)
    base.stood(1, 30)
    for pause in base.waiting("pause"):
        base.pin(pause.seq, 30)
    count = base.last
    base.close()
    base = Journal(tmp_path / "journal.sqlite")
    with pytest.raises(Refused) as again:
        base.accept(refused_order, STEPS, 0)
    said = again.value
    assert (said.code, said.detail, said.facts) == (code, first.value.detail, first.value.facts)
    assert base.last == count
    assert not base.accept(msgspec.structs.replace(refused_order, key="new"), STEPS, 0).again
    base.close()


def test_a_key_of_a_refused_order_serves_no_other_order():
    base = journal()
    with pytest.raises(Refused):
        accept(base, "step", "a", until=101)
    with pytest.raises(Refused, match="another command"):
        accept(base, "step", "a", until=100)


def test_the_same_key_of_another_sender_is_another_order():
    base = journal()
    with pytest.raises(Refused):
        accept(base, "step", "a", until=101)
    assert base.accept(msgspec.structs.replace(order("step", "a", until=100), who="bert"), STEPS, 0).seq == 1


def test_an_order_for_another_version_is_told_what_has_changed():
    base = journal()
    version = base.version(1)
    accept(base, "step", "a", steps=3, if_match=version)
    with pytest.raises(Refused) as refused:
        accept(base, "step", "b", steps=3, if_match=version)
    assert refused.value.code == "version-stale"
    assert refused.value.facts["changed"] == [{"seq": 1, "who": "anna", "kind": "step"}]
    accept(base, "step", "c", steps=3, if_match="*")


def test_changes_have_a_step_when_they_are_to_come_after_all_and_wait_for_one_when_now():
    base = journal()
    accept(base, "step", "a", steps=10)
    after, now = accept(base, "set", "b"), accept(base, "set", "c", when="now")
    assert [base.command(seq).at_step for seq in (after, now)] == [10, None]
    assert base.first_unplaced(1).seq == now
    assert base.pin(now, 4)[0] == 4
    assert base.pin(now, 7)[0] == 4
    assert [each.seq for each in base.placed(1, Position(0, 0))] == [now, after]


@pytest.mark.parametrize("kind", ["set", "pause"])
def test_what_is_to_happen_now_happens_at_no_step_before_one_that_clients_have_seen(kind):
    base = journal()
    accept(base, "step", "a", steps=10)
    base.seen(1, 7)
    now = accept(base, kind, "b", **({"when": "now"} if kind == "set" else {}))
    assert base.pin(now, 4)[0] == 7


def test_a_change_at_a_step_that_clients_have_seen_meanwhile_fails_though_an_engine_repeats_steps_before_it():
    base = journal()
    accept(base, "step", "a", steps=50)
    seq = accept(base, "set", "b", when=20)
    base.seen(1, 30)
    assert base.pin(seq, 20).step == -1
    assert base.command(seq).outcome == "failed"


def test_a_change_at_a_step_that_was_passed_fails():
    base = journal()
    accept(base, "step", "a", steps=50)
    seq = accept(base, "set", "b", when=20)
    assert base.pin(seq, 31).step == -1
    assert base.command(seq).outcome == "failed"
    base.seen(1, 40)
    with pytest.raises(Refused, match="past"):
        accept(base, "set", "c", when=20)


def cancelled_by(seq, kind, base):
    who = base.command(seq).who
    return {"code": "cancelled", "text": f"Command {seq} ({kind} by {who}) cancelled it.", "by": seq, "kind": kind, "who": who}


def test_a_pause_cuts_steps_short_and_draws_what_waited_for_their_end():
    base = journal()
    step, waiting = accept(base, "step", "a", steps=50), accept(base, "set", "b")
    dated = accept(base, "set", "c", when=70)
    now, pause = accept(base, "set", "d", when="now"), accept(base, "pause", "e")
    assert base.pin(now, 12)[0] == 12
    assert base.pin(pause, 12)[0] == 12
    assert (base.command(step).outcome, base.command(step).ended_step) == ("cancelled", 12)
    assert base.command(step).detail == cancelled_by(pause, "pause", base)
    assert [base.command(seq).at_step for seq in (waiting, dated)] == [12, 70]
    assert base.branch("main").target == 12
    assert [each.seq for each in base.placed(1, Position(0, 0))] == [now, waiting, dated]  # what has happened first stays first


def test_a_replay_that_gives_another_state_is_noticed():
    base = journal()
    seq = accept(base, "set", "a")
    assert base.applied(seq, 0, Outcome(True, {}, 17))
    assert not base.applied(seq, 0, Outcome(True, {}, 17))
    with pytest.raises(ReplayDiffersError, match="replay of command 1"):
        base.applied(seq, 0, Outcome(True, {}, 18))


def test_a_fork_has_what_happened_before_it_and_a_rewind_leaves_the_rest():
    base = journal()
    accept(base, "step", "a", steps=60)
    early, late = accept(base, "set", "b", when=10), accept(base, "set", "c", when=40)
    for seq, at in ((early, 10), (late, 40)):
        base.pin(seq, at)
        base.applied(seq, at, Outcome(True, {}, seq))
    base.seen(1, 60)
    waiting = accept(base, "set", "d")
    accept(base, "branch", "e", name="wet", step=20)
    assert [each.seq for each in base.placed(2, Position(-1, 0))] == [early]
    rewind = accept(base, "rewind", "f", step=40)
    assert [each.name for each in base.branches()] == ["main@1", "wet", "main"]
    assert [each.seq for each in base.placed(3, Position(-1, 0))] == [early, late]
    assert base.command(waiting).outcome == "cancelled"
    assert base.command(waiting).detail == cancelled_by(rewind, "rewind", base)
    assert base.path(3)[0] == Leg(1, 40, base.command(late).place)
    with pytest.raises(Refused, match="was left"):
        accept(base, "step", "g", scenario="main@1", steps=1)
    with pytest.raises(Refused, match="already"):
        accept(base, "branch", "h", name="wet", step=20)
    with pytest.raises(Refused, match="not done yet"):
        accept(base, "rewind", "i", step=41)


def test_an_undone_rewind_stands_where_the_scenario_was_with_all_that_had_happened():
    base = journal()
    accept(base, "step", "a", steps=60)
    early, late = accept(base, "set", "b", when=10), accept(base, "set", "c", when=60)
    for seq, at in ((early, 10), (late, 60)):
        base.pin(seq, at)
        base.applied(seq, at, Outcome(True, {}, seq))
    base.seen(1, 60)
    accept(base, "rewind", "d", step=40)
    accept(base, "rewind", "e", left="main@1")
    branches = base.branches()
    assert [(each.name, each.parent, each.fork_step) for each in branches] == [("main@1", None, 0), ("main@2", 1, 40), ("main", 1, 60)]
    assert [each.seq for each in base.placed(3, Position(-1, 0))] == [early, late]
    assert base.path(3)[0] == Leg(1, 60, base.command(late).place)
    accept(base, "branch", "f", name="dry")
    for name in ("main", "dry", "nothing"):  # neither of them is what a rewind of main left
        with pytest.raises(Refused) as refused:
            accept(base, "rewind", name, left=name)
        assert refused.value.code == "unknown-scenario"


def test_the_way_to_a_state_ends_before_what_nobody_has_heard_of():
    base = journal()
    accept(base, "step", "a", steps=60)
    first, second = accept(base, "set", "b", when="now"), accept(base, "set", "c", when="now")
    for seq, at in ((first, 5), (second, 9)):
        base.pin(seq, at)
    base.applied(first, 5, Outcome(True, {}, 1))
    assert base.path(1) == [Leg(1, 9, base.command(second).place - 1)]
    base.applied(second, 9, Outcome(True, {}, 2))
    assert base.path(1) == [Leg(1, OPEN_END, OPEN_END)]


def test_the_way_to_a_state_ends_before_the_first_of_two_actions_that_wait_at_one_step(tmp_path):
    base = Journal(tmp_path / "journal.sqlite")
    accept(base, "step", "a", steps=50)
    after, now = accept(base, "set", "b"), accept(base, "set", "c", when="now")
    pause = accept(base, "pause", "d")
    base.pin(now, 12)
    base.pin(pause, 12)  # which draws what waited for step 50 to step 12, behind what was ordered later
    assert base.command(now).at_step == base.command(after).at_step == 12
    assert base.command(now).place < base.command(after).place
    for done, following in ((None, now), (now, after)):
        if done:
            base.applied(done, 12, Outcome(True, {}, done))
        base.close()  # the engine and the server die; the journal is loaded again
        base = Journal(tmp_path / "journal.sqlite")
        begin = Position(12, base.command(following).place - 1)
        assert base.path(1) == [Leg(1, *begin)]
        assert following in [each.seq for each in base.placed(1, begin)]
        assert done not in [each.seq for each in base.placed(1, begin)]
    base.close()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_the_way_to_a_state_is_the_branches_that_lead_there(forks):
    """Whichever branch the next one leaves at whichever step, and whether ways are asked for on the way or only at the end."""
    asked, late = journal(), journal()
    for number, (which, step) in enumerate(forks):
        for base in (asked, late):
            from_branch = base.branch(which % (number + 1) + 1)
            base.seen(from_branch.id, 9)
            accept(base, "branch", f"b{number}", scenario=from_branch.name, name=f"s{number}", step=step)
        asked.path(number + 2)
    for number in range(1, len(forks) + 2):
        expected, on, limit = [], asked.branch(number), OPEN_END
        while True:
            if on.parent is None or limit > on.fork_step or on.id in (number, asked.branch(number).parent):
                expected.insert(0, (on.id, limit))
            if on.parent is None:
                break
            on, limit = asked.branch(on.parent), min(limit, on.fork_step)
        assert [(leg.branch, leg.step) for leg in asked.path(number)] == expected
        assert late.path(number) == asked.path(number)


def test_what_was_read_in_an_order_that_was_refused_is_read_again():
    base = journal()
    accept(base, "branch", "a", name="dry")
    with pytest.raises(Refused, match="already"):
        accept(base, "branch", "b", name="dry")
    assert (base.last, base.command(2)) == (1, None)
    assert [each.name for each in base.branches()] == ["main", "dry"]
    with pytest.raises(Refused):
        base.branch(3)


def test_a_command_that_no_engine_survives_can_be_skipped_but_not_one_that_has_happened():
    base = journal()
    bad, good = accept(base, "set", "a"), accept(base, "set", "b")
    base.applied(good, 0, Outcome(True, {}, 1))
    skip = accept(base, "skip", "c", seq=bad)
    assert base.command(bad).outcome == "cancelled"
    assert base.command(bad).detail == cancelled_by(skip, "skip", base)
    assert [each.seq for each in base.placed(1, Position(-1, 0))] == [good]
    with pytest.raises(Refused, match="is over"):
        accept(base, "skip", "d", seq=good)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["now", "after", "pause", "step"]), st.integers(0, 8)), max_size=30))
def test_places_follow_the_order_in_which_actions_get_their_step(things):
    base, at = journal(), 0
    for number, (what, more) in enumerate(things):
        key, target = str(number), base.branch("main").target
        if what == "step":
            if target < STEPS:
                accept(base, "step", key, steps=min(more + 1, STEPS - target))
            continue
        at = min(at + more, target)
        seq = accept(base, "set" if what != "pause" else "pause", key, when="after" if what == "after" else "now")
        if what != "after":
            base.pin(seq, at)
    placed = base.placed(1, Position(-1, 0))
    assert [(each.at_step, each.place) for each in placed] == sorted({(each.at_step, each.place) for each in placed})
    assert all(each.at_step <= base.branch("main").target for each in placed)


def test_what_people_are_told_is_told_once():
    base = journal()
    assert base.emit(1, 5, "trigger", "pause", "Dry.") == 1
    assert base.emit(1, 5, "trigger", "pause", "Dry.") is None
    assert [number for number, _ in base.emissions(0)] == [1]


def test_checkpoints_and_engines_are_noted():
    base = journal()
    base.saved(1, SavedCheckpoint("0000000005", Position(5, 2), 77))
    assert base.checkpoints() == [{"branch": 1, "name": "0000000005", "step": 5, "seq": 2, "bytes": 77, "pinned": False}]
    assert (base.begin_engine(1.0), base.begin_engine(2.0), base.epoch) == (1, 2, 2)


def test_of_some_branches_only_checkpoints_that_may_still_be_there_are_listed():
    base = journal()
    for step in range(1, 30):
        for branch in (1, 2, 3):
            base.saved(branch, SavedCheckpoint(f"{step:010}", Position(step, 0), 77))
    pinned = base.accept(order("checkpoint", "a", pin=True), 100, 0.0).seq
    base.end(pinned, "done", 5, {"checkpoint": f"{5:010}", "bytes": 77})
    assert len(base.checkpoints()) == 3 * 29
    found = base.checkpoints([1, 3])
    assert [(each["branch"], each["step"], each["pinned"]) for each in found] == [
        (1, 5, True),
        *((branch, step, False) for step in (27, 28, 29) for branch in (1, 3)),
    ]


def test_a_journal_outlives_who_wrote_it(tmp_path):
    path = tmp_path / "journal.sqlite"
    base = Journal(path)
    accept(base, "step", "a", steps=3)
    again = Journal(path)  # the one before was killed: it did not close
    assert [each.target for each in again.commands()] == [3]


def test_a_file_that_is_no_journal_is_refused_untouched(tmp_path):
    path = tmp_path / "journal.sqlite"
    path.write_bytes(b"something else, and long enough to be looked at as a data base of some kind" * 20)
    before = path.read_bytes()
    with pytest.raises(DamagedError, match="no journal"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_journal_of_a_newer_steppe_is_refused(tmp_path):
    path = tmp_path / "journal.sqlite"
    Journal(path).close()
    with sqlite3.connect(path) as base:
        base.execute("UPDATE run SET schema = 99")
    with pytest.raises(Mistake, match="version 99"):
        Journal(path)


@pytest.fixture
def small_disk(tmp_path):
    end = mount_small_disk(tmp_path / "disk", "400k")
    yield tmp_path / "disk"
    end()


def test_the_orders_of_one_request_are_stored_together_or_not_at_all():
    base = journal()
    accept(base, "step", "steps", steps=STEPS)
    base.seen(1, STEPS)
    change = order("set", "dry/1", "dry", variable="water", value=1.0)
    with pytest.raises(Refused) as refused:  # no step follows that the change could be for
        base.accept(order("branch", "dry", name="dry", step=STEPS), STEPS, 0, change)
    assert refused.value.code == "already-finished"
    assert [each.name for each in base.branches()] == ["main"]
    assert base.last == 1
    with pytest.raises(Refused, match="is already at its last step"):  # a duplicate gets the same refusal
        base.accept(order("branch", "dry", name="dry", step=STEPS), STEPS, 0, change)
    branch = order("branch", "wet", name="dry", step=STEPS - 1)
    change = msgspec.structs.replace(change, key="wet/1")
    assert base.accept(branch, STEPS, 0, change).seq == 2
    assert base.accept(branch, STEPS, 0, change).again
    assert [(each.kind, each.branch) for each in base.commands(1)] == [("branch", 1), ("set", 2)]


def test_an_order_refused_by_a_full_disk_stays_refused_when_there_is_room(small_disk):
    """Also by the next process: no file grows when the refusal is kept."""
    base = Journal(small_disk / "journal.sqlite")
    accept(base, "step", "first", steps=1)
    fill(small_disk)
    base.refuse_without_room("anna", "full")
    base.refuse_without_room("anna", "first")  # a duplicate of what was accepted: its receipt holds
    for number in range(refusals.MOST // 2):
        base.refuse_without_room("anna", f"more {number}")
    base = Journal(small_disk / "journal.sqlite")  # the other one was killed, so to say
    assert base.accept(order("step", "first", steps=1), STEPS, 0).again  # for which no room is needed
    resize(small_disk, "400k")
    for key in ("full", "more 0", f"more {refusals.MOST // 2 - 1}"):
        with pytest.raises(Refused, match="The disk was full") as refused:
            accept(base, "step", key, steps=1)
        assert refused.value.code == "disk-full"
    accept(base, "step", "more", steps=1)


def test_of_the_orders_that_a_full_disk_refused_the_newest_are_kept(tmp_path):
    kept = Refusals(tmp_path / "refused")
    kept.reserve()
    size = (tmp_path / "refused").stat().st_size
    for number in range(refusals.MOST + 10):
        kept.add("anna", f"{number}")
    for each in (kept, Refusals(tmp_path / "refused")):
        assert [number for number in range(refusals.MOST + 10) if ("anna", f"{number}") not in each] == [*range(10)]
    assert (tmp_path / "refused").stat().st_size == size


def test_a_full_disk_refuses_orders_and_nothing_is_remembered_of_them(small_disk):
    """At a commit, too: sqlite ends the transaction then, or leaves it open."""
    base = Journal(small_disk / "journal.sqlite")
    accept(base, "step", "first", steps=1)
    for k in range(200):
        before = base.last, base.branch("main"), base.version(1)
        try:
            accept(base, "set", f"{k}", variable="x" * 2000, value=float(k))
        except NoSpaceError:
            break
    else:
        pytest.fail("it was never full")
    assert (base.last, base.branch("main"), base.version(1)) == before
    with (small_disk / "rest").open("wb", buffering=0) as rest, suppress(OSError):
        while True:
            rest.write(bytes(4096))
    with pytest.raises(Failure, match=r"(cannot be written|is full).*Make room") as told:  # it is not damaged, and nobody is to remove it
        Journal(small_disk / "another.sqlite")
    assert not isinstance(told.value, DamagedError)
    (small_disk / "rest").unlink()
    (small_disk / "another.sqlite").unlink(missing_ok=True)
    resize(small_disk, "800k")
    assert accept(base, "step", "then", steps=1) == before[0] + 1
    base.close()
