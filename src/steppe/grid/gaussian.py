"""A global raster whose latitudes are those of the Gauss-Legendre quadrature, so that spectral models integrate exactly over it."""

import hashlib
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Floats
from steppe.errors import GridError
from steppe.grid.earth import AUTHALIC_RADIUS
from steppe.grid.raster import Raster, read_only
from steppe.grid.region import DIGITS

MOST = 512  # latitudes: more take seconds to compute, and lie farther from even rows than the page says


class Quadrature(NamedTuple):
    """The rows from north to south: latitude (N,) and both edges (N, 2) [degrees_north], and weight (N,), in sum 2."""

    lat: Floats
    lat_bnds: Floats
    weights: Floats


class Gaussian(Raster):
    """N latitudes, where the Legendre polynomial of degree N is 0, and 2N longitudes; row 0 is the northernmost.

    lat0 and dlat describe even rows from the first latitude to the last, as in pictures: every latitude lies within 0.014 rows of its place
    among them.

    Parameters
    ----------
    latitudes
        N, even, from 2 to 512.
    active
        True where a cell takes part, (N, 2N); None: everywhere.
    lon0
        The first longitude [degrees_east].

    Raises
    ------
    GridError
        There is no such grid, or the mask has another shape.
    """

    def __init__(self, latitudes: int, active: NDArray[np.bool_] | None = None, lon0: float = 0.0) -> None:
        if not 2 <= latitudes <= MOST or latitudes % 2:
            raise GridError(
                f"A Gaussian grid has an even number of latitudes from 2 to {MOST}, not {latitudes}. "
                "Write 64, for example, which makes 64 x 128 cells."
            )
        shape = latitudes, 2 * latitudes
        mask = np.ones(shape, bool) if active is None else active
        if np.shape(mask) != shape:
            raise GridError(f"The mask of a Gaussian grid of {latitudes} latitudes must have the shape {shape}, it has {np.shape(mask)}.")
        north, south = quadrature(latitudes).lat[[0, -1]].tolist()
        super().__init__(north, (south - north) / (latitudes - 1), lon0, 180.0 / latitudes, mask)

    @property
    def lat(self) -> Floats:
        """Latitude of the rows, (nlat,) [degrees_north], falling."""
        return quadrature(self.nlat).lat

    @property
    def lat_bnds(self) -> Floats:
        """Northern and southern edge of each row, (nlat, 2) [degrees_north]: the sine of an edge is 1 minus the weights north of it."""
        return quadrature(self.nlat).lat_bnds

    even_lat_bnds = lat_bnds

    @cached_property
    def cell_area(self) -> Floats:
        """Area of each packed cell, (cells,) [m2]: its weight in the quadrature, on a sphere of the Earth's surface."""
        row = quadrature(self.nlat).weights * 2.0 * np.pi * AUTHALIC_RADIUS**2 / self.nlon
        return read_only(row[self.order // self.nlon])

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of kind, number of latitudes, first longitude and mask: no computed number enters it."""
        first = f" from {round(self.lon0, DIGITS)}" if self.lon0 else ""
        return hashlib.sha256(f"gaussian {self.nlat}{first}".encode() + np.packbits(self.active).tobytes()).hexdigest()

    def _facts(self) -> dict[str, str]:
        return super()._facts() | {"cell": f"of {self.nlat} Gaussian latitudes x {self.dlon:g} degrees"}

    def _row(self, latitude: float) -> int:
        """The row of a latitude; a pole belongs to the row beside it."""
        return min(int(np.searchsorted(-self.lat_bnds[:, 1], -latitude, side="right")), self.nlat - 1)


@cache
def quadrature(latitudes: int) -> Quadrature:
    """The rows of a Gaussian grid."""
    sines, weights = np.polynomial.legendre.leggauss(latitudes)  # symmetric, so south to north is as good as north to south
    edges = np.concatenate([[1.0], 1.0 - np.cumsum(weights)])
    edges[latitudes // 2], edges[-1] = 0.0, -1.0  # without what rounding adds
    lat, edges = (np.round(np.rad2deg(np.arcsin(each)), DIGITS) for each in (-sines, edges))
    return Quadrature(read_only(lat), read_only(np.stack([edges[:-1], edges[1:]], axis=1)), read_only(weights))
