"""The inputs of a model in place of files, ranks and clients: forcing, records, neighbours."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from steppe.array_types import Array
from steppe.grid import Box, Grid
from steppe.packed import Packed


class Surroundings(NamedTuple):
    """Where a model is run. names: variables of its forcing.

    columns: variables of forcing that is a field which have neither time nor place, such as coefficients of levels: name -> values of one
    dim or none, and unit. threads: so many it may use.
    """

    grid: Grid
    names: tuple[str, ...] = ()
    columns: Mapping[str, tuple[Array, str]] = {}
    threads: int = 1


class ForcingStream(Protocol):
    """One thread's way through the forcing of some cells."""

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        """Cells (counted from the first of the share) and forcing of each tile of one piece, in order; valid until the next is asked for.

        A tile may hold more cells than the stream was asked for, and beside those of a box cells of other boxes. Raises `DamagedError`
        naming file, variable and days.
        """
        ...


class Inputs(Protocol):
    """Forcing for a share of the cells.

    in_turns: whether `turn_to` must be called before each piece, and all streams are in the same one.
    """

    names: tuple[str, ...]
    in_turns: bool

    def pieces(self, steps: range) -> list[range]:
        """`steps` cut where one slab of the store ends and the next begins."""
        ...

    def turn_to(self, piece: range) -> None:
        """The forcing of a piece is made ready: every rank calls it, in the thread that steps, before its streams are asked for the piece.

        Only where `in_turns`. Raises `DamagedError` naming file, variable and days, where ranks read for each other on all of them.
        """
        ...

    def stream(self, cells: range) -> ForcingStream:
        """The forcing of some cells, counted from the first of the share, for one thread; the same stream for the same cells."""
        ...


@runtime_checkable
class FieldInputs(Protocol):
    """Forcing that lies in fields of the grid, for a field model. The steps of a piece need the same records; the rest as `Inputs`."""

    names: tuple[str, ...]
    in_turns: bool

    def pieces(self, steps: range) -> list[range]:
        """`steps` cut where a record ends and the next begins."""
        ...

    def turn_to(self, piece: range) -> None:
        """The records of a piece are made ready."""
        ...

    def fill(self, box: Box, step: int, values: Mapping[str, Array]) -> None:
        """Fills each array (..., *box.local), halos too, with the values of a step.

        Raises `BadCellError` naming field, time, level and cell of a value outside its limits, `DamagedError` naming field and records.
        """
        ...


class Records(NamedTuple):
    """Where the values of one variable go in a range of steps: slots[j] is the slot of step j, values (slots, [levels,] cells).

    values: float64, or what the variable is where a field model stores the value of each step.

    operation: "sum", "min", "max" or "last"; a slot starts with the value that belongs to it (0, inf, -inf, NaN) or with what
    earlier steps left there. due: whether an interval ends within the steps; if not, a model may leave out what is "last".
    """

    name: str
    operation: str
    slots: NDArray[np.int32]
    values: NDArray[np.floating]
    due: bool = True


class Recorder(Protocol):
    """Reductions over time, in the loop. Its accumulators are checkpointed like state."""

    @property
    def most_steps(self) -> int:
        """Of as many steps at once there is room for the values."""
        ...

    def records(self, steps: range) -> list[Records]:
        """The records of `steps`; empty if there are none. The model fills their values."""
        ...

    def finish(self, steps: range) -> None:
        """All cells of `steps` are in: whole intervals are handed on, unfinished ones kept."""
        ...


class Reach(Protocol):
    """Messages of a model with neighbours in place of ranks; the same for one rank and many."""

    def exchange(
        self, arrays: Sequence[Array], parities: Sequence[int | tuple[int, ...]] | None = None, along: str | None = None
    ) -> "Exchange":
        """Starts filling the halos of `arrays` (the last dims are the box with halos); along "x" or "y" only that across this axis.

        parities: 1 or -1 for each, or for each entry of its first dim; values of parity -1 (components of a velocity, say) change sign
        beyond a pole. Default: 1.
        """
        ...

    @overload
    def total(self, x: Array, /) -> float: ...
    @overload
    def total(self, x: Array, y: Array, /, *more: Array) -> tuple[float, ...]: ...
    def total(self, *arrays: Array) -> float | tuple[float, ...]:
        """Sum over all cells that count, of all ranks; the same bits for any number of them. Of several arrays each, in one message."""
        ...

    @overload
    def largest(self, x: Array, /) -> float: ...
    @overload
    def largest(self, x: Array, y: Array, /, *more: Array) -> tuple[float, ...]: ...
    def largest(self, *arrays: Array) -> float | tuple[float, ...]:
        """Greatest value over all cells that count, of all ranks. Of several arrays each, in one message."""
        ...

    def array(self, shape: int | Sequence[int], dtype: DTypeLike = "float64", page: int = 65_536) -> "CommonArray":
        """An array of zeros over all ranks, any of which reads and changes any element. Fill it from the state: it is in no checkpoint.

        page [bytes]: what is fetched at once from another host by `read_only`, a power of two.
        """
        ...

    def common(self, shape: int | Sequence[int], dtype: DTypeLike = "float64") -> Array:
        """Zeroed memory that the ranks of a host share."""
        ...

    def beside(self, shape: Sequence[int], dtype: DTypeLike = "float64") -> tuple[Array, list[Array]]:
        """Zeroed memory of this rank, of any shape, that the other ranks of its host see: it, and those of all of them in order of rank."""
        ...

    def queue(self, n: int, least: int = 1, within_host: bool = False) -> "TaskQueue":
        """Tasks 0 .. n - 1 that are shared out while they are done: over all ranks, or n for those of each host."""
        ...


class CommonArray(Protocol):
    """A global array, as a model has it: `steppe.arrays.GlobalArray`."""

    @property
    def places(self) -> Array:
        """Memory in which each element has its place, (size,): those of this host are there.

        Others may not be read; what is stored in their places remains with this rank, until it is scattered. Raises `ArrayError` where
        pages of other hosts are no multiple of the system's.
        """
        ...

    def elsewhere(self, index: ArrayLike) -> Array:
        """Those of some flat indices (n,) whose elements lie on other hosts."""
        ...

    def gather(self, index: ArrayLike) -> Array:
        """The elements at flat indices, of their shape."""
        ...

    def scatter(self, index: ArrayLike, value: ArrayLike) -> None:
        """Stores a value at each flat index."""
        ...

    def update(
        self, index: ArrayLike, value: ArrayLike, a: float = 1, b: float = 1, *, fetch: bool = False, key: ArrayLike | None = None
    ) -> Array | None:
        """Sets y = a value + b y, atomic for each element; with keys at the next `sync`, the same bits for any number of ranks."""
        ...

    def sync(self) -> None:
        """Waits for all ranks; afterwards each sees what any has done before."""
        ...

    def raw(self) -> tuple[Array, int]:
        """Table and shift, for a kernel with `load`, `store` and `add` of `steppe.kernels.elements`; on one host only."""
        ...

    def read_only(self, cache: int | str = "64 MiB") -> AbstractContextManager["StoredPages"]:
        """A view for reading, on any number of hosts; all ranks enter and leave it, and none writes meanwhile. It begins like `sync`.

        cache: bytes of this rank for pages of other hosts, or a text such as "64 MiB".
        """
        ...


class StoredPages(Protocol):
    """An array while no rank changes it, for kernels: `steppe.arrays.reading.ReadOnly`.

    A kernel may read the elements of the pages of this host and of the stored ones, in `places` or by `load` and `raw`. While it computes
    a part of its work, the pages for the next part come:

        coming = seen.bring(pages of part 0)
        for each part:
            coming.wait()
            coming = seen.bring(pages of the next part, keep=pages of this part)
            the kernel computes this part
    """

    @property
    def room(self) -> int:
        """So many pages of other hosts can be stored at once."""
        ...

    @property
    def places(self) -> Array:
        """Memory in which each element has its place, (size,): those of the pages of this host and of the stored ones are there."""
        ...

    def raw(self) -> tuple[Array, int]:
        """Table and shift; element i is in page i >> shift. The table is one array, which `bring` changes."""
        ...

    def gather(self, index: ArrayLike) -> Array:
        """The elements at flat indices, of their shape."""
        ...

    def bring(self, pages: ArrayLike, keep: ArrayLike = ()) -> "PagesUnderWay":
        """Asks for those pages (n,) that are neither here nor stored; pages in `keep` stay. Raises `ArrayError` if `room` is too small."""
        ...


class PagesUnderWay(Protocol):
    """Pages under way."""

    def wait(self) -> None:
        """The pages are stored, and stand in the table."""
        ...


class TaskQueue(Protocol):
    """A queue of tasks: `steppe.arrays.WorkQueue`."""

    def __iter__(self) -> Iterator[range]:
        """Chunks of tasks for this rank, until none is left."""
        ...

    def reset(self) -> None:
        """Puts all tasks back, when every rank has called it."""
        ...


class Exchange(Protocol):
    """A halo exchange under way."""

    def progress(self) -> None:
        """Lets messages get on; to be called in every millisecond of work between start and finish."""
        ...

    def finish(self) -> None:
        """The halos are filled."""
        ...
