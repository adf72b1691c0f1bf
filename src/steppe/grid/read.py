"""Grids from what a user has: a built-in region, a CF raster with a mask, a CSV file of points."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steppe.errors import GridError, nearest
from steppe.grid.builtin import builtin_grid
from steppe.grid.grid import Grid
from steppe.grid.points import Points
from steppe.grid.raster import DIGITS, Raster

if TYPE_CHECKING:
    import xarray

UNEVEN = 1e-3  # [cell] how far a centre may lie off its even place; float32 coordinates of 0.01 degree stay below it

_AXES = {"latitude": ("latitude", "lat", "degrees_north", "degree_north"), "longitude": ("longitude", "lon", "degrees_east", "degree_east")}


def read_grid(region: str | None = None, file: Path | None = None, points: Path | None = None, variable: str | None = None) -> Grid:
    """The grid of a run.

    Parameters
    ----------
    region
        Name of a built-in raster, or
    file
        a CF raster (a Zarr store, or any file that the installed xarray can read), or
    points
        a CSV file with the columns id, latitude or lat, longitude or lon. Exactly one of the three.
    variable
        The variable of `file` that says which cells take part; needed only when several could.

    Raises
    ------
    GridError
        Not exactly one is given, or what is given cannot be read as a grid.
    """
    if sum(source is not None for source in (region, file, points)) != 1:
        raise GridError("A grid comes from exactly one of region, file and points.")
    if region is not None:
        return builtin_grid(region)
    if points is not None:
        return Points.read(points)
    assert file is not None
    return read_raster(file, variable)


def read_raster(path: Path, variable: str | None = None) -> Raster:
    """The raster of a CF file or store.

    A cell takes part where the mask is neither 0 nor missing (a variable whose name holds "mask", whose standard_name is
    land_binary_mask, or of type boolean), or where any other variable has a value. A store of packed cells (CF compression by
    gathering, as Steppe's forcing) needs no mask. Rows may run either way; longitudes may be 0 to 360.

    Raises
    ------
    GridError
        The file cannot be read, has no regular latitude and longitude, or no clear mask.
    """
    import xarray  # 0.5 s to import, and only files need it

    try:
        if path.is_dir():
            dataset = xarray.open_zarr(path, consolidated=False, decode_times=False)
        else:
            dataset = xarray.open_dataset(path, decode_times=False)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise GridError(f'"{path}" cannot be read as a raster ({reason}). Give a Zarr store, or install netCDF4 to read NetCDF.') from error
    with dataset:
        try:
            return _raster(dataset, variable)
        except GridError as error:
            raise GridError(f'"{path}": {error}') from None


def _raster(dataset: "xarray.Dataset", variable: str | None) -> Raster:
    lat, lon = (_axis(dataset, kind) for kind in _AXES)
    dims = (str(lat.dims[0]), str(lon.dims[0]))
    packed = [v for v in dataset.variables.values() if v.attrs.get("compress") == " ".join(dims)]
    if packed and variable is None:
        mask = np.zeros((lat.size, lon.size), dtype=bool)
        mask.ravel()[packed[0].values] = True
    else:
        mask = _active(_mask_variable(dataset, dims, variable).transpose(*dims))
    rows, columns = _even("latitude", lat), _even("longitude", lon)
    if rows[0] < rows[-1]:
        rows, mask = rows[::-1], mask[::-1]
    if columns[0] > columns[-1]:
        columns, mask = columns[::-1], mask[:, ::-1]
    dlat, dlon = _spacing(rows), _spacing(columns)
    if round(columns.size * dlon, 6) == 360.0:
        east = int(np.searchsorted(columns, 180.0 - dlon * UNEVEN))
        columns, mask = np.concatenate([columns[east:] - 360.0, columns[:east]]), np.roll(mask, columns.size - east, axis=1)
    elif columns.mean() > 180.0:
        columns = columns - 360.0
    return Raster(float(rows[0]), dlat, round(float(columns[0]), DIGITS), dlon, mask)


def _axis(dataset: "xarray.Dataset", kind: str) -> "xarray.DataArray":
    marks = _AXES[kind]
    for name in sorted(map(str, dataset.variables)):  # a store does not keep them in order
        values = dataset[name]
        of_a_cell = values.dims == ("cell",)  # latitudes of packed cells are no axis
        if values.ndim == 1 and not of_a_cell and {name, values.attrs.get("standard_name"), values.attrs.get("units")} & set(marks):
            return values
    raise GridError(
        f"No one-dimensional {kind} was found among {', '.join(sorted(map(str, dataset.variables))) or 'no variables'}. "
        f"Mark it with standard_name or units ({marks[2]}); projected and curvilinear grids must be regridded first."
    )


def _mask_variable(dataset: "xarray.Dataset", dims: tuple[str, str], variable: str | None) -> "xarray.DataArray":
    fitting = sorted(str(name) for name, values in dataset.data_vars.items() if set(values.dims) == set(dims))
    if variable is not None:
        if variable not in fitting:
            raise GridError(f'"{variable}" is no variable of {dims[0]} and {dims[1]}.{nearest(variable, fitting)}')
        return dataset[variable]
    masks = [name for name in fitting if _is_mask(dataset[name])]
    chosen = masks or fitting
    if len(chosen) != 1:
        raise GridError(
            f"One variable of {dims[0]} and {dims[1]} is needed as mask, found {', '.join(chosen) or 'none'}. Name the variable to use."
        )
    return dataset[chosen[0]]


def _is_mask(values: "xarray.DataArray") -> bool:
    return values.dtype == np.bool_ or "mask" in str(values.name).lower() or values.attrs.get("standard_name") == "land_binary_mask"


def _active(values: "xarray.DataArray") -> NDArray[np.bool_]:
    there = np.asarray(values.notnull().values)
    return there & np.asarray(values.values != 0) if _is_mask(values) else there


def _even(kind: str, axis: "xarray.DataArray") -> NDArray[np.float64]:
    """The centres of an axis, checked for one spacing and freed of the noise of float32."""
    values = axis.values.astype(np.float64)
    if values.size < 2:
        raise GridError(f"{kind.capitalize()} has {values.size} value, two or more are needed to know the size of a cell.")
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
        )
    digits = 5 if axis.dtype == np.float32 else DIGITS
    return np.round(values, digits)


def _spacing(centres: NDArray[np.float64]) -> float:
    mean = float(centres[-1] - centres[0]) / (centres.size - 1)
    short = round(mean, 6)
    return short if abs(short - mean) * centres.size < UNEVEN * abs(mean) else mean
