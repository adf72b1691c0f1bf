"""A run folder that is moved or removed while its run is open: an error, and no second folder in its place."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.engine import Simulation
from steppe.errors import Failure
from steppe.io import Checkpoint, RunFolder
from steppe.io.shard import Layout, write_shard
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest
from tests.scenario import copied

WAYS: dict[str, Callable[[Simulation], object]] = {
    "step": lambda simulation: simulation.step(),
    "checkpoint": lambda simulation: simulation.checkpoint(),
    "close": lambda simulation: simulation.close(),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_folder_that_was_moved_is_named_with_its_new_place_and_not_made_again(scenario: Path, way: str) -> None:
    out, away = scenario.parent / "out", scenario.parent / "away"
    simulation = Simulation(scenario)
    simulation.step(10)
    out.rename(away)
    with pytest.raises(Failure, match=f'"{out}" was moved to "{away}" while the run was open. Move it back'):
        WAYS[way](simulation)
    assert not out.exists()
    if way != "close":
        with pytest.raises(Failure, match="was moved"):
            simulation.close()
    assert not out.exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_it_goes_on_when_the_folder_is_back(scenario: Path, tmp_path: Path, ranks: int) -> None:
    whole = copied(scenario, tmp_path / "whole")

    def moved(simulation: Simulation) -> None:
        out, away = scenario.parent / "out", scenario.parent / "away"
        simulation.step(100)
        out.rename(away)
        with pytest.raises(Failure, match="was moved"):
            simulation.run()
        away.rename(out)
        simulation.run()

    steppe.run(whole)
    on_ranks(ranks, scenario, moved)
    assert digest(scenario.parent / "out") == digest(whole.parent / "out")


def test_a_folder_that_was_removed_is_named(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {"model": "1"}) as folder:
        folder.expect_in_place()
        shutil.rmtree(folder.path)
        for remade in False, True:
            if remade:
                folder.path.mkdir()
            with pytest.raises(Failure, match="was removed while the run was open"):
                folder.expect_in_place()


def test_neither_a_checkpoint_nor_a_shard_makes_its_run_folder(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="cannot be written"):
        Checkpoint.begin(tmp_path / "out" / "checkpoints", 1)
    with pytest.raises(Failure, match="cannot be written"):
        write_shard(tmp_path / "out" / "output.zarr", "water", (0, 0), np.zeros((1, 1)), Layout((1, 1), (1, 1), "float64", "shuffle"))
    assert not (tmp_path / "out").exists()
