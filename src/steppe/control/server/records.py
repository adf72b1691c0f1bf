"""Reading a journal: branches, commands, and the order in which they happen. `Journal` adds to it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from steppe.api.documents import CheckpointStatus, RuleEffect, RunFacts
from steppe.control.orders import ACTIONS, CHANGES, RULES, BranchRecord, Command, JournalStart, Refused
from steppe.control.server.journal_file import BRANCH, COMMAND, KNOWN, JournalFile
from steppe.control.wire import BEGINNING, OPEN_END, Leg, Position

EVERY = f"(SELECT {COMMAND}, request FROM command UNION ALL SELECT {COMMAND}, request FROM former)"  # with those before a compaction
NEWEST = 3  # checkpoints of a branch that stay without a pin, and the one behind them


class JournalRecords(JournalFile):
    """The content of one run's journal; see `JournalFile` for how it is opened."""

    @cached_property
    def id(self) -> str:
        """The identity of this journal; a later journal of the same folder has another."""
        return str(self._one("SELECT id FROM run")[0])

    @property
    def beginning(self) -> JournalStart | None:
        """The start of a compacted journal; None for any other."""
        row = self._one("SELECT step, place, origin, checkpoint, path, branches, journal FROM compacted")
        if row is None:
            return None
        step, place, on, name, path, *rest = row
        return JournalStart(Position(step, place), on, name, [Leg(*leg) for leg in json.loads(path)], *rest)

    def begin(self, branch: int) -> Position:
        """The position from which on the journal holds the commands on the path of a branch."""
        self._ancestors(self.branch(branch))
        return self._begins[branch]

    @property
    def _since(self) -> Position:
        """The position from which on the journal has all changes: scripts made others before."""
        facts = self.facts
        return Position(*facts["since"]) if facts and "since" in facts else BEGINNING

    @property
    def facts(self) -> RunFacts | None:
        """The engine's description of the run; None before the first one, and if it is damaged: every engine sends it again."""
        (kept,) = self._one("SELECT CAST(facts AS BLOB) FROM run")
        if kept is None:
            return None
        begin = kept.find(b"{")  # after the checksum, which older journals lack
        if begin < 0 or (begin and kept[:begin] != checksum(kept[begin:])):
            return None
        return self._base.plain(kept[begin:])  # type: ignore[no-any-return]

    def branches(self) -> list[BranchRecord]:
        """All branches, oldest first."""
        return [branch_of(row) for row in self._base.execute(f"SELECT {BRANCH} FROM branch ORDER BY id")]

    def branch(self, name: str | int) -> BranchRecord:
        """The branch of a scenario, or of a number.

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

    def find(self, name: str | int) -> BranchRecord | None:
        """The branch of a scenario, or of a number; None if there is none."""
        text = f"SELECT {BRANCH} FROM branch WHERE {'id' if isinstance(name, int) else 'name'} = ?"
        return self._cached(name, branch_of, text, (name,))

    @property
    def progress(self) -> int:
        """A number that grows with every finished step of a branch."""
        return int(self._one("SELECT total(shown_step) FROM branch")[0])

    def made_by(self, seq: int) -> BranchRecord | None:
        """The branch that a command made; None if it made none. The search begins at the newest."""
        row = self._one(f"SELECT {BRANCH} FROM branch WHERE made_by = ? ORDER BY id DESC LIMIT 1", (seq,))
        return branch_of(row) if row else None

    def path(self, branch: int) -> list[Leg]:
        """The path to a state with which an engine may load a branch.

        It ends before the first action without an outcome, so that the action happens again and reports one.
        """
        *ancestors, own = self._legs(branch)
        row = self._one(
            "SELECT at_step, place - 1 FROM command INDEXED BY command_open "
            f"WHERE branch = ? AND kind IN {CHANGES} AND at_step IS NOT NULL AND outcome IS NULL ORDER BY at_step, place LIMIT 1",
            (branch,),
        )
        return [*ancestors, Leg(branch, *min((own.step, own.seq), row or (OPEN_END, OPEN_END)))]

    def _legs(self, branch: int) -> list[Leg]:
        """The legs of all ancestors up to each fork, then the branch itself, without older ancestors that have no step on the path.

        The first branch of a compacted journal stays, since it holds the actions of the branches before it.
        """
        own = self.branch(branch)
        return [*self._ancestors(own), Leg(branch, own.closed_step, own.closed_place)]

    def _ancestors(self, own: BranchRecord) -> list[Leg]:
        """The legs of the ancestors, cached: forks never move."""
        if len(self._before) > KNOWN:
            self._before.clear()
            self._begins.clear()
        line = [own]
        while line[-1].id not in self._before and line[-1].parent is not None:
            line.append(self.branch(line[-1].parent))
        if line[-1].parent is None and line[-1].id not in self._begins:
            beginning = self.beginning
            self._begins[line[-1].id] = max(beginning.at if beginning else BEGINNING, self._since)
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
        """The version of a branch: it changes with every command, not with steps."""
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
        """The last position of a branch that a client may have seen."""
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
        """The command of a number; of those before a compaction only the newest are known."""
        return self._cached(("command", seq), command_of, f"SELECT {COMMAND} FROM {EVERY} WHERE seq = ?", (seq,))

    def ordered_by(self, who: str, key: str) -> Command | None:
        """The command of a sender and a key; of those before a compaction only the newest are known."""
        row = self._one(f"SELECT {COMMAND} FROM {EVERY} WHERE who = ? AND key = ?", (who, key))
        return command_of(row) if row else None

    def commands(self, after: int = 0, branch: int | None = None) -> Iterator[Command]:
        """Commands after the number `after`, in the order of their acceptance; of all branches or one."""
        which = "" if branch is None else "AND branch = :branch"
        rows = self._base.execute(
            f"SELECT {COMMAND} FROM command WHERE seq > :after {which} ORDER BY seq", {"after": after, "branch": branch}
        )
        return (command_of(row) for row in rows.fetchall())

    def placed(self, branch: int, after: Position, kinds: tuple[str, ...] = (*CHANGES, "checkpoint")) -> list[Command]:
        """The actions on a branch's path that have a step after a position, in the order in which they happen.

        Of ancestors only changes of the state; of the branch itself also those that are still to happen.
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
        """The branch on the path that owns a step; None if the step lies after the end that a rewind gave the path."""
        return next((leg.branch for leg in self._legs(branch) if (step, 0) <= (leg.step, leg.seq)), None)

    def rules(self, branch: int) -> list[Command]:
        """The events and triggers of a branch, also those that wait for an engine; an event of one date until that date."""
        path = self.placed(branch, Position(-1, -1), (*RULES, "remove"))
        gone = {each.arguments["rule"] for each in path if each.kind == "remove" and each.outcome == "done"}
        waiting = [each for kind in RULES for each in self.waiting(kind, branch) if each.at_step is None]
        there = [each for each in (*path, *waiting) if each.kind in RULES and each.outcome in (None, "done") and each.seq not in gone]
        shown = self.branch(branch).shown_step
        return [each for each in there if each.arguments.get("step") is None or each.arguments["step"] >= shown]

    def effects(self, branch: int, source: str) -> list[RuleEffect]:
        """The effects of a rule on the path of a branch, in order: step, kind and text."""
        rows = self._base.execute("SELECT branch, step, kind, text FROM emission WHERE source = ? ORDER BY step", (source,))
        ends = {leg.branch: (leg.step, leg.seq) for leg in self._legs(branch)}
        return [{"step": step, "kind": kind, "text": text} for on, step, kind, text in rows if (step, 0) <= ends.get(on, (-1, 0))]

    def first_unplaced(self, branch: int) -> Command | None:
        """The first action of a branch without a step."""
        row = self._one(
            f"SELECT {COMMAND} FROM command INDEXED BY command_open "
            f"WHERE branch = ? AND at_step IS NULL AND outcome IS NULL AND kind IN {ACTIONS} ORDER BY seq LIMIT 1",
            (branch,),
        )
        return command_of(row) if row else None

    def waiting(self, kind: str, branch: int | None = None) -> list[Command]:
        """Unfinished commands of a kind."""
        which = "" if branch is None else "AND branch = :branch"
        text = f"SELECT {COMMAND} FROM command INDEXED BY command_open WHERE kind = :kind AND outcome IS NULL {which} ORDER BY seq"
        rows = self._base.execute(text, {"kind": kind, "branch": branch})
        return [command_of(row) for row in rows.fetchall()]

    def has_waiting(self, kinds: tuple[str, ...], branch: int) -> bool:
        """True if a branch has unfinished commands of some kinds."""
        marks = ", ".join("?" * len(kinds))
        text = f"SELECT 1 FROM command INDEXED BY command_open WHERE branch = ? AND outcome IS NULL AND kind IN ({marks}) LIMIT 1"
        return self._one(text, (branch, *kinds)) is not None

    def unfinished(self, seqs: Sequence[int] | None = None) -> list[int]:
        """Those of some commands, or of all, that are not over, in order."""
        which = "" if seqs is None else "AND seq IN (SELECT value FROM json_each(?))"
        text = f"SELECT seq FROM command WHERE outcome IS NULL {which} ORDER BY seq"
        return [seq for (seq,) in self._base.execute(text, () if seqs is None else (json.dumps(seqs),))]

    @property
    def last(self) -> int:
        """The number of the newest command; 0 before the first."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM command")[0])

    def checkpoints(self, branches: Sequence[int] | None = None) -> list[CheckpointStatus]:
        """Durable checkpoints, newest last. branches: only those of these branches that may still exist, the newest and pinned ones."""
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
        """The number of the last start of an engine; 0 before the first."""
        return int(self._one("SELECT coalesce(max(epoch), 0) FROM engine")[0])

    def emissions(self, after: int) -> list[tuple[int, dict[str, object]]]:
        """The messages to clients after a number."""
        rows = self._base.execute(
            "SELECT number, branch, step, source, kind, text FROM emission WHERE number > ? ORDER BY number", (after,)
        )
        names = ("branch", "step", "source", "kind", "text")
        return [(number, dict(zip(names, facts, strict=True))) for number, *facts in rows]


def branch_of(row: tuple[Any, ...]) -> BranchRecord:
    """The branch in a row of the columns `BRANCH`."""
    return BranchRecord(*row)


def command_of(row: tuple[Any, ...]) -> Command:
    """The command in a row of the columns `COMMAND`."""
    *facts, detail = row
    found = dict(zip(Command.__dataclass_fields__, facts, strict=False))
    return Command(**found | {"arguments": json.loads(found["arguments"]), "detail": json.loads(detail) if detail else {}})


def checksum(content: bytes) -> bytes:
    """The checksum before the description of a run."""
    return b"%08x" % zlib.crc32(content)
