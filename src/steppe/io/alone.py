"""Making a file or a folder in one process at a time: two that build beside the same place would mix what they write."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from steppe.errors import Failure, FolderError
from steppe.io.shard import writing


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Holds `PATH.lock`, which is not there any more afterwards. Raises what `locked` raises."""
    lock = path.with_name(path.name + ".lock")
    file = _locked_in_place(lock, path)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # before it is let go: who comes next makes its own
        os.close(file)


def locked(path: Path, of: Path, busy: Callable[[int], str], advice: str) -> int:
    """The open file, locked. The system lets go of the lock when the process ends, however it ends.

    of: what is named where it cannot be written. busy: what is said, of the open file, when another process holds it. advice: where
    there are no locks.

    Raises
    ------
    FolderError
        Another process holds it.
    NoSpaceError, Failure
        The file cannot be written or locked.
    """
    with writing(of):
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        said = busy(file)
        os.close(file)
        raise FolderError(said) from None
    except OSError as error:
        os.close(file)
        raise Failure(f'"{path}" cannot be locked: {error.strerror}. {advice}') from None
    return file


def _locked_in_place(lock: Path, path: Path) -> int:
    said = f'Another process is making "{path}". Wait until it ends, or give another name.'
    while True:
        file = locked(lock, path, lambda file: said, "Choose a folder on a file system that has locks.")
        try:
            if os.path.samestat(os.fstat(file), os.stat(lock)):
                return file
        except FileNotFoundError:
            pass
        os.close(file)  # who held it has ended meanwhile, and took it away
