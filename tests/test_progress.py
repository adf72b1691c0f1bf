"""What `scripts/test` shows, in a checkout of a few tests of their own."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

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


BAD_THEN_SLOW = """
import time

def test_bad():
    assert 1 + 1 == 3

def test_waits():
    end = time.monotonic() + 60.0
    while not Path("go").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
"""
SKIPPED_THEN = """
def test_gone():
    seen = Path("seen-gone")
    if seen.exists():
        pytest.skip("no data any more")
    seen.touch()
    raise AssertionError("the first time")
"""
SLOW = """
import time

@pytest.mark.parametrize("n", range(4))
def test_slow(n):
    time.sleep(0.8)
"""

LONG = """
@pytest.mark.parametrize("n", range(40))
def test_long(n):
    pass
"""


def checkout(folder: Path, flaky: int, more: str = "", *words: str) -> dict[str, Any]:
    """Makes a checkout whose only tests are these, `test_long` a long one; returns how to start its `scripts/test`."""
    for name in ("scripts", "src", "tests", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "test", folder / "scripts")
    for name in ("progress.py", "in_memory.py", "turns.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    (folder / "tests" / "__init__.py").touch()
    (folder / "tests" / "long.txt").write_text("tests/test_few.py::test_long\n")
    (folder / "tests" / "test_few.py").write_text(FLAKY.format(flaky=flaky, more=more))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra\n")
    for name, does in (("npm", "exit 0"), ("python", f'exec {sys.executable} "$@"')):
        (folder / ".venv" / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / ".venv" / "bin" / name).chmod(0o755)
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    only = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}  # pytest starts in a fourth of the time
    return {"args": [folder / "scripts" / "test", *words], "env": outside | only}


def run(folder: Path, flaky: int, more: str = "", *words: str) -> subprocess.CompletedProcess[str]:
    """What `scripts/test` prints there, without a terminal."""
    return subprocess.run(**checkout(folder, flaky, more, *words), capture_output=True, text=True)


def test_a_quarter_of_the_long_tests_is_run_or_all_of_them(tmp_path: Path) -> None:
    some = run(tmp_path / "some", 0, LONG)
    assert some.returncode == 0, some.stdout
    assert "three quarters of the long tests" in some.stdout
    (told,) = re.findall(r"Of (\d+) tests", some.stdout)
    assert 3 + 2 <= int(told) <= 3 + 40 / 2  # of 40 cases and three other tests
    all_of_them = run(tmp_path / "all", 0, LONG, "--long")
    assert "Of 43 tests 41 passed, 0 failed, 2 not run." in all_of_them.stdout, all_of_them.stdout


def test_each_long_test_is_one() -> None:
    for name in (ROOT / "tests" / "long.txt").read_text().split():
        file, function = name.split("::")
        assert re.search(rf"^(async )?def {function}\(", (ROOT / file).read_text(), re.MULTILINE), name


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


def test_a_failure_reaches_a_log_while_other_tests_still_run(tmp_path: Path) -> None:
    with subprocess.Popen(**checkout(tmp_path, 0, BAD_THEN_SLOW), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            shown = next((line for line in process.stdout if line.startswith("FAILED tests/test_few.py::test_bad: ")), "")
        finally:
            (tmp_path / "go").touch()
        rest = process.stdout.read()
    assert "1 failed" in shown
    assert "= FAILURES =" in rest
    assert "0 passed only the second time" in rest  # `test_waits` saw what this test made when it had read the line
    assert "Of 5 tests 2 passed, 1 failed, 2 not run." in rest


def test_a_log_gets_a_line_now_and_then_that_says_how_far_the_run_is(tmp_path: Path) -> None:
    command = checkout(tmp_path, 0, SLOW)
    plugin = tmp_path / "tests" / "progress.py"
    text = plugin.read_text()
    assert "else 30.0  # [s]" in text
    plugin.write_text(text.replace("else 30.0  # [s]", "else 0.5  # [s]"))
    done = subprocess.run(**command, capture_output=True, text=True)
    states = [line for line in done.stdout.splitlines() if line.endswith(" more")]
    assert states, done.stdout
    for line in states:
        assert re.fullmatch(r"[0-7] of 7 tests, 0 failed, [0-2] not run; 0 min, about 0 min more", line)


def test_on_a_terminal_one_line_says_how_far_the_run_is_and_is_replaced(tmp_path: Path) -> None:
    outer, inner = os.openpty()
    process = subprocess.Popen(**checkout(tmp_path, 0, SLOW), stdout=inner, stderr=inner)
    os.close(inner)
    drawn = b""
    with suppress(OSError):  # the other end is closed
        while data := os.read(outer, 1 << 16):
            drawn += data
    os.close(outer)
    assert process.wait() == 0, drawn.decode()
    assert re.search(rb"\r[1-7] of 7 tests, 0 failed, [0-2] not run; 0 min, about 0 min more[^\n]*\r", drawn), drawn.decode()
    assert b"Of 7 tests 5 passed, 0 failed, 2 not run." in drawn


def test_what_failed_and_is_not_run_the_second_time_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, 0, SKIPPED_THEN)
    assert done.returncode == 1, done.stdout
    assert "Of 4 tests 1 passed, 1 failed, 2 not run." in done.stdout


def test_a_run_without_failures_ends_with_what_was_not_run_and_the_count(tmp_path: Path) -> None:
    done = run(tmp_path, 0)
    assert done.returncode == 0, done.stdout
    assert "no data" in done.stdout
    assert "Of 3 tests 1 passed, 0 failed, 2 not run." in done.stdout
    assert "Once more" not in done.stdout
