"""What a run recorded, or what a forcing store holds, as plain arrays: for programs that want neither xarray nor what is not committed.

`open_results` is for people; this reads the same records, chunk by chunk, with both checksums verified.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.errors import DamagedError, FolderError
from steppe.io.axis import Axis
from steppe.io.forcing_store import read_small
from steppe.io.output import group_attributes
from steppe.io.results import readable_records
from steppe.io.shard import layout_of
from steppe.io.shard_file import read_chunk


@dataclass(frozen=True, eq=False)
class Records:
    """A group of variables (time, cell) or (time, region). about: attributes of the store. axes: the readable part of each one's time axis.

    attributes: variable -> its CF attributes; small ones (coordinates) have theirs too.
    """

    path: Path
    about: Mapping[str, Any]
    axes: Mapping[str, Axis]
    attributes: Mapping[str, Mapping[str, Any]]

    @classmethod
    def open(cls, path: Path, series: str = "") -> "Records":
        """The maps of a run folder or a store, or one of its series.

        Raises
        ------
        FolderError
            There is no store at `path`, or no such series.
        DamagedError
            A description or an axis cannot be read.
        """
        store = path if (path / "zarr.json").is_file() else path / "output.zarr"
        group = store / "series" / series if series else store
        if not (group / "zarr.json").is_file():
            kind = f'series "{series}"' if series else "run folder or store"
            raise FolderError(f'There is no {kind} at "{path}". Give the folder that `[output] path` of the run file names.')
        described = {file.parent.name: _described(file) for file in sorted(group.glob("*/zarr.json"))}
        dims = {name: what.get("dimension_names") or [] for name, what in described.items()}
        values = {name: str(of[0]) for name, of in dims.items() if len(of) == 2 and of[1] in ("cell", "region")}
        whole = {axis: _axis(group, axis, described[f"{axis}_bnds"]) for axis in set(values.values())}
        counts = readable_records(store, f"series/{series}/" if series else "")
        axes = {}
        for name, axis in values.items():
            rows = slice(0, whole[axis].rows if counts is None else counts.get(name, 0))
            axes[name] = Axis(axis, whole[axis].starts[rows], whole[axis].stops[rows], whole[axis].calendar)
        return cls(group, group_attributes(store), axes, {name: what.get("attributes", {}) for name, what in described.items()})

    def small(self, name: str) -> NDArray[Any]:
        """All values of a coordinate.

        Raises
        ------
        DamagedError
            It cannot be read.
        """
        return read_small(self.path, name)

    def read(self, name: str, records: slice, columns: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Some records of a variable in its unit, (records, columns), NaN where missing. columns: indices, all when left out.

        Raises
        ------
        DamagedError
            A file is missing, cut short or changed.
        """
        layout, attributes = layout_of(self.path, name), self.attributes[name]
        width = _described(self.path / name / "zarr.json")["shape"][1]
        wanted = np.arange(width) if columns is None else columns
        first, stop, _ = records.indices(self.axes[name].rows)
        stop = max(first, stop)
        found = np.empty((stop - first, wanted.size))
        for j in np.unique(wanted // layout.chunk[1]):
            here = np.flatnonzero(wanted // layout.chunk[1] == j)
            inside = wanted[here] % layout.chunk[1]
            for i in range(first // layout.chunk[0], -(-stop // layout.chunk[0])):
                chunk = read_chunk(self.path, name, (i, int(j)), layout)
                begin = i * layout.chunk[0]
                rows = slice(max(first - begin, 0), min(stop - begin, layout.chunk[0]))
                found[begin + rows.start - first : begin + rows.stop - first, here] = chunk[rows][:, inside]
        if "_FillValue" in attributes and np.dtype(layout.dtype).kind == "i":
            found[found == attributes["_FillValue"]] = np.nan
        if "scale_factor" in attributes:
            found *= attributes["scale_factor"]
            found += attributes.get("add_offset", 0.0)
        return found


def _described(path: Path) -> dict[str, Any]:
    try:
        described: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DamagedError(f'"{path}" cannot be read ({error}). Restore the store.') from None
    return described


def _axis(group: Path, name: str, described: Mapping[str, Any]) -> Axis:
    days = read_small(group, f"{name}_bnds").astype(np.int64)
    return Axis(name, days[:, 0], days[:, 1], str(described.get("attributes", {}).get("calendar", "standard")))
