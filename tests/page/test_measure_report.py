"""The report of `steppe measure report` in a browser."""

import json

import numpy as np
import pytest
from playwright.sync_api import BrowserContext

from steppe.measure import Document, fit, record_fit, write_report
from tests.measure.made import points_of, series_of


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    found = fit(points_of(lambda p: 40 * p, lambda p: 1.05 + 0 * p), {"operation": "scan"})
    series = [series_of("files", "read", "sequential, cold", n, np.linspace(1e-5, 2e-5, 30), 1, True) for n in (4096, 65_536)]
    path = tmp_path_factory.mktemp("report") / "a.html"
    write_report(Document(made="2026-01-01", warnings=["Rank 1 slept."], series=series, fits=[record_fit(found)]), path)
    return path


def test_html_offline(report, context: BrowserContext):
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(report.as_uri())
    page.wait_for_load_state("networkidle")
    assert asked == [report.as_uri()]
    assert said == []
    pictures = page.locator("svg")
    assert pictures.count() == 2
    for i in range(2):
        box = pictures.nth(i).bounding_box()
        assert box is not None
        assert box["width"] > 900
        assert box["height"] > 200
    assert page.locator(".warning").first.bounding_box()["y"] < 200
    data = json.loads(page.locator("#measured").text_content() or "")
    assert data["schema"] == "steppe.measure/1"
    page.locator("summary").first.click()
    assert page.locator("table tr").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
