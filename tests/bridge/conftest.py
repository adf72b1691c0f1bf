"""The gateway, built, and the folder in which it works. `STEPPE_BRIDGE_GATEWAY` names another one, for example with sanitizers."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.gateways import Sites

NATIVE = Path(__file__).parents[2] / "bridge" / "native"


@pytest.fixture(scope="session")
def gateway_program() -> Path:
    """`steppe-bridge-gateway`; tests that need it are skipped without a C compiler."""
    if "STEPPE_BRIDGE_GATEWAY" in os.environ:
        return Path(os.environ["STEPPE_BRIDGE_GATEWAY"])
    program = NATIVE / "build" / "steppe-bridge-gateway"
    if shutil.which("cc") and shutil.which("make"):
        subprocess.run(["make", "-s", "-C", NATIVE, "build/steppe-bridge-gateway"], check=True)
    elif not program.exists():
        pytest.skip("no C compiler")
    return program


@pytest.fixture
def sites(gateway_program: Path, tmp_path: Path) -> Iterator[Sites]:
    """Starts gateways, which are gone after the test."""
    tmp_path.chmod(0o700)
    started = Sites(gateway_program, tmp_path)
    yield started
    started.close()
