"""Makes `src/steppe/grid/regions/australia.npz`, the mask of the built-in grid. Run it with `uv run --group mask`.

The cells are those around the 841 x 681 points of SILO's grid of 0.05 degree, from 112 E, 10 S to 154 E, 44 S; one takes part when at
least half of it is land of Australia. Land: as in `make_queensland_mask.py`, sampled at 6 x 6 places in each cell.
"""

from pathlib import Path

import numpy as np
from make_queensland_mask import PAPUA_SOUTH, PAPUA_WEST, land_fraction

SIZE = 0.05  # [degrees] of a cell
WEST, NORTH = 112.0, -10.0  # centre of the first cell
N_LAT, N_LON = 681, 841
SAMPLES = 6  # along each side of a cell: the spacing of the elevation model

# Savu, Rote and Timor; Australia's islands in the Timor Sea are sand cays
INDONESIA_EAST, INDONESIA_SOUTH = 128.0, -11.3

TARGET = Path(__file__).parents[2] / "src" / "steppe" / "grid" / "regions" / "australia.npz"


def main() -> None:
    """Writes the mask and prints how many cells it has."""
    lat, lon = NORTH - SIZE * np.arange(N_LAT), WEST + SIZE * np.arange(N_LON)
    abroad = (lat[:, None] > PAPUA_SOUTH) & (lon[None, :] > PAPUA_WEST)
    abroad |= (lat[:, None] > INDONESIA_SOUTH) & (lon[None, :] < INDONESIA_EAST)
    mask = (land_fraction(lat, lon, SIZE, SAMPLES) >= 0.5) & ~abroad
    geometry = np.array([NORTH, -SIZE, WEST, SIZE])
    np.savez_compressed(TARGET, mask=np.packbits(mask), shape=np.array(mask.shape, dtype=np.int32), geometry=geometry)
    print(f"{TARGET.name}: {mask.sum():,} cells, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
