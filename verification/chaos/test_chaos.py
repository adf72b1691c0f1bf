"""A served run under chaos: clients order through a bad network while processes die and the disk fills up; every order happens once."""

from pathlib import Path

import pytest
from tests.scenario import copied, make_years
from tests.small_disk import mount_small_disk

from verification.chaos.play import HOUR, Measured, Play, Table
from verification.chaos.trouble import Disk

YEARS = 8
SIZE = "1g"  # of the small disk
CHAOS = 150.0  # [s] of a test: five minutes of both
VICTIMS = ("server", "engine", "rank", "launcher", "all")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file of some hundreds of cells and eight years."""
    return make_years(tmp_path_factory.mktemp("steered"), YEARS)


@pytest.fixture
def play(made: Path, tmp_path: Path, seed: int, request: pytest.FixtureRequest, measured: Measured):
    """Plays for the seconds that are asked for, else for an hour (`--long`) or as a test says."""

    def begin(case: str, seconds: float) -> Play:
        table = Table(case, measured)
        table.note("seed", seed)
        seconds = request.config.getoption("--seconds") or (HOUR if request.config.getoption("--long") else seconds)
        table.note("seconds", seconds)
        return Play(copied(made, tmp_path / "run"), tmp_path, seed, seconds, table)

    return begin


def test_orders_happen_once_though_every_process_is_killed(play) -> None:
    play("chaos, 3 ranks", CHAOS).run(3, VICTIMS)


def test_orders_happen_once_though_the_disk_fills_up_too(play, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "out"
    undo = mount_small_disk(folder, SIZE)
    try:
        play("chaos, small disk, 2 ranks", CHAOS).run(2, VICTIMS, Disk(folder, SIZE))
    finally:
        undo()
