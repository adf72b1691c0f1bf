"""Answers about branches: the values for a query are computed, gathered or reduced once for each position, and then kept.

    stepping thread ── get, show ──> shown: position, values ──> answer ── listening thread
                                     replaced as a whole

Queries of the last two seconds are answered again after each piece of steps; nothing else is copied or gathered. With a single rank whole
variables are kept, from which all answers are cut; with many ranks the values of the query, reduced where the data lie.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from math import prod
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from steppe.api.documents import ArrayHead, ImageColours
from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.comm import Serial
from steppe.control import Position
from steppe.engine.branch import Branch
from steppe.engine.plan import Plan
from steppe.engine.query_cut import Cut, check, cut_of, numbers_of
from steppe.engine.uploads import cells_of
from steppe.errors import Failure, Mistake, NotComputedError, RequestError, UnknownNameError
from steppe.failpoint import reach
from steppe.levels import parted
from steppe.variable import Role, Variable
from steppe.view import choose_colours, class_colours, class_shades, levels, png

Answer = tuple[ArrayHead, memoryview]

MOST = 256  # values that are kept of a branch at one position
AT_HAND = 16 << 20  # bytes of states that are gathered after each long step
HOT = 2.0  # [s] after the last request for a query in which it is answered again


class Shown(NamedTuple):
    """The kept values of a branch. values: key of a query -> values."""

    position: Position
    values: Mapping[MapQuery, Array]


class _Asked(NamedTuple):
    """A query, its cut, and the key of its kept values. whole: these are all cells of the variable."""

    query: MapQuery
    cells: Array | None
    cut: Cut
    key: MapQuery
    whole: bool


class QueryCache:
    """The answers about the branches of one run. ranks: how many compute it."""

    def __init__(self, plan: Plan, ranks: int) -> None:
        self._plan, self._ranks = plan, ranks
        self.shown: dict[int, Shown] = {}
        self.moved: Counter[str] = Counter()
        """Bytes of each variable that were computed or gathered for answers."""
        self._hot: dict[int, dict[MapQuery, tuple[_Asked, float]]] = {}
        self._states = _small(plan)

    def get(self, on: Branch, query: MapQuery) -> Answer:
        """Computes an answer; on the stepping thread.

        Raises
        ------
        Mistake
            The variable or the step does not exist, or not yet.
        """
        asked = self._asked(query)
        if asked.query.step not in (None, on.position.step):
            return self._recorded(on, asked, int(asked.query.step or 0))
        if on.number not in self.shown:  # it was closed for a while
            self.show(on)
        self._heat(on.number, asked)
        shown, moved = self.shown[on.number], 0
        if asked.key not in shown.values:
            before = self.moved[asked.query.name]
            values = self._gathered(on, asked)
            moved = self.moved[asked.query.name] - before
            others = shown.values if len(shown.values) < MOST else {}
            self.shown[on.number] = shown = Shown(on.position, {**others, asked.key: values})
            self._hot[on.number] = dict([*self._hot.get(on.number, {}).items()][-MOST:])
        return self._made(shown, asked, moved)

    def rounded(self, on: Branch, query: MapQuery, first: int) -> Answer:
        """An answer about a past step, from a record in float32; the head has `rounded`. first: step that is at hand. Raises as `get`."""
        asked = self._asked(query)
        return self._recorded(on, asked, int(asked.query.step or 0), first)

    def once(self, on: Branch, query: MapQuery) -> Answer:
        """An answer of a branch of which no values are kept. Raises as `get`."""
        asked = self._asked(replace(query, step=None))
        before = self.moved[asked.query.name]
        shown = Shown(on.position, {asked.key: self._gathered(on, asked)})
        return self._made(shown, asked, self.moved[asked.query.name] - before)

    def answer(self, branch: int, query: MapQuery) -> Answer | None:
        """An answer from kept values, on the listening thread at any moment. None: only the stepping thread has it.

        Raises
        ------
        Mistake
            The variable does not exist.
        """
        shown = self.shown.get(branch)
        if shown is None or query.along:
            return None
        try:
            asked = self._asked(query)
        except Failure:  # the stepping thread reports it
            return None
        self._heat(branch, asked)
        if _held(shown, asked) is None or asked.query.step not in (None, shown.position.step):
            return None
        return self._made(shown, asked)

    def show(self, on: Branch, every_state: bool = False) -> None:
        """Shows a branch at its position, with the values of recent queries, and all states if asked for."""
        now, before = time.monotonic(), [*self._hot.get(on.number, {}).items()]  # the listening thread may change it
        hot = self._hot[on.number] = {key: (asked, at) for key, (asked, at) in before if now - at < HOT}
        wanted = [asked for asked, _ in hot.values()]
        if every_state:
            wanted += [self._asked(MapQuery(name=name, packed=True)) for name in self._states]
        values: dict[MapQuery, Array] = {}
        for asked in wanted:
            if asked.key not in values:
                try:
                    values[asked.key] = self._gathered(on, asked)
                except Mistake:  # a missing diagnostic: the answer to the next query reports it
                    continue
        self.shown[on.number] = Shown(on.position, values)
        assert reach("shown.swapped")

    def values(self, on: Branch, name: str, gather: Callable[[], Array]) -> Array:
        """A whole variable of a branch at its position, ([levels,] cells), by `gather` if it is not kept."""
        shown, key = self.shown.get(on.number), MapQuery(name=name)
        if shown is None or shown.position != on.position:
            shown = Shown(on.position, {})
        if key not in shown.values:
            self.shown[on.number] = shown = Shown(on.position, {**shown.values, key: gather()})
        return shown.values[key]

    def discard(self, branch: int) -> None:
        """Discards the kept values of a branch."""
        self.shown.pop(branch, None)
        self._hot.pop(branch, None)

    def _recorded(self, on: Branch, asked: _Asked, step: int, first: int | None = None) -> Answer:
        """An answer about a past step, from its records; also rounded ones where the `first` step that is at hand is given."""
        name, rounded, now = asked.query.name, first is not None, on.position.step
        values = on.recorded(name, step, rounded) if step < now else None
        if values is None:
            why = f'no record of "{name}" holds it, and computing it again takes too long or is not possible'
            why = "it has not come there" if step > now else why
            near = f"; steps {first} to {now} are at hand, earlier ones close behind a checkpoint"
            near = near if first is not None and first < now else ""
            raise NotComputedError(
                f"Step {step} is not at hand: {why}. It stands at step {now}{near}. "
                "Take the last step, record the variable at every step, or branch at that step."
            )
        self.moved[name] += values.nbytes
        values = values.astype(self._plan.variables[name].dtype, copy=False)  # all steps of a series have one type
        head, body = self._made(Shown(Position(step, 0), {asked.key: values}), asked._replace(whole=True), values.nbytes)
        if rounded:
            head["rounded"] = "float32"
        return head, body

    # ---- inside ---------------------------------------------------------------------------------------------------------------------
    def _heat(self, branch: int, asked: _Asked) -> None:
        self._hot.setdefault(branch, {})[asked.key] = asked, time.monotonic()
        if branch not in self.shown:  # it was discarded meanwhile
            self._hot.pop(branch, None)

    def _asked(self, query: MapQuery) -> _Asked:
        check(query)
        variables = self._plan.variables
        if query.name in self._plan.inputs:
            query = replace(query, step=None)  # it is the same at every step
        if query.name not in variables:
            raise UnknownNameError(variables.missing(query.name))
        if not query.packed:
            variables.expect_no_levels(query.name)
        cells = cells_of(query.chosen, self._plan.grid.n_cells) if query.chosen else None
        cut = cut_of(query, self._plan.grid, cells, variables[query.name].classes)
        whole = self._ranks == 1 or (cut.cells is None and not cut.reduce)
        return _Asked(query, cells, cut, MapQuery(name=query.name) if whole else numbers_of(query), whole)

    def _gathered(self, on: Branch, asked: _Asked) -> Array:
        values: Array
        assert reach("gather.middle")
        if asked.whole:
            values = on.order("export", name=asked.query.name)
        elif asked.cut.reduce:
            values = on.order("reduce", query=replace(asked.key, chosen=b""), cells=asked.cells)
        else:
            values = on.order("export", name=asked.query.name, cells=asked.cut.cells)
            self.moved[asked.query.name] += values.nbytes
            return asked.cut.placed(values)
        assert reach("gather.middle")
        self.moved[asked.query.name] += values.nbytes
        return values

    def _made(self, shown: Shown, asked: _Asked, moved: int = 0) -> Answer:
        query, cut, found = asked.query, asked.cut, _held(shown, asked)
        assert found is not None, "it is shown"
        if asked.whole:
            chosen = cut.chosen(found)
            found = cut.reduced(chosen, slice(None), Serial()) if cut.reduce else cut.placed(chosen)
        found = np.ascontiguousarray(found)
        variable = self._plan.variables[query.name]
        head: ArrayHead = {
            "variable": query.name,
            "units": variable.units,
            "long_name": variable.long_name,
            "dtype": found.dtype.newbyteorder("<").str,
            "shape": list(found.shape),
            "dims": list(cut.dims),
            "box": cut.box,
        }
        if cut.lat is not None:
            head["lat"] = cut.lat
        head["step"], head["seq"] = shown.position
        head["date"], head["moved"] = self._plan.clock.after(shown.position.step), moved
        if query.format != "png":
            return head, found.reshape(-1).view(np.uint8).data
        image, said = image_of(found, variable, query.low, query.high, query.style)
        return {**head, **said}, memoryview(image)


def _held(shown: Shown, asked: _Asked) -> Array | None:
    """The kept values of a query; of one level also from those of all levels. None: there are none."""
    name, level = parted(asked.query.name)
    every = MapQuery(name=name)
    if asked.key not in shown.values and asked.whole and level is not None and every in shown.values:
        found: Array = shown.values[every][level]
        return found
    return shown.values.get(asked.key)


def _small(plan: Plan) -> list[str]:
    """The states that are shown during a long step: in the order of the model, as many as fit into `AT_HAND`."""
    found, room = [], AT_HAND
    for name, variable in plan.model.variables.items():
        size = prod(plan.variables.leading(name)) * plan.grid.n_cells * np.dtype(variable.dtype).itemsize
        if variable.role is Role.STATE and size <= room:
            found.append(name)
            room -= size
    return found


def image_of(
    values: Array, variable: Variable, low: float | None = None, high: float | None = None, style: str | None = None
) -> tuple[bytes, ImageColours]:
    """A PNG file of a map (rows, columns), and the meaning of its colours: low, high, style. Defaults are chosen from the values.

    Each class has a colour of its own unless a style is given; low and high are then the least and greatest class, style is "classes".

    Raises
    ------
    RequestError
        There is no such colour map, or low is not less than high.
    """
    if variable.classes and style is None:
        image = png(levels(class_shades(values, variable.classes), class_colours(variable.classes)), "classes")
        return image, {"low": float(min(variable.classes)), "high": float(max(variable.classes)), "style": "classes"}
    colours = choose_colours(values, variable.name, variable.units, variable.standard_name, variable.long_name)
    low, high, style = colours.low if low is None else low, colours.high if high is None else high, style or colours.name
    if not low < high:
        raise RequestError(f"The colours of an image need low < high, they would go from {low:g} to {high:g}.")
    try:
        return png(levels(values, colours.between(low, high)), style), {"low": low, "high": high, "style": style}
    except AttributeError:
        raise RequestError(f'There is no colour map "{style}". Take one of cmcrameri, such as batlow.') from None
