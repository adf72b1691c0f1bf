"""Global arrays, common memory and queues for a model, which knows no ranks: a `Reach` hands them out."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING
from weakref import WeakSet, ref

import numpy as np
from numpy.typing import DTypeLike, NDArray

from steppe.array_types import Array
from steppe.comm import World, of_all, shared
from steppe.errors import ArrayError

if TYPE_CHECKING:
    from steppe.arrays.global_array import GlobalArray
    from steppe.arrays.work_queue import WorkQueue

SUMS = ("messages", "sent", "hits", "misses", "passed_by")  # members of `Traffic` that are added over ranks
LINE = 64  # [bytes] of the cache: the arrays of two ranks share none


class ModelArrays:
    """Makes what a model asks for, and knows what there is of it. Every method is called by all ranks alike.

    Most runs have no arrays: the parts of this room are imported when a model asks for the first.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._arrays: WeakSet[GlobalArray] = WeakSet()
        self._common: list[ref[Array]] = []

    def array(self, shape: int | Sequence[int], dtype: DTypeLike = "float64", page: int = 65_536) -> "GlobalArray":
        """A global array of zeros; raises as `GlobalArray` does."""
        from steppe.arrays.global_array import GlobalArray

        found = GlobalArray(self._world, shape, dtype, page=page)
        self._arrays.add(found)
        return found

    def common(self, shape: int | Sequence[int], dtype: DTypeLike = "float64") -> NDArray[np.generic]:
        """Zeroed memory that the ranks of a host share: an array of this shape for each host, of any dtype.

        Raises
        ------
        ArrayError
            The shape or dtype cannot be, or differs between ranks.
        Failure
            A host lacks the memory.
        """
        from steppe.arrays.element_inputs import whole_lengths
        from steppe.arrays.site import site_of

        site = site_of(self._world)
        try:
            kind, lengths = np.dtype(dtype), whole_lengths(shape)
        except TypeError as error:
            raise ArrayError(f"Common memory has a shape and a dtype of NumPy: {error}.") from None
        site.meet(f"the making of common memory {kind} {shape}")
        length = prod(lengths) * kind.itemsize
        found = shared(self._world, site.hosts, length)[:length].view(kind).reshape(lengths)
        self._common.append(ref(found))
        return found

    def beside(self, shape: Sequence[int], dtype: DTypeLike = "float64") -> tuple[Array, list[Array]]:
        """Zeroed memory of this rank that the other ranks of its host see: its own array, and those of all of them in order of rank.

        shape: as many lengths on each rank, which may differ. It is no array in use of `counts`: a model counts it as its own memory.
        Raises as `common` does.
        """
        from steppe.arrays.element_inputs import whole_lengths
        from steppe.arrays.site import site_of

        site, kind = site_of(self._world), np.dtype(dtype)
        site.meet(f"the making of {len(shape)} dimensions of {kind} beside those of other ranks")
        shapes = of_all(self._world, whole_lengths(shape))[site.mates].tolist()
        sizes = [-(-prod(each) * kind.itemsize // LINE) * LINE for each in shapes]
        whole = sum(sizes)
        alone = len(set(site.hosts)) == self._world.size  # one rank a host: its own memory, which may lie in large pages
        memory = np.zeros(whole, np.uint8) if alone else shared(self._world, site.hosts, whole)
        found, begin = [], 0
        for each, size in zip(shapes, sizes, strict=True):
            found.append(memory[begin : begin + prod(each) * kind.itemsize].view(kind).reshape(each))
            begin += size
        return found[site.row], found

    def queue(self, n: int, least: int = 1, within_host: bool = False) -> "WorkQueue":
        """A queue of n tasks: of all ranks, or one for the ranks of each host; raises as `WorkQueue` does."""
        from steppe.arrays.work_queue import WorkQueue

        return WorkQueue(self._world, n, least, within_host)

    @property
    def in_use(self) -> bool:
        """True if this rank has an array, or common memory."""
        return bool(self._arrays) or any(each() is not None for each in self._common)

    def counts(self) -> dict[str, float]:
        """Numbers of the arrays in use, over all ranks; collective.

        arrays, bytes (of all, with common memory of this host); messages, sent [bytes], hits, misses, passed_by, longest_wait [s]: see
        `Traffic`.
        """
        arrays = list(self._arrays)
        common = sum(each.nbytes for reference in self._common if (each := reference()) is not None)
        sums = [sum(getattr(each.traffic, name) for each in arrays) for name in SUMS]
        longest = np.array([max((each.traffic.longest_wait for each in arrays), default=0.0)])
        totals = zip(SUMS, self._world.reduce(np.array(sums, np.int64), "sum").tolist(), strict=True)
        own = {"arrays": len(arrays), "bytes": sum(each.nbytes for each in arrays) + common}
        return own | dict(totals) | {"longest_wait": float(self._world.reduce(longest, "max")[0])}


def counts_text(counts: Mapping[str, float]) -> str:
    """The counts in words, for the end of a run."""
    size = f"{counts['arrays']:.0f} array{'s' * (counts['arrays'] != 1)}, {counts['bytes'] / 1e6:,.1f} MB"
    if not counts["messages"]:
        return f"{size}, no message between hosts"
    return (
        f"{size}; {counts['messages']:,.0f} messages between hosts, {counts['sent'] / 1e6:,.1f} MB, longest wait "
        f"{1e3 * counts['longest_wait']:.1f} ms; pages stored {counts['misses']:,.0f}, elements read from them {counts['hits']:,.0f}, "
        f"passed by {counts['passed_by']:,.0f}"
    )
