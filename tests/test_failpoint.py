"""Failpoints: where a test lets a process fail, and that nobody pays for them."""

import subprocess
import sys
from pathlib import Path

import pytest

from steppe.failpoint import NAMES

PROGRAM = """
from steppe.failpoint import reach
for number in range(5):
    assert reach("pin.sent"), "a name alone fails at nothing"
    assert reach("pin.written")
    print(number, flush=True)
"""


def run(asked: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", PROGRAM], capture_output=True, text=True, env={"STEPPE_FAIL": asked}, check=False
    )


@pytest.mark.parametrize(
    ("action", "code", "said"), [("kill", -9, ""), ("raise", 1, "RuntimeError: A failpoint was reached."), ("enospc", 1, "No space left")]
)
def test_a_process_fails_at_the_pass_that_was_asked_for(action: str, code: int, said: str) -> None:
    done = run(f"pin.written:3:{action}")
    assert done.returncode == code
    assert done.stdout.split() == ["0", "1"]
    assert said in done.stderr


def test_of_all_who_share_a_file_one_fails(tmp_path: Path) -> None:
    asked = f"pin.written:2:kill:{tmp_path / 'failed'}"
    assert [run(asked).returncode for _ in range(3)] == [-9, 0, 0]


def test_nothing_fails_where_assertions_are_left_out() -> None:
    assert run("pin.written:1:kill", "-O").stdout.split() == ["0", "1", "2", "3", "4"]


def test_each_name_has_its_place_and_each_place_a_name() -> None:
    source = Path(__file__).parents[1] / "src" / "steppe"
    text = "".join(path.read_text() for path in source.rglob("*.py") if path.name != "failpoint.py")
    assert all(f'assert reach("{name}")' in text for name in NAMES)
    assert text.count('reach("') == text.count('assert reach("')
    assert {part.split('"')[0] for part in text.split('assert reach("')[1:]} == set(NAMES)
