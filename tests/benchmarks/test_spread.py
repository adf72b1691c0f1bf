"""The spread that the benchmark keeps of paper 000: weather that rank 0 reads for all."""

from pathlib import Path

import pytest
from benchmarks.programs.spread_rank import Broadcast

from steppe.comm import World
from steppe.io import ForcingReader, SpreadReader
from steppe.testing import run_threads
from tests.io import test_spread as spreads
from tests.io.small_store import write_small_store


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_what_rank_0_sends_to_all_are_the_bits_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
    def inputs(world: World, store: Path, spread: str, bounds: list[int], able: tuple[int, ...] = ()) -> SpreadReader:
        reader = ForcingReader(store, range(spreads.CELLS), None, spreads.CLOCK, spreads.WEEKLY, steps=range(spreads.DAYS))
        return SpreadReader(reader, world, Broadcast(reader.slabs, world), spreads.shares_of(bounds))

    monkeypatch.setattr(spreads, "inputs", inputs)
    write_small_store(tmp_path / "w.zarr")
    truth = spreads.read_alone(tmp_path / "w.zarr")
    run_threads(ranks, lambda world: spreads.forth_and_back_and_cut_anew(world, tmp_path / "w.zarr", "broadcast", truth))
