"""The results of a run, or a forcing store, as an xarray Dataset.

Every chunk is verified when it is read. The files are counted when a store is opened, for zarr-python takes a missing file for fill
values. The time axis ends with the last committed record: a NaN in the dataset was written as NaN.
"""

import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from steppe.array_types import Array
from steppe.clock import EPOCH
from steppe.errors import DamagedError, FolderError, GridError, nearest
from steppe.io.axis import ticks_of
from steppe.io.folders.run_progress import Progress
from steppe.io.folders.scenarios import FILE, SCENARIO, Ensemble, listed
from steppe.io.folders.served import results_folder
from steppe.io.forcing.store import FORMAT as FORCING_FORMAT
from steppe.io.output.store import FORMAT, QUANTIZATION, check_format, group_attributes
from steppe.io.shard import layout_of, shard_path
from steppe.levels import HYBRID

KINDS, MAPS = ("series", "maps"), ("maps",)  # of groups
BEGIN = np.datetime64("1850-01-01", "us")  # of all time axes of Steppe

if TYPE_CHECKING:
    import xarray

    Labelled = TypeVar("Labelled", xarray.Dataset, xarray.DataArray)


def open_results(path: Path | str, series: str = "") -> "xarray.Dataset":
    """Opens the output of a run up to the last commit, or a forcing store. Values are read when they are used.

    An ensemble has a first dimension `scenario`, with the names of its table; each column of the table is a coordinate of it, and
    values that an unfinished scenario does not have yet are NaN. The attribute `unfinished_scenarios` names such scenarios.

    Parameters
    ----------
    path
        A run folder, the folder of an ensemble, a branch, or a store. Of a run that was rewound on a server the branch that is main is
        opened, with a warning.
    series
        Name of an [[output.series]], or of an [[output.maps]]; without it the maps of [output], (time, cell). `unpack` makes
        (time, lat, lon) of maps.

    Returns
    -------
    xarray.Dataset
        Coordinates and attributes decoded after CF; latitude, longitude and area of the cells, bounds and grid mapping as coordinates.
        Times are dates of the standard calendar where that is one, cftime otherwise.

    Raises
    ------
    FolderError
        There is no store at `path`, or no group of this name in it.
    DamagedError
        A file is missing or cannot be read.
    """
    import xarray

    from steppe.io.results.checked import checked, stacked  # which import xarray

    folder = results_folder(Path(path))
    ensemble = Ensemble.read(folder)
    store, group = locate(folder, series)
    try:
        raw: xarray.Dataset = xarray.open_zarr(group, chunks=None, consolidated=False, decode_cf=False)
    except (ValueError, KeyError, TypeError, OSError) as error:  # what zarr raises of metadata that it cannot read
        raise DamagedError(f'"{group}" cannot be opened: its metadata are damaged ({error}). Restore its files zarr.json.') from None
    axis_of = {str(name): str(array.dims[0]) for name, array in raw.variables.items() if is_packed(array.dims)}
    if ensemble is None:
        cut = _check(store, group, raw, axis_of)
        values = checked(raw, group, list(axis_of))
    else:
        stores = [store_of(member.folder) for member in ensemble.members]
        groups = [each / group.relative_to(store) for each in stores]
        cuts = [_check(each, part, raw, axis_of) for each, part in zip(stores, groups, strict=True)]
        cut = {axis: max(found[axis] for found in cuts) for axis in axis_of.values()}
        rows = [{name: found[axis] for name, axis in axis_of.items()} for found in cuts]
        values = stacked(raw, groups, rows, list(axis_of))
    dataset = _exact(_decoded(values), raw).isel({axis: slice(0, records) for axis, records in cut.items()})
    dataset = dataset.reset_coords([name for name in axis_of if name in dataset.coords])  # such as ps, a term of the pressure of levels
    dataset = dataset.set_coords(_coordinates(dataset))
    return _labelled(dataset, ensemble) if ensemble else dataset


def _decoded(values: "xarray.Dataset") -> "xarray.Dataset":
    """With dates: those of numpy, or of cftime before 1582, of which xarray warns."""
    import xarray

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unable to decode time axis", xarray.SerializationWarning)
        return xarray.decode_cf(values, decode_coords="all")


def _exact(dataset: "xarray.Dataset", raw: "xarray.Dataset") -> "xarray.Dataset":
    """The same; float64 days of Steppe with fractions become exact microseconds, which xarray misses by one."""
    found = {}
    for name, array in dataset.coords.items():
        if raw[name].attrs.get("units") == EPOCH and raw[name].dtype.kind == "f" and array.dtype.kind == "M":
            found[name] = array.variable.copy(data=(BEGIN + ticks_of(raw[name].values)).astype(array.dtype))
    return dataset.assign_coords(found)


def _check(store: Path, group: Path, raw: "xarray.Dataset", axis_of: Mapping[str, str]) -> dict[str, int]:
    """Time axis -> records that all its arrays have. Counts their files; a scenario before its start has no store."""
    if not (store / "zarr.json").is_file():
        return dict.fromkeys(axis_of.values(), 0)
    readable = readable_records(store, group)
    cut: dict[str, int] = {}
    for name, axis in axis_of.items():
        records = raw[name].shape[0] if readable is None else readable.get(name, 0)
        cut[axis] = min(cut.get(axis, records), records)
        _check_files(group, name, records, raw[name].shape[-1])
    return cut


def _labelled(dataset: "xarray.Dataset", ensemble: Ensemble) -> "xarray.Dataset":
    """The same, with names and settings of scenarios as coordinates; an attribute names unfinished ones."""
    names = np.array([member.name for member in ensemble.members])
    columns: dict[str, tuple[str, Array, dict[str, object]]] = {
        about["coordinate"]: ("scenario", ensemble.values(column), {k: v for k, v in about.items() if k != "coordinate"})
        for column, about in ensemble.columns.items()
    }
    unfinished = ensemble.unfinished()
    dataset = dataset.assign_coords({"scenario": ("scenario", names, SCENARIO), **columns})
    if unfinished:
        return dataset.assign_attrs(unfinished_scenarios=listed(unfinished))
    return dataset.assign_attrs(steppe_progress="complete") if "steppe_progress" in dataset.attrs else dataset


def unpack(packed: "Labelled", dataset: "xarray.Dataset | None" = None) -> "Labelled":
    """Maps (..., lat, lon) of packed values (..., cell), or (..., y, x) of a projection; NaN where no cell is active. Loads the values.

    Parameters
    ----------
    packed
        A dataset that `open_results` opened, or variables of one; any part of it in time or in cells.
    dataset
        The dataset that `packed` was taken from, when only some variables were: xarray leaves the axes lat and lon behind then.

    Raises
    ------
    GridError
        The cells are not those of a raster (points, say), or the dataset is needed and was not given.
    TypeError
        An argument is no dataset or variable of xarray.
    """
    import xarray

    for given in (packed, packed if dataset is None else dataset):
        if not isinstance(given, xarray.Dataset | xarray.DataArray):
            what = f'"{given}"' if isinstance(given, str | Path) else f"a {type(given).__name__}"
            raise TypeError(f"unpack takes a dataset of steppe.open or variables of one, not {what}. Write unpack(steppe.open(RUN)).")
    whole: xarray.Dataset | xarray.DataArray = packed if dataset is None else dataset
    rows_and_columns = packed["cell"].attrs.get("compress", "").split() if "cell" in packed.dims else []
    if not rows_and_columns:
        raise GridError("These values are not packed cells of a raster: points and series have no maps. Use them as they are.")
    if not set(rows_and_columns) <= set(whole.coords):
        raise GridError('Single variables do not carry the axes of their raster. Write unpack(dataset["name"], dataset).')
    axes = {str(name): value for name, value in whole.coords.items() if set(rows_and_columns) & set(value.dims)}
    places = {str(name): value for name, value in packed.coords.items() if "cell" not in value.dims} | axes
    if isinstance(packed, xarray.DataArray):
        return _spread(packed, places)
    maps = {name: _spread(array, places) if "cell" in array.dims else array for name, array in packed.data_vars.items()}
    return xarray.Dataset(maps, places, packed.attrs)


def _spread(array: "xarray.DataArray", places: Mapping[str, "xarray.DataArray"]) -> "xarray.DataArray":
    values: Array = array.transpose(..., "cell").to_numpy()
    axes = array["cell"].attrs["compress"].split()
    before, raster = values.shape[:-1], [len(places[axis]) for axis in axes]
    maps = np.full((*before, raster[0] * raster[1]), np.nan, np.result_type(values.dtype, np.float32))
    maps[..., array["cell"].to_numpy()] = values
    dims = (*(dim for dim in array.dims if dim != "cell"), *axes)
    here = {name: value for name, value in places.items() if set(value.dims) <= set(dims)}
    found = type(array)(maps.reshape(*before, *raster), here, dims, array.name, array.attrs)
    if "crs" in here:
        found.encoding["grid_mapping"] = "crs"  # where files and rioxarray look for it
    return found


def is_packed(dims: Sequence[Hashable]) -> bool:
    """Whether an array of these dimensions holds records: (time, cell), (time, region), or with levels between the two."""
    return len(dims) in (2, 3) and str(dims[0]).startswith("time") and dims[-1] in ("cell", "region")


def store_of(path: Path) -> Path:
    """The path of the store of a run folder, or `path` itself; the store need not exist."""
    return path if (path / "zarr.json").is_file() else path / "output.zarr"


def names_of(path: Path, kind: str) -> list[str]:
    """The names of the groups of a run. kind: "series" or "maps"."""
    return sorted(description.parent.name for description in (store_of(path) / kind).glob("*/zarr.json"))


def locate(path: Path, name: str = "", kinds: Sequence[str] = KINDS) -> tuple[Path, Path]:
    """The store of a run folder, or at `path`, and its group: the maps of [output], or the group of a name, of one of some kinds.

    Raises
    ------
    FolderError
        There is no such store, or no group of this name in it.
    """
    store = store_of(path)
    if not (store / "zarr.json").is_file():
        if (path / FILE).is_file():
            raise FolderError(f'The ensemble "{path}" has no results yet. Wait for its first commit, or start it again.')
        raise FolderError(f'There is no run folder or store at "{path}". Give the folder that `[output] path` of the run file names.')
    if not name:
        return store, store
    for kind in kinds:
        if name in names_of(path, kind):
            return store, store / kind / name
    held = [each for kind in kinds for each in names_of(path, kind)]
    what = f'are no maps "{name}" at "{path}"' if kinds == MAPS else f'is no series "{name}" at "{path}", and no maps of this name'
    raise FolderError(f"There {what}.{nearest(name, held)}")


def readable_records(store: Path, group: Path) -> Mapping[str, int] | None:
    """Variable of a group -> records that can be read; None: all."""
    attributes = group_attributes(store)
    check_format(store, attributes, FORMAT if attributes.get("steppe_kind") == "output" else FORCING_FORMAT)
    state = attributes.get("steppe_progress")
    if state is None:
        return None
    progress = Progress.read(store.parent)
    if progress is None:  # the run has not begun, or the store lies outside its run folder
        return None if state == "complete" else {}
    prefix = "" if group == store else f"{group.relative_to(store).as_posix()}/"
    return {key.removeprefix(prefix): count for key, count in progress.records.items() if key.startswith(prefix)}


def _check_files(group: Path, name: str, records: int, columns: int) -> None:
    layout = layout_of(group, name)
    for row in range(-(-records // layout.shard[0])):
        for tile in range(-(-columns // layout.shard[-1])):
            path = shard_path(group, name, (row, tile), len(layout.shard))
            if not os.path.isfile(path):
                raise DamagedError(f'"{path}" is missing. Restore the file, or make the store again.')


def _coordinates(dataset: "xarray.Dataset") -> list[Hashable]:
    """Data variables that are coordinates of place and time."""
    told = {"crs", QUANTIZATION, *HYBRID}
    named = [name for name in dataset.data_vars if str(name).startswith("cell_") or str(name).endswith("_bnds") or name in told]
    return [name for name in named if not is_packed(dataset[name].dims)]
