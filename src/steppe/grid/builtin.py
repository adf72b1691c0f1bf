"""The rasters that come with Steppe; two programs in `scripts/data`, make_queensland_mask and make_australia_mask, make the masks."""

from functools import cache
from importlib.resources import files

import numpy as np

from steppe.errors import GridError, nearest
from steppe.grid.raster import Raster

BUILTIN = {
    "australia": "Australia on the points of SILO: 278,264 cells of 0.05 degree",
    "queensland": "Queensland, Australia: 15,208 cells of 0.1 degree",
}


@cache
def builtin_grid(name: str) -> Raster:
    """The raster of a built-in region.

    Raises
    ------
    GridError
        There is no region of this name.
    """
    if name not in BUILTIN:
        raise GridError(f'There is no built-in grid "{name}".{nearest(name, BUILTIN)} Or give a file with a mask, or points.')
    with (files("steppe.grid") / "regions" / f"{name}.npz").open("rb") as file, np.load(file) as stored:
        nlat, nlon = (int(length) for length in stored["shape"])
        mask = np.unpackbits(stored["mask"], count=nlat * nlon).astype(bool).reshape(nlat, nlon)
        lat0, dlat, lon0, dlon = (float(number) for number in stored["geometry"])
    return Raster(lat0, dlat, lon0, dlon, mask)
