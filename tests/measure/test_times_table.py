import numpy as np
import pytest

from steppe.errors import Mistake
from steppe.measure import fit, read_table, remarks_of

GOOD = "bytes,t_us\n0,10\n8,11\n64,17\n"


def written(path, text):
    path.write_text(text)
    return path


def test_repeats_become_medians_with_their_errors(tmp_path):
    lines = "".join(f"{n},{2 * n + 10 + d}\n" for n in (1, 2, 4) for d in (-1, 0, 0, 0, 1, 2, 50))
    (series,) = read_table(written(tmp_path / "a.csv", "n,t_ms\n" + lines))
    assert series.points.known
    np.testing.assert_allclose(series.points.t, np.array([12, 14, 18]) * 1e-3)
    assert series.points.repeats.tolist() == [7, 7, 7]
    own = 1.4826 / np.array([12, 14, 18])  # of a time; 7 repeats have 7 % of the weight of 100
    mixed = np.sqrt(0.07 * own**2 + 0.93 * np.mean(own**2))
    np.testing.assert_allclose(series.points.sigma, 1.2533 * mixed * series.points.t / np.sqrt(7), rtol=1e-12)


def test_other_columns_tell_series_apart_and_units_stand_in_names_or_are_given(tmp_path):
    text = "operation,p,n,time\nbroadcast,2,8,1\nbroadcast,4,8,2\nscan,2,8,3\n"
    first, second = read_table(written(tmp_path / "a.csv", text), unit="us")
    assert (first.name, second.name) == ({"operation": "broadcast"}, {"operation": "scan"})
    assert first.points.p.tolist() == [2, 4]
    assert first.points.t.tolist() == [1e-6, 2e-6]
    assert not first.points.known


def test_empty_cells_leave_no_blank_in_titles(tmp_path):
    """A spreadsheet may end each line with a comma, and one of the libraries may have no name."""
    (first, second) = read_table(
        written(tmp_path / "a.csv", "library,operation,bytes,t_us,\n,scan,0,10,\n,scan,8,11,\nA,scan,0,1,\nA,scan,8,2,\n")
    )
    assert [fit(one.points, one.name).title for one in (first, second)] == ["scan", "A scan"]
    assert fit(second.points, second.name).environment == "A"


def test_first_messages_and_packing_stand_beside(tmp_path):
    (series,) = read_table(written(tmp_path / "a.csv", "bytes,first_us,average_us,pack_us\n0,20,10,\n100,400,20,50\n1000,70,100,500\n"))
    assert series.first_to_later == [(0.0, 2.0), (100.0, 20.0), (1000.0, 0.7)]
    assert series.pack_rate == pytest.approx(2e6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("11", "eleven"), 'line 3: t_us "eleven" is no number'),
        (GOOD.replace("11", "-11"), "line 3: t_us = -11 must be above 0"),
        (GOOD.replace("64,", "-64,"), "line 4: bytes = -64 must be 0 or more"),
        (GOOD.replace("t_us", "t"), "does not say the unit of column t. Name it t_us, t_ms or t_s, or give --unit us."),
        (GOOD.replace(",", ";"), "has the column bytes;t_us alone. Separate the columns by commas"),
        (GOOD.replace("t_us", "x"), "has the columns bytes, x, and none of times"),
        (GOOD.replace("bytes", "x"), "none of sizes (n or bytes) or ranks (p)"),
        (GOOD + "8\n", "line 5: 1 values, the header names 2 columns."),
        ("p,n_kb,t_us\n2,1,10\n", 'column n_kb begins as a size does, but "kb" is no unit of it. Known: b, bytes.'),
        ("p,n,t_min\n2,1,10\n", 'column t_min begins as a time does, but "min" is no unit of it. Known: s, ms, us, ns.'),
        ("p,n,bytes,t_us\n2,1,1,10\n", "has 2 columns of sizes: n, bytes. Keep one of them."),
        ("p,ranks,n,t_us\n2,2,1,10\n", "has 2 columns of ranks: p, ranks. Keep one of them."),
        ("p,n,t_us,t_ms\n2,1,10,10\n", "has 2 columns of times: t_us, t_ms. Keep one of them."),
        ("kind,n,t_us,kind\na,1,10,b\n", "has two columns kind. Keep one of them."),
        ("n,t_us,first\n1,10,20\n", "does not say the unit of column first. Name it first_us"),
        ("p,n,t_us\n2,1,10\n2.5,1,10\n", "line 3: p = 2.5 must be a whole number of ranks."),
        ("bytes,t_us\n", "holds a header and no times"),
        ("", "holds nothing"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_line(tmp_path, text, said):
    with pytest.raises(Mistake) as mistake:
        read_table(written(tmp_path / "a.csv", text))
    assert said in str(mistake.value)


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    (series,) = read_table(written(tmp_path / "a.csv", "\ufeff" + GOOD))
    assert (series.name, series.has_sizes) == ({}, True)


def test_a_unit_that_is_none_and_a_file_that_is_not_there_are_named(tmp_path):
    with pytest.raises(Mistake, match=r'--unit "uss" is no unit of time\. Did you mean "us"\?'):
        read_table(written(tmp_path / "a.csv", GOOD), unit="uss")
    with pytest.raises(Mistake, match="cannot be read as CSV: No such file"):
        read_table(tmp_path / "no.csv")


def test_a_unit_that_no_column_needs_is_refused(tmp_path):
    with pytest.raises(Mistake, match=r'--unit ms is not used: column t_us of ".*" names its own unit\. Leave out --unit\.'):
        read_table(written(tmp_path / "a.csv", GOOD), unit="ms")
    (series,) = read_table(written(tmp_path / "a.csv", "n,t_us,first\n1,10,0.02\n"), unit="ms")  # a column that needs it
    assert series.first_to_later == [(1.0, pytest.approx(2.0))]


def test_a_column_of_a_known_meaning_may_name_its_unit_and_others_only_begin_alike(tmp_path):
    (series,) = read_table(written(tmp_path / "a.csv", "p_state,n_bytes,t_ns\nhigh,1000,10\n"))
    assert (series.name, series.points.n.tolist()) == ({"p_state": "high"}, [1000.0])


def test_a_table_without_sizes_says_that_they_are_taken_as_0(tmp_path):
    for text, said in (("p,t_us\n2,10\n4,20\n8,30\n", True), ("p,n,t_us\n2,0,10\n4,0,20\n8,0,30\n", False)):
        series = read_table(written(tmp_path / "a.csv", text))
        remarks = remarks_of(series, [fit(series[0].points)])
        assert ("no column of sizes (n or bytes): every message is taken to have 0 bytes." in remarks) == said


def said_of(path, text):
    series = read_table(written(path / "a.csv", text))
    return remarks_of(series, [fit(one.points, one.name) for one in series])


def test_an_operation_of_another_name_is_named_with_those_that_are_compared(tmp_path):
    rows = "".join(f"{name},8,1\n{name},64,2\n" for name in ("bcast", "scan"))
    assert "Not compared with other operations: bcast. Known: point-to-point, broadcast, " in said_of(tmp_path, "operation,n,t_us\n" + rows)
    assert "Not compared" not in said_of(tmp_path, "library,n,t_us\n" + rows)


def test_ranks_and_sizes_that_seem_to_have_changed_places_are_named(tmp_path):
    rows = "".join(f"{p},{n},{n + p}\n" for p in (8, 64, 512) for n in (2, 4, 8))
    assert "make sure that the columns of ranks and of sizes" in said_of(tmp_path, "p,n,t_us\n" + rows)
    assert "make sure" not in said_of(tmp_path, "n,p,t_us\n" + rows)
