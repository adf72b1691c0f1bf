"""One step of RODAS3 for many cells side by side, each with its own length: the arithmetic of chemistry.

For stage i (Hairer and Wanner 1996, Solving Ordinary Differential Equations II, section IV.7; coefficients of RODAS3: Sandu et al. 1997,
Atmos. Environ. 31, 3459):

    (1/(gamma h) - J) u_i = f(t + alpha_i h, y + sum a_ij u_j) + sum c_ij u_j / h + gamma_i h df/dt
    gamma 1/2; a (0 | 2 0 | 2 0 1); c (4 | 1 -1 | 1 -1 -8/3); gamma_i (1/2, 3/2, 0, 0); alpha (0, 0, 1, 1); y + sum (2 0 1 1) u; error u_4

Cells are *lanes*: every array is (..., lanes), and inner loops run over lanes. Rates change in time only for the processes that vary;
theirs are given at both ends of the step, with their change at its beginning. What a lane computes depends on no other lane.

A sum runs in `total`, (lanes,), several terms at a time: it shares no memory with what it is made of, so that its loop is vector code
without a check.
"""

from typing import NamedTuple, Self

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.models.air.program import DIAGONAL, LOWER, Program


class Scratch(NamedTuple):
    """speeds (rows of the program, lanes); total (lanes,)."""

    speeds: Floats
    total: Floats


class Attempt(NamedTuple):
    """What a step is made of, and in.

    h (lanes,): its length. now, later, slope (varying, lanes): the rates that vary, at both ends of the step, and their change at its
    beginning. k (processes, lanes): all rates, of which those that vary are overwritten. y (species, lanes): concentrations before.
    a (elements, lanes): the matrix. f, u1, u2, u3 (species, lanes): dy/dt and stages. z: concentrations after it; error: their estimated
    error.
    """

    h: Floats
    now: Floats
    later: Floats
    slope: Floats
    k: Floats
    y: Floats
    a: Floats
    scratch: Scratch
    f: Floats
    u1: Floats
    u2: Floats
    u3: Floats
    z: Floats
    error: Floats

    @classmethod
    def room(cls, program: Program, lanes: int) -> Self:
        """Zeros for some lanes."""

        def zeros(rows: int) -> Floats:
            return np.zeros((rows, lanes))

        n, v = program.species, program.varying
        varying, stages = (zeros(v), zeros(v), zeros(v)), [zeros(n) for _ in range(6)]
        scratch = Scratch(zeros(max(program.processes, program.partials)), zeros(1))
        return cls(zeros(1), *varying, zeros(program.processes), zeros(n), zeros(program.elements), scratch, *stages)


def plus(lanes: int, n: int, program: Program, c: int, q: int, scratch: Scratch) -> None:
    """Adds n speeds, which stand at codes[c], to the total, each times its yield, from yields[q] on."""
    codes, yields, v, total = program.codes, program.yields, scratch.speeds, scratch.total
    u = 0
    while u + 4 <= n:
        r0, r1, r2, r3 = codes[c + u] * lanes, codes[c + u + 1] * lanes, codes[c + u + 2] * lanes, codes[c + u + 3] * lanes
        s0, s1, s2, s3 = yields[q + u], yields[q + u + 1], yields[q + u + 2], yields[q + u + 3]
        for i in range(lanes):
            total[i] = total[i] + s0 * v[r0 + i] + s1 * v[r1 + i] + s2 * v[r2 + i] + s3 * v[r3 + i]
        u += 4
    for rest in range(u, n):
        r0, s0 = codes[c + rest] * lanes, yields[q + rest]
        for i in range(lanes):
            total[i] += s0 * v[r0 + i]


def minus(lanes: int, n: int, codes: Integers, c: int, a: Floats, x: Floats, total: Floats) -> None:
    """total -= the sum of n products of rows of a and of x, which stand in pairs at codes[c]."""
    u = 0
    while u + 3 <= n:
        a0, x0, a1 = codes[c + 2 * u] * lanes, codes[c + 2 * u + 1] * lanes, codes[c + 2 * u + 2] * lanes
        x1, a2, x2 = codes[c + 2 * u + 3] * lanes, codes[c + 2 * u + 4] * lanes, codes[c + 2 * u + 5] * lanes
        for i in range(lanes):
            total[i] = total[i] - a[a0 + i] * x[x0 + i] - a[a1 + i] * x[x1 + i] - a[a2 + i] * x[x2 + i]
        u += 3
    for rest in range(u, n):
        a0, x0 = codes[c + 2 * rest] * lanes, codes[c + 2 * rest + 1] * lanes
        for i in range(lanes):
            total[i] -= a[a0 + i] * x[x0 + i]


def multiply(lanes: int, n: int, codes: Integers, c: int, k: Floats, y: Floats, speeds: Floats) -> None:
    """n speeds, (n, lanes), each a row of rates k times some rows of y; the table is at codes[c]."""
    for to in range(0, n * lanes, lanes):
        at, factors = codes[c] * lanes, codes[c + 1]
        if factors == 1:
            a = codes[c + 2] * lanes
            for i in range(lanes):
                speeds[to + i] = k[at + i] * y[a + i]
        elif factors == 2:
            a, b = codes[c + 2] * lanes, codes[c + 3] * lanes
            for i in range(lanes):
                speeds[to + i] = k[at + i] * y[a + i] * y[b + i]
        else:
            for i in range(lanes):
                speeds[to + i] = k[at + i]
            for r in range(factors):
                a = codes[c + 2 + r] * lanes
                for i in range(lanes):
                    speeds[to + i] = speeds[to + i] * y[a + i]
        c += 2 + factors


def gather(lanes: int, program: Program, c: int, q: int, scratch: Scratch, f: Floats) -> None:
    """f (species, lanes): by species, the sum of the speeds that change it; the table is at codes[c] and yields[q]."""
    codes, total = program.codes, scratch.total
    for s in range(program.species):
        n = codes[c]
        for i in range(lanes):
            total[i] = 0.0
        plus(lanes, n, program, c + 1, q, scratch)
        for i in range(lanes):
            f[s * lanes + i] = total[i]
        c += 1 + n
        q += n


def change(lanes: int, program: Program, k: Floats, y: Floats, scratch: Scratch, f: Floats) -> None:
    """f = dy/dt at rates k (processes, lanes)."""
    multiply(lanes, program.processes, program.codes, 0, k, y, scratch.speeds)
    gather(lanes, program, program.changes_at, 0, scratch, f)


def drift(lanes: int, program: Program, slope: Floats, y: Floats, scratch: Scratch, f: Floats) -> None:
    """f = df/dt at constant y: slope (varying, lanes) is the change of their rates."""
    multiply(lanes, program.varying, program.codes, program.varying_speeds_at, slope, y, scratch.speeds)
    gather(lanes, program, program.varying_at + program.varying, program.varying_yields_at, scratch, f)


def factor(lanes: int, program: Program, k: Floats, y: Floats, h: Floats, scratch: Scratch, a: Floats) -> None:
    """a (elements, lanes) = the factors of 2/h - J; the scratch holds derivatives of the speeds."""
    codes, total = program.codes, scratch.total
    multiply(lanes, program.partials, codes, program.partials_at, k, y, scratch.speeds)
    c, q = program.elements_at, program.element_yields_at
    for _ in range(program.elements):
        to, kind, diagonal, n = codes[c] * lanes, codes[c + 1], codes[c + 2] * lanes, codes[c + 3]
        for i in range(lanes):
            total[i] = 2.0 / h[i] if kind == DIAGONAL else 0.0
        plus(lanes, n, program, c + 4, q, scratch)
        q += n
        c += 4 + n
        minus(lanes, codes[c], codes, c + 1, a, a, total)
        c += 1 + 2 * codes[c]
        if kind == DIAGONAL:
            for i in range(lanes):
                a[to + i] = 1.0 / total[i]
        else:
            for i in range(lanes):
                a[to + i] = total[i] * a[diagonal + i] if kind == LOWER else total[i]


def solve(lanes: int, program: Program, a: Floats, total: Floats, x: Floats) -> None:
    """x (species, lanes) becomes the solution of a x = x."""
    codes, c = program.codes, program.rows_at
    for _ in range(program.rows):
        row, diagonal, n = codes[c] * lanes, codes[c + 1] * lanes, codes[c + 2]
        for i in range(lanes):
            total[i] = x[row + i]
        minus(lanes, n, codes, c + 3, a, x, total)
        for i in range(lanes):
            x[row + i] = total[i] * a[diagonal + i] if diagonal >= 0 else total[i]
        c += 3 + 2 * n


def place(lanes: int, program: Program, rates: Floats, k: Floats) -> None:
    """The rates of the processes that vary."""
    for n in range(program.varying):
        to = program.codes[program.varying_at + n] * lanes
        for i in range(lanes):
            k[to + i] = rates[n * lanes + i]


def attempt(lanes: int, program: Program, step: Attempt) -> None:
    """One step."""
    scratch, species = step.scratch, program.species
    h, k, y, a, total, f = step.h, step.k, step.y, step.a, scratch.total, step.f
    u1, u2, u3, z, error = step.u1, step.u2, step.u3, step.z, step.error
    place(lanes, program, step.now, k)
    change(lanes, program, k, y, scratch, f)
    drift(lanes, program, step.slope, y, scratch, z)
    factor(lanes, program, k, y, h, scratch, a)
    for s in range(species):
        for i in range(lanes):
            u1[s * lanes + i] = f[s * lanes + i] + 0.5 * h[i] * z[s * lanes + i]
    solve(lanes, program, a, total, u1)
    for s in range(species):
        for i in range(lanes):
            u2[s * lanes + i] = f[s * lanes + i] + 4.0 / h[i] * u1[s * lanes + i] + 1.5 * h[i] * z[s * lanes + i]
    solve(lanes, program, a, total, u2)
    place(lanes, program, step.later, k)
    for i in range(species * lanes):
        z[i] = y[i] + 2.0 * u1[i]
    change(lanes, program, k, z, scratch, u3)
    for s in range(species):
        for i in range(lanes):
            u3[s * lanes + i] += (u1[s * lanes + i] - u2[s * lanes + i]) / h[i]
    solve(lanes, program, a, total, u3)
    for i in range(species * lanes):
        z[i] += u3[i]
    change(lanes, program, k, z, scratch, error)
    for s in range(species):
        for i in range(lanes):
            at = s * lanes + i
            error[at] += (u1[at] - u2[at] - 2.6666666666666665 * u3[at]) / h[i]
    solve(lanes, program, a, total, error)
    for i in range(species * lanes):
        z[i] += error[i]
