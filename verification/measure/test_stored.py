"""Measurements of others, stored as documents, beside what they were taken from. Data: ../shared/reference; Rezny 1994, tables 13, 23."""

import csv

from tests.measure.test_ranked import STORED
from tests.shared import shared_path

from steppe.measure import read_document
from steppe.measure.files.ranked import ALONE, BROADCAST, TOGETHER

COLUMNS = {"unix_file_io_s": ALONE, "parallel_file_io_s": TOGETHER, "broadcast_s": BROADCAST}


def rows_of(name):
    with shared_path(f"reference/{name}").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_stored_table_of_a_paragon_is_the_published_one(measured):
    published = {
        (method, int(row["nodes"])): float(row[column])
        for row in rows_of("advise_table23_parallel_read.csv")
        for column, method in COLUMNS.items()
        if row[column]
    }
    series = read_document(STORED).series
    assert {(one.variant, one.p): round(float(one.times()[0]), 2) for one in series} == published
    assert {one.bytes for one in series} == {sum(int(row["uncompressed_bytes"]) for row in rows_of("advise_table13_input_files.csv"))}
    for one in series:
        if (one.variant, one.p) in ((ALONE, 1), (ALONE, 4), (BROADCAST, 1), (BROADCAST, 96)):
            measured("Paragon, table 23", f"{one.variant}, {one.p} nodes [s]", one.statistics.median, f"{published[one.variant, one.p]}")
