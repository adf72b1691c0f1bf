"""The chemistry of many cells over a time: each takes its own steps in a lane, and a lane that has finished a cell takes the next one.

So the result of a cell does not depend on the number of lanes, on its neighbours, or on the rank that computes it. Between stops (sunrise,
sunset, the end) all rates are constant but those of photolysis, J = base exp(-slant / cos(theta)), which follow the sun at the times of the
stages: cos(theta) = s + c cos(turn t + phase). A step that ends at a stop, and is shorter for it, does not shorten the cell's next step;
but where light begins or ends the next step is at most `NEW_LIGHT`: rates jump there, and no estimate of before says anything of after.
"""

from functools import cache
from typing import NamedTuple, Self

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.kernels import FieldKernel, field_kernel
from steppe.kernels.vecmath import cos, exp, power, sin, sqrt, where
from steppe.models.air.program import Program
from steppe.models.air.rosenbrock import Attempt, attempt

LANES = 64
TURN = 7.27220521664304e-05  # [rad s-1] of the Earth below the sun: 2 pi / 86,400 s
LOW_SUN = 0.005  # cos(theta) of a sun that is lower counts as this: stops are where light ends, which is above it
NEW_LIGHT = 60.0  # [s]
CARE = 0.8  # of the length that would just meet the tolerance; with 0.9 the worst of 512 cells is off by 2.4e-5 at rtol 1e-5
MOST_STEPS = 20_000  # of a cell; then the solver cannot go on
HUGE = 1e100  # error of a step that cannot be right
SHORTEST = 1e-12  # [s] step, from which on the solver cannot go on
# Numbers of each lane, in `Lanes.numbers`: length of the next step, time, next stop [s]; 1 or 0: light; s, c, phase of cos(theta); norm of
# errors; 1 or 0: rejected before, accepted now; cos(theta) at both ends of the step and its change at the beginning; factor for the next
# length.
PER_LANE = 14
H, T, STOP, LIT, S, C, PHASE, NORM, REJECTED, ACCEPT, COSINE, LATER, CHANGE, GROWTH = range(PER_LANE)
# Numbers of each cell, in `sun`: s, c, phase of cos(theta); 1 or 0: light at first; the times [s] at which that changes, every day again.
PER_CELL = 6
SUN_S, SUN_C, SUN_PHASE, SUN_LIT, SUN_FIRST, SUN_SECOND = range(PER_CELL)


class CellsOfCall(NamedTuple):
    """What the cells bring and take away; see `Chemistry.advance`.

    n: how many. seconds: for how long. width: columns of `rates`; stride: elements of a species in `c`. steps (taken or rejected, n).
    status (n,): the species whose error is greatest where the solver cannot go on.
    """

    n: int
    seconds: float
    width: int
    stride: int
    rates: Floats
    sun: Floats
    scale: Floats
    at: Integers
    c: Floats
    carried: Floats
    clipped: Floats
    steps: Integers
    status: Integers


class Lanes(NamedTuple):
    """What each lane holds of its cell beside the step.

    numbers (PER_LANE, lanes). cell (lanes,): -1 for none. base (varying, lanes): rates in full light. lost (species, lanes): negative
    concentrations that became 0. attempts (1,): of all lanes, so far.
    """

    numbers: Floats
    cell: Integers
    base: Floats
    lost: Floats
    attempts: Integers

    @classmethod
    def room(cls, species: int, varying: int, lanes: int) -> Self:
        """Zeros for some lanes."""
        numbers, base, lost = (np.zeros((rows, lanes)) for rows in (PER_LANE, varying, species))
        return cls(numbers, np.zeros(lanes, np.int64), base, lost, np.zeros(1, np.int64))

    def clear(self, seconds: float) -> None:
        """All lanes are those of no cell: nothing is there, and nothing happens."""
        self.base[...], self.lost[...], self.cell[...], self.attempts[...], self.numbers[...] = 0.0, 0.0, -1, 0, 0.0
        self.numbers[[H, STOP]], self.numbers[S] = seconds, 1.0


def load(lanes: int, i: int, n: int, program: Program, cells: CellsOfCall, state: Lanes, step: Attempt) -> None:
    """Cell n goes into lane i."""
    state.cell[i] = n
    lane, sun, rates = state.numbers, cells.sun, cells.rates
    for s in range(program.species):
        step.y[s * lanes + i] = cells.c[s * cells.stride + cells.at[n]] * cells.scale[n]
        state.lost[s * lanes + i] = 0.0
    for p in range(program.processes):
        step.k[p * lanes + i] = rates[p * cells.width + n]
    for v in range(program.varying):
        state.base[v * lanes + i] = rates[program.codes[program.varying_at + v] * cells.width + n]
    lane[H * lanes + i], lane[T * lanes + i], lane[REJECTED * lanes + i] = cells.carried[n], 0.0, 0.0
    lane[LIT * lanes + i], lane[S * lanes + i] = sun[SUN_LIT * cells.n + n], sun[SUN_S * cells.n + n]
    lane[C * lanes + i], lane[PHASE * lanes + i] = sun[SUN_C * cells.n + n], sun[SUN_PHASE * cells.n + n]
    lane[STOP * lanes + i] = min(cells.seconds, sun[SUN_FIRST * cells.n + n])


def shine(lanes: int, n_varying: int, slant: Floats, state: Lanes, step: Attempt) -> None:
    """Rates of photolysis at both ends of the steps, and their change at the beginning."""
    lane, tried, base, now, later, slope = state.numbers, step.h, state.base, step.now, step.later, step.slope
    for i in range(lanes):
        angle = TURN * lane[T * lanes + i] + lane[PHASE * lanes + i]
        end = angle + TURN * tried[i]
        lane[COSINE * lanes + i] = max(lane[S * lanes + i] + lane[C * lanes + i] * cos(angle), LOW_SUN)
        lane[LATER * lanes + i] = max(lane[S * lanes + i] + lane[C * lanes + i] * cos(end), LOW_SUN)
        lane[CHANGE * lanes + i] = -TURN * lane[C * lanes + i] * sin(angle)
    for v in range(n_varying):
        for i in range(lanes):
            b = base[v * lanes + i] * lane[LIT * lanes + i]
            first = 1.0 / lane[COSINE * lanes + i]
            j = b * exp(-slant[v] * first)
            now[v * lanes + i] = j
            slope[v * lanes + i] = j * slant[v] * first * first * lane[CHANGE * lanes + i]
            later[v * lanes + i] = b * exp(-slant[v] / lane[LATER * lanes + i])


def judge(lanes: int, program: Program, rtol: float, atol: float, step: Attempt, lane: Floats) -> None:
    """The norm of the errors, at most 1 where a step is accepted, and what its length is multiplied by for the next one.

    An error counts over atol [molecule cm-3] + rtol times the concentration. No concentration is truly below 0, unless a yield is: a step
    that is rejected for a negative one alone is so whatever its estimate says.
    """
    y, z, species = step.y, step.z, program.species
    most = sqrt(float(species)) if program.signed == 0 else HUGE  # of one error in its tolerance
    for i in range(lanes):
        lane[NORM * lanes + i] = 0.0
    for s in range(species):
        for i in range(lanes):
            at = s * lanes + i
            e = step.error[at] / (atol + rtol * max(abs(y[at]), abs(z[at])))
            e = where(-z[at] > most * (atol + rtol * abs(y[at])), HUGE, e)
            lane[NORM * lanes + i] += e * e
    for i in range(lanes):
        norm = lane[NORM * lanes + i] / species
        lane[NORM * lanes + i] = norm
        lane[ACCEPT * lanes + i] = where(norm <= 1.0, 1.0, 0.0)
        wanted = CARE * power(norm, -0.16666666666666666)
        lane[GROWTH * lanes + i] = where(norm >= 0.0, min(max(wanted, 0.2), 5.0), 0.2)


def take(lanes: int, species: int, y: Floats, z: Floats, lost: Floats, lane: Floats) -> None:
    """Accepted steps become concentrations; a negative one becomes 0 and is counted."""
    for s in range(species):
        for i in range(lanes):
            at = s * lanes + i
            yes = lane[ACCEPT * lanes + i] > 0.5
            kept = max(z[at], 0.0)
            lost[at] += where(yes, kept - z[at], 0.0)
            y[at] = where(yes, kept, y[at])


def trial(lanes: int, rtol: float, atol: float, program: Program, state: Lanes, step: Attempt) -> None:
    """One step of all lanes: attempted, judged, and taken where it is accepted."""
    attempt(lanes, program, step)
    judge(lanes, program, rtol, atol, step, state.numbers)
    take(lanes, program.species, step.y, step.z, state.lost, state.numbers)


@field_kernel
def trial_alone(rtol: float, atol: float, program: Program, state: Lanes, step: Attempt) -> None:
    """One step of a single lane, whose rates and length are given."""
    trial(1, rtol, atol, program, state, step)
    follow(1, 0, HUGE, step.h[0], state.numbers)


def follow(lanes: int, i: int, seconds: float, tried: float, lane: Floats) -> None:
    """Time and length of the step of lane i after an attempt."""
    h = lane[H * lanes + i]
    wanted = tried * lane[GROWTH * lanes + i]
    if lane[ACCEPT * lanes + i] > 0.5:
        left = lane[STOP * lanes + i] - lane[T * lanes + i]
        lane[T * lanes + i] = lane[STOP * lanes + i] if tried >= left else lane[T * lanes + i] + tried
        if lane[REJECTED * lanes + i] > 0.5:
            wanted = min(wanted, tried)
        if tried < h:
            wanted = max(wanted, h)
        lane[H * lanes + i], lane[REJECTED * lanes + i] = min(wanted, seconds), 0.0
    else:
        lane[H * lanes + i], lane[REJECTED * lanes + i] = min(wanted, tried), 1.0


def worst_of(lanes: int, i: int, species: int, rtol: float, atol: float, step: Attempt) -> int:
    """The first species of lane i that is no number, as its error makes all others; otherwise the one whose error is greatest."""
    worst, greatest = 0, -1.0
    for s in range(species):
        y = step.y[s * lanes + i]
        if not abs(y) < HUGE:
            return s
        e = abs(step.error[s * lanes + i]) / (atol + rtol * abs(y))
        e = e if e < HUGE else HUGE
        if e > greatest:
            worst, greatest = s, e
    return worst


def next_change(now: float, first: float, second: float) -> float:
    """The time after a change of light at which light changes again [s]. first, second: of the first day."""
    day = 0.0
    while second + day <= now:
        day += 86_400.0
    return first + day if first + day > now else second + day


@cache
def integrate_of(lanes: int) -> FieldKernel:
    """The kernel of all cells, for a number of lanes that the compiler knows; see `Chemistry.advance`."""

    @field_kernel
    def integrate(rtol: float, atol: float, program: Program, slant: Floats, cells: CellsOfCall, state: Lanes, step: Attempt) -> None:
        seconds, species, cell, lane, y, lost = cells.seconds, program.species, state.cell, state.numbers, step.y, state.lost
        busy = min(lanes, cells.n)
        for i in range(busy):
            load(lanes, i, i, program, cells, state, step)
        following = busy
        while busy > 0:
            state.attempts[0] += 1
            for i in range(lanes):
                step.h[i] = min(lane[H * lanes + i], lane[STOP * lanes + i] - lane[T * lanes + i])
            shine(lanes, program.varying, slant, state, step)
            trial(lanes, rtol, atol, program, state, step)
            for i in range(lanes):
                n = cell[i]
                if n < 0:
                    lane[H * lanes + i] = seconds
                    continue
                follow(lanes, i, seconds, step.h[i], lane)
                cells.steps[n if lane[ACCEPT * lanes + i] > 0.5 else cells.n + n] += 1
                if lane[H * lanes + i] < SHORTEST or cells.steps[n] + cells.steps[cells.n + n] > MOST_STEPS:
                    cells.status[n] = worst_of(lanes, i, species, rtol, atol, step)
                elif lane[T * lanes + i] < lane[STOP * lanes + i]:
                    continue
                elif lane[STOP * lanes + i] < seconds:  # sunrise or sunset
                    change = next_change(lane[STOP * lanes + i], cells.sun[SUN_FIRST * cells.n + n], cells.sun[SUN_SECOND * cells.n + n])
                    lane[STOP * lanes + i] = min(seconds, change)
                    lane[LIT * lanes + i] = 1.0 - lane[LIT * lanes + i]
                    lane[H * lanes + i] = min(lane[H * lanes + i], NEW_LIGHT)
                    continue
                for s in range(species):
                    cells.c[s * cells.stride + cells.at[n]] = y[s * lanes + i] / cells.scale[n]
                    cells.clipped[s * cells.n + n] += lost[s * lanes + i]
                cells.carried[n] = lane[H * lanes + i]
                if following < cells.n:
                    load(lanes, i, following, program, cells, state, step)
                    following += 1
                else:
                    cell[i] = -1
                    lane[T * lanes + i], lane[STOP * lanes + i] = 0.0, seconds
                    busy -= 1

    return integrate


class ChemistryOutcome(NamedTuple):
    """What happened to each cell.

    steps, rejected (cells,). clipped (species, cells): what was added where a concentration came out negative, in its unit. iterations: of
    the lanes. failed (cells,): -1, or the species whose error is greatest where the solver cannot go on.
    """

    steps: Integers
    rejected: Integers
    clipped: Floats
    failed: Integers
    iterations: int


def darkness(cells: int) -> Floats:
    """The `sun` of cells that never see it, (PER_CELL, cells)."""
    sun = np.zeros((PER_CELL, cells))
    sun[[SUN_FIRST, SUN_SECOND]] = np.inf
    return sun


class Chemistry:
    """The solver of one thread.

    program: of the mechanism; the processes that vary in it follow the sun by exp(-slant / cos(theta)). slant (varying,). rtol, atol
    [molecule cm-3]: tolerances of a step. lanes: cells that are computed side by side. spent: attempts of cells and of lanes, so far.
    """

    def __init__(self, program: Program, slant: Floats, rtol: float = 1e-2, atol: float = 1e4, lanes: int = LANES) -> None:
        self.program, self.lanes, self.rtol, self.atol = program, lanes, rtol, atol
        self._slant, self.spent = np.ascontiguousarray(slant, float), np.zeros(2, np.int64)
        self.state, self.step = Lanes.room(program.species, program.varying, lanes), Attempt.room(program, lanes)

    def advance(
        self, seconds: float, rates: Floats, sun: Floats, c: Floats, at: Integers, carried: Floats, scale: Floats | None = None
    ) -> ChemistryOutcome:
        """All cells over a time.

        Parameters
        ----------
        rates
            (processes, cells or more), [molecule, cm3, s]: of each process, without exp(-slant / cos(theta)) where it is sunlit.
        sun
            (6, cells): s, c, phase [rad] of cos(theta) = s + c cos(turn t + phase); 1 or 0, whether there is light at first; two times [s]
            at which that changes, every day again, inf for none.
        c
            (species, ...): concentrations, changed in place; of cell n at c.reshape(species, -1)[:, at[n]].
        carried
            (cells,) [s]: the step of each cell, changed in place.
        scale
            (cells,): concentration [molecule cm-3] is c times this; None: 1.
        """
        n = len(at)
        ones = np.ones(n) if scale is None else scale
        steps, failed, clipped = np.zeros((2, n), np.int64), np.full(n, -1), np.zeros((self.program.species, n))
        cells = CellsOfCall(n, seconds, rates.shape[1], c[0].size, rates, sun, ones, at, c, carried, clipped, steps, failed)
        self.state.clear(seconds)
        self.step.y[...], self.step.k[...] = 0.0, 0.0
        integrate_of(self.lanes)(self.rtol, self.atol, self.program, self._slant, cells, self.state, self.step)
        iterations = int(self.state.attempts[0]) * self.lanes
        self.spent += steps.sum(), iterations
        return ChemistryOutcome(steps[0], steps[1], clipped, failed, iterations)
