"""The forcing of a cell model: slabs of a store, as windows for the kernel and as numbers for people."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ForcingError
from steppe.kernels import Window
from steppe.models.model import Array, Inputs
from steppe.packed import MISSING


def windows(inputs: Inputs, steps: range, wanted: Sequence[str], real: Any) -> list[Window]:
    """One window a tile: the variables of the model among those that the inputs hold.

    Raises
    ------
    ForcingError
        The rows are of a type that no kernel reads.
    """
    places = [inputs.names.index(name) for name in wanted]
    found = []
    for number, tile in enumerate(inputs.tiles):
        packed = inputs.slab(steps, number)
        if packed.rows.dtype not in (np.int16, np.float32, np.float64):
            raise ForcingError(f"Forcing rows are {packed.rows.dtype}; a kernel reads int16, float32 and float64. Convert the store.")
        found.append(
            Window(
                tuple(wanted),
                np.ascontiguousarray(packed.rows),
                np.ascontiguousarray(packed.row_of[places], np.int32),
                np.asarray(packed.scale, np.float64)[places].astype(real),
                np.asarray(packed.offset, np.float64)[places].astype(real),
                tile.start,
            )
        )
    return found


def part(window: Window, steps: slice) -> Window:
    """Some steps of a window."""
    return window._replace(row_of=np.ascontiguousarray(window.row_of[:, steps]))


def kept(window: Window, step: int) -> Window:
    """One step of a window, copied, so that it outlives the store's memory."""
    names = len(window.names)
    return window._replace(rows=window.rows[window.row_of[:, step]], row_of=np.arange(names, dtype=np.int32).reshape(names, 1))


def unpacked(window: Window, name: str, step: int = 0) -> Array:
    """The values of one variable at one step of the window, with the bits that the kernel sees."""
    k = window.names.index(name)
    raw: NDArray[Any] = window.rows[window.row_of[k, step]]
    real = window.scale.dtype.type
    values = raw.astype(real) * window.scale[k] + window.offset[k]
    known: Array = np.where(raw == MISSING, real("nan"), values) if raw.dtype == np.int16 else values
    return known
