"""Repeats a steered run from its journal alone: each scenario in one go from the first step, by a run of its own.

It uses no checkpoint, no snapshot and no branch of the first run. So it shows that the results are those of the orders, and that they can
be computed again if only the journal, the run file and the uploads are left. A compacted journal begins with a checkpoint, which is used,
as are the results until then.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from steppe.api import array_of
from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.control import OPEN_END, Command, Leg, Position
from steppe.control.orders import CHANGES, BranchRecord, ReplayDiffersError, folder_of, numbered
from steppe.control.rendezvous import RUN_FILE
from steppe.control.server.journal import Journal
from steppe.control.wire import BEGINNING
from steppe.engine.branch import position_of
from steppe.engine.plan import Plan
from steppe.engine.ranks import Ranks
from steppe.engine.run_file import read_run_file
from steppe.engine.session import Session
from steppe.errors import Failure
from steppe.files import writing
from steppe.io import link_run, oldest_with_changes

FIRST = 1  # a replay has one branch


@dataclass(frozen=True)
class Replayed:
    """A scenario that was repeated. digest: of the state at its end; differs: the differences in words.

    values: of the variables that were asked for, (cell,).
    """

    scenario: str
    branch: int
    step: int
    actions: int
    digest: int
    differs: str = ""
    values: Mapping[str, Array] = field(default_factory=dict)


def scenarios_of(journal: Journal) -> list[BranchRecord]:
    """The branches that are scenarios; branches that a rewind has left are parts of their paths."""
    return [branch for branch in journal.branches() if branch.closed_step == OPEN_END]


def replay(
    run: Path, journal: Journal, branch: BranchRecord, output: Path, ranks: Ranks | None = None, look: Sequence[str] = ()
) -> Replayed:
    """Repeats the commands of a branch up to its last known step, and compares the state after each command.

    Parameters
    ----------
    run
        The run folder: its run file and its uploads are read.
    journal
        A snapshot of the journal; missing outcomes are added to it.
    branch
        Of the journal.
    output
        A folder for the results, empty or absent.
    ranks
        The ranks; default: this process alone.
    look
        Variables whose values at the end are returned.

    Raises
    ------
    Mistake
        The weather or the model differs from those of the run.
    Failure
        An upload, or the checkpoint at which the journal begins, is damaged.
    """
    begin = journal.begin(branch.id)
    if (found := oldest_with_changes(run)) and position_of(found) == begin:
        link_run(run, output, found.path.name)
    elif begin > (0, 0) and (beginning := journal.beginning):
        link_run(folder_of(run, beginning.on), output, beginning.name)
    with replaying(run, output, ranks, begin) as session:
        actions, differs = 0, ""
        for each in journal.placed(branch.id, begin if begin > (0, 0) else Position(-1, -1)):
            if each.kind not in CHANGES or each.outcome is None or each.at_step is None:
                continue  # not done when the journal ended
            differs = _repeat(session, journal, each, each.at_step)
            if differs:
                break
            actions += 1
        if not differs:
            _to(session, branch.shown_step)
            session.save(FIRST)
        values = {name: _values(session, name) for name in look}
        return Replayed(branch.name, branch.id, session.position(FIRST).step, actions, session.digest(FIRST), differs, values)


def _values(session: Session, name: str) -> Array:
    return array_of(*session.get(FIRST, MapQuery(name=name, packed=True)))


@contextmanager
def replaying(run: Path, output: Path, ranks: Ranks | None = None, begin: Position = BEGINNING) -> Iterator[Session]:
    """A session that begins the run of a folder anew in another folder, with the uploads of the first.

    begin: the position of a checkpoint that is there already.
    """
    uploads = output / "uploads"
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
        if (run / "uploads").is_dir() and not uploads.exists():
            uploads.symlink_to((run / "uploads").absolute())
    whole = read_run_file(run / RUN_FILE, {"output.path": json.dumps(str(output.absolute()), ensure_ascii=False)})
    session = Session(output, Plan.of(whole), ranks)
    try:
        session.load(FIRST, [Leg(FIRST, OPEN_END, OPEN_END)], begin)
        yield session
    finally:
        session.close()


def _repeat(session: Session, journal: Journal, command: Command, step: int) -> str:
    """Repeats a command; returns the difference in words, "" if there is none."""
    _to(session, step)
    outcome = session.apply(FIRST, command.place, command.kind, numbered(command.kind, command.seq, command.arguments))
    if outcome.ok != (command.outcome == "done"):
        now = "is carried out" if outcome.ok else f"is refused ({outcome.detail.get('text', '')})"
        return f"{_named(command)} at step {step} {now} now; its outcome was {command.outcome}."
    try:
        journal.applied(command.seq, step, outcome)
    except ReplayDiffersError as error:
        return f"{_named(command)}: {error}"
    return ""


def _named(command: Command) -> str:
    return f'Command {command.seq} ({command.kind} of "{command.arguments.get("variable", "")}" by {command.who})'


def _to(session: Session, step: int) -> None:
    while session.position(FIRST).step < step:
        before = session.position(FIRST)
        session.advance([FIRST], step, 0.0)
        for each in session.fired():
            session.acknowledge(each.branch, each.step, each.source)  # a client has acknowledged it before
        if session.position(FIRST) == before:
            raise Failure(f"The run has {before.step} steps; its journal speaks of step {step}.")
