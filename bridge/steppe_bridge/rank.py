"""A rank without MPI: speaks native/wire.h to the gateway of its site."""

import socket
import struct
from pathlib import Path
from typing import NamedTuple

HEADER = struct.Struct("<IHHiiQiIQQ")
MAGIC, PROTOCOL, PAYLOAD = 0x31425453, 1, 65536
HELLO, WORLD, MESSAGE, FRAGMENT, ACKNOWLEDGE, CREDIT, ABORT, BYE, SITE, READY, PING, PONG, PARCEL, TAKEN = range(1, 15)
MACHINE = bytes([1, 8, 16, 4, 8, 1, 0, 0])


class Frame(NamedTuple):
    """A frame; the names are those of wire.h."""

    type: int
    source: int = 0
    dest: int = 0
    payload: bytes = b""
    tag: int = 0
    context: int = 0
    total: int = 0
    id: int = 0

    def packed(self) -> bytes:
        """Its bytes on the wire."""
        head = (MAGIC, self.type, 0, self.source, self.dest, self.context, self.tag, len(self.payload), self.total, self.id)
        return HEADER.pack(*head) + self.payload


class Rank:
    """One rank of a site: says HELLO and reads frames.

    Raises
    ------
    TimeoutError
        By each function that waits: nothing came for `timeout` seconds.
    """

    def __init__(self, path: Path, local: int, ranks: int, machine: bytes = MACHINE, protocol: int = PROTOCOL, timeout: float = 20) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))
        self._buffer = bytearray()
        self.rank, self.world, self.window = -1, 0, 0
        self.sites: list[int] = []
        self.send(Frame(HELLO, local, ranks, machine, tag=protocol))

    def send(self, *frames: Frame) -> None:
        """Writes frames whole."""
        self.socket.sendall(b"".join(frame.packed() for frame in frames))

    def _take(self, n: int) -> bytes:
        while len(self._buffer) < n:
            if not (got := self.socket.recv(1 << 20)):
                raise ConnectionError("The gateway has closed the connection.")
            self._buffer += got
        taken = bytes(self._buffer[:n])
        del self._buffer[:n]
        return taken

    def receive(self) -> Frame:
        """The next frame.

        Raises
        ------
        ConnectionError
            There is none any more.
        ValueError
            What came is no frame.
        """
        head = self._take(HEADER.size)
        magic, kind, _flags, source, dest, context, tag, length, total, number = HEADER.unpack(head)
        if magic != MAGIC:
            raise ValueError(f"The gateway sent bytes that are no frame: {head.hex()}.")
        return Frame(kind, source, dest, self._take(length), tag, context, total, number)

    def enter(self) -> "Rank":
        """Waits for the world; raises ConnectionError if the gateway says something else."""
        frame = self.receive()
        if frame.type != WORLD:
            raise ConnectionError(f"There is no world, but {frame}.")
        self.rank, self.world, self.window = frame.dest, frame.total, frame.id
        self.sites = list(struct.unpack_from(f"<{self.world}i", frame.payload))
        return self

    def leave(self) -> None:
        """Says BYE and closes."""
        self.send(Frame(BYE, self.rank))
        self.socket.close()
