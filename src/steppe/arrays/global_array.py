"""An array in the memory of all ranks, whose elements any rank reads and changes at any time without help of their owner.

On one host all ranks see the same memory. Elements on other hosts are asked for by messages (`far`); the calls are the same.
"""

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from steppe.array_types import Array, Integers
from steppe.arrays.access import ANSWERED, FETCH_UPDATE, GATHER, SCATTER, UPDATE, access, divide
from steppe.arrays.element_inputs import ElementInputs, described, fitting, flat_index
from steppe.arrays.far import Far, Fetch, Wait, handler
from steppe.arrays.layout import PAGE, Kind, PageLayout
from steppe.arrays.ordered import Log, apply_in_order
from steppe.arrays.reading import RawPages, ReadOnly, read_only_error, size_of
from steppe.arrays.site import site_of
from steppe.comm import World, agreed, placed, shared
from steppe.errors import ArrayError
from steppe.kernels.elements import ONE_PAGE

_NONE, _FIRST = np.empty(0, np.int64), np.zeros(1, np.int64)  # positions


class GlobalArray:
    """An array over all ranks, zero at first. Its methods `sync`, `read_only` and `free` are collective, as is making one.

    A call has taken effect when it returns: every later call of any rank that this rank tells of it sees it. An update of an element is
    atomic. Between two calls of `sync` there is no other order; after `sync` every rank sees all that was done before it.

    Parameters
    ----------
    world
        The ranks (`open_world`).
    shape
        Number of elements, or lengths of the dimensions.
    dtype
        int32, int64, float32 or float64.
    layout
        "blocks": contiguous pages a rank; "wrapped": page g on rank g mod ranks.
    page
        Bytes of a page, a power of two.
    name
        Used in errors.

    Attributes
    ----------
    size, nbytes
        The number of all elements, and their bytes.
    host
        The number of this rank's host.
    traffic
        What passed between hosts for this array on this rank.

    Raises
    ------
    ArrayError
        The shape, dtype, layout or page cannot be, or differs between ranks. Raised on all ranks.
    Failure
        A host lacks the memory. Raised on all ranks.

    Examples
    --------
    >>> from steppe.arrays import GlobalArray, open_world
    >>> with open_world() as world:
    ...     load = GlobalArray(world, 4)
    ...     load.update([1, 3, 1], [0.5, 2.0, 0.25])
    ...     load.sync()
    ...     print(load[:])
    [0.   0.75 0.   2.  ]
    """

    def __init__(
        self,
        world: World,
        shape: int | Sequence[int],
        dtype: DTypeLike = "float64",
        *,
        layout: Kind = "blocks",
        page: int = PAGE,
        name: str = "",
    ) -> None:
        self._world, self._site = world, site_of(world)  # which has no world of its own
        self._site.arrays += 1
        self.number = self._site.arrays
        self.name = name or f"array {self.number}"
        problem, self.shape, self.dtype = described(shape, dtype)
        said = problem or f"{self.dtype} {self.shape}, layout {layout}, pages of {page} bytes"
        self._site.meet(f'the making of "{self.name}" ({said})')
        if problem:
            raise ArrayError(f'"{self.name}": {problem}')
        self.size = prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize
        self.inputs = ElementInputs(self.name, self.dtype, self.size)
        self.layout = PageLayout(self.size, self.dtype.itemsize, self._site.hosts, layout, page)
        self._make()
        self._reading = 0

    def _make(self) -> None:
        """Gets the memory. Every rank touches all of its host's, so that no later access pays for it."""
        layout, site = self.layout, self._site
        memory, pieces = shared(self._world, site.hosts, layout.bytes_on(site.host)), layout.pieces(site.host)
        if apart := site.several and layout.have_places():
            with agreed(self._world):
                memory = placed(memory, pieces, layout.pages * layout.page)
            pieces[:, 0] = pieces[:, 1]
        for first, _, count in pieces.tolist():
            memory[first : first + count : 4096].max(initial=0)
        self._pieces = pieces if apart else pieces[:0]
        self._memory, address = memory, memory.ctypes.data
        self.whole: Array | None = None
        """All elements (size,), if they lie in one piece of memory that this rank sees, as on one host."""
        if layout.in_one_piece():
            self._table, self._shift, self.whole = np.array([address]), ONE_PAGE, memory[: self.nbytes].view(self.dtype)
        else:
            self._table, self._shift = layout.table(site.host, address), layout.shift
        self._loops = access(self.dtype.name)
        self._far = Far(site, self.number, self.dtype, layout)
        self.host, self.traffic = site.host, self._far.traffic
        self._log = Log(self.dtype)
        self._process = os.getpid()
        if site.server:
            site.served[self.number] = handler(self.dtype, self._shift, self._table, memory, layout.have_places())
        site.meet(f'the making of "{self.name}"')

    @property
    def own(self) -> Sequence[tuple[int, int]]:
        """The ranges (first, one after the last) of flat indices in this rank's own memory."""
        return self.layout.elements_of(self._site.rank)

    @property
    def places(self) -> Array:
        """Memory in which each element has its place, (size,): those of this host are there.

        Others may not be read; what is stored in their places remains with this rank, until it is scattered. Raises `ArrayError` for an
        array of several hosts whose layout is no "blocks", or whose pages are no multiple of the system's.
        """
        self.check()
        if not self.layout.have_places():
            raise ArrayError(
                f'"{self.name}" has pages of {self.layout.page} bytes, {self.layout.kind}, which have no place in one piece of memory. '
                f'Choose the layout "blocks" and pages of {mmap.PAGESIZE} bytes at least.'
            )
        return self._memory[: self.nbytes].view(self.dtype)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        """A copy of all elements, for NumPy's functions."""
        return np.asarray(self[...], dtype)

    def __eq__(self, other: object) -> NoReturn:
        """Raises `TypeError`: the elements are compared as `array[:] == other`."""
        raise TypeError(f'"{self.name}" is no array of NumPy. Compare its elements: array[:] == other.')

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f'<GlobalArray "{self.name}" {self.dtype} {self.shape} over {self._site.size} ranks>'

    def gather(self, index: ArrayLike) -> Array:
        """The elements at flat indices, of their shape.

        Raises
        ------
        IndexOutOfRangeError
            An index is not from 0 to size - 1; negative ones are not counted from the end.
        ArrayError
            The indices are no integers, or the array was freed.
        """
        return self.fetch(index).wait()

    def fetch(self, index: ArrayLike) -> Fetch:
        """Begins a gather; between it and its `wait` the caller may do other work."""
        self.check()
        chosen = self.inputs.elements(index)
        coming = self.begin(self._table, GATHER, chosen.reshape(-1))
        return Fetch(lambda: coming().reshape(chosen.shape))

    def begin(self, table: Integers, operation: int, index: Integers, x: Array | None = None, a: float = 1, b: float = 1) -> Wait:
        """Begins an operation of `access` on elements (n,) within the array, by a table of addresses. Those of this host are done at once.

        What is returned waits for the others, and gives the elements, or the former ones for `FETCH_UPDATE`.
        """
        x = np.empty(0, self.dtype) if x is None else x
        far, near = self._divided(table, index) if self._site.several else (_NONE, index)
        if far.size == 0:
            found = self._done(table, operation, index, x, a, b)
            return lambda: found
        if near.size == 0:
            return self._far.change(operation, index, x, a, b)
        coming = self._far.change(operation, index[far], x[far] if x.size else x, a, b)
        old = np.empty(index.size if operation in ANSWERED else 0, self.dtype)
        if operation == GATHER:  # while the other hosts do theirs
            self._loops.gather_near(near.size, self._shift, table, near, index, old)
        else:
            former = self._done(table, operation, index[near], x[near], a, b)
            if old.size:
                old[near] = former

        def finish() -> Array:
            values = coming()
            if old.size:
                old[far] = values
            return old

        return finish

    def _done(self, table: Integers, operation: int, index: Integers, x: Array, a: float, b: float) -> Array:
        """Does an operation on elements of this host, or of pages in the table; gives them, or the former ones for `FETCH_UPDATE`."""
        old = np.empty(index.size if operation in ANSWERED else 0, self.dtype)
        if operation == GATHER and self.whole is not None:
            self._loops.gather(index.size, int(table[0]), index, old)
        else:
            self._loops.change(index.size, operation, self._shift, a, b, table, index, x, old)
        return old

    def _divided(self, table: Integers, index: Integers) -> tuple[Integers, Integers]:
        """The positions of elements with address 0, and those of the others, in order."""
        if index.size == 1:  # sooner looked up than a kernel is called
            return (_NONE, _FIRST) if table[int(index[0]) >> self._shift] else (_FIRST, _NONE)
        places, counts = np.empty(index.size, np.int64), np.empty(1, np.int64)
        divide(index.size, self._shift, table, index, places, counts)
        return places[counts[0] :][::-1], places[: counts[0]]

    def elsewhere(self, index: ArrayLike) -> Integers:
        """Those of some flat indices (n,) whose elements lie on other hosts; raises as `gather`."""
        self.check()
        chosen, layout = self.inputs.elements(index), self.layout
        return np.extract(layout.page_hosts[chosen >> layout.shift] != self.host, chosen)

    def scatter(self, index: ArrayLike, value: ArrayLike) -> None:
        """Stores a value at each flat index; of equal indices in one call the last one counts.

        Raises
        ------
        IndexOutOfRangeError
            An index lies outside; nothing was stored.
        ArrayError
            The indices are no integers, the values have another shape or kind of number, or the array is read-only or freed.
        """
        self._check_writable()
        self.begin(self._table, SCATTER, *self.inputs.indices_and_values(index, value))()

    def update(
        self, index: ArrayLike, value: ArrayLike, a: float = 1, b: float = 1, *, fetch: bool = False, key: ArrayLike | None = None
    ) -> Array | None:
        """Sets y = a value + b y for the element y at each flat index, in the order of the indices; each is one atomic operation.

        With b = 0 the former element does not count, even if it is not a number.

        Parameters
        ----------
        index, value
            Flat indices, and values of their shape or a number.
        a, b
            Factors; integers for an array of integers.
        fetch
            Return the elements as they were before, in the shape of the indices.
        key
            Integers of the shape of `index`. The update takes place at the next `sync`, in the order of (index, key), so the result has
            the same bits for any number of ranks. A key is a number in the work of all ranks, such as that of a finite element; a pair of
            an index and a key belongs to one rank.

        Raises
        ------
        IndexOutOfRangeError
            An index lies outside; nothing was changed.
        ArrayError
            As `scatter`; or `fetch` and `key` are given together.
        """
        self._check_writable()
        chosen, x = self.inputs.indices_and_values(index, value)
        a, b = self.inputs.factor("a", a), self.inputs.factor("b", b)
        if key is not None:
            if fetch:
                raise ArrayError(f'"{self.name}": an update with keys takes place at the next sync. Give `fetch` or `key`, not both.')
            self._log.add(chosen, self.inputs.keys(key, np.shape(index)), x, a, b)
            return None
        old = self.begin(self._table, FETCH_UPDATE if fetch else UPDATE, chosen, x, a, b)()
        return old.reshape(np.shape(index)) if fetch else None

    def __getitem__(self, key: Any) -> Array:
        """A copy of elements, chosen as in NumPy: integers, slices, arrays of indices or masks."""
        self.check()
        return self.chosen(key, self.gather)

    def chosen(self, key: Any, gather: Callable[[Integers], Array]) -> Array:
        """A copy of elements, chosen as in NumPy; gather: gets those at flat indices."""
        if self.whole is None:
            return gather(flat_index(self.name, self.shape, key))[()]
        with fitting(self.name, self.shape):
            return np.array(self.whole.reshape(self.shape)[key])[()]  # one element is a number

    def __setitem__(self, key: Any, value: ArrayLike) -> None:
        """Stores elements, chosen as in NumPy."""
        if self.whole is None:
            self.scatter(flat_index(self.name, self.shape, key), value)
            return
        self._check_writable()
        x = self.inputs.values(value)
        with fitting(self.name, self.shape, ArrayError):
            self.whole.reshape(self.shape)[key] = x

    def sync(self) -> None:
        """Waits for all ranks; afterwards each sees what any has done before, and updates with keys have taken place. Collective.

        Raises
        ------
        ArrayError
            A rank is in another collective call, or the array was freed.
        """
        self.check()
        self._meet("sync")

    def _meet(self, what: str, patience: float | None = None) -> None:
        """Returns when all ranks have called it and the updates with keys of all have taken place."""
        if self._site.meet(f'{what} of "{self.name}"', [len(self._log.entries)], patience)[0] > 1:
            apply_in_order(
                self._world, self._log, self.layout, lambda index, *xb: self._loops.apply(index.size, self._shift, self._table, index, *xb)
            )
            self._log = Log(self.dtype)
            self._site.meet(f'the updates with keys of "{self.name}"')

    @contextmanager
    def read_only(self, cache: int | str = "64 MiB", patience: float = 60.0) -> Iterator[ReadOnly]:
        """A view for reading that stores pages of other hosts; meanwhile a write is an error on any rank.

        Collective, also at its end. It begins like `sync`: updates with keys take place before.

        Parameters
        ----------
        cache
            Bytes of this rank for pages of other hosts, or a text such as "64 MiB".
        patience
            Seconds for all ranks to enter.

        Raises
        ------
        ArrayError
            A rank does not enter in time (the message has its number), or is in another collective call.
        """
        self.check()
        room = size_of(cache)
        self._meet("read_only", patience)
        places = placed(self._memory, self._pieces, self.layout.pages * self.layout.page) if self._site.several else self._memory
        seen = ReadOnly(self, self._far, RawPages(self._table.copy(), self._shift), room, places)
        self._reading += 1  # a context may be entered within another one
        try:
            yield seen
        finally:
            self._reading -= 1
            seen.end()
        self._site.meet(f'the end of read_only of "{self.name}"')

    def raw(self) -> RawPages:
        """Table and shift for a kernel that is handed the array; see `steppe.kernels.elements`.

        Raises
        ------
        ArrayError
            Elements lie on other hosts.
        """
        self.check()
        if self._site.several:
            raise ArrayError(f'"{self.name}" has elements on other hosts, which a kernel cannot see. Enter `read_only` and `bring` them.')
        return RawPages(self._table, self._shift)

    def free(self) -> None:
        """Gives the memory back. Collective; every later call is an error. Updates with keys after the last `sync` do not take place.

        With one host the memory of an array that no name refers to is given back as well, with several hosts at the end of the world.
        """
        self.check()
        self._site.settle()  # fetches that were begun, and not waited for
        self._site.meet(f'free of "{self.name}"')
        self._site.served.pop(self.number, None)
        del self._memory, self._table, self.whole
        self._process = 0

    def _check_writable(self) -> None:
        """Raises `ArrayError` as `check` does, and within `read_only`."""
        self.check()
        if self._reading:
            raise read_only_error(self.name)

    def check(self) -> None:
        """Raises `ArrayError` if the array was freed, its world has ended, or this process is a copy of the one that made it."""
        if self._site.ended:
            raise ArrayError(f'"{self.name}" belongs to a world that has ended. Use it within the `with` statement of the world.')
        if self._process != os.getpid():
            raise ArrayError(
                f'"{self.name}" was made by process {self._process}; after a fork only its maker may use it.'
                if self._process
                else f'"{self.name}" has been freed.'
            )
