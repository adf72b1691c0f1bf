"""A file and its bytes in memory: read by blocks, written aside by blocks, behind the run, and renamed when it is whole.

    create ──> blocks, in any order, as they are full ──> the rest ──> fdatasync ──> rename ──> fsync of the folder

Whatever ends the process on the way, the path has the old file or the new one. What a killed process left aside is removed by the next
that writes the same file: a living one has a lock on it.
"""

import fcntl
import glob
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from errno import EINVAL

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Bytes, Integers
from steppe.errors import DamagedError, Failure, Mistake
from steppe.failpoint import reach
from steppe.files import place, sync, take, writing

SHIFT = 23  # blocks of 8 MiB
ALIGNED = 4096  # bytes of which what goes to the disk past the system's cache is a multiple
COARSE = 5  # Linux's CLOCK_REALTIME_COARSE, of which a file system takes its times
LARGEST = (1 << 63) - 1
LOOKS = 20  # at a clock, a millisecond apart, until it has moved on
Identity = tuple[int, int, int, int, int]  # device, number, bytes, time of the last change of content, of anything [ns]
NO_FILE: Identity = (0, 0, 0, 0, 0)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Says in Steppe's words what keeps a file from being read.

    Raises
    ------
    Mistake
        There is no such file.
    Failure
        The system refused for another reason.
    """
    try:
        yield
    except FileNotFoundError:
        raise Mistake(f'There is no file "{path}". Mode "w" makes one.') from None
    except OSError as error:
        raise Failure(f'"{path}" cannot be read: {error.strerror}. Check the disk and the permissions of the file.') from error


def identity_of(path: str) -> Identity:
    """A text that changes whenever the file is changed. It begins with 0 if a change now might not change it; raises as `reading` does.

    A change within the tick of the clock in which the file was changed before would not show: this waits for the next tick.
    """
    with reading(path):
        about = os.stat(path)
    for _ in range(LOOKS):
        if moved := time.clock_gettime_ns(COARSE) > about.st_ctime_ns:
            break
        time.sleep(0.001)  # in vain where the clock is that of another machine
    changed = max(0, about.st_mtime_ns)  # zeros stand for ranks that do not look, and each change moves the other time
    return about.st_dev if moved else 0, about.st_ino & LARGEST, about.st_size, changed, about.st_ctime_ns


def read_part(path: str, begin: int, into: Bytes) -> None:
    """Fills `into` with the bytes of the file from `begin` on.

    Raises
    ------
    Mistake, Failure
        There is no such file; the system refused, or the file is shorter than it was.
    """
    with reading(path), open(path, "rb", 0) as file:
        at, room = 0, into.data
        while at < len(room):
            count = os.preadv(file.fileno(), [room[at : at + (1 << SHIFT)]], begin + at)
            if not count:
                raise DamagedError(f'"{path}" ends at byte {begin + at}, expected {begin + len(room)} bytes: it was cut while it was read.')
            at += count


class NewFile:
    """The file that is made aside and takes the place of `path`. suffix: 8 letters, so that other writers have other names."""

    def __init__(self, path: str, suffix: str) -> None:
        self.path = os.path.realpath(path)  # a link stays one
        self.aside = f"{self.path}.{suffix}.aside"
        self._lock = -1

    def create(self, size: int) -> None:
        """Makes and locks it, with room for all its bytes; raises as `steppe.files.writing` does."""
        with writing(self.path):
            for left_over in glob.glob(f"{glob.escape(self.path)}.????????.aside"):
                _remove_dead(left_over)
            self._lock = os.open(self.aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            try:
                with suppress(OSError):  # a file system without locks
                    take(self._lock)
                with suppress(FileNotFoundError):
                    os.fchmod(self._lock, stat.S_IMODE(os.stat(self.path).st_mode) | stat.S_IWUSR)
                if size:
                    os.posix_fallocate(self._lock, 0, size)
                assert reach("donio.create")
            except BaseException:
                self.discard()
                raise

    def place(self) -> None:
        """Gives it its name, durably; its bytes are durable already. Raises as `steppe.files.writing` does."""
        with writing(self.path):
            with suppress(FileNotFoundError):
                os.chmod(self.aside, stat.S_IMODE(os.stat(self.path).st_mode))
            place(self.aside, self.path, durable=False)
            assert reach("donio.rename")
            sync(os.path.dirname(self.path) or ".")
            assert reach("donio.dirsync")

    def discard(self) -> None:
        """Removes it on the rank that made it, unless it has its name already."""
        if self._lock >= 0:
            with suppress(FileNotFoundError):
                os.unlink(self.aside)
            os.close(self._lock)
            self._lock = -1


def _remove_dead(aside: str) -> None:
    """Removes a file aside whose writer was killed: a living one has locked it."""
    with suppress(OSError):
        file = os.open(aside, os.O_RDWR | os.O_CLOEXEC)
        try:
            if take(file):
                os.unlink(aside)
        finally:
            os.close(file)


class BlockWriter:
    """Writes the part of the file that lies on this host, in a thread of its own, each block as soon as it is full.

    Parameters
    ----------
    new
        The file, which has room for all bytes.
    memory
        The bytes of the part, and more to a multiple of `ALIGNED`; begins with a page of memory.
    written
        The bytes that each rank has written to each block so far, (ranks, blocks). They only grow. If those of a block have grown
        since its copy to the disk began, it is copied again.
    begin, size
        Where the part begins in the file, and the bytes of the part.
    """

    def __init__(self, new: NewFile, memory: Bytes, written: Integers, begin: int, size: int) -> None:
        self._new, self._file = new, -1
        self._memory, self._written, self._begin, self._size = memory.data, written, begin, size
        self._lengths: Integers = np.minimum(1 << SHIFT, size - (np.arange(written.shape[1]) << SHIFT))
        self._copied: Integers = np.full(written.shape[1], -1, np.int64)  # bytes written to a block when its last copy began
        self._thread = ThreadPoolExecutor(1, "memory file")
        self._under_way: list[Future[None]] = []

    def start_full(self) -> None:
        """Starts to write the blocks that are full and were not written yet."""
        written = self._written.sum(axis=0)
        self._start(written, (written >= self._lengths) & (self._copied < 0))

    def finish(self) -> None:
        """Writes the other blocks and makes all durable. No rank writes to the part meanwhile. Raises as `steppe.files.writing` does."""
        written = self._written.sum(axis=0)
        self._start(written, written != self._copied)
        with writing(self._new.path):
            self._thread.submit(self._open).result()  # behind the blocks, of which there may be none
            for block in self._under_way:
                block.result()
            if self._size % ALIGNED:
                os.ftruncate(self._file, self._begin + self._size)
            os.fdatasync(self._file)
        assert reach("donio.fsync")

    def close(self) -> None:
        """Ends the thread and closes the file."""
        self._thread.shutdown(cancel_futures=True)
        if self._file >= 0:
            os.close(self._file)

    def _open(self) -> None:
        if self._file < 0:
            self._file = os.open(self._new.aside, os.O_WRONLY | os.O_CLOEXEC)
            with suppress(OSError):  # a file system that writes through the system's cache only
                fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_DIRECT)

    def _start(self, written: Integers, which: NDArray[np.bool_]) -> None:
        self._copied[which] = written[which]
        self._under_way += [self._thread.submit(self._write, block) for block in np.flatnonzero(which).tolist()]

    def _write(self, block: int) -> None:
        self._open()
        at = block << SHIFT
        stop = at + int(self._lengths[block])
        stop += -stop % ALIGNED
        while at < stop:
            try:
                at += os.pwrite(self._file, self._memory[at:stop], self._begin + at)
            except OSError as error:
                if error.errno != EINVAL or not fcntl.fcntl(self._file, fcntl.F_GETFL) & os.O_DIRECT:
                    raise
                fcntl.fcntl(self._file, fcntl.F_SETFL, 0)  # the disk has larger blocks
        assert reach("donio.block")
