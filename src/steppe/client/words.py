"""Regions, dates and queries of Python as those of requests. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from steppe.api.query import LONG, MapQuery
from steppe.errors import Mistake
from steppe.given import Day as Day
from steppe.given import moment_text

Moment: TypeAlias = Day | int
Box = Sequence[float]
Corners = Sequence[Sequence[float]]


NO_KEYS = {  # of `MapQuery` -> what to do instead
    "time": "Give step or date.",
    "dtype": "The values have the type of the variable; astype of xarray gives another one.",
    "format": "It gives an xarray.DataArray, which writes files: to_netcdf, to_dataframe.",
    "packed": "cells= gives values of cells in a row.",
    **dict.fromkeys(("style", "low", "high"), "These are of run.image."),
    **dict.fromkeys(("chosen", "along"), "The server says these."),
}


class Ring(Protocol):
    """A closed line, as shapely has it."""

    @property
    def coords(self) -> Iterable[Sequence[float]]:
        """Its corners; the last one repeats the first."""
        ...


class Outlined(Protocol):
    """A polygon, as shapely has it."""

    @property
    def exterior(self) -> Ring:
        """Its outline."""
        ...


Polygon = Corners | Outlined


def plain(when: Any) -> Any:
    """A step or a date that an array of no dimensions holds, as xarray and numpy make one; anything else as it is."""
    holds_one = isinstance(when, np.ndarray) or hasattr(when, "dims")
    return np.asarray(when)[()] if holds_one and np.ndim(when) == 0 else when


def at(when: Moment) -> dict[str, object]:
    """{"step": n} or {"date": ...}."""
    when = plain(when)
    return {"step": int(when)} if isinstance(when, int | np.integer) else {"date": moment_text(when)}


def check_more(width: int | None, more: Mapping[str, object]) -> None:
    """Raises `Mistake` for keys of `MapQuery` of which a map of numbers has no use, and for `reduce` without pixels. more: the keys."""
    for key in more:
        if key in NO_KEYS:
            raise Mistake(f"get takes no `{key}`. {NO_KEYS[key]}")
    if "reduce" in more and width is None and more.get("height") is None:
        raise Mistake(
            "`reduce` takes the cells of a pixel together. Give width or height, too: width=1, height=1 makes one value of a region."
        )


def region(box: Box | None = None, polygon: Polygon | None = None, cells: ArrayLike | None = None) -> dict[str, Any]:
    """The region of the arguments: box, polygon or cells, {} for everywhere.

    box: west, south, east, north in degrees. polygon: corners (longitude, latitude), or what has `exterior.coords`, as of shapely. cells:
    packed numbers, as the coordinate `packed` of an answer has them.

    Raises
    ------
    Mistake
        More than one is given, a box has not four numbers or a latitude beyond 90, a polygon has holes or parts, a cell is no whole number,
        or cells are counted by rows.
    """
    given = {name: value for name, value in (("box", box), ("polygon", polygon), ("cells", cells)) if value is not None}
    if len(given) > 1:
        raise Mistake(f"Give {' or '.join(given)}, not both.")
    if box is not None and len(box) != 4:
        raise Mistake(f"A box is west, south, east, north; it has {len(box)} numbers.")
    if box is not None:
        numbers = [float(number) for number in box]
        if max(map(abs, numbers[1::2])) > 90.0:
            said = ", ".join(f"{number:g}" for number in numbers)
            raise Mistake(f"The box {said} has a latitude beyond 90 degrees. Give west, south, east, north.")
        return {"box": numbers}
    if polygon is not None:
        if len(getattr(polygon, "interiors", ())) or hasattr(polygon, "geoms"):
            raise Mistake("A polygon is one outline without holes. Give its parts one after the other, or the region as cells=.")
        corners = [*polygon.exterior.coords][:-1] if hasattr(polygon, "exterior") else polygon
        return {"polygon": [[float(number) for number in corner[:2]] for corner in corners]}
    if cells is None:
        return {}
    if getattr(cells, "name", None) == "cell":
        raise Mistake("cells= takes packed numbers; the coordinate `cell` counts the map row by row. Give the coordinate `packed`.")
    numbers = np.ravel(cells).tolist()
    for number in numbers:
        if number % 1:  # nan, too
            raise Mistake(f"Cells are packed numbers, whole ones; {number} is none.")
    return {"cells": [int(number) for number in numbers]}


def places(at: Sequence[Any]) -> list[str]:
    """Places (longitude, latitude) as keys of an address; a single one may stand without a list.

    Raises
    ------
    Mistake
        One is not two numbers.
    """
    found = [np.asarray(each) for each in ([at] if len(at) and np.ndim(at[0]) == 0 else at)]
    for each in found:
        if each.shape != (2,) or each.dtype.kind not in "iuf":
            raise Mistake(f"A place is longitude, latitude, such as at=[(144.05, -21.95)]; it is {each.tolist()!r}.")
    return [f"{longitude:.12g},{latitude:.12g}" for longitude, latitude in found]


def keys(query: MapQuery) -> dict[str, str]:
    """The keys of an address that say a query; what is as usual is left out.

    Raises
    ------
    Mistake
        The region is too long for an address.
    """
    found = {name: _text(value) for name, value in msgspec.to_builtins(query).items()}
    for name, parts in (("polygon", "corners"), ("cells", "cells")):
        if (length := len(found.get(name, ""))) > LONG:
            text = f"{name}= has {len(getattr(query, name)):,} {parts}, {length:,} characters in an address, which holds {LONG:,}."
            raise Mistake(f"{text} Give fewer {parts}{' or digits' if name == 'polygon' else ' at once'}.")
    return found


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(f"{number:.12g}" for number in np.ravel(value))
    return str(int(value)) if isinstance(value, bool) else str(value)


def of_step(step: Any) -> str:
    """The key `time` of a step.

    Raises
    ------
    Mistake
        It is no whole number.
    """
    step = plain(step)
    if not isinstance(step, int | np.integer):
        raise Mistake(f"A step is a whole number; step={step!r} is none.")
    return f"step:{int(step)}"


def time(when: Moment | tuple[Day, Day] | slice | None) -> str:
    """The key `time` of a query: a step, a date, or from and to; the last finished step when nothing is named."""
    when = plain(when)
    if when is None:
        return MapQuery().time
    if isinstance(when, slice):
        when = (when.start, when.stop)
    if isinstance(when, tuple):
        return f"{moment_text(plain(when[0]))}/{moment_text(plain(when[1]))}"
    return of_step(when) if isinstance(when, int | np.integer) else moment_text(when)
