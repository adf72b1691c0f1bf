"""A plugin of pytest for `scripts/test`: each failure as it comes, how far the run is, and what passed only the second time.

A limit of time that a test missed while another test had the processor says nothing, so what failed is run once more, with `--again`.
A test that passes only then is named and counted; more than `MOST` of them fail the run.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

MOST = 2  # tests that may pass only the second time
EVERY = 1.0 if sys.stdout.isatty() else 30.0  # [s] between two lines of progress
FIRST = "steppe/first"  # where the cache of pytest keeps the counts of the first run


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--again", action="store_true", help="this run is of what failed in the run before")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers of xdist report to the one that shows
        config.pluginmanager.register(Progress(config))


class Progress:
    """What one run of pytest shows."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._again: bool = config.getoption("--again")
        self._whole = 0
        self._outcomes: dict[str, str] = {}
        self._begin = self._shown = time.monotonic()

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._whole = len(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._whole = len(session.items)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Iterator[Any]:
        category, _, _ = yield
        return category, "", ""  # counted by pytest, not shown as a dot

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._outcomes[report.nodeid] = "failed"
            self._line(f"FAILED {report.nodeid}: {_why(report)}  ({self._far()})")
        elif report.skipped or report.when == "call":
            self._outcomes.setdefault(report.nodeid, report.outcome)
        if time.monotonic() - self._shown > EVERY:
            self._shown = time.monotonic()
            self._show(f"{self._far()}{self._rest()}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        assert self._config.cache
        if not self._again:
            self._config.cache.set(FIRST, Counter(self._outcomes.values()))
        elif session.exitstatus == 0 and (len(self._second) > MOST or len(self._second) < len(self._outcomes)):
            session.exitstatus = 1  # too many, or one that failed was not run again

    def pytest_terminal_summary(self, exitstatus: int) -> None:
        if self._again:
            self._line(f"{len(self._second)} passed only the second time; more than {MOST} fail the run.")
            for name in self._second:
                self._line(f"SECOND TIME {name}")
        if self._again or exitstatus == 0:
            assert self._config.cache
            first = Counter(self._config.cache.get(FIRST, {}))
            failed = first["failed"] - len(self._second)
            self._line(
                f"Of {first.total():,} tests {first.total() - failed - first['skipped']:,} passed, {failed:,} failed, {_skipped(first)}."
            )

    @property
    def _second(self) -> list[str]:
        return [name for name, outcome in self._outcomes.items() if outcome == "passed"] if self._again else []

    def _far(self) -> str:
        counts = Counter(self._outcomes.values())
        return f"{len(self._outcomes):,} of {self._whole:,} tests, {counts['failed']:,} failed, {_skipped(counts)}"

    def _rest(self) -> str:
        gone = time.monotonic() - self._begin
        rest = gone * (self._whole / max(len(self._outcomes), 1) - 1)
        return f"; {gone / 60:.0f} min, about {rest / 60:.0f} min more"

    def _show(self, text: str) -> None:
        """A state that the next one replaces, on a terminal; elsewhere a line."""
        if sys.stdout.isatty():
            self._reporter.rewrite(text, erase=True)
        else:
            self._line(text)

    def _line(self, text: str) -> None:
        if sys.stdout.isatty():
            self._reporter.rewrite("", erase=True)
        self._reporter.write_line(text)
        self._reporter.flush()

    @property
    def _reporter(self) -> Any:
        return self._config.pluginmanager.getplugin("terminalreporter")


def _why(report: pytest.TestReport) -> str:
    """The first line of the error."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash else report.longrepr).strip() or "no message"
    return text.splitlines()[0]


def _skipped(counts: Counter[str]) -> str:
    return f"{counts['skipped']:,} not run"
