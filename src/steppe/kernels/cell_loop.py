"""The loop around a cell model's step, written for one model as text: blocks of cells, in them days, in them cells.

A block's numbers lie in one scratch array `work`, row r of `B` cells at work[r * S]. The loop over cells takes `T` of them a turn, two
vectors, and a block that is not full repeats its last cell until the last turn is. It becomes vector code without any test, because
that number is known, rows lie at constant distances, and no two pointers that a function is given lead to the same row (`compiling`).
So a share of any size costs what its cells cost, and some of the last turn. In the text n is the number of cells of a block and m that
of its turns' cells. Rows, top to bottom:

    state | optional forcing | code of a bad cell, step of it, odd | forcing | per-cell parameters and derived | diagnostics | new state

A step reads a state from one of its two rows and writes the other, then they change places. A cell that becomes bad so has its last
good state still, and the loop need not ask which cells are good: whether a block has a bad one is known from the limits of the forcing,
looked at where it is decoded, and from a number mixed of all the new state, `odd`. Only then `judge` looks at each cell.

Optional forcing lies in the state array too: it is carried from step to step, and what it becomes after each is its default.
A loop over the rows of an array takes their number at run time: unrolled, it would be most of the program.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from steppe.kernels.source import Function, attributes

BLOCK = 256  # cells
TURN = 32  # cells: a turn of the loop takes so many, or a whole part of them, on any processor
PAD = 16  # numbers between two rows of a block: rows a multiple of 1 kB apart would share few places of the first cache
STATE_NOT_FINITE = 100  # code of a bad cell; k is the k-th forcing, from 1, outside its limits or missing
OPERATIONS = ("sum", "min", "max", "last")
TODAY = ("day_of_year", "month", "year")


def row_length(block: int) -> int:
    """Numbers from one row of `work` to the next."""
    return block + PAD


@dataclass(frozen=True)
class CellStep:
    """The step of a cell model and the properties of its numbers.

    groups: "State", "Forcing", "Parameters", "Diagnostics" and, where the model has them, "Derived", "Today", "Options".
    arguments: the groups in the order of the step's arguments. limits: forcing -> (low, high). defaults: optional forcing -> value.
    options: the chosen indices, constants of the kernel.
    """

    name: str
    step: Function
    groups: Mapping[str, type]
    arguments: tuple[str, ...]
    limits: Mapping[str, tuple[float, float]]
    defaults: Mapping[str, float]
    options: tuple[int, ...] = ()

    def fields(self, group: str) -> tuple[str, ...]:
        """The names in a group, in order of declaration; empty when the model has no such group."""
        return tuple(getattr(self.groups.get(group), "_fields", ()))


class WorkRows:
    """The rows of `work` by name. carried: rows of the state array; per_cell: rows of the array of per-cell constants."""

    def __init__(self, model: CellStep, per_cell: tuple[str, ...], diagnostics: tuple[str, ...]) -> None:
        self.states = len(model.fields("State"))
        self.carried = (*model.fields("State"), *model.defaults)
        self.code, self.step, self.odd = range(len(self.carried), len(self.carried) + 3)
        self.forcing = tuple(name for name in model.fields("Forcing") if name not in model.defaults)
        self.per_cell = per_cell
        self.diagnostics = diagnostics
        names = (*self.carried, "", "", "", *self.forcing, *(f"constant {name}" for name in per_cell), *self.diagnostics)
        self.count = len(names) + self.states
        self._row = {name: row for row, name in enumerate(names)}

    def __getitem__(self, name: str) -> int:
        return self._row[name]

    def __contains__(self, name: str) -> bool:
        return name in self._row


_TEXT = '''
@inline
def load(array, stride, rows, at, n, m, work, to):
    """Cells at..at+n of each row into `work`; the last cell again until m."""
    for k in range(rows):
        source, target = k * stride + at, (to + k) * S
        for i in range(n):
            work[target + i] = Real(array[source + i])
        for i in range(n, m):
            work[target + i] = Real(array[source + n - 1])


@inline
def store(work, from_row, array, stride, rows, at, n):
    for k in range(rows):
        source, target = (from_row + k) * S, k * stride + at
        for i in range(n):
            array[target + i] = work[source + i]


@inline
def decode(array, at, n, m, scale, offset, low, high, work, to):
    """A row of forcing into `work`; whether all of it lies within the limits."""
    good = True
    for i in range(n):
        value = Real(array[at + i]) * scale + offset
        work[to + i] = value
        good = good & (value >= low) & (value <= high)
    for i in range(n, m):
        work[to + i] = work[to + n - 1]
    return good


@inline
def decode_integers(array, at, n, m, scale, offset, low, high, work, to):
    """The same; the limits are whole numbers, and what is missing lies outside of them."""
    least, most = array[at], array[at]
    for i in range(n):
        work[to + i] = Real(array[at + i]) * scale + offset
        least, most = lesser(least, array[at + i]), greater(most, array[at + i])
    good = Real(least) >= low and Real(most) <= high
    if not good:
        for i in range(n):
            if array[at + i] == MISSING:
                work[to + i] = NAN
    for i in range(n, m):
        work[to + i] = work[to + n - 1]
    return good


@separate
def advance(old, new, work, uniform, today, j, m):
    """One step of all cells of a block; `odd` is not 0 where a new state is not finite, and where it is very large."""
{uniform}
{today}
    for first in range(0, m, T):
        for i in range(first, first + T):
{loads}
            s, diagnostic = step({arguments})
{stores}
            mixed = {mixed}
            work[{odd} + i] = mixed - mixed


@inline
def all_zero(work, at, m):
    good = True
    for i in range(m):
        good = good & (work[at + i] == ZERO)
    return good


@inline
def blame(values, low, high, odd, number, m):
    """`number` into `odd` where a value lies outside the limits. What stays is stored as `odd + ZERO`, as a plain select between a new
    value and what lies in its place becomes a masked store, which takes some twenty operations on AMD Zen."""
    for i in range(m):
        odd[i] = where(values[i] >= low and values[i] <= high, odd[i] + ZERO, number)


@inline
def judge(old, new, work, states, n_limits, limit_rows, lowest, highest, j, m):
    """Finds the cells that became bad in step j. A bad cell keeps its state and has no diagnostics."""
    if not all_zero(work, {odd}, m):
        for i in range(m):
            work[{odd} + i] = ZERO
        for k in range(states):
            for i in range(m):
                work[{odd} + i] += new[k * S + i] - new[k * S + i]
    for i in range(m):
        work[{odd} + i] = where(work[{odd} + i] == ZERO, ZERO, Real({not_finite}))
    for k in range(n_limits - 1, -1, -1):
        blame(pointer(work, limit_rows[k] * S), lowest[k], highest[k], pointer(work, {odd}), Real(k + 1), m)
    for i in range(m):
        if work[{code_at} + i] == ZERO and work[{odd} + i] != ZERO:
            work[{code_at} + i], work[{step_at} + i] = work[{odd} + i], Real(j)
        if work[{code_at} + i] != ZERO:
            for k in range(states):
                new[k * S + i] = old[k * S + i]
            for k in range({diagnostics_row}, {second}):
                work[k * S + i] = NAN


@inline
def record(work, source, n, operation, values, at):
    """One row reduced into float64 `values`; a NaN stays."""
    if operation == SUM:
        for i in range(n):
            values[at + i] += float64(work[source + i])
    elif operation == MIN:
        for i in range(n):
            new, old = float64(work[source + i]), values[at + i]
            values[at + i] = new if new < old or new != new else old
    elif operation == MAX:
        for i in range(n):
            new, old = float64(work[source + i]), values[at + i]
            values[at + i] = new if new > old or new != new else old
    else:
        for i in range(n):
            values[at + i] = float64(work[source + i])


def kernel({parameters}):
    optional = carried_rows - states
    for c in range(first, last, B):
        n = min(B, last - c)
        m = (n + T - 1) & -T  # so LLVM knows that it is a multiple
        load(state, cells, states, c, n, m, work, 0)
        load(state, cells, optional, states * cells + c, n, m, work, {optional_row})
        load(codes, cells, 1, c, n, m, work, {code})
        load(constants, cells, n_constants, c, n, m, work, {constants_row})
        good = all_zero(work, {code_at}, m)
        for k in range(n_limits):
            if limit_rows[k] < carried_rows:
                for i in range(m):
                    value = work[limit_rows[k] * S + i]
                    good = good & (value >= lowest[k]) & (value <= highest[k])
        old, new = 0, {second}
        for j in range(steps):
            for k in range(n_forcing):
                at = row_of[k * steps + j] * columns + c - column_0
                if kind == 0:
                    fine = decode_integers(integers, at, n, m, scale[k], offset[k], low[k], high[k], work, place[k] * S)
                elif kind == 1:
                    fine = decode(singles, at, n, m, scale[k], offset[k], low[k], high[k], work, place[k] * S)
                else:
                    fine = decode(doubles, at, n, m, scale[k], offset[k], low[k], high[k], work, place[k] * S)
                good = good and fine
            before, after = pointer(work, old * S), pointer(work, new * S)
            advance(before, after, work, uniform, today, j, m)
            good = good and all_zero(work, {odd}, m)
            if not good:
                judge(before, after, work, states, n_limits, limit_rows, lowest, highest, j, m)
            for r in range(n_records):
                slot = record_slots[r * steps + j]
                if slot >= 0:
                    row = record_rows[r] + (new if record_rows[r] < states else 0)
                    record(work, row * S, n, record_operations[r], float64_pointer(record_values[r]), slot * cells + c)
{defaults}
            old, new = new, old
        store(work, old, state, cells, states, c, n)
        store(work, {optional_row}, state, cells, optional, states * cells + c, n)
        for i in range(n):
            if codes[c + i] == 0 and work[{code_at} + i] != ZERO:
                codes[c + i] = int32(work[{code_at} + i])
                bad_steps[c + i] = int32(step_0 + int64(work[{step_at} + i]))
'''

# Arguments of the kernel: name -> what it points to ("real" in the model's precision) or "number".
PARAMETERS = {
    "work": "real",
    "state": "real",  # (rows, cells)
    "codes": "int32",  # (cells,)
    "bad_steps": "int32",  # (cells,)
    "cells": "number",
    "first": "number",  # cells first..last are computed
    "last": "number",
    "states": "number",  # of the rows of `state` the first, which are not optional forcing
    "carried_rows": "number",
    "constants": "real",  # (n_constants, cells)
    "n_constants": "number",
    "uniform": "real",  # parameters and derived that are one number for all cells
    "today": "real",  # (steps, 3): day of year, month, year
    "steps": "number",
    "step_0": "number",
    "kind": "number",  # of the forcing rows: 0 integers, 1 singles, 2 doubles; the three pointers are one address
    "integers": "int16",  # (rows, columns)
    "singles": "float32",
    "doubles": "float64",
    "columns": "number",  # from one row to the next
    "column_0": "number",  # the cell in column 0
    "n_forcing": "number",
    "row_of": "int32",  # (n_forcing, steps)
    "place": "int32",  # rows of `work`
    "scale": "real",
    "offset": "real",
    "low": "real",  # least and greatest that is good: of integers as they lie, of others when they are decoded
    "high": "real",
    "n_limits": "number",
    "limit_rows": "int32",  # of all forcing, rows of `work`
    "lowest": "real",  # good value
    "highest": "real",
    "n_records": "number",
    "record_rows": "int32",
    "record_operations": "int32",
    "record_slots": "int32",  # (n_records, steps)
    "record_values": "int64",  # addresses of float64 (slots, cells)
}


def loop_text(model: CellStep, per_cell: tuple[str, ...], diagnostics: tuple[str, ...], block: int = BLOCK) -> str:
    """The source of `kernel` for one model, one set of per-cell constants and recorded diagnostics, in any precision."""
    rows = WorkRows(model, per_cell, diagnostics)
    states = model.fields("State")
    constants = (*model.fields("Parameters"), *model.fields("Derived"))
    uniform = [name for name in constants if name not in per_cell]
    read = attributes(model.step)
    inner = " " * 12

    def at(name: str, array: str = "work") -> str:
        return f"{array}[{rows[name] * row_length(block)} + i]"

    def value(group: str, name: str) -> str:
        if group == "Options":
            return str(model.options[model.fields("Options").index(name)])
        if group in ("Parameters", "Derived"):
            return at(f"constant {name}") if name in per_cell else f"uniform_{name}" if name in read else "NAN"
        return f"today_{name}" if group == "Today" else f"v_{name}"

    def group_text(group: str) -> str:
        return f"{group}({', '.join(value(group, name) for name in model.fields(group))})"

    return _TEXT.format(
        parameters=", ".join(PARAMETERS),
        uniform="\n".join(f"    uniform_{name} = uniform[{k}]" for k, name in enumerate(uniform) if name in read),
        today="\n".join(f"    today_{name} = today[j * {len(TODAY)} + {TODAY.index(name)}]" for name in model.fields("Today")),
        loads="\n".join(f"{inner}v_{name} = {at(name, 'old' if name in states else 'work')}" for name in (*rows.carried, *rows.forcing)),
        arguments=", ".join(group_text(group) for group in model.arguments),
        stores="\n".join(
            [f"{inner}{at(name, 'new')} = s.{name}" for name in states] + [f"{inner}{at(name)} = diagnostic.{name}" for name in diagnostics]
        ),
        mixed=_mixed([f"s.{name}" for name in states]),
        not_finite=STATE_NOT_FINITE,
        optional_row=len(states),
        code=rows.code,
        code_at=rows.code * row_length(block),
        step_at=rows.step * row_length(block),
        constants_row=rows.odd + 1 + len(rows.forcing),
        odd=rows.odd * row_length(block),
        diagnostics_row=rows.count - len(states) - len(diagnostics),
        second=rows.count - len(states),
        defaults="\n".join(
            f"            for i in range(m):\n{' ' * 16}{at(name)} = Real({default!r})" for name, default in model.defaults.items()
        ),
    )


def _mixed(terms: list[str]) -> str:
    """The text of a number that is not finite when one of the terms is not: sums of products, as one instruction takes in two terms.

    Two chains of them, for every store of the step waits for this number. Products of large terms may be infinite; `judge` looks again.
    """
    pairs, chains = list(zip(terms[::2], terms[1::2], strict=False)), terms[len(terms) // 2 * 2 :]
    for some in (pairs[::2], pairs[1::2]):
        chain = ""
        for a, b in some:
            chain = f"fma({a}, {b}, {chain})" if chain else f"{a} * {b}"
        if chain:
            chains.append(chain)
    return " + ".join(chains)
