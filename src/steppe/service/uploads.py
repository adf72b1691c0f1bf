"""Arrays and lists of cells that orders name, as files of the run folder; threads call all of this, never the event loop, but for `take`.

    uploads/SHA-256           an order of the journal names it: it stays
    uploads/unused/SHA-256    no order names it yet: it stays for an hour, and all of them together have a limit

So an order that is refused leaves nothing for ever. An engine finds a file in either place.
"""

import asyncio
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock

from steppe.control import Refused
from steppe.control.orders import JOURNAL
from steppe.control.server.reader import named_by
from steppe.failpoint import reach
from steppe.files import place
from steppe.service.limits import WorkLimits

USED, UNUSED = "uploads", "uploads/unused"
LEAST = 4096  # [byte] that a file counts at least, for a disk stores whole blocks
_moving = Lock()  # files are removed and moved by one thread at a time


class UploadDraft:
    """A file that arrives, beside those that are whole."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / UNUSED / f".{secrets.token_hex(8)}.tmp"
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file, self._digest, self.size = open(self._path, "xb"), sha256(), 0  # noqa: SIM115

    def write(self, piece: bytes) -> None:
        """Adds some bytes."""
        self._digest.update(piece)
        self._file.write(piece)
        self.size += len(piece)

    @property
    def name(self) -> str:
        """The SHA-256 of the bytes so far."""
        return self._digest.hexdigest()

    def place(self) -> None:
        """Gives the file its name, durably, when it is whole."""
        self._file.flush()
        os.fsync(self._file.fileno())
        place(self._path, self._path.with_name(self.name))

    def close(self) -> None:
        """Ends it; one that has no name yet is removed."""
        try:
            self._file.close()
        finally:  # the disk may be full
            self._path.unlink(missing_ok=True)


def check_name(name: str) -> None:
    """Raises Refused, digest-wrong, for a name that is no SHA-256."""
    if not re.fullmatch("[0-9a-f]{64}", name):
        raise Refused("digest-wrong", "The name of an upload is the SHA-256 of its bytes in 64 hexadecimal digits.", value=name[:64])


async def take(folder: Path, name: str, size: int, pieces: AsyncIterator[bytes], limits: WorkLimits) -> tuple[int, bool]:
    """Stores what arrives in pieces. Returns its bytes, and False if the run had it before. size: that was announced.

    Raises
    ------
    Refused
        digest-wrong; uploads-full.
    """
    await asyncio.to_thread(check_room, folder, size, limits)
    draft = await asyncio.to_thread(UploadDraft, folder)
    try:
        async for piece in pieces:
            await asyncio.to_thread(draft.write, piece)
        if draft.name != name:
            raise Refused("digest-wrong", f"{draft.size:,} bytes came whose SHA-256 is {draft.name}.", value=draft.name, allowed=name)
        there = await asyncio.to_thread(find, folder, name)
        if there is None:
            await asyncio.to_thread(check_room, folder, 0, limits)
            await asyncio.to_thread(draft.place)
        return draft.size, there is None
    finally:
        await asyncio.to_thread(draft.close)


def keep(folder: Path, content: bytes, limits: WorkLimits) -> str:
    """Stores cells or values of an order durably; gives the SHA-256 by which the engine finds them.

    Raises
    ------
    Refused
        uploads-full.
    """
    name = sha256(content).hexdigest()
    if find(folder, name) is None:
        check_room(folder, len(content), limits)
        with closing(UploadDraft(folder)) as made:
            made.write(content)
            made.place()
    assert reach("upload.before_row")
    return name


def find(folder: Path, name: str) -> Path | None:
    """The file of this name, which is not swept in the hour that follows; None when there is none."""
    used, unused = folder / USED / name, folder / UNUSED / name
    with _moving:
        if used.exists():
            return used
        with suppress(FileNotFoundError):
            os.utime(unused)
            return unused
    return None


def read(folder: Path, name: str) -> bytes:
    """The bytes of a file; raises Refused, unknown-upload."""
    while (path := find(folder, name)) is not None:
        with suppress(FileNotFoundError):  # an order that names it has moved it meanwhile
            return path.read_bytes()
    raise Refused("unknown-upload", f'"{name}" was not uploaded.', value=name, position="$.upload")


def settle(folder: Path, names: Collection[str]) -> None:
    """Keeps files for good: the journal holds an order that names them."""
    for name in names:
        with _moving, suppress(FileNotFoundError):  # it has been kept before
            place(folder / UNUSED / name, folder / USED / name)


def check_room(folder: Path, more: int, limits: WorkLimits) -> None:
    """Raises Refused, uploads-full, when so many bytes more are too many that no order uses."""
    here = sum(max(found.st_size, LEAST) for _, found in _unused(folder))
    if here + more > limits.unused and here + more - sweep(folder, limits) > limits.unused:
        text = f"The run has {here:,} bytes that were sent and that no order uses; {limits.unused:,} are allowed."
        raise Refused("uploads-full", text, value=here, allowed=limits.unused)


def sweep(folder: Path, limits: WorkLimits) -> int:
    """Removes what was sent long ago and no order names; gives how many bytes that were."""
    swept, since = 0, time.time() - limits.unused_seconds
    old = {name: found.st_size for name, found in _unused(folder) if found.st_mtime < since}
    named = named_by(folder / JOURNAL) if old else frozenset()  # a server may have died before it kept one for good
    settle(folder, named & old.keys())
    for name in old.keys() - named:
        path = folder / UNUSED / name
        with _moving, suppress(FileNotFoundError):
            if path.stat().st_mtime < since:  # an order may have looked at it meanwhile
                path.unlink()
                swept += max(old[name], LEAST)
    return swept


def _unused(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The names of the files that no order uses, and what the system says of each."""
    with suppress(FileNotFoundError), os.scandir(folder / UNUSED) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another thread has moved it meanwhile
                yield entry.name, entry.stat()
