"""Reading with a store of other hosts' pages: a page that is much used is fetched once, whole, and then read like own memory.

The addresses of stored pages stand in a table like the array's own. A full store gives up pages by the clock (Corbato 1968): a hand goes
round, spares a page that was used since it last came by, and takes the next one that was not.
"""

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steppe.arrays.far import Far
from steppe.arrays.indexing import flat_index
from steppe.errors import ArrayError

if TYPE_CHECKING:
    from steppe.arrays.global_array import GlobalArray

Array = NDArray[Any]
Integers = NDArray[np.int64]
WORTH = 8  # a page is fetched whole when at least an eighth of its elements is asked for in one call
UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def size_of(text: int | str) -> int:
    """Bytes of a size such as "64 MiB".

    Raises
    ------
    ArrayError
        The text is no size.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMGK]?i?B)?\s*", str(text))
    if not found or (found[2] or "B") not in UNITS:
        raise ArrayError(f'"{text}" is no size of a cache. Write bytes, or a number with {", ".join(UNITS)}, such as "64 MiB".')
    return int(float(found[1]) * UNITS[found[2] or "B"])


class ReadOnly:
    """A global array while no rank changes it; `GlobalArray.read_only` makes it. room [bytes]: for pages of other hosts."""

    def __init__(self, array: "GlobalArray", far: Far, room: int) -> None:
        self._array, self._far = array, far
        layout = array.layout
        self._table = array.raw_table().copy()
        slots = min(room // layout.page, layout.pages - layout.pages_of(array.host).size)
        self._memory = np.empty(slots * layout.page, np.uint8)
        self._pages = np.full(slots, -1)  # of each slot
        self._used = np.zeros(layout.pages, bool)
        self._hand, self._ended = 0, False

    def gather(self, index: ArrayLike) -> Array:
        """The elements at flat indices, of their shape; raises as `GlobalArray.gather`, and after the end of `read_only`."""
        if self._ended:
            raise ArrayError(f'`read_only` of "{self._array.name}" has ended. Gather from the array itself, or enter it again.')
        shape, chosen = np.shape(index), self._array.inputs.indices(index).reshape(-1)
        found, far = self._array.gather_from(self._table, chosen)
        if self._pages.size:
            pages = chosen >> self._array.layout.shift
            self._far.traffic.hits += self._hits(pages)
            if far.size:
                self._store(pages[far])
                here = self._table[pages[far]] != 0
                found[far[here]], _ = self._array.gather_from(self._table, chosen[far[here]])
                far = far[~here]
            self._used[pages] = True
        if far.size:
            self._far.traffic.passed_by += far.size
            found[far] = self._far.awaited(self._far.gather(chosen[far]))
        return found.reshape(shape)

    def __getitem__(self, key: Any) -> Array:
        """A copy of elements, chosen as in NumPy."""
        return self.gather(flat_index(self._array.name, self._array.shape, key))

    def flush(self) -> None:
        """Forgets the stored pages."""
        self._table[self._pages[self._pages >= 0]] = 0
        self._pages[:] = -1

    def end(self) -> None:
        """Forgets the stored pages; later calls raise `ArrayError`."""
        self.flush()
        self._ended = True

    def _hits(self, pages: Integers) -> int:
        """How many elements of these pages are read from stored ones: their addresses lie in the store."""
        begin = self._memory.ctypes.data
        addresses = self._table[pages]
        return int(np.count_nonzero((addresses >= begin) & (addresses < begin + self._memory.size)))

    def _store(self, missing: Integers) -> None:
        """Fetches the pages of which enough elements are missing, as many as there is room for."""
        layout, traffic = self._array.layout, self._far.traffic
        per_page = layout.page // layout.itemsize
        if layout.pages <= 4 * missing.size:  # one pass over both is quicker than a sort
            every = np.bincount(missing, minlength=layout.pages)
            numbers = np.flatnonzero(every)
            counts = every[numbers]
        else:
            numbers, counts = np.unique(missing, return_counts=True)
        wanted = numbers[counts * WORTH >= per_page][: self._pages.size]
        if not wanted.size:
            return
        traffic.misses += wanted.size
        slots = self._slots(wanted.size)
        starts = wanted * per_page
        index = (starts[:, None] + np.arange(per_page)).reshape(-1)
        index = index[index < layout.length]
        values = self._far.awaited(self._far.gather(index))
        place = self._memory.view(self._array.dtype).reshape(-1, per_page)
        for page, slot, first in zip(wanted.tolist(), slots, range(0, index.size, per_page), strict=True):
            content = values[first : first + per_page]
            place[slot, : content.size] = content
            self._pages[slot] = page
            self._table[page] = self._memory.ctypes.data + slot * layout.page

    def _slots(self, n: int) -> list[int]:
        """Slots for `n` pages, whose former pages are forgotten."""
        found: list[int] = []
        while len(found) < n:
            slot, self._hand = self._hand, (self._hand + 1) % self._pages.size
            page = int(self._pages[slot])
            if page >= 0 and self._used[page]:
                self._used[page] = False
                continue
            if slot not in found:
                found.append(slot)
            if page >= 0:
                self._table[page] = 0
                self._pages[slot] = -1
        return found
