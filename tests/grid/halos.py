"""Halos filled as a plan says, without messages, and as a cell-by-cell look at the whole domain says."""

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from steppe.grid import Box, Boxes, Edge, Face, Join

Pair = tuple[Edge, Edge]


def numbered(boxes: Boxes) -> list[np.ndarray]:
    """An array with halos for each rank: own cells hold 1 + their row-major index in the domain, halos 0."""
    starts = np.cumsum([0, *(int(np.prod(block)) for block in boxes.domain.blocks)])
    found = []
    for box in boxes:
        block = np.arange(starts[box.block], starts[box.block + 1]).reshape(boxes.domain.blocks[box.block])
        array = np.zeros(box.local, dtype=int)
        array[box.own] = 1 + block[tuple(slice(first, first + n) for first, n in zip(box.origin, box.shape, strict=True))]
        found.append(array)
    return found


def filled(boxes: Boxes) -> list[np.ndarray]:
    """The arrays of `numbered` after every rank has sent what its own plan says, and unpacked what came by its own plan."""
    arrays = numbered(boxes)
    messages: dict[tuple[int, int], list[int]] = {}
    for box, array in zip(boxes, arrays, strict=True):
        for piece in box.sends:
            values = np.flip(array[piece.mine].transpose(piece.axes), np.flatnonzero(piece.flips)) * piece.parity
            messages.setdefault((box.rank, piece.peer), []).extend(values.ravel())
    for box, array in zip(boxes, arrays, strict=True):
        for piece in box.receives:
            halo, message = array[piece.mine], messages[piece.peer, box.rank]
            assert not halo.any()
            halo[...] = np.reshape(message[: halo.size], halo.shape)
            del message[: halo.size]
    assert not any(messages.values())
    return arrays


def looked_up(box: Box, place: Sequence[int], shape: Sequence[int], ends: Sequence[Pair]) -> int:
    """What a cell of an array with halos should hold, in a domain of one block."""
    index = [origin + at - width for origin, at, width in zip(box.origin, place, box.halo, strict=True)]
    sign = 1
    for axis, (length, pair) in enumerate(zip(shape, ends, strict=True)):
        if 0 <= index[axis] < length:
            continue
        match pair[index[axis] >= length]:
            case "wall":
                return 0
            case "pole":
                around = ends.index(("periodic", "periodic"))
                index[axis] = -1 - index[axis] if index[axis] < 0 else 2 * length - 1 - index[axis]
                index[around] += shape[around] // 2
                sign = -sign
    return sign * (1 + int(np.ravel_multi_index([i % n for i, n in zip(index, shape, strict=True)], shape)))


def walked(box: Box, place: Sequence[int], blocks: Sequence[Sequence[int]], joins: Mapping[Face, Join]) -> int:
    """What a cell of an array with halos should hold, among joined blocks: found by steps from cell to cell, in any order of axes."""
    both = dict(joins)
    for face, join in joins.items():
        back = tuple(int(axis) for axis in np.argsort(join.axes))
        both[join.face] = Join(face, back, tuple(join.flips[axis] for axis in back))
    index = [origin + at - width for origin, at, width in zip(box.origin, place, box.halo, strict=True)]
    beyond = {axis: i if i < 0 else i - n + 1 for axis, (i, n) in enumerate(zip(index, blocks[box.block], strict=True)) if not 0 <= i < n}
    found = set()
    for order in permutations(beyond):
        block, cell = box.block, [min(max(i, 0), n - 1) for i, n in zip(index, blocks[box.block], strict=True)]
        along = {axis: (axis, 1) for axis in range(len(cell))}  # each axis of the box: which axis of the present block, and which way
        for axis in (each for each in order for _ in range(abs(beyond[each]))):
            now, sign = along[axis]
            step = sign if beyond[axis] > 0 else -sign
            cell[now] += step
            if 0 <= cell[now] < blocks[block][now]:
                continue
            face = Face(block, now, "high" if step > 0 else "low")
            if face not in both:
                return 0
            other, axes, flips = both[face]
            there = [0] * len(cell)
            for mine, (their, flip) in enumerate(zip(axes, flips, strict=True)):
                there[their] = blocks[block][mine] - 1 - cell[mine] if flip else cell[mine]
            there[other.axis] = 0 if other.side == "low" else blocks[other.block][other.axis] - 1
            along = {a: (axes[at], -s if flips[at] else s) for a, (at, s) in along.items()}
            block, cell = other.block, there
        start = sum(int(np.prod(before)) for before in blocks[:block])
        found.add((1 + start + int(np.ravel_multi_index(cell, blocks[block])), tuple(sorted(along.items()))))
    return found.pop()[0] if len(found) == 1 else 0
