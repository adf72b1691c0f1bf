"""Even rows and columns of a file: latitude and longitude in any order, 0 to 360 or -180 to 180, or y and x of a projection."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.errors import GridError
from steppe.given import LATITUDE, LONGITUDE
from steppe.grid.gaussian import MOST, quadrature
from steppe.grid.projected import parse_crs
from steppe.grid.region import DIGITS, TURN

if TYPE_CHECKING:
    import xarray

Centres = Floats
Indices = Integers
UNEVEN = 1e-3  # [cell] largest distance of a centre from its even place; float32 coordinates of 0.01 degree stay below it

_METRES = {
    **dict.fromkeys(("m", "metre", "meter", "metres", "meters"), 1.0),
    **dict.fromkeys(("km", "kilometre", "kilometer"), 1000.0),
    **dict.fromkeys(("ft", "foot", "feet"), 0.3048),
    **dict.fromkeys(("US_survey_foot", "US_survey_feet", "US survey foot", "us-ft", "ftUS"), 1200.0 / 3937.0),
}
_AXES = {"latitude": LATITUDE, "longitude": LONGITUDE}


class FileLattice(NamedTuple):
    """The cells of a file, from north to south and from west to east.

    dims: the file's names of its rows and columns. lat (rows,), lon (columns,): centres [degrees], falling and rising; dlat < 0, dlon > 0.
    rows, columns: their indices in the file. turned: the changes to the file's order, in words.
    crs: None, or the attributes of the grid mapping of a projection; then lat and lon are its y and x [m].
    """

    dims: tuple[str, str]
    lat: Floats
    lon: Floats
    dlat: float
    dlon: float
    rows: Integers
    columns: Integers
    turned: tuple[str, ...]
    crs: Mapping[str, object] | None = None

    def __str__(self) -> str:
        """Size, spacing and extent, for messages."""
        size = f"{self.lat.size} x {self.lon.size} cells of {-self.dlat:g} x {self.dlon:g}"
        if self.crs is not None:
            return f'{size} m from y {self.lat[0]:.10g}, x {self.lon[0]:.10g} of the projection "{parse_crs(self.crs).name}"'
        return f"{size} degrees from latitude {self.lat[0]:g}, longitude {self.lon[0]:g}"


def read_lattice(dataset: "xarray.Dataset") -> FileLattice:
    """The lattice of a CF data set.

    Raises
    ------
    GridError
        The data set has no one-dimensional, evenly spaced latitude and longitude, or y and x with a grid mapping.
    """
    if projected := _projected_axes(dataset):
        return _projected(dataset, *projected)
    lat, lon = (_axis(dataset, kind) for kind in _AXES)
    if lat.dims == lon.dims:
        places = f'"{lat.name}" and "{lon.name}" both lie along "{lat.dims[0]}", so these are single places and no map'
        raise GridError(f"{places}. Regrid a reduced grid to rows and columns; for stations see `steppe ingest stations`.")
    joint = _joint(lon.values.astype(np.float64))
    rows, columns = _even("latitude", lat), _even("longitude", lon.roll({lon.dims[0]: -joint}, roll_coords=True))
    rows, columns, row_of, column_of, turned = _southward_and_eastward(rows, columns)
    if joint:
        column_of = np.roll(column_of, -joint)
        turned.append("columns join over the ends of the file")
    (rows, dlat), dlon = _between_poles(rows), _around(columns)
    dlat, dlon = _sizes(dataset, (lat, lon), (dlat, dlon))
    if round((columns.size - 1) * dlon, 6) >= TURN:
        raise GridError(
            f'"{lon.name}" goes from {float(lon[0]):g} to {float(lon[-1]):g}, more than once round: places come twice. '
            f"Keep one column of each: dataset.isel({lon.dims[0]}=slice({round(TURN / dlon)}))."
        )
    if round(columns.size * dlon, 6) == TURN:
        east = int(np.searchsorted(columns, 180.0 - dlon * UNEVEN))
        if east < columns.size:
            turned.append("longitudes run from 0 to 360 in the file")
        columns, column_of = np.concatenate([columns[east:] - TURN, columns[:east]]), np.roll(column_of, columns.size - east)
    elif columns.mean() > 180.0:
        columns = columns - 360.0
        turned.append("longitudes are above 180 in the file")
    return FileLattice((str(lat.dims[0]), str(lon.dims[0])), rows, np.round(columns, DIGITS), dlat, dlon, row_of, column_of, tuple(turned))


def _joint(longitudes: Floats) -> int:
    """The first column from the west where a part of the circle is sorted by longitude, as -179.5, 178, 178.5; otherwise 0."""
    steps = np.diff(longitudes)
    if steps.size < 2 or not (steps > 0.0).all():
        return 0
    wide, least = int(np.argmax(steps)), float(steps.min())
    evenly = np.abs(np.delete(steps, wide) - least).max() <= UNEVEN * least
    meet = abs(longitudes[0] + 360.0 - longitudes[-1] - least) <= UNEVEN * least
    return wide + 1 if evenly and meet and steps[wide] > 1.5 * least else 0


def _projected_axes(dataset: "xarray.Dataset") -> "tuple[xarray.DataArray, xarray.DataArray] | None":
    """y and x of a projection, None when the file has none."""
    found = []
    for axis in ("y", "x"):
        fitting = [dataset[name] for name in sorted(map(str, dataset.variables)) if _is_projected(dataset[name], axis)]
        if len(fitting) != 1:
            return None
        found.append(fitting[0])
    return found[0], found[1]


def _is_projected(values: "xarray.DataArray", axis: str) -> bool:
    named = values.attrs.get("standard_name") == f"projection_{axis}_coordinate"
    return values.ndim == 1 and (named or (values.name == axis and values.attrs.get("units") in _METRES))


def _projected(dataset: "xarray.Dataset", y: "xarray.DataArray", x: "xarray.DataArray") -> FileLattice:
    mappings = {str(v.attrs["grid_mapping"]) for v in dataset.data_vars.values() if "grid_mapping" in v.attrs}
    named = {str(name) for name, v in dataset.variables.items() if {"crs_wkt", "grid_mapping_name", "spatial_ref"} & set(v.attrs)}
    names = sorted((mappings & named) or named)
    if len(names) != 1:
        said = f"{', '.join(names)} all describe one" if names else "no variable describes it"
        raise GridError(
            f'"{y.name}" and "{x.name}" are axes of a projection, but {said}. Add one grid mapping variable (CF 5.6), with crs_wkt.'
        )
    lengths = []
    for axis in (y, x):
        unit = str(axis.attrs.get("units", ""))
        if unit not in _METRES:
            raise GridError(f'"{axis.name}" is in "{unit}", expected metres or kilometres of a projection, or feet.')
        lengths.append(_METRES[unit])
    rows, columns = _even("y", y) * lengths[0], _even("x", x) * lengths[1]
    rows, columns, row_of, column_of, turned = _southward_and_eastward(rows, columns)
    steps = _sizes(dataset, (y, x), (_spacing(rows), _spacing(columns)), lengths)
    crs = {
        key: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        for key, value in dataset[names[0]].attrs.items()
        if key != "_FillValue"
    }
    return FileLattice((str(y.dims[0]), str(x.dims[0])), rows, columns, *steps, row_of, column_of, tuple(turned), crs)


def _southward_and_eastward(rows: Centres, columns: Centres) -> tuple[Centres, Centres, Indices, Indices, list[str]]:
    """Centres from north to south and from west to east, their indices in the file, and the changes of order in words."""
    row_of, column_of = np.arange(rows.size), np.arange(columns.size)
    turned = []
    if rows[0] < rows[-1]:
        rows, row_of = rows[::-1], row_of[::-1]
        turned.append("rows run from the south in the file")
    if columns[0] > columns[-1]:
        columns, column_of = columns[::-1], column_of[::-1]
        turned.append("columns run from the east in the file")
    return rows, columns, row_of, column_of, turned


def is_axis(values: "xarray.DataArray", kind: str) -> bool:
    """True for an axis of "latitude" or "longitude", or of "y" or "x" of a projection, by its name, CF standard name or unit."""
    if kind not in _AXES:
        return _is_projected(values, kind)
    known = {values.name, values.attrs.get("standard_name"), values.attrs.get("units")}
    return values.ndim == 1 and bool(known & set(_AXES[kind])) and f"grid_{kind}" not in known  # which is of another pole


def _axis(dataset: "xarray.Dataset", kind: str) -> "xarray.DataArray":
    for name in sorted(map(str, dataset.variables)):  # a store has no order of variables
        values = dataset[name]
        of_a_cell = values.dims == ("cell",)  # latitudes of packed cells, not an axis
        if not of_a_cell and is_axis(values, kind):
            return values
    raise GridError(
        f"No one-dimensional {kind} was found among {', '.join(sorted(map(str, dataset.variables))) or 'no variables'}. "
        f"Mark it with standard_name or units ({_AXES[kind][2]}). Projections need axes projection_y_coordinate and "
        "projection_x_coordinate; curvilinear, reduced and unstructured grids must be regridded first."
    )


def _even(kind: str, axis: "xarray.DataArray") -> Floats:
    """The centres of an axis, checked for even spacing, without the noise of float32."""
    values = axis.values.astype(np.float64)
    if not values.size:
        raise GridError(f'"{axis.name}" is empty, expected is the centre of each cell.')
    if values.size == 1:
        return values
    if kind == "longitude" and (np.diff(values) < 0).sum() == 1:
        values = np.where(values < values[0], values + 360.0, values)  # 170 .. 179, -180 .. -170: over the date line
    spacing = (values[-1] - values[0]) / (values.size - 1)
    off = np.abs(values - (values[0] + spacing * np.arange(values.size)))
    worst = int(np.argmax(off))
    if not off[worst] <= UNEVEN * abs(spacing) or spacing == 0.0:
        near = values[max(0, worst - 1) : worst + 2]
        raise GridError(
            f"{kind.capitalize()} is not evenly spaced: around index {worst} it is {', '.join(f'{v:g}' for v in near)}, "
            f"the mean spacing is {spacing:g}. Only regular grids are read; regrid the file first."
            + (f" A run on this Gaussian grid needs no file: [grid] gaussian = {values.size}." if is_gaussian(values) else "")
        )
    digits = 5 if axis.dtype == np.float32 else DIGITS
    return np.round(values, digits)


def is_gaussian(latitudes: Centres) -> bool:
    """True for the latitudes of a Gaussian grid, from either pole."""
    n = latitudes.size
    return 2 <= n <= MOST and n % 2 == 0 and np.allclose(np.sort(latitudes), -quadrature(n).lat, rtol=0.0, atol=1e-3)


def _spacing(centres: Centres) -> float:
    mean = _mean_spacing(centres)
    short = round(mean, 6)
    return short if abs(short - mean) * centres.size < UNEVEN * abs(mean) else mean


def _mean_spacing(centres: Centres) -> float:
    return float(centres[-1] - centres[0]) / (centres.size - 1) if centres.size > 1 else np.nan


def _sizes(
    dataset: "xarray.Dataset", axes: "tuple[xarray.DataArray, ...]", steps: tuple[float, float], lengths: Sequence[float] = (1.0, 1.0)
) -> tuple[float, float]:
    """The spacing of rows and columns. A single row or column has the size in its bounds, else that of a cell along the other axis.

    steps: NaN of a single one. lengths: units of the bounds.
    """
    found = []
    for axis, step, other, length in zip(axes, steps, reversed(steps), lengths, strict=True):
        bounds = dataset.variables.get(str(axis.attrs.get("bounds", "")))
        if np.isnan(step) and bounds is not None:  # of a row on a pole one half lies beyond
            other = 2.0 * length * float(np.round(np.abs(bounds.values - axis.values[0]).max(), DIGITS))
        found.append(abs(other) if np.isnan(step) else abs(step))
    if not np.isfinite(found).all():
        raise GridError(
            f'"{axes[0].name}" and "{axes[1].name}" have one value each, so the size of the cell is not known. '
            "Add their bounds (CF 7.1), take more of the map, or make a table of the place: `steppe ingest stations`."
        )
    return -found[0], found[1]


def _around(columns: Centres) -> float:
    """The spacing of columns; of a circle exactly its part, where 6 decimals do not make 360 degrees, as with 2/3 of a degree."""
    found, whole = _spacing(columns), TURN / columns.size
    joins = round(columns.size * found, 6) == TURN and round(columns.size * found, DIGITS) <= TURN
    if not joins and abs(_mean_spacing(columns) - whole) * columns.size < UNEVEN * whole:
        return whole
    return found


def _between_poles(rows: Centres) -> tuple[Centres, float]:
    """Rows from north to south and their spacing; those that reach over a pole by rounding alone end there exactly."""
    spacing = _spacing(rows)
    if rows.size < 2 or _fit(rows, spacing):
        return rows, spacing
    beside = [(end - 90.0) / _mean_spacing(rows) for end in (rows[0], -rows[-1])]  # 0 of a row on the pole, 1/2 of one that ends there
    north, south = (next((part for part in (0.0, 0.5) if abs(each - part) < UNEVEN), None) for each in beside)
    first, last = (rows[0] if north is None else 90.0), (rows[-1] if south is None else -90.0)
    step = (last - first) / (rows.size - 1 + (north or 0.0) + (south or 0.0))
    rows = np.round(first + step * ((north or 0.0) + np.arange(rows.size)), DIGITS)
    spacing = _spacing(rows)
    return rows, spacing if _fit(rows, spacing) else step  # the same when they are read again


def _fit(rows: Centres, spacing: float) -> bool:
    """True if even rows from the first one on do not reach over a pole; a row on it ends there."""
    ends = np.abs(np.round([rows[0], rows[0] + spacing * (rows.size - 1)], DIGITS))
    return bool(((ends == 90.0) | (np.round(ends - spacing / 2.0, DIGITS) <= 90.0)).all())
