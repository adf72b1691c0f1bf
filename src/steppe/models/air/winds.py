"""The mass of air that the wind moves through the faces of cells, so that each cell ends with the air that it must have.

The wind of the meteorology is not consistent with its surface pressure, so the vertical one is found from continuity: from the ground,
through which nothing passes, up to the top, which is open. What is left over there comes from above, or goes there.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.grid import Raster
from steppe.grid.earth import AUTHALIC_RADIUS
from steppe.models.air.advection import HALO


class Faces(NamedTuple):
    """The cells of a box with halos. width (y, 1), height [m]; area (y, 1) [m2]; latitude (y,), longitude (x,) [rad] of the own cells.

    Rows go from north to south. Behind a wall they are as wide as the last one.
    """

    width: Floats
    height: float
    area: Floats
    latitude: Floats
    longitude: Floats

    @classmethod
    def of(cls, grid: Raster, origin: tuple[int, ...], shape: tuple[int, ...]) -> "Faces":
        """The cells of a box of a grid of latitudes and longitudes."""
        rows = np.clip(np.arange(-HALO, shape[0] + HALO) + origin[0], 0, grid.nlat - 1)
        latitude, longitude = np.deg2rad(grid.lat), np.deg2rad(grid.lon)
        north, south = np.deg2rad(grid.lat_bnds[rows, 0]), np.deg2rad(grid.lat_bnds[rows, 1])
        step = np.deg2rad(grid.dlon)
        return cls(
            (AUTHALIC_RADIUS * step * np.cos(latitude[rows]))[:, None],
            float(AUTHALIC_RADIUS * np.deg2rad(-grid.dlat)),
            (AUTHALIC_RADIUS**2 * step * np.abs(np.sin(north) - np.sin(south)))[:, None],
            latitude[origin[0] : origin[0] + shape[0]],
            longitude[origin[1] : origin[1] + shape[1]],
        )

    def fluxes(
        self, seconds: float, u: Floats, v: Floats, air: Floats, before: Floats, after: Floats, walls: Collection[tuple[str, bool]] = ()
    ) -> dict[str, Floats]:
        """Air that passes each face of the own cells [kg], positive toward greater indices and upward: x, y, z as in `Advection.sweep`.

        u, v [m s-1] and air [kg]: (level, y, x) with halos. before, after: the air of the own cells [kg] at both ends of these seconds.
        walls: of each side of the box where the domain ends the axis, and whether it is the last one: there the wind goes on as between the
        last two cells.
        """
        rows, columns = slice(HALO, -HALO), slice(HALO, -HALO)
        along, across = (u * air / self.width)[:, rows], (-v * air / self.height)[:, :, columns]
        for axis, is_last in walls:
            flow = along if axis == "x" else across.swapaxes(1, 2)  # a view
            beyond, last, before_it = (-HALO, -HALO - 1, -HALO - 2) if is_last else (HALO - 1, HALO, HALO + 1)
            flow[..., beyond] = 2.0 * flow[..., last] - flow[..., before_it]
        found = {
            "x": 0.5 * seconds * (along[..., HALO - 1 : -HALO] + along[..., HALO : along.shape[-1] - HALO + 1]),
            "y": 0.5 * seconds * (across[:, HALO - 1 : -HALO] + across[:, HALO : across.shape[1] - HALO + 1]),
        }
        levels, *plane = before.shape
        up = np.zeros((levels + 1, *plane))
        needed = np.diff(found["x"], axis=2) + np.diff(found["y"], axis=1) + (after - before)
        for k in range(levels):
            up[k + 1] = up[k] - needed[k]
        return {**found, "z": up}
