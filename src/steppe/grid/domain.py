"""The topology of a domain: the cells beyond each edge of a block, or of several blocks joined face to face.

    wall      no cells; the model decides, with the box's mirrors
    periodic  the other end of the axis
    pole      row -1 - k is row k of the opposite longitude, n/2 columns on; vectors along rows and columns change sign there
    a join    cells of another block (or of the same), whose axes may run otherwise

A cell beyond several edges is reached by crossing them one after another. It exists if every order leads to the same cell: always in one
block without walls, and between blocks where four meet at an edge. Elsewhere, where three or five blocks meet or beside a wall, the corner
of a halo has no source, and the model must fill it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

from steppe.errors import GridError
from steppe.grid.turn import IndexMap, Range, Rectangle

Side = Literal["low", "high"]
Edge = Literal["wall", "periodic", "pole"]
Edges = Mapping[str, Edge | tuple[Edge, Edge]]  # by axis: of both ends, or of the low and the high one

SIDES: tuple[Side, Side] = ("low", "high")


class Face(NamedTuple):
    """One of the faces of a block: at the low or the high end of an axis."""

    block: int
    axis: int
    side: Side


class Join(NamedTuple):
    """The partner of a face: another face, and for each axis of the first block the axis of the second that lies along it.

    flips: True where the two axes run against each other; for the axis through the face, if both faces are on the same side.
    """

    face: Face
    axes: tuple[int, ...]
    flips: tuple[bool, ...]


class Crossing(NamedTuple):
    """A part of a rectangle as cells of the block that contains them; turn: from the rectangle's block to this one."""

    block: int
    turn: IndexMap
    cells: Rectangle


@dataclass(frozen=True)
class Domain:
    """Blocks of cells and the neighbours of their faces.

    axes: names, in the order of dimensions. blocks: length of each axis of each block. crossings: the block behind a face and the index
    map into it; any other face is a wall.
    """

    axes: tuple[str, ...]
    blocks: tuple[tuple[int, ...], ...]
    crossings: Mapping[Face, tuple[int, IndexMap]]

    @classmethod
    def of(cls, shape: Mapping[str, int], edges: Edges) -> "Domain":
        """One block.

        Parameters
        ----------
        shape
            Name of each axis -> its number of cells.
        edges
            Name of each axis -> its edge, or a pair of edges for its low and its high end.

        Raises
        ------
        GridError
            An edge or its axis is unknown, only one end is periodic, or a pole has no longitude.
        """
        ends = {axis: _ends(axis, edges.get(axis, "wall"), shape) for axis in (*shape, *edges)}
        crossings: dict[Face, tuple[int, IndexMap]] = {}
        for at, (axis, length) in enumerate(shape.items()):
            for side, edge in zip(SIDES, ends[axis], strict=True):
                signs, offsets, parity = [1] * len(shape), [0] * len(shape), 1
                if edge == "periodic":
                    offsets[at] = length if side == "low" else -length
                elif edge == "pole":
                    round_axis = _longitude(axis, ends, shape)
                    signs[at], offsets[at], parity = -1, -1 if side == "low" else 2 * length - 1, -1
                    offsets[list(shape).index(round_axis)] = shape[round_axis] // 2
                else:
                    continue
                crossings[Face(0, at, side)] = 0, IndexMap(tuple(range(len(shape))), tuple(signs), tuple(offsets), parity)
        return cls(tuple(shape), (tuple(shape.values()),), crossings)

    @classmethod
    def joined(cls, axes: Sequence[str], blocks: Sequence[Sequence[int]], joins: Mapping[Face, Join]) -> "Domain":
        """Several blocks, joined face to face; every other face is a wall.

        Parameters
        ----------
        axes
            Names of the axes.
        blocks
            Length of each axis of each block.
        joins
            Face -> its partner. One of the two faces is enough; the way back follows.

        Raises
        ------
        GridError
            Two faces do not fit, or one face has two partners.
        """
        lengths = tuple(tuple(block) for block in blocks)
        crossings: dict[Face, tuple[int, IndexMap]] = {}
        for face, join in joins.items():
            turn = _through(face, join, lengths)
            for start, end, way in ((face, join.face, turn), (join.face, face, turn.undone())):
                if crossings.setdefault(start, (end.block, way)) != (end.block, way):
                    raise GridError(f"{_named(start)} is joined twice, or to itself otherwise than it goes back. Join a face to one face.")
        return cls(tuple(axes), lengths, crossings)

    def ways(self, block: int, cells: Rectangle) -> tuple[Crossing, ...]:
        """The places of the cells of a rectangle that may reach beyond its block, without cells that do not exist."""
        return tuple(self._ways(block, IndexMap.none(len(self.axes)), cells))

    def _ways(self, block: int, turn: IndexMap, cells: Rectangle) -> list[Crossing]:
        found = []
        for parts in product(*(_split(part, length) for part, length in zip(cells, self.blocks[block], strict=True))):
            rectangle = tuple(part for _, part in parts)
            faces = [Face(block, axis, side) for axis, (side, _) in enumerate(parts) if side]
            if not faces:
                found.append(Crossing(block, turn, rectangle))
                continue
            crossed = [self._cross(face, turn, rectangle) for face in faces]
            if all(set(one) == set(crossed[0]) for one in crossed[1:]):
                found += crossed[0]
        return found

    def _cross(self, face: Face, turn: IndexMap, cells: Rectangle) -> list[Crossing]:
        if face not in self.crossings:
            return []
        block, through = self.crossings[face]
        return self._ways(block, turn.then(through), through.of(cells))


def _split(part: Range, length: int) -> list[tuple[Side | None, Range]]:
    """The parts of a range before the first, within and after the last of `length` cells."""
    (first, end), found = part, list[tuple[Side | None, Range]]()
    if first < 0:
        found.append(("low", (first, min(end, 0))))
    if first < length and end > 0:
        found.append((None, (max(first, 0), min(end, length))))
    if end > length:
        found.append(("high", (max(first, length), end)))
    return found


def _ends(axis: str, edge: Edge | tuple[Edge, Edge], shape: Mapping[str, int]) -> tuple[Edge, Edge]:
    low, high = (edge, edge) if isinstance(edge, str) else edge
    for end in (low, high):
        if axis not in shape or end not in ("wall", "periodic", "pole"):
            raise GridError(f'Edge "{end}" of axis "{axis}" is not known. Axes: {", ".join(shape)}; edges: wall, periodic, pole.')
    if "periodic" in (low, high) and low != high:
        raise GridError(f'Axis "{axis}" has the edges {low} and {high}. An axis is periodic at both ends or at none.')
    return low, high


def _longitude(axis: str, ends: Mapping[str, tuple[Edge, Edge]], shape: Mapping[str, int]) -> str:
    """The axis around the pole at an end of `axis`."""
    around = [name for name in shape if ends[name][0] == "periodic"]
    if len(around) != 1 or shape[around[0]] % 2:
        told = f"axis {around[0]} has {shape[around[0]]} cells" if len(around) == 1 else f"{len(around)} axes are periodic"
        raise GridError(f'The pole of axis "{axis}" needs one periodic axis, of an even number of cells, as its longitude: {told}.')
    return around[0]


def _through(face: Face, join: Join, blocks: Sequence[Sequence[int]]) -> IndexMap:
    """The index map from the block of a face into the block of its partner."""
    mine, theirs = blocks[face.block], blocks[join.face.block]
    against = face.side == join.face.side
    if sorted(join.axes) != list(range(len(mine))) or join.axes[face.axis] != join.face.axis or join.flips[face.axis] != against:
        raise GridError(
            f"{_named(face)} cannot be joined to {_named(join.face)} by axes {join.axes} and flips {join.flips}: axis {face.axis} must "
            f"become axis {join.face.axis}, {'flipped' if against else 'not flipped'}, and each axis one other."
        )
    signs = [-1 if flip else 1 for flip in join.flips]
    offsets = [mine[axis] - 1 if flip else 0 for axis, flip in enumerate(join.flips)]
    before, behind = mine[face.axis], theirs[join.face.axis]
    if face.side == "high":
        offsets[face.axis] = behind - 1 + before if against else -before
    else:
        offsets[face.axis] = -1 if against else behind
    for axis, length in enumerate(mine):
        if axis != face.axis and length != theirs[join.axes[axis]]:
            raise GridError(
                f"{_named(face)} has {length} cells along axis {axis}, {_named(join.face)} has {theirs[join.axes[axis]]} along axis "
                f"{join.axes[axis]}. Faces that are joined have the same cells."
            )
    return IndexMap(tuple(join.axes), tuple(signs), tuple(offsets))


def _named(face: Face) -> str:
    return f"The {face.side} face of axis {face.axis} of block {face.block}"
