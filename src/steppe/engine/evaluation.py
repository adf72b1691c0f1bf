"""The value of the expression of a trigger, on all ranks together; the same for any number of ranks."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from steppe.api.expression import Node
from steppe.array_types import Array
from steppe.comm import World
from steppe.kernels.sums import total

OPERATORS: dict[str, Callable[..., Any]] = {
    "and": operator.and_,
    "or": operator.or_,
    "<": operator.lt,
    ">": operator.gt,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "negative": operator.neg,
}


class NoValueError(Exception):
    """The expression has no value: it divides by 0, or is not finite. All ranks raise it together."""


class Evaluation:
    """Evaluates expressions at one step; every rank makes one and evaluates the same expressions.

    Parameters
    ----------
    fields
        Name -> values of this rank's cells, (cells,).
    area
        Of this rank's cells, (cells,) [m2]; a mean is one by area.
    world
        All ranks.
    """

    def __init__(self, fields: Mapping[str, Array], area: Array, world: World) -> None:
        self._fields, self._area, self._world = fields, area, world

    def answer(self, tree: Node) -> tuple[bool, str]:
        """True if an expression holds, and the reason why it has no value, or ""."""
        try:
            return self.holds(tree), ""
        except NoValueError as error:
            return False, str(error)

    def holds(self, tree: Node) -> bool:
        """True if an expression holds.

        Raises
        ------
        NoValueError
            It has no value.
        """
        with np.errstate(all="ignore"):
            return bool(self._of(tree))

    def _of(self, node: Node) -> Any:
        if node.what == "variable":
            return self._fields[node.name].astype(np.float64)
        if node.what == "number":
            return node.value
        parts = [self._of(part) for part in node.parts]
        if node.what not in OPERATORS:
            return self._aggregate(node.what, parts[0])
        if node.what == "/":
            self._refuse(node.parts[1].kind == "cells", parts[1] == 0, "it divides by 0")
        found = OPERATORS[node.what](*parts)
        if node.kind == "number":
            self._refuse(False, not np.isfinite(found), "a number in it is not finite")
        return found

    def _aggregate(self, what: str, values: Array) -> float:
        self._refuse(True, ~np.isfinite(values), f"{what}() met a value that is not finite")
        reduce = self._world.reduce
        if what == "sum":
            found = total(values, reduce)
        elif what == "mean":
            found = total(values * self._area, reduce) / total(self._area, reduce)
        elif what == "min":
            found = float(reduce(np.array([values.min(initial=np.inf)]), "min")[0])
        else:
            found = float(reduce(np.array([values.max(initial=-np.inf)]), "max")[0])
        self._refuse(False, not np.isfinite(found), f"{what}() is not finite")
        return found

    def _refuse(self, shared: bool, wrong: bool | Array, why: str) -> None:
        """Raises `NoValueError` on all ranks. shared: each rank knows of its own cells only."""
        bad = bool(np.any(wrong))
        if shared:
            bad = bool(self._world.reduce(np.array([bad], np.int64), "max")[0])
        if bad:
            raise NoValueError(why)
