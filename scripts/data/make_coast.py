"""Makes `src/steppe/ingest/generator/coast.csv`: Australia and Tasmania as some 130 points. Run it with `uv run --group mask`.

The coast is that of the GLOBE elevation model at 30 arc seconds as packed by global-land-mask (MIT licence), sampled at 0.05 degree and
simplified until no point lies farther than a quarter of a degree from the line (Douglas and Peucker 1973).
"""

from pathlib import Path

import numpy as np
from contourpy import contour_generator
from global_land_mask import globe

SIZE, TOLERANCE = 0.05, 0.25  # [degrees]
WEST, EAST, SOUTH, NORTH = 112.0, 155.5, -45.0, -10.5
ISLANDS = {"Australia": 500.0, "Tasmania": 5.0}  # [square degrees] an outline encloses more than this, and less than those before
NARROWING = np.array([np.cos(np.radians(27.0)), 1.0])  # of a degree of longitude
TARGET = Path(__file__).parents[2] / "src" / "steppe" / "ingest" / "generator" / "coast.csv"


def simplified(line: np.ndarray) -> np.ndarray:
    """A line (points, 2) with fewer points."""
    if len(line) < 3:
        return line
    along, to = (line[-1] - line[0]) * NARROWING, (line - line[0]) * NARROWING
    length = np.hypot(*along)
    off = np.abs(along[0] * to[:, 1] - along[1] * to[:, 0]) / length if length > 1e-9 else np.hypot(*to.T)
    farthest = int(off.argmax())
    if off[farthest] < TOLERANCE:
        return line[[0, -1]]
    return np.vstack([simplified(line[: farthest + 1])[:-1], simplified(line[farthest:])])


def area(line: np.ndarray) -> float:
    """What a closed line encloses [square degrees]."""
    return float(abs(np.sum(line[:-1, 0] * line[1:, 1] - line[1:, 0] * line[:-1, 1])) / 2.0)


def main() -> None:
    """Writes the table and prints how many points it has."""
    lat, lon = np.arange(SOUTH, NORTH, SIZE), np.arange(WEST, EAST, SIZE)
    land = globe.is_land(*np.meshgrid(lat, lon, indexing="ij")).astype(float)
    outlines = sorted(contour_generator(lon, lat, land).lines(0.5), key=area, reverse=True)
    rows = ["island,lat,lon"]
    for island, (outline, least) in enumerate(zip(outlines, ISLANDS.values(), strict=False)):
        assert area(outline) > least
        rows += [f"{island},{y:.1f},{x:.1f}" for x, y in simplified(outline)]
    TARGET.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{len(rows) - 1} points")


if __name__ == "__main__":
    main()
