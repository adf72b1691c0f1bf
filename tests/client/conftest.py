"""One server for tests that leave its main scenario alone, and one of its own for each that kills."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.client import Run
from tests.client.served import Served
from tests.scenario import copied

SLOW = f"""\
model = "{Path(__file__).parent / "slow_model.py"}"
time = {{ start = 1990-01-01, end = 1990-03-01 }}
grid = {{ file = "box.zarr" }}
output = {{ path = "out", variables = ["concentration"] }}
"""


@pytest.fixture(scope="session")
def shared_server(made_scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(copied(made_scenario, tmp_path_factory.mktemp("served")))
    yield server
    server.stop()


@pytest.fixture
def run(shared_server: Served) -> Iterator[Run]:
    """The run, back at its beginning."""
    with shared_server.connect() as run:
        run.restart()
        yield run


@pytest.fixture
def slow_server(tmp_path: Path) -> Iterator[Served]:
    """One whose run takes a twentieth of a second for a step."""
    lat, lon = -20.0 - 0.5 * np.arange(4), 140.0 + 0.5 * np.arange(5)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"land_mask": (("lat", "lon"), np.ones((4, 5), "int8"))}, axes).to_zarr(tmp_path / "box.zarr", consolidated=False)
    (tmp_path / "run.toml").write_text(SLOW)
    server = Served(tmp_path / "run.toml")
    yield server
    server.stop()


@pytest.fixture
def server(scenario: Path) -> Iterator[Served]:
    """A server of one's own."""
    server = Served(scenario)
    yield server
    server.stop()
