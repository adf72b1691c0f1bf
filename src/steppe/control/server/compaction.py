"""Compaction: a new journal begins at a checkpoint. Older commands, and branches that are not on the path of `main`, stay in the old one.

    journal ──────────── checkpoint ── main       journal.sqlite ── journal-1.sqlite, as it was
                              └─────── main       a new journal.sqlite, with main at the same position

Whenever the process dies, either the old journal or the new one is in place. Numbers of commands, places and branches go on.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from steppe.control.orders import CHANGES, FIRST_NAME, RULES, Command
from steppe.control.server.journal import Journal
from steppe.control.server.journal_file import BRANCH, COMMAND, COMPACTED
from steppe.control.wire import BEGINNING, OPEN_END, Leg, Position, SavedCheckpoint
from steppe.errors import Mistake
from steppe.failpoint import reach
from steppe.files import place

WHO = "steppe compact"
INITIAL = SavedCheckpoint("", BEGINNING, 0)  # the initial state, which needs no checkpoint
FORMER = 1000  # newest orders outside the new journal whose keys and numbers it still knows
COLUMNS = f"{COMMAND}, request, digest"
BEHIND = "(at_step > :step OR (at_step = :step AND place > :place))"
OWN = f"""
branch = :main AND kind != 'branch' AND (outcome IS NULL OR {BEHIND} OR (at_step = :step AND kind = 'pause')
OR (at_step IS NULL AND ended_step >= :step))"""
OF_ANCESTOR = f"""
branch = :leg AND kind IN {CHANGES} AND outcome IN ('done', 'failed') AND {BEHIND}
AND (at_step < :end OR (at_step = :end AND place <= :end_place))"""


@dataclass(frozen=True)
class Compaction:
    """The result of a compaction.

    at: the position at which the new journal begins; kept, of: commands in the new and in the old one; journal: the file of the old one.
    """

    at: Position
    kept: int
    of: int
    journal: str


def others(journal: Journal) -> list[str]:
    """The open scenarios beside `main`; a compaction ends them."""
    return [each.name for each in journal.branches() if each.closed_step == OPEN_END and each.name != FIRST_NAME]


def compact(path: Path, begin: SavedCheckpoint, on: int, now: float) -> Compaction:
    """Replaces a journal by a new one. The caller holds the locks of the run.

    Parameters
    ----------
    path
        Of the journal.
    begin, on
        The checkpoint on the path of `main` at which the new journal begins, and its branch; INITIAL for the initial state.
    now
        Seconds since 1970.

    Raises
    ------
    Mistake
        Another process reads the journal.
    DamagedError
        The file is no journal, or is damaged.
    """
    made = path.with_name(f"{path.stem}.new{path.suffix}")
    for leftover in path.parent.glob(f"{made.name}*"):
        leftover.unlink()
    former = _name_beside(path)
    with closing(Journal(path)) as journal:
        kept, of = _NewJournal(journal, begin, on, former.name, now).make(path, made)
    _gather(path)
    assert reach("compact.made")
    former.unlink(missing_ok=True)  # a link to the same file, left by a process that was killed before the next lines
    os.link(path, former)
    assert reach("compact.linked")
    place(made, path)
    return Compaction(begin.position, kept, of, former.name)


class _NewJournal:
    """Makes the new journal from the old one. former: the future file name of the old one."""

    def __init__(self, journal: Journal, begin: SavedCheckpoint, on: int, former: str, now: float) -> None:
        self._journal, self._begin, self._on, self._former, self._now = journal, begin, on, former, now
        self._main = journal.branch(FIRST_NAME)
        *self._before, _ = journal.path(self._main.id)

    def make(self, old: Path, made: Path) -> tuple[int, int]:
        """Writes the new journal, durably; returns its number of commands, and the one of the old journal."""
        Journal(made).close()
        with closing(sqlite3.connect(made, isolation_level=None)) as base:
            base.execute("PRAGMA journal_mode = DELETE")
            base.execute("PRAGMA synchronous = FULL")
            base.execute("ATTACH ? AS old", (str(old),))
            base.execute("BEGIN IMMEDIATE")
            self._copy_branch(base)
            self._copy_commands(base)
            self._copy_former(base)
            self._copy_messages(base)
            base.execute("INSERT INTO engine SELECT * FROM old.engine ORDER BY epoch DESC LIMIT 1")
            base.execute("UPDATE run SET schema = ?, facts = (SELECT facts FROM old.run)", (COMPACTED,))
            kept, of = (base.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("main.command", "old.command"))
            self._add_itself(base)
            base.execute("COMMIT")
        return kept, of

    @property
    def _names(self) -> dict[str, object]:
        step, place = self._begin.position
        return {"main": self._main.id, "step": step, "place": place}

    def _legs(self) -> Iterator[dict[str, object]]:
        """The legs whose rows are kept."""
        for leg in (*self._before, Leg(self._main.id, OPEN_END, OPEN_END)):
            yield self._names | {"leg": leg.branch, "end": leg.step, "end_place": leg.seq}

    def _copy_branch(self, base: sqlite3.Connection) -> None:
        """Copies the branch of `main` alone, without a parent. It stands at the checkpoint at least, which the old journal may not know."""
        base.execute("DELETE FROM branch")
        base.execute(f"INSERT INTO branch SELECT {BRANCH} FROM old.branch WHERE id = :main", self._names)
        base.execute("UPDATE branch SET parent = NULL, target = max(target, :step), shown_step = max(shown_step, :step)", self._names)
        row = (*self._begin.position, self._on, self._begin.name, json.dumps(self._before), self._greatest_branch(), self._former)
        base.execute("INSERT INTO compacted VALUES (?,?,?,?,?,?,?)", row)

    def _greatest_branch(self) -> int:
        former = self._journal.beginning
        return max(former.branches if former else 0, *(each.id for each in self._journal.branches()))

    def _copy_commands(self, base: sqlite3.Connection) -> None:
        """Copies the commands after the checkpoint, and those that made the rules in it. All of them belong to `main` now."""
        of_main = COLUMNS.replace("branch", ":main", 1)

        def copy(which: str, names: dict[str, object]) -> None:
            base.execute(f"INSERT INTO command({COLUMNS}) SELECT {of_main} FROM old.command WHERE {which}", names)

        copy(OWN, self._names)
        for names in self._legs():
            if names["leg"] != self._main.id:
                copy(OF_ANCESTOR, names)
        for rule in self._rules():
            copy("seq = :seq", self._names | {"seq": rule.seq})
        copy("seq = :by AND outcome IS NULL AND branch != :main", self._names | {"by": self._main.made_by})

    def _copy_former(self, base: sqlite3.Connection) -> None:
        """Copies the newest other orders, so that duplicates get their receipts. Orders of removed branches are cancelled."""
        what, names = f"{COMMAND}, request", self._names | {"most": FORMER}
        of_main = what.replace("branch", ":main", 1).replace("outcome", "coalesce(outcome, 'cancelled')", 1)
        had = f"(SELECT {what} FROM old.command UNION ALL SELECT {what} FROM old.former) AS had"
        base.execute(
            f"INSERT INTO former({what}) SELECT {of_main} FROM {had} "
            "WHERE NOT EXISTS (SELECT 1 FROM command WHERE command.seq = had.seq) ORDER BY seq DESC LIMIT :most",
            names,
        )
        newest = "number > (SELECT max(number) FROM old.refusal) - :most"
        base.execute(f"INSERT INTO refusal SELECT * FROM old.refusal WHERE {newest}", names)

    def _rules(self) -> list[Command]:
        """The commands whose rules the checkpoint holds."""
        at = self._begin.position
        path = [each for each in self._journal.placed(self._main.id, Position(-1, -1)) if (each.at_step, each.place) <= at]
        gone = {each.arguments["rule"] for each in path if each.kind == "remove" and each.outcome == "done"}
        return [each for each in path if each.kind in RULES and each.outcome == "done" and each.seq not in gone]

    def _copy_messages(self, base: sqlite3.Connection) -> None:
        """Copies the messages of these rules, and others that a replay from the checkpoint would send again."""
        sources = json.dumps([f"{rule.kind}:{rule.seq}" for rule in self._rules()])
        for names in self._legs():
            base.execute(
                "INSERT INTO emission SELECT * FROM old.emission WHERE branch = :leg AND (step, 0) <= (:end, :end_place) "
                "AND (step >= :step OR source IN (SELECT value FROM json_each(:sources)))",
                names | {"sources": sources},
            )
            base.execute(
                "INSERT INTO checkpoint SELECT * FROM old.checkpoint WHERE branch = :leg AND (step, place) >= (:step, :place) "
                "AND (step, place) <= (:end, :end_place)",
                names,
            )
        if self._begin.name:  # the old journal may not know it
            row = (self._on, self._begin.name, *self._begin.position, self._begin.bytes)
            base.execute("INSERT OR IGNORE INTO checkpoint VALUES (?,?,?,?,?)", row)

    def _add_itself(self, base: sqlite3.Connection) -> None:
        """Adds a command and a message about the compaction, with which all numbers go on."""
        step, seq = self._begin.position.step, self._journal.last + 1
        (place,) = base.execute("SELECT coalesce(max(place), 0) FROM old.command").fetchone()
        arguments = json.dumps({"checkpoint": self._begin.name, "step": step, "journal": self._former})
        what = (seq, self._main.id, place, f"{seq}", WHO, "admin", "compact", arguments, "now", self._now, None, step, step, "done", "{}")
        base.execute(f"INSERT INTO command({COMMAND}, request) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", (*what, b""))
        text = f"The journal was compacted and begins at step {step} now; what was before is in {self._former}."
        base.execute(
            "INSERT INTO emission SELECT coalesce(max(number), 0) + 1, ?, ?, ?, 'note', ? FROM old.emission",
            (self._main.id, self._main.shown_step, f"compact:{seq}", text),
        )


def _name_beside(path: Path) -> Path:
    """journal-1.sqlite, or the next name that is free or belongs to the same file."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(1))
    return next(name for name in names if not name.exists() or name.samefile(path))


def _gather(path: Path) -> None:
    """Merges the write-ahead log into the file of a journal, so that the file can be renamed.

    Raises
    ------
    Mistake
        Another process reads it.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        try:
            (mode,) = base.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.OperationalError:
            mode = "wal"
    if mode != "delete":
        raise Mistake(f'Another process reads "{path}". Wait until it has ended.')
