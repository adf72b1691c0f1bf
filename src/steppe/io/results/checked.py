"""Arrays of a store that xarray reads lazily. Every chunk is verified when it is read.

zarr-python's errors name no file, and it takes a missing file for fill values. Other readers of shards do not verify the checksum of a
part. Here a chunk is as it was written, or an error names its file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike
from xarray.backends import BackendArray
from xarray.core.indexing import ExplicitIndexer, IndexingSupport, explicit_indexing_adapter

from steppe.array_types import Array
from steppe.io.shard import layout_of
from steppe.io.shard_file import read_chunk

if TYPE_CHECKING:
    import xarray


Key = tuple[int | np.integer | slice | Array, ...]
"""The numbers of the wanted elements, by dimension."""


class CheckedArray(BackendArray):
    """The raw values (rows, [levels,] cells) of one array, as they are written."""

    def __init__(self, group: Path, name: str, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._group, self._name = group, name
        self._layout = layout_of(group, name)
        self.dtype = np.dtype(self._layout.dtype)

    def __getitem__(self, key: ExplicitIndexer) -> Any:
        return explicit_indexing_adapter(key, self.shape, IndexingSupport.OUTER, self.read)

    def read(self, key: Key) -> Array:
        """Rows, levels and cells by numbers, slices or arrays of numbers; only the chunks that hold some of them are read."""
        wanted = [np.atleast_1d(np.arange(length)[part]) for length, part in zip(self.shape, key, strict=True)]
        values = np.empty([len(numbers) for numbers in wanted], self.dtype)
        chunk = np.empty(self._layout.chunk, self.dtype)
        places = [[(i, np.flatnonzero(numbers // size == i)) for i in np.unique(numbers // size)] for numbers, size in self._cuts(wanted)]
        for i, rows in places[0]:
            for j, cells in places[-1]:
                read_chunk(self._group, self._name, (int(i), int(j)), self._layout, chunk)
                inside = np.ix_(wanted[0][rows] - i * chunk.shape[0], *wanted[1:-1], wanted[-1][cells] - j * chunk.shape[-1])
                values[np.ix_(rows, *map(np.arange, values.shape[1:-1]), cells)] = chunk[inside]
        return values[tuple(0 if isinstance(part, int | np.integer) else slice(None) for part in key)]

    def _cuts(self, wanted: list[Array]) -> list[tuple[Array, int]]:
        return list(zip(wanted, self._layout.chunk, strict=True))


class StackedArray(BackendArray):
    """Arrays of one name as one (members, rows, [levels,] cells). A member has so many rows; NaN stands for those that it does not have."""

    def __init__(self, arrays: Sequence[CheckedArray | None], rows: Sequence[int], shape: tuple[int, ...], dtype: DTypeLike) -> None:
        self.shape, self.dtype = (len(arrays), *shape), np.dtype(dtype)
        self._arrays, self._rows = arrays, rows

    def __getitem__(self, key: ExplicitIndexer) -> Any:
        return explicit_indexing_adapter(key, self.shape, IndexingSupport.OUTER, self._read)

    def _read(self, key: Key) -> Array:
        members, rows, *others = (np.atleast_1d(np.arange(length)[part]) for length, part in zip(self.shape, key, strict=True))
        values = np.full((len(members), len(rows), *map(len, others)), np.nan, self.dtype)
        for i, member in enumerate(members):
            there = np.flatnonzero(rows < self._rows[member])
            array = self._arrays[member]
            if array is not None and there.size:
                values[i, there] = array.read((rows[there], *others))
        return values[tuple(0 if isinstance(part, int | np.integer) else slice(None) for part in key)]


def checked(dataset: "xarray.Dataset", group: Path, names: list[str]) -> "xarray.Dataset":
    """The same undecoded dataset, with the values of arrays `names` of a group verified when they are read."""
    from xarray.core.indexing import LazilyIndexedArray

    arrays = {name: dataset[name].variable for name in names}
    return dataset.assign(
        {
            name: (array.dims, LazilyIndexedArray(CheckedArray(group, name, array.shape)), array.attrs, array.encoding)
            for name, array in arrays.items()
        }
    )


def stacked(dataset: "xarray.Dataset", groups: Sequence[Path], rows: Sequence[Mapping[str, int]], names: list[str]) -> "xarray.Dataset":
    """The same undecoded dataset, with arrays `names` stacked over groups along a new first dimension "scenario".

    rows: for each group the rows that each array has there; an array without rows need not be there.
    """
    from xarray.core.indexing import LazilyIndexedArray

    found: dict[str, object] = {}
    for name in names:
        array, here = dataset[name].variable, [counts.get(name, 0) for counts in rows]
        parts = [CheckedArray(group, name, array.shape) if count else None for group, count in zip(groups, here, strict=True)]
        data = LazilyIndexedArray(StackedArray(parts, here, array.shape, array.dtype))
        found[name] = (("scenario", *array.dims), data, array.attrs)
    return dataset.assign(found)
