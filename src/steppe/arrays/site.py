"""The common part of all arrays of a world on this rank: the hosts, the board where ranks post their arrivals, and the page server.

Every rank has a seat on the board of its host, in shared memory: its process and how many collective calls it has entered. So a rank that
waits can name those that it waits for, and ends the job when one of them has been stopped for long. A thread of each rank sleeps until the
next rank of its host ends, and ends the job unless that rank has left its seat before.
"""

import os
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import NoReturn
from weakref import WeakKeyDictionary, finalize, ref
from zlib import crc32

import numpy as np
from typing_extensions import Buffer

from steppe.array_types import Integers
from steppe.arrays.serving import PATIENCE, Handler, HostLink, PageRequest, PageServer
from steppe.comm import World, agree_on, is_bridged, nodes, process_state, shared
from steppe.errors import ArrayError
from steppe.timeline import span

LOOK = 1.0  # [s] between two looks at a rank that is late
FAR_LOOK = 2.0  # [s] the same, at the ranks of other hosts
BOARD = 0  # the number of no array: a request for the arrivals on the board of a host
NUMBERS = 16  # that ranks compare when they meet
_SITES: "WeakKeyDictionary[World, ArraySite]" = WeakKeyDictionary()


def site_of(world: World) -> "ArraySite":
    """The site of this rank; at the first call all ranks of the world call it.

    Raises
    ------
    ArrayError
        The world has ended, it is none, or this process is a copy of a rank.
    """
    if not hasattr(world, "at_close"):
        raise ArrayError(f"{world!r} is no world. Give what open_world() returned.")
    if world not in _SITES:
        site = _SITES[world] = ArraySite(world)
        finalize(world, site.close).atexit = False
    if _SITES[world].ended:
        raise ArrayError("The world has ended. Make arrays, queues and files before, within the same `with open_world()`.")
    if world.size > 1 and _SITES[world].process != os.getpid():
        raise ArrayError(f"This process is a copy of rank {world.rank}, made by a fork. Only the rank makes arrays, queues and files.")
    return _SITES[world]


class ArraySite:
    """A rank among the hosts of its world. Every rank makes one."""

    def __init__(self, world: World) -> None:
        self._world = ref(world)  # which the table of sites must not keep alive
        self.rank, self.size, self.process = world.rank, world.size, os.getpid()
        self.hosts = tuple(nodes(world))
        self.host, self.several = self.hosts[world.rank], max(self.hosts) > 0
        self.mates = [rank for rank in range(world.size) if self.hosts[rank] == self.host]
        self.row = self.mates.index(world.rank)  # of this rank among those of its host; the first of them leads
        self.arrays = 0  # made so far
        self.unwritten: dict[str, Callable[[], None]] = {}  # files that are open for writing, and what removes the new ones
        self.ended = False
        self._given_up: ArrayError | None = None  # of a call for which this rank has not waited long enough
        self.served: dict[int, Handler] = {}  # by number of the array
        board = shared(world, self.hosts, 16 * len(self.mates))
        self._board: Integers = board.view(np.int64).reshape(-1, 2)
        self._seat = self._board[self.row]
        self._seat[0] = self.process
        self._watch_next()
        self._calls = 0
        self._stopped: dict[int, float] = {}  # rank -> since when
        self._links: dict[int, HostLink] = {}
        self._linking = threading.Lock()  # of a thread that makes one
        self._addresses: list[tuple[str, int]] = []
        self._key = b""
        self.server: PageServer | None = None
        if self.several:
            self._open(world)
        world.at_close(self._end)

    def _watch_next(self) -> None:
        """Starts the thread that watches the next rank of this host."""
        seat = (self.row + 1) % len(self.mates)
        self.world.barrier()  # all seats are taken
        process = int(self._board[seat, 0])
        if process == os.getpid():  # alone, or ranks that are threads
            return
        try:
            file = os.pidfd_open(process)
        except OSError:
            return  # not in this kernel: the launcher sees it, and a rank that waits
        self.world.at_end(self._leave)
        threading.Thread(target=self._watch, args=(seat, file), name="watching", daemon=True).start()

    def _watch(self, seat: int, file: int) -> None:
        ends = select.poll()
        ends.register(file, select.POLLIN)
        ends.poll()
        if self._board[seat, 0]:
            self._lost_mates()

    def _lost_mates(self) -> NoReturn:
        """Ends the job and names all ranks of this host that have ended: the launcher may have begun to kill the others."""
        ended = [rank for rank, process in zip(self.mates, self._board[:, 0].tolist(), strict=True) if process and _has_ended(process)]
        self._lost(f"{_ranks(ended).capitalize()} {'has' if len(ended) == 1 else 'have'} ended; the others would wait.")

    def _end(self) -> None:
        """Ends the world for arrays; a rank that is in another collective call is named."""
        self.meet("the end of the world")
        self.ended = True
        for discard in self.unwritten.values():
            discard()
        for path in self.unwritten:
            raise ArrayError(f'"{path}" was not closed; what was written after its last flush is lost. Close it, or open it by `with`.')

    def _leave(self) -> None:
        self._seat[0] = 0

    def _open(self, world: World) -> None:
        """Starts the page server on each leader, and tells all ranks the addresses."""
        if is_bridged():
            raise ArrayError(
                "Global arrays of several hosts need connections between all of them, which sites of the bridge lack. Use one site."
            )
        key = np.frombuffer(secrets.token_bytes(32), np.uint8).copy()
        world.broadcast(key)
        self._key = key.tobytes()
        address = b""
        if self.row == 0:
            self.server = PageServer(self._key, self._answer)
            address = f"{socket.gethostname()} {self.server.port}".encode()
        told = world.exchange([np.frombuffer(address, np.uint8)] * world.size)
        leaders = [part.tobytes().decode().rpartition(" ") for part in told if part.size]  # in order of their hosts
        self._addresses = [(name, int(port)) for name, _, port in leaders]

    @property
    def world(self) -> World:
        """The world of the ranks."""
        world = self._world()
        assert world is not None
        return world

    def close(self) -> None:
        """Ends the page server and the connections."""
        for link in self._links.values():
            link.close()
        if self.server:
            self.server.close()

    def _answer(self, request: PageRequest) -> Buffer:
        return self.served[request.array](request) if request.array else self._board[:, 1].tobytes()

    def link(self, host: int) -> HostLink:
        """The connection to the server of another host, made when it is first needed."""
        with self._linking:
            if host not in self._links:
                leader = self.hosts.index(host)
                self._links[host] = HostLink(self._addresses[host], self._key, f"The host of rank {leader}", self._lost)
            return self._links[host]

    def settle(self) -> None:
        """Returns when no request of this rank is under way."""
        for link in list(self._links.values()):
            link.settle()

    def meet(self, what: str, numbers: Sequence[int] = (), patience: float | None = None) -> list[int]:
        """The greatest of the numbers of all ranks, one by one, when all have called it with the same `what`. Collective.

        numbers: at most `NUMBERS`. patience: seconds that a rank waits for the others.

        Raises
        ------
        ArrayError
            A rank is in another call, or does not come in time.
        """
        if self._given_up:  # the others are still to answer that call
            raise self._given_up
        self._calls += 1
        self._seat[1] = self._calls
        word = crc32(what.encode())
        begin = time.monotonic()
        looked = [begin, begin]

        def watch() -> None:
            now = time.monotonic()
            if now - looked[0] > LOOK:
                looked[0] = now
                self._look_at_mates(now)
            if now - looked[1] > FAR_LOOK and self.several and self.row == 0:
                looked[1] = now
                self._arrivals()  # a host whose server does not answer ends the job
            if patience is not None and now - begin > patience:
                late = [rank for rank, calls in self._arrivals() if calls < self._calls]
                self._given_up = ArrayError(
                    f"Rank {self.rank} has waited {patience:g} s in {what} for {_ranks(late)}. All ranks must call it; "
                    "give a longer `patience` if they only need more time."
                )
                raise self._given_up

        given = np.zeros(2 + NUMBERS, np.int64)  # of one length in all calls, so that ranks in two of them find out
        given[:2], given[2 : 2 + len(numbers)] = (word, -word), numbers
        with span("wait"):
            most: list[int] = self.world.reduce(given, "max", watch=watch).tolist()
        if most[0] != -most[1]:
            self._disagree(what)
        return most[2 : 2 + len(numbers)]

    def _disagree(self, what: str) -> None:
        """Raises `ArrayError` on all ranks: two of them are in different calls."""
        parts, error = self.world.gather(np.frombuffer(what.encode(), np.uint8)), None
        if parts is not None:
            calls = [part.tobytes().decode() for part in parts]
            other = next((rank for rank, call in enumerate(calls) if call != calls[0]), 0)
            error = ArrayError(
                f"The ranks disagree: rank 0 is in {calls[0]}, rank {other} in {calls[other]}. "
                "Every rank must make the same collective calls in the same order."
            )
        agree_on(self.world, error)

    def _look_at_mates(self, now: float) -> None:
        """Ends the job if the first late rank of this host has ended, or has been stopped for long."""
        late = next((seat for seat in range(len(self.mates)) if self._board[seat, 1] < self._calls), None)
        if late is None or self._board[late, 0] == os.getpid():
            return
        rank, process = self.mates[late], int(self._board[late, 0])
        if _has_ended(process):
            self._lost_mates()
        if process_state(process) not in ("T", "t"):
            self._stopped.pop(rank, None)
        elif now - self._stopped.setdefault(rank, now) > PATIENCE:
            self._lost(f"Rank {rank} has been stopped for {PATIENCE:g} s; the others wait for it.")

    def _arrivals(self) -> list[tuple[int, int]]:
        """Each rank and how many collective calls it has entered."""
        found = list(zip(self.mates, self._board[:, 1].tolist(), strict=True))
        for host in range(max(self.hosts) + 1):
            if host != self.host:
                answer = self.link(host).ask(BOARD, 0)
                ranks = [rank for rank, of in enumerate(self.hosts) if of == host]
                found += zip(ranks, np.frombuffer(answer.wait(), np.int64).tolist(), strict=True)
        return sorted(found)

    def _lost(self, sentence: str) -> NoReturn:
        self.world.abort(sentence)


def _has_ended(process: int) -> bool:
    return process_state(process) in ("", "Z", "X")


def _ranks(numbers: Sequence[int]) -> str:
    return f"rank{'s' if len(numbers) != 1 else ''} {', '.join(map(str, numbers))}"
