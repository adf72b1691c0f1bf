"""The forcing of a cell model: tiles of a store, as windows for the kernel and as decoded numbers."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import DTypeLike

from steppe.array_types import Array
from steppe.errors import ForcingError
from steppe.kernels import ForcingRows
from steppe.models.handed import ForcingStream, Inputs
from steppe.packed import Packed, values_of

PIECE = 64  # steps


class ForcingWindows:
    """The forcing of some cells, tile by tile: the variables of the model among those that the inputs hold.

    wanted: names in the order of the model. real: the model's precision.
    """

    def __init__(self, inputs: Inputs, cells: range, wanted: Sequence[str], real: DTypeLike) -> None:
        self._stream: ForcingStream = inputs.stream(cells)
        self._cells, self._wanted, self._real = cells, tuple(wanted), real
        self._places = [inputs.names.index(name) for name in wanted]

    def __call__(self, steps: range) -> Iterator[tuple[range, ForcingRows]]:
        """Which of the cells, and their window, valid until the next is asked for.

        Raises
        ------
        ForcingError
            The rows are of a type that no kernel reads, or their cells do not lie side by side.
        """
        window = row_of = None
        for tile, packed in self._stream.tiles(steps):
            if window is None or packed.row_of is not row_of:
                row_of = packed.row_of
                window = self._window(packed)
            common = range(max(tile.start, self._cells.start), min(tile.stop, self._cells.stop))
            yield common, window._replace(rows=packed.rows, first_cell=tile.start)

    def _window(self, packed: Packed) -> ForcingRows:
        if packed.rows.dtype not in (np.int16, np.float32, np.float64):
            raise ForcingError(f"Forcing rows are {packed.rows.dtype}; a kernel reads int16, float32 and float64. Convert the store.")
        if packed.rows.strides[1] != packed.rows.itemsize:
            raise ForcingError("The cells of forcing rows do not lie side by side. Hand over rows (rows, cells) in C order.")
        row_of = np.ascontiguousarray(packed.row_of[self._places], np.int32)
        scale, offset = (np.asarray(line, np.float64)[self._places].astype(self._real) for line in (packed.scale, packed.offset))
        return ForcingRows(self._wanted, packed.rows, row_of, scale, offset, 0)


class NoWeather:
    """The inputs of a run without weather, for a model that needs none: an empty row on every cell."""

    names: tuple[str, ...] = ()
    in_turns = False

    def __init__(self, n_cells: int) -> None:
        self._rows = np.zeros((1, n_cells), np.float32)

    def pieces(self, steps: range) -> list[range]:
        """`steps` in parts that a kernel takes at once."""
        return [steps[i : i + PIECE] for i in range(0, len(steps), PIECE)]

    def turn_to(self, piece: range) -> None:
        """Nothing is made ready."""

    def stream(self, cells: range) -> "NoWeather":
        """The same for any cells."""
        return self

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        """One tile of all cells."""
        none = np.zeros(0)
        yield range(self._rows.shape[1]), Packed(self._rows, np.zeros((0, len(steps)), np.int32), none, none)


def one_step(window: ForcingRows, step: int, cells: range) -> ForcingRows:
    """Some cells at one step of a window, copied, so that they outlive the memory that they were read into."""
    names = len(window.names)
    rows = window.rows[window.row_of[:, step], cells.start - window.first_cell : cells.stop - window.first_cell]
    return window._replace(
        rows=np.ascontiguousarray(rows), row_of=np.arange(names, dtype=np.int32).reshape(names, 1), first_cell=cells.start
    )


def joined(windows: Sequence[ForcingRows]) -> ForcingRows:
    """One window of what lies side by side, at one step."""
    return windows[0]._replace(rows=np.concatenate([window.rows for window in windows], axis=1))


def unpacked(window: ForcingRows, name: str) -> Array:
    """The values of one variable at the first step of the window, with the bits that the kernel sees."""
    k = window.names.index(name)
    return values_of(window.rows[window.row_of[k, 0]], window.scale[k], window.offset[k])
