import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows protects pages in another way")


def _guarded(how: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.kernels.guarded", how]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("place", ["high", "low"])
def test_no_kernel_touches_anything_beside_its_arrays_for_any_cells_steps_tiles_and_cuts(place: str) -> None:
    done = _guarded(place)
    assert done.returncode == 0, done.stderr


def test_a_kernel_that_is_told_of_a_cell_too_many_ends_the_process() -> None:
    done = _guarded("beyond")
    assert done.returncode < 0
    assert "in run" in done.stderr
