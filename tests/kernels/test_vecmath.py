import ctypes

import numpy as np
import pytest

from steppe.kernels import cache, vecmath
from steppe.kernels.compiling import compiled, inline, machine_code
from steppe.kernels.primitives import fma

REALS = (np.float32, np.float64)
REFERENCES = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "sin_near": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "power": np.power,
    "arctan2": np.arctan2,
}
TWO = ("power", "arctan2")  # functions of two arguments
STATED = {"exp": 1.0, "log": 0.9, "power": 1.3, "tanh": 1.5, "sin": 1.9, "sin_near": 1.9, "cos": 1.9, "sqrt": 0.5, "arctan2": 1.7}


def apply(name: str, *arguments: np.ndarray) -> np.ndarray:
    """A function of vecmath compiled into a loop."""
    from numba import types

    real = arguments[0].dtype.type
    function = compiled(vecmath.FORMULAS[getattr(vecmath, name)], real)
    if len(arguments) == 1:
        call = inline(lambda x, y: function(x))
    else:
        call = function

    def loop(x, y, result, n):
        for i in range(n):
            result[i] = call(x[i], y[i])

    pointer = types.CPointer(types.float32 if real is np.float32 else types.float64)
    code = machine_code(loop, (pointer, pointer, pointer, types.int64))
    linked = cache.MachineFunction(code.symbol, code.object_file, [ctypes.c_void_p] * 3 + [ctypes.c_int64])
    result = np.empty_like(arguments[0])
    linked(arguments[0].ctypes.data, arguments[-1].ctypes.data, result.ctypes.data, len(result))
    return result


def samples(name: str, real: type, count: int) -> list[np.ndarray]:
    random = np.random.default_rng(11)
    most = 87.0 if real is np.float32 else 700.0
    if name == "exp":
        return [random.uniform(-most, most, count).astype(real)]
    if name in ("log", "sqrt"):
        return [np.concatenate([np.exp(random.uniform(-most, most, count // 2)), random.uniform(0.5, 2, count - count // 2)]).astype(real)]
    if name == "tanh":
        return [(random.choice([-1, 1], count) * np.exp(random.uniform(-10, 3, count))).astype(real)]
    if name == "sin_near":
        return [random.uniform(-np.pi / 2, np.pi / 2, count).astype(real)]
    if name == "arctan2":  # half of them on a circle, half with any proportion of the two
        angle, size = random.uniform(-np.pi, np.pi, count // 2), random.uniform(0.1, 10, count // 2)
        other = random.choice([-1, 1], (2, count - count // 2)) * np.exp(random.uniform(-most / 2, most / 2, (2, count - count // 2)))
        return list(np.concatenate([size * [np.sin(angle), np.cos(angle)], other], axis=1).astype(real))
    if name == "power":
        x = np.exp(random.uniform(-0.9 * most, 0.9 * most, count)).astype(real)
        return [x, (random.uniform(-0.99 * most, 0.99 * most, count) / np.log(x.astype(np.float64))).astype(real)]
    reach = 8192.0 if real is np.float32 else 2.0**26
    near = np.round(random.uniform(-1000, 1000, count // 4)) * (np.pi / 2)  # where the reduction cancels
    return [
        np.concatenate(
            [random.uniform(-np.pi / 2, np.pi / 2, count // 2), random.uniform(-reach, reach, count - count // 2 - count // 4), near]
        ).astype(real)
    ]


def ulps(values: np.ndarray, exact: np.ndarray) -> float:
    """The greatest distance from the exact values in units of their last place; subnormal results are not counted."""
    size = np.spacing(np.abs(exact.astype(values.dtype))).astype(np.longdouble)
    normal = np.abs(exact) >= np.finfo(values.dtype).tiny
    return float(np.max(np.abs(values.astype(np.longdouble) - exact)[normal] / size[normal]))


def exact(name: str, arguments: list[np.ndarray]) -> np.ndarray:
    """In extended precision; its own error is 1/1000 ULP of double at the most."""
    return REFERENCES[name](*(a.astype(np.longdouble) for a in arguments))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no extended precision here to compare with")
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("name", STATED)
def test_errors_are_not_above_the_stated_ones(name: str, real: type) -> None:
    arguments = samples(name, real, 200_000)
    with np.errstate(all="ignore"):
        assert ulps(apply(name, *arguments), exact(name, arguments)) <= STATED[name]


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("name", STATED)
def test_python_and_kernel_have_the_same_bits(name: str, real: type) -> None:
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 1e-310, 1e30, 88.7, 709.7, -87.4, -708.5, 3e5, 0.55], real)
    arguments = [np.concatenate([sample[:150], special]) for sample in samples(name, real, 400)]
    if name in TWO:
        grid = np.meshgrid(special, special)
        arguments = [np.concatenate([a, g.ravel()]) for a, g in zip(arguments, grid, strict=True)]
    function = getattr(vecmath, name)
    scalar = np.array([function(*values) for values in zip(*arguments, strict=True)])
    assert scalar.dtype == real
    compiled_values = apply(name, *arguments)
    assert np.array_equal(scalar, compiled_values, equal_nan=True)
    assert np.array_equal(np.signbit(scalar[~np.isnan(scalar)]), np.signbit(compiled_values[~np.isnan(scalar)]))


@pytest.mark.parametrize("real", REALS)
def test_ends_and_special_values(real: type) -> None:
    inf, nan = real(np.inf), real(np.nan)
    assert vecmath.exp(inf) == inf
    assert vecmath.exp(-inf) == 0
    assert vecmath.exp(real(0)) == 1
    assert vecmath.log(real(0)) == -inf
    assert vecmath.log(inf) == inf
    assert vecmath.log(real(1)) == 0
    assert vecmath.tanh(inf) == 1
    assert vecmath.power(real(0), real(0)) == 1
    assert vecmath.power(real(0), real(2)) == 0
    assert vecmath.power(real(0), real(-2)) == inf
    assert vecmath.power(inf, real(-1)) == 0
    assert vecmath.cos(real(0)) == 1
    outside = 2 * vecmath.constants(real(1)).angle
    for wrong in (vecmath.log(real(-1)), vecmath.sqrt(real(-1)), vecmath.power(real(-1), real(2)), vecmath.sin(inf), vecmath.cos(outside)):
        assert np.isnan(wrong)
    for name in STATED:
        assert np.isnan(getattr(vecmath, name)(*[nan] * (1 + (name in TWO))))


@pytest.mark.parametrize("real", REALS)
def test_arctan2_of_axes_and_quadrants_is_numpys_but_for_a_negative_zero(real: type) -> None:
    values = [real(v) for v in (0.0, 1.0, -1.0, 2.5, -2.5, 1e-30, -1e-30, 1e30, -1e30)]
    with np.errstate(under="ignore"):
        for y in [*values, real(-0.0)]:
            for x in values:
                found, expected = vecmath.arctan2(y, x), np.arctan2(y, x)
                assert abs(found - expected) <= 2 * np.spacing(abs(expected)), (y, x)
                assert np.signbit(found) == np.signbit(y), (y, x)
    inf, nan = real(np.inf), real(np.nan)
    assert vecmath.arctan2(real(0), real(-0.0)) == 0
    assert vecmath.arctan2(real(1), inf) == 0
    assert vecmath.arctan2(real(1), -inf) == real(np.pi)
    assert vecmath.arctan2(-inf, real(1)) == -real(np.pi / 2)
    for wrong in ((inf, inf), (-inf, inf), (nan, real(1)), (real(1), nan), (nan, inf), (inf, nan)):
        assert np.isnan(vecmath.arctan2(*wrong))


def test_a_python_number_stays_one_and_a_mixed_call_takes_the_precision_of_the_numpy_number() -> None:
    assert type(vecmath.exp(1.0)) is float
    assert type(vecmath.power(np.float32(2), 0.5)) is np.float32
    assert type(vecmath.power(2.0, np.float32(0.5))) is np.float32
    assert type(vecmath.power(2.0, np.float64(0.5))) is np.float64


def test_fma_rounds_once() -> None:
    epsilon = np.float32(2.0**-12)
    one = np.float32(1)
    assert fma(one + epsilon, one + epsilon, -(one + 2 * epsilon)) == epsilon * epsilon
    assert fma(np.float64(0.1), np.float64(10), np.float64(-1)) == 2.0**-54
    assert fma(np.float32(1 + 2**-23), np.float32(1 + 2**-23), np.float32(2.0**-60)) == np.float32(1 + 2**-22)
    assert fma(np.float32(4097), np.float32(4097), np.float32(2**-30)) == np.float32(16785409 + 1)  # a tie, broken by the third
    assert fma(np.float64(1e300), np.float64(1e300), np.float64(0)) == np.inf
