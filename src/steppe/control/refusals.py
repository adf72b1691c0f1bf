"""The orders that were refused because the disk was full, in a file whose room was taken while there was some."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from steppe.files import private

SIZE = 16  # bytes that stand for an order
MOST = 4096  # orders that are kept; a newer one takes the place of the oldest


class Refusals:
    """Of one journal. They survive the death of the process, since no file grows when one is added.

    Parameters
    ----------
    path
        Of the file, which `reserve` makes; None keeps them in memory alone, as does a disk that has no room for it.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._kept = path, dict[bytes, None]()  # oldest first
        self._file: int | None = None
        self._count = 0  # of those that were ever added
        if path and path.exists():
            self.reserve()

    def reserve(self) -> None:
        """Opens the file, made as long as it may become, if that was not done before."""
        if self._path and self._file is None:
            path, self._path = self._path, None
            with suppress(OSError):
                self._file = private(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
                os.posix_fallocate(self._file, 0, SIZE * (MOST + 1))
                self._read(self._file)

    def _read(self, file: int) -> None:
        """Takes what is in the file: how many orders were ever added, then a ring of the newest."""
        content = os.pread(file, SIZE * (MOST + 1), 0)
        self._count = int.from_bytes(content[:SIZE], "little")
        ring = [content[SIZE * (1 + number % MOST) :][:SIZE] for number in range(max(0, self._count - MOST), self._count)]
        self._kept = dict.fromkeys(ring)

    def add(self, who: str, key: str) -> None:
        """Keeps the order of a sender and a key."""
        order = _digest(who, key)
        if order in self._kept:
            return
        self._kept[order] = None
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]
        if self._file is not None:
            with suppress(OSError):  # a file system that writes nothing in place; this process remembers it
                os.pwrite(self._file, order, SIZE * (1 + self._count % MOST))
                self._count += 1
                os.pwrite(self._file, self._count.to_bytes(SIZE, "little"), 0)

    def __contains__(self, order: tuple[str, str]) -> bool:
        """Whether the order of a sender and a key was refused."""
        return bool(self._kept) and _digest(*order) in self._kept

    def close(self) -> None:
        """Gives up the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _digest(who: str, key: str) -> bytes:
    return hashlib.blake2b(f"{who}\0{key}".encode(), digest_size=SIZE).digest()
