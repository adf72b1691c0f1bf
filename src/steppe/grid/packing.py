"""Functions for all rasters: the order of active cells, packed values as maps, and the cells of a region."""

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Integers
from steppe.errors import GridError, InactiveError, OutsideError
from steppe.grid.earth import distances
from steppe.grid.grid import Grid
from steppe.grid.region import Region, RegionLike

STRIP = 64  # columns of a strip of the order of cells


def strip_order(active: NDArray[np.bool_]) -> Integers:
    """Row-major index of each packed cell, (cells,): strips of 64 columns from the west, within a strip row by row.

    Packed cell i - 64 is the northern neighbour of cell i inland, and near it at a coast.
    """
    columns = active.shape[1]
    strips = []
    for west in range(0, columns, STRIP):
        row, column = np.nonzero(active[:, west : west + STRIP])
        strips.append(row * columns + column + west)
    order = np.concatenate(strips).astype(np.int64)
    order.flags.writeable = False
    return order


def spread(values: Array, order: Integers, shape: tuple[int, int], fill: float) -> Array:
    """Packed values (..., cells) as maps (..., rows, columns), `fill` where no cell is active."""
    values = np.asarray(values)
    maps = np.full((*values.shape[:-1], shape[0] * shape[1]), fill, dtype=np.result_type(values.dtype, fill))
    maps[..., order] = values
    return maps.reshape(*values.shape[:-1], *shape)


def no_cell(grid: Grid, longitude: float, latitude: float, where: str) -> GridError:
    """The error for a place outside all active cells; it names the nearest one with its coordinates and distance."""
    metres = distances(longitude, latitude, grid.cell_lon, grid.cell_lat)
    near = int(np.argmin(metres))
    kind = InactiveError if "mask" in where else OutsideError
    return kind(
        f"The cell at longitude {longitude:g}, latitude {latitude:g} is {where}. The nearest active cell is at longitude "
        f"{grid.cell_lon[near]:g}, latitude {grid.cell_lat[near]:g}, {metres[near] / 1000:.0f} km away."
    )


def select_cells(grid: Grid, region: RegionLike) -> Integers:
    """The packed positions of the cells whose centres lie in a region, ascending.

    Raises
    ------
    GridError
        The region is malformed, unknown, or holds no active cell.
    """
    region = Region.of(region)
    if region.kind == "all":
        return np.arange(grid.n_cells)
    if region.kind == "cell":
        return np.array([grid.locate(*region.places[0])])
    found = np.flatnonzero(region.contains(grid.cell_lon, grid.cell_lat))
    if not found.size:
        bounds = grid.coordinates()
        lat, lon = (bounds.get(f"{axis}_bnds", bounds[f"cell_{axis}"]) for axis in ("lat", "lon"))
        raise GridError(
            f"Region {region} holds the centre of no active cell. The grid spans longitude {lon.min():g} to {lon.max():g} "
            f"and latitude {lat.min():g} to {lat.max():g}."
        )
    return found
