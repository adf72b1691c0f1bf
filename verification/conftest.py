"""One table of what was measured beside what was expected, printed after the verification suite."""

from collections.abc import Callable

import pytest

Row = tuple[str, str, float, str]
ROWS: list[Row] = []


@pytest.fixture
def measured() -> Callable[[str, str, float, str], None]:
    """Adds a row to the table: case, what was measured, its value, what was expected."""

    def add(case: str, what: str, value: float, expected: str) -> None:
        ROWS.append((case, what, float(value), expected))

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the table."""
    if not ROWS:
        return
    terminalreporter.section("measured beside expected")
    width = [max(len(str(row[column])) for row in ROWS) for column in (0, 1)]
    for case, what, value, expected in ROWS:
        terminalreporter.write_line(f"{case:<{width[0]}}  {what:<{width[1]}}  {value:>14.6g}  {expected}")
