"""What is in a journal: branches, commands, and the order in which they happen. `Journal` adds to it."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, Self

from steppe.control.base import Base
from steppe.control.orders import ACTIONS, CHANGES, FIRST_BRANCH, FIRST_NAME, RULES, Beginning, Branch, Command, Refused
from steppe.control.wire import BEGINNING, OPEN_END, Leg, Position
from steppe.errors import DamagedError, Failure, Mistake, NoSpaceError
from steppe.failpoint import reach

SCHEMA_VERSION, COMPACTED = 1, 2  # the latter of a journal that was compacted, which older ones cannot go on with
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
    "CREATE INDEX IF NOT EXISTS command_open ON command(kind, branch) WHERE outcome IS NULL",
    "CREATE TABLE IF NOT EXISTS compacted(step INTEGER NOT NULL, place INTEGER NOT NULL, origin INTEGER NOT NULL, checkpoint TEXT "
    "NOT NULL, path TEXT NOT NULL, branches INTEGER NOT NULL, journal TEXT NOT NULL) STRICT",
    f"CREATE TABLE IF NOT EXISTS former({COMMAND.replace('seq', 'seq INTEGER PRIMARY KEY', 1)}, request, UNIQUE(who, key))",
    "CREATE TABLE IF NOT EXISTS refusal(number INTEGER PRIMARY KEY, who TEXT NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL, "
    "code TEXT NOT NULL, detail TEXT NOT NULL, facts TEXT NOT NULL, UNIQUE(who, key)) STRICT",
)  # what journals of before do not have
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

KNOWN = 500  # branches of which is remembered what was found once, about
NEWEST = 3  # checkpoints of a branch that stay without a pin, and the one behind them
UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)  # the file may be whole


class Records:
    """The file of one run's journal.

    Parameters
    ----------
    path
        Of the file; made when it is not there.
    durable
        Whether a command survives the loss of power, too, at the price of an fsync each; all survive the death of processes.

    Raises
    ------
    DamagedError
        The file is no journal, or is damaged.
    Mistake
        A newer version of Steppe wrote it.
    """

    def __init__(self, path: Path | str, durable: bool = False) -> None:
        self._versions: dict[int, str] = {}  # as far as they were asked for
        self._read: dict[Any, Any] = {}  # branches and commands, until something is written
        self._writes = -1
        self._left: dict[str, int] = {}  # how many branches of a name were left
        self._before: dict[int, list[Leg]] = {}  # of each branch the legs of its ancestors
        self._begins: dict[int, Position] = {}  # of each branch the position from which on its commands are here
        self._first = 0  # the branch that has no parent
        self.longest = 0.0
        """Seconds of the longest transaction: nothing else happens in the server meanwhile."""
        _make_private(path)
        self._base = sqlite3.connect(path, factory=Base)
        try:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._base.execute("PRAGMA busy_timeout = 2000")
            with self._all_or_nothing():
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
                raise Failure(f'"{path}" cannot be written: {error}. Make room or give the right to write; the run goes on then.') from None
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
        """A copy in memory of a journal that may be in use; the file is only read.

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
        """Ends the journal; what was accepted is in its file."""
        self._base.close()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        begin = perf_counter()
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._take_back()
            raise
        assert reach("journal.before_commit")
        try:
            self._base.execute("COMMIT")
        except BaseException:
            self._take_back()
            raise
        self.longest = max(self.longest, perf_counter() - begin)
        assert reach("journal.after_commit")

    def _take_back(self) -> None:
        """Ends a transaction of which nothing is to stay, and what is remembered of it."""
        if self._base.in_transaction:  # some errors have ended it
            self._base.execute("ROLLBACK")
        for remembered in (self._read, self._left, self._versions):
            remembered.clear()

    def _remembered(self, key: Any, find: Callable[[], Any]) -> Any:
        """What `find` gives; again without it as long as nothing was written."""
        if self._writes != self._base.total_changes:
            self._read.clear()
            self._writes = self._base.total_changes
        if key not in self._read:
            self._read[key] = find()
        return self._read[key]

    def _one(self, text: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> Any:
        return self._base.execute(text, values).fetchone()

    @property
    def id(self) -> str:
        """Tells this journal from any other, of the same folder too."""
        return str(self._one("SELECT id FROM run")[0])

    @property
    def beginning(self) -> Beginning | None:
        """Where it begins, if it was compacted."""
        row = self._one("SELECT step, place, origin, checkpoint, path, branches, journal FROM compacted")
        if row is None:
            return None
        step, place, on, name, path, *rest = row
        return Beginning(Position(step, place), on, name, [Leg(*leg) for leg in json.loads(path)], *rest)

    def begin(self, branch: int) -> Position:
        """The position from which on the journal knows what happened on the path of a branch."""
        self._ancestors(self.branch(branch))
        return self._begins[branch]

    @property
    def facts(self) -> dict[str, Any] | None:
        """What the engine said of the run; None before the first one did, and where that is damaged: the next engine says it again."""
        (kept,) = self._one("SELECT CAST(facts AS BLOB) FROM run")
        if kept is None:
            return None
        begin = kept.find(b"{")  # behind the checksum, which journals of before do not have
        if begin < 0 or (begin and kept[:begin] != checksum(kept[begin:])):
            return None
        return self._base.plain(kept[begin:])  # type: ignore[no-any-return]

    def branches(self) -> list[Branch]:
        """All there are, oldest first."""
        return [Branch(*row) for row in self._base.execute(f"SELECT {BRANCH} FROM branch ORDER BY id")]

    def branch(self, name: str | int) -> Branch:
        """The branch that a scenario stands on, or of a number.

        Raises
        ------
        Refused
            There is none: unknown-scenario.
        """
        found = self.find(name)
        if found is None:
            there = [each.name for each in self.branches()]
            raise Refused("unknown-scenario", f'There is no scenario "{name}".', value=name, allowed=there)
        return found

    def find(self, name: str | int) -> Branch | None:
        """The same; None when there is none."""
        found: Branch | None = self._remembered(name, lambda: self._branch(name))
        return found

    @property
    def progress(self) -> int:
        """Grows with every finished step of a branch."""
        return int(self._one("SELECT total(shown_step) FROM branch")[0])

    def _branch(self, name: str | int) -> Branch | None:
        row = self._one(f"SELECT {BRANCH} FROM branch WHERE {'id' if isinstance(name, int) else 'name'} = ?", (name,))
        return Branch(*row) if row else None

    def made_by(self, seq: int) -> Branch | None:
        """The branch that a command has made; the newest are looked at first."""
        row = self._one(f"SELECT {BRANCH} FROM branch WHERE made_by = ? ORDER BY id DESC LIMIT 1", (seq,))
        return Branch(*row) if row else None

    def path(self, branch: int) -> list[Leg]:
        """The way to a state of a branch that an engine may begin with.

        It ends before an action of which nobody has heard what it did, so that it happens again and says so.
        """
        *ancestors, own = self._legs(branch)
        row = self._one(
            "SELECT at_step, place - 1 FROM command INDEXED BY command_open "
            f"WHERE branch = ? AND kind IN {CHANGES} AND at_step IS NOT NULL AND outcome IS NULL ORDER BY at_step, place LIMIT 1",
            (branch,),
        )
        return [*ancestors, Leg(branch, *min((own.step, own.seq), row or (OPEN_END, OPEN_END)))]

    def _legs(self, branch: int) -> list[Leg]:
        """Ancestors up to each fork, then the branch itself; but for those, further up than the parent, that ended where they began.

        The first branch of a compacted journal has the actions of those before it, and stays.
        """
        own = self.branch(branch)
        return [*self._ancestors(own), Leg(branch, own.closed_step, own.closed_place)]

    def _ancestors(self, own: Branch) -> list[Leg]:
        """Forks never move, so that they are found once."""
        if len(self._before) > KNOWN:
            self._before.clear()
            self._begins.clear()
        line = [own]
        while line[-1].id not in self._before and line[-1].parent is not None:
            line.append(self.branch(line[-1].parent))
        if line[-1].parent is None and line[-1].id not in self._begins:
            beginning = self.beginning
            self._begins[line[-1].id] = beginning.at if beginning else BEGINNING
            self._before[line[-1].id] = beginning.path if beginning else []
            self._first = line[-1].id
        for parent, child in pairwise(reversed(line)):
            fork = Position(child.fork_step, child.fork_place)
            begin = self._begins[parent.id]
            self._begins[child.id] = begin if fork >= begin else BEGINNING  # a restart
            legs: list[Leg] = []
            for leg in (*self._before[parent.id], Leg(parent.id, *fork)):
                end = min(Position(leg.step, leg.seq), fork)
                if not legs or leg.branch in (parent.id, self._first) or end > Position(legs[-1].step, legs[-1].seq):
                    legs.append(Leg(leg.branch, *end))
            self._before[child.id] = legs
        return self._before[own.id]

    def version(self, branch: int) -> str:
        """Names what was ordered: it changes with every command of the branch, not with its steps."""
        found = self._versions.get(branch)
        if found is None:
            if len(self._versions) > KNOWN:
                self._versions.clear()
            (seq,) = self._one(
                "SELECT coalesce(max(seq), (SELECT made_by FROM branch WHERE id = ?)) FROM command WHERE branch = ?", (branch, branch)
            )
            found = self._versions[branch] = f"b{branch}.{seq}"
        return found

    def known(self, branch: int) -> Position:
        """The furthest position of a branch that anybody may have heard of."""
        found = self.branch(branch)
        if found.closed_step < OPEN_END:
            return Position(found.closed_step, found.closed_place)
        row = self._one(
            f"SELECT at_step, place FROM command INDEXED BY command_by_kind WHERE branch = ? AND digest IS NOT NULL AND kind IN {CHANGES} "
            "ORDER BY at_step DESC, place DESC LIMIT 1",
            (branch,),
        )
        own = Position(*row) if row else Position(0, 0)
        return max(own, Position(found.shown_step, 0), Position(found.fork_step, found.fork_place), self.begin(branch))

    def command(self, seq: int) -> Command | None:
        """The command of a number; of those before a compaction the newest."""
        found: Command | None = self._remembered(("command", seq), lambda: self._command(seq))
        return found

    def ordered_by(self, who: str, key: str) -> Command | None:
        """The command of a sender and a key; of those before a compaction the newest."""
        mine = f"SELECT {COMMAND} FROM"
        text = f"{mine} command WHERE who = :who AND key = :key UNION ALL {mine} former WHERE who = :who AND key = :key"
        row = self._one(text, {"who": who, "key": key})
        return command_of(row) if row else None

    def _command(self, seq: int) -> Command | None:
        text = f"SELECT {COMMAND} FROM command WHERE seq = :seq UNION ALL SELECT {COMMAND} FROM former WHERE seq = :seq"
        row = self._one(text, {"seq": seq})
        return command_of(row) if row else None

    def commands(self, after: int = 0, branch: int | None = None) -> Iterator[Command]:
        """Commands in the order in which they were accepted, those after `after`; of all branches or one."""
        which = "" if branch is None else "AND branch = :branch"
        rows = self._base.execute(
            f"SELECT {COMMAND} FROM command WHERE seq > :after {which} ORDER BY seq", {"after": after, "branch": branch}
        )
        return (command_of(row) for row in rows.fetchall())

    def placed(self, branch: int, after: Position, kinds: tuple[str, ...] = (*CHANGES, "checkpoint")) -> list[Command]:
        """The actions of some kinds of a branch's path that have a step behind a position, in the order in which they happen.

        Of ancestors what changes the state; of the branch itself also what is still to be done.
        """
        found: list[Command] = []
        marks = ", ".join("?" * len(kinds))
        for leg in self._legs(branch):
            rows = self._base.execute(
                f"SELECT {COMMAND} FROM command INDEXED BY command_by_kind WHERE branch = ? AND kind IN ({marks}) AND at_step IS NOT NULL "
                "AND outcome IS NOT 'cancelled' AND (kind IS NOT 'checkpoint' OR (outcome IS NULL AND branch = ?)) ORDER BY seq",
                (leg.branch, *kinds, branch),
            )
            commands = (command_of(row) for row in rows.fetchall())
            found += [each for each in commands if (each.at_step, each.place) <= (leg.step, leg.seq)]
        late = [each for each in found if each.kind == "checkpoint" or (each.at_step, each.place) > after]
        return sorted(late, key=lambda each: (each.at_step, each.place))

    def owner(self, branch: int, step: int) -> int | None:
        """The branch to which a step belongs, of those on the path of a branch; None: it lies behind its end, to which a rewind left it."""
        return next((leg.branch for leg in self._legs(branch) if (step, 0) <= (leg.step, leg.seq)), None)

    def rules(self, branch: int) -> list[Command]:
        """The events and triggers that a branch has, or that wait for an engine; those with one date until it is over."""
        path = self.placed(branch, Position(-1, -1), (*RULES, "remove"))
        gone = {each.arguments["rule"] for each in path if each.kind == "remove" and each.outcome == "done"}
        waiting = [each for kind in RULES for each in self.waiting(kind, branch) if each.at_step is None]
        there = [each for each in (*path, *waiting) if each.kind in RULES and each.outcome in (None, "done") and each.seq not in gone]
        shown = self.branch(branch).shown_step
        return [each for each in there if each.arguments.get("step") is None or each.arguments["step"] >= shown]

    def told(self, branch: int, source: str) -> list[dict[str, Any]]:
        """What a rule did on the path of a branch, the first one first: step, kind and text."""
        rows = self._base.execute("SELECT branch, step, kind, text FROM emission WHERE source = ? ORDER BY step", (source,))
        ends = {leg.branch: (leg.step, leg.seq) for leg in self._legs(branch)}
        return [{"step": step, "kind": kind, "text": text} for on, step, kind, text in rows if (step, 0) <= ends.get(on, (-1, 0))]

    def first_unplaced(self, branch: int) -> Command | None:
        """The first action of a branch that has no step yet."""
        row = self._one(
            f"SELECT {COMMAND} FROM command INDEXED BY command_open "
            f"WHERE branch = ? AND at_step IS NULL AND outcome IS NULL AND kind IN {ACTIONS} ORDER BY seq LIMIT 1",
            (branch,),
        )
        return command_of(row) if row else None

    def waiting(self, kind: str, branch: int | None = None) -> list[Command]:
        """Commands of a kind that are not over."""
        which = "" if branch is None else "AND branch = :branch"
        text = f"SELECT {COMMAND} FROM command INDEXED BY command_open WHERE kind = :kind AND outcome IS NULL {which} ORDER BY seq"
        rows = self._base.execute(text, {"kind": kind, "branch": branch})
        return [command_of(row) for row in rows.fetchall()]

    def has_waiting(self, kinds: tuple[str, ...], branch: int) -> bool:
        """Whether a branch has commands of some kinds that are not over."""
        marks = ", ".join("?" * len(kinds))
        text = f"SELECT 1 FROM command INDEXED BY command_open WHERE branch = ? AND outcome IS NULL AND kind IN ({marks}) LIMIT 1"
        return self._one(text, (branch, *kinds)) is not None

    @property
    def last(self) -> int:
        """The number of the command that was accepted last; 0 before the first."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM command")[0])

    def checkpoints(self, branches: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """Those that were made, newest last. branches: of these alone those that may still be there, the newest few and pinned ones."""
        text = f"SELECT {COMMAND} FROM command INDEXED BY command_by_kind WHERE kind = 'checkpoint' AND outcome = 'done'"
        done = self._base.execute(text).fetchall()
        pinned = {(each.branch, each.detail.get("checkpoint")) for each in map(command_of, done) if each.arguments.get("pin")}
        pinned.update((each.on, each.name) for each in (self.beginning,) if each)
        which = "" if branches is None else "WHERE branch IN (SELECT value FROM json_each(?))"
        age = "row_number() OVER (PARTITION BY branch ORDER BY rowid DESC)"
        rows = self._base.execute(
            f"SELECT branch, name, step, place, bytes, {age} FROM checkpoint {which} ORDER BY rowid",
            () if branches is None else (json.dumps(branches),),
        )
        return [
            {"branch": branch, "name": name, "step": step, "seq": place, "bytes": size, "pinned": (branch, name) in pinned}
            for branch, name, step, place, size, age in rows
            if branches is None or age <= NEWEST or (branch, name) in pinned
        ]

    @property
    def epoch(self) -> int:
        """Of the engine that was started last; 0 before the first."""
        return int(self._one("SELECT coalesce(max(epoch), 0) FROM engine")[0])

    def emissions(self, after: int) -> list[tuple[int, dict[str, Any]]]:
        """What people were told, after a number."""
        rows = self._base.execute(
            "SELECT number, branch, step, source, kind, text FROM emission WHERE number > ? ORDER BY number", (after,)
        )
        names = ("branch", "step", "source", "kind", "text")
        return [(number, dict(zip(names, facts, strict=True))) for number, *facts in rows]


def command_of(row: tuple[Any, ...]) -> Command:
    """The command of a row of the columns `COMMAND`."""
    *facts, detail = row
    found = dict(zip(Command.__dataclass_fields__, facts, strict=False))
    return Command(**found | {"arguments": json.loads(found["arguments"]), "detail": json.loads(detail) if detail else {}})


def _make_private(path: Path | str) -> None:
    """The journal says who ordered what, and its owner alone may read it; SQLite gives its other files the same mode."""
    if path != ":memory:":
        with suppress(OSError):  # what hinders is said by the one that writes
            with suppress(FileExistsError):  # one that is there is not opened: closing it would end the locks of SQLite in this process
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            os.chmod(path, 0o600)


def checksum(content: bytes) -> bytes:
    """What stands before the facts of a run."""
    return b"%08x" % zlib.crc32(content)
