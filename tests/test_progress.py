"""What `scripts/test` shows, in a checkout of a few tests of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLAKY = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("n", range({flaky}))
def test_flaky(n):
    seen = Path(f"seen-{{n}}")
    if not seen.exists():
        seen.touch()
        raise AssertionError("the first time")

def test_good():
    pass

def test_elsewhere():
    pytest.skip("no data")
{more}
"""
BAD = """
def test_bad():
    assert 1 + 1 == 3
"""


def run(folder: Path, flaky: int, more: str = "") -> subprocess.CompletedProcess[str]:
    """`scripts/test` in a checkout whose only tests are these."""
    for name in ("scripts", "tests", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "test", folder / "scripts")
    shutil.copy(ROOT / "tests" / "progress.py", folder / "tests")
    (folder / "tests" / "__init__.py").touch()
    (folder / "tests" / "test_few.py").write_text(FLAKY.format(flaky=flaky, more=more))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra\n")
    for name, does in (("npm", "exit 0"), ("python", f'exec {sys.executable} "$@"')):
        (folder / ".venv" / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / ".venv" / "bin" / name).chmod(0o755)
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    return subprocess.run([folder / "scripts" / "test"], env=outside, capture_output=True, text=True)


@pytest.mark.parametrize(("flaky", "status"), [(2, 0), (3, 1)])
def test_what_passes_only_the_second_time_is_named_and_counted_and_three_fail_the_run(tmp_path: Path, flaky: int, status: int) -> None:
    done = run(tmp_path, flaky)
    assert done.returncode == status, done.stdout
    assert f"{flaky} passed only the second time; more than 2 fail the run." in done.stdout
    for n in range(flaky):
        assert f"SECOND TIME tests/test_few.py::test_flaky[{n}]" in done.stdout
    assert f"Of {flaky + 2} tests {flaky + 1} passed, 0 failed, 1 not run." in done.stdout


def test_a_failure_is_shown_when_it_comes_with_its_reason_and_how_far_the_run_is(tmp_path: Path) -> None:
    done = run(tmp_path, 0, BAD)
    assert done.returncode == 1
    first, again = done.stdout.split("Once more")
    shown = first.index("FAILED tests/test_few.py::test_bad: assert (1 + 1) == 3  (")
    assert shown < first.index("= FAILURES =")
    assert "of 4 tests" in first[shown:]
    assert "0 passed only the second time" in again
    assert "Of 4 tests 1 passed, 1 failed, 2 not run." in again  # no case of test_flaky


def test_a_run_without_failures_ends_with_what_was_not_run_and_the_count(tmp_path: Path) -> None:
    done = run(tmp_path, 0)
    assert done.returncode == 0, done.stdout
    assert "no data" in done.stdout
    assert "Of 3 tests 1 passed, 0 failed, 2 not run." in done.stdout
    assert "Once more" not in done.stdout
