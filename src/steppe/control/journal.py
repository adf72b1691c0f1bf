"""The journal of a run: which commands were accepted, in which order, and at which step each took effect.

A step command is stored with its absolute target, so repeating it does no harm. A change of the state is stored with the step at which
it happens (its pin) before it happens. So the state of every branch is a function of the journal alone, which brings back whoever dies.

    accepted ── pinned ──> at a step ── applied ──> outcome, digest of the state
       now: by the engine, at a boundary               a replay that gives another digest is a defect and stops the run
       after: at once, at the target in force

Branches are a tree and nothing is ever erased. A scenario is a name that stands on one branch; a rewind gives the name to a new branch,
and so does its undoing: that branch forks from the end of the one that the rewind left.
"""

from __future__ import annotations

import json
from typing import Any

from steppe.control.orders import ACTIONS, CHANGES, FIRST_NAME, FORKS, NAMINGS, Accepted, Branch, Order, Refused, ReplayDiffersError
from steppe.control.receipts import Receipts
from steppe.control.records import BRANCH, COMMAND, KNOWN, checksum
from steppe.control.wire import OPEN_END, Fired, Outcome, Position, Saved


class Journal(Receipts):
    """The journal of one run, for its one writer; see `Records` for how it is opened and what can be read."""

    def describe(self, facts: dict[str, Any]) -> None:
        """Stores what the engine says of the run."""
        content = json.dumps(facts).encode()
        self._base.execute("UPDATE run SET facts = ?", ((checksum(content) + content).decode(),))

    def seen(self, branch: int, step: int) -> None:
        """A client has seen a branch at this step: what has no step yet happens at this step or later.

        A run that another command computed stands beyond the target of its journal: the next steps count from where it stands.
        """
        changes = "shown_step = :step, target = max(target, :step)"
        self._base.execute(f"UPDATE branch SET {changes} WHERE id = :branch AND shown_step < :step", {"step": step, "branch": branch})

    def accept(self, order: Order, steps: int, now: float, *more: Order) -> Accepted:
        """Stores a command, or finds the one of the same key. steps: of the whole run; now: seconds since 1970.

        more: orders of the same request, which are stored behind it; all are stored or none. Returns the receipt of the first.

        Raises
        ------
        Refused
            With the code of the problem. A refusal that depends on the state is kept under the key of the order; nothing else is stored.
        """
        try:
            with self._all_or_nothing():
                accepted, *_ = [self.receipt(each) or self._accept(each, steps, now) for each in (order, *more)]
            self._refusals.reserve()
            return accepted
        except Refused as refused:
            self.refuse(order, refused)
            raise

    def _accept(self, order: Order, steps: int, now: float) -> Accepted:
        branch = self.branch(order.scenario)
        if branch.closed_step < OPEN_END and order.kind != "branch":
            text = f"{branch.name} was left; make a scenario from it to go on."
            raise Refused("scenario-closed", text, value=branch.name)
        self._check_version(order, branch)
        seq = self.last + 1
        self._versions.pop(branch.id, None)
        target, at_step = self._placed(order, branch, steps)
        self._store(seq, branch, order, target, at_step, now)
        if target is not None:
            self._base.execute("UPDATE branch SET target = ? WHERE id = ?", (target, branch.id))
        if order.kind in FORKS:
            self._fork(order, branch, seq)
        if order.kind in NAMINGS:
            self._name(order, branch, seq)
        if order.kind == "skip":
            self._skip(order.arguments["seq"], branch, seq)
        return Accepted(seq, False, self._version_after(seq, order.kind, branch.id), target, at_step)

    def _store(self, seq: int, branch: Branch, order: Order, target: int | None, at_step: int | None, now: float) -> None:
        place = 0 if at_step is None else self._next_place()
        due = str(order.when) if order.kind in ("set", "checkpoint") else "now"
        whose = (seq, branch.id, place, order.key, order.who, order.role)
        what = (order.kind, json.dumps(order.arguments), due, now, target, at_step, None, None, None)
        self._insert(*whose, *what, order.request)

    def _insert(self, *values: Any) -> None:
        self._base.execute(f"INSERT INTO command({COMMAND}, request) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", values)

    def _check_version(self, order: Order, branch: Branch) -> None:
        version = self.version(branch.id)
        if order.if_match not in (None, "*", version):
            since = order.if_match.removeprefix(f"b{branch.id}.") if order.if_match else ""
            after = int(since) if since.isdecimal() else 0
            rows = self._base.execute("SELECT seq, who, kind FROM command WHERE branch = ? AND seq > ? LIMIT 20", (branch.id, after))
            changed = [{"seq": seq, "who": who, "kind": kind} for seq, who, kind in rows]
            text = f'This was ordered on version {order.if_match}; "{order.scenario}" is at {version}.'
            raise Refused("version-stale", text, version=version, changed=changed)
        if order.if_step is not None and not order.if_step == branch.target == branch.shown_step:
            text = f'This was ordered for step {order.if_step}; "{order.scenario}" is at step {branch.shown_step}.'
            raise Refused("version-stale", text, step=branch.shown_step, target=branch.target)

    def _placed(self, order: Order, branch: Branch, steps: int) -> tuple[int | None, int | None]:
        """The target of a step command, the step of an action that is known already."""
        if order.kind == "step":
            return self._target(order.arguments, branch, steps), None
        if order.kind in ("rewind", "branch") and order.arguments.get("step") is not None:
            self._check_past(order.arguments["step"], branch)
        if order.kind == "event" and order.arguments.get("step") is not None:
            self._check_ahead(order.arguments["step"], branch, steps)
        if order.kind == "cancel":
            self._check_cancel(order.arguments["seq"], branch)
        if order.kind == "set" and order.when in ("now", "after") and branch.shown_step >= steps:
            raise _finished(branch, steps)
        if order.kind not in ("set", "checkpoint") or order.when == "now":
            return None, None
        if order.when == "after":
            return None, branch.target
        step = int(order.when)
        self._check_ahead(step, branch, steps)
        return None, step if step >= branch.target else None

    def _check_past(self, step: int, branch: Branch) -> None:
        begin = self.begin(branch.id).step
        if begin <= step <= branch.shown_step:
            return
        text = f"Step {step} is not done yet: {branch.name} is at step {branch.shown_step}."
        if step < begin:
            text = f"Step {step} is before the journal, which was compacted and begins at step {begin}; a restart is possible."
        raise Refused("out-of-range", text, value=step, allowed=[begin, branch.shown_step])

    def _check_ahead(self, step: int, branch: Branch, steps: int) -> None:
        if not branch.shown_step <= step < steps:
            text = f"Step {step} is past or beyond the end: {branch.name} is at step {branch.shown_step} of {steps}."
            raise Refused("step-passed", text, value=step, allowed=[branch.shown_step, steps - 1])

    def _target(self, arguments: dict[str, Any], branch: Branch, steps: int) -> int:
        text = "SELECT seq FROM command INDEXED BY command_open WHERE branch = ? AND kind = 'pause' AND outcome IS NULL"
        if waiting := self._one(text, (branch.id,)):
            text = f"Pause {waiting[0]} is being carried out. Send this order with a new key after it."
            raise Refused("engine-busy-conflict", text, seq=waiting[0])
        if branch.target >= steps:
            raise _finished(branch, steps)
        until = steps if arguments.get("end") else arguments["until"] if "until" in arguments else branch.target + arguments["steps"]
        if not branch.target < until <= steps:
            text = f"The run can be stepped to {branch.target + 1} .. {steps}, not to step {until}."
            raise Refused("out-of-range", text, value=until, allowed=[branch.target + 1, steps])
        return int(until)

    def _check_cancel(self, seq: int, branch: Branch) -> None:
        row = self._one("SELECT kind, outcome FROM command WHERE seq = ? AND branch = ?", (seq, branch.id))
        if row is None:
            raise Refused("unknown-operation", f"{branch.name} has no command {seq}.", value=seq)
        if row[1] is not None or row[0] not in (*CHANGES, "checkpoint"):
            raise Refused("already-finished", f"Command {seq} ({row[0]}) is over or cannot be taken back.", value=seq, state=row[1])

    def _fork(self, order: Order, parent: Branch, seq: int) -> None:
        """A new branch for a scenario of its own, or (rewind) for the one that it leaves."""
        origin = self._left_of(parent, order.arguments["left"]) if "left" in order.arguments else parent
        step = 0 if order.kind == "restart" else order.arguments.get("step")
        if step is None:
            step = origin.shown_step
        (number,) = self._one("SELECT 1 + max((SELECT max(id) FROM branch), coalesce((SELECT max(branches) FROM compacted), 0))")
        name = order.arguments["name"] if order.kind == "branch" else parent.name
        if order.kind == "branch":
            self._check_free(name)
        else:
            self._leave(parent, seq)
        limit = 0 if order.kind == "restart" else self._last_place(origin.id, step)
        self._base.execute(
            f"INSERT INTO branch({BRANCH}) VALUES (?,?,?,?,?,?,?,?,?,?)",
            (number, name, origin.id, step, limit, seq, step, step, OPEN_END, OPEN_END),
        )

    def _left_of(self, scenario: Branch, name: str) -> Branch:
        """What a rewind of a scenario left, by its name; where it stood, the scenario stands again."""
        found = self.branch(name)
        if found.closed_step == OPEN_END or not name.startswith(f"{scenario.name}@"):
            there = [each.name for each in self.branches() if each.name.startswith(f"{scenario.name}@")]
            raise Refused("unknown-scenario", f'"{name}" is not what a rewind of "{scenario.name}" left.', value=name, allowed=there)
        return found

    def _name(self, order: Order, branch: Branch, seq: int) -> None:
        """Another name for a scenario, or none but that of what was left."""
        if branch.name == FIRST_NAME:
            raise Refused("bad-field", f'"{FIRST_NAME}" keeps its name: it is where a run begins.', value=branch.name)
        if order.kind == "rename":
            self._check_free(order.arguments["name"])
            self._base.execute("UPDATE branch SET name = ? WHERE id = ?", (order.arguments["name"], branch.id))
        else:
            self._leave(branch, seq)
        self._end(seq, "done", branch.shown_step, {})

    def _check_free(self, name: str) -> None:
        if self._one("SELECT 1 FROM branch WHERE name = ?", (name,)):
            raise Refused("name-taken", f'There is a scenario "{name}" already.', value=name)

    def _leave(self, branch: Branch, seq: int) -> None:
        """A branch that nobody goes on with, by name@n; it can still be looked at and forked."""
        if branch.name not in self._left:  # counted once: a calibration leaves very many
            if len(self._left) > KNOWN:
                self._left.clear()
            names = f"{branch.name}@0", f"{branch.name}@:"  # the sign behind 9
            (self._left[branch.name],) = self._one("SELECT count(*) FROM branch WHERE name >= ? AND name < ?", names)
        self._left[branch.name] += 1
        self._base.execute("UPDATE branch SET name = ? WHERE id = ?", (f"{branch.name}@{self._left[branch.name]}", branch.id))
        self._close(branch, seq)

    def _skip(self, seq: int, branch: Branch, by: int) -> None:
        """A command that no engine survives never happens; only for who knows that there is no engine."""
        row = self._one("SELECT kind, outcome FROM command WHERE seq = ? AND branch = ?", (seq, branch.id))
        if row is None:
            raise Refused("unknown-operation", f"{branch.name} has no command {seq}.", value=seq)
        if row[1] is not None or row[0] not in ACTIONS:
            raise Refused("already-finished", f"Command {seq} ({row[0]}) is over, or is no change that could be skipped.", value=seq)
        self._end(seq, "cancelled", branch.shown_step, self.reason(by))
        self._end(by, "done", branch.shown_step, {})

    def _close(self, branch: Branch, seq: int) -> None:
        end, limit = self.known(branch.id)
        if branch.parent is not None:
            self._before.pop(branch.id, None)  # found again at the next look
        self._base.execute(
            "UPDATE branch SET target = ?, shown_step = ?, closed_step = ?, closed_place = ? WHERE id = ?",
            (end, end, end, limit, branch.id),
        )
        self._base.execute(
            "UPDATE command SET outcome = 'cancelled', ended_step = ?, detail = ? "
            "WHERE (branch = ? OR seq = ?) AND seq < ? AND outcome IS NULL",
            (end, json.dumps(self.reason(seq)), branch.id, branch.made_by, seq),
        )

    def _last_place(self, branch: int, step: int) -> int:
        """Of the actions that are known to have happened at a step; what is still due there is not for a fork."""
        found = (each for each in self.placed(branch, Position(step, -1)) if each.at_step == step and each.outcome is not None)
        begin = self.begin(branch)
        return max(begin.seq if step == begin.step else 0, *(each.place for each in found), 0)

    def _next_place(self) -> int:
        return int(self._one("SELECT coalesce(max(place), 0) + 1 FROM command")[0])

    def pin(self, seq: int, step: int) -> Position:
        """Fixes when an action happens, once; gives what holds, with step -1 when it is never to happen.

        What was placed there when it was ordered later is still to come, so it is placed behind. A pause lowers the target to its step,
        cuts the steps that are under way short and draws what waited for their end.
        """
        never = Position(-1, 0)
        with self._all_or_nothing():
            found = self.command(seq)
            if found is None or found.outcome == "cancelled":
                return never
            if found.at_step is not None:
                return Position(found.at_step, found.place)
            if found.outcome is not None:
                return never
            if found.due not in ("now", "after") and step > int(found.due):
                detail = {"code": "step-passed", "text": f"Step {found.due} was over; the run had got to step {step}."}
                self._end(seq, "failed", step, detail)
                return never
            pinned = Position(step, self._next_place())
            self._base.execute("UPDATE command SET at_step = ?, place = ? WHERE seq = ?", (*pinned, seq))
            if found.kind == "pause":
                self._cut_short(found.branch, step, seq)
                self._end(seq, "done", step, {})
            self._place_behind(found.branch, seq, pinned, found.kind == "pause")
            return pinned

    def _place_behind(self, branch: int, seq: int, at: Position, draws: bool) -> None:
        """Puts what is still to come and was ordered later behind an action. draws: also what waited for the end of steps cut short."""
        behind = "at_step = :step AND seq > :seq" + (" OR (due = 'after' AND at_step > :step)" if draws else "")
        rows = self._base.execute(
            f"SELECT seq FROM command WHERE branch = :branch AND outcome IS NULL AND digest IS NULL AND ({behind}) "
            "ORDER BY at_step > :step, seq",
            {"branch": branch, "step": at.step, "seq": seq},
        )
        for place, (moved,) in enumerate(rows.fetchall(), at.seq + 1):
            self._base.execute("UPDATE command SET at_step = ?, place = ? WHERE seq = ?", (at.step, place, moved))

    def fired(self, fired: Fired, now: float) -> tuple[bool, bool]:
        """Stores what a rule did, once, however often its step is computed, and the pause that a trigger makes with it.

        Returns
        -------
        tuple
            Whether it was news; whether the branch stops there.
        """
        with self._all_or_nothing():
            if self._branch(fired.branch) is None:  # it led to a scenario before the journal was compacted
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

    def reason(self, by: int) -> dict[str, Any]:
        """Why a command is cancelled: by another command, with its kind and the name of its sender."""
        command = self.command(by)
        kind, who = (command.kind, command.who) if command else ("", "")
        return {"code": "cancelled", "text": f"Command {by} ({kind} by {who}) cancelled it.", "by": by, "kind": kind, "who": who}

    def applied(self, seq: int, step: int, outcome: Outcome) -> bool:
        """Stores what an action did; whether that was news.

        Raises
        ------
        ReplayDiffersError
            It did something else the first time.
        """
        row = self._one("SELECT digest FROM command WHERE seq = ?", (seq,))
        digest = f"{outcome.digest:016x}"
        if row is None or row[0] not in (None, digest):
            then = row[0] if row else "no such command"
            raise ReplayDiffersError(f"The replay of command {seq} at step {step} gave the state {digest}; it was {then} before.")
        if row[0] is None:
            with self._all_or_nothing():
                self._base.execute("UPDATE command SET digest = ? WHERE seq = ?", (digest, seq))
                self._end(seq, "done" if outcome.ok else "failed", step, outcome.detail)
        return row[0] is None

    def end(self, seq: int, outcome: str, step: int, detail: dict[str, Any]) -> None:
        """Stores that a command is over."""
        self._end(seq, outcome, step, detail)

    def _end(self, seq: int, outcome: str, step: int, detail: dict[str, Any]) -> None:
        self._base.execute(
            "UPDATE command SET outcome = ?, ended_step = ?, detail = ? WHERE seq = ? AND outcome IS NULL",
            (outcome, step, json.dumps(detail), seq),
        )

    def stood(self, branch: int, step: int) -> list[int]:
        """What `seen` and `reached` do, as one transaction where both have something to write."""
        if step <= self.branch(branch).shown_step:
            return self.reached(branch, step)
        with self._all_or_nothing():
            self.seen(branch, step)
            return self.reached(branch, step)

    def reached(self, branch: int, step: int) -> list[int]:
        """Ends the step commands whose target a branch has reached; gives their numbers."""
        rows = self._base.execute(
            "SELECT seq FROM command INDEXED BY command_open WHERE branch = ? AND kind = 'step' AND outcome IS NULL AND target <= ?",
            (branch, step),
        )
        found = [seq for (seq,) in rows.fetchall()]
        for seq in found:
            self._base.execute("UPDATE command SET outcome = 'done', ended_step = target WHERE seq = ?", (seq,))
        return found

    def saved(self, branch: int, saved: Saved) -> None:
        """Stores that a checkpoint is durable."""
        self._base.execute(
            "INSERT OR IGNORE INTO checkpoint VALUES (?,?,?,?,?)",
            (branch, saved.name, saved.position.step, saved.position.seq, saved.bytes),
        )

    def begin_engine(self, now: float) -> int:
        """Counts a start of an engine; gives its epoch."""
        (epoch,) = self._one("INSERT INTO engine(started) VALUES (?) RETURNING epoch", (now,))
        return int(epoch)

    def engine_says(self, epoch: int, host: str, pid: int) -> None:
        """Stores where the engine of an epoch runs."""
        self._base.execute("UPDATE engine SET host = ?, pid = ? WHERE epoch = ?", (host, pid, epoch))

    def end_engine(self, epoch: int, now: float, status: str, log: str) -> None:
        """Stores how the engine of an epoch ended. log: its last lines."""
        self._one("UPDATE engine SET ended = ?, status = ?, log = ? WHERE epoch = ?", (now, status, log, epoch))

    def emit(self, branch: int, step: int, source: str, kind: str, text: str) -> int | None:
        """Stores something that people are told once; its number, or None when it was told before."""
        row = self._one(
            "INSERT OR IGNORE INTO emission(branch, step, source, kind, text) VALUES (?,?,?,?,?) RETURNING number",
            (branch, step, source, kind, text),
        )
        return row[0] if row else None


def _finished(branch: Branch, steps: int) -> Refused:
    where = "at" if branch.shown_step >= steps else "on its way to"
    text = f'Scenario "{branch.name}" is already {where} its last step, {steps}. Branch from a date, or rewind, to compute other steps.'
    return Refused("already-finished", text, target=branch.target)
