"""The greatest error of each function of `steppe.kernels.vecmath` over two million points, beside the stated one, in ULP."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.kernels.test_vecmath import REALS, STATED, apply, exact, samples, ulps


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no extended precision here to compare with")
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("name", STATED)
def test_measured_errors_beside_stated_ones(name: str, real: type, measured: Callable[[str, str, float, str], None]) -> None:
    arguments = samples(name, real, 2_000_000)
    with np.errstate(all="ignore"):
        error = ulps(apply(name, *arguments), exact(name, arguments))
    measured(f"vecmath.{name}", f"{real.__name__}, greatest error [ULP]", error, f"stated {STATED[name]}")
    assert error <= STATED[name]
