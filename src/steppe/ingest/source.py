"""Which file went into a store: enough to recognise it."""

from pathlib import Path
from typing import Any

import xxhash

PIECE = 1 << 20  # bytes read at a time


def source_file(path: Path) -> dict[str, Any]:
    """Name, size in bytes and xxh3 (64 bits, hex) of a file, or of all files of a folder in the order of their names."""
    found, size = xxhash.xxh3_64(), 0
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if path.is_dir():
            found.update(file.relative_to(path).as_posix().encode())
        if file.is_file():
            size += file.stat().st_size
            with file.open("rb") as content:
                while piece := content.read(PIECE):
                    found.update(piece)
    return {"name": path.name, "size": size, "xxh3": found.hexdigest()}
