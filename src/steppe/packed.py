"""Forcing as it lies in a store and as a model takes it: whole numbers that a kernel turns into values in its registers."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING = -32768  # of packed integers: no value


class Packed(NamedTuple):
    """Forcing of some cells over some steps.

    value of variable k at step j = rows[row_of[k, j]] * scale[k] + offset[k], computed in the model's precision;
    rows that are integers hold `MISSING` where there is no value, rows that are floats NaN.
    rows (rows, cells): int16, float32 or float64; cells lie side by side, rows may lie apart. row_of (variables, steps): int32.
    scale, offset (variables,): float64.
    """

    rows: NDArray[Any]
    row_of: NDArray[np.int32]
    scale: NDArray[np.float64]
    offset: NDArray[np.float64]


def values_of(raw: NDArray[Any], scale: np.floating[Any], offset: np.floating[Any]) -> NDArray[Any]:
    """The values of a row, with the bits that a kernel of the precision of `scale` sees; NaN where there is none."""
    values: NDArray[Any] = raw.astype(scale.dtype) * scale + offset
    return np.where(raw == MISSING, scale.dtype.type("nan"), values) if raw.dtype == np.int16 else values
