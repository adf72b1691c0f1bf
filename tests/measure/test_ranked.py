"""Ranks read and write real files; nothing is said of how fast."""

import json
from itertools import pairwise

import jsonschema
import numpy as np

from steppe.measure import read_document
from steppe.measure.files.rank_output import APART, COLUMNS, FIELDS, GATHERED, LAYERS, ROWS, cuts, part_of, volume
from steppe.measure.files.rank_output import PRIVATE as OWN
from steppe.measure.files.ranked import ALONE, BROADCAST, PRIVATE, SHARED, TOGETHER, pattern
from steppe.measure.files.ranked_session import QUICK_REQUESTS, numbers_of
from steppe.measure.report.html_report import report_html
from steppe.measure.report.rate_text import by_ranks
from tests.comm.mpis import ROOT, each_mpi
from tests.measure.ranks import SCHEMA, measured, printed, refused, two_cores
from tests.measure.test_one_process import can_forget
from tests.small_disk import mount_small_disk

MIB = 1 << 20
STORED = ROOT / "tests" / "measure" / "table_23.json"


def test_the_output_is_that_of_the_paper_and_every_rank_has_its_rows():
    assert volume(FIELDS) == 4 * 32**3 * 66 * 4
    for ranks in (1, 2, 3, 4, 7, 64):
        whole = np.concatenate([part_of(2, low, high) for low, high in pairwise(cuts(ranks))], axis=2)
        np.testing.assert_array_equal(whole, np.arange(2 * LAYERS * ROWS * COLUMNS).reshape(whole.shape))


def test_no_two_places_of_a_file_hold_the_same():
    held = pattern(0, 1 << 20).view(np.uint64)
    assert np.unique(held).size == held.size
    np.testing.assert_array_equal(pattern(8_000, 800), pattern(0, 16_000)[8_000:8_800])


def test_ranks_are_doubled_until_there_are_no_more():
    assert [numbers_of(n) for n in (1, 2, 3, 6, 8)] == [[1], [1, 2], [1, 2, 3], [1, 2, 4, 6], [1, 2, 4, 8]]


@two_cores
def test_all_methods_are_measured_on_one_rank_and_on_two_and_nothing_is_left(tmp_path):
    place, path = tmp_path / "disk", tmp_path / "a.json"
    place.mkdir()
    html = str(tmp_path / "a.html")
    said = measured("files", str(place), "--quick", "--size", "1", "--json", str(path), "--html", html, limit=280)
    assert list(place.iterdir()) == []
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    document = read_document(path)
    assert document.complete
    found = {(one.operation, one.variant, one.p) for one in document.series}
    assert len(found) == len(document.series)
    probe = tmp_path / "probe"
    probe.write_bytes(bytes(MIB))
    states = ("cold", "warm") if can_forget(probe) else ("warm",)
    reads = {
        (f"read, {state}, by {size} bytes", method, p)
        for state in states
        for size in QUICK_REQUESTS
        for method in (ALONE, TOGETHER, BROADCAST)
        for p in (1, 2)
    }
    writes = {
        (f"write, {until}, by {MIB} bytes", how, p) for until in ("into memory", "durable") for how in (PRIVATE, SHARED) for p in (1, 2)
    }
    outputs = {
        (f"output, {until}", way, p)
        for until in ("seen by the computation", "until durable")
        for way, p in ((GATHERED, 1), (GATHERED, 2), (OWN, 1), (OWN, 2), (APART, 2))
    }
    assert found == reads | writes | outputs
    assert all(one.statistics.minimum > 0 and len(one.passes) == 5 for one in document.series)
    assert f"files of ranks: read, {states[0]}, by 58032 bytes" in said
    assert "Files of many ranks" in (tmp_path / "a.html").read_text()


LIES = """
import os
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.comm.team import Team
from steppe.errors import Failure
from steppe.measure.files.ranked import Ranked
from pathlib import Path
raw = open_raw(find_launch())
ranked = Ranked(Team(raw), Path(os.environ["PLACE"]), 80_000, 8_000, 0.0)
ranked.prepare()
if raw.rank == 0:
    with ranked.path.open("r+b") as file:
        file.seek(40_000)
        file.write(b"another")
raw.barrier()
for method in ("each reads it all", "all read together", "one reads and broadcasts"):
    try:
        ranked.read("warm", method)
    except Failure as failure:
        print(failure)
raw.close()
"""


@two_cores
@each_mpi
def test_bytes_that_are_not_those_of_the_file_are_found_by_every_method(mpi, tmp_path):
    said = printed(mpi, 2, "-c", LIES, PLACE=str(tmp_path))
    for method in (ALONE, TOGETHER, BROADCAST):
        assert said.count(f"{method}: 1 of 10 requests did not bring what stands in the file.") == 2


@two_cores
def test_too_little_room_and_a_folder_that_is_none_end_all_ranks_with_one_sentence(tmp_path):
    undo = mount_small_disk(tmp_path / "disk", "6m")
    try:
        assert "6.0 MiB free and files need 11.0 MiB" in refused("files", str(tmp_path / "disk"), "--quick", "--size", "4")
        assert list((tmp_path / "disk").iterdir()) == []
    finally:
        undo()
    assert 'nowhere" is no directory' in refused("files", str(tmp_path / "nowhere"), "--quick")


@two_cores
def test_results_that_cannot_be_written_are_refused_on_all_ranks_before_anything_is_measured(tmp_path):
    assert "there is no folder" in refused("files", str(tmp_path), "--json", str(tmp_path / "no" / "a.json"))
    assert list(tmp_path.iterdir()) == []


@two_cores
def test_a_disk_in_memory_is_only_measured_warm(tmp_path):
    undo = mount_small_disk(tmp_path / "disk", "60m")
    try:
        path = tmp_path / "a.json"
        measured("files", str(tmp_path / "disk"), "--quick", "--passes", "1", "--size", "1", "--json", str(path))
    finally:
        undo()
    document = read_document(path)
    assert document.warnings == ["Reads could not be made cold: 256 pages of the file stay in memory on this file system."]
    assert not [one for one in document.series if "cold" in one.operation]


def test_the_stored_table_of_a_paragon_is_drawn_and_told():
    document = read_document(STORED)
    said = by_ranks(document.series).splitlines()
    titles = " ".join(said[0].split())
    assert titles == "30442628 bytes, ms each reads it all +- 95 % all read together +- 95 % one reads and broadcasts +- 95 %"
    assert [line.split()[0] for line in said[1:]] == [str(p) for p in (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96)]
    assert said[1].split()[2:] == ["2.634e+04", "-", "2.585e+04", "-", "2.61e+04", "-"]
    assert said[3].split()[2] == "1.438e+05"  # each for itself: 144 s on 4
    assert said[-1].split()[2:] == ["5.659e+04", "-", "2.914e+04", "-"]  # the broadcast: 29 s on 96
    html = report_html(document)
    assert "read, all ten input files [s]" in html
    assert html.count("<svg") == 1
    for method in (ALONE, TOGETHER, BROADCAST):
        assert method in html
