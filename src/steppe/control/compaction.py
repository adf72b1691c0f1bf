"""A new journal that begins at a checkpoint: what was ordered before it, and what is not on the way to `main`, stays in the old one.

    journal ──────────── checkpoint ── main       journal.sqlite ── journal-1.sqlite, as it was
                              └─────── main       a new journal.sqlite, in which main stands where it stood

Either the old journal is in its place or the new one, whenever the process dies. Numbers of commands, places and branches go on.
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
from typing import Any

from steppe.control.journal import Journal
from steppe.control.orders import CHANGES, FIRST_NAME, RULES, Command
from steppe.control.records import BRANCH, COMMAND, COMPACTED
from steppe.control.wire import BEGINNING, OPEN_END, Leg, Position, Saved
from steppe.errors import Mistake
from steppe.failpoint import reach
from steppe.files import place

WHO = "steppe compact"
INITIAL = Saved("", BEGINNING, 0)  # the state that needs no checkpoint
FORMER = 1000  # of the orders that are not in the new journal, the newest, which are known by their keys and numbers
COLUMNS = f"{COMMAND}, request, digest"
BEHIND = "(at_step > :step OR (at_step = :step AND place > :place))"
OWN = f"""
branch = :main AND kind != 'branch' AND (outcome IS NULL OR {BEHIND} OR (at_step = :step AND kind = 'pause')
OR (at_step IS NULL AND ended_step >= :step))"""
OF_ANCESTOR = f"""
branch = :leg AND kind IN {CHANGES} AND outcome IN ('done', 'failed') AND {BEHIND}
AND (at_step < :end OR (at_step = :end AND place <= :end_place))"""


@dataclass(frozen=True)
class Compacted:
    """What has become of a journal. at: where the new one begins; kept, of: commands in the new one and in the old; journal: the file in
    which the old one is.
    """

    at: Position
    kept: int
    of: int
    journal: str


def others(journal: Journal) -> list[str]:
    """The scenarios beside `main` that can go on; a compaction leaves them behind."""
    return [each.name for each in journal.branches() if each.closed_step == OPEN_END and each.name != FIRST_NAME]


def compact(path: Path, begin: Saved, on: int, now: float) -> Compacted:
    """Puts a new journal in the place of one, for who alone has the run's locks.

    Parameters
    ----------
    path
        Of the journal.
    begin, on
        The checkpoint on the way to `main` with which the new one begins, and the branch that it is of; INITIAL for the initial state.
    now
        Seconds since 1970.

    Raises
    ------
    Mistake
        Somebody reads the journal.
    DamagedError
        It is none, or is damaged.
    """
    made = path.with_name(f"{path.stem}.new{path.suffix}")
    for leftover in path.parent.glob(f"{made.name}*"):
        leftover.unlink()
    former = _name_beside(path)
    with closing(Journal(path)) as journal:
        kept, of = _Making(journal, begin, on, former.name, now).make(path, made)
    _gather(path)
    assert reach("compact.made")
    former.unlink(missing_ok=True)  # a link to the same file, of one who was killed before the next lines
    os.link(path, former)
    assert reach("compact.linked")
    place(made, path)
    return Compacted(begin.position, kept, of, former.name)


class _Making:
    """Of the new journal, from the old one. former: the name of the file in which the old one will be."""

    def __init__(self, journal: Journal, begin: Saved, on: int, former: str, now: float) -> None:
        self._journal, self._begin, self._on, self._former, self._now = journal, begin, on, former, now
        self._main = journal.branch(FIRST_NAME)
        *self._before, _ = journal.path(self._main.id)

    def make(self, old: Path, made: Path) -> tuple[int, int]:
        """Writes it, durably; gives how many commands it has, and how many the old one had."""
        Journal(made).close()
        with closing(sqlite3.connect(made, isolation_level=None)) as base:
            base.execute("PRAGMA journal_mode = DELETE")
            base.execute("PRAGMA synchronous = FULL")
            base.execute("ATTACH ? AS old", (str(old),))
            base.execute("BEGIN IMMEDIATE")
            self._copy_branch(base)
            self._copy_commands(base)
            self._copy_former(base)
            self._copy_what_was_told(base)
            base.execute("INSERT INTO engine SELECT * FROM old.engine ORDER BY epoch DESC LIMIT 1")
            base.execute("UPDATE run SET schema = ?, facts = (SELECT facts FROM old.run)", (COMPACTED,))
            kept, of = (base.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("main.command", "old.command"))
            self._add_itself(base)
            base.execute("COMMIT")
        return kept, of

    @property
    def _names(self) -> dict[str, Any]:
        step, place = self._begin.position
        return {"main": self._main.id, "step": step, "place": place}

    def _legs(self) -> Iterator[dict[str, Any]]:
        """Those on which something is kept."""
        for leg in (*self._before, Leg(self._main.id, OPEN_END, OPEN_END)):
            yield self._names | {"leg": leg.branch, "end": leg.step, "end_place": leg.seq}

    def _copy_branch(self, base: sqlite3.Connection) -> None:
        """That of `main` alone, without a parent; it stands at the checkpoint at least, of which nobody may have heard yet."""
        base.execute("DELETE FROM branch")
        base.execute(f"INSERT INTO branch SELECT {BRANCH} FROM old.branch WHERE id = :main", self._names)
        base.execute("UPDATE branch SET parent = NULL, target = max(target, :step), shown_step = max(shown_step, :step)", self._names)
        row = (*self._begin.position, self._on, self._begin.name, json.dumps(self._before), self._greatest_branch(), self._former)
        base.execute("INSERT INTO compacted VALUES (?,?,?,?,?,?,?)", row)

    def _greatest_branch(self) -> int:
        former = self._journal.beginning
        return max(former.branches if former else 0, *(each.id for each in self._journal.branches()))

    def _copy_commands(self, base: sqlite3.Connection) -> None:
        """What has happened since, or may happen still; and who made the rules that are there. All of it is of `main` now."""
        of_main = COLUMNS.replace("branch", ":main", 1)

        def copy(which: str, names: dict[str, Any]) -> None:
            base.execute(f"INSERT INTO command({COLUMNS}) SELECT {of_main} FROM old.command WHERE {which}", names)

        copy(OWN, self._names)
        for names in self._legs():
            if names["leg"] != self._main.id:
                copy(OF_ANCESTOR, names)
        for rule in self._rules():
            copy("seq = :seq", self._names | {"seq": rule.seq})
        copy("seq = :by AND outcome IS NULL AND branch != :main", self._names | {"by": self._main.made_by})

    def _copy_former(self, base: sqlite3.Connection) -> None:
        """Of who may not have been told of his order yet, and asks again; what was left behind will not happen."""
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
        """Those that the checkpoint holds."""
        at = self._begin.position
        path = [each for each in self._journal.placed(self._main.id, Position(-1, -1)) if (each.at_step, each.place) <= at]
        gone = {each.arguments["rule"] for each in path if each.kind == "remove" and each.outcome == "done"}
        return [each for each in path if each.kind in RULES and each.outcome == "done" and each.seq not in gone]

    def _copy_what_was_told(self, base: sqlite3.Connection) -> None:
        """Of those rules all, of others what a replay from the checkpoint would tell again."""
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
        if self._begin.name:  # nobody may have been told of it
            row = (self._on, self._begin.name, *self._begin.position, self._begin.bytes)
            base.execute("INSERT OR IGNORE INTO checkpoint VALUES (?,?,?,?,?)", row)

    def _add_itself(self, base: sqlite3.Connection) -> None:
        """A command and a message of its own, with which all numbers go on."""
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
    """journal-1.sqlite, or the next name that is free, or is the same file."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(1))
    return next(name for name in names if not name.exists() or name.samefile(path))


def _gather(path: Path) -> None:
    """Has all of a journal in its one file, so that this can have another name.

    Raises
    ------
    Mistake
        Somebody reads it.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        try:
            (mode,) = base.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.OperationalError:
            mode = "wal"
    if mode != "delete":
        raise Mistake(f'Somebody reads "{path}". Wait until that has ended.')
