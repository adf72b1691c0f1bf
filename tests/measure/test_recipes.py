"""The ways of two papers, on real ranks."""

import socket

import jsonschema
import msgspec
import numpy as np
import pytest

from steppe.measure import Document, read_document
from steppe.measure.messages.recipes import LENGTHS, SIZES, fit_recipe
from steppe.measure.records.document import plain_values
from steppe.measure.report.html_report import report_html
from steppe.measure.report.message_text import recipe_text
from steppe.measure.timing.rank_places import RankPlace, distance
from tests.measure.made import series_of
from tests.measure.ranks import SCHEMA, measured, refused, two_cores


def by_recipe(recipe, path):
    said = measured("messages", "--recipe", recipe, "--json", str(path))
    document = read_document(path)
    jsonschema.validate(plain_values(document), SCHEMA)
    assert (document.recipe, document.complete) == (recipe, True)
    return document, said


@two_cores
def test_minho_has_five_runs_of_twenty_and_takes_the_least(tmp_path):
    document, said = by_recipe("minho", tmp_path / "a.json")
    assert {(one.statistics.n, one.block, one.variant) for one in document.series} == {(5, 20, "minho")}
    sizes = {name: [one.bytes for one in document.series if one.operation == name] for name in {one.operation for one in document.series}}
    for name in ("point-to-point", "broadcast", "gather", "scatter", "allgather"):
        assert sizes.pop(name) == SIZES
    assert sizes == {"barrier": [0], "reduction": [4], "scan": [4]}
    fits = {one.name["operation"]: one for one in document.fits}
    for name, fit in fits.items():
        least = [one.statistics.minimum for one in document.series if one.operation == name]
        np.testing.assert_array_equal(fit.points.t, least)
    assert set(fits) == {"point-to-point", "broadcast", "gather", "scatter", "allgather"}
    assert "Recipe minho" in said


@two_cores
def test_advise_has_the_first_message_apart_and_the_mean_of_a_thousand(tmp_path):
    document, said = by_recipe("advise", tmp_path / "a.json")
    found = {(one.variant, one.bytes): one for one in document.series}
    for memory in ("fresh", "touched"):
        assert [n for variant, n in found if variant == f"advise, {memory}, first"] == LENGTHS
        assert {found[f"advise, {memory}, later", n].statistics.n for n in LENGTHS} == {1_000}
    largest = found["advise, fresh, first", 10**6], found["advise, fresh, later", 10**6]
    assert largest[0].statistics.minimum > largest[1].statistics.minimum  # pages come at first
    assert [n for variant, n in found if variant == "advise, bytes"] == LENGTHS[1:]
    head = next(i for i, line in enumerate(said.splitlines()) if line.startswith("Recipe advise"))
    rows = [line.split() for line in said.splitlines()[head + 2 : head + 2 + len(LENGTHS)]]
    assert [int(row[0]) for row in rows] == LENGTHS
    assert float(rows[-1][2]) == pytest.approx(found["advise, fresh, later", 10**6].times().mean() * 1e6, rel=1e-3)
    assert rows[0][-2:] == ["-", "-"]
    (fit,) = [one for one in document.fits if one.name["variant"] == "advise, touched, later"]
    assert fit.protocol == "ack"
    assert "first / later" in report_html(document)
    places = [msgspec.convert(one, RankPlace) for one in document.machine["places"]]  # a document says where its ranks sit
    assert [one.host for one in places] == [socket.gethostname()] * 2
    assert {one.placement for one in document.series if one.p == 2} == {distance(*places)}
    assert f"rank 1: {places[1].host}, " in said


def test_recipes_fit_the_one_time_that_their_papers_take():
    random = np.random.default_rng(1)

    def series(variant, n, time):
        times = time * (1.0 + random.exponential(0.2, 5))
        return series_of("point-to-point", "point-to-point", variant, n, times, 20, False, p=2), times

    least = [series("minho", n, 1e-6 + n / 1e9) for n in (4, 64, 1024)]
    (fit,) = fit_recipe("minho", [one for one, _ in least])
    np.testing.assert_allclose(fit.points.t, [times.min() for _, times in least], rtol=1e-6)
    assert (fit.protocol, fit.points.known) == ("oneway", False)
    mean = [series(f"advise, fresh, {when}", n, 1e-6 + n / 1e9) for when in ("first", "later") for n in (0, 100, 1000)]
    (fit,) = fit_recipe("advise", [one for one, _ in mean])
    np.testing.assert_allclose(fit.points.t, [times.mean() for _, times in mean[3:]], rtol=1e-6)
    assert fit.protocol == "ack"


def test_a_document_of_no_recipe_has_no_such_table():
    assert recipe_text(Document(made="2026-01-01")) == ""


@two_cores
def test_a_recipe_leaves_no_choice_of_what_is_measured():
    line = refused("messages", "--recipe", "minho", "--quick", "--passes", "1", "--start", "window")
    assert line == "--recipe minho determines the series and how ranks begin. Leave out --quick and --passes and --start window."
