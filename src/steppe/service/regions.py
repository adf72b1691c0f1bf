"""Regions of requests as packed cells: what was accepted does not depend on how a polygon is cut later."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steppe.api import EXACTLY_ONE, RegionRequest
from steppe.api.query import MapQuery, SeriesQuery
from steppe.control import Refused
from steppe.errors import GridError, InactiveError, OutsideError, nearest
from steppe.grid import Grid, RegionLike, region_names
from steppe.service.polygon import check_polygon

Cells = NDArray[np.uint32]
WORK = 200_000_000  # pairs of a cell and a side of a polygon; two seconds


def cells_of(grid: Grid, region: str | RegionRequest) -> Cells | None:
    """The packed cells of a region, ascending, (cells,); None for all.

    Raises
    ------
    Refused
        The region is malformed or unknown, or holds no active cell.
    """
    if region == "all":
        return None
    if isinstance(region, str):
        if region not in region_names():
            text = f'Region "{region}" is not known.{nearest(region, region_names())}'
            raise Refused("region-invalid", text, value=region[:64], position="region")
        return select(grid, region)
    given = next(name for name in EXACTLY_ONE[RegionRequest] if getattr(region, name) is not None)
    if region.polygon is not None:
        check_polygon(region.polygon)
        _check_work(grid, region.polygon)
    if region.cells is not None:
        return listed(grid, region.cells)
    return select(grid, {given: getattr(region, given)})


def named(query: object, *names: str) -> str | None:
    """Which of the ways to name a region a query uses; None: it is of all cells.

    Raises
    ------
    Refused
        region-invalid: more than one is.
    """
    given = [name for name in names or ("box", "polygon", "cells") if getattr(query, name)]
    if len(given) > 1:
        raise Refused("region-invalid", f"Give {given[0]} or {given[1]}, not both.", position=given[1])
    return given[0] if given else None


def asked(grid: Grid, query: MapQuery | SeriesQuery) -> Cells | None:
    """The packed cells of the box, polygon or cells of a query, None for all; raises Refused."""
    way = named(query)
    if way is None:
        return None
    if query.cells:
        return listed(grid, query.cells)
    if query.polygon:
        check_polygon([*query.polygon])
    return select(grid, {way: list(getattr(query, way))})


def _check_work(grid: Grid, corners: Sequence[tuple[float, float]]) -> None:
    """Refuses a polygon of which very many sides span very many cells."""
    latitudes = np.array([latitude for _, latitude in corners])
    rows = np.searchsorted(np.sort(grid.cell_lat), latitudes)
    if np.abs(rows - np.roll(rows, -1)).sum() > WORK:
        raise Refused("too-costly", f"Finding the cells in this polygon of {len(corners):,} corners takes too long. Give fewer corners.")


def listed(grid: Grid, cells: Sequence[int]) -> Cells:
    """The cells of a list of numbers, in its order."""
    found = np.array(cells, np.int64)
    if found.max() >= grid.n_cells:
        text = f"There is no cell {found.max()}; cells are numbered 0 to {grid.n_cells - 1}."
        raise Refused("cell-outside", text, value=int(found.max()), allowed=[0, grid.n_cells - 1])
    if len(np.unique(found)) < len(found):
        raise Refused("region-invalid", "A cell is listed more than once. List each once.", position="cells")
    return found.astype(np.uint32)


def select(grid: Grid, region: RegionLike) -> Cells:
    """The packed cells of a region of `steppe.grid`, ascending; raises Refused."""
    try:
        return grid.select(region).astype(np.uint32)
    except (OutsideError, InactiveError) as error:
        raise Refused(error.code, str(error)) from None
    except GridError as error:
        raise Refused("region-invalid", str(error), position="region") from None


def located(grid: Grid, longitude: float, latitude: float) -> int:
    """The packed cell at a place.

    Raises
    ------
    Refused
        cell-outside or cell-inactive, with longitude and latitude of the nearest active cell.
    """
    try:
        return int(select(grid, {"cell": [longitude, latitude]})[0])
    except Refused as wrong:
        squeeze = np.cos(np.deg2rad(latitude))
        away = (grid.cell_lat - latitude) ** 2 + (np.mod(grid.cell_lon - longitude + 180, 360) - 180) ** 2 * squeeze**2
        near = int(np.argmin(away))
        place = {"longitude": float(grid.cell_lon[near]), "latitude": float(grid.cell_lat[near])}
        raise Refused(wrong.code, wrong.detail, value=[longitude, latitude], nearest_cell=place) from None
