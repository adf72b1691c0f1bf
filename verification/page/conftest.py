"""The browser and the server of `tests.page`, for what takes longer or is measured."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.page.conftest import SOFTWARE, chromium, context, page
from tests.page.house import House
from tests.scenario import made_scenario, made_wide_scenario, scenario, wide_scenario

__all__ = ["context", "made_scenario", "made_wide_scenario", "page", "scenario", "wide_scenario"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One that draws all with shaders, as a reader's does."""
    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=SOFTWARE)
        yield browser
        browser.close()


@pytest.fixture
def run(scenario: Path) -> Iterator[House]:
    """A server of one's own, which may be killed."""
    with House(scenario) as house:
        yield house
