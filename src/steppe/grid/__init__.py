"""What exists where: rasters, points, regions, and which rank computes or stores which cells. Pure data, no messages."""

from steppe.grid.box import Box, Mirror, Piece, last
from steppe.grid.boxes import Boxes, choose_dims
from steppe.grid.builtin import BUILTIN, builtin_grid
from steppe.grid.cost import CostLattice, Moving, better_cuts, imbalance
from steppe.grid.deal import Cells, Deal, spanned
from steppe.grid.decomposition import Decomposition, Surroundings, decompose
from steppe.grid.domain import Domain, Edge, Edges, Face, Join
from steppe.grid.gaussian import Gaussian
from steppe.grid.grid import Grid
from steppe.grid.lattice import UNEVEN, Lattice, is_axis, read_lattice
from steppe.grid.partition import Partition, Share, tile_size, tiles
from steppe.grid.plain import as_plain, from_plain
from steppe.grid.points import Points, place_columns
from steppe.grid.projected import Projected
from steppe.grid.raster import Raster
from steppe.grid.read import read_grid
from steppe.grid.region import Region, RegionLike, region_names
from steppe.grid.window import Window, window_of

__all__ = [
    "BUILTIN",
    "UNEVEN",
    "Box",
    "Boxes",
    "Cells",
    "CostLattice",
    "Deal",
    "Decomposition",
    "Domain",
    "Edge",
    "Edges",
    "Face",
    "Gaussian",
    "Grid",
    "Join",
    "Lattice",
    "Mirror",
    "Moving",
    "Partition",
    "Piece",
    "Points",
    "Projected",
    "Raster",
    "Region",
    "RegionLike",
    "Share",
    "Surroundings",
    "Window",
    "as_plain",
    "better_cuts",
    "builtin_grid",
    "choose_dims",
    "decompose",
    "from_plain",
    "imbalance",
    "is_axis",
    "last",
    "place_columns",
    "read_grid",
    "read_lattice",
    "region_names",
    "spanned",
    "tile_size",
    "tiles",
    "window_of",
]
