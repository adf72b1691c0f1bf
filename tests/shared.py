"""Where the data beside the checkout are: weather records, normals, reference solutions. They are used from there, never committed."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("STEPPE_SHARED", Path(__file__).parents[1].parent / "shared"))


def shared_path(name: str) -> Path:
    """A file or folder of the shared data; without it the test is skipped, in CI it fails."""
    path = SHARED / name
    if not path.exists():
        message = f"no ../shared/{name} beside the checkout"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path
