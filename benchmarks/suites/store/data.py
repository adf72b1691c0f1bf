"""What is read: the weather of Queensland from real stations, as shards, with either fast copy, and as NetCDF files of one day a chunk."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np

from benchmarks.figures import MissingPeer
from benchmarks.peers import ROOT
from benchmarks.queensland import FOLDER, STEPPE
from benchmarks.rounds import output
from steppe.grid import read_grid
from steppe.io import ForcingStore
from steppe.io.shard import shard_path

STATIONS = ROOT.parent / "shared" / "data" / "weather"
DEFLATE = 4
FIRST_YEAR, YEARS = 1990, 10


def stations() -> Path:
    """The store of ten years; that of `make demo WEATHER=...`, or one made now.

    Raises
    ------
    MissingPeer
        There are no station records to make it of.
    """
    for path in (ROOT / "runs" / "weather.zarr", FOLDER / "stations.zarr"):
        if path.is_dir() and ForcingStore.open(path).attributes.get("weather") == "stations":
            return path
    if not STATIONS.is_dir():
        raise MissingPeer(f'There are no station records in "{STATIONS}" to make the weather of. Give them, or leave this suite out.')
    path, days = FOLDER / "stations.zarr", ["--start", f"{FIRST_YEAR}-01-01", "--end", f"{FIRST_YEAR + YEARS - 1}-12-31"]
    output([STEPPE, "ingest", "stations", str(STATIONS), str(path), "--region", "queensland", *days])
    return path


def copies() -> dict[str, Path]:
    """The store without a fast copy, and with each kind; they share the files of the shards."""
    source, made = stations(), {}
    FOLDER.mkdir(parents=True, exist_ok=True)
    for kind in ("shards", "raw", "bits"):
        path = made[kind] = FOLDER / f"store-{kind}.zarr"
        if not path.exists():
            partial = path.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(source, partial, copy_function=_linked, ignore=shutil.ignore_patterns("pack"))
            partial.rename(path)
        if kind != "shards":
            output([STEPPE, "forcing", "pack", str(path), f"--{kind}"])
    return made


def archived(store: Path) -> Path:
    """The small copy of a store, made once."""
    path = FOLDER / "store-archive.zarr"
    if not path.exists():
        output([STEPPE, "forcing", "archive", str(store), str(path)])
    return path


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)


def netcdf(store: Path) -> Path:
    """A folder with one NetCDF-4 file a year and variable, (time, lat, lon) int16 of all cells of the box, a chunk a day, deflated."""
    folder = FOLDER / "netcdf"
    if folder.exists():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    output([sys.executable, "-m", "benchmarks.suites.store.data", str(store), str(partial)])
    partial.rename(folder)
    return folder


def _write_netcdf(store: Path, folder: Path) -> None:
    import netCDF4

    held, grid = ForcingStore.open(store), read_grid(region="queensland")
    for name, stored in held.variables.items():
        length, width = stored.layout.chunk
        table = np.empty((stored.axis.rows, held.n_cells), np.int16)
        for i in range(-(-stored.axis.rows // length)):
            for j in range(-(-held.n_cells // width)):
                place = table[i * length : (i + 1) * length, j * width : (j + 1) * width]
                place[...] = held.chunk(name, (i, j))[: place.shape[0], : place.shape[1]]
        starts = stored.axis.starts.astype("datetime64[D]") - np.datetime64(0, "D") + np.datetime64("1850-01-01")
        year_of = starts.astype("datetime64[Y]").astype(int) + 1970
        for year in np.unique(year_of):
            rows = np.flatnonzero(year_of == year)
            box = np.full((rows.size, *grid.shape.values()), -32768, np.int16)
            box.reshape(rows.size, -1)[:, grid.order] = table[rows]
            with netCDF4.Dataset(folder / f"{year}.{name}.nc", "w") as file:
                for dimension, size in (("time", rows.size), *grid.shape.items()):
                    file.createDimension(dimension, size)
                days = file.createVariable("time", "i4", ("time",))
                days.units, days.calendar = "days since 1850-01-01", "standard"
                days[:] = stored.axis.starts[rows]
                shape = ("time", *grid.shape)
                values = file.createVariable(
                    name, "i2", shape, zlib=True, complevel=DEFLATE, chunksizes=(1, *box.shape[1:]), fill_value=-32768
                )
                values.set_auto_maskandscale(False)
                values.scale_factor, values.add_offset, values.units = stored.scale, stored.offset, stored.units
                values[:] = box


def size(path: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def shards_size(store: ForcingStore) -> int:
    """Bytes of the shards of the variables that change in time."""
    return sum(size(Path(shard_path(store.path, name, (0, 0))).parents[1]) for name in store.variables)


if __name__ == "__main__":
    _write_netcdf(Path(sys.argv[1]), Path(sys.argv[2]))
