import json
from pathlib import Path

import numpy as np
import pytest

from steppe.errors import Failure, Mistake, NoSpaceError
from steppe.measure import (
    Document,
    find_weaknesses,
    fit,
    fit_again,
    predict,
    read_document,
    record_fit,
    write_document,
)
from steppe.measure.records.document import document_schema, plain_values
from steppe.measure.records.measured import decode, encode
from tests.measure.made import points_of
from tests.small_disk import mount_small_disk

STORED = Path(__file__).parent / "measure_v1.json"
PUBLISHED = Path(__file__).parents[2] / "docs" / "measure.schema.json"


@pytest.fixture(scope="module")
def found():
    return fit(points_of(lambda p: 40 * p, lambda p: 1.05 + 0 * p), {"environment": "A", "operation": "scan"})


@pytest.fixture(scope="module")
def document(found):
    return Document(made="2026-01-01T00:00:00+00:00", fits=[record_fit(found)], weaknesses=find_weaknesses([found]))


def test_a_fit_that_was_written_predicts_what_it_did(document, found, tmp_path):
    write_document(document, tmp_path / "a.json")
    (record,) = read_document(tmp_path / "a.json").fits
    assert predict(fit_again(record), 1000, 32) == predict(found, 1000, 32)
    assert record.pieces[0].t0.family == "linear"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_the_band_of_a_law_holds_it_and_is_that_of_its_predictions(found, document):
    law, kept = found.pieces[0].t0, document.fits[0].pieces[0].t0
    p, low, high = np.array(kept.band).T
    assert (p[0], p[-1]) == (2.0, 16.0)
    assert (low <= law.curve(p)).all()
    assert (law.curve(p) <= high).all()
    assert (low[-1], high[-1]) == pytest.approx(np.quantile(law.draws(16.0), (0.025, 0.975)))


def test_the_times_of_a_round_trip_are_not_halved_twice(tmp_path):
    found = fit(points_of(lambda p: 40 * p, lambda p: 1.05 + 0 * p), protocol="pingpong")
    again = fit_again(record_fit(found))
    np.testing.assert_array_equal(again.pieces[0].lines.t0, found.pieces[0].lines.t0)


def test_the_published_schema_is_that_of_the_code():
    assert json.loads(PUBLISHED.read_text()) == document_schema()


def test_the_stored_file_of_version_1_stays_readable():
    document = read_document(STORED)
    assert document.schema == "steppe.measure/1"
    (series,) = document.series
    assert series.times().tolist() == [0.5, 0.25, 0.125]
    assert (series.start, series.placement, document.clock, document.recipe) == ("barrier", "", {"resolution": 2e-08}, "")
    (record,) = document.fits
    assert fit_again(record).pieces[0].t0.curve.family.name == record.pieces[0].t0.family == "linear"
    assert document.weaknesses[0].sentence.startswith("A scan: latency grows")


def test_what_a_newer_clock_says_is_kept_and_a_wrong_one_refused(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"schema": "steppe.measure/1", "made": "2026-01-01", "clock": {"cost": 1e-8, "new": 3}}')
    assert read_document(path).clock == {"cost": 1e-8, "new": 3}
    path.write_text('{"schema": "steppe.measure/1", "made": "2026-01-01", "clock": {"offsets": [{"rank": "x"}]}}')
    with pytest.raises(Mistake, match=r"is damaged or changed at clock\.offsets\.0\.rank"):
        read_document(path)


def test_samples_keep_seven_digits():
    times = np.array([1.23456789e-6, 5e-9])
    np.testing.assert_allclose(decode(encode(times)), times, rtol=6e-8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "is no file of measurements or fits"),
        ('{"schema": "other/1"}', 'its "schema" is not steppe.measure/1'),
        ('{"schema": "steppe.measure/2"}', "is of version 2, this Steppe reads 1 and older ones"),
        ('{"schema": "steppe.measure/\u00b2"}', 'its "schema" is not steppe.measure/1'),
        ('{"schema": "steppe.measure/1"}', "is damaged or changed: Object missing required field `made`"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, text, said):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(Mistake, match=said):
        read_document(path)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('\ufeff{"schema": "steppe.measure/1", "made": "2026-01-01"}', encoding="utf-8")
    assert read_document(path).made == "2026-01-01"


@pytest.mark.parametrize("text", ["AAA", "AAAA"], ids=["letters that are missing", "three bytes of a number"])
def test_samples_that_are_none_are_found_when_a_file_is_read(tmp_path, text):
    held = json.loads(STORED.read_text())
    held["series"][0]["samples"] = text
    path = tmp_path / "a.json"
    path.write_text(json.dumps(held))
    with pytest.raises(Mistake, match=r"is damaged or changed at series\.0: samples must be base64 of float32"):
        read_document(path)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("t", [], "as many bytes, p, t, sigma and repeats"),
        ("sigma", [0.0] * 75, "sigma above 0"),
        ("t", [float("nan")] * 75, "all of them numbers"),
    ],
    ids=["too few", "no error", "no number"],
)
def test_points_that_are_none_are_found_when_a_file_is_read(found, tmp_path, column, value, said):
    held = plain_values(Document(made="2026-01-01", fits=[record_fit(found)]))
    assert len(held["fits"][0]["points"][column]) == 75
    held["fits"][0]["points"][column] = value
    path = tmp_path / "a.json"
    path.write_text(json.dumps(held))
    with pytest.raises(Mistake, match=rf"is damaged or changed at fits\.0\.points: .*{said}"):
        read_document(path)


@pytest.mark.parametrize(("member", "value"), [("family", "exponential"), ("coefficients", [1.0, 2.0, 3.0, 4.0, 5.0])])
def test_laws_that_are_none_are_found_when_a_file_is_read(found, tmp_path, member, value):
    held = plain_values(Document(made="2026-01-01", fits=[record_fit(found)]))
    held["fits"][0]["pieces"][0]["t0"][member] = value
    path = tmp_path / "a.json"
    path.write_text(json.dumps(held))
    with pytest.raises(Mistake, match=r"is damaged or changed at fits\.0\.pieces\.0\.t0: a law of the family .* is not known"):
        read_document(path)


def test_a_place_that_cannot_be_written_is_named(document, tmp_path):
    with pytest.raises(Failure, match="cannot be written: No such file or directory"):
        write_document(document, tmp_path / "no" / "a.json")


def test_a_full_disk_leaves_nothing_of_the_file(document, tmp_path):
    undo = mount_small_disk(tmp_path / "disk", "4k")
    try:
        with pytest.raises(NoSpaceError, match="Free some space"):
            write_document(document, tmp_path / "disk" / "a.json")
        assert list((tmp_path / "disk").iterdir()) == []
    finally:
        undo()
