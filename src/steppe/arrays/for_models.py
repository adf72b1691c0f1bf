"""Global arrays, common memory and queues for a model, which knows no ranks: a `Reach` hands them out."""

from collections.abc import Sequence
from weakref import WeakSet

import numpy as np
from numpy.typing import DTypeLike, NDArray

from steppe.arrays.global_array import GlobalArray
from steppe.arrays.site import site_of
from steppe.arrays.work_queue import WorkQueue
from steppe.comm import World, shared
from steppe.errors import ArrayError


class ModelArrays:
    """Makes what a model asks for, and knows what there is of it. Every method is called by all ranks alike."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._arrays: WeakSet[GlobalArray] = WeakSet()
        self._common = 0  # bytes

    def array(self, shape: int | Sequence[int], dtype: DTypeLike = "float64") -> GlobalArray:
        """A global array of zeros; raises as `GlobalArray` does."""
        found = GlobalArray(self._world, shape, dtype)
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
        site = site_of(self._world)
        try:
            kind = np.dtype(dtype)
            length = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        except TypeError as error:
            raise ArrayError(f"Common memory has a shape and a dtype of NumPy: {error}.") from None
        site.meet(f"the making of common memory {kind} {shape}")
        memory = shared(self._world, site.hosts, length)
        self._common += length
        return memory[:length].view(kind).reshape(shape)

    def queue(self, n: int, least: int = 1, within_host: bool = False) -> WorkQueue:
        """A queue of n tasks: of all ranks, or one for the ranks of each host; raises as `WorkQueue` does."""
        return WorkQueue(self._world, n, least, within_host)

    @property
    def counts(self) -> dict[str, float]:
        """Of the arrays that are in use on this rank: arrays, bytes (with common memory), and their `Traffic`."""
        arrays = list(self._arrays)
        found: dict[str, float] = {"arrays": len(arrays), "bytes": sum(each.nbytes for each in arrays) + self._common}
        for name in ("messages", "sent", "hits", "misses", "passed_by"):
            found[name] = sum(getattr(each.traffic, name) for each in arrays)
        return found | {"longest_wait": max((each.traffic.longest_wait for each in arrays), default=0.0)}
