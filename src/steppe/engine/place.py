"""The grid of a run. One that comes from a file is kept in the cache, beside the kernels, until the file is written anew."""

from steppe.engine.run_file import GridSection
from steppe.grid import Grid, Raster, read_grid
from steppe.grid.keep import keep, kept, stamp
from steppe.grid.projected import Projected
from steppe.kernels import cache_folder


def open_grid(section: GridSection) -> Grid:
    """The grid that a run file names.

    Raises
    ------
    GridError
        There is no such grid, or its file cannot be read as one.
    """
    if section.file is None or not section.file.exists():
        return read_grid(region=section.region, file=section.file, points=section.points)
    path = cache_folder().parent / "grids" / f"{stamp(section.file)}.npz"
    found = kept(path)
    if found is None:
        read = read_grid(file=section.file)
        assert isinstance(read, Raster | Projected)
        keep(path, read)
        return read
    return found
