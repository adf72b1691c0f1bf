"""Requests between hosts: one thread a host answers them with the same loops that its ranks use.

    client                                             server, on the leader (lowest rank) of the other host
    key of the job                               -->   closes the connection of any other program
    head | where | values                        -->   gather, scatter, update or fetch_update in the memory of the host
                                                 <--   length | values

The server sleeps in the operating system until a request comes, and waits for no client: a stopped client delays no other one. An answer
is sent after its request has taken effect.
"""

import contextlib
import resource
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import Buffer

from steppe.array_types import Array, Integers
from steppe.errors import Failure

SMALL = 4096  # [bytes] of a part that is sent together with its head
PATIENCE = 30.0  # [s] without an answer, after which the other host counts as stopped


HEAD = struct.Struct("<5q")  # number of the array, operation, bytes of an entry of `where`, of `where` and of the values, which follow
ENTRIES: dict[int, Any] = {4: "u4", 8: "i8", 16: ("i8", 2)}  # of `where`: indices, or runs (first, count)
ANSWER = struct.Struct("<q")  # bytes that follow
NOTHING: Integers = np.empty(0, np.int64)


class PageRequest(NamedTuple):
    """What a rank asks of another host. where: indices (n,) or runs (n, 2); values: bytes, empty for reading."""

    array: int
    operation: int
    where: Array
    values: memoryview


Handler = Callable[[PageRequest], Buffer]


class PageServer:
    """The thread of a host. handle: makes the answer to a request.

    An exception of `handle` ends the thread by `threading.excepthook`, which ends all ranks.
    """

    def __init__(self, key: bytes, handle: Handler) -> None:
        self._key, self._handle = key, handle
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # every rank of the other hosts may connect
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("", 0), backlog=128)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._alarm, self._bell = socket.socketpair()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._alarm, selectors.EVENT_READ)
        self.seconds = 0.0  # CPU time of the thread
        self._thread = threading.Thread(target=self._serve, name="arrays", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread."""
        self._bell.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            for found, _ in self._selector.select():
                if found.fileobj is self._alarm:
                    return self._end()
                if found.fileobj is self._listener:
                    with contextlib.suppress(BlockingIOError, ConnectionError):  # a program that looked which ports are open
                        connection, _ = self._listener.accept()
                        client = _Client(connection, self._key, self._handle)
                        self._selector.register(connection, selectors.EVENT_READ, client)
                else:
                    self._turn(found.data)
            self.seconds = time.thread_time()

    def _turn(self, client: "_Client") -> None:
        try:
            events = client.turn()
        except OSError:
            self._selector.unregister(client.socket)
            client.socket.close()
            return
        if self._selector.get_key(client.socket).events != events:
            self._selector.modify(client.socket, events, client)

    def _end(self) -> None:
        for found in list(self._selector.get_map().values()):
            if isinstance(found.fileobj, socket.socket):
                found.fileobj.close()
        self._selector.close()


class _Client:
    """A connection as the server has it: what it reads, and what is still to be sent."""

    def __init__(self, connection: socket.socket, key: bytes, handle: Handler) -> None:
        self.socket = connection
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers: deque[memoryview] = deque()
        self._talk = self._answering(key, handle)
        self._expect(next(self._talk))

    def _expect(self, length: int) -> None:
        self._read, self._had = np.empty(length, np.uint8).data, 0

    def turn(self) -> int:
        """Reads and writes what is possible without waiting; returns the events to wait for.

        Raises
        ------
        OSError
            The connection is to be closed: its client is gone, or is of another job.
        """
        before = len(self._answers)
        with contextlib.suppress(BlockingIOError):
            while len(self._answers) == before:  # after an answer other clients have their turn
                got = self.socket.recv_into(self._read[self._had :])
                if got == 0:
                    raise ConnectionResetError
                self._had += got
                if self._had == len(self._read):
                    self._expect(self._talk.send(self._read))
        with contextlib.suppress(BlockingIOError):
            while self._answers:
                sent = self.socket.send(self._answers[0])
                self._answers[0] = self._answers[0][sent:]
                if not self._answers[0]:
                    self._answers.popleft()
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._answers else 0)

    def _answering(self, key: bytes, handle: Handler) -> Generator[int, memoryview, None]:
        """Yields how many bytes it needs next, is sent them, and makes the answers."""
        if (yield len(key)) != key:
            raise ConnectionRefusedError
        while True:
            array, operation, width, size, more = HEAD.unpack((yield HEAD.size))
            content = (yield size + more) if size + more else memoryview(b"")
            where = np.frombuffer(content[:size], ENTRIES[width])
            answer = memoryview(handle(PageRequest(array, operation, where, content[size:]))).cast("B")
            head = ANSWER.pack(answer.nbytes)
            small = answer.nbytes <= SMALL  # sent in one packet, for which the client wakes once
            self._answers += [memoryview(head + answer)] if small else [memoryview(head), answer]


class HostLink:
    """The connection of this rank to the server of another host; answers come in the order of the requests. For any thread.

    lost: called with a sentence when the other host is gone or stopped; does not return.
    """

    def __init__(self, address: tuple[str, int], key: bytes, host: str, lost: Callable[[str], None]) -> None:
        self._host, self._lost = host, lost
        self._pending: deque[Answer] = deque()
        self._lock = threading.Lock()  # of a thread that sends or reads
        try:
            self._socket = socket.create_connection(address, PATIENCE)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(key)
        except OSError as error:
            self._fail(error)

    def ask(self, array: int, operation: int, where: Array = NOTHING, *values: Array) -> "Answer":
        """Sends a request; the arrays are contiguous.

        Raises
        ------
        Failure
            The other host is gone, or reads nothing for `PATIENCE` seconds.
        """
        parts = [each.reshape(-1).view(np.uint8).data for each in (where, *values)]
        width = where.itemsize * where.ndim  # a run is a pair
        head, answer = HEAD.pack(array, operation, width, len(parts[0]), sum(map(len, parts[1:]))), Answer(self)
        with self._lock:
            try:
                small = all(part.nbytes <= SMALL for part in parts)
                pieces: list[Buffer] = [b"".join([head, *parts])] if small else [head, *parts]
                for piece in pieces:
                    self._socket.sendall(piece)
            except OSError as error:
                self._fail(error)
            self._pending.append(answer)
        return answer

    def read_until(self, wanted: "Answer") -> None:
        """Reads answers up to `wanted`."""
        with self._lock:
            try:
                while wanted.content is None:
                    first = self._pending.popleft()
                    (length,) = ANSWER.unpack(self._exactly(bytearray(ANSWER.size)))
                    first.content = self._exactly(np.empty(length, np.uint8).data)
            except OSError as error:
                self._fail(error)

    def settle(self) -> None:
        """Reads all answers under way."""
        for answer in list(self._pending):
            answer.wait()

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    def _exactly(self, into: Buffer) -> memoryview:
        view, had = memoryview(into), 0
        while had < len(view):
            got = self._socket.recv_into(view[had:])
            if got == 0:
                raise ConnectionResetError("the connection was closed")
            had += got
        return view

    def _fail(self, error: OSError) -> None:
        stopped = isinstance(error, TimeoutError)
        self._lost(f"{self._host} {f'has not answered for {PATIENCE:g} s' if stopped else f'is gone ({error})'}.")
        raise Failure(f"{self._host} is lost.") from None


class Answer:
    """An answer under way."""

    content: memoryview | None = None

    def __init__(self, link: HostLink) -> None:
        self._link = link

    def wait(self) -> memoryview:
        """The bytes of the answer."""
        if self.content is None:
            self._link.read_until(self)
        assert self.content is not None
        return self.content
