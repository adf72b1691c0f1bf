import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec

from steppe.errors import DamagedError, Failure, Mistake, NoSpaceError
from steppe.io.shard import Layout, create_array, layout_of, write_durable, write_shard, write_small
from steppe.io.shard_file import read_chunk
from tests import on_disk

tmp_path = on_disk.tmp_path

LAYOUT = Layout((6, 4), (12, 8), "float32", "bitshuffle")
SHAPE = (30, 21)  # ends inside a chunk along both axes


def field(shape: tuple[int, int], dtype: str = "float32") -> np.ndarray:
    return (np.random.default_rng(1).normal(size=shape) * 100).round(1).astype(dtype)


def store(folder: Path, values: np.ndarray, layout: Layout = LAYOUT) -> Path:
    create_array(folder, "growth", values.shape, layout, 0, {"units": "kg ha-1"}, ("time", "cell"))
    for i in range(-(-values.shape[0] // layout.shard[0])):
        for j in range(-(-values.shape[1] // layout.shard[1])):
            rows, columns = layout.shard
            write_shard(folder, "growth", (i, j), values[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns], layout)
    return folder


def read(folder: Path, shape: tuple[int, int], layout: Layout) -> np.ndarray:
    rows, columns = layout.chunk
    whole = [
        [read_chunk(folder, "growth", (i, j), layout, missing=0) for j in range(-(-shape[1] // columns))]
        for i in range(-(-shape[0] // rows))
    ]
    return np.block(whole)[: shape[0], : shape[1]]


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("shuffle", ["shuffle", "bitshuffle"])
def test_zarr_reads_what_we_write(tmp_path: Path, dtype: str, shuffle: str) -> None:
    values = field(SHAPE, dtype)
    store(tmp_path, values, Layout((6, 4), (12, 8), dtype, shuffle))
    array = zarr.open_array(tmp_path / "growth", mode="r")
    np.testing.assert_array_equal(array[:], values)
    np.testing.assert_array_equal(array[13:14, 5:19], values[13:14, 5:19])
    assert array.attrs.asdict() == {"units": "kg ha-1"}
    assert array.metadata.dimension_names == ("time", "cell")


@settings(deadline=None, max_examples=15)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    chunk=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    chunks=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_we_read_what_zarr_writes(
    tmp_path_factory: pytest.TempPathFactory, shape: tuple[int, int], chunk: tuple[int, int], chunks: tuple[int, int]
) -> None:
    folder = tmp_path_factory.mktemp("zarr")
    values = field(shape)
    values[: shape[0] // 2] = 0  # whole chunks of the fill value, which zarr leaves out
    shard = (chunk[0] * chunks[0], chunk[1] * chunks[1])
    array = zarr.create_array(
        folder,
        name="growth",
        shape=shape,
        chunks=chunk,
        shards=shard,
        dtype="float32",
        serializer=BytesCodec(endian="little"),
        compressors=[BloscCodec(cname="lz4", clevel=1, shuffle="shuffle", typesize=4), Crc32cCodec()],
        fill_value=0,
    )
    array[:] = values
    layout = layout_of(folder, "growth")
    assert layout == Layout(chunk, shard, "float32", "shuffle")
    np.testing.assert_array_equal(read(folder, shape, layout), values)


def test_a_layout_is_read_back_from_the_description(tmp_path: Path) -> None:
    store(tmp_path, field(SHAPE))
    assert layout_of(tmp_path, "growth") == LAYOUT


def test_an_array_of_other_codecs_is_refused(tmp_path: Path) -> None:
    zarr.create_array(tmp_path, name="growth", shape=(4, 4), dtype="float32")
    with pytest.raises(Mistake, match=r"codecs differ. Make the store with `steppe ingest`"):
        layout_of(tmp_path, "growth")


def test_an_absent_array_is_named(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match=r"growth/zarr\.json"):
        layout_of(tmp_path, "growth")


def test_a_chunk_is_decoded_in_place(tmp_path: Path) -> None:
    values = field(SHAPE)
    store(tmp_path, values)
    slab = np.full((3, 6, 4), -1, "float32")
    assert read_chunk(tmp_path, "growth", (1, 2), LAYOUT, out=slab[1]).base is slab
    np.testing.assert_array_equal(slab[1], values[6:12, 8:12])
    assert (slab[[0, 2]] == -1).all()


def test_a_chunk_does_not_fit_a_wrong_array(tmp_path: Path) -> None:
    store(tmp_path, field(SHAPE))
    with pytest.raises(Failure, match=r"cannot be read into float64"):
        read_chunk(tmp_path, "growth", (0, 0), LAYOUT, out=np.empty((6, 4)))


def test_every_flipped_byte_is_detected(tmp_path: Path) -> None:
    layout = Layout((6, 4), (6, 8), "float32", "bitshuffle")
    values = field((6, 8))
    store(tmp_path, values, layout)
    path = tmp_path / "growth/c/0/0"
    good = path.read_bytes()
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= 1 << position % 8
        path.write_bytes(bad)
        with pytest.raises(DamagedError, match=r"growth/c/0/0.* wrong checksum"):
            read(tmp_path, (6, 8), layout)


def test_every_length_but_the_whole_is_detected(tmp_path: Path) -> None:
    layout = Layout((6, 4), (6, 4), "float32", "bitshuffle")
    store(tmp_path, field((6, 4)), layout)
    path = tmp_path / "growth/c/0/0"
    good = path.read_bytes()
    for length in range(len(good)):
        path.write_bytes(good[:length])
        with pytest.raises(DamagedError, match="wrong checksum"):
            read_chunk(tmp_path, "growth", (0, 0), layout)


def test_a_shard_of_another_chunk_size_is_detected(tmp_path: Path) -> None:
    store(tmp_path, field((12, 8)))
    with pytest.raises(DamagedError, match=r"holds chunks of 96 bytes, its zarr\.json says 48"):
        read_chunk(tmp_path, "growth", (0, 0), Layout((3, 4), (6, 8), "float32", "bitshuffle"))


def test_a_missing_shard_is_an_error_or_the_value_asked_for(tmp_path: Path) -> None:
    create_array(tmp_path, "growth", SHAPE, LAYOUT, np.nan, {}, ("time", "cell"))
    with pytest.raises(DamagedError, match=r"growth/c/1/2. is missing"):
        read_chunk(tmp_path, "growth", (2, 4), LAYOUT)
    assert np.isnan(read_chunk(tmp_path, "growth", (2, 4), LAYOUT, missing=np.nan)).all()


def test_a_chunk_that_was_not_written_is_an_error_or_the_value_asked_for(tmp_path: Path) -> None:
    create_array(tmp_path, "growth", SHAPE, LAYOUT, np.nan, {}, ("time", "cell"))
    write_shard(tmp_path, "growth", (0, 0), field((6, 8)), LAYOUT)
    with pytest.raises(DamagedError, match="has no chunk 1, 0"):
        read_chunk(tmp_path, "growth", (1, 0), LAYOUT)
    assert (read_chunk(tmp_path, "growth", (1, 0), LAYOUT, missing=7) == 7).all()


def test_the_bytes_depend_on_the_values_alone(tmp_path: Path) -> None:
    layout = Layout((64, 4096), (128, 4096), "float32", "bitshuffle")
    values = field((128, 4096))
    store(tmp_path / "a", values, layout)
    other = threading.Thread(target=store, args=(tmp_path / "b", np.asfortranarray(values), layout))
    other.start()
    other.join()
    assert (tmp_path / "a/growth/c/0/0").read_bytes() == (tmp_path / "b/growth/c/0/0").read_bytes()


@pytest.mark.parametrize("block", [4096, 1000])  # the system takes no blocks of 1,000 bytes past its cache: they go through it
@pytest.mark.parametrize("length", [1, 4095, 4096, 4097, 3 * 4096, 50_001])
def test_a_large_file_holds_the_same_bytes_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, length: int) -> None:
    data = np.random.default_rng(length).bytes(length)
    monkeypatch.setattr("steppe.files.DIRECT", range(1, 1 << 26))
    monkeypatch.setattr("steppe.files.BLOCK", block)
    for content in (data, data[::-1]):  # the second in its place
        write_durable(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    with disk_of(length // 2), pytest.raises(NoSpaceError):
        write_durable(tmp_path / "file", data)
    assert (tmp_path / "file").read_bytes() == data[::-1]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_shard(tmp_path: Path) -> None:
    values = field((12, 8))
    store(tmp_path, values)
    with disk_of(300), pytest.raises(NoSpaceError, match=r"growth/c/0/0. cannot be written: .*\. Free some space"):
        write_shard(tmp_path, "growth", (0, 0), values + 1, LAYOUT)
    np.testing.assert_array_equal(read(tmp_path, (12, 8), LAYOUT), values)
    assert os.listdir(tmp_path / "growth/c/0") == ["0"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "growth").write_text("a file, not a folder")
    with pytest.raises(Failure, match=r"growth/c/0/0. cannot be written"):
        write_shard(tmp_path, "growth", (0, 0), field((12, 8)), LAYOUT)


def test_a_shard_of_wrong_shape_or_dtype_is_refused(tmp_path: Path) -> None:
    for values in (field((13, 8)), field((12, 9)), field((12, 8), "float64")):
        with pytest.raises(Failure, match="A shard of"):
            write_shard(tmp_path, "growth", (0, 0), values, LAYOUT)


def test_a_layout_whose_shard_is_no_multiple_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="a shard is a multiple of a chunk"):
        create_array(tmp_path, "growth", SHAPE, Layout((5, 4), (12, 8), "float32", "shuffle"), 0, {}, ("time", "cell"))


@pytest.mark.parametrize("values", [np.arange(5, dtype="int32"), np.zeros((2, 3)), np.array(4, "int32"), np.array(["north", "süd"])])
def test_a_coordinate_is_one_chunk_that_zarr_reads(tmp_path: Path, values: np.ndarray) -> None:
    write_small(tmp_path, "axis", values, {"units": "1"}, ("x", "y")[: values.ndim])
    array = zarr.open_array(tmp_path / "axis", mode="r")
    np.testing.assert_array_equal(array[...], values)
    files = [path for path in (tmp_path / "axis").rglob("*") if path.is_file()]
    assert len(files) == 2


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "progress.json"
    write_durable(path, b"old")
    with disk_of(2), pytest.raises(NoSpaceError):
        write_durable(path, b"newer")
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["progress.json"]
