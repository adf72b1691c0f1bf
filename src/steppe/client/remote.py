"""The state that all views of one run share: line, address, description, and the versions that were last seen."""

import asyncio
import hashlib
import threading
import uuid
import warnings
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary

import msgspec
import numpy as np
from numpy.typing import NDArray

from steppe.api import Info, Ordered, ScenarioInfo, ScenarioList, VariableInfo, VariableList, by_name
from steppe.api.documents import JournalRow, RuleEffect
from steppe.client.http_client import BASE, HttpClient
from steppe.client.operation import HELD, AsyncOperation
from steppe.client.refusals import RefusedError, UnknownError
from steppe.client.run_places import Places
from steppe.errors import SteppeError, nearest
from steppe.levels import Layered


class Scenarios(dict[str, ScenarioInfo]):
    """Scenarios by name. A name that is unknown raises `UnknownError`, which names the nearest one.

    run: name of the run.
    """

    def __init__(self, run: str, scenarios: Iterable[ScenarioInfo]) -> None:
        super().__init__((each.name, each) for each in scenarios)
        self._run = run

    def __missing__(self, name: str) -> ScenarioInfo:
        facts = {"code": "unknown-scenario", "status": 404, "value": name, "allowed": list(self)}
        raise UnknownError(f'There is no scenario "{name}" in "{self._run}".{nearest(name, self)}', facts)


class _OneThread:
    """A lock of threads in the place of an `asyncio.Lock`: no event loop is waited for."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a handler of a signal may give an order in the middle of another one

    async def __aenter__(self) -> None:
        self._lock.acquire()

    async def __aexit__(self, *error: object) -> None:
        self._lock.release()


class Remote:
    """One run on a server."""

    def __init__(self, line: HttpClient, name: str, seen: Info, asynchronous: bool) -> None:
        self.line, self.name, self.path = line, name, f"/runs/{name}"
        self.places = Places(line, self.path)
        self.seen = seen
        self._versions = {each.name: each.version for each in seen.scenarios}
        self._variables: Layered[VariableInfo] | None = None
        self._left = WeakValueDictionary[int, AsyncOperation]()  # orders that were given without waiting, by number
        self._over = 0  # of them, found to be over
        self.events = set[int]()  # those of a date that were added here, and did nothing yet
        self._turn: AbstractAsyncContextManager[Any] = asyncio.Lock() if asynchronous else _OneThread()

    @property
    def address(self) -> str:
        """The run's own address."""
        return f"{self.line.url}{BASE}{quote(self.path)}"

    async def info(self, look: bool = True, patience: float | None = None) -> Info:
        """The run now. look: orders of other clients count as seen, so that the client's own orders come after them."""
        self.seen = msgspec.json.decode((await self.line.ask("GET", self.path, patience=patience)).content, type=Info)
        if look:
            self._versions |= {each.name: each.version for each in self.seen.scenarios}
        else:
            for each in self.seen.scenarios:
                self._versions.setdefault(each.name, each.version)  # in place: another thread may learn one at the same time
        return self.seen

    async def made(self, scenario: str) -> None:
        """Learns the version of a scenario that this client has made. Its name may have been that of another one."""
        self._versions.pop(scenario, None)
        await self.info(look=False)

    async def scenarios(self) -> Scenarios:
        """All scenarios by name; `info` has only the newest of those that rewinds left."""
        reply = await self.line.ask("GET", f"{self.path}/scenarios")
        return Scenarios(self.name, msgspec.json.decode(reply.content, type=ScenarioList).scenarios)

    async def variables(self) -> Layered[VariableInfo]:
        """All variables by name; they never change. A level of one has a name, too, which is not listed: "ozone[3]"."""
        if self._variables is None:
            found = msgspec.json.decode((await self.line.ask("GET", f"{self.path}/variables")).content, type=VariableList)
            self._variables = by_name(found.variables)
        return self._variables

    async def variable(self, name: str) -> VariableInfo:
        """One of them.

        Raises
        ------
        UnknownError
            There is none of this name.
        """
        known = await self.variables()
        if name not in known:
            facts = {"code": "unknown-variable", "status": 404, "value": name, "allowed": list(known)}
            raise UnknownError(known.missing(name), facts)
        return known[name]

    async def one_level(self, name: str, level: int | str | None) -> str:
        """The name of one level of a variable, "ozone[3]"; of all where none is asked for."""
        if level is None:
            return name
        await self.variable(name)  # which names the nearest one
        return (await self.variables()).layer(name, level)

    async def until_now(self, scenario: str) -> str:
        """The key `time` for all steps of a scenario."""
        known = {each.name: each for each in (await self.info(look=False)).scenarios}
        done = (known if scenario in known else await self.scenarios())[scenario].step
        return f"step:1/{done}" if done else "latest"

    async def order(
        self,
        method: str,
        path: str,
        what: Mapping[str, object] | None,
        scenario: str,
        wait: bool = False,
        query: dict[str, str] | None = None,
    ) -> AsyncOperation:
        """An order on the version that was last seen of its scenario; it happens once, however often it must be sent.

        wait: the reply may be held back until it is carried out.
        """
        async with self._turn:
            headers = {"idempotency-key": uuid.uuid4().hex, "prefer": f"wait={HELD if wait else 0}"}
            if scenario not in self._versions:
                await self.info(look=False)
            if version := self._versions.get(scenario):
                headers["if-match"] = f'"{version}"'
            content = None if what is None else msgspec.json.encode(what)
            try:
                reply = await self.line.ask(method, self.path + path, query, content, headers=headers)
            except RefusedError:
                raise
            except BaseException:  # broken off: it may have been accepted, so that the next order asks for the version
                self._versions.pop(scenario, None)
                raise
            ordered = msgspec.json.decode(reply.content, type=Ordered)
            self._versions[scenario] = ordered.version
            operation = AsyncOperation(self, ordered, scenario)
            if not wait:
                self._left[operation.id] = operation
            return operation

    async def orders_over(self) -> int:
        """The number of orders that were given without waiting and found to be over here; asks for those that are not."""
        left = [reference() for reference in self._left.valuerefs()]  # a list at once, whatever other threads order
        waiting = [each for each in left if each is not None and not each.is_over]
        with suppress(SteppeError):  # the next call asks again
            for each in waiting:
                self._over += (await each.refresh()).is_over
        return self._over

    async def warn_of_events(self) -> None:
        """Warns of the events that were added here and could not happen."""
        for number in sorted(self.events):
            reply = await self.line.ask("GET", f"{self.path}/operations/{number}")
            effects: list[RuleEffect] = (msgspec.json.decode(reply.content).get("result") or {}).get("effects", [])
            if effects:
                self.events.discard(number)
            for each in effects:
                if each["kind"] == "warning":
                    warnings.warn(each["text"], stacklevel=2)

    async def log(self, after: int) -> list[JournalRow]:
        """The rows of the journal behind a number, of as many pages as there are."""
        rows: list[JournalRow] = []
        more = True
        while more:
            reply = await self.line.ask("GET", f"{self.path}/log", {"after": after})
            rows += (msgspec.json.decode(line) for line in reply.content.splitlines())
            more = 'rel="next"' in reply.headers.get("link", "")
            after = rows[-1]["seq"] if rows else after
        return rows

    async def learn_of_triggers(self, scenario: str, since: int) -> None:
        """Counts orders as seen if triggers alone gave them: the caller that waited knows that its step was cut short."""
        now = next((each for each in (await self.info(look=False)).scenarios if each.name == scenario), None)
        rows = await self.log(since)
        if now and rows and all(row["who"].startswith("trigger:") for row in rows):
            self._versions[scenario] = now.version

    async def upload(self, values: NDArray[np.generic]) -> str:
        """Sends an array; gives the SHA-256 by which an order names it."""
        content = values.tobytes()
        name = hashlib.sha256(content).hexdigest()
        await self.line.ask("PUT", f"{self.path}/uploads/{name}", None, content, "application/octet-stream")
        return name
