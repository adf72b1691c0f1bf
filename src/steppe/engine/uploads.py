"""Arrays that people sent for a run: files in its folder named by the SHA-256 of their bytes."""

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.errors import DamagedError, RequestError, ShapeError

FOLDER = "uploads"


@lru_cache(16)
def read_cells(run_folder: Path, digest: str, n_cells: int) -> NDArray[np.int64]:
    """Packed cells that were sent, uint32.

    Raises
    ------
    RequestError
        One is no cell of the grid, or there are none.
    DamagedError
        The file is missing or not what was sent.
    """
    data = _read(run_folder, digest)
    if not data or len(data) % 4:
        raise ShapeError(f"A list of cells is whole uint32 numbers, {len(data)} bytes are none.")
    cells = np.frombuffer(data, "<u4").astype(np.int64)
    if cells.max() >= n_cells:
        raise RequestError(f"Cell {cells.max()} is none of the {n_cells} of the grid.")
    return cells


def read_values(run_folder: Path, digest: str, count: int) -> NDArray[Any]:
    """Values for some cells that were sent, float32 or float64: which, their length tells.

    Raises
    ------
    ShapeError
        They are not one for each cell.
    DamagedError
        The file is missing or not what was sent.
    """
    data = _read(run_folder, digest)
    for dtype in ("<f4", "<f8"):
        if len(data) == count * np.dtype(dtype).itemsize:
            return np.frombuffer(data, dtype)
    raise ShapeError(f"{len(data):,} bytes were sent for {count:,} cells. Send one number for each, as float32 or float64.")


def _read(run_folder: Path, digest: str) -> bytes:
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise RequestError(f'"{digest}" is no SHA-256 of what was sent.')
    path = run_folder / FOLDER / digest
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedError(f'"{path}" cannot be read ({error.strerror}); the run needs what was sent to go on. Restore it.') from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise DamagedError(f'"{path}" is damaged: its hash is wrong. Restore it.')
    return data
