"""Caches a grid that was read from a user's file: the next run loads it in a millisecond, without the libraries for such files."""

import contextlib
import hashlib
import json
from pathlib import Path

from steppe.files import write_whole
from steppe.grid.grid import Grid
from steppe.grid.plain import as_plain, from_plain
from steppe.grid.read import read_grid

VERSION = 3  # of the cache, and of the reader of files; another one reads the file again


def read_kept(file: Path, folder: Path) -> Grid:
    """The grid of a user's file, from the cache in `folder` if it is there; raises as `read_grid`."""
    path = folder / f"{stamp(file)}.json"
    found = kept(path)
    if found is None:
        found = read_grid(file=file)
        keep(path, found)
    return found


def stamp(path: Path) -> str:
    """SHA-256 (hex) of names, sizes and times of a file, or of the files of a folder; it changes when one is written again."""
    found = hashlib.sha256(f"{VERSION} {path.resolve()}".encode())
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            about = file.stat()
            found.update(f"{file.name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return found.hexdigest()


def keep(path: Path, grid: Grid) -> None:
    """Writes a grid. If that fails, the next run reads the user's file again."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(as_plain(grid)).encode(), durable=False)  # a torn file is no JSON, and is made again


def kept(path: Path) -> Grid | None:
    """The cached grid; None if there is none or it cannot be read."""
    try:
        return from_plain(json.loads(path.read_bytes()))
    except Exception:  # any error of the cache: the user's file is read again
        return None
