"""Files that are whole or absent: written under another name in the same folder, then renamed. Folders and files of their owner alone."""

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes, *, durable: bool = True, mode: int = 0o666) -> None:
    """Replaces a file in one step. Readers find the old content or the new one; if it fails, the old file stays and nothing else.

    Parameters
    ----------
    durable
        Return only when the new content survives a loss of power. Without it such a loss may leave a torn file:
        only for a cache whose reader detects that.
    mode
        The permissions of the file, less those that the umask of the process takes away.

    Raises
    ------
    OSError
        The system refused.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")  # other writers of the file have other names
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        _sync(path.parent)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Makes a folder that survives a loss of power, and the folders above it.

    One that is there keeps its mode, so that its owner may share it.

    Raises
    ------
    OSError
        The system refused.
    """
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):  # another process has made it meanwhile
        path.mkdir(mode)
    _sync(path.parent)


def private(path: str | Path, flags: int) -> int:
    """An opener for `open`: the file is its owner's alone, also one that had another mode."""
    file = os.open(path, flags, 0o600)
    with suppress(PermissionError):  # it belongs to another user, who may share it
        os.fchmod(file, 0o600)
    return file


def _sync(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
