"""A directory to measure in: room, file system, and files whose pages are removed from memory, which is verified."""

import ctypes
import errno
import mmap
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from steppe.errors import Mistake

PAGE = mmap.PAGESIZE
MIB = 1 << 20
COLD, WARM = "cold", "warm"  # states of a file that is read
ROOM = 2  # times the size of the largest file must be free
NAPS = (0.0, 0.01, 0.1, 0.3)  # [s] before each request to the kernel to remove a file from memory


@contextmanager
def workplace(directory: Path, largest: int) -> Iterator[Path]:
    """A new folder in `directory`, which is removed afterwards. largest: bytes of its largest file.

    Raises
    ------
    Mistake
        The directory does not exist, cannot be written in, or has too little room.
    """
    if not directory.is_dir():
        raise Mistake(f'"{directory}" is no directory. Give one on the disk that is to be measured.')
    try:
        made = tempfile.TemporaryDirectory(prefix=".steppe-measure-", dir=directory)
    except OSError as error:
        raise Mistake(f'Nothing can be written in "{directory}": {error.strerror}. Give a directory in which you may write.') from None
    with made as folder:
        free = os.statvfs(directory)
        room = free.f_bavail * free.f_frsize
        if room < ROOM * largest:
            raise Mistake(
                f'"{directory}" has {room / MIB:.1f} MiB free and files need {ROOM * largest / MIB:.1f} MiB. '
                "Make room, give another directory, or measure less: with --quick, or with a smaller --size of `steppe measure files`."
            )
        yield Path(folder)


def describe_place(directory: Path) -> dict[str, str]:
    """Directory, mount point, device and kind of file system, as the kernel names them."""
    found, place = {"directory": str(directory.resolve())}, directory.resolve()
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return found
    above = [fields for fields in mounts if place.is_relative_to(fields[1].replace("\\040", " "))]
    if above:
        device, point, kind = max(above, key=lambda fields: len(fields[1]))[:3]
        found |= {"device": device, "mounted": point, "kind": kind}
    return found


def resident_pages(file: int, size: int) -> int:
    """Number of pages of an open file that are in memory (mincore)."""
    with mmap.mmap(file, size, prot=mmap.PROT_READ) as mapped:
        pages = np.zeros(-(-size // PAGE), np.uint8)
        view = np.frombuffer(mapped, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.mincore(ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(size), ctypes.c_void_p(pages.ctypes.data))
        del view
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int((pages & 1).sum())


def put_out(file: int, size: int) -> int:
    """Removes the pages of an open file from memory; returns how many stay. The file is made durable first.

    Some requests are needed: a page that is being read ahead, or that another processor uses, stays for a moment.
    """
    os.fsync(file)
    for nap in NAPS:
        time.sleep(nap)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        if not (left := resident_pages(file, size)):
            break
    return left


def open_direct(path: Path) -> int | None:
    """Opens a file without the kernel's cache (O_DIRECT); None where the file system does not support it."""
    try:
        return os.open(path, os.O_RDWR | os.O_DIRECT)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
        return None
