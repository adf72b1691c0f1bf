"""Making a file or a folder in one process at a time: two that build beside the same place would mix what they write."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steppe.errors import Failure, FolderError
from steppe.io.shard import writing


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Holds `PATH.lock`, which the system lets go when the process ends, however it ends.

    Raises
    ------
    FolderError
        Another process holds it.
    NoSpaceError, Failure
        The file cannot be written or locked.
    """
    lock = path.with_name(path.name + ".lock")
    file = _locked(lock, path)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # before it is let go: who comes next makes its own
        os.close(file)


def _locked(lock: Path, path: Path) -> int:
    while True:
        with writing(path):
            file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise FolderError(f'Another process is making "{path}". Wait until it ends, or give another name.') from None
        except OSError as error:
            os.close(file)
            raise Failure(f'"{lock}" cannot be locked: {error.strerror}. Choose a folder on a file system that has locks.') from None
        try:
            if os.path.samestat(os.fstat(file), os.stat(lock)):
                return file
        except FileNotFoundError:
            pass
        os.close(file)  # who held it has ended meanwhile, and took it away
