"""The journal of a run: the accepted commands, their order, and the step at which each took effect.

A step command is stored with its absolute target, so repeating it does no harm. A change of the state is stored with its step (its pin)
before it happens. So the state of every branch is a function of the journal alone, which restores a server or an engine that died.

    accepted ── pinned ──> at a step ── applied ──> outcome, digest of the state
       now: by the engine, at a boundary               a replay that gives another digest is a defect and stops the run
       after: at once, at the target in force

Branches are a tree and never erased. A scenario is a name that points to one branch. A rewind moves the name to a new branch. Undoing a
rewind does the same: the new branch forks from the end of the branch that the rewind left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from steppe.control.orders import ACTIONS, CHANGES, FIRST_NAME, FORKS, NAMINGS, BranchRecord, CommandReceipt, Order, Refused
from steppe.control.server.journal_file import BRANCH, KNOWN
from steppe.control.server.outcomes import Outcomes
from steppe.control.server.records import checksum
from steppe.control.wire import OPEN_END, Position


class Journal(Outcomes):
    """The journal of one run, for its one writer; see `JournalFile` for opening and `JournalRecords` for reading."""

    def describe(self, facts: Mapping[str, object]) -> None:
        """Stores the engine's description of the run."""
        content = json.dumps(facts).encode()
        self._base.execute("UPDATE run SET facts = ?", ((checksum(content) + content).decode(),))
        self._before.clear()
        self._begins.clear()

    def accept(self, order: Order, steps: int, now: float, *more: Order) -> CommandReceipt:
        """Stores a command, or finds the one of the same key; returns its receipt. steps: of the whole run; now: seconds since 1970.

        more: orders of the same request, stored after it; all are stored or none.

        Raises
        ------
        Refused
            With the code of the problem. A refusal that depends on the state is stored under the key of the order, and nothing else.
        """
        try:
            with self._transaction():
                accepted, *_ = [self.receipt(each) or self._accept(each, steps, now) for each in (order, *more)]
            self._refusals.reserve()
            return accepted
        except Refused as refused:
            self.refuse(order, refused)
            raise

    def _accept(self, order: Order, steps: int, now: float) -> CommandReceipt:
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
        return CommandReceipt(seq, False, self._version_after(seq, order.kind, branch.id), target, at_step)

    def _store(self, seq: int, branch: BranchRecord, order: Order, target: int | None, at_step: int | None, now: float) -> None:
        place = 0 if at_step is None else self._next_place()
        due = str(order.when) if order.kind in ("set", "checkpoint") else "now"
        whose = (seq, branch.id, place, order.key, order.who, order.role)
        what = (order.kind, json.dumps(order.arguments), due, now, target, at_step, None, None, None)
        self._insert(*whose, *what, order.request)

    def _check_version(self, order: Order, branch: BranchRecord) -> None:
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

    def _placed(self, order: Order, branch: BranchRecord, steps: int) -> tuple[int | None, int | None]:
        """The target of a step command, and the step of an action if it is known."""
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

    def _check_past(self, step: int, branch: BranchRecord) -> None:
        begin = self.begin(branch.id).step
        if begin <= step <= branch.shown_step:
            return
        text = f"Step {step} is not done yet: {branch.name} is at step {branch.shown_step}."
        if step < begin:
            why = "it was compacted" if self.beginning else "a script changed the run before"
            text = f"Step {step} is before step {begin}, with which the journal begins since {why}; a restart is possible."
        raise Refused("out-of-range", text, value=step, allowed=[begin, branch.shown_step])

    def _check_ahead(self, step: int, branch: BranchRecord, steps: int) -> None:
        if not branch.shown_step <= step < steps:
            text = f"Step {step} is past or beyond the end: {branch.name} is at step {branch.shown_step} of {steps}."
            raise Refused("step-passed", text, value=step, allowed=[branch.shown_step, steps - 1])

    def _target(self, arguments: Mapping[str, Any], branch: BranchRecord, steps: int) -> int:
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

    def _check_cancel(self, seq: int, branch: BranchRecord) -> None:
        row = self._one("SELECT kind, outcome FROM command WHERE seq = ? AND branch = ?", (seq, branch.id))
        if row is None:
            raise Refused("unknown-operation", f"{branch.name} has no command {seq}.", value=seq)
        if row[1] is not None or row[0] not in (*CHANGES, "checkpoint"):
            raise Refused("already-finished", f"Command {seq} ({row[0]}) is over or cannot be taken back.", value=seq, state=row[1])

    def _fork(self, order: Order, parent: BranchRecord, seq: int) -> None:
        """Makes a branch for a new scenario, or (rewind) for the scenario of its parent."""
        origin = self._left_of(parent, order.arguments["left"]) if "left" in order.arguments else parent
        step = 0 if order.kind == "restart" else order.arguments.get("step")
        if step is None:
            step = origin.shown_step
        last = "SELECT max((SELECT max(id) FROM branch), coalesce((SELECT max(branches) FROM compacted), 0))"
        number = 1 + max(self._one(last)[0], self._taken)
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

    def _left_of(self, scenario: BranchRecord, name: str) -> BranchRecord:
        """The branch that a rewind of a scenario left, by its name; undoing the rewind forks from its end."""
        found = self.branch(name)
        if found.closed_step == OPEN_END or not name.startswith(f"{scenario.name}@"):
            there = [each.name for each in self.branches() if each.name.startswith(f"{scenario.name}@")]
            raise Refused("unknown-scenario", f'"{name}" is not what a rewind of "{scenario.name}" left.', value=name, allowed=there)
        return found

    def _last_place(self, branch: int, step: int) -> int:
        """The place of the last action with an outcome at a step; a fork does not take over actions without one."""
        found = (each for each in self.placed(branch, Position(step, -1)) if each.at_step == step and each.outcome is not None)
        begin = self.begin(branch)
        return max(begin.seq if step == begin.step else 0, *(each.place for each in found), 0)

    def _name(self, order: Order, branch: BranchRecord, seq: int) -> None:
        """Renames a scenario, or leaves it for good."""
        if branch.name == FIRST_NAME:
            raise Refused("bad-field", f'"{FIRST_NAME}" keeps its name: it is where a run begins.', value=branch.name)
        if order.kind == "rename":
            self._check_free(order.arguments["name"])
            self._base.execute("UPDATE branch SET name = ? WHERE id = ?", (order.arguments["name"], branch.id))
        else:
            self._leave(branch, seq)
        self.end(seq, "done", branch.shown_step, {})

    def _check_free(self, name: str) -> None:
        if self._one("SELECT 1 FROM branch WHERE name = ?", (name,)):
            raise Refused("name-taken", f'There is a scenario "{name}" already.', value=name)

    def _leave(self, branch: BranchRecord, seq: int) -> None:
        """Leaves a branch, which is called name@n from now on. It can still be read and forked, and has no further steps."""
        if branch.name not in self._left:  # counted once: a calibration leaves thousands
            if len(self._left) > KNOWN:
                self._left.clear()
            names = f"{branch.name}@0", f"{branch.name}@:"  # the sign behind 9
            (self._left[branch.name],) = self._one("SELECT count(*) FROM branch WHERE name >= ? AND name < ?", names)
        self._left[branch.name] += 1
        self._base.execute("UPDATE branch SET name = ? WHERE id = ?", (f"{branch.name}@{self._left[branch.name]}", branch.id))
        self._close(branch, seq)

    def _skip(self, seq: int, branch: BranchRecord, by: int) -> None:
        """Cancels a command that kills every engine. The caller knows that no engine runs."""
        row = self._one("SELECT kind, outcome FROM command WHERE seq = ? AND branch = ?", (seq, branch.id))
        if row is None:
            raise Refused("unknown-operation", f"{branch.name} has no command {seq}.", value=seq)
        if row[1] is not None or row[0] not in ACTIONS:
            raise Refused("already-finished", f"Command {seq} ({row[0]}) is over, or is no change that could be skipped.", value=seq)
        self.end(seq, "cancelled", branch.shown_step, self.reason(by))
        self.end(by, "done", branch.shown_step, {})

    def _close(self, branch: BranchRecord, seq: int) -> None:
        end, limit = self.known(branch.id)
        if branch.parent is not None:
            self._before.pop(branch.id, None)  # computed again at the next use
        self._base.execute(
            "UPDATE branch SET target = ?, shown_step = ?, closed_step = ?, closed_place = ? WHERE id = ?",
            (end, end, end, limit, branch.id),
        )
        self._base.execute(
            "UPDATE command SET outcome = 'cancelled', ended_step = ?, detail = ? "
            "WHERE (branch = ? OR seq = ?) AND seq < ? AND outcome IS NULL",
            (end, json.dumps(self.reason(seq)), branch.id, branch.made_by, seq),
        )


def _finished(branch: BranchRecord, steps: int) -> Refused:
    where = "at" if branch.shown_step >= steps else "on its way to"
    text = f'Scenario "{branch.name}" is already {where} its last step, {steps}. Branch from a date, or rewind, to compute other steps.'
    return Refused("already-finished", text, target=branch.target)
