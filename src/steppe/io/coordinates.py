"""Coordinates of packed cells and of time in a store, as CF readers expect them."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from steppe.clock import EPOCH, time_attributes
from steppe.grid import AXIS_DIMENSIONS, COORDINATE_ATTRIBUTES, Grid, Points, crs_of
from steppe.io.axis import Axis
from steppe.io.shard import write_durable, write_small
from steppe.levels import Space


def write_coordinates(group: Path, grid: Grid) -> None:
    """Writes the places of cells: `cell` (CF compression by gathering on a raster), centres, axes with bounds, and `crs`."""
    compress = {} if isinstance(grid, Points) else {"compress": " ".join(grid.shape)}
    write_small(group, "cell", grid.order.astype(np.int32), {"long_name": "cell", **compress}, ("cell",))
    for name, values in grid.coordinates().items():
        write_small(group, name, values, COORDINATE_ATTRIBUTES.get(name, {}), AXIS_DIMENSIONS.get(name, ("cell",)))
    write_small(group, "crs", np.int32(0), crs_of(grid), ())


def write_axis(group: Path, axis: Axis) -> None:
    """Writes a time axis and its bounds, int32 days since 1850-01-01, float64 where rows begin within a day: one chunk, at full length."""
    bounds, kind = f"{axis.name}_bnds", np.int32 if axis.whole_days else np.float64
    units = {"units": EPOCH, "calendar": axis.calendar}
    write_small(group, axis.name, axis.times.astype(kind), {**units, **time_attributes(axis.name, not axis.by_end)}, (axis.name,))
    both = np.stack([axis.starts, axis.stops], axis=1).astype(kind)
    write_small(group, bounds, both, units, (axis.name, "bnds"))


def write_space(group: Path, name: str, space: Space, beside: Collection[str]) -> None:
    """Writes the coordinate of levels with all that belongs to it. beside: the variables of the group."""
    for each, array in space.arrays(name, beside).items():
        write_small(group, each, np.array(array.values, np.float64), array.attributes, array.dims)


def write_group(group: Path, attributes: Mapping[str, object]) -> None:
    """Writes the description of a Zarr version 3 group: last, for it makes the group visible."""
    described = {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes)}
    write_durable(group / "zarr.json", json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False).encode())


def consolidate(group: Path) -> None:
    """Copies the descriptions of all that a group holds into its own, where zarr-python and xarray look first."""
    inside = sorted(file.parent for file in group.rglob("zarr.json") if file.parent != group)
    metadata = {str(part.relative_to(group)): json.loads((part / "zarr.json").read_bytes()) for part in inside}
    described = json.loads((group / "zarr.json").read_bytes())
    described["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": metadata}
    write_durable(group / "zarr.json", json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False).encode())
