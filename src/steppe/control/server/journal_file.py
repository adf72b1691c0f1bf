"""The file of a journal: its tables, how it is opened and checked, and transactions."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any, Self, TypeVar

from steppe.control.orders import FIRST_BRANCH, FIRST_NAME
from steppe.control.server.database import Database
from steppe.control.wire import OPEN_END, Leg, Position
from steppe.errors import DamagedError, Failure, Mistake, NoSpaceError
from steppe.failpoint import reach

SCHEMA_VERSION, COMPACTED = 1, 2  # the second for a compacted journal, which older versions cannot continue
SCHEMA = """
CREATE TABLE run(schema INTEGER NOT NULL, id TEXT NOT NULL, facts TEXT) STRICT;
CREATE TABLE branch(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, parent INTEGER, fork_step INTEGER NOT NULL, fork_place INTEGER NOT NULL,
    made_by INTEGER NOT NULL, target INTEGER NOT NULL, shown_step INTEGER NOT NULL,
    closed_step INTEGER NOT NULL, closed_place INTEGER NOT NULL) STRICT;
CREATE TABLE command(
    seq INTEGER PRIMARY KEY, branch INTEGER NOT NULL, place INTEGER NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL,
    who TEXT NOT NULL, role TEXT NOT NULL, kind TEXT NOT NULL, arguments TEXT NOT NULL, due TEXT NOT NULL, accepted_at REAL NOT NULL,
    target INTEGER, at_step INTEGER, ended_step INTEGER, outcome TEXT CHECK(outcome IN ('done', 'failed', 'cancelled')),
    detail TEXT, digest TEXT, UNIQUE(who, key)) STRICT;
CREATE INDEX command_of_branch ON command(branch, seq);
CREATE TABLE checkpoint(
    branch INTEGER NOT NULL, name TEXT NOT NULL, step INTEGER NOT NULL, place INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY(branch, name)) STRICT;
CREATE TABLE engine(
    epoch INTEGER PRIMARY KEY, started REAL NOT NULL, host TEXT, pid INTEGER, ended REAL, status TEXT, log TEXT) STRICT;
CREATE TABLE emission(
    number INTEGER PRIMARY KEY, branch INTEGER NOT NULL, step INTEGER NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL, UNIQUE(branch, step, source)) STRICT;
"""
BRANCH = "id, name, parent, fork_step, fork_place, made_by, target, shown_step, closed_step, closed_place"
COMMAND = "seq, branch, place, key, who, role, kind, arguments, due, accepted_at, target, at_step, ended_step, outcome, detail"
ADDED = (
    "CREATE INDEX IF NOT EXISTS command_by_place ON command(place)",
    "CREATE INDEX IF NOT EXISTS command_by_kind ON command(kind, branch)",
    "CREATE INDEX IF NOT EXISTS emission_of_rule ON emission(source)",
    "CREATE INDEX IF NOT EXISTS command_open ON command(kind, branch) WHERE outcome IS NULL",
    "CREATE TABLE IF NOT EXISTS compacted(step INTEGER NOT NULL, place INTEGER NOT NULL, origin INTEGER NOT NULL, checkpoint TEXT "
    "NOT NULL, path TEXT NOT NULL, branches INTEGER NOT NULL, journal TEXT NOT NULL) STRICT",
    f"CREATE TABLE IF NOT EXISTS former({COMMAND.replace('seq', 'seq INTEGER PRIMARY KEY', 1)}, request, UNIQUE(who, key))",
    "CREATE TABLE IF NOT EXISTS refusal(number INTEGER PRIMARY KEY, who TEXT NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL, "
    "code TEXT NOT NULL, detail TEXT NOT NULL, facts TEXT NOT NULL, UNIQUE(who, key)) STRICT",
)  # missing in journals of older versions
TABLES = {
    "run": "schema, id, CAST(facts AS BLOB)",
    "branch": BRANCH,
    "command": f"{COMMAND}, request, digest",
    "former": f"{COMMAND}, request",
    "checkpoint": "branch, name, step, place, bytes",
    "engine": "epoch, started, host, pid, ended, status, log",
    "emission": "number, branch, step, source, kind, text",
    "compacted": "step, place, origin, checkpoint, path, branches, journal",
    "refusal": "number, who, key, request, code, detail AS reason, facts",
}  # columns that are read

Found = TypeVar("Found")
KNOWN = 500  # branches whose legs and versions are cached, about
DIGITS = 9  # of the number of a branch
UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)  # errors that do not mean damage


class JournalFile:
    """The file of one run's journal.

    Parameters
    ----------
    path
        Of the file; it is made if it is missing.
    durable
        Whether a command survives the loss of power, too, at the price of an fsync each. All survive the death of processes.

    Raises
    ------
    DamagedError
        The file is no journal, or is damaged.
    Mistake
        A newer version of Steppe wrote it.
    Failure
        The file cannot be written.
    """

    def __init__(self, path: Path | str, durable: bool = False) -> None:
        self._versions: dict[int, str] = {}  # by branch, as far as requested
        self._read: dict[object, Any] = {}  # branches and commands, until the next write
        self._writes = -1
        self._left: dict[str, int] = {}  # number of left branches, by name
        self._before: dict[int, list[Leg]] = {}  # by branch, the legs of its ancestors
        self._begins: dict[int, Position] = {}  # by branch, the position from which on its commands are in the file
        self._first = 0  # the branch without a parent
        self._taken = _greatest(Path(path).with_name("branches")) if path != ":memory:" else 0
        self.longest = 0.0
        """Seconds of the longest transaction; the event loop waits for each."""
        _make_private(path)
        self._base = sqlite3.connect(path, factory=Database)
        try:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._base.execute("PRAGMA busy_timeout = 2000")
            with self._transaction():
                if not self._one("SELECT count(*) FROM sqlite_master")[0]:
                    self._create()
                self._complete()
            self._check_schema(path, "writes")
            self._base.check(TABLES)
        except (NoSpaceError, DamagedError):
            self._base.close()
            raise
        except sqlite3.DatabaseError as error:
            self._base.close()
            if error.sqlite_errorcode & 0xFF in UNWRITABLE:
                raise Failure(f'"{path}" cannot be written: {error}. Make room or allow writing; then the run continues.') from None
            self._base.damaged(error)

    def _check_schema(self, path: Path | str, does: str) -> None:
        if (version := self._one("SELECT schema FROM run")[0]) not in (SCHEMA_VERSION, COMPACTED):
            self._base.close()
            raise Mistake(f'"{path}" has version {version}; this Steppe {does} version {SCHEMA_VERSION}. Use the Steppe that made it.')

    def _complete(self) -> None:
        for statement in ADDED:
            self._base.execute(statement)

    @classmethod
    def snapshot(cls, path: Path) -> Self:
        """A copy in memory of a journal that may be in use. The file is only read.

        Raises
        ------
        Mistake
            There is no such file, or a newer version of Steppe wrote it.
        DamagedError
            It is no journal, or is damaged.
        """
        if not path.is_file():
            raise Mistake(f'There is no journal "{path}".')
        made = cls(":memory:")
        try:
            source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            source.backup(made._base)
            source.close()
            made._base.path = path
            made._check_schema(path, "reads")
            made._complete()
            made._base.check(TABLES)
        except sqlite3.DatabaseError as error:
            made._base.path = path
            made._base.damaged(error)
        return made

    def _create(self) -> None:
        for statement in SCHEMA.split(";\n"):
            if statement.strip():
                self._base.execute(statement)
        self._base.execute("INSERT INTO run VALUES (?, ?, NULL)", (SCHEMA_VERSION, secrets.token_hex(8)))
        self._base.execute("INSERT INTO branch VALUES (?, ?, NULL, 0, 0, 0, 0, 0, ?, ?)", (FIRST_BRANCH, FIRST_NAME, OPEN_END, OPEN_END))

    def close(self) -> None:
        """Closes the file, which holds all accepted commands."""
        self._base.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        begin = perf_counter()
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        assert reach("journal.before_commit")
        try:
            self._base.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        self.longest = max(self.longest, perf_counter() - begin)
        assert reach("journal.after_commit")

    def _roll_back(self) -> None:
        """Rolls back the transaction and clears the caches."""
        if self._base.in_transaction:  # some errors end it
            self._base.execute("ROLLBACK")
        for cache in (self._read, self._left, self._versions):
            cache.clear()

    def _cached(
        self, key: object, make: Callable[[tuple[Any, ...]], Found], text: str, values: tuple[object, ...] | Mapping[str, object]
    ) -> Found | None:
        """The result of `make` for the first row of a query, cached until the next write; None if there is none."""
        if self._writes != self._base.total_changes:
            self._read.clear()
            self._writes = self._base.total_changes
        if key not in self._read:
            row = self._one(text, values)
            self._read[key] = make(row) if row else None
        found: Found | None = self._read[key]
        return found

    def _one(self, text: str, values: tuple[object, ...] | Mapping[str, object] = ()) -> Any:
        return self._base.execute(text, values).fetchone()


def _greatest(branches: Path) -> int:
    """The greatest number that names a folder of branches; 0 if none does. A script may have made that folder."""
    return max((int(each.name) for each in branches.glob("[0-9]*") if each.name.isdecimal() and len(each.name) <= DIGITS), default=0)


def _make_private(path: Path | str) -> None:
    """Restricts the journal to its owner, since it names clients. SQLite gives its other files the same mode."""
    if path != ":memory:":
        with suppress(OSError):  # the first write reports the error
            with suppress(FileExistsError):  # an existing file is not opened: closing it would end the locks of SQLite in this process
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            os.chmod(path, 0o600)
