"""Runs kernels on arrays between pages that nobody may touch, so that a read or write outside of any array ends the process.

    python -m tests.kernels.guarded high|low|beyond

high: arrays end where a forbidden page begins; low: they begin where one ends. beyond: a kernel is told of a cell that does not exist.
"""

import ctypes
import mmap
import sys
from itertools import pairwise, product
from typing import Any

import numpy as np
from examples import bucket

from steppe.kernels import CellKernel, ForcingRows, RecordRow, attributes, cell_kernel, sums
from steppe.models import pasture
from steppe.models.cell_declaration import CellDeclaration

CELLS = (1, 2, 15, 16, 17, 255, 256, 257, 1000)
STEPS = (1, 400)
PAGE = mmap.PAGESIZE
FORBIDDEN, READABLE = 0, 1  # PROT_NONE, PROT_READ
LIBRARY = ctypes.CDLL(None, use_errno=True)
OPERATIONS = ("sum", "min", "max", "last")


class Guarded:
    """Stands for NumPy in a module whose arrays are to be guarded."""

    def __init__(self, high: bool) -> None:
        self._high = high

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: Any = float) -> np.ndarray:
        return self._made(shape, dtype)[0]

    def array(self, values: Any, dtype: Any = None, constant: bool = False) -> np.ndarray:
        """A copy; constant: writing into it is forbidden too."""
        source = np.asarray(values, dtype)
        made, pages, length = self._made(source.shape, source.dtype)
        made[...] = source
        if constant:
            protect(pages, length, READABLE)
        return made

    def ascontiguousarray(self, values: Any, dtype: Any = None) -> np.ndarray:
        return self.array(values, dtype, constant=True)

    def arange(self, *range_: int) -> np.ndarray:
        return self.array(np.arange(*range_), constant=True)

    def _made(self, shape: Any, dtype: Any) -> tuple[np.ndarray, int, int]:
        count, size = int(np.prod(shape)), np.dtype(dtype).itemsize
        length = -(-max(count * size, 1) // PAGE) * PAGE
        memory = mmap.mmap(-1, length + 2 * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        protect(base, PAGE, FORBIDDEN)
        protect(base + PAGE + length, PAGE, FORBIDDEN)
        offset = PAGE + (length - count * size if self._high else 0)
        return np.frombuffer(memory, dtype, count, offset).reshape(shape), base + PAGE, length


def protect(address: int, length: int, access: int) -> None:
    if LIBRARY.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(length), access):
        raise OSError(ctypes.get_errno(), "mprotect")


class Program:
    """A kernel with everything it is given but forcing, and what it must leave."""

    def __init__(self, module: Any, dtype: str, keep: bool) -> None:
        self._declaration = CellDeclaration(module, dtype)
        self._real: Any = np.dtype(dtype).type
        names = attributes(module.step)
        given = {name: np.asarray(v.initial, np.float64) for name, v in self._declaration.variables.items() if v.role.value == "parameter"}
        p, d = self._declaration.derive(given, self._declaration.options({}))
        constants = {**p._asdict(), **(d._asdict() if d else {})}
        self._per_cell = tuple(name for name in list(constants)[::3] if name in names)
        self._constants = constants
        diagnostics = self._declaration.fields("Diagnostics") if keep else ()
        step = self._declaration.cell_step(self._declaration.options({}))
        self.kernel = CellKernel(step, self._real, self._per_cell, diagnostics)
        self.names = tuple(name for name in self._declaration.fields("Forcing") if name not in self._declaration.optional())
        self._recorded = [self._declaration.fields("State")[-1], self.names[0], *diagnostics[-1:]]

    def run(self, array: Any, rows: np.ndarray, weekly: bool, cells: int, steps: int, tiles: list[int], cuts: list[int]) -> bytes:
        """All cells, in runs that end at `cuts` and where tiles end; the bits of everything that is written."""
        carried = self.kernel.rows.carried
        state = array(np.full((len(carried), cells), 20.0, self._real))
        state[len(self._declaration.fields("State")) :] = 0.0
        codes, bad = array(np.zeros(cells, np.int32)), array(np.full(cells, -1, np.int32))
        constants = array(np.array([np.broadcast_to(self._constants[n], cells) for n in self._per_cell], self._real).reshape(-1, cells))
        uniform = array(np.array([v for n, v in self._constants.items() if n not in self._per_cell], self._real))
        today = array(np.stack([1 + np.arange(steps) % 365, np.full(steps, 6), np.full(steps, 2001)], axis=1).astype(self._real))
        day = np.arange(steps)
        lines = day // 7 if weekly else day
        row_of = np.array([k * steps + lines for k in range(len(self.names))], np.int32)
        scale, offset = array(np.full(len(self.names), 0.5, self._real)), array(np.full(len(self.names), 1.0, self._real))
        slots = array(np.where(day % 5 == 4, -1, day // 200).astype(np.int32))
        size = 1 + (steps - 1) // 200
        records = [RecordRow(self.kernel.rows[n], o, slots, array(np.ones((size, cells)))) for n in self._recorded for o in OPERATIONS]
        windows = [ForcingRows(self.names, array(rows[:, low:high]), array(row_of), scale, offset, low) for low, high in pairwise(tiles)]
        for window, (low, high) in product(windows, pairwise(cuts)):
            common = range(max(low, window.first_cell), min(high, window.first_cell + window.rows.shape[1]))
            if common:
                self.kernel.run(state, codes, bad, constants, uniform, today, range(7, 7 + steps), common, window, records)
        return b"".join(part.tobytes() for part in (state, codes, bad, *(record.values for record in records)))


def guard_kernels(high: bool) -> None:
    random = np.random.default_rng(1)
    guarded = Guarded(high)
    for module, dtype, keep in product((bucket, pasture), ("float32", "float64"), (False, True)):
        if (module, dtype) == (pasture, "float64"):
            continue  # the same text as in single precision
        program = Program(module, dtype, keep)
        for cells, steps, kind in product(CELLS, STEPS, ("int16", "float32", "float64")):
            rows = random.integers(8, 40, (len(program.names) * steps, cells)).astype(kind)
            rows[-1, cells // 2] = -32768 if kind == "int16" else np.nan
            middle = sorted(set(random.integers(0, cells + 1, 3).tolist()))
            cuts = [0, *(cut for cut in middle if 0 < cut < cells), cells]
            weekly = bool(cells % 2)
            wanted = program.run(np.array, rows, weekly, cells, steps, [0, cells], [0, cells])
            cell_kernel.np, cell_kernel._aligned = guarded, guarded.empty  # type: ignore[attr-defined]
            found = program.run(guarded.array, rows, weekly, cells, steps, cuts, [0, cells // 2, cells] if cells > 1 else [0, 1])
            cell_kernel.np, cell_kernel._aligned = np, ALIGNED  # type: ignore[attr-defined]
            assert found == wanted, (module.NAME, dtype, keep, cells, steps, kind)


def guard_sums(high: bool) -> None:
    random = np.random.default_rng(2)
    guarded = Guarded(high)
    for cells in CELLS:
        values, weights = random.normal(size=(3, cells)), random.random(cells)
        index = random.permutation(cells)[: cells // 2 + 1]
        wanted = sums.fixed_sum(values[0], weights, 10.0), sums.weighted_means(values, index, weights[index]).tobytes()
        sums.np = guarded  # type: ignore[attr-defined]
        given = guarded.array(values, constant=True), guarded.array(index, constant=True), guarded.array(weights[index], constant=True)
        found = sums.fixed_sum(values[0], weights, 10.0), sums.weighted_means(*given).tobytes()
        sums.np = np  # type: ignore[attr-defined]
        assert found == wanted


def go_beyond() -> None:
    """The forcing has a cell more than the state."""
    program = Program(bucket, "float32", keep=False)
    program.run(Guarded(high=True).array, np.full((2, 17), 10, np.int16), False, 16, 1, [0, 17], [0, 17])


ALIGNED = cell_kernel._aligned

if __name__ == "__main__":
    if sys.argv[1] == "beyond":
        go_beyond()
    else:
        guard_sums(sys.argv[1] == "high")
        guard_kernels(sys.argv[1] == "high")
