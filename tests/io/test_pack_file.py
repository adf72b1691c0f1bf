"""The derived cache: the same bits as the shards, never instead of other ones, and every changed byte is found."""

import os
from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.clock import Clock
from steppe.errors import DamagedError
from steppe.grid import Raster
from steppe.io import ForcingReader, ForcingStore, check_pack, pack_store
from steppe.io.axis import Axis
from steppe.io.forcing.pack_file import PackFile, pack_path
from steppe.io.forcing.variables import WEATHER
from steppe.io.forcing.writer import ForcingWriter, Written
from steppe.io.shard import shard_path, write_shard
from steppe.io.shard_file import new_memory, read_chunk
from tests.io.small_store import ABOUT, START, small_axis, write_small_store

CLOCK = Clock.daily(START)


@pytest.fixture(autouse=True)
def narrow_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steppe.io.forcing.writer.SHARD_CELLS", 5 * 1024)


def write_wide_store(path: Path, days: int = 90) -> None:
    """Tiles of 1,024 cells, which can be packed in bits: 8,192 cells in eight tiles, two columns of shards; rain daily, pan weekly."""
    grid = Raster(-20.05, -0.1, 140.05, 0.1, np.ones((64, 128), dtype=bool))
    daily = Axis.daily(small_axis().first, days)
    weekly = Axis.weekly(daily.first, days)
    random = np.random.default_rng(3)
    with ForcingWriter(path, grid, [Written(WEATHER["rain"], daily), Written(WEATHER["pan"], weekly)], ABOUT) as writer:
        for name in ("rain", "pan"):
            for block in writer.blocks(name):
                writer.write(name, block, np.round(random.gamma(0.3, 8.0, (len(block.steps), len(block.cells))), 1).clip(0, 39))


def everything(path: Path, cells: range, days: int) -> bytes:
    """All that a reader gives, as bits."""
    found = []
    with ForcingReader(path, cells, None, CLOCK) as reader:
        for piece in reader.pieces(range(days)):
            for _, packed in reader.stream(range(len(cells))).tiles(piece):
                found.append(packed.rows[packed.row_of].tobytes())
    return b"".join(found)


@pytest.mark.parametrize("kind", ["raw", "bits"])
def test_a_packed_store_is_read_with_the_bits_of_its_shards(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "w.zarr"
    write_wide_store(path)
    parts = (range(8192), range(100, 5000))
    plain = [everything(path, cells, 90) for cells in parts]
    made = pack_store(path, kind)
    assert made.files == 4
    for name in ("rain", "pan"):  # from now on only the cache can be read
        for index in ((0, 0), (0, 1)):
            shard = Path(shard_path(path, name, index))
            times = shard.stat()
            shard.write_bytes(bytes(times.st_size))
            os.utime(shard, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert [everything(path, cells, 90) for cells in parts] == plain


def test_a_small_store_is_packed_plainly_and_read_the_same(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    write_small_store(path)
    plain = everything(path, range(403), 1100)
    pack_store(path, "bits")
    store = ForcingStore.open(path)
    assert PackFile(pack_path(path, "rain", (0, 0)), store["rain"].layout).kind == "raw"
    assert everything(path, range(403), 1100) == plain


def test_the_cache_is_no_part_of_what_a_store_is(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    write_small_store(path)
    before = ForcingStore.open(path).digest
    pack_store(path)
    assert ForcingStore.open(path).digest == before
    assert set(xarray.open_zarr(path, consolidated=False, chunks=None).data_vars) >= {"rain", "tmin", "tmax"}


def test_packing_again_mends_a_damaged_file_and_leaves_good_ones(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    write_small_store(path)
    pack_store(path, "raw")
    damaged, good = (Path(pack_path(path, name, (0, 0))) for name in ("rain", "tmin"))
    whole, inode = damaged.read_bytes(), good.stat().st_ino
    damaged.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    pack_store(path, "raw")
    assert damaged.read_bytes() == whole
    assert good.stat().st_ino == inode


def test_a_stale_file_is_passed_over_and_a_moved_store_is_not_stale(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    write_small_store(path)
    pack_store(path, "raw")
    store = ForcingStore.open(path)
    assert check_pack(store) == (6 + 3, 0)
    os.utime(shard_path(path, "rain", (0, 0)))  # copied, say: other time, same content
    assert check_pack(store) == (9, 0)
    layout = store["rain"].layout
    shard = np.concatenate([read_chunk(path, "rain", (0, j), layout) for j in (0, 1)], axis=1)[:, :403].copy()
    shard[0, 0] += 1
    write_shard(path, "rain", (0, 0), shard, layout)
    assert check_pack(store) == (8, 1)
    changed = everything(path, range(1), 1)
    assert np.frombuffer(changed, np.int16)[0] == shard[0, 0]
    pack_store(path, "raw")
    assert check_pack(store) == (9, 0)
    assert everything(path, range(1), 1) == changed


def test_a_missing_shard_is_damage_although_the_cache_has_it(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    write_small_store(path)
    pack_store(path)
    os.unlink(shard_path(path, "rain", (1, 0)))
    with pytest.raises(DamagedError, match=r'"rain", days 1991-05-28 to 1992-10-20: .*c/1/0" is missing'):
        everything(path, range(403), 1100)


@pytest.mark.parametrize("kind", ["raw", "bits"])
def test_every_changed_byte_is_found_and_its_file_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "w.zarr"
    write_wide_store(path, 20)
    pack_store(path, kind)
    file = Path(pack_path(path, "pan", (0, 1)))
    good, layout = file.read_bytes(), ForcingStore.open(path)["pan"].layout
    records = [PackFile(str(file), layout).read(0, j, new_memory) for j in range(layout.chunks[1])]
    head = len(good) - sum(map(len, records))
    random = np.random.default_rng(1)
    whole = range(len(good)) if kind == "bits" else [*range(head), *random.integers(head, len(good), 300)]

    def read_all() -> None:
        packed = PackFile(str(file), layout)
        for j in range(layout.chunks[1]):
            packed.read(0, j, new_memory)

    read_all()
    with open(file, "r+b") as handle:
        for place in whole:
            handle.seek(place)
            handle.write(bytes([good[place] ^ (1 << place % 8)]))
            handle.flush()
            with pytest.raises(DamagedError, match=r"pan/0\.1\.sbp"):
                read_all()
            handle.seek(place)
            handle.write(good[place : place + 1])
            handle.flush()
    read_all()


def test_a_cut_file_is_damage_that_names_file_variable_and_days(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    write_small_store(path)
    pack_store(path)
    file = Path(pack_path(path, "tmax", (0, 0)))
    file.write_bytes(file.read_bytes()[:-10])
    expected = r'Variable "tmax", days 1990-01-01 to 1991-05-27: .*tmax/0\.0\.sbp" is damaged.*`steppe forcing pack`'
    with pytest.raises(DamagedError, match=expected):
        everything(path, range(403), 10)
