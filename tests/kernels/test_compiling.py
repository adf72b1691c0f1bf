import math
from math import exp as library_exp

import numpy as np
import pytest

from steppe.errors import ModelError
from steppe.kernels.compiling import compiled, machine_code


def power_of_float(x: float) -> float:
    return x**1.5


def square(x: float) -> float:
    return x**2


def remainder(x: float) -> float:
    return x % 2.0


def module_function(x: float) -> float:
    return math.exp(x)


def numpy_function(x: float) -> float:
    return np.exp(x)


def imported_function(x: float) -> float:
    return library_exp(x)


def whole_literal(x: float) -> float:
    return 20 / x


def whole_number(x: float) -> float:
    return x * int(x)


def raises(x: float) -> float:
    if x > 1.0:
        raise ValueError
    return x


def unknown(x: float) -> float:
    return x + missing  # noqa: F821


def through_a_helper(x: float) -> float:
    return whole_literal(x) + 1.0


def pair(x: float) -> tuple[float, float]:
    if x <= 0.0:
        return 0.5, 2.0
    return x, 1.5


def constants_together(x: float) -> float:
    slope, offset = pair(x)
    return slope * x + offset


def with_a_class(x: float) -> float:
    return float(Thing(x).x)


class Thing:
    def __init__(self, x: float) -> None:
        self.x = x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (power_of_float, r'\("return x\*\*1.5"\): x \*\* y is a call'),
        (square, r'\("return x\*\*2"\): x \*\* y is a call'),
        (remainder, r'\("return x % 2.0"\): x % y is a call'),
        (module_function, r'\("return math.exp\(x\)"\): a step cannot use the module "math"'),
        (numpy_function, 'cannot use the module "np"'),
        (imported_function, '"library_exp" cannot be compiled'),
        (whole_literal, r'\("return 20 / x"\): This is computed in float64, the model is float32'),
        (whole_number, "This is computed in float64"),
        (through_a_helper, r'\("return 20 / x"\): This is computed in float64'),
        (raises, "cannot raise"),
        (unknown, 'there is no "missing"'),
        (with_a_class, r'\("return float\(Thing\(x\).x\)"\): this cannot be compiled: Untyped global name'),
    ],
)
def test_what_would_be_slow_or_inexact_is_refused_with_its_line(function: object, message: str) -> None:
    from numba import types

    def compile_in_a_loop() -> None:
        call = compiled(function, np.float32)

        def loop(x, n):
            for i in range(n):
                x[i] = call(x[i])

        machine_code(loop, (types.CPointer(types.float32), types.int64))

    with pytest.raises(ModelError, match=message) as refusal:
        compile_in_a_loop()
    assert "test_compiling.py" in str(refusal.value)


def test_a_whole_literal_is_exact_in_double_and_allowed_there() -> None:
    from numba import types

    call = compiled(whole_literal, np.float64)

    def loop(x, n):
        for i in range(n):
            x[i] = call(x[i])

    assert "divpd" in machine_code(loop, (types.CPointer(types.float64), types.int64)).assembly


def test_constants_that_are_returned_together_take_the_precision_of_the_model() -> None:
    """Every Python writes them in its own way: 3.12 as one constant that is returned."""
    from numba import types

    call = compiled(constants_together, np.float32)

    def loop(x, n):
        for i in range(n):
            x[i] = call(x[i])

    assert "cvtps2pd" not in machine_code(loop, (types.CPointer(types.float32), types.int64)).assembly
