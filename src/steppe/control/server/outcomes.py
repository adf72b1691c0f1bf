"""The outcomes of commands in a journal: at which step each happens, and what an engine reports of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from steppe.control.orders import ReplayDiffersError
from steppe.control.server.journal_file import COMMAND
from steppe.control.server.receipts import Receipts
from steppe.control.wire import OPEN_END, Outcome, Position, RuleFiring, SavedCheckpoint


class Outcomes(Receipts):
    """A journal that takes the reports of engines."""

    def seen(self, branch: int, step: int) -> None:
        """Stores that a client has seen a branch at this step: actions without a step happen at this step or later.

        A run that another command continued stands beyond the target in its journal: the next steps count from its position.
        """
        changes = "shown_step = :step, target = max(target, :step)"
        self._base.execute(f"UPDATE branch SET {changes} WHERE id = :branch AND shown_step < :step", {"step": step, "branch": branch})

    def _insert(self, *values: object) -> None:
        self._base.execute(f"INSERT INTO command({COMMAND}, request) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", values)

    def _next_place(self) -> int:
        return int(self._one("SELECT coalesce(max(place), 0) + 1 FROM command")[0])

    def pin(self, seq: int, step: int) -> Position:
        """Fixes the position of an action, once: nothing happens before a step that clients have seen.

        Returns the position in force; step -1: the action never happens.
        Later orders that were placed at this step have not happened, so they move behind the action. A pause lowers the target to its
        step, cancels the steps after it and moves the actions that waited for the end of these steps.
        """
        never = Position(-1, 0)
        with self._transaction():
            found = self.command(seq)
            if found is None or found.outcome == "cancelled":
                return never
            if found.at_step is not None:
                return Position(found.at_step, found.place)
            if found.outcome is not None:
                return never
            step = max(step, self.branch(found.branch).shown_step)  # an engine that repeats steps may not have got there again
            if found.due not in ("now", "after") and step > int(found.due):
                detail = {"code": "step-passed", "text": f"Step {found.due} was over; the run had got to step {step}."}
                self.end(seq, "failed", step, detail)
                return never
            pinned = Position(step, self._next_place())
            self._base.execute("UPDATE command SET at_step = ?, place = ? WHERE seq = ?", (*pinned, seq))
            if found.kind == "pause":
                self._cut_short(found.branch, step, seq)
                self.end(seq, "done", step, {})
            self._place_behind(found.branch, seq, pinned, found.kind == "pause")
            return pinned

    def _place_behind(self, branch: int, seq: int, at: Position, draws: bool) -> None:
        """Moves later orders that have not happened behind an action. draws: also those that waited for the end of cancelled steps."""
        behind = "at_step = :step AND seq > :seq" + (" OR (due = 'after' AND at_step > :step)" if draws else "")
        rows = self._base.execute(
            f"SELECT seq FROM command WHERE branch = :branch AND outcome IS NULL AND digest IS NULL AND ({behind}) "
            "ORDER BY at_step > :step, seq",
            {"branch": branch, "step": at.step, "seq": seq},
        )
        for place, (moved,) in enumerate(rows.fetchall(), at.seq + 1):
            self._base.execute("UPDATE command SET at_step = ?, place = ? WHERE seq = ?", (at.step, place, moved))

    def fired(self, fired: RuleFiring, now: float) -> tuple[bool, bool]:
        """Stores the effect of a rule, once, however often its step is computed, and the pause that a trigger may make.

        Returns
        -------
        tuple
            True if the effect is new; True if the branch stops there.
        """
        with self._transaction():
            if self.find(fired.branch) is None:  # an ancestor from before a compaction
                return self.emit(fired.branch, fired.step, fired.source, fired.kind, fired.text) is not None, False
            owner, branch = self.owner(fired.branch, fired.step), self.branch(fired.branch)
            if owner is None:
                return False, False
            self.seen(owner, fired.step)
            news = self.emit(owner, fired.step, fired.source, fired.kind, fired.text) is not None
            mine = (fired.source, f"b{owner}.{fired.step}")
            if news and fired.kind == "pause" and owner == branch.id and branch.closed_step == OPEN_END and branch.shown_step <= fired.step:
                seq, at = self.last + 1, Position(fired.step, self._next_place())
                self._versions.pop(branch.id, None)
                whose = (seq, branch.id, at.seq, mine[1], mine[0], "steer")
                what = ("pause", "{}", "now", now, None, at.step, at.step, "done", "{}")
                self._insert(*whose, *what, b"")
                self._cut_short(branch.id, at.step, seq)
                self._place_behind(branch.id, seq, at, True)
            paused = self._one("SELECT branch FROM command WHERE who = ? AND key = ?", mine)
            return news, paused == (fired.branch,)

    def _cut_short(self, branch: int, step: int, by: int) -> None:
        self._base.execute("UPDATE branch SET target = ? WHERE id = ?", (step, branch))
        self._base.execute(
            "UPDATE command SET outcome = 'cancelled', ended_step = ?, detail = ? "
            "WHERE branch = ? AND kind = 'step' AND outcome IS NULL AND target > ?",
            (step, json.dumps(self.reason(by)), branch, step),
        )

    def reason(self, by: int) -> dict[str, object]:
        """The detail of a cancelled command: the command that cancelled it, its kind and its sender."""
        command = self.command(by)
        kind, who = (command.kind, command.who) if command else ("", "")
        return {"code": "cancelled", "text": f"Command {by} ({kind} by {who}) cancelled it.", "by": by, "kind": kind, "who": who}

    def applied(self, seq: int, step: int, outcome: Outcome) -> bool:
        """Stores the outcome of an action; returns True if it is new.

        Raises
        ------
        ReplayDiffersError
            The outcome differs from the one of the first time.
        """
        row = self._one("SELECT digest FROM command WHERE seq = ?", (seq,))
        digest = f"{outcome.digest:016x}"
        if row is None or row[0] not in (None, digest):
            then = row[0] if row else "no such command"
            raise ReplayDiffersError(f"The replay of command {seq} at step {step} gave the state {digest}; it was {then} before.")
        if row[0] is None:
            with self._transaction():
                self._base.execute("UPDATE command SET digest = ? WHERE seq = ?", (digest, seq))
                self.end(seq, "done" if outcome.ok else "failed", step, outcome.detail)
        return row[0] is None

    def end(self, seq: int, outcome: str, step: int, detail: Mapping[str, object]) -> None:
        """Stores the end of a command."""
        self._base.execute(
            "UPDATE command SET outcome = ?, ended_step = ?, detail = ? WHERE seq = ? AND outcome IS NULL",
            (outcome, step, json.dumps(detail), seq),
        )

    def stood(self, branch: int, step: int) -> list[int]:
        """Calls `seen` and `reached`, in one transaction where both write."""
        if step <= self.branch(branch).shown_step:
            return self.reached(branch, step)
        with self._transaction():
            self.seen(branch, step)
            return self.reached(branch, step)

    def reached(self, branch: int, step: int) -> list[int]:
        """Ends the step commands whose target a branch has reached; returns their numbers."""
        rows = self._base.execute(
            "SELECT seq FROM command INDEXED BY command_open WHERE branch = ? AND kind = 'step' AND outcome IS NULL AND target <= ?",
            (branch, step),
        )
        found = [seq for (seq,) in rows.fetchall()]
        for seq in found:
            self._base.execute("UPDATE command SET outcome = 'done', ended_step = target WHERE seq = ?", (seq,))
        return found

    def saved(self, branch: int, saved: SavedCheckpoint) -> None:
        """Stores a durable checkpoint."""
        self._base.execute(
            "INSERT OR IGNORE INTO checkpoint VALUES (?,?,?,?,?)",
            (branch, saved.name, saved.position.step, saved.position.seq, saved.bytes),
        )

    def begin_engine(self, now: float) -> int:
        """Stores the start of an engine; returns its epoch."""
        (epoch,) = self._one("INSERT INTO engine(started) VALUES (?) RETURNING epoch", (now,))
        return int(epoch)

    def engine_joined(self, epoch: int, host: str, pid: int) -> None:
        """Stores host and process of an engine."""
        self._base.execute("UPDATE engine SET host = ?, pid = ? WHERE epoch = ?", (host, pid, epoch))

    def end_engine(self, epoch: int, now: float, status: str, log: str) -> None:
        """Stores the end of an engine. log: its last lines."""
        self._one("UPDATE engine SET ended = ?, status = ?, log = ? WHERE epoch = ?", (now, status, log, epoch))

    def emit(self, branch: int, step: int, source: str, kind: str, text: str) -> int | None:
        """Stores a message to clients, once; returns its number, or None for a duplicate."""
        row = self._one(
            "INSERT OR IGNORE INTO emission(branch, step, source, kind, text) VALUES (?,?,?,?,?) RETURNING number",
            (branch, step, source, kind, text),
        )
        return row[0] if row else None
