"""Caches a raster that was read from a user's file: the next run loads it in a millisecond, without the libraries for such files."""

import contextlib
import hashlib
import io
import json
import os
from pathlib import Path

import numpy as np

from steppe.files import write_whole
from steppe.grid.projected import Projected
from steppe.grid.raster import Raster

VERSION = 3  # of the cache, and of the reader of files; another one reads the file again


def stamp(path: Path) -> str:
    """SHA-256 (hex) of names, sizes and times of a file, or of the files of a folder; it changes when one is written again."""
    found = hashlib.sha256(f"{VERSION} {path.resolve()}".encode())
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            _add(found, Path(folder) / name)
    if path.is_file():
        _add(found, path)
    return found.hexdigest()


def keep(path: Path, grid: Raster | Projected) -> None:
    """Writes a raster. If that fails, the next run reads the user's file again."""
    mask = {"mask": np.packbits(grid.active), "shape": np.array(grid.active.shape)}
    if isinstance(grid, Raster):
        arrays = {"geometry": np.array([grid.lat0, grid.dlat, grid.lon0, grid.dlon]), **mask}
    else:
        places = {"cell_lat": grid.cell_lat, "cell_lon": grid.cell_lon, "cell_area": grid.cell_area}
        crs = np.frombuffer(json.dumps(dict(grid.crs)).encode(), np.uint8)
        arrays = {"geometry": np.array([grid.y0, grid.dy, grid.x0, grid.dx]), **mask, **places, "crs": crs}
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.getvalue(), durable=False)  # a torn file fails the checksums in it, and is made again


def kept(path: Path) -> Raster | Projected | None:
    """The cached raster; None if there is none or it cannot be read."""
    try:
        with path.open("rb") as file, np.load(file) as stored:  # by its name NumPy leaves a damaged file open
            arrays = dict(stored)
        rows, columns = (int(length) for length in arrays["shape"])
        active = np.unpackbits(arrays["mask"], count=rows * columns).astype(bool).reshape(rows, columns)
        row, drow, column, dcolumn = (float(number) for number in arrays["geometry"])
        if "crs" in arrays:
            crs = json.loads(arrays["crs"].tobytes())
            return Projected(row, drow, column, dcolumn, active, crs, arrays["cell_lat"], arrays["cell_lon"], arrays["cell_area"])
        return Raster(row, drow, column, dcolumn, active)
    except Exception:  # any error of the cache: the user's file is read again
        return None


def _add(found: "hashlib._Hash", path: Path) -> None:
    about = path.stat()
    found.update(f"{path.name} {about.st_size} {about.st_mtime_ns}\n".encode())
