"""Places of cells: rasters, points and regions, and the cells that each rank computes or stores. Pure data, no messages."""

from steppe.grid.box import Box, HaloPiece, Mirror, last
from steppe.grid.boxes import Boxes, choose_dims
from steppe.grid.cf_coordinates import (
    AXIS_DIMENSIONS,
    COORDINATE_ATTRIBUTES,
    OF_CELLS,
    WGS84,
    crs_of,
    map_attributes,
    map_dimensions,
    map_values,
    references,
)
from steppe.grid.decomposition import Decomposition, RankPart, decompose
from steppe.grid.domain import Domain, Edge, Edges, Face, Join
from steppe.grid.gaussian import Gaussian
from steppe.grid.grid import Grid
from steppe.grid.lattice import UNEVEN, FileLattice, is_axis, is_gaussian, read_lattice
from steppe.grid.ownership import Cells, Ownership, spanned, writers_of
from steppe.grid.partition import Partition, Share, tile_size, tiles
from steppe.grid.plain import as_plain, from_plain
from steppe.grid.points import Points, place_columns, semicolons
from steppe.grid.projected import Projected
from steppe.grid.raster import Raster
from steppe.grid.read import BUILTIN, builtin_grid, read_grid
from steppe.grid.region import Region, RegionLike, region_names
from steppe.grid.window import MapWindow, every_nth, pixels_of, window_of

__all__ = [
    "AXIS_DIMENSIONS",
    "BUILTIN",
    "COORDINATE_ATTRIBUTES",
    "OF_CELLS",
    "UNEVEN",
    "WGS84",
    "Box",
    "Boxes",
    "Cells",
    "Decomposition",
    "Domain",
    "Edge",
    "Edges",
    "Face",
    "FileLattice",
    "Gaussian",
    "Grid",
    "HaloPiece",
    "Join",
    "MapWindow",
    "Mirror",
    "Ownership",
    "Partition",
    "Points",
    "Projected",
    "RankPart",
    "Raster",
    "Region",
    "RegionLike",
    "Share",
    "Window",
    "as_plain",
    "builtin_grid",
    "choose_dims",
    "crs_of",
    "decompose",
    "every_nth",
    "from_plain",
    "is_axis",
    "is_gaussian",
    "last",
    "map_attributes",
    "map_dimensions",
    "map_values",
    "pixels_of",
    "place_columns",
    "read_grid",
    "read_lattice",
    "references",
    "region_names",
    "semicolons",
    "spanned",
    "tile_size",
    "tiles",
    "window_of",
    "writers_of",
]
