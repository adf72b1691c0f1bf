"""Multiplications with additions, and functions of `kernels.vecmath`, compiled as kernels of models are: with the longest vectors.

Importing this imports Numba.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="no-untyped-call"

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from steppe.kernels import vecmath
from steppe.kernels.cache import Linked
from steppe.kernels.compiling import compiled, inline, machine_code
from steppe.kernels.primitives import fma

NUMBERS = 1 << 14  # of a call: they stay in the cache of a core
IN_CACHE = 1 << 10  # numbers that are multiplied: they stay in the nearest cache
DEPTH = 8  # multiplications with additions of each, one after the other; meanwhile those of the vectors behind it are on their way, too
FACTOR, ADDEND = 0.999, 0.001  # their fixed point is 1: no number grows or vanishes
FUNCTIONS = ("exp", "log", "power", "tanh", "sin")


def _deep(v: Any, a: Any, b: Any) -> Any:
    v = fma(v, a, b)
    v = fma(v, a, b)
    v = fma(v, a, b)
    v = fma(v, a, b)
    v = fma(v, a, b)
    v = fma(v, a, b)
    v = fma(v, a, b)
    return fma(v, a, b)


def multiply_add_of(real: Any) -> tuple[Callable[[int], None], NDArray[Any]]:
    """Does v = FACTOR v + ADDEND `DEPTH` times for `IN_CACHE` numbers, so many times; and the numbers."""
    deep = compiled(_deep, real)

    def loop(x: Any, a: Any, b: Any, n: int, sweeps: int) -> None:
        for _ in range(sweeps):
            for i in range(n):
                x[i] = deep(x[i], a, b)

    number, size = (types.float32, ctypes.c_float) if real is np.float32 else (types.float64, ctypes.c_double)
    code = machine_code(loop, (types.CPointer(number), number, number, types.int64, types.int64))
    linked = Linked(code.symbol, code.object_file, [ctypes.c_void_p, size, size, ctypes.c_int64, ctypes.c_int64])
    x = np.full(IN_CACHE, 0.5, real)
    return lambda sweeps: linked(x.ctypes.data, FACTOR, ADDEND, IN_CACHE, sweeps), x


def loop_of(name: str, real: Any) -> Callable[[int], None]:
    """Does a function for `NUMBERS` numbers from 0.5 to 2, so many times."""
    function = compiled(vecmath.FORMULAS[getattr(vecmath, name)], real)
    call = function if name == "power" else inline(lambda x, y: function(x))

    def loop(x: Any, y: Any, result: Any, n: int, sweeps: int) -> None:
        for _ in range(sweeps):
            for i in range(n):
                result[i] = call(x[i], y[i])

    pointer = types.CPointer(types.float32 if real is np.float32 else types.float64)
    code = machine_code(loop, (pointer, pointer, pointer, types.int64, types.int64))
    linked = Linked(code.symbol, code.object_file, [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2)
    x, y = np.random.default_rng(1).uniform(0.5, 2.0, (2, NUMBERS)).astype(real)
    result = np.empty_like(x)

    def run(sweeps: int) -> None:
        linked(x.ctypes.data, y.ctypes.data, result.ctypes.data, NUMBERS, sweeps)

    run(1)
    expected = getattr(np, name)(*((x.astype(float), y.astype(float)) if name == "power" else (x.astype(float),)))
    if not np.allclose(result, expected, rtol=1e-5):
        raise AssertionError(f"The loop of {name} does not compute it.")
    return run
