"""Chooses the checkpoint at which a journal begins anew; `control.server.compaction` rewrites the journal."""

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from steppe.control import Leg, Position
from steppe.control.orders import FIRST_BRANCH, FIRST_NAME, JOURNAL, folder_of
from steppe.control.server.compaction import INITIAL, Compaction, compact, others
from steppe.control.server.journal import Journal
from steppe.engine.branch import position_of, saved
from steppe.errors import DamagedError, FolderError, Mistake, nearest, some
from steppe.io import Checkpoint, Identity, RunFolder, read_identity


def compact_run(run: Path, name: str, alone: bool, say: Callable[[str], None]) -> Compaction:
    """Begins the journal of a run at a checkpoint on the way to `main`. No server may have the run.

    Parameters
    ----------
    run
        The run folder.
    name
        Of the checkpoint; "": the newest that is whole, or the initial state where there is none.
    alone
        Whether the other scenarios may stay behind in the old journal.
    say
        Gets a text for each damaged checkpoint.

    Raises
    ------
    FolderError
        An engine has the run, or it has never begun.
    Mistake
        There is no such checkpoint; there are other scenarios; the journal is being read.
    DamagedError
        The checkpoint, the journal or the folder is damaged.
    """
    path = run / JOURNAL
    try:
        identity = read_identity(run)
    except FileNotFoundError:
        raise FolderError(f'"{run}" has not begun; its journal is as short as can be.') from None
    with RunFolder(run, identity):
        with closing(Journal(path)) as journal:
            beside, legs = others(journal), journal.path(journal.branch(FIRST_NAME).id)
            begin = journal.begin(journal.branch(FIRST_NAME).id)
        if beside and not alone:
            text = f"Beside {FIRST_NAME} there are the scenarios {some(beside, 5)}."
            raise Mistake(f"{text} With --main-only they stay in the old journal alone.")
        on, found = _named(run, identity, legs, begin, name) if name else _newest(run, identity, legs, begin, say)
        if found is None:
            return compact(path, INITIAL, FIRST_BRANCH, time.time())
        Checkpoint.pin(found.path)
        return compact(path, saved(found.path, position_of(found)), on, time.time())


def _newest(run: Path, identity: Identity, legs: list[Leg], begin: Position, say: Callable[[str], None]) -> tuple[int, Checkpoint | None]:
    """The newest whole checkpoint on the way to `main`, and its branch; None if the journal can begin at the initial state."""
    for leg in reversed(legs):
        folder = folder_of(run, leg.branch) / "checkpoints"
        if folder.is_dir() and (found := Checkpoint.newest(folder, identity, say, partial(_is_between, begin, leg))):
            return leg.branch, found
    if begin > (0, 0):
        raise DamagedError(f'"{run}" has no whole checkpoint from step {begin.step} on, with which its journal begins.')
    return FIRST_BRANCH, None


def _named(run: Path, identity: Identity, legs: list[Leg], begin: Position, name: str) -> tuple[int, Checkpoint]:
    there = [(leg, path) for leg in legs for path in Checkpoint.all(folder_of(run, leg.branch) / "checkpoints")]
    found = [(leg, Checkpoint.open(path, identity)) for leg, path in there if path.name == name]
    if not found:
        text = f'There is no checkpoint "{name}" on the way to {FIRST_NAME}.'
        raise Mistake(text + nearest(name, [path.name for _, path in there]))
    for leg, checkpoint in found:
        if _is_between(begin, leg, checkpoint):
            checkpoint.verify()
            return leg.branch, checkpoint
    raise Mistake(f'Checkpoint "{name}" is not on the way to {FIRST_NAME}: it is before the journal, or a rewind went back to before it.')


def _is_between(begin: Position, leg: Leg, checkpoint: Checkpoint) -> bool:
    return begin <= position_of(checkpoint) <= (leg.step, leg.seq)
