"""Cloud-optimised GeoTIFF: one variable of one record a file, with its place, unit and meaning, for QGIS and other maps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.errors import GridError, Mistake, not_installed
from steppe.grid import Gaussian
from steppe.io.export.aside import aside, refuse_existing
from steppe.io.export.selection import ExportSource, Progress, Window, refuse_ensemble

TILE = 256  # pixels of a side; a map that is larger gets overviews


def write_geotiff(source: ExportSource, path: Path, overwrite: bool = False, progress: Progress = lambda part: None) -> list[Path]:
    """Writes maps, deflated, in the type of the store, with NaN where no cell is.

    Parameters
    ----------
    path
        A file when it ends in .tif or .tiff: one variable, one record. A folder otherwise, for <variable>_<first day>.tif; of
        instants without colons, which Windows forbids: <variable>_2001-03-05T0600.tif.

    Returns
    -------
    list[Path]
        The files.

    Raises
    ------
    GridError
        The cells are points, which make no map, or their rows are not even.
    Mistake
        More than one map is to go into a file, there is an ensemble, or rasterio is not installed.
    FolderError, NoSpaceError, Failure, DamagedError
        As for `write_netcdf`.
    """
    refuse_ensemble(source.path)
    if not source.store.raster:
        raise GridError(f'"{source.path}" holds points, which make no map. Export them with --csv or --netcdf.')
    if isinstance(source.store.grid, Gaussian):
        raise GridError(f'"{source.path}" holds a Gaussian grid, and a GeoTIFF has even rows only. Export it with --netcdf or --csv.')
    names = {name: _dates(source, name) for name in source.names}
    ends = {name: [f"_{date.replace(':', '')}.tif" if date else ".tif" for date in dates] for name, dates in names.items()}
    total = sum(map(len, names.values()))
    if path.suffix in (".tif", ".tiff"):
        if total > 1:
            raise Mistake(
                f'"{path}" takes one map, {total:,} are wanted. Give one of --variables and a --date, or a folder for all of them.'
            )
        files = {(name, 0): path for name in names}
    else:
        files = {(name, i): path / f"{name}{end}" for name, of in ends.items() for i, end in enumerate(of)}
    refuse_existing(list(files.values()), overwrite)
    if path.suffix not in (".tif", ".tiff"):
        path.mkdir(parents=True, exist_ok=True)
    window, done = source.window(), 0
    bounds = source.store.small(f"{source.store.raster[0]}_bnds")
    profile, rows = _profile(source, window), slice(None, None, -1 if bounds[0].mean() < bounds[-1].mean() else 1)  # the north first
    for name, dates in names.items():
        tags = _tags(source, name)
        for block in source.blocks(name):
            for i, values in enumerate(window.spread(block.values, np.nan), start=block.first):
                data = _encoded(values[rows], profile, tags | ({"date": dates[i]} if dates[i] else {}))
                with aside(files[name, i]) as beside:
                    beside.write_bytes(data)
                done += 1
                progress(done / total)
    return list(files.values())


def _dates(source: ExportSource, name: str) -> list[str]:
    """The first day of each record; one empty text for a variable without time."""
    time = source.time_of(name)
    if not time:
        return [""]
    axis = source.axes[time]
    return [axis.name_of(row) for row in range(axis.rows)]


def _profile(source: ExportSource, window: Window) -> dict[str, object]:
    """The profile that all files of a source share."""
    rasterio = _rasterio()
    rows, columns = source.store.raster
    (south, north), (west, east) = _ends(source, rows, window.rows), _ends(source, columns, window.columns)
    height, width = window.shape
    return {
        "driver": "COG",
        "count": 1,
        "height": height,
        "width": width,
        "crs": rasterio.crs.CRS.from_wkt(str(source.store.attributes["crs"]["crs_wkt"])),
        "transform": rasterio.transform.from_bounds(west, south, east, north, width, height),
        "nodata": np.nan,
        "compress": "DEFLATE",
        "predictor": "YES",
        "blocksize": TILE,
        "overview_resampling": "AVERAGE",
    }


def _ends(source: ExportSource, axis: str, part: slice) -> tuple[float, float]:
    """The least and the greatest edge of some rows or columns. A row on a pole ends there, but all pixels have the same height."""
    centres, bounds = source.store.small(axis)[part], source.store.small(f"{axis}_bnds")
    half = float(np.ptp(bounds, axis=1).max()) / 2.0
    low, high = float(bounds[part].min()), float(bounds[part].max())
    return low - half if centres.min() == low else low, high + half if centres.max() == high else high


def _tags(source: ExportSource, name: str) -> dict[str, str]:
    attributes, about = source.attributes(name), source.about
    found: dict[str, str] = {
        "variable": name,
        **{key: str(attributes[key]) for key in ("units", "long_name", "standard_name", "cell_methods") if key in attributes},
    }
    return found | {key: str(about[key]) for key in ("title", "source", "weather_summary", "license") if about.get(key)}


def _encoded(values: NDArray[np.floating], profile: Mapping[str, object], tags: dict[str, str]) -> bytes:
    """The bytes of a file; made in memory, since GDAL does not report why it cannot write to a disk."""
    with _rasterio().io.MemoryFile() as memory:
        with memory.open(**profile, dtype=values.dtype.name) as file:
            file.write(values, 1)
            file.update_tags(**tags)
            file.set_band_unit(1, tags["units"])
            words = [tags.get("long_name", tags["variable"]), f"[{tags['units']}]", tags.get("date", ""), tags.get("cell_methods", "")]
            file.set_band_description(1, " ".join(filter(None, words)))
        return bytes(memory.getbuffer())


def _rasterio() -> Any:
    """rasterio, which brings GDAL: 36 MB that only GeoTIFF needs."""
    try:
        import rasterio
        import rasterio.io
        import rasterio.transform
    except ImportError:
        raise not_installed("GeoTIFF", "geotiff", "rasterio") from None
    return rasterio
