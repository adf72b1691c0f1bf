"""Index maps: the indices of a cell beyond an edge of one block become those of a cell inside another block.

Every edge is an index map. A periodic edge shifts; a pole reverses the rows and shifts the columns by half a circle; a face between blocks
may exchange and reverse axes. Index maps can be combined and inverted.
"""

from typing import NamedTuple

Range = tuple[int, int]  # first index and the one behind the last
Rectangle = tuple[Range, ...]


class IndexMap(NamedTuple):
    """Index i along axis a of one block is signs[a] * i + offsets[a] along axis axes[a] of the other. parity: -1 beyond one pole."""

    axes: tuple[int, ...]
    signs: tuple[int, ...]
    offsets: tuple[int, ...]
    parity: int = 1

    @classmethod
    def none(cls, n_axes: int) -> "IndexMap":
        """The identity."""
        return cls(tuple(range(n_axes)), (1,) * n_axes, (0,) * n_axes)

    def of(self, rectangle: Rectangle) -> Rectangle:
        """The image of a rectangle in the other block."""
        found = [(0, 0)] * len(rectangle)
        for (first, end), axis, sign, offset in zip(rectangle, self.axes, self.signs, self.offsets, strict=True):
            found[axis] = (first + offset, end + offset) if sign > 0 else (offset - end + 1, offset - first + 1)
        return tuple(found)

    def then(self, after: "IndexMap") -> "IndexMap":
        """The combination: first this map, then `after`."""
        return IndexMap(
            tuple(after.axes[axis] for axis in self.axes),
            tuple(sign * after.signs[axis] for axis, sign in zip(self.axes, self.signs, strict=True)),
            tuple(after.signs[axis] * offset + after.offsets[axis] for axis, offset in zip(self.axes, self.offsets, strict=True)),
            self.parity * after.parity,
        )

    def undone(self) -> "IndexMap":
        """The inverse."""
        back = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        signs = tuple(self.signs[axis] for axis in back)
        return IndexMap(tuple(back), signs, tuple(-self.signs[axis] * self.offsets[axis] for axis in back), self.parity)


def overlap(one: Rectangle, other: Rectangle) -> Rectangle | None:
    """The common cells of two rectangles; None if there are none."""
    found = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))
    return found if all(first < end for first, end in found) else None
