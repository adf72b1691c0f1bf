"""How the indices of a cell, counted on beyond an edge of one block, become those of a cell inside another block.

Every edge is such a turn: a periodic one shifts, a pole reverses the rows and shifts the columns by half a round, a face between
blocks may exchange and reverse axes. One turn after another is a turn, and each can be undone.
"""

from typing import NamedTuple

Range = tuple[int, int]  # first index and the one behind the last
Rectangle = tuple[Range, ...]


class Turn(NamedTuple):
    """Index i along axis a of one block is signs[a] * i + offsets[a] along axis axes[a] of the other. parity: -1 beyond one pole."""

    axes: tuple[int, ...]
    signs: tuple[int, ...]
    offsets: tuple[int, ...]
    parity: int = 1

    @classmethod
    def none(cls, n_axes: int) -> "Turn":
        """The turn that leaves all as it is."""
        return cls(tuple(range(n_axes)), (1,) * n_axes, (0,) * n_axes)

    def of(self, rectangle: Rectangle) -> Rectangle:
        """Where a rectangle of the one block lies in the other."""
        found = [(0, 0)] * len(rectangle)
        for (first, end), axis, sign, offset in zip(rectangle, self.axes, self.signs, self.offsets, strict=True):
            found[axis] = (first + offset, end + offset) if sign > 0 else (offset - end + 1, offset - first + 1)
        return tuple(found)

    def then(self, after: "Turn") -> "Turn":
        """This turn and `after` it another."""
        return Turn(
            tuple(after.axes[axis] for axis in self.axes),
            tuple(sign * after.signs[axis] for axis, sign in zip(self.axes, self.signs, strict=True)),
            tuple(after.signs[axis] * offset + after.offsets[axis] for axis, offset in zip(self.axes, self.offsets, strict=True)),
            self.parity * after.parity,
        )

    def undone(self) -> "Turn":
        """The way back."""
        back = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        signs = tuple(self.signs[axis] for axis in back)
        return Turn(tuple(back), signs, tuple(-self.signs[axis] * self.offsets[axis] for axis in back), self.parity)


def overlap(one: Rectangle, other: Rectangle) -> Rectangle | None:
    """The cells that two rectangles share; None when there are none."""
    found = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))
    return found if all(first < end for first, end in found) else None
