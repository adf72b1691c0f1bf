"""A domain cut into one box for each rank, with the plan of its halo exchange.

Cut k of an axis of n cells into d parts is at n*k//d. Each rank makes its box from these numbers alone, without messages or another rank's
plan. That suffices since every edge can be crossed back: the index map from the halo to a peer's own cells, inverted, leads from the
peer's halo to the own cells.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import overload

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.errors import GridError
from steppe.grid.box import Box, HaloPiece, Mirror, Slices
from steppe.grid.domain import SIDES, Domain, Face
from steppe.grid.turn import IndexMap, Rectangle, overlap

Dims = tuple[int, ...]  # number of boxes along each axis


class Boxes(Sequence[Box]):
    """The boxes of a domain by rank, each made at its first use: blocks in order, the boxes of each row-major.

    Parameters
    ----------
    domain
        The blocks and their edges.
    halo
        Name of each axis -> width of its halo in cells.
    dims
        For each block, the number of boxes along each axis: `[choose_dims(shape, widths, ranks)]` for one block.
    order
        Row-major index (blocks one after another) of each packed cell, (cells,); all other cells are inactive. None: all cells are
        packed row-major.

    Raises
    ------
    GridError
        The halo names other axes, a box would be narrower than the halo, or axes that are joined have halos of two widths.
    """

    def __init__(self, domain: Domain, halo: Mapping[str, int], dims: Sequence[Dims], order: Integers | None = None) -> None:
        if set(halo) != set(domain.axes) or min(halo.values()) < 0:
            raise GridError(f"A halo has a width of 0 or more for each axis, {', '.join(domain.axes)}; it is {dict(halo)}.")
        self.domain = domain
        self.halo = tuple(halo[axis] for axis in domain.axes)
        self.dims = tuple(tuple(cut) for cut in dims)
        self._order = order
        self._starts = np.cumsum([0, *(prod(cut) for cut in self.dims)]).tolist()
        for lengths, cut in zip(domain.blocks, self.dims, strict=True):
            for axis, length, parts, width in zip(domain.axes, lengths, cut, self.halo, strict=True):
                if parts < 1 or length // parts < max(width, 1):
                    raise GridError(
                        f'Axis "{axis}" of {length} cells is too short for {parts} boxes with a halo of {width}. Use fewer ranks.'
                    )
        for face, (_, turn) in domain.crossings.items():
            if any(self.halo[axis] != width for axis, width in zip(turn.axes, self.halo, strict=True)):
                raise GridError(f"Axes that are joined need halos of one width, those of block {face.block} have {self.halo}.")

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, rank: int) -> Box: ...
    @overload
    def __getitem__(self, rank: slice) -> list[Box]: ...
    def __getitem__(self, rank: int | slice) -> Box | list[Box]:
        if isinstance(rank, slice):
            return [self[each] for each in range(len(self))[rank]]
        return self._box(rank)

    def cells(self, rank: int) -> Integers:
        """The packed cells of a rank, (cells,), ascending, without the rest of its box."""
        block = self._block(rank)
        return self._cells(block, self._own(rank, block))[0]

    def _block(self, rank: int) -> int:
        if not 0 <= rank < len(self):
            raise IndexError(f"There is no rank {rank}: the domain is cut into {len(self)} boxes.")
        return int(np.searchsorted(self._starts, rank, side="right")) - 1

    def _box(self, rank: int) -> Box:
        block = self._block(rank)
        rectangle = self._own(rank, block)
        receives, sends = self._plan(rank, block, rectangle, self.halo)
        origin, shape = tuple(first for first, _ in rectangle), tuple(end - first for first, end in rectangle)
        cells, order = self._cells(block, rectangle)
        mirrors, sources = self._mirrors(block, rectangle), self._sources(block, rectangle)
        active = self._active(block, rectangle, receives, mirrors)

        def across(axis: int) -> tuple[tuple[HaloPiece, ...], tuple[HaloPiece, ...]]:
            return self._plan(rank, block, rectangle, _alone(self.halo, axis))

        return Box(rank, block, origin, shape, self.halo, cells, order, receives, sends, mirrors, active, sources, across)

    def _active(self, block: int, own: Rectangle, receives: Sequence[HaloPiece], mirrors: Sequence[Mirror]) -> NDArray[np.bool_]:
        """The active cells of a rank's array with halos, filled as by an exchange and the mirrors."""
        active = np.zeros([end - first + 2 * width for (first, end), width in zip(own, self.halo, strict=True)], dtype=bool)
        if self._masks is None:
            return ~active
        active[self._local(own, own)] = self._masks[block][tuple(slice(*each) for each in own)]
        for piece in receives:
            there = self._block(piece.peer)
            firsts = (first - width for (first, _), width in zip(self._own(piece.peer, there), self.halo, strict=True))
            theirs = tuple(slice(part.start + first, part.stop + first) for part, first in zip(piece.theirs, firsts, strict=True))
            turned = self._masks[there][theirs].transpose(piece.axes)
            active[piece.mine] = turned[tuple(slice(None, None, -1 if flip else 1) for flip in piece.flips)]
        for mirror in mirrors:
            active[mirror.target] = active[mirror.source]
        return active

    def _own(self, rank: int, block: int) -> Rectangle:
        """The cells of a rank, in its block."""
        found, left = [], rank - self._starts[block]
        for length, parts in zip(reversed(self.domain.blocks[block]), reversed(self.dims[block]), strict=True):
            left, k = divmod(left, parts)
            found.append((length * k // parts, length * (k + 1) // parts))
        return tuple(reversed(found))

    def _owners(self, block: int, cells: Rectangle) -> Iterator[int]:
        """The ranks that own some of a rectangle within a block."""
        lengths, dims = self.domain.blocks[block], self.dims[block]
        each = (
            range((parts * (first + 1) - 1) // length, (parts * end - 1) // length + 1)
            for (first, end), length, parts in zip(cells, lengths, dims, strict=True)
        )
        for place in product(*each):
            number = 0
            for k, parts in zip(place, dims, strict=True):
                number = number * parts + k
            yield self._starts[block] + number

    def _plan(self, rank: int, block: int, own: Rectangle, halo: Sequence[int]) -> tuple[tuple[HaloPiece, ...], tuple[HaloPiece, ...]]:
        """What fills my halo, and what of mine fills others', both by peer and then by place in the halo that is filled.

        halo: how much of it is filled, by axis.
        """
        none, reached = IndexMap.none(len(own)), _widened(own, halo)
        ways = self.domain.ways(block, self._with_halo(own))  # all of them: across an edge that turns, others' halos lie along another axis
        peers = {(peer, way.block, way.turn) for way in ways for peer in self._owners(way.block, way.cells)}
        receives, sends = list[HaloPiece](), list[HaloPiece]()
        for peer, there, turn in peers - {(rank, block, none)}:
            back, theirs = turn.undone(), self._own(peer, there)
            mine, given = overlap(reached, back.of(theirs)), overlap(own, back.of(_widened(theirs, halo)))
            if mine is not None:
                flips = tuple(sign < 0 for sign in turn.signs)
                receives.append(HaloPiece(peer, self._local(mine, own), self._local(turn.of(mine), theirs), turn.axes, flips, turn.parity))
            if given is not None:
                flips = tuple(sign < 0 for sign in back.signs)
                sends.append(HaloPiece(peer, self._local(given, own), self._local(turn.of(given), theirs), back.axes, flips, turn.parity))
        receives.sort(key=lambda piece: (piece.peer, _firsts(piece.mine)))
        sends.sort(key=lambda piece: (piece.peer, _firsts(piece.theirs)))
        return tuple(receives), tuple(sends)

    def _sources(self, block: int, own: Rectangle) -> tuple[HaloPiece, ...]:
        """Where the own cells and those of the halo lie in the domain."""
        found = []
        for way in self.domain.ways(block, self._with_halo(own)):
            there = tuple(slice(first, end) for first, end in way.cells)
            flips = tuple(sign < 0 for sign in way.turn.signs)
            mine = self._local(way.turn.undone().of(way.cells), own)
            found.append(HaloPiece(way.block, mine, there, way.turn.axes, flips, way.turn.parity))
        return tuple(found)

    def _with_halo(self, own: Rectangle) -> Rectangle:
        return _widened(own, self.halo)

    def _local(self, cells: Rectangle, own: Rectangle) -> Slices:
        """Cells of a block as slices of the array with halos of the rank that owns `own`."""
        shifts = (width - first for (first, _), width in zip(own, self.halo, strict=True))
        return tuple(slice(first + shift, end + shift) for (first, end), shift in zip(cells, shifts, strict=True))

    def _mirrors(self, block: int, own: Rectangle) -> tuple[Mirror, ...]:
        """The mirrors of walls. Axis by axis over the whole local array, so that copying them in turn fills the corners too."""
        found = []
        everything = [slice(None)] * len(own)
        for axis, ((first, end), width, length) in enumerate(zip(own, self.halo, self.domain.blocks[block], strict=True)):
            n = end - first
            parts = {
                "low": (slice(0, width), slice(2 * width - 1, width - 1, -1)),
                "high": (slice(width + n, 2 * width + n), slice(width + n - 1, n - 1, -1)),
            }
            for side in SIDES:
                at_edge = first == 0 if side == "low" else end == length
                if width and at_edge and Face(block, axis, side) not in self.domain.crossings:
                    target, source = ((*everything[:axis], part, *everything[axis + 1 :]) for part in parts[side])
                    found.append(Mirror(target, source, axis, side))
        return tuple(found)

    @cached_property
    def _positions(self) -> Integers | None:
        """The packed position of each cell of the domain, row-major, -1 of one that does not count; None when that is its index."""
        if self._order is None:
            return None
        positions = np.full(sum(map(prod, self.domain.blocks)), -1, dtype=np.int64)
        positions[self._order] = np.arange(self._order.size)
        return positions

    @cached_property
    def _masks(self) -> list[NDArray[np.bool_]] | None:
        """Which cells of each block count; None when all do."""
        if self._positions is None or self._order is None or self._order.size == self._positions.size:
            return None
        parts = np.split(self._positions >= 0, np.cumsum([prod(lengths) for lengths in self.domain.blocks])[:-1])
        return [part.reshape(lengths) for part, lengths in zip(parts, self.domain.blocks, strict=True)]

    def _cells(self, block: int, own: Rectangle) -> tuple[Integers, Integers]:
        """The packed cells of a rectangle that count, ascending, and where each lies in it, row-major."""
        lengths = self.domain.blocks[block]
        start = sum(prod(before) for before in self.domain.blocks[:block])
        index = np.zeros(1, dtype=np.int64)
        for (first, end), length in zip(own, lengths, strict=True):
            index = (index[:, None] * length + np.arange(first, end)).ravel()
        if self._positions is None:
            return index + start, np.arange(index.size)
        positions = self._positions[index + start]
        order = np.argsort(positions)
        order = order[np.searchsorted(positions, 0, sorter=order) :]
        return positions[order], order


def _widened(own: Rectangle, halo: Sequence[int]) -> Rectangle:
    return tuple((first - width, end + width) for (first, end), width in zip(own, halo, strict=True))


def _alone(halo: Sequence[int], axis: int) -> Dims:
    """The widths of a halo across one axis alone."""
    return tuple(width if each == axis else 0 for each, width in enumerate(halo))


def choose_dims(shape: Sequence[int], halo: Sequence[int], ranks: int) -> Dims:
    """Into how many boxes each axis is cut: the least halo; of several the smallest boxes, then the most cuts of the first axes.

    Of equals the first axes, since a halo across them lies in one piece of memory.

    Raises
    ------
    GridError
        There are no ranks, or no way to cut leaves boxes as wide as the halo; the nearest numbers of ranks are named.
    """
    if ranks < 1:
        raise GridError(f"A grid is cut for one rank or more, not {ranks}.")
    most = [length // max(width, 1) for length, width in zip(shape, halo, strict=True)]
    if 0 in most:
        axis = most.index(0)
        raise GridError(f"An axis of {shape[axis]} cells is too short for a halo of {halo[axis]}. Use a larger grid.")
    found = min(_factorisations(ranks, most), key=lambda dims: (*_size(shape, halo, dims), *(-parts for parts in dims)), default=None)
    if found is None:
        lower = next(fewer for fewer in range(min(ranks - 1, prod(most)), 0, -1) if _fits(fewer, most))
        upper = next((more for more in range(ranks + 1, prod(most) + 1) if _fits(more, most)), None)
        box = " x ".join(map(str, shape))
        nearest = f"{lower} or {upper} ranks" if upper else f"{lower} ranks" if lower > 1 else "one rank"
        raise GridError(f"{box} cells cannot be cut into {ranks} boxes at least as wide as their halos. Start {nearest}.")
    return found


def _size(shape: Sequence[int], halo: Sequence[int], dims: Dims) -> tuple[int, int]:
    """Cells of the halos of the largest box that need a message, and of the box."""
    box = [-(-length // parts) for length, parts in zip(shape, dims, strict=True)]
    volume = prod(box)
    return sum(2 * width * volume // side for width, side, parts in zip(halo, box, dims, strict=True) if parts > 1), volume


def _factorisations(number: int, most: Sequence[int]) -> Iterator[Dims]:
    """All ways to write a number as a product of factors of at most `most`."""
    if len(most) == 1:
        if number <= most[0]:
            yield (number,)
        return
    for factor in range(1, min(number, most[0]) + 1):
        if number % factor == 0:
            yield from ((factor, *rest) for rest in _factorisations(number // factor, most[1:]))


def _fits(number: int, most: Sequence[int]) -> bool:
    return next(_factorisations(number, most), None) is not None


def _firsts(slices: Slices) -> tuple[int, ...]:
    return tuple(part.start for part in slices)
