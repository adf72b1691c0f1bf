"""An image as it came: bytes of a PNG that a notebook shows."""

from pathlib import Path


class Picture(bytes):
    """Bytes of a PNG."""

    def _repr_png_(self) -> bytes:
        return bytes(self)

    def __repr__(self) -> str:
        width, height = int.from_bytes(self[16:20], "big"), int.from_bytes(self[20:24], "big")
        return f"<PNG, {width} x {height}, {len(self):,} bytes>"

    __str__ = __repr__

    def save(self, path: str | Path) -> Path:
        """Writes it to a file; gives its path."""
        Path(path).write_bytes(self)
        return Path(path)
