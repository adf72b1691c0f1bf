"""Makes `src/steppe/grid/regions/queensland.npz`, the mask of the built-in grid. Run it with `uv run --group mask`.

A cell of 0.1 degree takes part when its centre lies inside the border of Queensland and at least half of it is land.
Land: the GLOBE elevation model at 30 arc seconds as packed by global-land-mask (MIT licence), sampled at 12 x 12 places in each cell.
Border: its published course, with straight lines where rivers and ranges are followed, good to about 0.1 degree.
"""

from pathlib import Path

import numpy as np
from global_land_mask import globe

SIZE = 0.1  # [degrees] of a cell
WEST, NORTH = 138.0, -10.6
N_LAT, N_LON = 186, 156
SAMPLES = 12  # along each side of a cell: the spacing of the elevation model

# Letters patent of 1859 and 1862: 138 E down to 26 S, 141 E from there to 29 S, 29 S to the rivers;
# then Barwon, Macintyre and Dumaresq, the Great Dividing Range and the McPherson Range to Point Danger, as (longitude, latitude).
SOUTH_WEST_CORNER = (141.0, -26.0)
SOUTHERN_BORDER = np.array(
    [
        (141.0, -29.0),
        (148.95, -29.0),
        (149.35, -28.7),
        (149.65, -28.6),
        (150.75, -28.6),
        (151.25, -29.0),
        (151.75, -29.0),
        (151.95, -28.9),
        (152.05, -28.5),
        (152.35, -28.3),
        (153.25, -28.3),
        (153.55, -28.16),
    ]
)
# Torres Strait Treaty 1978: the islands in the north-east of the box (Louisiade archipelago) belong to Papua New Guinea.
PAPUA_WEST, PAPUA_SOUTH = 145.0, -12.0

TARGET = Path(__file__).parents[2] / "src" / "steppe" / "grid" / "regions" / "queensland.npz"


def inside_border(lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
    """Which centres of (lat) x (lon) lie in the state, sea included: boolean (lat, lon)."""
    southern = np.where(lon < SOUTH_WEST_CORNER[0], SOUTH_WEST_CORNER[1], np.interp(lon, *SOUTHERN_BORDER.T))
    papua = (lat[:, None] > PAPUA_SOUTH) & (lon[None, :] > PAPUA_WEST)
    return (lat[:, None] > southern[None, :]) & ~papua


def land_fraction(lat: np.ndarray, lon: np.ndarray, size: float = SIZE, samples: int = SAMPLES) -> np.ndarray:
    """Share of the sample points of each cell that are land: (lat, lon) [1]."""
    offsets = ((np.arange(samples) + 0.5) / samples - 0.5) * size
    points = np.meshgrid((lat[:, None] + offsets).ravel(), (lon[:, None] + offsets).ravel(), indexing="ij")
    land: np.ndarray = globe.is_land(*points)
    return land.reshape(lat.size, samples, lon.size, samples).mean(axis=(1, 3))


def main() -> None:
    """Writes the mask and prints how many cells it has."""
    lat = NORTH - SIZE * (np.arange(N_LAT) + 0.5)
    lon = WEST + SIZE * (np.arange(N_LON) + 0.5)
    mask = inside_border(lat, lon) & (land_fraction(lat, lon) >= 0.5)
    geometry = np.array([NORTH - SIZE / 2, -SIZE, WEST + SIZE / 2, SIZE])
    np.savez_compressed(TARGET, mask=np.packbits(mask), shape=np.array(mask.shape, dtype=np.int32), geometry=geometry)
    print(f"{TARGET.name}: {mask.sum():,} cells, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
