"""Traces of a server in a run folder: the branch that is scenario main, and orders that are still to come."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from steppe.control.orders import FIRST_BRANCH, FIRST_NAME, JOURNAL, folder_of
from steppe.errors import FolderError
from steppe.io.checkpoints.checkpoint import Checkpoint

LOG = logging.getLogger("steppe")
WAITING = "kind = 'set' AND outcome IS NULL"  # changes of a later step; rules lie in the checkpoints


class ServedRun(NamedTuple):
    """main: the folder of scenario main, or what it forked from while it has none; waiting: changes ordered for later steps of it.

    upto: None, or the last step of that folder that belongs to main.
    """

    main: Path
    waiting: int
    upto: int | None

    @classmethod
    def of(cls, folder: Path) -> "ServedRun | None":
        """Of a run folder; None if no server has had it."""
        path = folder / JOURNAL
        if not path.is_file():
            return None
        for how in ("mode=ro", "mode=ro&immutable=1"):  # the second in a folder where nothing can be written
            try:
                with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as base:
                    (number,) = base.execute("SELECT id FROM branch WHERE name = ?", (FIRST_NAME,)).fetchone()
                    (waiting,) = base.execute(f"SELECT count(*) FROM command WHERE branch = ? AND {WAITING}", (number,)).fetchone()
                    upto = None
                    while number != FIRST_BRANCH and not Checkpoint.all(folder_of(folder, number) / "checkpoints"):
                        # it was rewound and has no state of its own on the disk yet, so readers see no records of it
                        fork = base.execute("SELECT parent, fork_step FROM branch WHERE id = ?", (number,)).fetchone()
                        number, upto = fork[0], fork[1] if upto is None else min(upto, fork[1])
                    return cls(folder_of(folder, number), waiting, upto)
            except (sqlite3.Error, TypeError):
                continue
        return None


def results_folder(path: Path) -> Path:
    """Where the results of a run lie: those of scenario main in a branch, once it was rewound on a server, which is reported."""
    served = ServedRun.of(path)
    if served is None:
        return path
    if served.main != path:
        LOG.warning('"%s" was rewound on a server. The results of scenario main are those of "%s", which is taken.', path, served.main)
    if served.upto is not None:
        text = '"%s" was rewound to step %d on a server, and no later step is on the disk yet. Its later records are those that were left.'
        LOG.warning(text, path, served.upto)
    return served.main


def check_continuable(path: Path) -> None:
    """Checks that a run that was served can go on without its server.

    Raises
    ------
    FolderError
        It was rewound, or changes are ordered for later steps.
    """
    served = ServedRun.of(path)
    if served and (served.main != path or served.upto is not None):
        raise FolderError(f'"{path}" was rewound on a server, which alone continues its scenario main: `steppe serve`.')
    if served and served.waiting:
        raise FolderError(
            f'"{path}" was served, and {served.waiting} change{"s" * (served.waiting > 1)} of it {"are" if served.waiting > 1 else "is"} '
            "ordered for later steps. `steppe serve` continues it with these."
        )
