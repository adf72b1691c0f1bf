"""Files and folders that are whole or absent, and locks: all writing aside, renaming and locking is here.

What must be whole is written under another name in the same folder, then renamed by `place`: a reader, or a process that starts after
a crash, finds the old content or the new one.
"""

import errno
import fcntl
import mmap
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from steppe.errors import Failure, Mistake, NoSpaceError

DIRECT = range(1 << 18, 1 << 26)  # bytes of files that are written past the system's cache: no small ones, and memory stays bounded
BLOCK = 4096  # bytes of which they are multiples on their way
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_room = threading.local()  # of each thread that writes past the cache: memory to write from, used again


def write_whole(
    path: Path | str,
    content: bytes | Sequence[bytes],
    *,
    durable: bool = True,
    mode: int = 0o666,
    aside: Path | str | None = None,
    cached: bool = True,
) -> None:
    """Replaces a file in one step. Readers find the old content or the new one; if it fails, the old file stays and nothing else.

    Parameters
    ----------
    content
        The bytes, or parts of them in order.
    durable
        Return only when the new content survives a loss of power. Without it such a loss may leave a torn file where there was none:
        only for what is made durable later, and for a cache whose reader detects that.
    mode
        The permissions of the file, less those that the umask of the process takes away.
    aside
        Where the file is made; one that a killed process left there is overwritten. Default: a name of this call alone.
    cached
        Keep the bytes in the system's cache. Without it a large file goes to the disk itself: that takes less of the processor's time,
        leaves the cache to other files, and leaves little to wait for when files are made durable later.

    Raises
    ------
    OSError
        The system refused.
    """
    parts = [content] if isinstance(content, bytes) else content
    beside = aside or f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"  # other writers of the file have other names
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if aside else os.O_EXCL)
    safe = durable or os.path.exists(path)  # what is there stays good until the new bytes are safe
    try:
        if cached or not _write_past_cache(beside, parts, safe, mode):
            with open(os.open(beside, flags, mode), "wb") as file:
                file.writelines(parts)
                file.flush()
                if safe:
                    os.fsync(file.fileno())
        place(beside, path, durable=durable)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def place(aside: Path | str, path: Path | str, *, durable: bool = True) -> None:
    """Gives a file or a folder that was made aside its name. The caller made its bytes durable before; this makes the name durable.

    Raises
    ------
    OSError
        The system refused.
    """
    os.replace(aside, path)
    if durable:
        sync(os.path.dirname(path) or ".")


def sync(path: Path | str) -> None:
    """Makes what was created, renamed or removed in a folder durable; of a file, its bytes. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path | str, mode: int = 0o777, *, durable: bool = True, within: Path | str = "") -> None:
    """Makes a folder and the folders above it. They survive a loss of power, if `durable`.

    One that is there keeps its mode, so that its owner may share it. within: a folder above it, which is never made.

    Raises
    ------
    OSError
        The system refused, or `within` is not there.
    """
    if os.path.isdir(path):
        return
    if os.fspath(path) == os.fspath(within):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    above = os.path.dirname(path) or "."
    make_folder(above, durable=durable, within=within)
    with suppress(FileExistsError):  # another process has made it meanwhile
        os.mkdir(path, mode)
    if durable:
        sync(above)


def private(path: str | Path, flags: int) -> int:
    """An opener for `open`: the file is its owner's alone, also one that had another mode."""
    file = os.open(path, flags, 0o600)
    with suppress(PermissionError):  # the file of another user, which may be shared
        os.fchmod(file, 0o600)
    return file


class LockedError(Exception):
    """Another process holds a lock. Its text is what that process wrote into the lock file."""


def lock(path: Path | str, note: str = "", *, naming: Path | str | None = None) -> int:
    """Opens and locks a file, which is made if it is not there. The lock lasts until the file is closed or the process ends.

    Parameters
    ----------
    note
        Written into the file: what other processes learn of the holder.
    naming
        The path in messages, if it is another one.

    Returns
    -------
    int
        The descriptor of the open file.

    Raises
    ------
    LockedError
        Another process holds the lock.
    NoSpaceError, Failure
        The file cannot be written or locked.
    """
    with writing(naming or path):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            free = take(file)
        except OSError as error:
            raise Failure(f'"{path}" cannot be locked: {error.strerror}. Choose a folder on a file system that has locks.') from None
        if not free:
            raise LockedError(holder(file))
        if note:
            with writing(path):
                os.ftruncate(file, 0)
                os.pwrite(file, note.encode(), 0)
    except BaseException:
        os.close(file)
        raise
    return file


def take(file: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Locks an open file or folder; False if another process holds it. Raises OSError where the file system has no locks."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def holder(file: int) -> str:
    """The text of the process that holds a lock, from the open lock file."""
    return os.pread(file, 200, 0).decode(errors="replace").strip() or "a process that just began"


def not_a_file(path: Path | str) -> str:
    """The kind of a path whose place a file must not take, "a folder" or "a device or a pipe"; "" for a file or nothing."""
    if not os.path.exists(path) or os.path.isfile(path):
        return ""
    return "a folder" if os.path.isdir(path) else "a device or a pipe"


def check_writable(path: Path | None) -> None:
    """Raises `Mistake` when a file that shall be written later cannot be: its folder is none, or takes no files."""
    if path is None:
        return
    if kind := not_a_file(path):
        raise Mistake(f'"{path}" is {kind}, expected the name of a file that can be written.')
    if not path.parent.is_dir():
        raise Mistake(f'"{path}" cannot be written: there is no folder "{path.parent}". Make it, or give another place.')
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise Mistake(f'"{path}" cannot be written: {error.strerror}. Give another place.') from None


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Says in Steppe's words what keeps a file from being written.

    Raises
    ------
    NoSpaceError
        The disk is full or a quota is reached.
    Failure
        The system refused for another reason.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise NoSpaceError(f'"{path}" cannot be written: {error.strerror}.{NoSpaceError.ADVICE}') from error
        raise Failure(f'"{path}" cannot be written: {error.strerror}. Check the disk and the permissions of the folder.') from error


def _write_past_cache(path: Path | str, parts: Sequence[bytes], durable: bool, mode: int) -> bool:
    """Writes a large file from aligned memory to the disk itself; False where the file is small or the system has no way to."""
    length = sum(map(len, parts))
    if length not in DIRECT or not hasattr(os, "O_DIRECT"):
        return False
    whole = -(-length // BLOCK) * BLOCK
    if len(getattr(_room, "memory", b"")) < whole:
        _room.memory = mmap.mmap(-1, 1 << whole.bit_length())  # begins with a page, as the system asks
    room, at = memoryview(_room.memory), 0
    for part in parts:
        room[at : at + len(part)] = part
        at += len(part)
    room[at:whole] = bytes(whole - at)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_DIRECT, mode)
        try:
            at = 0
            while at < whole:
                at += os.pwrite(file, room[at:whole], at)
            os.ftruncate(file, length)
            if durable:
                os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        if error.errno != errno.EINVAL:  # which says that this file system, or a part of a block, must go through the cache
            raise
        with suppress(FileNotFoundError):
            os.unlink(path)
        return False
    return True
