"""Real files on a real disk; nothing is said of how fast."""

import json
import os
import subprocess

import jsonschema
import numpy as np
import pytest

from steppe.errors import Mistake
from steppe.measure import measure_files, rates_text
from steppe.measure.files.disk import PAGE, open_direct, put_out, resident_pages
from steppe.measure.files.one_process import QUICK_CHUNKS, _suspect, codecs, maps
from steppe.measure.records.document import plain_values
from steppe.measure.timing.rounds import measure_rounds, take_blocks
from steppe.measure.timing.system import read_blocks, steady_clock, write_durably
from tests import on_disk
from tests.comm.mpis import ROOT
from tests.measure.made import series_of
from tests.small_disk import mount_small_disk

tmp_path = on_disk.tmp_path

MIB = 1 << 20


def measure(directory, **more):
    return measure_files(
        directory,
        quick=True,
        size=more.get("size", 4),
        tell=lambda part, now="": None,
        stop=more.get("stop", lambda: False),
        passes=more.get("passes", 2),
    )


@pytest.fixture
def fast(monkeypatch):
    """Series of a few blocks."""
    monkeypatch.setattr("steppe.measure.files.one_process.QUICK_BUDGET", 0.0)


@pytest.fixture
def clock():
    """Of the system's functions: their addresses, where the clock writes, and the address of that."""
    return steady_clock()


def can_forget(path) -> bool:
    with path.open("r+b") as file:
        return put_out(file.fileno(), path.stat().st_size) == 0


def test_cold_is_cold(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(100 * PAGE + 1))
    if not can_forget(path):
        pytest.skip("this file system keeps its files in memory")
    with path.open("r+b") as file:
        assert resident_pages(file.fileno(), 100 * PAGE + 1) == 0
        file.read(PAGE)
        assert 1 <= resident_pages(file.fileno(), 100 * PAGE + 1) <= 101
        os.pread(file.fileno(), 101 * PAGE, 0)
        assert resident_pages(file.fileno(), 100 * PAGE + 1) == 101
        assert put_out(file.fileno(), 100 * PAGE + 1) == 0


def test_requests_read_what_is_there_and_failures_are_counted(tmp_path, clock):
    path = tmp_path / "file"
    held = np.random.default_rng(1).integers(0, 256, 10_000, dtype=np.uint8)
    path.write_bytes(held.tobytes())
    found, times = np.zeros(1_000, np.uint8), np.empty(5)
    with path.open("rb") as file:
        arguments = (np.int64(file.fileno()), np.int64(found.ctypes.data))
        places, sizes = np.arange(10, dtype=np.int64) * 1_000, np.full(10, 1_000, np.int64)
        assert read_blocks(clock, arguments, (places, sizes), times, 2, 0.0) == 0
        np.testing.assert_array_equal(found, held[9_000:])
        assert (times > 0).all()
        assert read_blocks(clock, arguments, (places + 500, sizes), times, 2, 0.0) == 1


def test_what_is_written_durably_is_there_and_takes_longer_until_it_is(tmp_path, clock):
    held, both = np.arange(1_000, dtype=np.uint8), np.empty(2)
    with (tmp_path / "file").open("w+b") as file:
        places = np.arange(3, dtype=np.int64) * 1_000
        assert write_durably(clock, (np.int64(file.fileno()), np.int64(held.ctypes.data)), places, np.int64(1_000), both) == 0
    assert (tmp_path / "file").read_bytes() == held.tobytes() * 3
    assert 0 < both[0] < both[1]


@pytest.mark.parametrize("codec", codecs(), ids=lambda codec: codec.name)
def test_maps_come_back_from_every_codec_and_are_smaller_in_it(codec):
    chunk = maps(100_000)
    coded = codec.compress(chunk)
    out = np.empty_like(chunk)
    codec.decompress(coded, out)
    np.testing.assert_array_equal(out, chunk)
    assert 0.05 < len(coded) / chunk.nbytes < 0.6


def test_a_quick_measurement_has_reads_writes_and_codecs_and_leaves_nothing(tmp_path, fast):
    document = measure(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert document.complete
    jsonschema.validate(plain_values(document), json.loads((ROOT / "docs" / "measure.schema.json").read_text()))
    found = {(one.operation, one.variant, one.bytes): one for one in document.series}
    assert len(found) == len(document.series)
    probe = tmp_path / "probe"
    probe.write_bytes(bytes(MIB))
    states = [*(["cold"] if can_forget(probe) else []), "warm", *(["direct"] if open_direct(probe) is not None else [])]
    reads = {key for key in found if key[0] == "read"}
    assert reads == {
        ("read", f"{order}, {state}", size)
        for order in ("sequential", "permuted")
        for state in states
        for size in (4096, 58_032, MIB)
        if state != "direct" or size % PAGE == 0
    }
    assert {(key[1], key[2]) for key in found if key[0] == "decompress"} == {
        (codec.name, size) for codec in codecs() for size in QUICK_CHUNKS
    }
    for one in document.series:
        assert one.times().size == one.statistics.n == sum(one.passes) >= 4
        assert len(one.passes) == 2
        assert one.statistics.minimum > 0
    assert "files: read" in (said := rates_text(document))
    assert "codecs: decompress" in said


def test_all_series_are_gone_through_as_often_as_is_said(tmp_path, fast):
    assert {len(one.passes) for one in measure(tmp_path, passes=1).series} == {0}  # of one pass there are no parts
    assert {len(one.passes) for one in measure(tmp_path, passes=3).series} == {3}


def test_a_disk_in_memory_is_never_called_cold(tmp_path, fast):
    undo = mount_small_disk(tmp_path / "disk", "40m")
    try:
        document = measure(tmp_path / "disk")
    finally:
        undo()
    (warning,) = document.warnings
    assert warning == "Reads could not be made cold: 1024 of 1024 pages of the file stay in memory on this file system."
    assert document.machine["filesystem"]["kind"] == "tmpfs"
    assert not [one for one in document.series if "cold" in one.variant]
    said = rates_text(document)
    assert said.startswith(f"WARNING: {warning}\n")
    assert "sequential, warm (could not be made cold)" in said


def test_too_little_room_names_both_numbers(tmp_path):
    undo = mount_small_disk(tmp_path / "disk", "6m")
    try:
        with pytest.raises(Mistake, match=r"has 6\.0 MiB free and files need 8\.0 MiB\. Make room, give another"):
            measure(tmp_path / "disk")
        assert list((tmp_path / "disk").iterdir()) == []
    finally:
        undo()


def test_a_directory_in_which_nothing_can_be_written_is_named(tmp_path):
    undo = mount_small_disk(tmp_path / "disk", "6m")
    try:
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path / "disk")], check=True)
        with pytest.raises(Mistake, match=r'Nothing can be written in ".*disk": Read-only file system'):
            measure(tmp_path / "disk")
    finally:
        undo()


def test_a_stop_leaves_what_was_measured(tmp_path, fast):
    asked = iter([False, False, True])
    document = measure(tmp_path, stop=lambda: next(asked))
    assert not document.complete
    assert 1 <= len(document.series) <= 2
    assert list(tmp_path.iterdir()) == []


def read_of(variant, time):
    return series_of("files", "read", variant, MIB, np.full(30, time), 1, True)


def test_reads_that_are_too_fast_for_a_disk_are_suspect():
    honest = [read_of("sequential, cold", 1e-3), read_of("sequential, warm", 1e-4), read_of("sequential, direct", 1e-3)]
    _suspect(honest)
    assert not [text for one in honest for text in one.warnings]
    cached = [read_of("permuted, cold", 1.1e-4), read_of("permuted, warm", 1e-4), read_of("sequential, cold", 2e-4)]
    _suspect([*cached, read_of("sequential, direct", 1e-3)])
    assert cached[0].warnings == ["Suspect: nearly as fast as from memory; something below the kernel holds the file."]
    assert cached[2].warnings == ["Suspect: 5.0 times the fastest direct read; something below the kernel holds the file."]


def test_blocks_are_taken_until_the_median_is_known_or_the_time_is_over():
    asked = []

    def steady(wanted):
        asked.append(wanted)
        return np.full(wanted, 1.0)

    times, known = take_blocks(steady, 0.02, 10.0)
    assert (times.size, known, asked) == (30, True, [30])
    random = np.random.default_rng(1)
    times, known = take_blocks(lambda wanted: np.exp(random.normal(size=1)), 1e-6, 0.0)
    assert (times.size, known) == (2, False)
    times, known = take_blocks(lambda wanted: np.exp(random.normal(size=wanted)), 1e-6, 60.0)
    assert (times.size, known) == (1_920, False)


def test_rounds_that_disagree_leave_a_wide_interval():
    rounds = iter([1e-3, 2e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3])
    steady = np.random.default_rng(1)

    def task(name):
        return lambda: [series_of("files", "read", name, 8, next(rounds) * np.exp(0.01 * steady.standard_normal(60)), 1, True)]

    told = []
    (steadily, changing), complete = measure_rounds([task("a"), task("b")], 0.02, lambda *said: told.append(said), lambda: False)
    # a: 1, 1, 1, 1, 1 ms; b: 2, 1, 1, 1, 1 ms
    assert complete
    assert told[-1] == (1.0, "read, b")
    assert (steadily.statistics.n, changing.statistics.n) == (300, 300)
    assert steadily.passes == changing.passes == [60] * 5
    assert (steadily.converged, changing.converged) == (True, False)
    assert changing.statistics.half_width > 10 * steadily.statistics.half_width
    assert measure_rounds([task("c")], 0.02, lambda *said: told.append(said), lambda: True) == ([], False)
