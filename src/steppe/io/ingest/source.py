"""Which file went into a store: enough to recognise it."""

from pathlib import Path
from typing import Any

import xxhash


def source_file(path: Path) -> dict[str, Any]:
    """Name, size in bytes and xxh3 (64 bits, hex) of a file."""
    data = path.read_bytes()
    return {"name": path.name, "size": len(data), "xxh3": xxhash.xxh3_64_hexdigest(data)}
