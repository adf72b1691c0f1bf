"""NetCDF-4 files after CF 1.11: maps (time, lat, lon) of a raster, time series (station, time) of points; of an ensemble by scenario."""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from steppe.clock import EPOCH, time_attributes
from steppe.grid import COORDINATE_ATTRIBUTES
from steppe.io.axis import Axis
from steppe.io.export.aside import aside, refuse_existing
from steppe.io.export.selection import ExportSource, Progress
from steppe.io.folders.scenarios import SCENARIO, Ensemble, Member
from steppe.levels import parted

if TYPE_CHECKING:
    import netCDF4

FILL = 1e20  # where there is no cell: ncview, Panoply, CDO and R know it, and not all of them know NaN
CHUNK = (16, 128, 128)  # records, rows, columns at most: 1 MB, read for a map and for a series alike
LEVEL = 2  # of deflate: 4 takes half as long again and saves 3 %


def write_netcdf(
    source: ExportSource, path: Path, history: str, overwrite: bool = False, progress: Progress = lambda part: None
) -> list[Path]:
    """Writes a selection as one file, or as a folder with a file for each variable.

    Parameters
    ----------
    path
        A file when it ends in .nc, a folder otherwise; a folder is made.
    history
        The command that made the file; the date is added.

    Returns
    -------
    list[Path]
        The files.

    Raises
    ------
    FolderError
        A file is there already, or the folder is not.
    DamagedError
        The store cannot be read.
    NoSpaceError, Failure
        A file cannot be written. It is absent, or as it was.
    """
    as_folder = path.suffix != ".nc"
    files = {path / f"{name}.nc": [name] for name in source.names} if as_folder else {path: source.names}
    refuse_existing(list(files), overwrite)
    if as_folder:
        path.mkdir(parents=True, exist_ok=True)
    done = _ByteCount(progress, sum(source.records(name) * (len(_scenarios(source)) or 1) for name in source.names))
    for file, names in files.items():
        with aside(file) as beside:
            _write(source, beside, names, history, done)
    return list(files)


class _ByteCount:
    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, records: int) -> None:
        self._done += records
        self._progress(self._done / self._total)


def _write(source: ExportSource, path: Path, names: list[str], history: str, done: _ByteCount) -> None:
    import netCDF4  # 0.1 s to import, and only this needs it

    with closing(netCDF4.Dataset(path, "w", format="NETCDF4")) as file:
        place = _Maps(source) if source.store.raster else _Stations(source)
        place.describe(file)
        if source.ensemble:
            _write_scenarios(file, source.ensemble)
        dims = [source.time_of(name) for name in names]
        for dim in dict.fromkeys(filter(None, dims)):
            # NCO joins and averages along an unlimited dimension alone, which CF wants first
            _write_axis(file, source.axes[dim], unlimited=bool(source.store.raster) and not source.ensemble)
        for name in names:
            place.write(file, name, done)
        _write_about(file, source, [source.axes[dim] for dim in dims if dim], history)


class _Maps:
    """A raster."""

    def __init__(self, source: ExportSource) -> None:
        self._source = source
        self._dims = source.store.raster
        self._window = source.window()

    def describe(self, file: "netCDF4.Dataset") -> None:
        """Axes with bounds, the grid mapping, areas; latitudes and longitudes of cells where the axes are others."""
        store = self._source.store
        file.createDimension("bnds", 2)
        for dim, space in dict(store.levels[name] for name in self._source.names if name in store.levels).items():
            file.createDimension(dim, len(space.values))
            if space.interfaces:
                file.createDimension("interface", len(space.interfaces))
            for each, array in space.arrays(dim, self._source.names).items():
                _put(file, each, array.values, array.dims, array.attributes)
        for dim, part in zip(self._dims, (self._window.rows, self._window.columns), strict=True):
            file.createDimension(dim, part.stop - part.start)
            _put(file, dim, store.small(dim)[part], (dim,), {**store.attributes[dim], "bounds": f"{dim}_bnds"})
            _put(file, f"{dim}_bnds", store.small(f"{dim}_bnds")[part], (dim, "bnds"), {})
        _put(file, "crs", np.int32(0), (), store.attributes["crs"])
        self._auxiliary = {"lat": "cell_lat", "lon": "cell_lon"} if self._dims != ("lat", "lon") else {}
        for name, packed in {**self._auxiliary, "cell_area": "cell_area"}.items():
            if packed in store.attributes:
                values = self._window.spread(store.small(packed)[self._source.cells][None].astype(np.float32), FILL)[0]
                attributes = {**COORDINATE_ATTRIBUTES[packed], "_FillValue": np.float32(FILL)}
                _put(file, name, values, self._dims, attributes | (self._where() if name == "cell_area" else {}))

    def _where(self, *levels: str) -> dict[str, str]:
        """The attributes that give the places of values. levels: scalar coordinates."""
        coordinates = " ".join([*self._auxiliary, *levels])
        return {"grid_mapping": "crs"} | ({"coordinates": coordinates} if coordinates else {})

    def _level(self, file: "netCDF4.Dataset", name: str) -> tuple[str, tuple[str, ...]]:
        """The name in the file, and of one level its scalar coordinate: `ozone` and `level`; `ozone_3` beside others of ozone."""
        whole, level = parted(name)
        if level is None:
            return name, ()
        dim, space = self._source.store.levels[whole]
        among = sum(parted(other)[0] == whole for other in self._source.names) > 1
        other = dim in file.dimensions or (dim in file.variables and file[dim][...] != space.values[level])
        label = f"{dim}_{level}" if other else dim
        if label not in file.variables:
            attributes = space.attributes(dim)
            if space.bounds:
                attributes["bounds"] = f"{label}_bnds"
                _put(file, f"{label}_bnds", space.bounds[level], ("bnds",), {})
            _put(file, label, space.values[level], (), attributes)
        return f"{whole}_{level}" if among else whole, (label,)

    def write(self, file: "netCDF4.Dataset", name: str, done: _ByteCount) -> None:
        """A variable, block by block."""
        source, time = self._source, self._source.time_of(name)
        scenarios = _scenarios(source)
        levels = [source.store.levels[name][0]] if name in source.store.levels else []
        dims = (*(["scenario"] if scenarios else []), *([time] if time else []), *levels, *self._dims)
        records = min(CHUNK[0], source.rows_of_a_block(), source.records(name))
        chunk = [1 for _ in levels] + [min(most, length) for most, length in zip(CHUNK[1:], self._window.shape, strict=True)]
        named, level = self._level(file, name)
        variable = _create(file, named, source.dtype(name), dims, ([1] if scenarios else []) + ([records] if time else []) + chunk)
        attributes = _attributes(source, name) | _with_scenarios(source, self._where(*level))
        if "cell_area" in file.variables:
            attributes["cell_measures"] = "area: cell_area"
        variable.setncatts(_plain(_rounded(file, source, attributes), source.dtype(name)))
        for i in range(len(scenarios) or 1):
            for block in source.blocks(name, scenario=i):
                maps = self._window.spread(block.values, FILL)
                record = [slice(block.first, block.first + len(maps))] if time else []
                variable[(*([i] if scenarios else []), *record, ...)] = maps if time else maps[0]
                done.add(len(maps))


class _Stations:
    """Points: CF's discrete sampling geometry "timeSeries", in its orthogonal form (station, time)."""

    def __init__(self, source: ExportSource) -> None:
        self._source = source

    def describe(self, file: "netCDF4.Dataset") -> None:
        """Names and places."""
        source, store = self._source, self._source.store
        file.createDimension("bnds", 2)
        file.createDimension("station", source.cells.size)
        file.setncattr("featureType", "timeSeries")
        names = np.array([str(name) for name in store.small("cell_id")], dtype=object)[source.cells]
        file.createVariable("station", str, ("station",)).setncatts(_plain(COORDINATE_ATTRIBUTES["cell_id"]))
        file["station"][:] = names
        for name, packed in (("lat", "cell_lat"), ("lon", "cell_lon")):
            _put(file, name, store.small(packed)[source.cells], ("station",), COORDINATE_ATTRIBUTES[packed])
        _put(file, "crs", np.int32(0), (), store.attributes["crs"])

    def write(self, file: "netCDF4.Dataset", name: str, done: _ByteCount) -> None:
        """A variable, block by block."""
        source, time = self._source, self._source.time_of(name)
        scenarios = _scenarios(source)
        dims = (*(["scenario"] if scenarios else []), "station", *([time] if time else []))
        variable = _create(file, name, source.dtype(name), dims, None)
        places = _with_scenarios(source, {"grid_mapping": "crs", "coordinates": "lat lon station"})
        variable.setncatts(_plain(_rounded(file, source, _attributes(source, name) | places), source.dtype(name)))
        for i in range(len(scenarios) or 1):
            for block in source.blocks(name, scenario=i):
                values = np.where(np.isfinite(block.values), block.values, block.values.dtype.type(FILL))
                record = [slice(block.first, block.first + len(values))] if time else []
                variable[(*([i] if scenarios else []), slice(None), *record)] = values.T if time else values[0]
                done.add(len(values))


def _scenarios(source: ExportSource) -> tuple[Member, ...]:
    """The scenarios of an ensemble; none of a run."""
    return source.ensemble.members if source.ensemble else ()


def _with_scenarios(source: ExportSource, places: dict[str, str]) -> dict[str, str]:
    """The same attributes; "coordinates" also names the variables that scenarios set."""
    if source.ensemble is None:
        return places
    columns = [str(about["coordinate"]) for about in source.ensemble.columns.values()]
    return places | {"coordinates": " ".join([*filter(None, [places.get("coordinates")]), "scenario", *columns])}


def _write_scenarios(file: "netCDF4.Dataset", ensemble: Ensemble) -> None:
    """The names of scenarios, and the values that each sets."""
    file.createDimension("scenario", len(ensemble.members))
    file.createVariable("scenario", str, ("scenario",)).setncatts(SCENARIO)
    file["scenario"][:] = np.array([member.name for member in ensemble.members], dtype=object)
    for column, about in ensemble.columns.items():
        attributes = {name: value for name, value in about.items() if name != "coordinate"}
        variable = file.createVariable(str(about["coordinate"]), "float64", ("scenario",), fill_value=FILL)
        variable.setncatts(_plain(attributes, "float64"))
        values = ensemble.values(column)
        variable[:] = np.where(np.isfinite(values), values, FILL)


def _attributes(source: ExportSource, name: str) -> dict[str, object]:
    """Those of the store, and the kind of content as ACDD names it."""
    made = {"coverage_content_type": "modelResult"} if source.about.get("steppe_kind") == "output" else {}
    return source.attributes(name) | made


def _create(file: "netCDF4.Dataset", name: str, dtype: str, dims: tuple[str, ...], chunk: list[int] | None) -> Any:
    settings: dict[str, Any] = {"compression": "zlib", "complevel": LEVEL, "shuffle": True, "chunksizes": chunk, "fill_value": FILL}
    return file.createVariable(name, dtype, dims, **settings)


def _put(file: "netCDF4.Dataset", name: str, values: ArrayLike, dims: tuple[str, ...], attributes: Mapping[str, Any]) -> None:
    """A small variable, whole."""
    values = np.asarray(values)
    values = values.astype(values.dtype.newbyteorder("="))
    attributes = dict(attributes)
    chunk = values.shape if dims and file.dimensions[dims[0]].isunlimited() else None
    variable = file.createVariable(name, values.dtype, dims, fill_value=attributes.pop("_FillValue", None), chunksizes=chunk)
    variable.setncatts(_plain(attributes))
    variable[...] = values


def _write_axis(file: "netCDF4.Dataset", axis: Axis, unlimited: bool) -> None:
    file.createDimension(axis.name, None if unlimited else axis.rows)
    units = {"units": EPOCH, "calendar": axis.calendar}
    if axis.calendar in ("standard", "proleptic_gregorian"):
        units["units_metadata"] = "leap_seconds: none"
    _put(file, axis.name, axis.times.astype(np.float64), (axis.name,), {**units, **time_attributes(axis.name, not axis.by_end)})
    _put(file, f"{axis.name}_bnds", np.stack([axis.starts, axis.stops], 1).astype(np.float64), (axis.name, "bnds"), {})


def _rounded(file: "netCDF4.Dataset", source: ExportSource, attributes: dict[str, object]) -> dict[str, object]:
    """The same; the variable that says how values were rounded (CF 1.12, section 8.4) is copied along."""
    name = str(attributes.get("quantization", ""))
    if name and name not in file.variables:
        _put(file, name, np.int32(0), (), source.store.attributes[name])
    return attributes


def _write_about(file: "netCDF4.Dataset", source: ExportSource, axes: list[Axis], history: str) -> None:
    """Global attributes: those that CF requires, and those of ACDD 1.3 that are known."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    skipped = ("Conventions", "history", "steppe_kind", "steppe_format", "steppe_progress")
    about = {key: value for key, value in source.about.items() if key not in skipped}
    told = "\n".join([*filter(None, [str(source.about.get("history", ""))]), f"{now} {history}"])
    found: dict[str, object] = {"Conventions": "CF-1.11, ACDD-1.3", **about, "history": told, "date_created": now, **_extent(source)}
    if source.unfinished:
        found["unfinished_scenarios"] = source.unfinished
    if "summary" not in found and found.get("weather_summary"):
        found["summary"] = f"{found['source']}. Weather: {found['weather_summary']}"
    if axes:
        first, last = min(axes, key=lambda axis: axis.starts[0]), max(axes, key=lambda axis: axis.stops[-1])
        found["time_coverage_start"] = first.begin_of(0)
        found["time_coverage_end"] = last.end_of(-1)
    file.setncatts(_plain(found))


def _extent(source: ExportSource) -> dict[str, float]:
    """The least and greatest latitude and longitude of the centres of the wanted cells."""
    lat, lon = (getattr(source.grid, name)[source.cells] for name in ("cell_lat", "cell_lon"))
    return {
        "geospatial_lat_min": float(lat.min()),
        "geospatial_lat_max": float(lat.max()),
        "geospatial_lon_min": float(lon.min()),
        "geospatial_lon_max": float(lon.max()),
    }


def _plain(attributes: Mapping[str, object], dtype: str = "float32") -> dict[str, object]:
    """Attributes as NetCDF holds them: text, numbers in the type of the values, tables as JSON."""
    return {name: _value(name, value, dtype) for name, value in attributes.items()}


def _value(name: str, value: object, dtype: str) -> object:
    if name in ("valid_min", "valid_max", "valid_range", "flag_values"):
        return np.asarray(value, dtype)
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else value
