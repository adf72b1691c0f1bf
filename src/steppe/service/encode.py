"""Arrays in common formats: npy, CSV, JSON, CoverageJSON, NetCDF, and other number types."""

import io
import math
from collections.abc import Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np

from steppe.api import ArrayInfo, array_of, encode_head, has_value
from steppe.api.documents import ArrayHead
from steppe.array_types import Array, Floats, Integers
from steppe.control import Refused
from steppe.control.wire import Buffer
from steppe.grid import COORDINATE_ATTRIBUTES, OF_CELLS, WGS84, map_attributes, map_dimensions, map_values, references
from steppe.levels import flags, parted
from steppe.service import coverage
from steppe.service.limits import WorkLimits
from steppe.service.moments import cf_times
from steppe.service.service import RunDescription

MISSING = -32768  # of int16: no value
TEXT = ("csv", "json", "coverage-json")  # formats
LEVELS = 65534  # that int16 has beside it
FINE = 2**20  # distances of 64-bit numbers in a level from which on their rounding does not count
Coordinate = tuple[tuple[str, ...], Array, Mapping[str, object]]
"""Dimensions, values and attributes."""
_ONE_AT_A_TIME = Lock()  # the library of NetCDF may not be used by two threads at once


class CellPlaces(NamedTuple):
    """Where values lie: packed cells (cells,), or latitudes of rows and longitudes of columns [degrees].

    cut: of "lat" and "lon" the rows and columns of the grid that these are; None if they are others.
    """

    cells: Integers | None = None
    lat: Floats | None = None
    lon: Floats | None = None
    cut: Mapping[str, Integers] | None = None


class Content(NamedTuple):
    """A body in two pieces, and what is to be known of it where it does not say so itself."""

    head: bytes
    body: Buffer
    facts: Mapping[str, object] = MappingProxyType({})


def encode(
    form: str, head: ArrayHead, body: Buffer, dtype: str | None, known: RunDescription, places: CellPlaces, limits: WorkLimits
) -> Content:
    """An array in a format. head: what the engine says of it; places: where it lies, for those formats that say so.

    Raises
    ------
    Refused
        not-acceptable: it is too long for text, or the format cannot say it.
    """
    values = array_of(head, body)
    if form in TEXT and values.size > limits.text_values:
        text = f"{values.size:,} values are more than {limits.text_values:,} in text. Ask for format=raw, or for less."
        raise Refused("not-acceptable", text, value=values.size, allowed=["raw", "npy", "netcdf"])
    if form in ("csv", "coverage-json") and dtype == "int16":
        raise Refused(
            "not-acceptable", f'Format "{form}" has no scale and offset. Ask for another dtype, or none.', value=dtype, position="dtype"
        )
    if dtype is not None:
        values, head = _as(values, dtype, head)
    match form:
        case "raw":
            return Content(encode_head(head), values.data.cast("B") if values.size else b"")
        case "npy":
            return _npy(values, head)
        case "json":
            return Content(_json(values, head), b"")
        case "csv":
            return Content(_csv(values, head, known, places), b"")
        case "coverage-json":
            return Content(_coverage(values, head, known, places), b"")
    with _ONE_AT_A_TIME:
        return Content(b"", _netcdf(values, head, known, places))


def _as(values: Array, dtype: str, head: ArrayHead) -> tuple[Array, ArrayHead]:
    """The values in another type; int16 are levels between the least and the greatest: value = offset + scale x level."""
    there = has_value(values)
    if dtype != "int16":
        found = values.astype(np.dtype(dtype).newbyteorder("<"))
        if values.dtype.kind != "f":
            found[~there] = np.nan
        return found, {**head, "dtype": dtype}
    some = values[there].astype(np.float64)
    low, high = (float(some.min()), float(some.max())) if some.size else (0.0, 0.0)
    scale = _scale(low, high)
    offset = low + scale * (LEVELS // 2) if low < high else low
    levels = np.full(values.shape, MISSING, "<i2")
    levels[there] = np.rint((some - offset) / scale)
    return levels, {**head, "dtype": "int16", "scale": scale, "offset": offset, "missing": MISSING}


def _scale(low: float, high: float) -> float:
    """The distance of levels from low to high. Near that of 64-bit numbers a multiple of it: so rounding adds no error to half a level."""
    if low == high:
        return 1.0
    scale, unit = high / LEVELS - low / LEVELS, 2 * float(np.spacing(max(abs(low), abs(high))))
    return scale if scale > FINE * unit else max(1, math.ceil(scale / unit)) * unit


def _npy(values: Array, head: ArrayHead) -> Content:
    front = io.BytesIO()
    np.lib.format.write_array_header_1_0(front, np.lib.format.header_data_from_array_1_0(values))
    names = ("variable", "units", "step", "date", "scenario", "box", "lat", "scale", "offset", "missing")
    said: Mapping[str, object] = head
    facts = {name: said[name] for name in names if said.get(name) is not None} | {"dims": ",".join(head["dims"])}
    return Content(front.getvalue(), values.data.cast("B") if values.size else b"", facts)


def _json(values: Array, head: Mapping[str, object]) -> bytes:
    flat = values.ravel().tolist() if "scale" in head else coverage.decimals(values)
    nested: list[Any] = flat
    for length in reversed(values.shape[1:]):
        nested = [nested[at : at + length] for at in range(0, len(nested), length)] if length else [[] for _ in range(values.shape[0])]
    return msgspec.json.encode(
        {**{name: head[name] for name in ArrayInfo.__struct_fields__ if name in head}, "values": nested if values.shape else flat[0]}
    )


def _csv(values: Array, head: ArrayHead, known: RunDescription, places: CellPlaces) -> bytes:
    if places.cells is not None:
        cells = places.cells
        pairs = list(zip(known.grid.cell_lon[cells].tolist(), known.grid.cell_lat[cells].tolist(), strict=True))
    else:
        assert places.lat is not None
        assert places.lon is not None
        pairs = [(x, y) for y in places.lat.tolist() for x in places.lon.tolist()]
    dates = head.get("dates") or [head.get("date")]
    when = [date or head.get("step") for date in dates]
    return csv_rows(f"{head['variable']} [{head['units']}]", when, pairs, values.reshape(len(dates), len(pairs)))


def csv_rows(
    name: str, dates: Sequence[object], places: Sequence[tuple[float, float]], values: Array, levels: Sequence[float] = (), axis: str = ""
) -> bytes:
    """A table time,longitude,latitude,name: a row for each date and place; values (dates, places). What has no value has no number.

    levels: of each place, for a column of them behind the time; axis: its name and unit.
    """
    none = "nan" if values.dtype.kind == "f" else str(np.iinfo(values.dtype).min)
    numbers = [["" if text == none else text for text in map(str, row)] for row in values]
    heights = [f"{level:.10g}," for level in levels] or [""] * len(places)
    rows = [
        f"{date},{height}{longitude:.10g},{latitude:.10g},{number}"
        for date, row in zip(dates, numbers, strict=True)
        for (longitude, latitude), height, number in zip(places, heights, row, strict=True)
    ]
    return "\n".join([f"time,{f'{axis},' if levels else ''}longitude,latitude,{name}", *rows, ""]).encode()


def _coverage(values: Array, head: ArrayHead, known: RunDescription, places: CellPlaces) -> bytes:
    variable, steps = known.variables[str(head["variable"])], head.get("steps") or [head.get("step", 0)]
    if places.cells is not None:
        lat, lon = known.grid.cell_lat[places.cells], known.grid.cell_lon[places.cells]
        return coverage.of_cells(values, variable, steps, lat, lon, known)
    assert places.lat is not None
    assert places.lon is not None
    return coverage.of_grid(values, variable, steps, places.lat, places.lon, known)


def _netcdf(values: Array, head: ArrayHead, known: RunDescription, places: CellPlaces) -> bytes:
    import netCDF4  # 0.1 s, and few ask for it

    facts, variable = known.facts, known.variables[str(head["variable"])]
    name, level = parted(variable.name)
    data = netCDF4.Dataset(name, "w", memory=values.nbytes + 65536)
    data.Conventions = "CF-1.12"
    data.title = f"{variable.long_name} of scenario {head['scenario']}"
    data.source = f"Steppe, {facts['model']} {facts.get('version', '')}".strip()
    data.weather = facts["weather"]
    steps = head.get("steps") or [head["step"]]
    times, where = cf_times(steps, facts), _coordinates(known, places)
    dims = ("cell",) if places.cells is not None else ("lat", "lon")
    for dim, length in {"time": len(steps), "bnds": 2, **dict(zip(dims, values.shape[-len(dims) :], strict=True))}.items():
        data.createDimension(dim, length)
    where["time"] = ("time",), times.values, times.attributes
    if times.bounds is not None:
        where["time_bnds"] = ("time", "bnds"), times.bounds, {}
    attributes = references({axis: of for axis, (of, *_) in where.items()})
    if level is not None:
        of_level = _level(known, name, level)
        where |= of_level
        attributes["coordinates"] = " ".join([*filter(None, [attributes.get("coordinates")]), next(iter(of_level))])
    for axis, (of, numbers, said) in where.items():
        coordinate = data.createVariable(axis, numbers.dtype, of, fill_value=math.nan if axis == "cell_area" else None)
        coordinate.setncatts(said)
        coordinate[:] = numbers
    fill = math.nan if values.dtype.kind == "f" else np.iinfo(values.dtype).min
    array = data.createVariable(name, values.dtype.str[1:], ("time", *dims), fill_value=fill)
    array.set_auto_maskandscale(False)
    said = {name: text for name in ("standard_name", "cell_methods") if (text := getattr(variable, name))}
    classes = {key: text if isinstance(text, str) else np.array(text, values.dtype) for key, text in flags(variable.classes).items()}
    array.setncatts({"units": variable.units, "long_name": variable.long_name, **said, **classes, **attributes})
    if "scale" in head and values.dtype.kind == "i":
        array.scale_factor, array.add_offset = head["scale"], head["offset"]
    array[:] = values.reshape(len(steps), *values.shape[-len(dims) :])
    return bytes(data.close())


def _level(known: RunDescription, name: str, level: int) -> dict[str, Coordinate]:
    """The coordinate of one level of a variable, and its bounds, if it has some."""
    levels = known.variables.levels(name)
    assert levels is not None, "it has this level"
    axis, space = levels
    found: dict[str, Coordinate] = {axis: ((), np.array(space.values[level]), space.attributes(axis, bounds=True))}
    return found | ({f"{axis}_bnds": (("bnds",), np.array(space.bounds[level]), {})} if space.bounds else {})


def _coordinates(known: RunDescription, places: CellPlaces) -> dict[str, Coordinate]:
    """Name -> dimensions, values and attributes of what says where values lie, in degrees."""
    grid, packed = known.grid, known.grid.coordinates()
    crs: dict[str, Coordinate] = {"crs": ((), np.zeros((), np.int32), WGS84)}
    if places.cells is not None:
        of_cells = {name: stored for name, stored in OF_CELLS.items() if stored in packed}
        return crs | {name: (("cell",), packed[stored][places.cells], COORDINATE_ATTRIBUTES[stored]) for name, stored in of_cells.items()}
    if places.cut is None:  # rows and columns of a picture: no cells of the grid
        assert places.lat is not None
        assert places.lon is not None
        said = {axis: {key: text for key, text in COORDINATE_ATTRIBUTES[axis].items() if key != "bounds"} for axis in ("lat", "lon")}
        return {**crs, "lat": (("lat",), places.lat, said["lat"]), "lon": (("lon",), places.lon, said["lon"])}
    assert places.lon is not None
    cut = {**places.cut, "bnds": np.arange(2)}
    found: dict[str, Coordinate] = {
        name: (dims, map_values(grid, name)[np.ix_(*(cut[dim] for dim in dims))], map_attributes(grid, name))
        for name, dims in map_dimensions(grid).items()
    }
    turns = (places.lon - found["lon"][1]).round()  # of columns beyond the last one
    for name in {"lon", "lon_bnds"} & found.keys():
        dims, degrees, attributes = found[name]
        found[name] = dims, degrees + turns.reshape(-1, *(1 for _ in dims[1:])), attributes
    return found
