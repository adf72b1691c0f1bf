"""Orders: what is checked before an order goes into the journal, and the receipt that says it is there."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from steppe.api import (
    At,
    CheckpointRequest,
    Leave,
    NewScenario,
    OperationInfo,
    Origin,
    Pause,
    Rename,
    Restart,
    Rewind,
    Set,
    Skip,
    Step,
    array_of,
    canonical,
)
from steppe.api.documents import RunFacts
from steppe.api.query import MapQuery
from steppe.control import Command, Order, Refused
from steppe.control.orders import FORKS
from steppe.control.server.reader import digests_of
from steppe.control.server.supervisor import Supervisor
from steppe.service import uploads
from steppe.service.changes import arguments_of, checked, previewed
from steppe.service.moments import date_of, step_before, step_behind
from steppe.service.principal import Principal, check_role
from steppe.service.service import Service, unknown_run

OVER = ("done", "failed", "cancelled")


class Receipt(NamedTuple):
    """An order that is in the journal. operation: as it is now, with version and target; again: the order had been accepted before."""

    operation: Mapping[str, object]
    again: bool

    @property
    def is_over(self) -> bool:
        """True if it is done, failed or cancelled."""
        return self.operation.get("state") in OVER


class Orders:
    """The orders of a principal on a run under one key.

    Parameters
    ----------
    service, run
        The service, and the name of the run.
    who
        The caller.
    key
        The key of the order: an order that is sent again with the same key happens once.
    if_match, if_step
        The version on which the order is given and the step at which the scenario must stand; None: any.
    wait
        Seconds that a receipt waits for the order to be carried out.

    Raises
    ------
    Refused
        role-too-low, read-only or unknown-run: the caller may order nothing here.
    """

    def __init__(
        self,
        service: Service,
        run: str,
        who: Principal,
        key: str,
        if_match: str | None = None,
        if_step: int | None = None,
        wait: float = 0.0,
    ) -> None:
        check_role(who, "steer", service.read_only)
        if not who.sees(run):
            raise unknown_run(run, [who.run])
        self.service, self.name, self.who, self.key = service, run, who, key
        self._if_match, self._if_step, self._wait = if_match, if_step, wait

    @property
    def run(self) -> Supervisor:
        """The run; raises Refused, unknown-run."""
        return self.service.run(self.name)

    @property
    def facts(self) -> RunFacts:
        """The description of the run by its engine; raises Refused, engine-recovering."""
        return self.service.known(self.name).facts

    async def step(self, request: Step) -> Receipt:
        """Computes on."""
        arguments: dict[str, object] = {}
        if request.until is not None:
            arguments["until"] = step_behind(request.until, self.facts, "$.until")
        elif request.end:
            arguments["end"] = True
        else:
            arguments["steps"] = request.steps
        if request.speed is not None:
            arguments["speed"] = request.speed
        try:
            return await self.order("step", request.scenario, arguments, request)
        except Refused as refused:
            if refused.code == "out-of-range" and request.until is not None:  # the journal speaks of steps, the request of dates
                span = [date_of(number, self.facts) for number in refused.facts.get("allowed", ())]
                text = f"The run cannot be stepped to {request.until}, only to a date from {' to '.join(map(str, span))}."
                raise Refused("out-of-range", text, value=request.until, allowed=span, position="$.until") from None
            raise

    async def pause(self, request: Pause) -> Receipt:
        """Stops at the end of the present step."""
        return await self.order("pause", request.scenario, {}, request, when="now")

    async def set(self, request: Set) -> Receipt:
        """Changes a variable."""
        arguments = await arguments_of(self.service, self.name, request)
        when = request.when if isinstance(request.when, str) else self.moment(request.when, "$.when", step_before)
        return await self.order("set", request.scenario, arguments, request, when)

    async def preview(self, request: Set) -> dict[str, object]:
        """The effect of a change at the present step of the scenario."""
        self.service.scenario(self.name, request.scenario)
        change, cells = await checked(self.service, self.name, request)
        head, body = await self.run.get(request.scenario, MapQuery(name=change["variable"], packed=True))
        before = array_of(head, body).reshape(-1).astype(np.float64)
        found = await asyncio.to_thread(previewed, self.service, self.name, change, cells, before)
        return {"variable": change["variable"], "units": head["units"], "step": head["step"], **found}

    async def cancel(self, seq: int) -> Receipt:
        """Takes an order back: what is not over yet does not happen. Steps stop with all that are queued behind them.

        Raises
        ------
        Refused
            already-finished; engine-busy-conflict: the steps of other orders come first, and a target cannot be taken back alone.
        """
        found = self.service.operation(self.name, seq)
        if found["state"] in OVER and self.before is None:
            raise Refused("already-finished", f"Command {seq} ({found['kind']}) is {found['state']}.", value=seq)
        if found["kind"] == "step":  # what computes is stopped at the end of the present step
            if self.before is None:
                self._check_first(seq, found["scenario"])
            return await self.order("pause", found["scenario"], {}, Skip(seq=seq), when="now")
        return await self.order("cancel", found["scenario"], {"seq": seq}, Skip(seq=seq))

    def _check_first(self, seq: int, scenario: str) -> None:
        """Refuses to take back steps that are queued behind those of another order, which a pause would stop, too."""
        journal = self.run.journal
        first = journal.waiting("step", journal.branch(scenario).id)[0]
        if first.seq < seq:
            text = (
                f"The steps of command {seq} are queued behind those of {first.seq} by {first.who}. They cannot be taken back alone. "
                f'Pause "{scenario}", which stops all of them, and order again the steps that you want.'
            )
            raise Refused("engine-busy-conflict", text, value=seq, seq=first.seq)

    async def checkpoint(self, request: CheckpointRequest) -> Receipt:
        """Writes a durable checkpoint."""
        return await self.order("checkpoint", request.scenario, {"pin": request.pin}, request)

    async def branch(self, request: NewScenario) -> Receipt:
        """Makes a scenario, and what is changed in it at once."""
        origin = request.origin or Origin()
        if origin.step is not None and origin.date is not None:
            raise Refused("bad-field", "Give step or date, not both.", allowed=["step", "date"], position="$.from")
        step = origin.step if origin.date is None else step_behind(origin.date, self.facts, "$.from.date")
        changes = [
            self._made("set", request.name, await arguments_of(self.service, self.name, change), change, part=f"/{number}")
            for number, change in enumerate(request.set, 1)
        ]
        return await self.order("branch", origin.scenario, {"name": request.name, "step": step}, request, more=changes)

    async def rewind(self, scenario: str, request: Rewind) -> Receipt:
        """Goes back; with `left` it undoes a rewind: what that cancelled on later dates is ordered again."""
        if request.left is None:
            return await self.order("rewind", scenario, {"step": self.moment(request, "$", step_behind)}, request)
        journal = self.run.journal
        dated = [
            each
            for each in journal.commands(branch=journal.branch(request.left).id)
            if each.outcome == "cancelled" and each.due.isdecimal()
        ]
        more = [
            self._made(each.kind, scenario, each.arguments, request, int(each.due), f"/{each.seq}")
            for each in dated
            if each.detail.get("kind") in FORKS
        ]
        return await self.order("rewind", scenario, {"left": request.left}, request, more=more)

    async def rename(self, scenario: str, request: Rename) -> Receipt:
        """Gives a scenario another name."""
        return await self.order("rename", scenario, {"name": request.name}, request)

    async def leave(self, scenario: str) -> Receipt:
        """Gives up the name of a scenario; what was done in it can still be looked at and branched off."""
        return await self.order("leave", scenario, {}, Leave(scenario=scenario))

    async def restart(self, request: Restart) -> Receipt:
        """Goes back to the initial state."""
        return await self.order("restart", request.scenario, {}, request)

    async def skip(self, request: Skip) -> Receipt:
        """Goes on without a command that brings the engine down."""
        check_role(self.who, "admin", self.service.read_only)
        found = self.service.operation(self.name, request.seq)
        return await self.order("skip", found["scenario"], {"seq": request.seq}, request)

    # ---- parts --------------------------------------------------------------------------------------------------------------------------
    async def order(
        self,
        kind: str,
        scenario: str,
        arguments: Mapping[str, object],
        request: Struct,
        when: str | int = "after",
        more: Sequence[Order] = (),
    ) -> Receipt:
        """Puts an order into the journal. more: orders of the same request, which are stored with it.

        Raises
        ------
        Refused
            By the journal, or because the server is ending; nothing is stored.
        """
        self.service.check_open("orders")
        run = self.run
        accepted = run.accept(self._made(kind, scenario, arguments, request, when), *more)
        for each in (arguments, *(one.arguments for one in more)):
            if names := [*digests_of(each)]:
                with suppress(OSError):  # the engine finds it all the same, and the sweep keeps it
                    await asyncio.to_thread(uploads.settle, run.folder, names)
        found: Mapping[str, object] = await run.settled(accepted.seq, self._wait) or {}
        said = {name: found[name] for name in OperationInfo.__struct_fields__ if name in found}
        said |= {"version": accepted.version, "target": accepted.target, "at_step": found.get("at_step", accepted.at_step)}
        return Receipt(said, accepted.again)

    def _made(
        self, kind: str, scenario: str, arguments: Mapping[str, object], request: Struct, when: str | int = "after", part: str = ""
    ) -> Order:
        """An order as the journal takes it. part: tells the orders of one request apart, by a sign that no key has."""
        return Order(
            kind=kind,
            scenario=scenario,
            arguments=dict(arguments),
            when=when,
            key=self.key + part,
            who=self.who.name,
            role=self.who.role,
            request=f"{kind} {scenario} ".encode() + canonical(request),
            if_match=None if part else self._if_match,
            if_step=None if part else self._if_step,
        )

    @property
    def before(self) -> Command | None:
        """This very order, if it is in the journal already: then it is answered as it was."""
        return self.run.journal.ordered_by(self.who.name, self.key)

    def moment(self, at: At | Rewind, position: str, step_at: Callable[[str, RunFacts, str], int]) -> int:
        """The step of a {step | date}. step_at: what a date means."""
        if at.date is not None:
            return step_at(at.date, self.facts, f"{position}.date")
        assert at.step is not None, "one of both is given"
        return at.step
