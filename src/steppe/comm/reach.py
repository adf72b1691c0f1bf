"""The `Reach` of a model with neighbours: exchange of halos, sums and greatest values over all ranks. The model knows no ranks.

    exchange = reach.exchange([u, v])     one message to each peer: the own cells that are its halo
    ...                                   the model computes its interior meanwhile, with an exchange.progress() now and then
    exchange.finish()                     unpacks the messages: the halos are filled
    ...                                   the model computes its rims

The grid makes the plan of an exchange, as data, and the caller passes the exact sum: this file knows messages only.
"""

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import DTypeLike

from steppe.array_types import Array
from steppe.comm.world import EXCHANGE_TAG, Operation, World
from steppe.errors import Failure

Totals = Callable[[Sequence[Array], Callable[[Array, Operation], Array]], list[float]]
Copy = Callable[[Array, Array], None]  # fills the first array from the second
Parity = int | tuple[int, ...]  # 1 or -1, of an array or of each entry of its first dimension

AXES = ("y", "x")  # of a box
KEPT = 8  # sets of arrays whose buffers are cached: a model that swaps old and new in a few sub-steps has fewer


class ExchangePiece(Protocol):
    """A rectangle of this rank's array with halos that is received or sent: `steppe.grid.HaloPiece`."""

    @property
    def peer(self) -> int:
        """The other rank."""
        ...

    @property
    def place(self) -> tuple[EllipsisType | slice, ...]:
        """The index of the rectangle in the last dimensions of an array."""
        ...

    @property
    def axes(self) -> tuple[int, ...]:
        """For each axis of the filled rectangle, the axis of the sent one."""
        ...

    @property
    def flips(self) -> tuple[bool, ...]:
        """True where that axis runs backwards."""
        ...

    @property
    def parity(self) -> int:
        """-1 if vector components along an axis change sign on the way."""
        ...


class ExchangePlan(Protocol):
    """The rectangles that this rank receives and sends, in one order on both sides: `steppe.grid.Box`."""

    @property
    def local(self) -> tuple[int, ...]:
        """Shape of the box with halos."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the box without halos."""
        ...

    @property
    def has_holes(self) -> bool:
        """True if the box has inactive cells."""
        ...

    def pack(self, values: Array) -> Array:
        """The values of the active cells, from values of the box without halos."""
        ...

    @property
    def receives(self) -> Sequence[ExchangePiece]:
        """Rectangles of this rank's halo."""
        ...

    @property
    def sends(self) -> Sequence[ExchangePiece]:
        """Rectangles of this rank's cells for the halos of others."""
        ...

    @property
    def along(self) -> Sequence[tuple[Sequence[ExchangePiece], Sequence[ExchangePiece]]]:
        """By axis, receives and sends of the halo across that axis alone."""
        ...


class ArrayMaker(Protocol):
    """Makes global arrays, common memory and queues for a model: `steppe.arrays.ModelArrays`."""

    def array(self, shape: int | Sequence[int], dtype: DTypeLike = "float64", page: int = 65_536) -> Any:
        """A global array of zeros. page [bytes]: a power of two."""
        ...

    def common(self, shape: int | Sequence[int], dtype: DTypeLike = "float64") -> Array:
        """Zeroed memory that the ranks of a host share."""
        ...

    def beside(self, shape: Sequence[int], dtype: DTypeLike = "float64") -> tuple[Array, list[Array]]:
        """Zeroed memory of this rank that the other ranks of its host see, and theirs."""
        ...

    def queue(self, n: int, least: int = 1, within_host: bool = False) -> Any:
        """A queue of n tasks."""
        ...


class BoxReach:
    """The reach of one rank's box with halos; it fulfils `steppe.models.Reach`.

    Parameters
    ----------
    world
        The ranks.
    plan
        The box of this rank, one of `Partition.boxes(...)`; None for cells without neighbours.
    totals
        Sums arrays over all ranks by `world.reduce`, independent of their order: `steppe.kernels.sums.totals`.
    maker
        Makes what the model asks for by `array`, `common` and `queue`.
    """

    def __init__(self, world: World, plan: ExchangePlan | None, totals: Totals, maker: ArrayMaker | None = None) -> None:
        self._maker = maker
        self._world = world
        self._plan = plan
        self._totals = totals
        self._live: BoxExchange | None = None
        self._kept: dict[object, BoxExchange] = {}  # by the addresses of the arrays
        self._known: dict[object, BoxExchange] = {}  # by the arrays, which they keep alive: a much faster lookup

    def exchange(self, arrays: Sequence[Array], parities: Sequence[Parity] | None = None, along: str | None = None) -> "BoxExchange":
        """Starts filling the halos of `arrays`, of any dtypes, whose last dimensions are the box with halos; one message to each peer.

        Their own cells are read now and may change at once; read the halos after `finish`. Buffers are cached for the last few sets of
        arrays. Fields in one array travel faster than each in its own.

        Parameters
        ----------
        arrays
            Any dimensions before those of the box (species, levels) go with it.
        parities
            1 or -1 for each array, or for each entry of its first dimension: -1 for vector components along an axis, which change sign
            beyond a pole. Default: 1.
        along
            "x" or "y": only the halo across that axis is filled, without corners, which a sweep along it needs. Default: all of it.

        Raises
        ------
        Failure
            The last exchange is not finished, an array does not have the shape of the box, the axis is unknown, or there are no
            neighbours.
        """
        if self._live is not None and not self._live.finished:
            raise Failure("An exchange was started before the last one was finished. Call finish() first.")
        signs = None if parities is None else tuple(parities)
        if along not in (None, *AXES):
            raise Failure(f'There is no axis "{along}". Name "x" or "y".')
        found = self._known.get((signs, along, *map(id, arrays)))
        if found is None:
            places = (signs, along, *((array.ctypes.data, array.shape, array.strides, array.dtype) for array in arrays))
            found = self._kept.get(places)
        if found is None:
            if len(self._kept) == KEPT:
                self._kept.pop(next(iter(self._kept))).close()
                self._known = {key: exchange for key, exchange in self._known.items() if exchange in self._kept.values()}
            found = self._kept[places] = BoxExchange(self._world, self._plan, arrays, signs, along)
            self._known[(signs, along, *map(id, arrays))] = found
        self._live = found
        found.start()
        return found

    @overload
    def total(self, x: Array, /) -> float: ...
    @overload
    def total(self, x: Array, y: Array, /, *more: Array) -> tuple[float, ...]: ...
    def total(self, *arrays: Array) -> float | tuple[float, ...]:
        """Sum over the active cells of all ranks; the same bits for any number and order of ranks, NaN if a value is not finite.

        Several arrays: the sum of each, with as many messages as for one.
        """
        found = tuple(self._totals(self._counted(arrays), self._world.reduce))
        return found if len(found) > 1 else found[0]

    @overload
    def largest(self, x: Array, /) -> float: ...
    @overload
    def largest(self, x: Array, y: Array, /, *more: Array) -> tuple[float, ...]: ...
    def largest(self, *arrays: Array) -> float | tuple[float, ...]:
        """Greatest value over the active cells of all ranks; NaN if a value is NaN, -inf without cells. Several arrays as in `total`."""
        greatest = np.array([np.max(x) if np.size(x) else -np.inf for x in self._counted(arrays)], np.float64)  # NaN when a value is
        found = tuple(self._world.reduce(greatest, "max").tolist())
        return found if len(found) > 1 else found[0]

    def array(self, shape: int | Sequence[int], dtype: DTypeLike = "float64", page: int = 65_536) -> Any:
        """A `steppe.arrays.GlobalArray` of zeros over all ranks. page [bytes]: a power of two. Collective.

        Raises
        ------
        Failure
            The shape, dtype or page cannot be, or a host lacks the memory.
        """
        return self._made.array(shape, dtype, page)

    def common(self, shape: int | Sequence[int], dtype: DTypeLike = "float64") -> Array:
        """Zeroed memory that the ranks of a host share, of any dtype. Collective; raises as `array` does."""
        return self._made.common(shape, dtype)

    def beside(self, shape: Sequence[int], dtype: DTypeLike = "float64") -> tuple[Array, list[Array]]:
        """Zeroed memory of this rank, of any shape, that the other ranks of its host see: it, and those of all of them in order of rank.

        Collective; raises as `array` does.
        """
        return self._made.beside(shape, dtype)

    def queue(self, n: int, least: int = 1, within_host: bool = False) -> Any:
        """A `steppe.arrays.WorkQueue` of n tasks, for all ranks or for those of each host. Collective."""
        return self._made.queue(n, least, within_host)

    @property
    def _made(self) -> ArrayMaker:
        if self._maker is None:
            raise Failure("This reach makes no arrays: it was given no maker of them (`steppe.arrays.ModelArrays`).")
        return self._maker

    def _counted(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The arrays of the own cells without inactive ones; other arrays unchanged."""
        plan = self._plan
        if plan is None:
            return arrays
        for x in arrays if plan.local != plan.shape else ():
            if np.shape(x)[-len(plan.local) :] == plan.local:  # the sum would depend on the number of ranks
                raise Failure(
                    f"A sum or a greatest value is one of the own cells (..., {', '.join(map(str, plan.shape))}), and an array "
                    f"{np.shape(x)} has halos, too. Give array[..., y, x], with y, x = self.box.own."
                )
        if not plan.has_holes:
            return arrays
        return [plan.pack(x) if np.shape(x)[-len(plan.shape) :] == plan.shape else x for x in arrays]


class BoxExchange:
    """A halo exchange of some arrays with its buffers and copies: made once, started many times."""

    def __init__(
        self, world: World, plan: ExchangePlan | None, arrays: Sequence[Array], signs: Sequence[Parity] | None, along: str | None = None
    ) -> None:
        if plan is None:
            raise Failure("There are no halos to exchange: the model's cells have no neighbours.")
        coming, going = plan.along[AXES.index(along)] if along else (plan.receives, plan.sends)
        self.finished = True
        self._arrays = tuple(arrays)
        targets: dict[int, list[Array]] = {}
        sources: dict[int, list[tuple[Copy, Array]]] = {}
        for array, sign in zip(arrays, signs or (1,) * len(arrays), strict=True):
            if array.shape[-len(plan.local) :] != plan.local:
                raise Failure(f"The last dimensions of an array must be the box with halos, {plan.local}, its shape is {array.shape}.")
            for piece in coming:
                targets.setdefault(piece.peer, []).append(array[piece.place])
            for piece in going:
                source = _turned(array[piece.place], piece)
                sources.setdefault(piece.peer, []).append((np.copyto if piece.parity > 0 else _signed(sign, source), source))
        within = zip(targets.pop(world.rank, []), sources.pop(world.rank, []), strict=True)
        self._within = [(copy, halo, source) for halo, (copy, source) in within]
        self._unpack: list[tuple[Array, Array]] = []
        self._pack: list[tuple[Copy, Array, Array]] = []
        receives, sends = list[tuple[int, Array]](), list[tuple[int, Array]]()
        for peer, halos in targets.items():
            buffer, parts = _buffered(halos)
            receives.append((peer, buffer))
            self._unpack += zip(halos, parts, strict=True)
        for peer, given in sources.items():
            buffer, parts = _buffered([source for _, source in given])
            sends.append((peer, buffer))
            self._pack += [(copy, part, source) for (copy, source), part in zip(given, parts, strict=True)]
        self._messages = world.persistent(receives, sends, EXCHANGE_TAG)

    def start(self) -> None:
        """Sends this rank's part of the halos of others."""
        self.finished = False
        self._messages.expect()
        for copy, part, source in self._pack:
            copy(part, source)
        self._messages.send()
        for copy, halo, source in self._within:
            copy(halo, source)

    def progress(self) -> None:
        """Lets MPI move long messages, which it does only while it is called. Call it about every millisecond of interior work."""
        self._messages.test()

    poke = progress  # its name in earlier versions

    def finish(self) -> None:
        """Returns when the halos are filled and all messages have left; a second call does nothing."""
        if self.finished:
            return
        self._messages.wait()
        for halo, part in self._unpack:
            np.copyto(halo, part)
        self.finished = True

    def close(self) -> None:
        """Frees the messages."""
        self._messages.close()


def _signed(sign: Parity, source: Array) -> Copy:
    """A function that copies `source` across a pole, with its change of sign."""
    signs = np.array(sign, dtype=source.dtype)
    factors = signs.reshape(signs.shape + (1,) * (source.ndim - 1) * signs.ndim)

    def copy(into: Array, source: Array) -> None:
        np.multiply(source, factors, out=into)

    return copy


def _turned(rectangle: Array, piece: ExchangePiece) -> Array:
    """A view of the sent rectangle with the axes of the halo that it fills."""
    leading = rectangle.ndim - len(piece.axes)
    axes = (*range(leading), *(leading + axis for axis in piece.axes))
    backwards: tuple[EllipsisType | slice, ...] = (..., *(slice(None, None, -1 if flip else 1) for flip in piece.flips))
    turned: Array = rectangle.transpose(axes)[backwards]
    return turned


def _buffered(rectangles: Sequence[Array]) -> tuple[Array, list[Array]]:
    """One buffer of bytes for all rectangles, and the part of each, which begins at a multiple of 8 bytes."""
    ends = np.cumsum([-(-rectangle.nbytes // 8) * 8 for rectangle in rectangles])
    buffer = np.zeros(int(ends[-1]), dtype=np.uint8)
    begins = [0, *ends[:-1].tolist()]
    parts = [buffer[at : at + each.nbytes].view(each.dtype) for at, each in zip(begins, rectangles, strict=True)]
    return buffer, [part.reshape(rectangle.shape) for rectangle, part in zip(rectangles, parts, strict=True)]
