"""Forcing as it lies in a store and as a model takes it: whole numbers that a kernel turns into values in its registers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats

MISSING = -32768  # of packed integers: no value


class Packed(NamedTuple):
    """Forcing of some cells over some steps.

    value of variable k at step j = rows[row_of[k, j]] * scale[k] + offset[k], computed in the model's precision;
    rows that are integers hold `MISSING` where there is no value, rows that are floats NaN.
    rows (rows, cells): int16, float32 or float64; cells lie side by side, rows may lie apart. row_of (variables, steps): int32.
    scale, offset (variables,): float64.
    """

    rows: Array
    row_of: NDArray[np.int32]
    scale: Floats
    offset: Floats


def values_of(raw: Array, scale: np.floating, offset: np.floating) -> Array:
    """The values of a row, with the bits that a kernel of the precision of `scale` sees; NaN where there is none."""
    values: Array = raw.astype(scale.dtype) * scale + offset
    return np.where(raw == MISSING, scale.dtype.type("nan"), values) if raw.dtype == np.int16 else values
