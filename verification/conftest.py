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
    """`scripts/verify --long` runs everything; `scripts/chaos` has a seed and a time."""
    parser.addoption(
        "--long", action="store_true", help="all cases of which otherwise a tenth is run, chosen by the commit; chaos for an hour"
    )
    parser.addoption("--seed", type=int, help="of verification/chaos; without it another one with each commit")
    parser.addoption("--seconds", type=float, help="for which each test of verification/chaos plays")


def pytest_configure(config: pytest.Config) -> None:
    """Names the mark."""
    config.addinivalue_line("markers", "many: one case of very many alike")


def commit(config: pytest.Config) -> int:
    """The commit that is checked out, as a number; 0 without git."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=config.rootpath, check=False)
    return int(asked.stdout or "0", 16)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Of what is random in a test."""
    given = request.config.getoption("--seed")
    return commit(request.config) % 10**6 if given is None else given


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes a tenth of the cases marked `many`."""
    if config.getoption("--long"):
        return
    turn = commit(config) % OF
    many = [item for item in items if item.get_closest_marker("many")]
    left = {id(item) for number, item in enumerate(many) if number % OF != turn}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left])
    items[:] = [item for item in items if id(item) not in left]
