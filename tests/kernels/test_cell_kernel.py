import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from examples import bucket
from examples.bucket import Diagnostics, Forcing, Parameters, State
from hypothesis import given
from hypothesis import strategies as st

from steppe.kernels import BLOCK, CellKernel, ForcingRows, RecordRow, cache
from steppe.kernels.cell_kernel import MISSING, good_integers
from steppe.kernels.source import fingerprint, in_memory
from steppe.kernels.vecmath import exp
from steppe.models.cell_declaration import CellDeclaration
from tests.kernels.assembly import assert_is_vector_code
from tests.models import garden

ROOT = Path(__file__).parents[2]
RUN = """
from types import SimpleNamespace
import sys
from examples import bucket
from examples.bucket import Diagnostics, Forcing, Parameters, State
from tests.models.cells import CLOCK, NOTHING, MemoryInputs, started, weather
model = started(bucket, 300)
model.advance(range(5), MemoryInputs(weather(300, 5)), CLOCK, NOTHING)
print(model.state["water"].tobytes().hex(), "numba" in sys.modules)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_loop_of_a_model_with_everything_is_vector_code(dtype: str) -> None:
    assert_is_vector_code(garden, dtype, ("vigour",), response="curved")


def _bucket(block: int = BLOCK) -> CellKernel:
    return CellKernel(CellDeclaration(bucket).cell_step(()), np.float32, block=block)


def _run_bucket(kernel: CellKernel, rows: np.ndarray, parts: Sequence[range]) -> list[bytes]:
    """State, codes and the daily runoff of all cells after 6 days, whose rain and pan are `rows`; a part of them at a time."""
    cells = rows.shape[1]
    window = ForcingRows(("rain", "pan"), rows, np.arange(12, dtype=np.int32).reshape(2, 6), *np.array([[1, 1], [0, 0]], np.float32), 0)
    state, codes, steps = np.zeros((2, cells), np.float32), np.zeros(cells, np.int32), np.full(cells, -1, np.int32)
    rain = np.zeros((6, cells))
    records = [RecordRow(kernel.rows["rain"], "sum", np.arange(6, dtype=np.int32), rain)]
    constants = np.empty((0, cells), np.float32), np.array([100, 0.1], np.float32), np.zeros((6, 3), np.float32)
    for part in parts:
        kernel.run(state, codes, steps, *constants, range(6), part, window, records)
    return [array[..., parts[0].start : parts[-1].stop].tobytes() for array in (state, codes, steps, rain)]


ROWS = np.random.default_rng(3).uniform(0, 9, (12, 700)).astype(np.float32)
ROWS[3, ::11] = np.nan  # every turn of the loop has a bad cell


def test_blocks_of_any_size_give_the_same_bits() -> None:
    found = [
        _run_bucket(_bucket(block), ROWS, [range(low, high) for low, high in pairwise(cuts)])
        for block, cuts in ((256, (0, 700)), (32, (0, 700)), (64, (0, 1, 300, 700)))
    ]
    assert found[0] == found[1] == found[2]


def test_a_share_of_any_number_of_cells_gives_the_bits_of_each_cell() -> None:
    """As one call, and with any two cuts; what lies behind the share in the arrays is not touched."""
    kernel = _bucket()
    whole = _run_bucket(kernel, ROWS, [range(700)])
    state = np.frombuffer(whole[0], np.float32).reshape(2, 700)
    for n in range(1, 301):
        found = _run_bucket(kernel, ROWS, [range(n)])
        assert found[0] == state[:, :n].tobytes()
        assert found == _run_bucket(kernel, ROWS, [range(n // 3), range(n // 3, n // 2), range(n // 2, n)])
        assert found[1:3] == [np.frombuffer(each, np.int32)[:n].tobytes() for each in whole[1:3]]


def test_nothing_behind_the_last_cell_is_written() -> None:
    kernel, window = (
        _bucket(),
        ForcingRows(("rain", "pan"), ROWS, np.arange(12, dtype=np.int32).reshape(2, 6), *np.eye(2, dtype=np.float32), 0),
    )
    state, codes, steps = np.full((2, 700), 5, np.float32), np.full(700, 7, np.int32), np.full(700, 7, np.int32)
    codes[40:57] = 0
    constants = np.empty((0, 700), np.float32), np.array([100, 0.1], np.float32), np.zeros((6, 3), np.float32)
    kernel.run(state, codes, steps, *constants, range(6), range(40, 57), window, [])
    outside = np.r_[0:40, 57:700]
    assert (state[:, outside] == 5).all()
    assert (codes[outside] == 7).all()
    assert (steps[outside] == 7).all()


@given(st.sampled_from([np.float32, np.float64]), st.floats(-10, 10), st.floats(-1e4, 1e4), st.floats(-1e3, 1e3), st.floats(0, 1e5))
def test_limits_of_integers_are_the_limits_of_their_values(real: Any, scale: float, offset: float, low: float, width: float) -> None:
    least, most = good_integers(real, scale, offset, low, low + width)
    integers = np.arange(MISSING + 1, 32768)
    values = integers.astype(real) * real(scale) + real(offset)
    good = (values >= real(low)) & (values <= real(low + width))
    assert np.array_equal(good, (least <= integers) & (most >= integers))
    assert not least <= MISSING <= most


def _run(folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "STEPPE_CACHE": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", RUN], env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_two_processes_may_compile_at_once_and_a_third_needs_no_numba(tmp_path: Path) -> None:
    answers = [process.communicate()[0].split() for process in [_run(tmp_path), _run(tmp_path)]]
    assert answers[0][0] == answers[1][0]
    assert _run(tmp_path).communicate()[0].split() == [answers[0][0], "False"]
    assert {path.suffix for path in (tmp_path / "kernels").iterdir()} == {".kernel"}


def _fraction(x: float) -> float:
    return x * exp(-0.5)


def _other_fraction(x: float) -> float:
    return x * exp(-0.25)


def test_a_stale_kernel_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path))
    results = []
    for helper in (_fraction, _other_fraction, _fraction):
        monkeypatch.setitem(step_with_helper.__globals__, "helper", helper)
        module = SimpleNamespace(**{**vars(bucket), "step": step_with_helper})
        kernel = CellKernel(CellDeclaration(module).cell_step(()), np.float32)
        state, codes, steps = np.full((2, 1), 10, np.float32), np.zeros(1, np.int32), np.zeros(1, np.int32)
        window = ForcingRows(("rain", "pan"), np.zeros((2, 1), np.float32), np.array([[0], [1]], np.int32), *np.eye(2, dtype=np.float32), 0)
        constants = np.empty((0, 1), np.float32), np.array([100, 0.1], np.float32)
        kernel.run(state, codes, steps, *constants, np.zeros((1, 3), np.float32), range(1), range(1), window, [])
        results.append(float(state[0, 0]))
    assert results[0] == results[2] != results[1]
    assert len(list((tmp_path / "kernels").iterdir())) == 2


def helper(x: float) -> float:
    return x


def step_with_helper(s: State, f: Forcing, p: Parameters) -> tuple[State, Diagnostics]:
    return State(water=helper(s.water)), Diagnostics(runoff=0.0, actual_evaporation=0.0, drainage=0.0)


def test_a_process_whose_model_is_edited_meanwhile_names_its_kernel_by_what_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "steps.py"
    fingerprints = []
    for text in ("def step(x):\n    return 2.0 * x\n", "def step(x):\n    return 3.0 * x\n"):
        path.write_text(text)
        namespace: dict = {}
        exec(compile(text, str(path), "exec"), namespace)
        fingerprints.append(fingerprint(namespace["step"], in_memory))
        path.write_text("def step(x):\n    return 4.0 * x\n")
        assert fingerprint(namespace["step"], in_memory) == fingerprints[-1]
    assert fingerprints[0] != fingerprints[1]


def test_a_process_whose_compiler_is_edited_meanwhile_leaves_no_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "COMPILER", "as it was when the process began")
    cache.store(tmp_path / "a.kernel", "symbol", b"object")
    assert cache.find(tmp_path / "a.kernel") is None
