"""The orders that were refused because the disk was full, in a file that was allocated while the disk had room."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from steppe.files import private

SIZE = 16  # bytes of the digest of an order
MOST = 4096  # orders in the file; a newer one replaces the oldest


class Refusals:
    """The refused orders of one journal. Adding one needs no room on the disk, and they survive the death of the process.

    Parameters
    ----------
    path
        Of the file, which `reserve` makes; None, or a disk without room for it: only in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._kept = path, dict[bytes, None]()  # oldest first
        self._file: int | None = None
        self._count = 0  # of all orders so far
        if path and path.exists():
            self.reserve()

    def reserve(self) -> None:
        """Opens the file at its full length, once."""
        if self._path and self._file is None:
            path, self._path = self._path, None
            with suppress(OSError):
                self._file = private(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
                os.posix_fallocate(self._file, 0, SIZE * (MOST + 1))
                self._read(self._file)

    def _read(self, file: int) -> None:
        """Reads the file: the count of all orders so far, then a ring of the newest."""
        content = os.pread(file, SIZE * (MOST + 1), 0)
        self._count = int.from_bytes(content[:SIZE], "little")
        ring = [content[SIZE * (1 + number % MOST) :][:SIZE] for number in range(max(0, self._count - MOST), self._count)]
        self._kept = dict.fromkeys(ring)

    def add(self, who: str, key: str) -> None:
        """Adds the order of a sender and a key."""
        order = _digest(who, key)
        if order in self._kept:
            return
        self._kept[order] = None
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]
        if self._file is not None:
            with suppress(OSError):  # a file system without writing in place; this process still knows the order
                os.pwrite(self._file, order, SIZE * (1 + self._count % MOST))
                self._count += 1
                os.pwrite(self._file, self._count.to_bytes(SIZE, "little"), 0)

    def __contains__(self, order: tuple[str, str]) -> bool:
        """True if the order of a sender and a key was refused."""
        return bool(self._kept) and _digest(*order) in self._kept

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _digest(who: str, key: str) -> bytes:
    return hashlib.blake2b(f"{who}\0{key}".encode(), digest_size=SIZE).digest()
