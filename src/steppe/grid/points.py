"""A list of places as a grid: weather stations, field sites."""

import csv
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats, Integers
from steppe.errors import GridError, nearest
from steppe.grid.earth import distances
from steppe.grid.region import Region, RegionLike, region_names
from steppe.html_summary import html_summary

REACH = 10_000.0  # [m] largest distance at which a place means a point; Steppe's choice, the width of a cell of 0.1 degree

SHOWN = 200  # rows of a table in a notebook
_COLUMNS = (("id",), ("latitude", "lat"), ("longitude", "lon"))


@dataclass(frozen=True, eq=False)
class Points:
    """Places in the order given, all active; packed and unpacked are the same.

    ids: one name each, unique. cell_lat, cell_lon (cells,): latitude and longitude [degrees].

    Raises
    ------
    GridError
        There is no point, an id is empty or comes twice, or a coordinate is impossible.
    """

    ids: tuple[str, ...]
    cell_lat: Floats
    cell_lon: Floats

    def __post_init__(self) -> None:
        if not self.ids:
            raise GridError("A grid of points needs one point or more, it has none.")
        for name in ("cell_lat", "cell_lon"):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.shape != (len(self.ids),):
                raise GridError(f"{name} has shape {values.shape}, expected ({len(self.ids)},), one for each id.")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        repeated = [name for name, count in Counter(self.ids).items() if count > 1 or not name]
        if repeated:
            raise GridError(f'Id "{repeated[0]}" is empty or comes more than once. Give each point a name of its own.')
        bad = ~((np.abs(self.cell_lat) <= 90.0) & (self.cell_lon >= -180.0) & (self.cell_lon <= 360.0))
        if bad.any():
            first = int(np.argmax(bad))
            raise GridError(
                f'Point "{self.ids[first]}" lies at latitude {self.cell_lat[first]:g}, longitude {self.cell_lon[first]:g}, '
                "which is no place. Latitudes go from -90 to 90, longitudes from -180 to 360 degrees."
            )

    @classmethod
    def read(cls, path: Path) -> "Points":
        """The points of a CSV file with the columns id, latitude or lat, longitude or lon; other columns are ignored.

        Raises
        ------
        GridError
            The file cannot be read, lacks a column, has a coordinate that is no number, or has no point.
        """
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = csv.DictReader(file, restval="")
                rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
                identity, latitude, longitude = place_columns(rows.fieldnames)
                found = [(row[identity].strip(), *(_degrees(row, name, identity) for name in (latitude, longitude))) for row in rows]
            ids, latitudes, longitudes = zip(*found, strict=True) if found else ((), (), ())
            return cls(ids, np.array(latitudes), np.array(longitudes))
        except (OSError, UnicodeDecodeError) as error:
            raise GridError(f'"{path}" cannot be read as a list of points ({error}). Give a CSV file.') from error
        except GridError as error:
            raise GridError(f'"{path}": {error}') from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Points) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Points: {self.n_cells:,}, the first is {self._place(0)}>"

    def _repr_html_(self) -> str:
        rows = [(name, f"{lat:g}", f"{lon:g}") for name, lat, lon in zip(self.ids, self.cell_lat, self.cell_lon, strict=True)]
        return html_summary("Points", {"points": f"{self.n_cells:,}"}, tables={"name, latitude, longitude": rows[:SHOWN]})

    @property
    def n_cells(self) -> int:
        """Number of points."""
        return len(self.ids)

    @property
    def shape(self) -> Mapping[str, int]:
        """Number of points, as {"cell": n}."""
        return MappingProxyType({"cell": self.n_cells})

    @property
    def active(self) -> NDArray[np.bool_]:
        """True for every point, (cells,)."""
        return np.ones(self.n_cells, dtype=bool)

    @property
    def order(self) -> Integers:
        """0, 1, 2 ..., (cells,): the order of the list."""
        return np.arange(self.n_cells)

    @property
    def cell_area(self) -> Floats:
        """1 for each point, (cells,) [1]: points have no area and weigh the same in a mean."""
        return np.ones(self.n_cells)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of kind, ids and coordinates; -0 is 0."""
        lines = [f"{i}\0{lat:z.10f}\0{lon:z.10f}" for i, lat, lon in zip(self.ids, self.cell_lat, self.cell_lon, strict=True)]
        return hashlib.sha256("\n".join(["points", *lines]).encode()).hexdigest()

    def coordinates(self) -> Mapping[str, Array]:
        """Name -> array of the CF coordinate variables: cell_id (text), cell_lat, cell_lon [degrees]."""
        return {"cell_id": np.array(self.ids), "cell_lat": self.cell_lat, "cell_lon": self.cell_lon}

    def locate(self, longitude: float, latitude: float) -> int:
        """The packed position of the point nearest to a place, which must lie within 10 km of it.

        Raises
        ------
        GridError
            No point is that near; the message names the nearest one with its coordinates and distance.
        """
        metres = distances(longitude, latitude, self.cell_lon, self.cell_lat)
        near = int(np.argmin(metres))
        if metres[near] <= REACH:
            return near
        raise GridError(
            f"No point lies within {REACH / 1000:.0f} km of longitude {longitude:g}, latitude {latitude:g}. The nearest is "
            f'"{self.ids[near]}" at longitude {self.cell_lon[near]:g}, latitude {self.cell_lat[near]:g}, {metres[near] / 1000:.0f} km away.'
        )

    def select(self, region: RegionLike) -> Integers:
        """The packed positions of the points in a region, ascending; the id of a point is a name too.

        Raises
        ------
        GridError
            The region is malformed, unknown, or holds no point.
        """
        region = Region.of(region)
        if region.kind == "all":
            return np.arange(self.n_cells)
        if region.kind == "cell":
            return np.array([self.locate(*region.places[0])])
        if region.kind == "name" and region.name in self.ids:
            return np.array([self.ids.index(region.name)])
        if region.kind == "name" and region.name not in region_names():
            known = ("all", *region_names(), *self.ids)
            raise GridError(f'Region "{region.name}" is neither the id of a point nor a named region.{nearest(region.name, known)}')
        found = np.flatnonzero(region.contains(self.cell_lon, self.cell_lat))
        if not found.size:
            raise GridError(f"Region {region} holds none of the {self.n_cells} points, the first of which is {self._place(0)}.")
        return found

    def unpack(self, values: Array, fill: float = np.nan) -> Array:
        """The values (..., cells) as they are: every point is active, so `fill` is never needed."""
        return np.asarray(values)

    def _place(self, cell: int) -> str:
        return f'"{self.ids[cell]}" at longitude {self.cell_lon[cell]:g}, latitude {self.cell_lat[cell]:g}'


def place_columns(columns: Sequence[str]) -> tuple[str, str, str]:
    """The names of the columns of id, latitude and longitude in the first line of a list of places, in large or small letters.

    Raises
    ------
    GridError
        A column is missing.
    """
    identity, latitude, longitude = (_column(columns, *names) for names in _COLUMNS)
    return identity, latitude, longitude


def _column(columns: Sequence[str], *choice: str) -> str:
    for name in choice:
        if found := [column for column in columns if column.strip().lower() == name]:
            return found[0]
    advice = semicolons(columns) or " Name the column so."
    raise GridError(f"There is no column {' or '.join(choice)}; the columns are {', '.join(columns) or 'none'}.{advice}")


def semicolons(columns: Sequence[str]) -> str:
    """Advice where the one column of a line of names holds semicolons or tabs, as spreadsheets write them; else empty."""
    found = [name for mark, name in {";": "semicolons", "\t": "tabs"}.items() if len(columns) == 1 and mark in columns[0]]
    return f" The columns are parted by {found[0]}: write commas, and points in numbers." if found else ""


def _degrees(row: Mapping[str, str], column: str, identity: str) -> float:
    try:
        return float(row[column])
    except ValueError:
        raise GridError(f'The {column} of "{row[identity]}" is "{row[column]}". Give a number in degrees.') from None
