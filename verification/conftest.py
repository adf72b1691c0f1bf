"""One table of what was measured beside what was expected, printed after the verification suite; and how much of it is run."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

OF = 10  # cases marked `many`: one in so many is run, another one with each commit, unless all are asked for

Row = tuple[str, str, float, str]
ROWS: list[Row] = []


@pytest.fixture
def measured() -> Callable[[str, str, float, str], None]:
    """Adds a row to the table: case, what was measured, its value, what was expected."""

    def add(case: str, what: str, value: float, expected: str) -> None:
        ROWS.append((case, what, float(value), expected))

    return add


def pytest_sessionfinish(session: pytest.Session) -> None:
    """One of several processes hands its rows on."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["rows"] = ROWS


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes them."""
    ROWS.extend(map(tuple, getattr(node, "workeroutput", {}).get("rows", [])))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the table."""
    if not ROWS:
        return
    terminalreporter.section("measured beside expected")
    width = [max(len(str(row[column])) for row in ROWS) for column in (0, 1)]
    for case, what, value, expected in ROWS:
        terminalreporter.write_line(f"{case:<{width[0]}}  {what:<{width[1]}}  {value:>14.6g}  {expected}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`scripts/verify --long` runs everything."""
    parser.addoption("--long", action="store_true", help="all cases of which otherwise a tenth is run, chosen by the commit")


def pytest_configure(config: pytest.Config) -> None:
    """Names the mark."""
    config.addinivalue_line("markers", "many: one case of very many alike")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes a tenth of the cases marked `many`."""
    if config.getoption("--long"):
        return
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=config.rootpath, check=False)
    turn = int(asked.stdout or "0", 16) % OF
    many = [item for item in items if item.get_closest_marker("many")]
    left = {id(item) for number, item in enumerate(many) if number % OF != turn}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left])
    items[:] = [item for item in items if id(item) not in left]
