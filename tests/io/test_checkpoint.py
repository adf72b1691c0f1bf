from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.comm import World
from steppe.errors import DamagedError, Failure, FolderError, NoSpaceError
from steppe.grid import Ownership
from steppe.io.checkpoints.checkpoint import Checkpoint
from steppe.io.checkpoints.contents import Contents
from steppe.io.checkpoints.draft import Draft
from steppe.io.checkpoints.remote import load_checkpoint
from steppe.testing import run_threads
from tests import on_disk
from tests.io.checkpoints import write_checkpoint
from tests.io.test_shard import disk_of

tmp_path = on_disk.tmp_path

IDENTITY = {"model": "pasture 1.0", "parameters": "3f2a", "grid": "9c41"}
ARRAYS = {
    "state/green_leaf": np.linspace(0, 1, 300),
    "state/soil_water": np.arange(900, dtype="float32").reshape(3, 300),
    "parameter/stocking_rate": np.array(0.25),
    "days": np.array(7, "int32"),
    "frozen": np.arange(300) % 7 == 0,
    "events": np.empty((0, 300)),
    "big_endian": np.arange(300, dtype=">f4"),
}


def write(folder: Path, step: int, **changes: object) -> Path:
    return write_checkpoint(folder, step, ARRAYS, {"date": "1990-02-01", "records": {"growth": step}} | changes, IDENTITY)


def newest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    said: list[str] = []
    return Checkpoint.newest(folder, IDENTITY, said.append), said


def test_a_checkpoint_gives_back_what_was_written(tmp_path: Path) -> None:
    assert write(tmp_path / "checkpoints", 31) == tmp_path / "checkpoints/0000000031"
    found, said = newest(tmp_path / "checkpoints")
    assert found is not None
    assert said == []
    assert found.step == 31
    assert found.manifest == {"date": "1990-02-01", "records": {"growth": 31}}
    assert list(found.arrays) == list(ARRAYS)
    for name, values in ARRAYS.items():
        read = found.read(name)
        np.testing.assert_array_equal(read, values)
        assert read.dtype == values.dtype.newbyteorder("<")
        assert read.flags.writeable


def test_a_rank_reads_its_cells_alone(tmp_path: Path) -> None:
    write(tmp_path, 31)
    found, _ = newest(tmp_path)
    assert found is not None
    for cells in (range(70, 290), np.array([3, 255, 256, 299])):
        others = np.setdiff1d(np.arange(300), cells)
        loaded = found.load(Ownership(300, 1, (others, cells)))
        assert list(loaded) == list(ARRAYS)
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(loaded[name], values[..., cells] if values.ndim else values)
    with pytest.raises(DamagedError, match=r'no array "rain", only state/green_leaf'):
        found.read("rain")


@pytest.mark.parametrize("able", [(), (0,), (0, 3), (0, 1, 2, 3, 4)])
def test_ranks_read_a_checkpoint_for_those_that_do_not_see_it(tmp_path: Path, able: tuple[int, ...]) -> None:
    path, shares = write(tmp_path / "there", 31), [range(7), range(7, 7), range(7, 270), range(270, 290), range(290, 300)]

    def rank(world: World) -> None:
        place = path if not able or world.rank in able else tmp_path / "nowhere"
        manifest, arrays = load_checkpoint(place, Ownership(300, world.rank, shares), world, able)
        assert manifest == {"date": "1990-02-01", "records": {"growth": 31}}
        assert list(arrays) == list(ARRAYS)
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], values[..., shares[world.rank]] if values.ndim else values)
            assert arrays[name].dtype == values.dtype.newbyteorder("<")
            assert arrays[name].flags.writeable

    run_threads(5, rank)


def test_a_damaged_checkpoint_is_an_error_on_ranks_that_do_not_see_it(tmp_path: Path) -> None:
    path = write(tmp_path, 31)
    (path / "arrays.bin").write_bytes(bytes(9))

    def rank(world: World) -> str:
        with pytest.raises(DamagedError) as error:
            load_checkpoint(path, Ownership(300, world.rank, [range(200), range(200, 300)]), world, [0])
        return str(error.value)

    assert run_threads(2, rank) == [f'"{path / "arrays.bin"}" has 9 bytes, 7512 were written.'] * 2


@pytest.mark.parametrize("bounds", [(0, 300), (0, 100, 300), (0, 256, 300), (0, 0, 7, 290, 300, 300)])
def test_any_number_of_ranks_writes_the_same_bytes(tmp_path: Path, bounds: tuple[int, ...]) -> None:
    alone = write(tmp_path / "alone", 31)
    shares = [range(low, high) for low, high in pairwise(bounds)]
    aside = Checkpoint.begin(tmp_path / "ranks", 31)

    def rank(world: World) -> tuple[Contents, dict[int, bytes]]:
        mine, draft = shares[world.rank], Draft()
        draft.copy(
            {name: values[..., mine] if values.ndim else values for name, values in ARRAYS.items()}, Ownership(300, world.rank, shares)
        )
        draft.exchange(world)
        return draft.contents, draft.write(aside)

    parts = run_threads(len(shares), rank)
    digests = {tile: digest for _, part in parts for tile, digest in part.items()}
    whole = Checkpoint.seal(aside, parts[0][0], digests, {"date": "1990-02-01", "records": {"growth": 31}}, IDENTITY)
    for name in ("arrays.bin", "manifest.json"):
        assert (whole / name).read_bytes() == (alone / name).read_bytes()


@settings(deadline=None, max_examples=25)
@given(of=st.lists(st.integers(0, 3), min_size=700, max_size=700), then=st.lists(st.integers(0, 2), min_size=700, max_size=700))
def test_cells_may_lie_anywhere_among_the_ranks_that_write_and_those_that_read(of: list[int], then: list[int]) -> None:
    """Boxes of a model with neighbours: a rank has some columns of many tiles, and writes tiles that are not beside each other."""
    numbers = np.random.default_rng(1)
    arrays = {
        "a": numbers.normal(size=700),
        "b": numbers.integers(0, 9, (2, 700)).astype("int16"),
        "c": np.array(3.5),
        "d": numbers.random(700) < 0.5,
    }

    def dealt(ranks: list[int]) -> list[np.ndarray]:
        return [np.flatnonzero(np.array(ranks) == rank) for rank in range(max(ranks) + 1)]

    with TemporaryDirectory() as folder:
        alone = write_checkpoint(Path(folder, "alone"), 1, arrays, {}, {})
        aside, cells = Checkpoint.begin(Path(folder, "ranks"), 1), dealt(of)

        def rank(world: World) -> tuple[Contents, dict[int, bytes]]:
            mine, draft = cells[world.rank], Draft()
            draft.copy(
                {name: values[..., mine] if values.ndim else values for name, values in arrays.items()}, Ownership(700, world.rank, cells)
            )
            draft.exchange(world)
            return draft.contents, draft.write(aside)

        parts = run_threads(len(cells), rank)
        path = Checkpoint.seal(aside, parts[0][0], {tile: digest for _, part in parts for tile, digest in part.items()}, {}, {})
        for name in ("arrays.bin", "manifest.json"):
            assert (path / name).read_bytes() == (alone / name).read_bytes()
        found = Checkpoint.open(path, {})
        for number, mine in enumerate(dealt(then)):
            for name, values in found.load(Ownership(700, number, dealt(then))).items():
                np.testing.assert_array_equal(values, arrays[name][..., mine] if values.ndim else arrays[name])


def test_the_bytes_are_the_same_again(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a", 31), write(tmp_path / "b", 31)
    for name in ("arrays.bin", "manifest.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_there_may_be_none(tmp_path: Path) -> None:
    assert newest(tmp_path / "nowhere") == (None, [])


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    for step in (10, 20, 30, 40):
        write(tmp_path, step)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0000000030", "0000000040"]
    found, _ = newest(tmp_path)
    assert found is not None
    assert found.step == 40


def test_a_future_that_was_given_up_is_removed(tmp_path: Path) -> None:
    for step in (10, 20, 15):
        write(tmp_path, step)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0000000010", "0000000015"]


def test_the_same_step_may_be_written_again(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path, 10, number=number)
        found, _ = newest(tmp_path)
        assert found is not None
        assert found.manifest["number"] == number
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_one_is_passed_over_and_named(tmp_path: Path) -> None:
    write(tmp_path, 10)
    arrays = write(tmp_path, 20) / "arrays.bin"
    arrays.write_bytes(arrays.read_bytes()[:-1])
    found, said = newest(tmp_path)
    assert found is not None
    assert found.step == 10
    assert len(said) == 1
    assert said[0].startswith(f'"{arrays}" has ')
    assert said[0].endswith("The checkpoint before it is taken.")


@pytest.mark.parametrize("name", ["arrays.bin", "manifest.json"])
def test_a_missing_file_is_named_and_all_damaged_is_an_error(tmp_path: Path, name: str) -> None:
    (write(tmp_path, 10) / name).unlink()
    said: list[str] = []
    with pytest.raises(DamagedError, match="None of the 1 checkpoints"):
        Checkpoint.newest(tmp_path, IDENTITY, said.append)
    assert f"0000000010/{name}" in said[0]


def test_another_run_is_refused_with_both_digests(tmp_path: Path) -> None:
    write(tmp_path, 10)
    with pytest.raises(FolderError, match=r'other parameters: parameters is "3f2a" there and "77aa" in this run'):
        Checkpoint.newest(tmp_path, {**IDENTITY, "parameters": "77aa"}, print)


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steppe.io.checkpoints.checkpoint.FORMAT", 4)
    write(tmp_path, 10)
    monkeypatch.undo()
    with pytest.raises(FolderError, match="format 4, this Steppe reads up to 3"):
        newest(tmp_path)


def test_left_overs_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    write(tmp_path, 10)
    (tmp_path / "0000000020.tmp").mkdir()
    (tmp_path / "0000000020.tmp/arrays.bin").write_bytes(b"half")
    found, said = newest(tmp_path)
    assert found is not None
    assert (found.step, said) == (10, [])
    assert [path.name for path in tmp_path.iterdir()] == ["0000000010"]


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    write(tmp_path, 10)
    with disk_of(3000), pytest.raises(NoSpaceError, match=r"arrays\.bin. cannot be written"):
        write(tmp_path, 20)
    found, said = newest(tmp_path)
    assert found is not None
    assert (found.step, said) == (10, [])
    assert [path.name for path in tmp_path.iterdir()] == ["0000000010"]


def test_text_is_no_array(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="a checkpoint holds numbers"):
        write_checkpoint(tmp_path, 1, {"names": np.array(["a"])}, {}, {})
