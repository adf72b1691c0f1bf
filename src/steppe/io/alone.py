"""Making a file or a folder in one process at a time, for two processes would mix their bytes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steppe.errors import FolderError
from steppe.files import LockedError, lock


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Holds `PATH.lock`, which is removed afterwards.

    Raises
    ------
    FolderError
        Another process holds it.
    NoSpaceError, Failure
        The file cannot be written or locked.
    """
    aside = path.with_name(path.name + ".lock")
    file = _locked_in_place(aside, path)
    try:
        yield
    finally:
        aside.unlink(missing_ok=True)  # before the lock is free: the next process makes its own file
        os.close(file)


def _locked_in_place(aside: Path, path: Path) -> int:
    while True:
        try:
            file = lock(aside, naming=path)
        except LockedError:
            raise FolderError(f'Another process is making "{path}". Wait until it ends, or give another name.') from None
        try:
            if os.path.samestat(os.fstat(file), os.stat(aside)):
                return file
        except FileNotFoundError:
            pass
        os.close(file)  # its holder has ended meanwhile, and removed it
