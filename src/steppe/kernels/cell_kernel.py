"""A cell model's loop as machine code, from the cache or compiled and cached."""

import ctypes
import logging
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats
from steppe.kernels import cache
from steppe.kernels.cache import address_of
from steppe.kernels.cell_loop import BLOCK, OPERATIONS, PARAMETERS, TODAY, CellStep, WorkRows, loop_text, row_length
from steppe.kernels.primitives import Precision, fma, where
from steppe.kernels.source import Function, fingerprint, in_memory

if TYPE_CHECKING:
    from steppe.kernels.compiling import MachineCode

LOG = logging.getLogger("steppe")
KINDS = {np.dtype(name): kind for kind, name in enumerate(("int16", "float32", "float64"))}
MISSING = -32768  # of integer forcing
PLACE = {name: place for place, name in enumerate(PARAMETERS)}
OF_TILE = [PLACE[name] for name in ("first", "last", "integers", "singles", "doubles", "columns", "column_0")]


class RecordRow(NamedTuple):
    """A row of `work` to be reduced: slots (steps,) int32, values (slots, cells) float64; a step with a slot below 0 is not recorded."""

    row: int
    operation: str
    slots: NDArray[np.int32]
    values: Floats


class ForcingRows(NamedTuple):
    """The forcing of some cells and steps, for the loop: rows (rows, columns), row_of (variables, steps) int32.

    Columns are contiguous, rows need not be. names: the variables in the order of row_of, scale and offset; column 0 is the cell
    `first_cell`.
    """

    names: tuple[str, ...]
    rows: Array
    row_of: NDArray[np.int32]
    scale: Array
    offset: Array
    first_cell: int


class CellKernel:
    """The compiled loop of one model for one precision and one choice of per-cell constants.

    dtype: np.float32 or np.float64. per_cell: parameters and derived that differ from cell to cell, in the order of their rows.
    diagnostics: those to be recorded; the loop computes no others. block: cells in a block, a multiple of `TURN`; results do not depend on
    it.

    Raises
    ------
    ModelError
        The step cannot be compiled into a fast and exact loop; the message names the line.
    """

    def __init__(
        self, model: CellStep, dtype: Precision, per_cell: tuple[str, ...] = (), diagnostics: tuple[str, ...] = (), block: int = BLOCK
    ) -> None:
        self.rows = WorkRows(model, per_cell, diagnostics)
        self.real: Any = np.dtype(dtype).type
        self.block = block
        self._limits = {name: model.limits.get(name, (-np.inf, np.inf)) for name in model.fields("Forcing")}
        self._limit_rows = np.array([self.rows[name] for name in self._limits], np.int32)
        self._lowest, self._highest = _columns(self._limits.values(), self.real)

        def made() -> tuple[str, bytes]:
            LOG.info("Compiling the %s kernel for this processor; it is kept for the next run.", model.name)
            code = compile_loop(model, self.real, per_cell, diagnostics, block)
            return code.symbol, code.object_file

        found = cache.kept(f"{model.name}_{self._key(model, per_cell, diagnostics)}", made)
        pointers = [ctypes.c_int64 if to == "number" else ctypes.c_void_p for to in PARAMETERS.values()]
        self._linked = cache.MachineFunction(*found, pointers)

    def _key(self, model: CellStep, per_cell: tuple[str, ...], diagnostics: tuple[str, ...]) -> str:
        text = loop_text(model, per_cell, diagnostics, self.block)
        return cache.key(text, fingerprint(model.step, in_memory), f"{self.real.__name__} {self.block}", version("numba"))

    def run(
        self,
        state: Array,
        codes: NDArray[np.int32],
        bad_steps: NDArray[np.int32],
        constants: Array,
        uniform: Array,
        today: Array,
        steps: range,
        cells: range,
        forcing: ForcingRows,
        records: list[RecordRow],
    ) -> None:
        """Advances `cells` over `steps`. Threads may run it at the same time on different cells. Arguments as in `bind`."""
        bound = self.bind(state, codes, bad_steps, constants, uniform, today, steps, forcing, records)
        bound(cells, forcing.rows, forcing.first_cell)

    def bind(
        self,
        state: Array,
        codes: NDArray[np.int32],
        bad_steps: NDArray[np.int32],
        constants: Array,
        uniform: Array,
        today: Array,
        steps: range,
        forcing: ForcingRows,
        records: list[RecordRow],
    ) -> "BoundKernel":
        """The loop for one thread over `steps`, to be called for tile after tile; arguments common to all tiles are bound once.

        state (rows, cells): states and optional forcing, updated. codes, bad_steps (cells,): 0 and -1 while a cell is good.
        constants (per-cell constants, cells); uniform (the other constants,); today (steps, 3) as `TODAY`; all C-contiguous and,
        but for codes and steps, of the model's precision.
        """
        kind = KINDS[forcing.rows.dtype]
        places = np.array([self.rows[name] for name in forcing.names], np.int32)
        lines = np.array([record.row for record in records], np.int32)
        operations = np.array([OPERATIONS.index(record.operation) for record in records], np.int32)
        slots = np.array([record.slots for record in records], np.int32).reshape(len(records), len(steps))
        addresses = np.array([address_of(record.values) for record in records], np.int64)
        rows, row_of = forcing.rows, np.ascontiguousarray(forcing.row_of)
        low, high = self._good(forcing)
        given: dict[str, Any] = {
            "work": _aligned(self.rows.count * row_length(self.block), self.real),
            "state": state,
            "codes": codes,
            "bad_steps": bad_steps,
            "cells": state.shape[1],
            "first": 0,  # the arguments of a tile are set at each call
            "last": 0,
            "states": self.rows.states,
            "carried_rows": state.shape[0],
            "constants": constants,
            "n_constants": constants.shape[0],
            "uniform": uniform,
            "today": today,
            "steps": len(steps),
            "step_0": steps.start,
            "kind": kind,
            **dict.fromkeys(("integers", "singles", "doubles"), rows),
            "columns": _apart(rows),
            "column_0": forcing.first_cell,
            "n_forcing": len(forcing.names),
            "row_of": row_of,
            "place": places,
            "scale": forcing.scale,
            "offset": forcing.offset,
            "low": low,
            "high": high,
            "n_limits": len(self._limits),
            "limit_rows": self._limit_rows,
            "lowest": self._lowest,
            "highest": self._highest,
            "n_records": len(records),
            "record_rows": lines,
            "record_operations": operations,
            "record_slots": slots,
            "record_values": addresses,
        }
        return BoundKernel(
            self._linked, [given[name] if to == "number" else address_of(given[name]) for name, to in PARAMETERS.items()], given
        )

    def _good(self, forcing: ForcingRows) -> tuple[Array, Array]:
        """The least and the greatest good number in each variable's rows, as they are compared: integers before they are decoded."""
        limits = [self._limits[name] for name in forcing.names]
        if forcing.rows.dtype == np.int16:
            packing = zip(forcing.scale.tolist(), forcing.offset.tolist(), limits, strict=True)
            limits = [good_integers(self.real, scale, offset, *limit) for scale, offset, limit in packing]
        return _columns(limits, self.real)


class BoundKernel:
    """The result of `CellKernel.bind`. held: the arrays whose addresses are among the arguments."""

    def __init__(self, linked: cache.MachineFunction, arguments: list[int], held: dict[str, Any]) -> None:
        self._linked, self._arguments, self._held = linked, arguments, held

    def __call__(self, cells: range, rows: Array, first_cell: int) -> None:
        """Advances `cells`; rows (rows, columns) as of a `ForcingRows`: their forcing, with the cell `first_cell` in column 0."""
        address = address_of(rows)
        of_tile = (cells.start, cells.stop, address, address, address, _apart(rows), first_cell)
        for place, value in zip(OF_TILE, of_tile, strict=True):
            self._arguments[place] = value
        self._linked(*self._arguments)

    def part(self, some: slice, row_of: NDArray[np.int32]) -> "BoundKernel":
        """The same loop for some of the steps, with a new `row_of`. Both share their scratch memory: never call them at the same time."""
        steps = range(self._held["step_0"], self._held["step_0"] + self._held["steps"])[some]
        by_step = {"row_of": np.ascontiguousarray(row_of), "record_slots": np.ascontiguousarray(self._held["record_slots"][:, some])}
        changed = {"today": self._held["today"][some], **by_step, "steps": len(steps), "step_0": steps.start}
        arguments = self._arguments.copy()
        for name, value in changed.items():
            arguments[PLACE[name]] = value if PARAMETERS[name] == "number" else address_of(value)
        return BoundKernel(self._linked, arguments, {**self._held, **changed})


def _apart(rows: Array) -> int:
    """Numbers from one row to the next."""
    return int(rows.strides[0]) // rows.itemsize


def _columns(limits: Iterable[tuple[float, float]], real: type) -> tuple[Array, Array]:
    pairs: Array = np.array([*limits], real).reshape(-1, 2)
    low, high = pairs.T
    return np.ascontiguousarray(low), np.ascontiguousarray(high)


@lru_cache
def good_integers(real: Any, scale: float, offset: float, low: float, high: float) -> tuple[int, int]:
    """The least and the greatest int16 whose value lies within the limits: decoding, and each rounding in it, keeps the order."""
    integers = np.arange(MISSING + 1, 32768)
    with np.errstate(all="ignore"):
        values = integers.astype(real) * real(scale) + real(offset)
    good = np.flatnonzero((values >= real(low)) & (values <= real(high)))
    return (int(integers[good[0]]), int(integers[good[-1]])) if good.size else (1, 0)


def _aligned(length: int, real: Precision) -> Array:
    """Scratch memory that begins at a cache line, so that no vector crosses two."""
    size = np.dtype(real).itemsize
    raw = np.empty(length * size + 64, np.uint8)
    start = -address_of(raw) % 64
    return raw[start : start + length * size].view(real)


def turn(real: Precision) -> int:
    """Cells in one turn of the inner loop: two vectors. A block has several turns."""
    return 2 * cache.vector_bytes() // int(np.dtype(real).itemsize)


def compile_loop(
    model: CellStep, real: Any, per_cell: tuple[str, ...] = (), diagnostics: tuple[str, ...] = (), block: int = BLOCK
) -> "MachineCode":
    """The `MachineCode` of a loop, compiled anew (imports Numba)."""
    from numba import types as numba_types

    from steppe.kernels.compiling import inline, machine_code, separate
    from steppe.kernels.intrinsics import INTRINSICS, float64_pointer, greater, lesser, pointer

    namespace: dict[str, Any] = {group: model.groups[group] for group in model.arguments if group != "Options"}
    step = _translated(model.step, real, fingerprint(model.step, in_memory))
    namespace |= {"Options": model.groups.get("Options"), "step": step, "Real": real}
    namespace |= {"inline": inline, "separate": separate, "pointer": pointer, "lesser": lesser, "greater": greater}
    namespace |= {"B": block, "S": row_length(block), "T": turn(real)}
    namespace |= {
        "ZERO": real(0),
        "NAN": real("nan"),
        "MISSING": MISSING,
        "float64_pointer": float64_pointer,
        "where": INTRINSICS[where],
        "fma": INTRINSICS[fma],
    }
    namespace |= {"float64": np.float64, "int32": np.int32, "int64": np.int64}
    namespace |= {operation.upper(): number for number, operation in enumerate(OPERATIONS)}
    exec(compile(loop_text(model, per_cell, diagnostics, block), f"<loop of {model.name}>", "exec"), namespace)
    types: Any = numba_types  # declared in part only
    kinds = {name: types.CPointer(getattr(types, name)) for name in ("int16", "int32", "int64", "float32", "float64")}
    kinds |= {"real": kinds[real.__name__], "number": types.int64}
    return machine_code(namespace["kernel"], tuple(kinds[to] for to in PARAMETERS.values()), apart="advance")


@lru_cache(4)
def _translated(step: Function, real: Precision, key: str) -> Function:
    """The step as Numba's function, which most of the time is spent on, for all kernels of a model. key: of what it is made of now."""
    from steppe.kernels.compiling import compiled

    return compiled(step, real)


__all__ = ["BLOCK", "OPERATIONS", "TODAY", "CellKernel", "CellStep", "ForcingRows", "RecordRow", "WorkRows", "compile_loop"]
