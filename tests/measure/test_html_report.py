"""What the report holds; `tests/page/test_measure_report.py` looks at it in a browser."""

import json
import re

import numpy as np
import pytest
from msgspec.structs import replace

from steppe.errors import Failure
from steppe.measure import Document, SamplePoints, find_weaknesses, fit, lines_of, record_fit, write_report
from steppe.measure.records.document import Roof, document_json, document_of, plain_values
from steppe.measure.report.html_report import report_html
from steppe.measure.report.pictures import fit_picture
from tests.measure.made import points_of, series_of


def data_of(html):
    return json.loads(re.search(r'<script type="application/json" id="measured">(.*)</script>', html, re.DOTALL)[1])


def messages(sizes, ranks, blocks):
    times = 1e-5 * np.exp(0.1 * np.random.default_rng(1).standard_normal(blocks))
    one = series_of("collective", "broadcast", "", 8, times, 1, True, p=2)
    return [
        replace(one, operation=operation, bytes=size, p=p)
        for operation in ("broadcast", "scan", "gather", "scatter", "allgather", "reduction", "allreduce", "total exchange")
        for size in sizes
        for p in ranks
    ]


def test_warnings_stand_at_the_top_and_nothing_of_the_data_becomes_html():
    document = Document(made="2026-01-01", warnings=["</script><b>rank 1 slept"], complete=False, machine={"cpu": "<i>"})
    html = report_html(document)
    body = html[html.index("<body>") :]
    assert body.index("rank 1 slept") < body.index("The machine")
    assert "Others had" not in body
    assert "<b>" not in html
    assert "<i>" not in html
    assert "Stopped before the end" in body
    assert data_of(html) == plain_values(document)


def test_a_machine_that_others_had_is_told_at_the_top_with_its_units():
    document = Document(made="2026-01-01", machine={"cache": 1024}, clock={"away": 0.01, "others": 0.314, "cost": 3e-8})
    html = report_html(document)
    assert '<p class="warning">Others had this machine for 31% of the time: times are too long' in html
    for row in (
        "<td>cache</td><td>1024 bytes</td>",
        "<td>clock: cost</td><td>3e-08 s</td>",
        "<td>clock: others</td><td>0.314 of the time</td>",
    ):
        assert row in html


def test_weaknesses_are_not_listed_of_a_machine_that_others_had():
    found = fit(points_of(lambda p: 40 * p), {"operation": "scan"})
    quiet = Document(made="2026-01-01", fits=[record_fit(found)], weaknesses=find_weaknesses([found]))
    assert "Weaknesses, the greatest first" in report_html(quiet)
    busy = report_html(replace(quiet, clock={"others": 0.3}))
    assert "Weaknesses, the greatest first" not in busy
    assert "Measure while it is quiet. Weaknesses are not listed." in busy


def test_a_fit_of_very_many_sizes_has_pictures_of_some():
    n = 16.0 * np.arange(1, 50_001)
    found = fit(SamplePoints(n, np.full(n.size, 2.0), 3e-6 + n / 2.5e9, np.full(n.size, 1e-7), np.ones(n.size), False))
    html = report_html(Document(made="2026-01-01", fits=[record_fit(found)]))
    assert "time of every 50th point [us], and t0 + n / r_inf" in html
    assert "measured beside fitted [%]" in html
    assert len(html) < 3e6


def test_a_large_measurement_stays_below_3_mb_and_says_what_it_lacks():
    found = fit(points_of(lambda p: 40 * p, lambda p: 1.05 + 0 * p), {"operation": "scan"})
    sizes, ranks = [1 << i for i in range(18)], range(2, 17)
    document = Document(made="2026-01-01", series=messages(sizes, ranks, 500), fits=[record_fit(found)] * 60)
    assert len(document_json(document)) > 5_000_000
    html = report_html(document)
    assert len(html) < 3_000_000
    assert 10 < html.count("<svg") < 60
    assert html.count("t0(p) = ") >= 60
    assert "without single samples" in html
    kept = data_of(html)
    assert len(kept["series"]) == len(document.series)
    assert document_of(kept).series[-1] == replace(document.series[-1], samples="")
    assert {one["samples"] for one in kept["series"]} == {""}
    assert kept["series"][0]["statistics"]["median"] == document.series[0].statistics.median


def test_pictures_show_what_there_is():
    found = fit(points_of(lambda p: 40 * p, lambda p: 1.05 + 0 * p), {"operation": "scan"})
    html = report_html(Document(made="2026-01-01", fits=[record_fit(found)]))
    for title in (
        "time [us], and t0 + n / r_inf",
        "bytes / time [MB/s]",
        "measured beside fitted [%]",
        "t0(p) [us], its law and 95 %",
        "r_inf(p) [MB/s], its law and 95 %",
        "n_half(p)",
    ):
        assert title in html
    assert "t0(p) = " in html
    assert html.count("<svg") == 1
    random = np.random.default_rng(2)
    two = np.concatenate([random.normal(1e-5, 2e-7, 300), random.normal(4e-5, 2e-7, 200)])
    series = [series_of("files", "read", "sequential, cold", 4096, two, 1, False), series_of("memory", "triad", "1 core", 24, two, 1, True)]
    roofs = [Roof(rate=1e6, bytes=24, flops=1, memory=2e6, arithmetic=1e7)]
    html = report_html(Document(made="2026-01-01", series=series, roofs=roofs))
    assert "2 series gather around two times" in html
    assert '<span class="unsure">' in html
    assert "50.0% of the 2 that memory allows" in html
    assert html.count("<svg") == 3


def test_a_report_is_whole_or_not_there(tmp_path):
    document = Document(made="2026-01-01")
    write_report(document, tmp_path / "a.html")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
    with pytest.raises(Failure, match="cannot be written: No such file or directory"):
        write_report(document, tmp_path / "no" / "a.html")


def test_a_fit_without_a_law_in_p_shows_its_figures():
    found = fit(points_of(lambda p: 153 + 0 * p, lambda p: 0.63 + 0 * p, ranks=(2,)), {}, "ack")
    html = report_html(Document(made="2026-01-01", fits=[record_fit(found)]))
    t0, width, rate = lines_of([found]).splitlines()[-1].split()[5:8]
    text = re.search(r"p = 2: t0 = (\S+) \+- (\S+) us, r_inf = (\S+) \+- \S+ MB/s, n_half = \S+ bytes, from 4 to 65536 bytes", html)
    assert text.groups() == (t0, width, rate)


def test_numbers_of_the_axes_are_not_cut():
    exact = points_of(lambda p: 20 + 0 * p, lambda p: 100 + 0 * p, ranks=(2,), noise=0.0, outliers=0.0)
    off = replace(exact, t=exact.t * (1 + 5e-5 * (-1.0) ** np.arange(exact.n.size)))
    labels = re.findall(r"<text[^>]*>(−?0\.\d+)</text>", fit_picture(record_fit(fit(off))))
    assert {"0.002", "0.004"} <= set(labels)
