"""The ranks of a run, commanded by rank 0. With one rank an order is a call of a function, with many a broadcast precedes it.

    rank 0   order ──call──> all ranks: the work of each ── any failure? any request to stop? ──> the common work
             ^                                                                                        │
             └─────────────────────────── result, or the error of the first rank that failed ─────────┘

Idle ranks sleep. An order is one message, a long one two; its consensus costs one reduction of four numbers.
"""

import ctypes
import json
import tomllib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.comm import RankLocation, Serial, Sites, World, agree_on
from steppe.engine.plan import Plan
from steppe.engine.rank_state import RankState, Together, nothing
from steppe.engine.run_file import RunFile
from steppe.engine.sites import ALL_ALIKE, OwnFiles, check_identity, looked_for, meet
from steppe.errors import Failure, SteppeError
from steppe.timeline import span

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
HEAD = 512  # [bytes] of the first message of an order: its length, and most orders as a whole


class Consensus(NamedTuple):
    """The result of the reduction after an order. kept: number of checkpoints that are durable on all ranks."""

    stop: bool
    bad: bool
    kept: int


@dataclass(frozen=True)
class _Order:
    state_id: int
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def never() -> bool:
    """Default stop predicate: never."""
    return False


class Ranks:
    """All ranks, commanded by rank 0, which has this object. They may compute several branches, with a state for each.

    Parameters
    ----------
    world
        All ranks; default: this process alone.
    stop
        True if rank 0 was asked to stop; the other ranks give theirs to `serve_orders`.
    where
        Updated with the position of rank 0.
    sites
        The sites of the world, which may lack the run folder; default: all ranks see it.
    """

    def __init__(
        self,
        world: World | None = None,
        stop: Callable[[], bool] = never,
        where: RankLocation | None = None,
        sites: Sites | None = None,
    ) -> None:
        self.world = world or Serial()
        self._where = where or RankLocation()
        self.consensus = Consensus(False, False, 0)
        self._stop, self._sites = stop, sites
        self._states: dict[int, RankState] = {}
        self._begun = 0
        self._lost = False  # an order was interrupted: the ranks do not wait for another one

    def begin(self, plan: Plan, like: int | None = None, in_pieces: bool = True, folder: Path | None = None) -> int:
        """Makes a state of a run on every rank; returns the number of the state.

        like: the number of another state of the same run, whose weather is shared, and which must stay. in_pieces: the weather is asked for
        in short pieces, so its slabs stay decoded. folder: of the run, if it is not that of the run file.

        Raises what `RankState` raises, and what `meet` raises.
        """
        number, self._begun = self._begun, self._begun + 1
        if like is not None:
            _send(self.world, _Order(number, "begin", {"like": like, "in_pieces": in_pieces}))
            state = self._states[like]
            self._do(None, lambda: self._add(number, RankState(plan, self.world, self._where, state, in_pieces)))
            return number
        arguments = {"run": plan.run.as_toml()} if self.world.size > 1 else {}
        with looked_for(folder or plan.run.output.path) if self._sites else nullcontext() as look:
            _send(self.world, _Order(number, "begin", {**arguments, "look": str(look), "identity": plan.identity} if look else arguments))
            self._do(None, lambda: self._add(number, self._first_state(plan, look)))
        try:
            self.order(number, "spread")
        except SteppeError:
            self.order(number, "close")
            raise
        return number

    def state(self, number: int) -> RankState:
        """The state with a number on rank 0."""
        return self._states[number]

    def order(self, number: int, what: str, /, **arguments: Any) -> Any:
        """Calls a method of `RankState` on every rank; returns the result of rank 0 and sets `consensus`.

        An argument `beside` is a list of numbers of other states; the method gets these states.

        Raises
        ------
        SteppeError
            The error of the first rank that failed.
        Failure
            A step of this state failed half way.
        """
        state = self._states[number]
        if state.torn and what != "close":
            raise Failure(
                "A step failed, so this state cannot be used. Open the run again, or go back with `rewind`; it goes on from a checkpoint."
            )
        if self._lost:
            return None
        _send(self.world, _Order(number, what, arguments))
        try:
            return self._do(state, partial(getattr(state, what), **_with_states(arguments, self._states)))
        except BaseException as error:
            if what == "step":
                beside = [self._states[other] for other in arguments.get("beside", ())]
                undone = isinstance(error, SteppeError) and self.world.size == 1 and not beside
                for each in (state, *beside):
                    each.torn = not (undone and state.goes_back(arguments["start"], arguments["stop"]))
            raise
        finally:
            if what == "close":
                _forget(self._states, number)

    def dismiss(self, code: int = 0) -> None:
        """Ends `serve_orders` on the other ranks, which returns `code`."""
        _send(self.world, _Order(-1, "dismiss", {"code": code}))

    def _first_state(self, plan: Plan, look: Path | None) -> RankState:
        place = meet(self.world, self._sites, plan.run, look)[1] if self._sites and look else ALL_ALIKE
        return RankState(plan, self.world, self._where, sites=place)

    def _add(self, number: int, state: RankState) -> Together:
        self._states[number] = state
        return nothing

    def _do(self, state: RankState | None, alone: Callable[[], Together]) -> Any:
        try:
            self.consensus, result = _settled(self.world, state, alone, self._stop)
        except BaseException as error:
            self._lost |= self.world.size > 1 and not isinstance(error, SteppeError)
            raise
        return result


def serve_orders(
    world: World,
    stop: Callable[[], bool] = never,
    where: RankLocation | None = None,
    cores: int | None = None,
    sites: Sites | None = None,
    own: OwnFiles | None = None,
) -> int:
    """Performs the orders of rank 0 on another rank until rank 0 dismisses it; returns the code of `Ranks.dismiss`.

    cores: the number that this rank should use. own: its own files, where there are sites. The other parameters are those of `Ranks`.
    """
    where = where or RankLocation()
    states: dict[int, RankState] = {}
    while True:
        order = _received(world)
        if order.name == "dismiss":
            return int(order.arguments["code"])
        state = states.get(order.state_id)
        alone = (
            partial(getattr(state, order.name), **_with_states(order.arguments, states))
            if state
            else partial(_begin, states, order, world, where, cores, sites, own)
        )
        try:
            _settled(world, state, alone, stop)
        except SteppeError as error:  # which rank 0 raises
            if own and order.name in ("begin", "spread"):  # before the first step
                own.tell(str(error))
        if order.name == "close":
            _forget(states, order.state_id)


Crew, obey = Ranks, serve_orders  # the former names, which scripts have


def _forget(states: dict[int, RankState], number: int) -> None:
    """Removes a state and returns its memory to the system: glibc keeps free blocks between used ones. Takes half a millisecond."""
    del states[number]
    if _trim:
        _trim(0)


def _with_states(arguments: Mapping[str, Any], states: Mapping[int, RankState]) -> Mapping[str, Any]:
    """The arguments of an order, with states in place of their numbers."""
    if "beside" not in arguments:
        return arguments
    return {**arguments, "beside": [states[number] for number in arguments["beside"]]}


def _begin(
    states: dict[int, RankState],
    order: _Order,
    world: World,
    where: RankLocation,
    cores: int | None,
    sites: Sites | None,
    own: OwnFiles | None,
) -> Together:
    if "like" in order.arguments:
        like = states[order.arguments["like"]]
        states[order.state_id] = RankState(like.plan.again(), world, where, like, order.arguments["in_pieces"])
        return nothing
    run = RunFile.model_validate(tomllib.loads(order.arguments["run"]))
    place = ALL_ALIKE
    if sites and "look" in order.arguments:
        run, place = meet(world, sites, run, Path(order.arguments["look"]), own)
    plan = Plan.of(run, cores=cores)
    if sites and place.writing and world.rank not in place.writing:
        check_identity(plan, order.arguments["identity"], sites.names[sites.of[world.rank]])
    states[order.state_id] = RankState(plan, world, where, sites=place)
    return nothing


def _settled(world: World, state: RankState | None, alone: Callable[[], Together], stop: Callable[[], bool]) -> tuple[Consensus, Any]:
    """Does both halves of an order."""
    failure, together = None, nothing
    try:
        together = alone()
    except SteppeError as error:
        failure = error
    found = [failure is not None, stop(), state is not None and state.bad, -state.kept if state else 0]
    with span("wait"):
        failed, stopped, bad, kept = world.reduce(np.array(found, np.int64), "max", asleep=True).tolist()
    if failed:
        if state and not failure:
            state.undo()
        agree_on(world, failure)
    consensus = Consensus(bool(stopped), bool(bad), -kept)
    try:
        return consensus, together()
    except SteppeError as error:
        if world.size > 1:
            world.abort(str(error), error.exit_code)  # the others wait for a message of this rank
        raise


def _send(world: World, order: _Order) -> None:
    if world.size == 1:
        return
    body = _encoded(order)
    head, begin = np.zeros(HEAD, np.uint8), body[: HEAD - 8]
    head[:8], head[8 : 8 + len(begin)] = np.array([len(body)], "<i8").view(np.uint8), begin
    world.call(head)
    if len(body) > len(begin):
        world.broadcast(body[len(begin) :])


def _received(world: World) -> _Order:
    head = np.empty(HEAD, np.uint8)
    world.call(head)
    length = int(head[:8].view("<i8")[0])
    body = np.empty(max(length, HEAD - 8), np.uint8)
    body[: HEAD - 8] = head[8:]
    if length > HEAD - 8:
        world.broadcast(body[HEAD - 8 :])
    return _decoded(body[:length])


def _encoded(order: _Order) -> Array:
    """An order as bytes: a line of JSON, followed by its arrays. Each rank reads a query once."""
    arrays: list[memoryview] = []

    def plain(value: object) -> object:
        if isinstance(value, MapQuery):
            return {"MapQuery": msgspec.to_builtins(value)}
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{type(value).__name__} cannot be sent to ranks")
        arrays.append(np.ascontiguousarray(value).data)
        return {"array": value.dtype.str, "shape": value.shape, "bytes": value.nbytes}

    text = json.dumps([order.state_id, order.name, order.arguments], default=plain).encode()
    return np.frombuffer(bytearray().join((text, b"\n", *arrays)), np.uint8)


def _decoded(body: Array) -> _Order:
    content = BytesIO(body.tobytes())

    def whole(value: dict[str, Any]) -> Any:
        if "MapQuery" in value:
            return msgspec.convert(value["MapQuery"], MapQuery)
        if "array" not in value:
            return value
        data = bytearray(content.read(value["bytes"]))  # arrays are met in their order
        return np.frombuffer(data, value["array"]).reshape(value["shape"])

    return _Order(*json.loads(content.readline(), object_hook=whole))
