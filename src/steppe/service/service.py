"""The runs that may be asked and steered, and what is known of them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import msgspec

from steppe.api import VariableInfo, by_name, encode_head
from steppe.api.documents import ArrayHead, OperationStatus, RunFacts, ScenarioStatus
from steppe.control import Refused
from steppe.control.server.supervisor import Supervisor
from steppe.errors import RequestError
from steppe.grid import Grid, from_plain
from steppe.levels import Layered, which_level
from steppe.service.limits import WorkLimits
from steppe.service.moments import begin_of, date_of

Given = ParamSpec("Given")
Found = TypeVar("Found")
FRONTS = 1000  # that are kept; likewise of scenarios


@dataclass(frozen=True, slots=True)
class RunDescription:
    """The facts that the engine reported of a run, read."""

    facts: RunFacts
    variables: Layered[VariableInfo]
    grid: Grid


class Opener(Protocol):
    """Begins and ends runs. folder: where new ones are made, None for none; launchers: what may start their engines, by name."""

    folder: Path | None
    launchers: Mapping[str, str]

    async def begin(self, folder: Path, launcher: str = "") -> Supervisor:
        """Opens the run of a folder; raises SteppeError."""
        ...

    def archive(self, name: str) -> None:
        """Ends a run; its engine has some seconds to make its state durable."""
        ...


class Service:
    """The runs of a server, without any protocol.

    Parameters
    ----------
    runs
        Name -> run.
    limits
        How much work a request may make.
    read_only
        True if no caller may order anything.
    opener
        Begins and ends runs; None: there are only those of `runs`.
    readable
        Folders that new runs may name, beside that of the opener.
    """

    def __init__(
        self,
        runs: Mapping[str, Supervisor],
        limits: WorkLimits,
        read_only: bool = False,
        opener: Opener | None = None,
        readable: Sequence[Path] = (),
    ) -> None:
        self.runs, self.limits, self.read_only = dict(runs), limits, read_only
        self.opener, self.readable = opener, readable
        self.opening = asyncio.Lock()
        self.catalogue: Mapping[str, dict[str, object]] | None = None  # of models, once a client has asked
        self.draining = asyncio.Event()  # set: no more orders are taken, streams end
        self._known: dict[str, RunDescription] = {}
        self._told: dict[tuple[str, int], tuple[ScenarioStatus, RunFacts | None, msgspec.Raw]] = {}
        self._fronts: OrderedDict[tuple[str, str, str, str], tuple[ArrayHead, bytes]] = OrderedDict()

    async def begun(self, name: str) -> None:
        """Is called when a run was begun, before its client hears of it."""

    def check_open(self, what: str) -> None:
        """Raises Refused, draining, when the server is ending; what: that it takes no more."""
        if self.draining.is_set():
            raise Refused("draining", f"The server is ending and takes no more {what}.")

    def front(self, run: str, scenario: str, variable: str, query: str, head: ArrayHead) -> bytes:
        """The bytes before an array in the format raw; kept while the supervisor answers with the same head."""
        key = (run, scenario, variable, query)
        kept = self._fronts.get(key)
        if kept is not None and kept[0] is head:
            return kept[1]
        front = encode_head({**head, "scenario": scenario})
        self._fronts[key] = (head, front)
        if len(self._fronts) > FRONTS:
            self._fronts.popitem(last=False)
        return front

    def told(self, run: str, scenario: ScenarioStatus) -> msgspec.Raw:
        """A scenario with its date, before the first step the beginning of the run, as JSON; kept while the supervisor gives the same."""
        facts, key = self.runs[run].facts, (run, scenario["branch"])
        kept = self._told.get(key)
        if kept is None or kept[0] is not scenario or kept[1] is not facts:
            date = (date_of if scenario["step"] else begin_of)(scenario["step"], facts) if facts else None
            kept = self._told[key] = (scenario, facts, msgspec.Raw(msgspec.json.encode({**scenario, "date": date})))
            if len(self._told) > FRONTS:
                del self._told[next(iter(self._told))]
        return kept[2]

    def info(self, name: str) -> dict[str, object]:
        """How a run stands: what its supervisor knows, dates, and the version of its main scenario."""
        run = self.run(name)
        state, facts = run.info(), run.facts
        scenarios = state["scenarios"]
        main = next((each for each in scenarios if each["name"] == "main"), scenarios[0])
        found: dict[str, object] = {**state, "scenarios": [self.told(name, each) for each in scenarios], "version": main.get("version", "")}
        return found | ({"model": facts["model"], "calendar": facts["clock"]["calendar"]} if facts else {})

    def run(self, name: str) -> Supervisor:
        """A run; raises Refused, unknown-run."""
        found = self.runs.get(name)
        if found is None:
            raise unknown_run(name, sorted(self.runs))
        return found

    def operation(self, run: str, seq: int) -> OperationStatus:
        """The outcome of an order; raises Refused, unknown-operation."""
        found = self.run(run).operation(seq)
        if found is None:
            raise Refused("unknown-operation", f"There is no command {seq}.", value=seq)
        return found

    def known(self, name: str) -> RunDescription:
        """The description of a run by its engine; raises Refused, engine-recovering, before the first one."""
        facts = self.run(name).facts
        known = self._known.get(name)
        if known is None or known.facts is not facts:
            if facts is None:
                info = self.run(name).info()
                if info["state"] == "failed":
                    raise Refused("engine-failed", str((info.get("problem") or {}).get("text", "The engine gave up.")))
                raise Refused("engine-recovering", f'The engine of "{name}" is being started for the first time. Ask again in a second.')
            variables = by_name(map(variable_info, facts["variables"]))
            known = self._known[name] = RunDescription(facts, variables, from_plain(facts["grid"]))
        return known

    def variable(self, run: str, name: str, level: int | str | None = None, every: bool = False, position: str = "level") -> VariableInfo:
        """The declaration of a variable, or of a level of it: as its name says, or `level`. every: all levels of it are taken together.

        position: of `level` in the request.

        Raises
        ------
        Refused
            unknown-variable, with the nearest name; out-of-range: there is no such level; bad-query: one must be named.
        """
        variables = self.known(run).variables
        found: VariableInfo | None = variables.get(name)
        if found is None:
            raise Refused("unknown-variable", variables.missing(name), value=name[:64], allowed=list(variables))
        if level is not None:
            try:
                return variables[variables.layer(name, level)]
            except RequestError as error:
                raise Refused("out-of-range", str(error), value=level, position=position) from None
        if (levels := variables.levels(name)) and not every:
            last = len(levels[1].values) - 1
            raise Refused("bad-query", which_level(name, *levels), value=name, allowed=[0, last], position=position)
        return found

    async def in_thread(self, call: Callable[Given, Found], *arguments: Given.args, **named: Given.kwargs) -> Found:
        """The result of `call`, in a thread of its own; raises Refused, too-costly, when that takes too long."""
        seconds = self.limits.work_seconds
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.to_thread(call, *arguments, **named)
        except TimeoutError:
            raise Refused("too-costly", f"This takes more than {seconds:g} s.") from None

    def scenario(self, run: str, name: str) -> ScenarioStatus:
        """Where a scenario stands; raises Refused, unknown-scenario."""
        found = self.run(run).scenario(name)
        if found is not None:
            return found
        names = [each["name"] for each in self.run(run).scenarios()]
        raise Refused("unknown-scenario", f'There is no scenario "{name[:80]}" in "{run}".', value=name[:80], allowed=names)


def unknown_run(name: str, there: Sequence[str]) -> Refused:
    """The refusal of a run that is not there for the caller."""
    return Refused("unknown-run", f'There is no run "{name[:64]}".', value=name[:64], allowed=there)


def variable_info(facts: Mapping[str, object]) -> VariableInfo:
    """A variable as the engine declared it."""
    found: VariableInfo = msgspec.convert({name: facts[name] for name in VariableInfo.__struct_fields__ if name in facts}, VariableInfo)
    return found
