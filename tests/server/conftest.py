"""A toy run behind the application, asked in this process."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from steppe.grid import Raster
from steppe.server import Access, Limits
from steppe.server.application import application
from tests.server.asking import Client, access_of_all
from tests.server.toy import Toy


@pytest.fixture(scope="session")
def raster() -> Raster:
    """8 x 6 cells of 2.5 degrees, those of the last column sea."""
    active = np.ones((8, 6), dtype=bool)
    active[:, -1] = False
    return Raster(-11.25, -2.5, 139.25, 2.5, active)


@pytest.fixture
def toy(tmp_path: Path, raster: Raster) -> Iterator[Toy]:
    run = Toy(tmp_path / "run", raster)
    yield run
    if not run.closed:
        run.close()


@pytest.fixture
def access() -> Access:
    return access_of_all()


@pytest.fixture
def client(toy: Toy, access: Access) -> Client:
    """Asks as `admin` unless told otherwise."""
    generous = Limits(requests=1e9, requests_burst=1e9, strangers=1e9, strangers_burst=1e9)
    return Client(application({"toy": toy}, access, generous), toy)
