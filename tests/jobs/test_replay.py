"""A steered run again, from its journal alone."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from steppe.cli import run_command
from steppe.control import Order
from steppe.control.rendezvous import RUN_FILE
from steppe.control.server.journal import Journal
from steppe.engine import Session, read_run_file
from steppe.jobs.replay import replay, scenarios_of
from tests.engine.sessions import on_session, seen, sent, setting, to
from tests.engine.test_simulation import digest


def change(journal: Journal, session: Session, branch: int, key: str, **arguments: object) -> None:
    """Has an action accepted, pinned where the branch stands, applied, and its outcome stored."""
    order = Order("set", journal.branch(branch).name, arguments, key, "me", "steer", key.encode(), "now")
    seq = journal.accept(order, session.plan.steps, 0.0).seq
    pinned = journal.pin(seq, session.position(branch).step)
    journal.applied(seq, pinned.step, session.apply(branch, pinned.seq, "set", arguments))


def order(journal: Journal, kind: str, key: str, **arguments: object) -> None:
    journal.accept(Order(kind, "main", arguments, key, "me", "steer", key.encode()), 420, 0.0)


@pytest.fixture
def steered(scenario: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """The folder of a run with a branch and a rewind, and the water of its scenarios."""
    whole = read_run_file(scenario)
    folder = Path(whole.output.path)
    folder.mkdir()
    (folder / RUN_FILE).write_text(whole.as_toml())
    journal = Journal(folder / "journal.sqlite")

    def work(session: Session) -> dict[str, np.ndarray]:
        cells = sent(session, np.arange(20, 50, dtype="<u4"))
        session.load(1, journal.path(1))
        order(journal, "step", "to", steps=90)
        to(session, 30)
        change(journal, session, 1, "first", **setting("water", 0.5, operation="scale", cells=cells))
        change(journal, session, 1, "no", **setting("runoff", 1.0))
        to(session, 60)
        change(journal, session, 1, "left", **setting("water", 0.0))
        to(session, 90)
        journal.seen(1, 90)
        order(journal, "branch", "dry", name="dry", step=70)
        order(journal, "rewind", "back", step=50)
        found = {}
        for number, until in ((2, 70), (3, 100)):
            session.load(number, journal.path(number))
            for each in journal.placed(number, session.position(number)):
                to(session, each.at_step, (number,))
                session.apply(number, each.place, "set", each.arguments)
            to(session, journal.branch(number).fork_step, (number,))
            change(journal, session, number, f"in {number}", **setting("capacity", 40.0 * number))
            to(session, until, (number,))
            journal.seen(number, until)
            found[journal.branch(number).name] = seen(session, "water", number)
            session.save(number)
        return found

    found = on_session(scenario, work)
    journal.close()
    return folder, found


def test_each_scenario_is_what_it_was_with_nothing_but_the_journal(steered, tmp_path):
    folder, water = steered
    journal = Journal.snapshot(folder / "journal.sqlite")
    branches = scenarios_of(journal)
    assert [(each.name, each.id) for each in branches] == [("dry", 2), ("main", 3)]
    found = {each.name: replay(folder, journal, each, tmp_path / each.name, look=("water",)) for each in branches}
    assert [(each.step, each.actions, each.differs) for each in found.values()] == [(70, 4, ""), (100, 3, "")]
    for name, values in water.items():
        np.testing.assert_array_equal(found[name].values["water"], values)
    mine, theirs = digest(tmp_path / "main"), digest(folder / "branches" / "3")
    assert {name for name in theirs if mine[name] != theirs[name]} == {"output.zarr/zarr.json"}  # it names the branch


def test_what_a_rewind_left_can_be_had_too(steered, tmp_path, capsys):
    folder, _ = steered
    assert run_command(["replay", str(folder / "journal.sqlite"), "--scenario", "main@1", "--output", str(tmp_path / "left")]) == 0
    assert "main@1: branch 1, 90 steps, 3 changes, digest " in capsys.readouterr().out
    assert (tmp_path / "left" / "main@1" / "output.zarr").is_dir()


def test_the_first_command_that_differs_is_named(steered, capsys):
    folder, _ = steered
    with sqlite3.connect(folder / "journal.sqlite") as base:
        base.execute("UPDATE command SET digest = 'feedfacefeedface' WHERE key IN ('left', 'in 2')")
    base.close()
    assert run_command(["replay", str(folder)]) == 1
    dry, main = capsys.readouterr().out.splitlines()
    assert 'Command 4 (set of "water" by me)' in dry
    assert "it was feedfacefeedface before" in dry
    assert main.startswith("main: branch 3, 100 steps, 3 changes, digest ")


def test_mistakes_are_told_before_anything_is_computed(steered, tmp_path, capsys):
    folder, _ = steered
    assert run_command(["replay", str(folder), "--scenario", "dr"]) == 2
    assert 'The run has no scenario "dr". Did you mean' in capsys.readouterr().err
    assert run_command(["replay", str(tmp_path / "nothing")]) == 2
    assert 'There is no run "' in capsys.readouterr().err
    assert run_command(["replay", str(folder), "--output", str(folder)]) == 2
    assert "is not empty" in capsys.readouterr().err
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / "log.jsonl").touch()
    assert run_command(["replay", str(tmp_path / "script")]) == 2
    assert "only a run that was served can be replayed. Changes of scripts are in" in capsys.readouterr().err
    (folder / "journal.sqlite").write_bytes(b"x" * 5000)
    assert run_command(["replay", str(folder)]) == 1
    assert "is no journal of a run, or is damaged" in capsys.readouterr().err
