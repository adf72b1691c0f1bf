"""What the tests of air share."""

from collections.abc import Callable

import pytest


@pytest.fixture
def within(measured: Callable[[str, str, float, str], None]) -> Callable[[str, str, float, float], None]:
    """Adds a row to the table of what was measured, and asserts its limit."""

    def row(case: str, what: str, value: float, at_most: float) -> None:
        measured(case, what, value, f"<= {at_most:g}")
        assert value <= at_most

    return row
