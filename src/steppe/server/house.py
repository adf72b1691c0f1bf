"""What all routes share: the runs and what is known of them, who may come in, the limits, and what was counted."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steppe.api import VariableInfo, by_name, encode_head
from steppe.control import Refused
from steppe.errors import RequestError
from steppe.grid import Grid, from_plain
from steppe.levels import Layered, which_level
from steppe.server.access import Access
from steppe.server.limits import Limits
from steppe.server.metrics import Metrics
from steppe.server.moments import date_of
from steppe.server.supervised import Opener, Supervisor

if TYPE_CHECKING:
    from steppe.server.live.feed import Feed
    from steppe.server.routes.films import Filming

FRONTS = 1000  # that are kept; likewise of scenarios


@dataclass(frozen=True, slots=True)
class Known:
    """What the engine once said of a run, read."""

    facts: Mapping[str, Any]
    variables: Layered[VariableInfo]
    grid: Grid


class House:
    """The parts of a server that its routes use."""

    def __init__(
        self,
        runs: Mapping[str, Supervisor],
        access: Access,
        limits: Limits,
        requests_left: Callable[[str], int],
        read_only: bool = False,
    ) -> None:
        self.runs = dict(runs)
        self.access, self.limits, self.requests_left = access, limits, requests_left
        self.read_only = read_only  # whether nobody may order anything
        self.opener: Opener | None = None  # begins and ends runs
        self.readable: Sequence[Path] = ()  # folders that new runs may name
        self.opening = asyncio.Lock()
        self.catalogue: dict[str, Any] | None = None  # of models, once somebody has asked
        self.metrics = Metrics()
        self.draining = asyncio.Event()  # set: no more orders are taken, streams end
        self.sockets: Counter[str] = Counter()  # by the digest of a token, "" of those that have said none
        self.feeds: dict[str, Feed] = {}  # of runs that somebody watches
        self.film: Filming | None = None  # that is being made
        self._known: dict[str, Known] = {}
        self._told: dict[tuple[str, int], tuple[Mapping[str, Any], Mapping[str, Any] | None, msgspec.Raw]] = {}
        self._fronts: OrderedDict[tuple[str, str, str, str], tuple[Mapping[str, Any], bytes]] = OrderedDict()

    def front(self, run: str, scenario: str, variable: str, query: str, head: Mapping[str, Any]) -> bytes:
        """What stands before an array in the format raw; kept while the supervisor answers with the same head."""
        key = (run, scenario, variable, query)
        kept = self._fronts.get(key)
        if kept is not None and kept[0] is head:
            return kept[1]
        front = encode_head({**head, "scenario": scenario})
        self._fronts[key] = (head, front)
        if len(self._fronts) > FRONTS:
            self._fronts.popitem(last=False)
        return front

    def told(self, run: str, scenario: Mapping[str, Any]) -> msgspec.Raw:
        """A scenario with its date, as JSON; kept while the supervisor gives the same."""
        facts, key = self.runs[run].facts, (run, scenario["branch"])
        kept = self._told.get(key)
        if kept is None or kept[0] is not scenario or kept[1] is not facts:
            date = date_of(scenario["step"], facts) if facts else None
            kept = self._told[key] = (scenario, facts, msgspec.Raw(msgspec.json.encode({**scenario, "date": date})))
            if len(self._told) > FRONTS:
                del self._told[next(iter(self._told))]
        return kept[2]

    def run(self, name: str) -> Supervisor:
        """A run; raises Refused, unknown-run."""
        found = self.runs.get(name)
        if found is None:
            raise unknown_run(name, sorted(self.runs))
        return found

    def known(self, name: str) -> Known:
        """What the engine said of a run; raises Refused, engine-recovering, while none has said anything."""
        facts = self.run(name).facts
        known = self._known.get(name)
        if known is None or known.facts is not facts:
            if facts is None:
                info = self.run(name).info()
                if info["state"] == "failed":
                    raise Refused("engine-failed", (info.get("problem") or {}).get("text", "The engine gave up."))
                raise Refused("engine-recovering", f'The engine of "{name}" is being started for the first time. Ask again in a second.')
            variables = by_name(map(variable_info, facts["variables"]))
            known = self._known[name] = Known(facts, variables, from_plain(facts["grid"]))
        return known

    def variable(self, run: str, name: str, level: str | None = None, every: bool = False) -> VariableInfo:
        """The declaration of a variable, or of a level of it: as its name says, or `level`. every: all levels of it are taken together.

        Raises
        ------
        Refused
            unknown-variable, with the nearest name; out-of-range: there is no such level; bad-query: one must be named.
        """
        variables = self.known(run).variables
        found: VariableInfo | None = variables.get(name)
        if found is None:
            raise Refused("unknown-variable", f'There is no variable "{name[:64]}" in "{run}".', value=name[:64], allowed=list(variables))
        if level is not None:
            try:
                return variables[variables.layer(name, level)]
            except RequestError as error:
                raise Refused("out-of-range", str(error), value=level, position="level") from None
        if (levels := variables.levels(name)) and not every:
            last = len(levels[1].values) - 1
            raise Refused("bad-query", which_level(name, *levels), value=name, allowed=[0, last], position="level")
        return found

    async def in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What `call` gives, in a thread of its own; raises Refused, too-costly, when that takes too long."""
        try:
            async with asyncio.timeout(self.limits.work_seconds):
                return await asyncio.to_thread(call, *arguments)
        except TimeoutError:
            raise Refused("too-costly", f"This takes more than {self.limits.work_seconds:g} s.") from None

    def scenario(self, run: str, name: str) -> Mapping[str, Any]:
        """Where a scenario stands; raises Refused, unknown-scenario."""
        found = self.run(run).scenario(name)
        if found is not None:
            return found
        names = [each["name"] for each in self.run(run).scenarios()]
        raise Refused("unknown-scenario", f'There is no scenario "{name[:80]}" in "{run}".', value=name[:80], allowed=names)


def unknown_run(name: str, there: Sequence[str]) -> Refused:
    """What is said to who names a run that is not there for them."""
    return Refused("unknown-run", f'There is no run "{name[:64]}".', value=name[:64], allowed=there)


def variable_info(facts: Mapping[str, Any]) -> VariableInfo:
    """A variable as the engine declared it."""
    found: VariableInfo = msgspec.convert({name: facts[name] for name in VariableInfo.__struct_fields__ if name in facts}, VariableInfo)
    return found
