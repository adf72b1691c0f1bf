"""The browser and the server of `tests.page`, for what takes longer or is measured."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.page.conftest import browser, context, page
from tests.page.house import House
from tests.scenario import made_scenario, made_wide_scenario, scenario, wide_scenario

__all__ = ["browser", "context", "made_scenario", "made_wide_scenario", "page", "scenario", "wide_scenario"]


@pytest.fixture
def run(scenario: Path) -> Iterator[House]:
    """A server of one's own, which may be killed."""
    with House(scenario) as house:
        yield house
