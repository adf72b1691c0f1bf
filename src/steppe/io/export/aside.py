"""Writing a file beside its place and renaming it when it is whole."""

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steppe.errors import Failure, FolderError, NoSpaceError
from steppe.files import not_a_file, place, sync, writing

FULL_BELOW = 1 << 20  # [byte] left on the disk: libraries that hide the system's error leave less than a buffer of theirs


def refuse_existing(paths: list[Path], overwrite: bool) -> None:
    """Raises `FolderError` if a file is there that may not, or could not, be replaced."""
    for path in paths:
        if kind := not_a_file(path):
            raise FolderError(f'"{path}" is {kind}, whose place a file would take. Give another name.')
        if path.exists() and not overwrite:
            others = f" (and {len(paths) - 1:,} more are to be written)" if len(paths) > 1 else ""
            raise FolderError(f'"{path}" is there already{others}. Give another name, or --overwrite to replace it.')


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """The name under which to write. The file becomes `path` at the end; after an exception `path` is as it was.

    Raises
    ------
    FolderError
        The folder is not there.
    NoSpaceError
        The disk is full or a quota is reached.
    Failure
        The system or a library refused for another reason.
    """
    if not path.parent.is_dir():
        raise FolderError(f'"{path}" cannot be written: there is no folder "{path.parent}". Make it, or give another name.')
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.tmp")  # another process may write the same at the same time
    try:
        with writing(path):
            try:
                yield beside
                sync(beside)
                place(beside, path)
            except (OSError, RuntimeError) as error:
                if isinstance(error, OSError) and error.errno and not _of_a_library(error):
                    raise
                raise _hidden(path, error) from error
    finally:
        beside.unlink(missing_ok=True)


def _of_a_library(error: OSError) -> bool:
    """NetCDF gives its own negative numbers for the system's."""
    return error.errno is not None and error.errno < 0


def _hidden(path: Path, error: Exception) -> Failure:
    """The error behind a library's "I/O error": most often a full disk."""
    disk = os.statvfs(path.parent)
    if disk.f_bavail * disk.f_frsize < FULL_BELOW:
        return NoSpaceError(f'"{path}" cannot be written: no space is left on the disk. Free some, then start the same command again.')
    reason = re.sub(r"\s+", " ", str(error))
    return Failure(f'"{path}" cannot be written: {reason}. Check the disk, your quota on it, and the permissions of the folder.')
