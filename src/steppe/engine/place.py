"""The grid of a run: the one that the run file names, else that of its weather.

A grid that comes from a file is kept in the cache, beside the kernels, until the file changes.
"""

from pathlib import Path

import numpy as np

from steppe.engine.run_file import ForcingSection, GridSection, RectangleSection, RunFile
from steppe.errors import GridError
from steppe.grid import Gaussian, Grid, Raster, read_grid
from steppe.grid.keep import read_kept
from steppe.io import FieldStore, ForcingStore
from steppe.kernels import cache_folder


def open_grid(run: RunFile) -> Grid:
    """The grid of a run; default: the grid of the forcing store or the fields, or all stations of the folder of stations.

    Raises
    ------
    GridError
        There is no such grid, or its file cannot be read as one.
    ForcingError
        There is no such store or folder.
    """
    if run.grid is not None:
        return _named(run.grid)
    assert run.forcing is not None  # a run file has one of the two
    return _of_weather(run.forcing)


def place_name(run: RunFile) -> str:
    """The name of the place in titles: the built-in region, or the file of the grid."""
    section = run.grid or GridSection.model_construct(region=None, file=None, points=None, rectangle=None, gaussian=None)
    if section.rectangle:
        return f"{section.rectangle.rows:,} x {section.rectangle.columns:,} cells"
    if section.gaussian:
        return f"{section.gaussian} x {2 * section.gaussian} cells of the globe"
    weather = (run.forcing.store or run.forcing.stations or run.forcing.fields) if run.forcing else None
    return (section.region or "").title() or (section.file or section.points or weather or Path()).stem


def _of_weather(section: ForcingSection) -> Grid:
    if section.stations is not None:
        from steppe.ingest import station_points  # runs with a store do without

        return station_points(section.stations)
    if section.fields is not None:
        return FieldStore.open(section.fields).grid()
    assert section.store is not None
    ForcingStore.open(section.store)  # reports a mistake in the store before its grid is read
    return read_kept(section.store, _kept_grids())


def _kept_grids() -> Path:
    return cache_folder().parent / "grids"


def _named(section: GridSection) -> Grid:
    if section.rectangle is not None:
        return _rectangle(section.rectangle)
    if section.gaussian is not None:
        return _gaussian(section.gaussian)
    if section.file is None or not section.file.exists():
        return read_grid(region=section.region, file=section.file, points=section.points)
    return read_kept(section.file, _kept_grids())


def _rectangle(section: RectangleSection) -> Raster:
    half = section.cell / 2
    try:
        every = np.ones((section.rows, section.columns), bool)
        return Raster(section.north - half, -section.cell, section.west + half, section.cell, every)
    except GridError as error:
        raise GridError(f"[grid] rectangle: {error}") from None


def _gaussian(latitudes: int) -> Gaussian:
    try:
        return Gaussian(latitudes)
    except GridError as error:
        raise GridError(f"[grid] gaussian: {error}") from None
