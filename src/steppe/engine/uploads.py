"""Arrays that clients uploaded for a run: files in its folder named by the SHA-256 of their bytes."""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from steppe.array_types import Array, Integers
from steppe.engine.plan import Plan
from steppe.errors import DamagedError, RequestError, ShapeError, UnknownNameError
from steppe.io import write_durable

FOLDER = "uploads"
UNUSED = "unused"  # folder of uploads that no order named yet; a new order of the journal may name one


def read_change(run_folder: Path, plan: Plan, arguments: Mapping[str, Any]) -> dict[str, object]:
    """The arguments of `RankState.set`, from those of a `set` action, with its uploaded arrays.

    Raises
    ------
    UnknownNameError
        There is no such variable.
    RequestError, DamagedError
        There is no value, or an upload cannot be read.
    """
    name, n_cells = arguments["variable"], plan.grid.n_cells
    if name not in plan.variables:
        raise UnknownNameError(plan.variables.missing(name))
    cells = read_cells(run_folder, arguments["cells"], n_cells) if arguments.get("cells") else None
    value: float | Array | None = arguments.get("value")
    if arguments.get("upload"):
        levels = plan.variables.leading(name)
        value = read_values(run_folder, arguments["upload"], n_cells if cells is None else len(cells), *levels)
    if value is None:
        raise RequestError(f'No value was given for "{name}".')
    return {"name": name, "value": value, "cells": cells, "operation": arguments.get("operation") or "set"}


def write_upload(run_folder: Path, values: Array) -> str:
    """Writes an array to the uploads, durably; returns the SHA-256 that names it.

    Raises
    ------
    NoSpaceError, Failure
        The file cannot be written.
    """
    data = values.tobytes()
    digest, folder = hashlib.sha256(data).hexdigest(), run_folder / FOLDER
    if not (folder / digest).exists():
        write_durable(folder / digest, data)
    return digest


@lru_cache(16)
def read_cells(run_folder: Path, digest: str, n_cells: int) -> Integers:
    """Uploaded packed cells, uint32.

    Raises
    ------
    RequestError
        One is no cell of the grid, or there are none.
    DamagedError
        The file is missing or not what the client uploaded.
    """
    return cells_of(_read(run_folder, digest), n_cells)


@lru_cache(16)
def cells_of(data: bytes, n_cells: int) -> Integers:
    """Packed cells of whole uint32 numbers; raises RequestError."""
    if not data or len(data) % 4:
        raise ShapeError(f"A list of cells is whole uint32 numbers, {len(data)} bytes are none.")
    cells = np.frombuffer(data, "<u4").astype(np.int64)
    if cells.max() >= n_cells:
        raise RequestError(f"Cell {cells.max()} is none of the {n_cells} of the grid.")
    return cells


def read_values(run_folder: Path, digest: str, count: int, levels: int = 1) -> Array:
    """Uploaded values for some cells, float32 or float64 by their length; of some levels, (levels, cells), only float64.

    Raises
    ------
    ShapeError
        There is not one value for each cell.
    DamagedError
        The file is missing or not what the client uploaded.
    """
    data = _read(run_folder, digest)
    for dtype in ("<f4", "<f8"):
        if len(data) == count * np.dtype(dtype).itemsize:
            return np.frombuffer(data, dtype)
    if len(data) == levels * count * 8:
        return np.frombuffer(data, "<f8").reshape(levels, count)
    raise ShapeError(f"{len(data):,} bytes were sent for {count:,} cells. Send one number for each, as float32 or float64.")


def _read(run_folder: Path, digest: str) -> bytes:
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise RequestError(f'"{digest}" is no SHA-256 of what was sent.')
    path = run_folder / FOLDER / digest
    try:
        data = _first(path, path.with_name(UNUSED) / digest, path)  # it may be moved meanwhile
    except OSError as error:
        raise DamagedError(f'"{path}" cannot be read ({error.strerror}); the run needs what was sent to go on. Restore it.') from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise DamagedError(f'"{path}" is damaged: its hash is wrong. Restore it.')
    return data


def _first(*paths: Path) -> bytes:
    for path in paths[:-1]:
        with suppress(FileNotFoundError):
            return path.read_bytes()
    return paths[-1].read_bytes()
