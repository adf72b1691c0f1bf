"""Messages as bytes: a 16-byte prefix, a MessagePack header, a raw body.

    4s "STE1" | u32 bytes of the header | u64 bytes of the body | header | body          (little-endian)

The header is an array whose first item is the tag of the message. Both lengths are checked before anything is allocated.
"""

from __future__ import annotations

import struct

import msgspec
from msgspec.structs import replace

from steppe.control.wire import Buffer, Follow, Get, Message, ToEngine, ToServer

PREFIX = struct.Struct("<4sIQ")
MAGIC = b"STE1"
HEADER_LIMIT, BODY_LIMIT = 64 << 10, 1 << 30

_encoder = msgspec.msgpack.Encoder()
_decode_to_engine = msgspec.msgpack.Decoder(ToEngine).decode
_decode_to_server = msgspec.msgpack.Decoder(ToServer).decode


class BadFrame(Exception):
    """The bytes are no frame of this protocol. Close the connection."""


def detach_cells(message: Get | Follow) -> tuple[Get | Follow, bytes]:
    """A message without its cells, and the cells: they travel as the body, since they may be too long for a header."""
    if isinstance(message, Follow):
        return replace(message, cells=b""), message.cells
    cells = message.query.chosen
    return (replace(message, query=replace(message.query, chosen=b"")) if cells else message), cells


def attach_cells(message: Get | Follow, body: Buffer) -> Get | Follow:
    """The reverse of `detach_cells`."""
    if isinstance(message, Follow):
        return replace(message, cells=bytes(body))
    return replace(message, query=replace(message.query, chosen=bytes(body))) if body else message


def frame(message: Message, body: Buffer = b"") -> list[Buffer]:
    """A message as buffers, to be sent in this order.

    Raises
    ------
    BadFrame
        The header is too long.
    """
    header = _encoder.encode(message)
    if len(header) > HEADER_LIMIT:
        raise BadFrame(f"The header of a {type(message).__name__} has {len(header):,} bytes; {HEADER_LIMIT:,} are allowed.")
    head = PREFIX.pack(MAGIC, len(header), memoryview(body).nbytes) + header
    return [head, body] if memoryview(body).nbytes else [head]


class FrameReader:
    """Assembles messages from bytes that arrive in pieces of any length, without a second copy.

    `space` is the buffer for the next bytes; `filled` takes their count and returns a message once it is complete.

    Parameters
    ----------
    at_engine
        True at the engine's end.
    body_limit
        Longest body [bytes]; 0 until the caller is authenticated.
    """

    def __init__(self, at_engine: bool, body_limit: int = BODY_LIMIT) -> None:
        self._decode = _decode_to_engine if at_engine else _decode_to_server
        self.body_limit = body_limit
        self._phase, self._buffer, self._count = 0, bytearray(PREFIX.size), 0
        self._body_bytes = 0
        self._message: Message | None = None

    def space(self) -> memoryview:
        """The buffer for the next bytes; never empty."""
        return memoryview(self._buffer)[self._count :]

    def filled(self, count: int) -> tuple[Message, bytearray] | None:
        """Counts the bytes that were written to `space`; returns a message and its body once both are complete.

        Raises
        ------
        BadFrame
            The bytes are no frame, or a message that the other end never sends.
        """
        self._count += count
        while self._count == len(self._buffer):
            if self._phase == 0:
                magic, header, body = PREFIX.unpack(self._buffer)
                if magic != MAGIC or not 0 < header <= HEADER_LIMIT or body > self.body_limit:
                    raise BadFrame(f"No frame of an engine: it begins with {bytes(magic)!r}, header {header:,}, body {body:,} bytes.")
                self._body_bytes = body
                self._next(1, header)
            elif self._phase == 1:
                try:
                    self._message = self._decode(self._buffer)
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    raise BadFrame(f"A header that is no message: {error}") from None
                self._next(2, self._body_bytes)
            if self._phase == 2 and self._message is not None and self._count == len(self._buffer):
                found = self._message, self._buffer
                self._next(0, PREFIX.size)
                return found
        return None

    def _next(self, phase: int, size: int) -> None:
        self._phase, self._buffer, self._count = phase, bytearray(size), 0
