"""ByteRecords of a file: what they are, which bytes they have, and their copies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.arrays.byte_records import ByteRecords, copy_records, count_written, cut, first_overlap, flat_bytes, merged, records_of
from steppe.errors import ArrayError

SIZE = 40
RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=8)


def records(ranges: list[tuple[int, int]]) -> ByteRecords:
    table = np.array(ranges, np.int64).reshape(-1, 2)
    return ByteRecords(np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1]))


def bytes_of(some: ByteRecords) -> set[int]:
    return {byte for at, count in zip(*map(np.ndarray.tolist, some), strict=True) for byte in range(at, at + count)}


@pytest.mark.parametrize(
    ("offsets", "lengths", "says"),
    [
        ([0, -1], 4, 'Record 1 of "x" has 4 bytes from byte -1 on, but the file has 40 bytes.'),
        ([0, 36, 37], 4, "Record 2 of .* has 4 bytes from byte 37 on"),
        ([1], [-2], "Record 0 of .* has -2 bytes from byte 1 on"),
        ([41], 0, "from byte 41 on"),
        (np.array([2**63 - 1]), 8, "from byte 9223372036854775807 on"),
        (np.array([2**64 - 1], np.uint64), 8, "from byte -1 on"),
        ([0.5], 4, 'Offsets of records of "x" are float64. Give integers, in bytes.'),
        ([0], [1.5], "Lengths of records"),
        ([0, 1], [1, 2, 3], r"have offsets \(2,\) and lengths \(3,\). Give one row of each, or one length."),
        ([[0, 1]], 1, r"have offsets \(1, 2\)"),
    ],
)
def test_a_record_that_does_not_lie_in_the_file_is_named(offsets, lengths, says):
    with pytest.raises(ArrayError, match=says):
        records_of(offsets, lengths, SIZE, "x")


def test_one_length_may_stand_for_all_and_no_record_is_one_range():
    found = records_of([30, 0, 10], 10, SIZE, "x")
    assert [each.tolist() for each in (found.lengths, found.places, found.stops)] == [[10, 10, 10], [0, 10, 20], [40, 10, 20]]
    assert not found.are_one_range
    assert records_of(np.array([0, 10, 10], np.uint32), [10, 0, 30], SIZE, "x").are_one_range
    assert records_of([], 4, SIZE, "x").are_one_range
    assert records_of([], [], SIZE, "x").total == 0


def test_data_are_flat_bytes_without_a_copy_where_that_can_be():
    table = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert np.shares_memory(flat_bytes(table), table)
    assert flat_bytes(table[:, 1:3]).view(np.int32).tolist() == [1, 2, 5, 6, 9, 10]
    for empty in (b"", np.empty(0)):
        assert flat_bytes(empty).size == 0
    assert flat_bytes(bytearray(b"ab")).tolist() == [97, 98]
    with pytest.raises(ArrayError, match="Data of object cannot be written"):
        flat_bytes(np.array([None]))


@given(RANGES, st.integers(1, 50))
def test_records_are_cut_where_a_part_ends(ranges, part):
    some = records(ranges)
    pieces, places, numbers = cut(some, part)
    assert (pieces.lengths > 0).all()
    assert (pieces.offsets >= 0).all()
    assert (pieces.stops <= part).all()
    data = np.empty(some.total, np.int64)
    for at, place, count, number in zip(pieces.offsets, places, pieces.lengths, numbers, strict=True):
        data[place : place + count] = number * part + np.arange(at, at + count)
    assert data.tolist() == [byte for at, count in ranges for byte in range(at, at + count)]


@given(RANGES)
def test_merged_records_are_the_same_bytes_as_disjoint_ranges_in_order(ranges):
    found = merged([records(ranges[:3]), records(ranges[3:])])
    assert bytes_of(found) == bytes_of(records(ranges))
    assert (found.lengths > 0).all()
    assert (found.offsets[1:] > found.stops[:-1]).all()


@given(st.lists(RANGES, min_size=1, max_size=4))
def test_the_first_bytes_that_two_ranks_have_are_found(parts):
    found = first_overlap([merged([records(ranges)]) for ranges in parts])
    owned = [bytes_of(records(ranges)) for ranges in parts]
    common = {byte for one, a in enumerate(owned) for b in owned[one + 1 :] for byte in a & b}
    if not common:
        assert found is None
        return
    assert found is not None
    one, other, start, last = found
    assert one < other
    assert start == min(common)
    assert set(range(start, last + 1)) <= owned[one] & owned[other]


@given(RANGES, st.booleans())
def test_records_are_copied_in_order_compiled_as_in_python(ranges, compiled):
    some, source = records(ranges), np.random.default_rng(1).integers(1, 255, SIZE, np.uint8)
    copy = copy_records if compiled else copy_records.function
    expected, target, back = np.zeros(SIZE, np.uint8), np.zeros(SIZE, np.uint8), np.zeros(some.total, np.uint8)
    data = np.concatenate([np.empty(0, np.uint8), *(source[at : at + count] for at, count in ranges)])
    for at, count in ranges:
        expected[at : at + count] = source[at : at + count]
    copy(len(ranges), some.places, some.offsets, some.lengths, data, target)
    assert (target == expected).all()
    copy(len(ranges), some.offsets, some.places, some.lengths, source, back)
    assert (back == data).all()


@given(RANGES, st.integers(0, 5), st.booleans())
def test_each_block_counts_its_bytes(ranges, shift, compiled):
    some, written = records(ranges), np.zeros((SIZE >> shift) + 1, np.int64)
    (count_written if compiled else count_written.function)(len(ranges), shift, some.offsets, some.lengths, written)
    expected = np.zeros_like(written)
    for at, count in ranges:
        for byte in range(at, at + count):
            expected[byte >> shift] += 1
    assert (written == expected).all()
