"""Regions in run files and requests: "all", a name, a box, a polygon or one cell."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Floats
from steppe.errors import GridError, nearest

Kind = Literal["all", "name", "box", "polygon", "cell"]
Places = tuple[tuple[float, float], ...]
TURN = 360.0  # degrees of longitude
DIGITS = 10  # decimals of a degree that count: 0.01 mm; takes the noise of repeated addition out of coordinates


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a grid.

    places (longitude, latitude) in degrees: south-western and north-eastern corner of a box, corners of a polygon in order (the last side
    is implied), one place of a cell; none for "all" and names.
    """

    kind: Kind
    name: str = ""
    places: Places = ()

    @classmethod
    def of(cls, value: "RegionLike") -> "Region":
        """The region of a run file or a request.

        `"all"`, `"west"` (a name), `{"box": [west, south, east, north]}`, `{"polygon": [[lon, lat], ...]}` or `{"cell": [lon, lat]}`.
        A box whose west is greater than its east goes on over the date line, as in GeoJSON (RFC 7946, 5.2), if that is at most half of
        the Earth: more is taken for a mistake.

        Raises
        ------
        GridError
            The value has none of these forms, or impossible coordinates.
        """
        if isinstance(value, Region):
            return value
        if isinstance(value, str):
            return cls("all") if value == "all" else cls("name", value)
        if not isinstance(value, Mapping) or len(value) != 1:
            raise GridError(f"A region must be a name or one of box, polygon, cell, it is {value!r}. {_FORMS}")
        ((key, content),) = value.items()
        if key == "box":
            west, south, east, north = _numbers(value, content, 4)
            _place(value, west, south)
            _place(value, east, north)
            if west > east and (east - west) % TURN <= TURN / 2:
                west, east = (west, east + TURN) if east <= 0.0 else (west - TURN, east)
            if not (west < east and south < north):
                raise GridError(f"{_words(value)} is empty: west must be less than east and south less than north. {_BOX}")
            return cls("box", "", ((west, south), (east, north)))
        if key == "cell":
            return cls("cell", "", (_place(value, *_numbers(value, content, 2)),))
        if key == "polygon":
            if not isinstance(content, Sequence) or isinstance(content, str) or len(content) < 3:
                raise GridError(f"{_words(value)} needs three corners or more. {_FORMS}")
            places = tuple(_place(value, *_numbers(value, corner, 2)) for corner in content)
            _check_sides(places)
            return cls("polygon", "", places)
        raise GridError(f'A region cannot be given by "{key}".{nearest(str(key), ("box", "polygon", "cell"))} {_FORMS}')

    def contains(self, longitudes: Floats, latitudes: Floats) -> NDArray[np.bool_]:
        """True for the places inside a box or polygon, with the edges of a box; longitudes may be in any range.

        A named region is the box of that name.

        Raises
        ------
        GridError
            The name is unknown, or the region is "all" or a cell, which only a grid can resolve.
        """
        if self.kind == "name":
            return named_region(self.name).contains(longitudes, latitudes)
        if self.kind not in ("box", "polygon"):
            raise GridError(f'Region "{self.kind}" has no outline. Ask the grid to select it.')
        corners = np.array(self.places)
        west = corners[:, 0].min()
        if self.kind == "box":
            (_, south), (east, north) = self.places
            across = east_of(longitudes, west) <= round(east - west, DIGITS)
            within: NDArray[np.bool_] = across & (latitudes >= south) & (latitudes <= north)
            return within
        turned = west + np.mod(longitudes - west, TURN)
        latitudes = np.minimum(latitudes, np.nextafter(90.0, 0.0))  # on a side along the north pole: no other polygon could have them
        by_latitude = np.argsort(latitudes, kind="stable")
        rising, x = latitudes[by_latitude], turned[by_latitude]
        inside: NDArray[np.bool_] = np.zeros(np.shape(latitudes), dtype=bool)
        for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            # a ray to the east can cross this side only from a place between the latitudes of its ends
            band = slice(*np.searchsorted(rising, (min(y0, y1), max(y0, y1)), side="left"))
            if band.start < band.stop:
                inside[band] ^= x[band] < x0 + (rising[band] - y0) * (x1 - x0) / (y1 - y0)
        inside[by_latitude] = inside.copy()
        return inside

    def __str__(self) -> str:
        """The region as text of a run file."""
        if self.kind in ("all", "name"):
            return f'"{self.name or self.kind}"'
        places = [f"{longitude:.12g}, {latitude:.12g}" for longitude, latitude in self.places]
        if self.kind == "polygon":
            places = [f"[{place}]" for place in places]
        return f"{{ {self.kind} = [{', '.join(places)}] }}"


def east_of(longitudes: Floats, west: float) -> Floats:
    """How far places lie east of a longitude, 0 to 360 [degrees]: exactly 0 on it, without the rounding of a difference."""
    turned: Floats = np.mod(np.round(longitudes - west, DIGITS), TURN)
    return np.round(turned, DIGITS)


RegionLike = Region | str | Mapping[str, object]

_FORMS = 'Write "all", a name, { box = [west, south, east, north] }, { polygon = [[lon, lat], ...] } or { cell = [lon, lat] }.'
_BOX = "A box is west, south, east, north."


@cache
def region_names() -> dict[str, str]:
    """Name -> meaning of the named regions, in the order of the file."""
    return {name: str(entry["meaning"]) for name, entry in _table().items()}


def named_region(name: str) -> Region:
    """The box behind a name.

    Raises
    ------
    GridError
        There is no region of this name.
    """
    table = _table()
    if name not in table:
        raise GridError(f'Region "{name}" is not known.{nearest(name, ("all", *table))} {_FORMS}')
    return Region.of({"box": table[name]["box"]})


@cache
def _table() -> dict[str, dict[str, object]]:
    return tomllib.loads((files("steppe.grid") / "regions" / "queensland.toml").read_text(encoding="utf-8"))


def _words(value: Mapping[str, object]) -> str:
    """A region of one kind as a message names it."""
    ((kind, content),) = value.items()
    if isinstance(content, str) or not isinstance(content, Sequence | np.ndarray):
        return f"The {kind} {content!r}"
    return f"The {kind} " + ", ".join(f"{each:g}" if isinstance(each, int | float | np.number) else f"{each}" for each in content)


def _numbers(value: Mapping[str, object], content: object, count: int) -> list[float]:
    if (
        not isinstance(content, Sequence | np.ndarray)
        or len(content) != count
        or not all(isinstance(number, int | float | np.number) and np.isfinite(number) for number in content)
    ):
        raise GridError(f"{_words(value)} needs {count} numbers, it has {content!r}. {_FORMS}")
    return [float(number) for number in content]


def _check_sides(places: Places) -> None:
    """Refuses a polygon over the date line whose longitudes do not go on there: the other side of the Earth would be taken."""
    for (one, _), (other, _) in zip(places, places[1:] + places[:1], strict=True):
        if TURN / 2 < abs(other - one) < TURN:
            low, high = sorted((one, other))
            turned = f"{low + TURN:g} for {low:g}" if low <= 0.0 else f"{high - TURN:g} for {high:g}"
            raise GridError(
                f"The side of the polygon from longitude {one:g} to {other:g} goes round more than half of the Earth. "
                f"Over the date line write {turned}; if it is meant, give it a corner on the way. Round a pole, write a box."
            )


def _place(value: Mapping[str, object], longitude: float, latitude: float) -> tuple[float, float]:
    if not (-180.0 <= longitude <= 360.0 and -90.0 <= latitude <= 90.0):
        raise GridError(
            f"{_words(value)} holds longitude {longitude:g}, latitude {latitude:g}, which is no place. "
            "Give longitude (-180 to 360) before latitude (-90 to 90)."
        )
    return longitude, latitude
