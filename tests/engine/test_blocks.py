"""A plane in two blocks, the second stored turned and reversed in any way, is computed as one: the same bits."""

import numpy as np
from examples.diffusion import Diffusion
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.comm import BoxReach, Serial, World
from steppe.grid import Boxes, Domain, Edges, Face, Join
from steppe.kernels.sums import totals
from steppe.testing import run_threads
from tests.engine.test_diffusion import CLOCK, Nothing

HALO = {"y": 1, "x": 1}


def spread(boxes: Boxes, blocks: list[np.ndarray], world: World) -> np.ndarray:
    """The own cells of a rank after ten steps."""
    box, model = boxes[world.rank], Diffusion()
    part = tuple(slice(first, first + n) for first, n in zip(box.origin, box.shape, strict=True))
    model.initialise(box, {"rate": 0.2}, {"concentration": blocks[box.block][part]}, {}, BoxReach(world, box, totals))
    model.advance(range(10), Nothing(), CLOCK, Nothing())
    return model.export("concentration")


@settings(max_examples=30)
@given(
    rows=st.integers(2, 8),
    left=st.integers(2, 6),
    right=st.integers(2, 6),
    swapped=st.booleans(),
    reversed_axes=st.sets(st.sampled_from([0, 1])),
    ring=st.booleans(),
    cuts=st.lists(st.integers(1, 2), min_size=4, max_size=4),
)
def test_a_plane_in_two_blocks_is_computed_as_one(
    rows: int, left: int, right: int, swapped: bool, reversed_axes: set[int], ring: bool, cuts: list[int]
) -> None:
    field = np.random.default_rng(rows).random((rows, left + right))
    edges: Edges = {"x": "periodic"} if ring else {}
    one = Boxes(Domain.of({"y": rows, "x": left + right}, edges), HALO, [(1, 1)])
    expected = spread(one, [field], Serial())

    def stored(values: np.ndarray) -> np.ndarray:
        return np.flip(values.T if swapped else values, tuple(reversed_axes))

    def plain(values: np.ndarray) -> np.ndarray:
        flipped = np.flip(values, tuple(reversed_axes))
        return flipped.T if swapped else flipped

    y, x = (1, 0) if swapped else (0, 1)  # axes of the second block that run along those of the first
    flips = (y in reversed_axes, x in reversed_axes)
    west, east = ("high", "low") if flips[1] else ("low", "high")
    joins = {Face(0, 1, "high"): Join(Face(1, x, west), (y, x), flips)}
    if ring:
        joins[Face(0, 1, "low")] = Join(Face(1, x, east), (y, x), flips)
    blocks = [field[:, :left], stored(field[:, left:])]
    boxes = Boxes(Domain.joined(("y", "x"), [block.shape for block in blocks], joins), HALO, [(cuts[0], cuts[1]), (cuts[2], cuts[3])])
    found = [np.empty(block.shape) for block in blocks]
    for box, values in zip(boxes, run_threads(len(boxes), lambda world: spread(boxes, blocks, world)), strict=True):
        found[box.block][tuple(slice(first, first + n) for first, n in zip(box.origin, box.shape, strict=True))] = values
    assert np.hstack([found[0], plain(found[1])]).tobytes() == expected.tobytes()
