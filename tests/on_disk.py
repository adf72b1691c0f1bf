"""A temporary folder on a disk, for tests of what a disk does, or of what takes time there.

`tests.in_memory` puts those of other tests into memory.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="steppe_") as name:
        yield Path(name)
