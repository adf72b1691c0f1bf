"""The limits that a CF variable states; a value outside them is missing (CF-1.12, 2.5.1)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from steppe.array_types import Array

if TYPE_CHECKING:
    import xarray

UNWRITTEN = 9.969209968386869e36  # of NetCDF, in float32 and float64, where a file names no _FillValue
Span = tuple[float, float]  # the least and the greatest value, infinite where there is no limit


def unpacked_limits(values: "xarray.DataArray") -> dict[str, object]:
    """Limits that a file gives in packed numbers (whole ones beside a scale or an offset), as values."""
    scale, offset = _packing(values)
    limits = {name: np.asarray(values.attrs[name]) for name in ("valid_min", "valid_max", "valid_range") if name in values.attrs}
    if (scale, offset) == (1.0, 0.0):
        return {}
    found: dict[str, object] = {name: limit * scale + offset for name, limit in limits.items() if limit.dtype.kind in "iu"}
    if scale > 0.0:
        return found
    # the least packed value is then the greatest value
    turned = {"valid_min": "valid_max", "valid_max": "valid_min"}
    return {turned.get(name, name): np.flip(np.asarray(limit)) for name, limit in found.items()}


def stated_span(attributes: Mapping[str, object]) -> Span:
    """The limits among some attributes."""
    low, high = attributes.get("valid_min"), attributes.get("valid_max")
    if isinstance(span := attributes.get("valid_range"), Sequence | np.ndarray) and len(span) == 2:
        low, high = span
    least, most = (
        float(value) if isinstance(value, int | float | np.number) else unset for value, unset in ((low, -np.inf), (high, np.inf))
    )
    return least, most


def valid_range(values: "xarray.DataArray") -> Span:
    """The limits of a variable, in the unit of the file. Those of packed numbers are wider by half a step, more than rounding."""
    low, high = stated_span({**values.attrs, **unpacked_limits(values)})
    if low > high:  # of bytes that stand for unsigned ones
        return -np.inf, np.inf
    packing = _packing(values)
    slack = abs(packing[0]) / 2.0 if packing != (1.0, 0.0) else 0.0
    return low - slack, high + slack


def mark_missing(values: Array, span: Span) -> None:
    """Makes values outside the limits NaN, and those that NetCDF has never written."""
    if values.dtype.kind != "f":
        return
    values[values == UNWRITTEN] = np.nan
    if np.isfinite(span).any():
        with np.errstate(over="ignore"):  # a limit that the type does not reach
            low, high = values.dtype.type(span[0]), values.dtype.type(span[1])
        values[(values < low) | (values > high)] = np.nan


def _packing(values: "xarray.DataArray") -> tuple[float, float]:
    return float(values.encoding.get("scale_factor", 1.0)), float(values.encoding.get("add_offset", 0.0))
