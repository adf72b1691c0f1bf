"""Forcing that ranks read for each other: every spread gives every rank the bits that it would read for itself."""

import sys
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from steppe.clock import Clock
from steppe.comm import Serial, World, open_world
from steppe.costs import spread_forcing
from steppe.errors import DamagedError, Failure, ForcingError, RunFileError
from steppe.io import ForcingReader, ForcingStore, SpreadReader, described, pack_store, place_described
from steppe.io.forcing.spread import dealt
from steppe.testing import run_threads
from tests.comm.mpis import run_ranks
from tests.io.small_store import DAYS, START, small_grid, write_small_store
from tests.models import garden
from tests.models.cells import NOTHING, started

CLOCK, CELLS = Clock.daily(START), small_grid().n_cells
SPREADS = ("own", "node", "readers:1", "readers:2", "readers:9", "auto")
RANKS = (1, 2, 3, 4, 7)
WEEKLY = {"tmin": "7 days"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spread") / "w.zarr"
    write_small_store(path)
    return path


def even(ranks: int) -> list[int]:
    return [CELLS * rank // ranks for rank in range(ranks + 1)]


def shares_of(bounds: list[int]) -> list[range]:
    return [range(low, high) for low, high in pairwise(bounds)]


def inputs(
    world: World, store: Path, spread: str, bounds: list[int], steps: range = range(DAYS), able: Sequence[int] = ()
) -> ForcingReader | SpreadReader:
    reader = ForcingReader(store, range(CELLS), None, CLOCK, WEEKLY, steps=steps)
    return spread_forcing(reader, world, shares_of(bounds), spread, able=able)


def rows_of(found: ForcingReader | SpreadReader, piece: range, n_cells: int) -> NDArray[np.int16]:
    """(variables, steps, cells of the share) as they lie there, taken by two threads' streams."""
    values = np.full((len(found.names), len(piece), n_cells), -1, np.int16)
    for some in (range(n_cells // 3), range(n_cells // 3, n_cells)):
        for tile, packed in found.stream(some).tiles(piece):
            inside = range(max(tile.start, some.start), min(tile.stop, some.stop))
            assert inside
            assert packed.rows.strides[1] == packed.rows.itemsize
            columns = slice(inside.start - tile.start, inside.stop - tile.start)
            values[..., inside.start : inside.stop] = packed.rows[packed.row_of][..., columns]
    return values


@pytest.fixture(scope="module")
def truth(store: Path) -> NDArray[np.int16]:
    return read_alone(store)


def read_alone(store: Path) -> NDArray[np.int16]:
    """All that the store holds, (variables, days, cells)."""
    with ForcingReader(store, range(CELLS), None, CLOCK, WEEKLY) as reader:
        return np.concatenate([rows_of(reader, piece, CELLS) for piece in reader.pieces(range(DAYS))], axis=1)


def check(found: ForcingReader | SpreadReader, steps: range, share: range, truth: NDArray[np.int16]) -> None:
    for piece in found.pieces(steps):
        found.turn_to(piece)
        np.testing.assert_array_equal(rows_of(found, piece, len(share)), truth[:, piece.start : piece.stop, share.start : share.stop])


def forth_and_back_and_cut_anew(world: World, store: Path, spread: str, truth: NDArray[np.int16], able: Sequence[int] = ()) -> None:
    ranks = world.size
    cuts = [even(ranks), [0, *np.linspace(50, 200, ranks - 1).astype(int).tolist(), CELLS], even(ranks)]
    shares = [range(bounds[world.rank], bounds[world.rank + 1]) for bounds in cuts]
    found = inputs(world, store, spread, cuts[0], able=able)
    check(found, range(DAYS), shares[0], truth)
    for step in (3, 4, 1050, 600, 20):  # by hand, and jumping
        check(found, range(step, step + 1), shares[0], truth)
    for bounds, share in zip(cuts[1:], shares[1:], strict=True):
        found.recut(shares_of(bounds), world.rank)
        check(found, range(500, 1030), share, truth)
    found.close()


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("spread", SPREADS)
def test_every_rank_gets_the_bits_of_the_store(store: Path, truth: NDArray[np.int16], spread: str, ranks: int) -> None:
    run_threads(ranks, lambda world: forth_and_back_and_cut_anew(world, store, spread, truth))


@pytest.mark.parametrize("able", [(0,), (0, 1), (1, 4)])
@pytest.mark.parametrize("spread", ["readers:1", "readers:9", "auto"])
def test_ranks_that_lack_the_weather_get_the_same_bits(
    store: Path, truth: NDArray[np.int16], tmp_path: Path, spread: str, able: tuple[int, ...]
) -> None:
    files = described(ForcingStore.open(store))
    there = place_described(files, tmp_path)
    assert place_described(files, tmp_path) == there
    assert [each.name for each in tmp_path.iterdir()] == [there.name]
    assert ForcingStore.open(there).digest == ForcingStore.open(store).digest
    assert not (there / "rain" / "c").exists()

    def rank(world: World) -> None:
        forth_and_back_and_cut_anew(world, store if world.rank in able else there, spread, truth, able)

    run_threads(5, rank)


@pytest.mark.parametrize("spread", ["own", "node"])
def test_ranks_that_lack_the_weather_cannot_read_it(store: Path, spread: str) -> None:
    with pytest.raises(
        RunFileError, match=f'spread = "{spread}" lets ranks read that do not have the weather. Write "auto" or "readers:2"'
    ):
        run_threads(3, lambda world: inputs(world, store, spread, even(3), able=(0, 1)))


def test_ranks_that_are_processes_get_them_too(store: Path) -> None:
    done = run_ranks("installed", 3, "-m", "tests.io.test_spread", str(store))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*SPREADS]


def test_a_model_of_two_threads_gets_the_same_state_however_its_forcing_comes(store: Path) -> None:
    def rank(world: World, spread: str, bounds: list[int], threads: int) -> NDArray[np.float32]:
        found = inputs(world, store, spread, bounds)
        found.names = ("rain", "warmth", "light")  # what the model calls rain, tmax and tmin
        model = started(garden, bounds[world.rank + 1] - bounds[world.rank], threads)
        for steps in (range(700), range(700, 701), range(701, DAYS)):
            model.advance(steps, found, CLOCK, NOTHING)
        found.close()
        return np.stack(list(model.state.values()))

    expected = rank(Serial(), "own", [0, CELLS], 1)
    for spread in ("own", "node", "readers:2"):
        states = run_threads(4, lambda world, spread=spread: rank(world, spread, [0, 100, 101, 101, CELLS], 2))  # type: ignore[misc]
        assert np.concatenate(states, axis=1).tobytes() == expected.tobytes()


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_cells_that_lie_apart_have_the_bits_of_the_store(store: Path, truth: NDArray[np.int16], data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, 5))
    spread = data.draw(st.sampled_from(SPREADS[:-1]))
    seeds = data.draw(st.lists(st.integers(0, 99), min_size=1, max_size=3))

    def rank(world: World) -> None:
        reader = ForcingReader(store, range(CELLS), None, CLOCK, WEEKLY)
        found = spread_forcing(reader, world, shares_of(even(ranks)), spread)
        for seed in seeds:
            owners = np.random.default_rng(seed).integers(0, ranks, CELLS)
            shares = [np.flatnonzero(owners == each) for each in range(ranks)]
            mine = shares[world.rank]
            found.recut(shares, world.rank)
            whole, seen = range(mine[-1] - mine[0] + 1), np.zeros(len(mine), int)
            for piece in found.pieces(range(500, 530)):
                found.turn_to(piece)
                for tile, packed in found.stream(whole).tiles(piece):
                    here = (mine - mine[0] >= tile.start) & (mine - mine[0] < tile.stop)
                    values = packed.rows[packed.row_of][..., mine[here] - mine[0] - tile.start]
                    np.testing.assert_array_equal(values, truth[:, piece.start : piece.stop, mine[here]])
                    seen += here
            assert (seen == len(found.pieces(range(500, 530)))).all()
        found.close()

    run_threads(ranks, rank)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_cuts_and_any_steps(store: Path, truth: NDArray[np.int16], data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, 5))
    spread = data.draw(st.sampled_from(SPREADS[1:-1]))
    cuts = st.lists(st.integers(0, CELLS), min_size=ranks - 1, max_size=ranks - 1).map(lambda inner: [0, *sorted(inner), CELLS])
    ways = data.draw(st.lists(st.tuples(cuts, st.integers(0, DAYS - 1), st.integers(1, 700)), min_size=1, max_size=4))

    def rank(world: World) -> None:
        found = inputs(world, store, spread, ways[0][0])
        for bounds, first, length in ways:
            found.recut(shares_of(bounds), world.rank)
            share = range(bounds[world.rank], bounds[world.rank + 1])
            check(found, range(first, min(first + length, DAYS)), share, truth)
        found.close()

    run_threads(ranks, rank)


@pytest.mark.parametrize("kind", ["raw", "bits"])
@pytest.mark.parametrize("spread", ["node", "readers:2"])
def test_fast_copies_are_spread_alike(tmp_path: Path, truth: NDArray[np.int16], spread: str, kind: str) -> None:
    write_small_store(tmp_path / "w.zarr")
    pack_store(tmp_path / "w.zarr", kind)  # type: ignore[arg-type]

    def rank(world: World) -> None:
        found = inputs(world, tmp_path / "w.zarr", spread, even(3))
        check(found, range(DAYS), range(even(3)[world.rank], even(3)[world.rank + 1]), truth)
        found.close()

    run_threads(3, rank)


@pytest.mark.parametrize("spread", ["node", "readers:1", "readers:2"])
def test_damage_ends_every_rank_with_the_same_sentence_when_the_days_are_needed(
    tmp_path: Path, truth: NDArray[np.int16], spread: str
) -> None:
    write_small_store(tmp_path / "w.zarr")
    shard = tmp_path / "w.zarr" / "tmax" / "c" / "1" / "0"
    good = shard.read_bytes()
    shard.write_bytes(good[:100] + bytes([good[100] ^ 1]) + good[101:])

    def rank(world: World) -> str:
        found = inputs(world, tmp_path / "w.zarr", spread, even(4))
        share = range(even(4)[world.rank], even(4)[world.rank + 1])
        check(found, range(512), share, truth)
        for _ in range(2):
            with pytest.raises(DamagedError) as error:
                found.turn_to(range(512, 513))
        check(found, range(1024, DAYS), share, truth)
        world.barrier()
        if world.rank == 0:
            shard.write_bytes(good)
        world.barrier()
        check(found, range(510, 600), share, truth)
        found.close()
        return str(error.value)

    said = run_threads(4, rank)
    assert len(set(said)) == 1
    assert said[0].startswith('Variable "tmax", days 1991-05-28 to 1992-10-20: ')


def test_any_other_error_of_one_rank_ends_all(store: Path) -> None:
    ended: dict[int, BaseException] = {}

    def rank(world: World) -> None:
        found = inputs(world, store, "node", even(2))
        if world.rank == 1:
            found._way.prepare = lambda slab, fetch: [][slab]  # type: ignore[union-attr, method-assign]
        try:
            found.turn_to(range(10))
        except (Failure, IndexError) as error:
            ended[world.rank] = error
        found.close()

    run_threads(2, rank)
    assert isinstance(ended[1], IndexError)
    assert str(ended[0]) == "Rank 1 failed: IndexError: list index out of range"


def test_a_piece_must_be_turned_to_and_lie_in_the_store(store: Path) -> None:
    found = inputs(Serial(), store, "readers:1", [0, CELLS])
    with pytest.raises(Failure, match="Nobody turned to steps 3 to 3"):
        next(iter(found.stream(range(5)).tiles(range(3, 4))))
    with pytest.raises(ForcingError, match="Shorten the run"):
        found.turn_to(range(DAYS - 1, DAYS + 1))
    with pytest.raises(ForcingError, match="lie in two slabs"):
        found.turn_to(range(600))
    found.close()


def named_memory() -> list[str]:
    """What this process has mapped of files in memory; other processes may have others."""
    maps = Path("/proc/self/maps")
    return sorted(line.split(maxsplit=5)[5] for line in maps.read_text().splitlines() if "/dev/shm/" in line) if maps.exists() else []


def test_memory_in_common_has_no_name_and_is_counted_once(store: Path) -> None:
    before = named_memory()

    def rank(world: World) -> int:
        found = inputs(world, store, "node", even(3))
        found.turn_to(range(10))
        world.barrier()
        assert named_memory() == before
        world.barrier()
        found.close()
        return found.memory

    found = run_threads(3, rank)
    rows = 512 + 512 + 73  # rain, tmax, the weeks of tmin that a slab may have
    slabs = 2 * 2 * 512 * rows  # two tiles of 256
    assert all(slabs <= memory < 1.5 * slabs for memory in found)  # and records


def test_what_is_sent_is_counted(store: Path) -> None:
    def rank(world: World, spread: str) -> int:
        found = inputs(world, store, spread, even(2), range(512))
        found.turn_to(range(512))
        found.close()
        return found.counters.sent

    rows = 512 + 512 + 73  # of days, and the weeks of tmin that a slab may have
    assert run_threads(2, lambda world: rank(world, "node")) == [0, 0]
    assert run_threads(2, lambda world: rank(world, "readers:1")) == [2 * rows * (CELLS - even(2)[1]), 0]


@given(st.integers(0, 9), st.integers(1, 7), st.integers(1, 70))
def test_every_record_of_a_host_is_decoded_once_and_by_all_alike(tiles: int, variables: int, ranks: int) -> None:
    deals = [dealt(range(3, 3 + tiles), variables, ranks, rank) for rank in range(ranks)]
    records = [[(tile, k) for tile, some in deal.items() for k in range(some.start, some.stop)] for deal in deals]
    assert list(chain(*records)) == [(tile, k) for tile in range(3, 3 + tiles) for k in range(variables)]
    assert all(some.start < some.stop for deal in deals for some in deal.values())
    assert max(map(len, records)) - min(map(len, records)) <= 1


if __name__ == "__main__":
    the_world, the_store = open_world(), Path(sys.argv[1])
    for each in SPREADS:
        forth_and_back_and_cut_anew(the_world, the_store, each, read_alone(the_store))
        if the_world.rank == 0:
            print(each)
    the_world.close()
