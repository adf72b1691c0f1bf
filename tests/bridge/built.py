"""The parts of the bridge in C, built for tests, and the modules of its generator."""

import fcntl
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "bridge" / "native"
BUILD = NATIVE / "build"
TABLE = (NATIVE / "mpi_functions.txt").read_text()

sys.path.insert(0, str(NATIVE))
generate = importlib.import_module("generate")
prototypes = importlib.import_module("prototypes")


def make(target: str) -> None:
    """Builds a target; without a C compiler the test is skipped, in CI it fails."""
    if not (shutil.which("cc") and shutil.which("make")):
        assert "CI" not in os.environ, "CI has no C compiler"
        pytest.skip("no C compiler")
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "lock").open("w") as lock:  # other workers of pytest build, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "--silent", "-C", NATIVE, f"PYTHON={sys.executable}", target], check=True, stdout=subprocess.DEVNULL)


def needs_zstd() -> None:
    """Skips a test where the gateway was built without zstd; in CI it fails."""
    found = subprocess.run(["cc", "-E", "-"], input="#include <zstd.h>\n", text=True, capture_output=True).returncode == 0
    assert found or "CI" not in os.environ, "CI has no headers of zstd: libzstd-dev"
    if not found:
        pytest.skip("no headers of zstd: the gateway compresses nothing")
