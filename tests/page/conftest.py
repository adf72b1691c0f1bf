"""The page in a real browser, from a real server with a real engine."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.engine.test_projected import made as projected  # noqa: F401
from tests.page.house import House, Opened

expect.set_options(timeout=45_000)  # [ms] a processor that is shared draws slowly
SOFTWARE = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
# what lies over the map costs each test a second of a processor where shaders in software draw it, too
FLAT = ["--disable-gpu-compositing", "--disable-gpu-rasterization"]
VIEW: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}


def chromium() -> str:
    """The program; without it the test is skipped, in CI it fails."""
    found = os.environ.get("STEPPE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        message = "no chromium on the PATH"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


# of the package, not of the session: while playwright is at work no other test of this process may run a loop of its own
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*SOFTWARE, *FLAT])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def house(made_scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server of a small run, for all tests that leave it alive."""
    folder = tmp_path_factory.mktemp("page") / "scenario"
    shutil.copytree(made_scenario.parent, folder)
    with House(folder / made_scenario.name) as house:
        yield house


@pytest.fixture
def run(house: House) -> House:
    """The run at its beginning, with one scenario."""
    house.begin_anew()
    return house


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(**VIEW, permissions=["clipboard-read", "clipboard-write"])
    yield context
    context.close()


@pytest.fixture
def opened(context: BrowserContext, run: House) -> Iterator[Opened]:
    """The page as somebody opens it who may steer, with the first map drawn; at the end nothing may have gone wrong in it."""
    page = Opened(context.new_page(), run)
    page.open()
    yield page
    assert page.complaints == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """An empty page."""
    return context.new_page()
