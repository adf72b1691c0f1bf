"""A journal that was made short again: what it begins with, what of it goes on, and that nothing is lost on the way."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steppe.cli import run_command
from steppe.control import Order, Refused
from steppe.control.orders import numbered
from steppe.control.rendezvous import RUN_FILE
from steppe.control.server.journal import Journal
from steppe.engine import Session, read_run_file
from steppe.errors import DamagedError
from steppe.io import RunFolder
from steppe.io.folders.folder import read_identity
from steppe.server.runs import held
from tests.engine.sessions import on_session, seen, setting, to
from tests.engine.test_rule_runner import watching

STEPS = 420


def do(journal: Journal, session: Session, kind: str, **arguments: Any) -> int:
    """Has an action of main accepted, pinned where it stands, done, and its outcome stored."""
    key = f"{kind} {journal.last + 1}"
    seq = journal.accept(Order(kind, "main", arguments, key, "me", "steer", key.encode(), "now"), STEPS, 0.0).seq
    main = journal.branch("main").id
    pinned = journal.pin(seq, session.position(main).step)
    assert journal.applied(seq, pinned.step, session.apply(main, pinned.seq, kind, numbered(kind, seq, arguments)))
    return seq


def order(journal: Journal, kind: str, key: str = "", **arguments: Any) -> int:
    key = key or f"{kind} {journal.last + 1}"
    return journal.accept(Order(kind, "main", arguments, key, "me", "steer", key.encode()), STEPS, 0.0).seq


def stands(journal: Journal, session: Session, step: int) -> None:
    """Has main come to a step, as a server would hear of it."""
    main = journal.branch("main")
    if main.target < step:
        order(journal, "step", until=step)
    to(session, step, (main.id,))
    journal.stood(main.id, step)
    for each in session.fired():
        journal.fired(each, 0.0)
        session.acknowledge(each.branch, each.step, each.source)


def loaded(journal: Journal, session: Session) -> None:
    """Brings main to where it stood, as a server would have an engine do it."""
    main = journal.branch("main")
    session.load(main.id, journal.path(main.id), journal.begin(main.id))
    for each in journal.placed(main.id, session.position(main.id)):
        if each.kind != "checkpoint":
            to(session, each.at_step, (main.id,))
            arguments = numbered(each.kind, each.seq, each.arguments)
            journal.applied(each.seq, each.at_step, session.apply(main.id, each.place, each.kind, arguments))
    stands(journal, session, max(main.shown_step, main.fork_step))


def saved(journal: Journal, session: Session, pin: bool = False) -> str:
    main = journal.branch("main").id
    found = session.save(main, pin)
    journal.saved(main, found)
    return found.name


@pytest.fixture
def steered(scenario: Path) -> tuple[Path, str]:
    """A run with rules and a rewind, its run file, and the name of a checkpoint on the way to where it stands, step 90."""
    whole = read_run_file(scenario)
    folder = Path(whole.output.path)
    folder.mkdir()
    (folder / RUN_FILE).write_text(whole.as_toml())

    def work(session: Session) -> str:
        with closing(Journal(folder / "journal.sqlite")) as journal:
            journal.begin_engine(0.0)
            journal.describe(session.describe())
            session.load(1, journal.path(1))
            stands(journal, session, 20)
            do(journal, session, "set", **setting("water", 3.0))
            removed = do(journal, session, "event", change=setting("water", 9.0), yearly="", step=70)
            do(journal, session, "event", change=setting("water", 0.5, operation="scale"), yearly="03-01", step=None)
            do(journal, session, "trigger", **watching(0, "mean(water) > 1"))
            stands(journal, session, 50)
            order(journal, "rewind", step=30)
            loaded(journal, session)
            do(journal, session, "remove", rule=removed)
            do(journal, session, "set", **setting("capacity", 90.0))
            name = saved(journal, session, pin=True)
            stands(journal, session, 60)
            do(journal, session, "set", **setting("water", 1.0))
            stands(journal, session, 80)
            saved(journal, session)
            do(journal, session, "set", **setting("water", 2.0))
            stands(journal, session, 90)
            return name

    return scenario, on_session(scenario, work)


def gone_on(run_file: Path, until: int = 150) -> tuple[np.ndarray, int, list[dict[str, Any]]]:
    """A session more: values, digest of the state, and what people were told since step 90."""
    folder = run_file.parent / "out"

    def work(session: Session) -> Any:
        with closing(Journal(folder / "journal.sqlite")) as journal:
            loaded(journal, session)
            stands(journal, session, 120)
            do(journal, session, "set", **setting("water", 0.9, operation="scale"))
            stands(journal, session, until)
            main = journal.branch("main").id
            told = [what for _, what in journal.emissions(0) if what["step"] > 90]
            return seen(session, "water", main), session.digest(main), told

    return on_session(run_file, work)


def copied(run_file: Path, to_: Path) -> Path:
    shutil.copytree(run_file.parent, to_)
    return to_ / run_file.name


def of(text: str, scenario: str = "main") -> str:
    """The digest that a replay has printed."""
    return next(line.rsplit(" ", 1)[1] for line in text.splitlines() if line.startswith(f"{scenario}: "))


@pytest.mark.parametrize("named", [False, True])
def test_it_goes_on_as_if_nothing_had_been(steered, tmp_path, capsys, named):
    run_file, name = steered
    folder, other = run_file.parent / "out", copied(run_file, tmp_path / "other")
    assert run_command(["compact", str(folder), *(["--checkpoint", name] if named else [])]) == 0
    begin = 30 if named else 80
    assert f"The journal begins at step {begin}; " in capsys.readouterr().out
    with closing(Journal(folder / "journal.sqlite")) as journal:
        main = journal.branch("main")
        assert (main.id, main.target, main.shown_step, journal.begin(main.id).step) == (2, 90, 90, begin)
        assert [each.kind for each in journal.rules(main.id)] == ["event", "trigger"]
        assert journal.checkpoints()[0]["pinned"]
    values, digest, told = gone_on(run_file)
    as_before = gone_on(other)
    np.testing.assert_array_equal(values, as_before[0])
    assert digest == as_before[1]
    assert [each for each in told if each["kind"] != "note"] == as_before[2] != []
    assert run_command(["replay", str(folder)]) == 0
    assert run_command(["replay", str(folder), "--output", str(tmp_path / "again")]) == 0
    printed = capsys.readouterr().out
    assert of(printed) == f"{digest & (1 << 64) - 1:016x}"
    assert (tmp_path / "again" / "main" / "output.zarr").is_dir()


def test_the_old_journal_can_still_be_replayed_and_a_second_one_begins_where_the_first_did(steered, capsys):
    run_file, name = steered
    folder = run_file.parent / "out"
    assert run_command(["replay", str(folder)]) == 0
    before = of(capsys.readouterr().out)
    assert run_command(["compact", str(folder), "--checkpoint", name]) == 0
    assert run_command(["compact", str(folder)]) == 0
    assert run_command(["compact", str(folder), "--checkpoint", name]) == 2
    assert "it is before the journal" in capsys.readouterr().err
    for journal in ("journal.sqlite", "journal-1.sqlite", "journal-2.sqlite"):
        assert run_command(["replay", str(folder / journal)]) == 0
        assert of(capsys.readouterr().out) == before
    with closing(Journal(folder / "journal.sqlite")) as new, closing(Journal.snapshot(folder / "journal-1.sqlite")) as old:
        assert new.last > old.last
        assert new.epoch == old.epoch
        assert len(list(new.commands())) < len(list(old.commands()))


def test_a_rewind_ends_where_the_journal_begins_and_a_restart_does_not(steered):
    run_file, name = steered
    folder = run_file.parent / "out"
    assert run_command(["compact", str(folder), "--checkpoint", name]) == 0

    def work(session: Session) -> tuple[int, np.ndarray, np.ndarray]:
        with closing(Journal(folder / "journal.sqlite")) as journal:
            loaded(journal, session)
            with pytest.raises(Refused, match="Step 29 is before step 30, with which the journal begins since it was compacted") as refused:
                order(journal, "rewind", key="too far back", step=29)
            assert (refused.value.code, refused.value.facts["allowed"]) == ("out-of-range", [30, 90])
            order(journal, "rewind", step=30)
            loaded(journal, session)
            assert session.position(journal.branch("main").id).step == 30
            there = seen(session, "water", journal.branch("main").id)
            order(journal, "restart")
            loaded(journal, session)
            main = journal.branch("main")
            assert main.id == 4  # the numbers go on
            stands(journal, session, 10)
            order(journal, "rewind", step=5)
            loaded(journal, session)
            assert session.position(journal.branch("main").id) == (5, 0)
            return main.id, there, seen(session, "water", journal.branch("main").id)

    _, there, afresh = on_session(run_file, work)
    other = read_run_file(run_file)
    assert other.output.path
    assert there.max() != afresh.max()


def test_a_checkpoint_that_is_gone_is_not_replaced_by_the_initial_state(steered):
    run_file, _ = steered
    folder = run_file.parent / "out"
    assert run_command(["compact", str(folder)]) == 0
    shutil.rmtree(folder / "branches" / "2" / "checkpoints")

    def work(session: Session) -> None:
        with closing(Journal(folder / "journal.sqlite")) as journal, pytest.raises(DamagedError, match="from step 80 on"):
            loaded(journal, session)

    on_session(run_file, work)
    assert run_command(["replay", str(folder)]) == 1


@pytest.mark.parametrize("place", ["compact.made", "compact.linked"])
def test_killed_on_the_way_it_leaves_the_old_journal_and_can_be_done_again(steered, place):
    run_file, _ = steered
    folder = run_file.parent / "out"
    before = Journal.snapshot(folder / "journal.sqlite")
    command = [sys.executable, "-m", "steppe", "compact", str(folder)]
    assert subprocess.run(command, env=os.environ | {"STEPPE_FAIL": f"{place}:1:kill"}, check=False).returncode == -9
    after = Journal.snapshot(folder / "journal.sqlite")
    assert (after.beginning, list(after.commands())) == (None, list(before.commands()))
    assert subprocess.run(command, check=False).returncode == 0
    assert sorted(path.name for path in folder.glob("*.sqlite*")) == ["journal-1.sqlite", "journal.sqlite", "journal.sqlite-refused"]
    assert list(Journal.snapshot(folder / "journal-1.sqlite").commands()) == list(before.commands())


def test_a_retry_from_before_is_not_a_new_order(steered):
    run_file, _ = steered
    folder = run_file.parent / "out"
    assert run_command(["compact", str(folder)]) == 0
    with closing(Journal(folder / "journal.sqlite")) as journal:
        last = journal.last
        again = journal.accept(Order("step", "main", {"until": 20}, "step 1", "me", "steer", b"step 1"), STEPS, 0.0)
        assert (again.again, again.seq, again.target, journal.last) == (True, 1, 20, last)
        with pytest.raises(Refused, match="used for another command"):
            journal.accept(Order("step", "main", {"until": 95}, "step 1", "me", "steer", b"another"), STEPS, 0.0)


def test_an_order_that_was_refused_before_a_compaction_is_refused_after_it(steered):
    run_file, _ = steered
    folder = run_file.parent / "out"
    late = Order("step", "main", {"until": 1}, "late", "me", "steer", b"late")
    with closing(Journal(folder / "journal.sqlite")) as journal, pytest.raises(Refused) as first:
        journal.accept(late, STEPS, 0.0)
    assert run_command(["compact", str(folder)]) == 0
    with closing(Journal(folder / "journal.sqlite")) as journal, pytest.raises(Refused) as again:
        journal.accept(late, 2 * STEPS, 0.0)
    assert (again.value.code, again.value.facts) == (first.value.code, first.value.facts)


def test_it_is_refused_where_something_would_be_lost(steered, capsys):
    run_file, _ = steered
    folder = run_file.parent / "out"
    before = (folder / "journal.sqlite").read_bytes()

    def says(*arguments: str) -> str:
        assert run_command(["compact", str(folder), *arguments]) == 2
        return capsys.readouterr().err

    with held(folder, "127.0.0.1:8090"):
        assert "is served already, by process" in says()
    with RunFolder(folder, read_identity(folder)):
        assert "is in use by process" in says()
    assert 'There is no checkpoint "0000000031" on the way to main. Did you mean' in says("--checkpoint", "0000000031")
    assert (folder / "journal.sqlite").read_bytes() == before
    with closing(Journal(folder / "journal.sqlite")) as journal:
        order(journal, "branch", name="dry", step=60)
        assert "Beside main there are the scenarios dry." in says()
    with closing(Journal(folder / "journal.sqlite")) as journal:
        assert list(journal.placed(2, journal.begin(2)))
    assert run_command(["compact", str(folder), "--main-only"]) == 0
    with closing(Journal(folder / "journal.sqlite")) as journal:
        assert [each.name for each in journal.branches()] == ["main"]
