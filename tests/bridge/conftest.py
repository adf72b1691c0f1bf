"""The gateway, built, and the folder in which it works. `STEPPE_BRIDGE_GATEWAY` names another one, for example with sanitizers."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.built import BUILD, make
from tests.bridge.gateways import Sites


@pytest.fixture(scope="session")
def gateway_program() -> Path:
    """`steppe-bridge-gateway`; tests that need it are skipped without a C compiler."""
    if "STEPPE_BRIDGE_GATEWAY" in os.environ:
        return Path(os.environ["STEPPE_BRIDGE_GATEWAY"])
    make("all")
    return BUILD / "steppe-bridge-gateway"


@pytest.fixture
def sites(gateway_program: Path, tmp_path: Path) -> Iterator[Sites]:
    """Starts gateways, which are gone after the test."""
    tmp_path.chmod(0o700)
    started = Sites(gateway_program, tmp_path)
    yield started
    started.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, gateway_program: Path) -> Path:
    return tmp_path_factory.mktemp("bridge")
