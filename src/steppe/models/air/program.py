"""A mechanism as a program: whole numbers that one compiled kernel reads, so that no mechanism needs compiling.

    speeds     for each process: it, n reactants, them; then the same of those that vary, by their place among them
    changes    for each species: n processes that change it, them                                            yields: the change of each
    varying    the processes whose rates vary in a step; then as `changes`, by their place among them        yields: the change of each
    partials   for each derivative of a speed: its process, n other reactants, them
    elements   for each element, in order: element, kind, diagonal of its column, n derivatives, them, m pairs, them      yields: factors
    rows       for each row with a lower triangle: row, -1, n pairs (element, column) of it; then for each row, last first: row, diagonal,
               n pairs of the upper triangle

Elements are those of the sparse matrix 1/(gamma h) - J after factoring: L below, reciprocals of U on the diagonal, U above; a pair is what
Crout's method takes off, L times U. The order of pivots is that of Markowitz (1957), Management Sci. 3: the least product of what else
stands in the row and the column.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats, Integers

UPPER, DIAGONAL, LOWER = range(3)  # kinds of elements
Equation = tuple[Sequence[int], Sequence[tuple[int, float]]]  # reactants, repeated for 2 X; products with their yields
Terms = dict[tuple[int, int], list[tuple[int, float]]]


class Program(NamedTuple):
    """What `steppe.models.air.rosenbrock` runs.

    species, processes, varying, partials, elements, rows: how many there are of each; elements of the matrix, with what fills in. signed: 1
    if a yield is below 0. varying_speeds_at to rows_at: where these sections of codes begin, that of speeds at 0; varying_yields_at,
    element_yields_at: where their yields do.
    """

    species: int
    processes: int
    varying: int
    partials: int
    elements: int
    rows: int
    signed: int
    varying_speeds_at: int
    changes_at: int
    varying_at: int
    partials_at: int
    elements_at: int
    rows_at: int
    varying_yields_at: int
    element_yields_at: int
    codes: Integers
    yields: Floats

    @classmethod
    def of(cls, species: int, equations: Sequence[Equation], varying: Collection[int] = ()) -> "Program":
        """The program of processes between so many species. varying: those whose rates vary in a step."""
        changes = [_changes(*equation) for equation in equations]
        partials = [(p, j) for p, (reactants, _) in enumerate(equations) for j in sorted(set(reactants))]
        order, filled = _factored(species, {(i, j) for p, j in partials for i in changes[p]} | {(i, i) for i in range(species)})
        element = {at: number for number, at in enumerate(sorted(filled))}
        speeds = _products(enumerate(reactants for reactants, _ in equations))
        varying_speeds = _products((place, equations[p][0]) for place, p in enumerate(varying))
        of_all, yields = _by_species(species, changes)
        of_varying, varying_yields = _by_species(species, [changes[p] for p in varying])
        derivatives = _products((p, _others(equations[p][0], j)) for p, j in partials)
        elements, element_yields = _elements(order, element, _terms(equations, changes, partials))
        rows = _rows(order, element)
        sections = speeds, varying_speeds, of_all, [*varying, *of_varying], derivatives, elements, [*chain(*rows)]
        begins: list[int] = np.cumsum([len(section) for section in sections[:-1]]).tolist()
        signed = int(any(times < 0.0 for _, products in equations for _, times in products))
        counts = species, len(equations), len(varying), len(partials), len(element), len(rows), signed
        begins += [len(yields), len(yields) + len(varying_yields)]
        every = np.array([*yields, *varying_yields, *element_yields], float)
        return cls._make([*counts, *begins, np.array([*chain(*sections)], np.int64), every])


def _products(products: Iterable[tuple[int, Sequence[int]]]) -> list[int]:
    """Of each, the row of its rate, how many species it is multiplied by, and them."""
    return [code for rate, species in products for code in (rate, len(species), *species)]


def _changes(reactants: Sequence[int], products: Sequence[tuple[int, float]]) -> Mapping[int, float]:
    """Species -> what one reaction adds to it; what is not changed is left out."""
    found: dict[int, float] = {}
    for i, share in [*((i, -1.0) for i in reactants), *products]:
        found[i] = found.get(i, 0.0) + share
    return {i: change for i, change in sorted(found.items()) if change != 0.0}


def _by_species(species: int, changes: Sequence[Mapping[int, float]]) -> tuple[list[int], list[float]]:
    """Of each species, the processes that change it; by how much."""
    found = [[p for p, changed in enumerate(changes) if i in changed] for i in range(species)]
    return [code for those in found for code in (len(those), *those)], [changes[p][i] for i, those in enumerate(found) for p in those]


def _others(reactants: Sequence[int], j: int) -> Sequence[int]:
    """What is left of the product of the reactants in its derivative by species j."""
    first = reactants.index(j)
    return [*reactants[:first], *reactants[first + 1 :]]


def _terms(equations: Sequence[Equation], changes: Sequence[Mapping[int, float]], partials: Sequence[tuple[int, int]]) -> Terms:
    """Element -> the derivatives of speeds whose sum, each with its factor, is -J there."""
    found: Terms = {}
    for number, (p, j) in enumerate(partials):
        times = list(equations[p][0]).count(j)
        for i, share in changes[p].items():
            found.setdefault((i, j), []).append((number, -share * times))
    return found


def _elements(order: Sequence[int], element: Mapping[tuple[int, int], int], terms: Terms) -> tuple[list[int], list[float]]:
    codes: list[int] = []
    yields: list[float] = []
    place = {k: n for n, k in enumerate(order)}
    for i in order:
        for j in (j for j in order if (i, j) in element):
            kind = UPPER if place[j] > place[i] else DIAGONAL if i == j else LOWER
            pairs = [(element[i, k], element[k, j]) for k in order[: min(place[i], place[j])] if (i, k) in element and (k, j) in element]
            own = terms.get((i, j), [])
            codes += [element[i, j], kind, element[j, j], len(own), *(number for number, _ in own), len(pairs), *chain(*pairs)]
            yields += [factor for _, factor in own]
    return codes, yields


def _rows(order: Sequence[int], element: Mapping[tuple[int, int], int]) -> list[list[int]]:
    """Those of the lower triangle, then those of the upper one from the last on; some of the lower have nothing to do."""
    forward = [(i, -1, order[:n]) for n, i in enumerate(order)]
    backward = [(i, element[i, i], order[n + 1 :]) for n, i in enumerate(order)][::-1]
    rows = [(i, diagonal, [(element[i, k], k) for k in others if (i, k) in element]) for i, diagonal, others in forward + backward]
    return [[i, diagonal, len(pairs), *chain(*pairs)] for i, diagonal, pairs in rows if diagonal >= 0 or pairs]


def _factored(species: int, pattern: set[tuple[int, int]]) -> tuple[list[int], set[tuple[int, int]]]:
    """The order of pivots, and the pattern with what fills in."""
    rows = [{j for i, j in pattern if i == k} for k in range(species)]
    columns = [{i for i, j in pattern if j == k} for k in range(species)]
    left, order = set(range(species)), []
    while left:
        k = min(left, key=lambda k: ((len(rows[k] & left) - 1) * (len(columns[k] & left) - 1), k))
        order.append(k)
        left.remove(k)
        for i in columns[k] & left:
            for j in rows[k] & left:
                rows[i].add(j)
                columns[j].add(i)
    return order, {(i, j) for i, row in enumerate(rows) for j in row}
