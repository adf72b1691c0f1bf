"""Land of every cell: the water that its soil holds for plants, and the land type that follows."""

import csv
import gzip
from pathlib import Path

import numpy as np

from steppe.errors import ForcingError
from steppe.grid import Grid
from steppe.grid.earth import distances
from steppe.ingest.meteorology import Values
from steppe.ingest.provenance import source_file
from steppe.io.forcing.writer import About, ForcingWriter, Written
from steppe.variable import Role, Variable

TABLE = Path("queensland_grid") / "queensland_0p1deg.csv.gz"
REACH = 50.0  # [km] farther from the last soil value a cell has none; judgement
DEEP_SOIL = 100.0  # [mm] from here on land type 1 (open downs), below it 2
WATER = Variable("plant_available_water", ("cell",), "mm", "float32", Role.PARAMETER, "plant-available water of the top metre", low=0.0)
TYPE = Variable("land_type", ("cell",), "1", "float32", Role.PARAMETER, "land type", low=1.0)


def ingest_land(folder: Path | None, path: Path, grid: Grid) -> bool:
    """Makes a store of `plant_available_water` [mm] and `land_type` (1: 100 mm and more, 2: less) for the cells of `grid`.

    The values are those of `folder`/queensland_grid: of the cell itself, or of the nearest cell with a value. Without a folder every cell
    gets land type 1 and 0 mm, and the summary of the store says so.

    Returns
    -------
    bool
        True if there were soil data.

    Raises
    ------
    ForcingError
        The table cannot be read, a cell is more than 50 km from any value, or `path` exists.
    """
    if folder is not None:
        table = folder / TABLE
        if not table.is_file():
            raise ForcingError(f'There is no soil table "{table}". Give a folder that has it, or none: then all cells are alike.')
        water = _nearest(table, grid)
        kind = np.where(water >= DEEP_SOIL, 1.0, 2.0)
        summary = "Water that plants can use in the top metre, off a class map: good to about 25 mm. Land type 1 from 100 mm on, else 2."
        source = [source_file(table)]
    else:
        water, kind, source = np.zeros(grid.n_cells), np.ones(grid.n_cells), []
        summary = "No soil data were given: every cell has land type 1 and 0 mm, which is a place-holder and no measurement."
    about = About("Land of the cells", summary, history="steppe ingest land", licence="The terms of the source apply.", source=source)
    with ForcingWriter(path, grid, [Written(WATER, None, "float32"), Written(TYPE, None, "float32")], about) as writer:
        writer.write_static("plant_available_water", water)
        writer.write_static("land_type", kind)
    return folder is not None


def _nearest(table: Path, grid: Grid) -> Values:
    """Plant-available water of each cell, (cells,) [mm]."""
    try:
        with gzip.open(table, "rt", newline="", encoding="utf-8") as file:
            names = ("lat", "lon", "pawc_1m_mm")
            rows = [[float(row[name]) for name in names] for row in csv.DictReader(file) if row["pawc_1m_mm"]]
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise ForcingError(f'"{table}" is no table of soils ({error!r}). It needs the columns lat, lon and pawc_1m_mm.') from None
    lat, lon, values = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    there = {place: i for i, place in enumerate(zip(np.round(lat, 6), np.round(lon, 6), strict=True))}
    water = np.empty(grid.n_cells)
    for cell, place in enumerate(zip(np.round(grid.cell_lat, 6), np.round(grid.cell_lon, 6), strict=True)):
        if place in there:
            water[cell] = values[there[place]]
            continue
        away = distances(grid.cell_lon[cell], grid.cell_lat[cell], lon, lat) / 1000.0
        if away.min(initial=np.inf) > REACH:
            raise ForcingError(
                f'"{table}" has no soil within {REACH:g} km of latitude {grid.cell_lat[cell]:g}, longitude {grid.cell_lon[cell]:g}. '
                "Give a table that covers the grid."
            )
        water[cell] = values[away.argmin()]
    return water
