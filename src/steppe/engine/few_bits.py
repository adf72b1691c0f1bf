"""Variables in few bits, made where the cells are.

each rank: values of the chosen cells, or pixels ── one reduction of (least, greatest) ──> span ──> levels ── gather ──> rank 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.engine.query_cut import cut_of
from steppe.view import Span, extremes, following, levels_of

if TYPE_CHECKING:
    from steppe.engine.rank_state import RankState


class Made(NamedTuple):
    """The result of an order for frames: the common span, and for each branch the levels of the chosen cells, in their order."""

    span: Span
    levels: Sequence[Array]


def begin_frames(states: Sequence[RankState], query: MapQuery, bits: int, span: Sequence[Any] | None) -> Callable[[], Made | None]:
    """This rank's half of an order for a frame of each branch; the function that it returns does the common half."""
    first = states[0]
    world = first.world
    cut = cut_of(query, first.plan.grid, None, first.plan.variables[query.name].classes)
    before = None if span is None else Span(*span)
    here, index = first.gatherer.chosen(cut.cells)
    chosen = [state.exported(query.name)[index] for state in states]
    if cut.reduce:

        def pixels() -> Made | None:
            found = [cut.reduced(values, here, world).ravel()[cut.seen] for values in chosen]
            return _made(found, before, bits) if world.rank == 0 else None

        return pixels
    ends = [extremes(values) for values in chosen]

    def cells() -> Made | None:
        mine = np.array([max(-least for _, least, _ in ends), max(most for _, _, most in ends)])
        least, most = world.reduce(mine, "max").tolist() if world.size > 1 else mine.tolist()
        after = following(before, -least, most)
        found = [levels_of(values, known, after, bits) for values, (known, _, _) in zip(chosen, ends, strict=True)]
        levels = [state.gatherer.gathered(each, cut.cells) for state, each in zip(states, found, strict=True)]
        return Made(after, [each for each in levels if each is not None]) if world.rank == 0 else None

    return cells


def _made(maps: Sequence[Array], before: Span | None, bits: int) -> Made:
    ends = [extremes(values) for values in maps]
    after = following(before, min(least for _, least, _ in ends), max(most for _, _, most in ends))
    return Made(after, [levels_of(values, known, after, bits) for values, (known, _, _) in zip(maps, ends, strict=True)])
