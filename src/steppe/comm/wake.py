"""Puts ranks without work to sleep, and wakes them.

Waiting for a message of MPI takes a whole processor. So a rank without work sleeps in the operating system until a datagram comes, and
then enters the broadcast that has already begun:

    rank 0 --- datagram --> each rank of its host
           --- a byte over TCP --> the leader (lowest rank) of each other host --- datagram --> each rank of that host

Datagrams go to abstract Unix sockets, whose names die with their processes. All names and first messages hold a key of this job.
"""

import contextlib
import secrets
import socket
import sys
import time

import numpy as np

from steppe.comm.launch import is_bridged
from steppe.comm.node import nodes
from steppe.comm.world import World
from steppe.errors import Failure

KEY = 16  # bytes
PATIENCE = 10.0  # [s] for leaders to connect


class Wake:
    """The sockets of one rank; all ranks make one.

    works: the same on every rank; False if a rank has no such sockets (outside Linux) or cannot reach rank 0.
    """

    def __init__(self, world: World, host: str | None = None) -> None:
        self._rank = world.rank
        self._key = _from_rank_0(world, secrets.token_bytes(2 * KEY))
        hosts = nodes(world, host)
        mine = [rank for rank in range(world.size) if hosts[rank] == hosts[world.rank]]
        leaders = [hosts.index(one) for one in range(1, max(hosts) + 1)]
        self._mates = mine[1:] if world.rank == mine[0] else []
        self._inbox: socket.socket | None = None
        self._outbox: socket.socket | None = None
        self._leaders: list[socket.socket] = []  # on rank 0, their connections
        self._caller: socket.socket | None = None  # on a leader, the connection to rank 0
        self.works = world.agree(self._bind()) and world.agree(self._greet()) and world.agree(self._connect(world, leaders))

    def _bind(self) -> bool:
        if sys.platform != "linux":
            return False
        try:
            self._inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._inbox.bind(self._name(self._rank))
            self._outbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        except OSError:
            return False
        return True

    def _greet(self) -> bool:
        """True if the other ranks of this host receive datagrams; the test datagram wakes no rank."""
        try:
            for rank in self._mates:
                self._sender.sendto(b"", self._name(rank))
        except OSError:
            return False
        return True

    def _connect(self, world: World, leaders: list[int]) -> bool:
        if not leaders:
            return True
        if is_bridged():  # hosts of other sites cannot be reached: messages of MPI wake their ranks
            return False
        listener = None
        address = b""
        if self._rank == 0:
            with contextlib.suppress(OSError):
                listener = socket.create_server(("", 0), backlog=len(leaders))
                address = int(listener.getsockname()[1]).to_bytes(2) + socket.gethostname().encode()[:250]
        told = _from_rank_0(world, address.ljust(256, b"\0"))
        port, host = int.from_bytes(told[:2]), told[2:].rstrip(b"\0").decode()
        try:
            if self._rank in leaders:
                self._caller = socket.create_connection((host, port), PATIENCE)
                self._caller.settimeout(None)
                self._caller.sendall(self._key)
            elif listener is not None:
                with listener:
                    self._accept(listener, len(leaders))
        except OSError:
            return False
        return port != 0

    def _accept(self, listener: socket.socket, n: int) -> None:
        end = time.monotonic() + PATIENCE
        while len(self._leaders) < n:
            listener.settimeout(max(0.01, end - time.monotonic()))
            connection, _ = listener.accept()
            connection.settimeout(max(0.01, end - time.monotonic()))
            if connection.recv(2 * KEY, socket.MSG_WAITALL) != self._key:
                connection.close()  # a process outside this job
                continue
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._leaders.append(connection)

    def rouse(self) -> None:
        """Wakes every other rank once; rank 0 calls it.

        Raises
        ------
        Failure
            A rank is gone.
        """
        try:
            for connection in self._leaders:
                connection.sendall(b"!")
        except OSError as error:
            raise Failure(f"A host is gone: {error}.") from None
        self._rouse_mates()

    def sleep(self) -> None:
        """Returns when rank 0 has called `rouse` again.

        Raises
        ------
        Failure
            Rank 0 is gone.
        """
        if self._caller is not None:
            if self._caller.recv(1) != b"!":
                raise Failure("Rank 0 is gone.")
            self._rouse_mates()
            return
        assert self._inbox is not None
        while self._inbox.recv(2 * KEY) != self._word:
            pass

    def first(self) -> bool:
        """True for the first rank of a host that calls it, which then reports why the job ends; False for all later calls."""
        if sys.platform != "linux":
            return True
        self._spoken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._spoken.bind(self._name("spoken"))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Closes the sockets."""
        for one in (self._inbox, self._outbox, self._caller, *self._leaders):
            if one is not None:
                one.close()

    def _rouse_mates(self) -> None:
        for rank in self._mates:
            try:
                self._sender.sendto(self._word, self._name(rank))
            except OSError as error:
                raise Failure(f"Rank {rank} is gone: {error}.") from None

    @property
    def _sender(self) -> socket.socket:
        assert self._outbox is not None
        return self._outbox

    @property
    def _word(self) -> bytes:
        return self._key[KEY:]

    def _name(self, who: int | str) -> str:
        return f"\0steppe-{self._key[:KEY].hex()}-{who}"


def _from_rank_0(world: World, given: bytes) -> bytes:
    array = np.frombuffer(given, dtype=np.uint8).copy()
    world.broadcast(array)
    return array.tobytes()
