"""The twins compute what the kernel computes; otherwise their speed would say nothing. Tolerances: independent implementations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.figures import MissingPeer
from benchmarks.suites.pasture import Build, Case, Kernel, NumpyTwin, Twin, build, make_case
from benchmarks.suites.pasture.twin import Assembly

YEAR_AND_MORE = 400  # days: every reset, season and the yearly fire occur
State = dict[str, Any]
STRICT_DOUBLE = Build("double", fast=False)


@pytest.fixture(scope="module")
def long_case() -> Case:
    return make_case(300, YEAR_AND_MORE, trees=6.0, burn_day=244.0)


@pytest.fixture(scope="module")
def long_run(long_case: Case) -> State:
    return _after(Kernel("float64"), long_case)


def _after(program: Kernel | Twin | NumpyTwin, case: Case) -> State:
    program.prepare(case)
    program.run()
    return program.state()


def _agree(found: State, expected: State, rtol: float, atol: float) -> None:
    assert set(found) >= set(expected) - {"last_basal_area"}
    for name in set(found) & set(expected):
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=atol, err_msg=name)


def test_the_cpp_twin_agrees_with_the_kernel_over_400_days(long_case: Case, long_run: State, tmp_path: Path) -> None:
    _agree(_after(build(STRICT_DOUBLE, tmp_path), long_case), long_run, rtol=1e-9, atol=1e-9)


def test_the_numpy_twin_agrees_with_the_kernel_over_400_days(long_case: Case, long_run: State) -> None:
    _agree(_after(NumpyTwin("float64"), long_case), long_run, rtol=1e-9, atol=1e-9)


def test_the_cpp_twin_with_fast_math_agrees_with_the_kernel_on_one_day(tmp_path: Path) -> None:
    case = make_case(5000, 1)
    _agree(_after(build(Build(), tmp_path), case), _after(Kernel(), case), rtol=1e-4, atol=1e-4)


def test_the_numpy_twin_in_single_precision_agrees_with_the_kernel_on_one_day() -> None:
    case = make_case(5000, 1)
    _agree(_after(NumpyTwin(), case), _after(Kernel(), case), rtol=1e-4, atol=1e-4)


def test_the_cpp_twin_gives_the_same_for_any_block_and_share_of_the_cells(tmp_path: Path) -> None:
    case = make_case(1000, 20)
    expected = _after(build(STRICT_DOUBLE, tmp_path), case)
    twin = build(Build("double", fast=False, block=64), tmp_path)
    twin.prepare(case)
    for part in range(3):
        twin.run(part, 3)
    for name, values in twin.state().items():
        assert np.array_equal(values, expected[name]), name


def test_the_cpp_twin_is_vector_code_without_scalar_calls(tmp_path: Path) -> None:
    assembly = Assembly(Build(), tmp_path)
    assert assembly.packed_divides > 0
    assert assembly.estimates == 0
    assert assembly.scalar_calls == set()
    assert any("exp" in name for name in assembly.vector_calls)


def test_the_cpp_twin_without_fast_math_calls_libm(tmp_path: Path) -> None:
    assert {"expf", "logf", "sinf"} <= Assembly(Build(fast=False), tmp_path).scalar_calls


def test_a_twin_with_fast_math_leaves_the_arithmetic_of_this_process_alone(tmp_path: Path) -> None:
    build(Build(), tmp_path)
    assert np.float64(1e-310) / 2 > 0.0


def test_a_twin_that_does_not_compile_is_a_missing_peer(tmp_path: Path) -> None:
    with pytest.raises(MissingPeer, match="cannot build"):
        build(Build(more=("-no-such-flag",)), tmp_path)


def test_a_case_has_frost_heat_rain_and_bare_cells() -> None:
    case = make_case(2000, 90)
    rain, tmin, tmax = (case.forcing.rows[case.forcing.row_of[k]] * case.forcing.scale[k] for k in (0, 1, 2))
    assert 0.05 < (rain > 0).mean() < 0.5
    assert rain.max() > 50
    assert tmin.min() < 0 < tmin.max()
    assert (tmin < tmax).all()
    assert 0 < (case.state["green_leaf"] + case.state["dead_leaf"] == 0).mean() < 0.1


def test_twins_take_a_case_with_cells_that_fill_no_block(tmp_path: Path) -> None:
    case = make_case(257, 3)
    twin: Twin = build(STRICT_DOUBLE, tmp_path)
    assert all(values.shape == (257,) for values in _after(twin, case).values())
