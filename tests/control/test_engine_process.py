"""Engines that die at one place, hang, or never call; in played time."""

import pytest

from steppe.api.query import MapQuery
from steppe.control import Order, Outcome, Refused
from steppe.control.server.engine_process import CUTS, EXIT, HANGING, STARTING, STOPPED
from steppe.control.wire import EngineExit, Heartbeat
from steppe.errors import NoSpaceError
from tests.control.simulation import DiedError, Play, ToySession

POISON = 13


@pytest.fixture
def made(monkeypatch):
    """A run whose engines die of an action, and of a date when that is set."""
    apply = ToySession.apply

    def poisoned(session, branch, place, kind, arguments) -> Outcome:
        if arguments.get("amount") == POISON:
            raise DiedError
        return apply(session, branch, place, kind, arguments)

    monkeypatch.setattr(ToySession, "apply", poisoned)
    made = Play(5, commands=0, disasters=0)
    assert made.world.run(lambda: made.supervisor.process.state == "up", 30)
    return made


@pytest.mark.parametrize(
    ("where", "keep", "ended"), [("starting", True, True), ("loading", True, True), ("loading", False, False), ("up", True, False)]
)
def test_an_engine_that_only_begins_is_ended_with_its_run_and_one_at_work_leaves_by_itself(where: str, keep: bool, ended: bool) -> None:
    made = Play(5, commands=0, disasters=0)
    assert made.world.run(lambda: made.engines and state(made) == where, 30)
    made.supervisor.close(keep)
    assert made.engines[-1].alive is not ended
    made.world.run(lambda: False, 5)
    assert len(made.engines) == 1


def order(made: Play, kind: str, key: str, when: str | int = "after", **arguments) -> int:
    return made.supervisor.accept(Order(kind, "main", arguments, key, "anna", "admin", repr(arguments).encode(), when)).seq


def state(made: Play) -> str:
    return made.supervisor.process.state


def test_the_third_death_at_one_command_is_the_last_and_names_it(made, caplog):
    order(made, "step", "a", steps=40)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 40, 30)
    bad = order(made, "set", "b", amount=POISON)
    assert made.world.run(lambda: state(made) == "failed", 60)
    made.world.run(lambda: False, 1)
    assert len(made.engines) in (3, 4)  # one that was on its way back, as far as is known, does not count
    problem = made.supervisor.process.problem
    assert f"3 times at command {bad} (set by anna), step 40" in problem["text"]
    assert (problem["exit_status"], problem["log"]) == ("killed", ["the last line"])
    logged = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert logged[0] == ("WARNING", f"{made.supervisor.name}: The engine has died and is started again.")
    assert logged[-1] == ("ERROR", f"{made.supervisor.name}: {problem['text']}")
    with pytest.raises(Refused, match="died 3 times"):
        order(made, "step", "c", steps=1)
    told = []
    made.supervisor.ask("main", MapQuery(), told.append)
    assert isinstance(told[0], Refused)


def test_steps_with_a_speed_take_their_time_and_others_do_not(made):
    begin = made.world.now()
    order(made, "step", "a", steps=30, speed=10.0)
    order(made, "step", "b", steps=300)
    order(made, "step", "c", steps=10, speed=5.0)
    moments = []
    for step in (30, 330, 340):
        assert made.world.run(lambda step=step: made.journal.branch("main").shown_step >= step, 30)
        moments.append(made.world.now() - begin)
    assert 2.8 < moments[0] < 3.5  # [s] of the time that is played
    assert moments[1] - moments[0] < 1.5
    assert 1.7 < moments[2] - moments[1] < 2.5


def test_a_speed_holds_behind_a_death_and_repeats_are_not_slow(made):
    order(made, "step", "a", steps=300)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 300, 30)
    begin = made.world.now()
    order(made, "step", "b", steps=40, speed=10.0)
    assert made.world.run(lambda: made.journal.branch("main").shown_step >= 310, 30)
    made.engines[-1].kill()
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 340, 30)
    assert 3.8 < made.world.now() - begin < 6


def test_who_skips_the_command_goes_on(made):
    bad = order(made, "set", "a", amount=POISON)
    assert made.world.run(lambda: state(made) == "failed", 60)
    order(made, "skip", "b", seq=bad)
    order_again = order(made, "step", "c", steps=5) if state(made) != "failed" else None
    assert made.world.run(lambda: state(made) == "up", 30)
    if order_again is None:
        order(made, "step", "c", steps=5)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 5, 30)
    assert made.journal.command(bad).outcome == "cancelled"


def test_a_command_is_skipped_only_where_there_is_no_engine(made):
    waiting = order(made, "set", "a", when=50, amount=1)
    with pytest.raises(Refused, match="cancel the command instead"):
        order(made, "skip", "b", seq=waiting)


def test_deaths_on_the_way_back_do_not_count(made):
    order(made, "step", "a", steps=300)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 300, 60)
    made.disk.saved.clear()
    made.disk.keeps = False
    made.engines[-1].kill()

    def half_way() -> bool:
        return made.supervisor.dispatch.was_repeating()

    for count in range(2, 8):
        assert made.world.run(lambda count=count: len(made.engines) == count and half_way() and state(made) == "up", 30)
        made.engines[-1].kill()
    assert made.world.run(lambda: made.supervisor.dispatch.rests(1), 30)


def test_an_engine_that_died_comes_back_when_the_journal_has_room_again(made):
    base = made.journal._base
    base.execute(f"PRAGMA max_page_count = {base.execute('PRAGMA page_count').fetchone()[0]}")  # a full disk
    for fill in (lambda k: made.journal.emit(0, 0, f"{k}", "note", "much"), made.journal.begin_engine):
        with pytest.raises(NoSpaceError):
            [fill(k) for k in range(10_000)]
    made.engines[-1].kill()
    made.world.run(lambda: False, 10)
    assert (state(made), len(made.engines)) == ("recovering", 1)
    base.execute("PRAGMA max_page_count = 100000")
    assert made.world.run(lambda: state(made) == "up", 30)
    assert len(made.engines) == 2


def test_people_are_told_how_far_what_is_done_again_has_come(made):
    def told() -> tuple[float | None, int, int | None]:
        info = made.supervisor.info()
        return info["waited"], info["scenarios"][-1]["step"], info["scenarios"][-1]["at"]

    order(made, "step", "a", steps=300)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 300, 60)
    assert told() == (None, 300, None)
    made.disk.saved.clear()
    made.disk.keeps = False
    made.engines[-1].kill()
    seen = []

    def is_back() -> bool:
        seen.append(told()[1:])
        return len(made.engines) == 2 and made.supervisor.dispatch.rests(1)

    assert made.world.run(is_back, 30)
    ways = [at for _, at in seen if at is not None]
    assert len(ways) > 2
    assert ways == sorted(ways)
    assert {step for step, _ in seen} == {300}
    assert told() == (None, 300, None)


def test_a_hanging_engine_is_told_of_and_ended(made):
    begin = made.world.time
    made.engines[-1].hanging = True
    assert made.world.run(lambda: made.supervisor.info()["silent"], 5)
    assert made.world.time - begin < 1.5
    assert made.world.run(lambda: len(made.engines) == 2, HANGING + 5)
    assert made.world.run(lambda: state(made) == "up", 30)


def test_an_engine_that_never_calls_is_given_up(monkeypatch):
    monkeypatch.setattr("tests.control.simulation.Engine._dial", lambda engine: None)
    made = Play(5, commands=0, disasters=0)
    assert made.world.run(lambda: state(made) == "failed", 4 * STARTING)
    assert "did not connect" in " ".join(made.supervisor.process.problem["log"])


def test_people_are_told_how_long_they_have_waited(monkeypatch):
    monkeypatch.setattr("tests.control.simulation.Engine._dial", lambda engine: None)
    made = Play(5, commands=0, disasters=0)
    begin = made.world.time
    assert made.supervisor.info()["waited"] == 0.0
    for seconds in (1.0, 40.0):
        assert made.world.run(lambda seconds=seconds: made.world.time > begin + seconds, 60)
        assert made.supervisor.info()["state"] == "starting"
        assert seconds - 0.2 < made.supervisor.info()["waited"] < seconds + 2


def test_what_each_other_engine_would_meet_is_not_tried_again(made):
    engine = made.engines[-1]
    engine.endpoint._send(EngineExit("damaged", '"water/c/0/0" is damaged.', True), b"")
    assert made.world.run(lambda: made.supervisor.process._last is not None, 5)
    engine.kill()
    assert made.world.run(lambda: state(made) == "failed", 10)
    problem = made.supervisor.info()["problem"]
    assert (problem["text"], problem["cause"], len(made.engines)) == ('"water/c/0/0" is damaged.', "damaged", 1)
    log = made.journal._base.execute("SELECT log FROM engine").fetchall()
    assert log == [('the last line\nsteppe: "water/c/0/0" is damaged.',)]


def test_an_engine_whose_link_ends_has_a_moment_to_exit_before_it_is_killed(made):
    engine = made.engines[-1]
    engine.hanging = True
    begin = made.world.time
    engine.link.cut()
    assert made.world.run(lambda: state(made) == "recovering", 1)
    assert engine.alive
    assert made.world.run(lambda: not engine.alive, 10)
    assert EXIT <= made.world.time - begin < EXIT + 1
    assert made.world.run(lambda: state(made) == "up", 30)


def test_kills_while_the_run_is_loaded_are_not_those_of_a_command_that_was_never_reached(made, monkeypatch):
    order(made, "set", "a", when=200, amount=1)
    order(made, "step", "b", steps=300)

    def deadly(session, *given):
        raise DiedError

    monkeypatch.setattr(ToySession, "load", deadly)
    made.engines[-1].kill()
    assert made.world.run(lambda: state(made) == "failed", 60)
    assert made.supervisor.process.problem["text"] == "The engine died 3 times before it had loaded the run."


def test_a_full_disk_stops_a_run_that_refuses_orders_and_goes_on_by_itself(made):
    before = order(made, "step", "a", steps=300)
    assert made.world.run(lambda: made.journal.branch("main").shown_step > 30, 30)
    made.disk.full = True
    assert made.world.run(lambda: made.supervisor.info()["state"] == "paused", 30)
    info = made.supervisor.info()
    assert (info["problem"]["code"], info["scenarios"][-1]["state"]) == ("disk-full", "paused")
    for kind, arguments in (("step", {"steps": 1}), ("set", {"amount": 5}), ("pause", {}), ("rewind", {"step": 1}), ("checkpoint", {})):
        with pytest.raises(Refused) as refused:
            order(made, kind, f"full {kind}", **arguments)
        assert refused.value.code == "disk-full"
    again = Order("step", "main", {"steps": 300}, "a", "anna", "admin", repr({"steps": 300}).encode(), "after")
    assert made.supervisor.accept(again).seq == before
    made.world.run(lambda: False, 20)
    assert (made.supervisor.info()["state"], len(made.engines), made.supervisor.process.deaths) == ("paused", 1, 0)
    told = [what for _, what in made.journal.emissions(0) if "disk has room" in what["text"]]
    assert [what["kind"] for what in told] == ["warning"]
    made.disk.full = False
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 300, 30)
    with pytest.raises(Refused, match="The disk was full"):  # a duplicate that comes late
        order(made, "step", "full step", steps=1)
    order(made, "step", "step with room", steps=1)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 301, 30)
    assert made.supervisor.info()["state"] == "ready"


@pytest.mark.parametrize("gone", [True, False])
def test_who_looks_while_the_disk_is_full_is_answered_at_once(made, monkeypatch, gone):
    order(made, "step", "a", steps=300)
    assert made.world.run(lambda: made.journal.branch("main").shown_step > 30, 30)
    advance = ToySession.advance

    def full(session, branches, until, looked) -> None:
        if made.disk.full:
            if gone:
                session.unload(branches[0])
            raise NoSpaceError('"out" cannot be written.')
        advance(session, branches, until, looked)

    monkeypatch.setattr(ToySession, "advance", full)
    made.disk.full = True
    assert made.world.run(lambda: bool(made.supervisor.dispatch.full), 30)
    told = []
    made.supervisor.ask("main", MapQuery(), told.append)
    assert made.world.run(lambda: bool(told), 0.5)
    assert (isinstance(told[0], Refused) and "disk has room" in told[0].detail) is gone


def test_an_engine_that_finds_the_disk_full_where_it_begins_is_no_death_and_comes_back(made):
    made.engines[-1].endpoint._send(EngineExit("no-space", '"out" cannot be written.', False), b"")
    made.disk.full = True
    assert made.world.run(lambda: made.supervisor.process._last is not None, 5)
    made.engines[-1].kill()
    assert made.world.run(lambda: made.supervisor.info()["state"] == "paused", 10)
    told = []
    made.supervisor.ask("main", MapQuery(), told.append)
    assert isinstance(told[0], Refused)
    made.disk.full = False
    assert made.world.run(lambda: made.supervisor.info()["state"] == "ready", 30)
    assert len(made.engines) == 2


def test_a_disk_that_stays_full_is_logged_once(made, caplog):
    for count in (1, 2, 3):
        assert made.world.run(lambda count=count: len(made.engines) == count and made.supervisor.process.link is not None, 30)
        made.engines[-1].endpoint._send(EngineExit("no-space", '"out" cannot be written.', False), b"")
        assert made.world.run(lambda: made.supervisor.process._last is not None, 5)
        made.engines[-1].kill()
    assert made.world.run(lambda: len(made.engines) == 4, 30)
    text = 'run: "out" cannot be written. The run continues by itself when the disk has room.'
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [("WARNING", text)]


def test_who_looks_at_a_stopped_engine_is_answered_with_what_is_kept_or_at_once(made):
    told = []
    made.supervisor.ask("main", MapQuery(), told.append)
    assert made.world.run(lambda: bool(told), 5)
    made.engines[-1].hanging = True
    made.supervisor.ask("main", MapQuery(name="other"), told.append)
    assert made.world.run(lambda: len(told) == 2, STOPPED + 1)
    made.supervisor.ask("main", MapQuery(name="a third"), told.append)
    assert [each.code for each in told[1:]] == ["engine-recovering", "engine-recovering"]
    made.supervisor.ask("main", MapQuery(), told.append)
    assert told[3] == told[0]
    made.engines[-1].hanging = False
    assert made.world.run(lambda: not made.supervisor.process.stopped, 5)
    made.supervisor.ask("main", MapQuery(name="other"), told.append)
    assert made.world.run(lambda: len(told) == 5, 5)
    assert isinstance(told[4], tuple)


def test_an_engine_goes_on_that_said_what_a_full_journal_could_not_hold(made):
    order(made, "step", "a", steps=300)
    base = made.journal._base
    base.execute(f"PRAGMA max_page_count = {base.execute('PRAGMA page_count').fetchone()[0]}")  # a full disk
    with pytest.raises(NoSpaceError):
        [made.journal.emit(0, 0, f"{k}", "note", "much") for k in range(10_000)]
    heard = made.supervisor._receive_state

    def receive(message) -> None:
        if isinstance(message, Heartbeat):
            made.journal.emit(0, 0, "again", "note", "much" * 2000)  # what has to be written has no room
        heard(message)

    made.supervisor._receive_state = receive
    assert made.world.run(lambda: made.supervisor.info()["state"] == "paused", 10)
    with pytest.raises(Refused, match="The disk is full"):
        order(made, "step", "b", steps=1)
    made.world.run(lambda: False, 5)
    made.supervisor._receive_state = heard
    base.execute("PRAGMA max_page_count = 100000")
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 300, 30)
    assert made.world.run(lambda: made.supervisor.info()["state"] == "ready", 10)
    assert (made.supervisor.process.deaths, len(made.engines)) == (0, 1)


def test_an_engine_whose_link_is_cut_calls_again_and_one_that_cannot_keep_a_link_is_ended(made):
    order(made, "step", "a", steps=300)
    engine = made.engines[-1]
    for count in range(CUTS + 1):
        assert made.world.run(lambda: state(made) == "up", 10)
        assert (engine.alive, len(made.engines)) == (True, 1), count
        engine.link.cut()
        assert made.world.run(lambda: state(made) != "up", 1)
    assert made.world.run(lambda: not engine.alive, 0.5)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 300, 30)
    assert len(made.engines) == 2


def test_a_replay_that_gives_another_state_stops_the_run_and_no_engine_tries_it_again(made, monkeypatch):
    made.disk.keeps = False  # all has to be done again
    order(made, "step", "a", steps=40)
    changed = order(made, "set", "b", amount=5)
    order(made, "step", "c", steps=40)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 80, 30)
    apply = ToySession.apply

    def differently(*what) -> Outcome:
        outcome = apply(*what)
        return Outcome(outcome.ok, outcome.detail, outcome.digest + 1)

    monkeypatch.setattr(ToySession, "apply", differently)
    made.engines[-1].kill()
    assert made.world.run(lambda: state(made) == "failed", 30)
    made.world.run(lambda: False, 30)
    assert (state(made), len(made.engines)) == ("failed", 2)
    problem = made.supervisor.process.problem
    assert problem["code"] == "replay-differs"
    assert f"The replay of command {changed} at step 40 gave" in problem["text"]
    monkeypatch.setattr(ToySession, "apply", apply)
    order(made, "rewind", "d", step=40)
    assert made.world.run(lambda: state(made) == "up", 30)
