"""One reader of others at one task; runs in the peers' environment and prints seconds, of CPU and by the clock, as JSON.

Everything is read to float32 in its unit, as a model would need it. Imports and opening count for series and maps, not for scans.
"""

# mypy: disable-error-code="import-not-found,import-untyped"
# The libraries are in an environment that mypy does not see.

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = ("rain", "tmin", "tmax", "radiation", "vp", "pan")
SLAB = 384  # days that a scan reads at once: one shard
CELL, DAY = 7_000, 1_500


def scan_zarr(store: str, days: int, pipeline: str) -> int:
    import numpy as np
    import zarr

    if pipeline == "zarrs":
        import zarrs  # noqa: F401

        zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "threading.max_workers": 1})
    else:
        zarr.config.set({"threading.max_workers": 1})
    count = 0
    for name in NAMES:
        array = zarr.open_array(f"{store}/{name}", mode="r")
        scale, offset = (np.float32(array.attrs[key]) for key in ("scale_factor", "add_offset"))
        for first in range(0, days, SLAB):
            raw = np.asarray(array[first : min(first + SLAB, days)])
            values = np.where(raw == -32768, np.float32("nan"), raw * scale + offset)
            count += values.size
    return count


def scan_dask(folder: str, days: int, chunks: Any) -> int:
    import dask
    import numpy as np
    import xarray

    count = 0
    with dask.config.set(scheduler="synchronous"):
        for name in NAMES:
            with xarray.open_mfdataset(sorted(files(folder, name, days)), **({"chunks": chunks} if chunks else {})) as dataset:
                for first in range(0, days, SLAB):
                    count += dataset[name][first : first + SLAB].astype(np.float32).values.size
    return count


def scan_netcdf4(folder: str, days: int) -> int:
    import netCDF4
    import numpy as np

    count = 0
    for name in NAMES:
        for path in files(folder, name, days):
            with netCDF4.Dataset(path) as file:
                variable = file[name]
                variable.set_auto_maskandscale(False)
                raw = variable[:]
                values = np.where(
                    raw == -32768, np.float32("nan"), raw * np.float32(variable.scale_factor) + np.float32(variable.add_offset)
                )
                count += values.size
    return count


def files(folder: str, name: str, days: int) -> list[str]:
    found = sorted(str(path) for path in Path(folder).glob(f"*.{name}.nc"))
    return found[: max(1, round(days / 365.25))]


def use_zarrs() -> None:
    import zarr
    import zarrs  # noqa: F401

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})


def series_zarr(store: str) -> Callable[[], int]:
    import xarray

    use_zarrs()
    dataset = xarray.open_zarr(store, chunks=None, consolidated=False)
    return lambda: dataset["tmax"].isel(cell=CELL).values.size


def map_zarr(store: str) -> Callable[[], int]:
    import xarray

    use_zarrs()
    dataset = xarray.open_zarr(store, chunks=None, consolidated=False)
    return lambda: dataset["tmax"].isel(time=DAY).values.size


def series_netcdf(folder: str) -> Callable[[], int]:
    import netCDF4

    def read() -> int:
        count = 0
        for path in sorted(Path(folder).glob("*.tmax.nc")):
            with netCDF4.Dataset(path) as file:
                count += file["tmax"][:, 90, 80].size
        return count

    return read


def map_netcdf(folder: str) -> Callable[[], int]:
    import netCDF4

    paths = sorted(Path(folder).glob("*.tmax.nc"))

    def read() -> int:
        with netCDF4.Dataset(paths[min(DAY // 365, len(paths) - 1)]) as file:
            return int(file["tmax"][DAY % 365].size)

    return read


SCANS: dict[str, Callable[[str, int], int]] = {
    "zarrs": lambda store, days: scan_zarr(store, days, "zarrs"),
    "zarr-python": lambda store, days: scan_zarr(store, days, "python"),
    "xarray + dask, defaults": lambda folder, days: scan_dask(folder, days, None),
    "xarray + dask, a year a chunk": lambda folder, days: scan_dask(folder, days, {"time": 366}),
    "netCDF4": scan_netcdf4,
}
LOOKS: dict[str, Callable[[str], Callable[[], int]]] = {
    "series, zarr": series_zarr,
    "map, zarr": map_zarr,
    "series, netcdf": series_netcdf,
    "map, netcdf": map_netcdf,
}


def main(task: str, path: str, days: int) -> None:
    os.environ["RAYON_NUM_THREADS"] = "1"
    if task in SCANS:
        SCANS[task](path, 1)  # imports, and what is only done once
        begin, cpu = time.perf_counter(), time.process_time()
        count = SCANS[task](path, days)
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    else:
        read = LOOKS[task](path)
        read()
        walls, cpus = [], []
        for _ in range(5):
            begin, before = time.perf_counter(), time.process_time()
            count = read()
            walls.append(time.perf_counter() - begin)
            cpus.append(time.process_time() - before)
        wall, cpu = sorted(walls)[2], sorted(cpus)[2]
    json.dump({"wall": wall, "cpu": cpu, "count": count}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
