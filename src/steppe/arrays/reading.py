"""Reading with a store of other hosts' pages: a page that is much used is fetched once, whole, and then read like own memory.

Each page has a place in memory, which takes some when the page comes. The addresses of stored pages stand in a table like the array's own.
A full store gives up pages by the clock (Corbato 1968): a hand goes round, spares a page that was used since it last came by, and takes the
next one that was not.
"""

import re
from collections.abc import Callable
from mmap import PAGESIZE
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from steppe.array_types import Array, Bytes, Integers
from steppe.arrays.access import GATHER
from steppe.arrays.far import Far, Wait
from steppe.comm import forget
from steppe.errors import ArrayError

if TYPE_CHECKING:
    from steppe.arrays.global_array import GlobalArray

WORTH = 8  # a page is fetched whole when at least an eighth of its elements is asked for in one call
UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class RawPages(NamedTuple):
    """The arguments of a kernel for `load`, `store` and `add` of `steppe.kernels.elements.element_access`."""

    table: Integers
    shift: int


def read_only_error(name: str) -> ArrayError:
    """The error of a write to an array while all ranks read it."""
    return ArrayError(f'"{name}" is read-only until all ranks leave `read_only`; it cannot be changed now.')


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


class ComingPages:
    """Pages under way to the store; `ReadOnly.bring` makes it. `wait` puts them there."""

    def __init__(self, *finish: Callable[[], None]) -> None:
        self._finish = finish

    def wait(self) -> None:
        """The pages are stored and stand in the table. A second call does nothing."""
        finish, self._finish = self._finish, ()
        for each in finish:
            each()


class ReadOnly:
    """A global array while no rank changes it; `GlobalArray.read_only` makes it.

    raw: a table of its own, with the pages of this host. cache [bytes]: for pages of other hosts. places: memory in which each page has its
    place. room: so many pages of other hosts can be stored at once, as many as the cache holds, or all that there are.
    """

    def __init__(self, array: "GlobalArray", far: Far, raw: RawPages, cache: int, places: Bytes) -> None:
        self._array, self._far, self._raw, self._table, self._memory = array, far, raw, raw.table, places
        layout = array.layout
        self.room = min(cache // layout.page, layout.pages - layout.pages_of(array.host).size)
        self._stored, self._under_way, self._used = np.zeros((3, layout.pages), bool)  # by page; used: since the hand came by
        self._coming: list[tuple[Integers, ComingPages]] = []  # pages under way, by request
        self._hand, self._ended = 0, False

    def raw(self) -> RawPages:
        """Table and shift for a kernel that reads by `load` of `steppe.kernels.elements`.

        Of the pages of other hosts the stored ones have an address, the others have 0. The table is one array, which later calls change.

        Raises
        ------
        ArrayError
            `read_only` has ended.
        """
        self._check()
        return self._raw

    @property
    def places(self) -> Array:
        """Memory in which each element has its place, (size,): there are those of the pages of this host and of the stored ones.

        Raises
        ------
        ArrayError
            `read_only` has ended; or as `GlobalArray.places`.
        """
        self._check()
        return self._memory[: self._array.nbytes].view(self._array.places.dtype)

    def bring(self, pages: ArrayLike, keep: ArrayLike = ()) -> ComingPages:
        """Asks for those of some pages that are neither on this host nor stored nor under way, and returns at once.

        The slots are taken now, so a kernel may meanwhile read pages of this host and those in `keep`, and after the `wait` of what is
        returned also `pages`. The next `bring` or `gather` may replace a page that it is not given. For one thread at a time.

        Parameters
        ----------
        pages
            Numbers of pages (n,): element i is in page i >> shift. Equal ones count once.
        keep
            Numbers of pages (m,) that stay if they are stored.

        Raises
        ------
        ArrayError
            `room` is too small for what is under way, `pages` and the stored pages in `keep`; a number is not that of a page; or
            `read_only` has ended. Nothing was asked for.
        """
        self._check()
        asked, kept = self._far_pages(pages), self._far_pages(keep)
        earlier = [coming for theirs, coming in self._coming if np.isin(theirs, asked).any()]
        wanted, fixed = asked[(self._table[asked] == 0) & ~self._under_way[asked]], self._under_way.copy()
        fixed[asked] = fixed[kept] = True
        held = np.count_nonzero(fixed & (self._stored | self._under_way))
        if wanted.size > self.room - held:
            raise ArrayError(
                f'"{self._array.name}": {wanted.size} more pages of other hosts were asked for, beside {held} that must stay; there is '
                f"room for {self.room}. Ask for fewer, or enlarge the cache."
            )
        self._used[asked] = True
        if wanted.size:
            earlier.append(self._begin(wanted, fixed))
        return ComingPages(*(each.wait for each in earlier))

    def gather(self, index: ArrayLike) -> Array:
        """The elements at flat indices, of their shape; raises as `GlobalArray.gather`, and after the end of `read_only`."""
        self._check()
        array = self._array
        chosen = array.inputs.elements(index)
        if array.whole is None and chosen.size:
            numbers, counts = self._counted(chosen.reshape(-1) >> array.layout.shift)
            away = array.layout.page_hosts[numbers] != array.host
            numbers, counts = numbers[away], counts[away]
            stored = self._table[numbers] != 0
            self._far.traffic.hits += int(counts[stored].sum())
            self._store(numbers[~stored], counts[~stored])
            self._used[numbers] = True
            self._far.traffic.passed_by += int(counts[self._table[numbers] == 0].sum())
        return array.begin(self._table, GATHER, chosen.reshape(-1))().reshape(chosen.shape)

    def __getitem__(self, key: Any) -> Array:
        """A copy of elements, chosen as in NumPy."""
        self._check()
        return self._array.chosen(key, self.gather)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        """A copy of all elements, for NumPy's functions."""
        return np.asarray(self[...], dtype)

    def __setitem__(self, key: Any, value: ArrayLike) -> None:
        """Raises `ArrayError`: nothing is changed meanwhile."""
        raise read_only_error(self._array.name)

    def flush(self) -> None:
        """Forgets the stored pages; those under way still come."""
        self._forget(np.flatnonzero(self._stored))

    def end(self) -> None:
        """Takes the stored pages out of the table; later calls raise `ArrayError`."""
        self._table[np.flatnonzero(self._stored)], self._ended = 0, True

    def _check(self) -> None:
        if self._ended:
            raise ArrayError(f'`read_only` of "{self._array.name}" has ended. Gather from the array itself, or enter it again.')
        self._array.check()

    def _far_pages(self, pages: ArrayLike) -> Integers:
        """The different ones of some pages that lie on other hosts, in order; raises for a number that is not that of a page."""
        numbers: Integers = np.unique(self._array.inputs.indices(pages))
        hosts = self._array.layout.page_hosts
        if numbers.size and not 0 <= numbers[0] <= numbers[-1] < hosts.size:
            raise ArrayError(f'"{self._array.name}" has the pages 0 to {hosts.size - 1}, not {numbers[0]} to {numbers[-1]}.')
        found: Integers = numbers[hosts[numbers] != self._array.host]
        return found

    def _counted(self, pages: Integers) -> tuple[Integers, Integers]:
        """The different ones of these pages, and how often each is there."""
        layout = self._array.layout
        if layout.pages > 4 * pages.size:  # else one pass over both is quicker than a sort
            return np.unique(pages, return_counts=True)
        every = np.bincount(pages, minlength=layout.pages)
        numbers = np.flatnonzero(every)
        return numbers, every[numbers]

    def _store(self, numbers: Integers, counts: Integers) -> None:
        """Fetches those of some pages of which enough elements are wanted, as many as there is room for."""
        per_page = self._array.layout.page // self._array.layout.itemsize
        room = self.room - np.count_nonzero(self._under_way)
        wanted = numbers[(counts * WORTH >= per_page) & ~self._under_way[numbers]][:room]
        if wanted.size:
            self._begin(wanted, self._under_way).wait()

    def _begin(self, wanted: Integers, fixed: NDArray[np.bool_]) -> ComingPages:
        """Makes room for pages (n,), in order, and asks for them; fixed: True for each page (pages,) that stays."""
        stored = np.flatnonzero(self._stored & ~fixed)
        stored = np.roll(stored, -stored.searchsorted(self._hand))
        more = wanted.size + np.count_nonzero(self._stored | self._under_way) - self.room
        if more > 0:
            used = self._used[stored]
            self._forget(np.concatenate([stored[~used], stored[used]])[:more])  # the used ones are spared in the first round
            last = stored.size if more > np.count_nonzero(~used) else np.flatnonzero(~used)[more - 1] + 1
            self._used[stored[:last]], self._hand = False, int(stored[last - 1]) + 1
        self._under_way[wanted] = True
        self._far.traffic.misses += wanted.size
        groups = self._far.pages(wanted)
        found = ComingPages(lambda: self._arrive(wanted, groups))
        self._coming.append((wanted, found))
        return found

    def _arrive(self, wanted: Integers, groups: list[tuple[Integers, Wait]]) -> None:
        """Waits for pages, and puts them into their places and into the table."""
        self._check()
        layout, places = self._array.layout, self._memory.view(self._array.dtype)
        for pages, wait in groups:
            values = wait()
            for k, page in enumerate(pages.tolist()):
                content = values[k << layout.shift : (k + 1) << layout.shift]
                places[page << layout.shift :][: content.size] = content
        self._table[wanted] = self._memory.ctypes.data + layout.page * wanted
        self._stored[wanted], self._under_way[wanted] = True, False
        self._coming = [each for each in self._coming if each[0] is not wanted]

    def _forget(self, pages: Integers) -> None:
        """Gives stored pages up, and their memory where the system can take it back."""
        self._table[pages], self._stored[pages], page = 0, False, self._array.layout.page
        for number in pages.tolist() if page % PAGESIZE == 0 else ():
            forget(self._memory, number * page, page)
