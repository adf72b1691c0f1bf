"""Grids from what a user has: a built-in region, a CF raster with a mask, a CSV file of points."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steppe.errors import GridError, nearest
from steppe.grid.grid import Grid
from steppe.grid.lattice import read_lattice
from steppe.grid.points import Points
from steppe.grid.projected import Projected
from steppe.grid.raster import Raster

if TYPE_CHECKING:
    import xarray
from functools import cache
from importlib.resources import files


def read_grid(region: str | None = None, file: Path | None = None, points: Path | None = None, variable: str | None = None) -> Grid:
    """The grid of a run.

    Parameters
    ----------
    region
        Name of a built-in raster, or
    file
        a CF raster (a Zarr store, or any file that the installed xarray can read) or a store of Steppe, or
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


def read_raster(path: Path, variable: str | None = None) -> Raster | Projected | Points:
    """The raster of a CF file or store, or the points of a store of Steppe.

    A cell takes part where the mask is 1 (a variable whose name holds "mask", whose standard_name is land_binary_mask, of type boolean, or
    of zeros and ones), or where any other variable has a value. A mask of other numbers is refused, and so is another variable with zeros
    that is missing nowhere. A store of packed cells (CF compression by gathering, as Steppe's forcing) needs no mask. Rows may run either
    way; longitudes may be 0 to 360. Axes may be y and x of a projection that a grid mapping describes.

    Raises
    ------
    GridError
        The file cannot be read, has no regular axes, or no clear mask.
    """
    if not path.exists():
        raise GridError(f'There is no file "{path}". Give a CF raster with a mask, or a forcing store.')
    import xarray  # 0.5 s to import, and only files need it

    try:
        if path.is_dir():
            dataset = xarray.open_zarr(path, consolidated=False, decode_times=False)
        else:
            dataset = xarray.open_dataset(path, decode_times=False)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        advice = "Give a Zarr store, or install netCDF4 to read NetCDF."
        if path.suffix.lower() in (".tif", ".tiff"):
            advice = f"Convert it: gdal_translate -of netCDF {path} mask.nc"
        raise GridError(f'"{path}" cannot be read as a raster ({reason}). {advice}') from error
    with dataset:
        try:
            if "cell_id" not in dataset.variables:
                return _raster(dataset, variable)
            ids, lat, lon = (dataset[name].values for name in ("cell_id", "cell_lat", "cell_lon"))
            return Points(tuple(map(str, ids)), lat, lon)
        except GridError as error:
            raise GridError(f'"{path}": {error}') from None


def _raster(dataset: "xarray.Dataset", variable: str | None) -> Raster | Projected:
    lattice = read_lattice(dataset)
    packed = [v for v in dataset.variables.values() if v.attrs.get("compress") == " ".join(lattice.dims)]
    if packed and variable is None:
        mask = np.zeros((lattice.lat.size, lattice.lon.size), dtype=bool)
        mask.ravel()[packed[0].values] = True
    else:
        mask = _active(_mask_variable(dataset, lattice.dims, variable).transpose(*lattice.dims))
    mask = mask[lattice.rows][:, lattice.columns]
    if lattice.crs is not None:
        geometry = (float(lattice.lat[0]), lattice.dlat, float(lattice.lon[0]), lattice.dlon)
        kept = [dataset[name].values for name in ("cell_lat", "cell_lon", "cell_area") if packed and name in dataset.variables]
        if len(kept) == 3 and "crs_wkt" in lattice.crs:
            return Projected(*geometry, mask, lattice.crs, *kept)
        return Projected.project(*geometry, mask, lattice.crs)
    return Raster(float(lattice.lat[0]), lattice.dlat, float(lattice.lon[0]), lattice.dlon, mask)


def _mask_variable(dataset: "xarray.Dataset", dims: tuple[str, str], variable: str | None) -> "xarray.DataArray":
    fitting = sorted(str(name) for name, values in dataset.data_vars.items() if set(values.dims) == set(dims))
    if variable is not None:
        if variable not in fitting:
            raise GridError(f'"{variable}" is no variable of {dims[0]} and {dims[1]}.{nearest(variable, fitting)}')
        return dataset[variable]
    masks = [name for name in fitting if _is_mask(dataset[name])]
    maps = sorted(str(name) for name, values in dataset.data_vars.items() if values.ndim == 3 and set(dims) <= set(values.dims))
    if maps and not fitting:
        raise GridError(
            f"It holds maps that change in time ({', '.join(maps)}) and no mask. Make a forcing store of them with `steppe ingest netcdf` "
            "or `zarr`, and leave [grid] out: the run takes the grid of its store. Or give a mask."
        )
    chosen = masks or [name for name in fitting if _has_zeros_and_ones(dataset[name])] or fitting
    if len(chosen) != 1:
        raise GridError(
            f"One variable of {dims[0]} and {dims[1]} is needed as mask, found {', '.join(chosen) or 'none'}. "
            + (f'Keep one of them: dataset[["{chosen[0]}"]].' if chosen else "Add one.")
        )
    return dataset[chosen[0]]


def _is_mask(values: "xarray.DataArray") -> bool:
    return values.dtype == np.bool_ or "mask" in str(values.name).lower() or values.attrs.get("standard_name") == "land_binary_mask"


def _has_zeros_and_ones(values: "xarray.DataArray") -> bool:
    """True if every value is 0 or 1, each of them occurs, and any others are missing."""
    return set(np.unique(values.values[values.notnull().values]).tolist()) == {0, 1}


def _active(values: "xarray.DataArray") -> NDArray[np.bool_]:
    there: NDArray[np.bool_] = np.asarray(values.notnull().values)
    other: NDArray[np.bool_] = np.asarray(values.values != 0)
    if _is_mask(values) or _has_zeros_and_ones(values):
        odd = values.values[there & other & (values.values != 1)]
        if odd.size:
            raise GridError(
                f'The mask "{values.name}" is {odd[0]:g} in a cell, expected 0 or 1, or missing outside ({odd.size:,} such cells). '
                f'Make a mask of it, such as dataset["{values.name}"] > 0.5.'
            )
        return there & other
    if there.all() and not other.all():  # ids of catchments, parts of cells, heights: 0 may be outside, and may not
        zeros = f'"{values.name}" is 0 in {np.count_nonzero(~other):,} of {other.size:,} cells and missing in none'
        raise GridError(
            f"{zeros}, so it does not say which take part. "
            f'Make a mask of it, dataset["{values.name}"] != 0, or let values be missing outside.'
        )
    return there


BUILTIN = {
    "australia": "Australia on the points of SILO: 278,264 cells of 0.05 degree",
    "queensland": "Queensland, Australia: 15,208 cells of 0.1 degree",
}


@cache
def builtin_grid(name: str) -> Raster:
    """The raster of a built-in region.

    Raises
    ------
    GridError
        There is no region of this name.
    """
    if name not in BUILTIN:
        raise GridError(f'There is no built-in grid "{name}".{nearest(name, BUILTIN)} Or give a file with a mask, or points.')
    with (files("steppe.grid") / "regions" / f"{name}.npz").open("rb") as file, np.load(file) as stored:
        nlat, nlon = (int(length) for length in stored["shape"])
        mask = np.unpackbits(stored["mask"], count=nlat * nlon).astype(bool).reshape(nlat, nlon)
        lat0, dlat, lon0, dlon = (float(number) for number in stored["geometry"])
    return Raster(lat0, dlat, lon0, dlon, mask)
