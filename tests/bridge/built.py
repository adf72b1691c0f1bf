"""The parts of the bridge in C, built for tests."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "bridge" / "native"
BUILD = NATIVE / "build"


def make(target: str) -> None:
    """Builds a target; without a C compiler the test is skipped, in CI it fails."""
    if not (shutil.which("cc") and shutil.which("make")):
        assert "CI" not in os.environ, "CI has no C compiler"
        pytest.skip("no C compiler")
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "lock").open("w") as lock:  # other workers of pytest build, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "--silent", "-C", NATIVE, f"PYTHON={sys.executable}", target], check=True, stdout=subprocess.DEVNULL)
