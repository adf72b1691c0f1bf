"""Loops compute what they say; nothing is said of how fast."""

import json
import os
import re

import jsonschema
import numpy as np
import pytest
from msgspec.structs import replace

from steppe.errors import Mistake
from steppe.measure import Document, check_cell, measure_processor, rates_text
from steppe.measure.processor import processor
from steppe.measure.processor.arithmetic import ADDEND, DEPTH, FACTOR, FUNCTIONS, loop_of, multiply_add_of
from steppe.measure.processor.cores import Cores
from steppe.measure.processor.streams import add, chase, copy, gather, ring, scale, triad
from steppe.measure.records.document import plain_values
from steppe.measure.timing.system import addresses
from tests.comm.mpis import ROOT
from tests.measure.made import series_of

ALLOWED = sorted(os.sched_getaffinity(0))


@pytest.mark.parametrize(("loop", "expected"), [(copy, 2.0), (scale, 6.0), (add, 5.0), (triad, 11.0)], ids=lambda one: str(one)[:12])
def test_streams_compute_what_they_say(loop, expected):
    a, b, c = (np.full(1_001, 1.0 + i) for i in range(3))
    loop(addresses(), a[:1_000], b[:1_000], c[:1_000])
    np.testing.assert_array_equal(a[:1_000], expected)
    assert a[1_000] == 1.0


def test_a_ring_comes_by_every_line_once_and_in_no_order():
    links = np.zeros((4_096, 8), np.int64)
    ring(links, 1)
    line, seen = 0, []
    for _ in range(4_096):
        line = int(chase(links, line, 1))
        seen.append(line)
    assert sorted(seen) == list(range(4_096))
    assert line == 0 == chase(links, 0, 4_096)
    assert np.mean(np.abs(np.diff(seen)) <= 2) < 0.01


def test_independent_reads_come_by_all_lines():
    links = np.zeros((1_024, 8), np.int64)
    links[:, 0] = 1
    assert gather(links, 7, 500) == 500
    links[:512, 0] = 0
    assert 4_700 < gather(links, 7, 10_000) < 5_300


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_multiply_add_does_as_much_as_is_counted(real):
    run, x = multiply_add_of(real)
    expected = np.full(x.size, 0.5)
    run(3)
    for _ in range(3 * DEPTH):
        expected = FACTOR * expected + ADDEND
    np.testing.assert_allclose(x, expected, rtol=2e-5)
    assert 12 * 4 <= x.size <= 12 * 16


@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_of_functions_are_those_functions(name):
    loop_of(name, np.float32)(2)  # looks at all values itself


def test_threads_stand_on_a_core_each_and_begin_together():
    with Cores(ALLOWED) as cores:
        stood = []
        passed = cores.time([lambda: stood.append(os.sched_getaffinity(0))] * cores.size)
        assert sorted(stood, key=min) == [{core} for core in ALLOWED]
        assert 0 <= passed < 5
    assert os.sched_getaffinity(0) == set(ALLOWED)


def test_a_measurement_has_every_kernel_on_one_core_and_on_all(monkeypatch):
    monkeypatch.setattr(processor, "QUICK_BUDGET", 0.0)
    monkeypatch.setattr(processor, "largest_cache", lambda: 1 << 20)
    told = []
    document = measure_processor(check_cell(1e6, 100.0, 50.0, "float64"), True, lambda part, now: told.append(part), lambda: False)
    jsonschema.validate(plain_values(document), json.loads((ROOT / "docs" / "measure.schema.json").read_text()))
    found = {(one.operation, one.variant) for one in document.series}
    titles = {"1 core", f"{len(ALLOWED)} cores" if len(ALLOWED) > 1 else "1 core"}
    operations = {
        *processor.STREAMS,
        "random reads, each after the last",
        "random reads, independent",
        *(f"{name}, {real}" for name in ("multiply-add", *FUNCTIONS) for real in ("float32", "float64")),
    }
    assert found == {(name, title) for name in operations for title in titles}
    assert all(one.statistics.minimum > 0 for one in document.series)
    assert told[-1] == 1.0
    (roof,) = document.roofs
    assert f"1 M cells/s: {1e6 / roof.memory:.1%} of the" in rates_text(document)


def test_too_little_memory_is_said(monkeypatch):
    monkeypatch.setattr(processor, "host_memory", lambda what: 1_200 << 20)
    monkeypatch.setattr(processor, "largest_cache", lambda: 64 << 20)
    found = processor.Processor(quick=False)
    assert found.length == 100 << 20
    assert found.warnings == ["Arrays of 100 MiB are 1.6 times the largest cache, not 4: there is no more memory. Streams may be too fast."]


def test_a_model_stands_beside_the_most_cores_that_were_measured():
    def one(operation, size, work, title, time):
        return series_of("x", operation, title, size, np.full(30, time), 1, True, work=work, unit="flop")

    series = [
        one("triad", 24, 0, "1 core", 1e-9),
        one("triad", 48, 0, "2 cores", 1e-9),
        one("multiply-add, float32", 0, 90, "2 cores", 1e-9),
        one("multiply-add, float64", 0, 40, "2 cores", 1e-9),
    ]
    roof = processor.roof_of(processor.Cell(1e8, 100.0, 80.0, "float64"), series)
    assert (roof.memory, roof.arithmetic) == pytest.approx((48e9 / 100, 40e9 / 80))


def test_the_text_names_two_times_of_a_kernel_and_once_what_is_suspect():
    times = np.where(np.arange(200) % 2, 2e-4, 1e-4) * (1 + 1e-3 * np.random.default_rng(1).standard_normal(200))
    copy_, file = series_of("memory", "copy", "1 core", 24, times, 1, True), series_of("files", "read", "cold", 512, times, 1, True)
    (sentence,) = copy_.warnings
    assert re.fullmatch(r"In 50% of the blocks the time is .* us instead of .* us\.", sentence)
    files = [replace(file, bytes=size, warnings=[sentence, "Suspect: fast."]) for size in (512, 1024)]
    clock = {"resolution": 1e-9, "cost": 1e-8, "away": 0.0}
    machine = {"cpu": "x", "allowed": [0], "cores": 1, "memory": 2.0**30}
    said = rates_text(Document(made="2026-01-01", machine=machine, clock=clock, series=[copy_, *files])).splitlines()
    assert f"1 core: {sentence}" in said
    assert [f"cold, {size} bytes: {sentence}" in said for size in (512, 1024)] == [True, True]
    assert said.count("cold: Suspect: fast.") == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((1e6, None, None), "--cell-bytes and --cell-flops must be given, too"),
        ((None, 8.0, 3.0), "--cells must be given, too"),
        ((1e6, -1.0, 3.0), "--cell-bytes -1 must be above 0."),
        ((float("nan"), 1.0, 3.0), "--cells nan must be above 0."),
    ],
)
def test_a_model_that_is_not_described_whole_is_refused(given, said):
    with pytest.raises(Mistake, match=said):
        check_cell(*given, "float64")
