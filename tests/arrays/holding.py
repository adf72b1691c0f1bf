"""What a file holds, compared at once: pytest would look for minutes for all differences of long bytes."""

from pathlib import Path


def holds(path: Path, content: bytes) -> bool:
    """True if the file has exactly these bytes; prints where they differ first."""
    found = path.read_bytes()
    if found != content:
        first = next((k for k, (one, other) in enumerate(zip(found, content, strict=False)) if one != other), min(len(found), len(content)))
        print(f'"{path}" has {len(found)} bytes, expected {len(content)}; the first difference is byte {first}.')
    return found == content
