"""Chemistry of many cells: each takes its own steps in a lane, and a lane that has finished a cell takes the next one.

So the result of a cell does not depend on the number of lanes, on its neighbours, or on who computes it. Between stops (sunrise, sunset,
the end) all rates are constant but those of photolysis, J = base exp(-slant / cos(theta)), which follow the sun at the times of the stages:
cos(theta) = s + c cos(turn t + phase). A step that ends at a stop, and is shorter for it, does not shorten the cell's next step; but where
light begins or ends the next step is at most `NEW_LIGHT`: rates jump there, and no estimate of before says anything of after.
"""

from functools import cache

from steppe.array_types import Floats, Integers
from steppe.kernels import FieldKernel, field_kernel
from steppe.kernels.vecmath import cos, exp, power, sin, where
from steppe.models.air.program import N_PROCESSES, N_SPECIES, N_VARYING, VARYING
from steppe.models.air.rosenbrock import attempt

TURN = 7.27220521664304e-05  # [rad s-1] of the Earth below the sun: 2 pi / 86,400 s
LOW_SUN = 0.005  # cos(theta) of a sun that is lower counts as this: stops are where light ends, which is above it
NEW_LIGHT = 60.0  # [s]
MOST_STEPS = 20_000  # of a cell; then the solver cannot go on
SHORTEST = 1e-12  # [s] step, from which on the solver cannot go on
# Numbers of each lane, in `lane`: length of the next step, time, next stop [s]; 1 or 0: light; s, c, phase of cos(theta); norm of errors;
# 1 or 0: rejected before, accepted now; cos(theta) at both ends of the step and its change at the beginning; factor for the next length.
PER_LANE = 14
H, T, STOP, LIT, S, C, PHASE, NORM, REJECTED, ACCEPT, COSINE, LATER, CHANGE, GROWTH = range(PER_LANE)
# Numbers of each cell, in `sun`: s, c, phase of cos(theta); 1 or 0: light at first; the times [s] at which that changes.
PER_CELL = 6
SUN_S, SUN_C, SUN_PHASE, SUN_LIT, SUN_FIRST, SUN_SECOND = range(PER_CELL)


def load(
    lanes: int, i: int, n: int, cells: int, codes: Integers, seconds: float, sun: Floats, scale: Floats, at: Integers, stride: int,
    c: Floats, carried: Floats, width: int, rates: Floats, k: Floats, base: Floats, y: Floats, lost: Floats, lane: Floats,
) -> None:  # fmt: skip
    """Cell n goes into lane i."""
    for s in range(codes[N_SPECIES]):
        y[s * lanes + i] = c[s * stride + at[n]] * scale[n]
        lost[s * lanes + i] = 0.0
    for p in range(codes[N_PROCESSES]):
        k[p * lanes + i] = rates[p * width + n]
    for v in range(codes[N_VARYING]):
        base[v * lanes + i] = rates[codes[codes[VARYING] + v] * width + n]
    lane[H * lanes + i], lane[T * lanes + i], lane[REJECTED * lanes + i] = carried[n], 0.0, 0.0
    lane[LIT * lanes + i], lane[S * lanes + i] = sun[SUN_LIT * cells + n], sun[SUN_S * cells + n]
    lane[C * lanes + i], lane[PHASE * lanes + i] = sun[SUN_C * cells + n], sun[SUN_PHASE * cells + n]
    lane[STOP * lanes + i] = min(seconds, sun[SUN_FIRST * cells + n])


def shine(
    lanes: int, n_varying: int, slant: Floats, lane: Floats, tried: Floats, base: Floats, now: Floats, later: Floats, slope: Floats
) -> None:
    """Rates of photolysis at both ends of the steps, and their change at the beginning."""
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


def judge(lanes: int, species: int, rtol: float, atol: float, y: Floats, z: Floats, error: Floats, lane: Floats) -> None:
    """The norm of the errors, at most 1 where a step is accepted, and what its length is multiplied by for the next one."""
    for i in range(lanes):
        lane[NORM * lanes + i] = 0.0
    for s in range(species):
        for i in range(lanes):
            at = s * lanes + i
            e = error[at] / (atol + rtol * max(abs(y[at]), abs(z[at])))
            lane[NORM * lanes + i] += e * e
    for i in range(lanes):
        norm = lane[NORM * lanes + i] / species
        lane[NORM * lanes + i] = norm
        lane[ACCEPT * lanes + i] = where(norm <= 1.0, 1.0, 0.0)
        wanted = 0.9 * power(norm, -0.16666666666666666)
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


@cache
def integrate_of(lanes: int) -> FieldKernel:
    """The kernel of all cells, for a number of lanes that the compiler knows; see `steppe.models.air.chemistry.Chemistry.advance`."""

    @field_kernel
    def integrate(
        cells: int,
        width: int,
        stride: int,
        seconds: float,
        rtol: float,
        atol: float,
        codes: Integers,
        yields: Floats,
        slant: Floats,
        rates: Floats,
        sun: Floats,
        scale: Floats,
        at: Integers,
        c: Floats,
        carried: Floats,
        clipped: Floats,
        steps: Integers,
        status: Integers,
        count: Integers,
        cell: Integers,
        lane: Floats,
        tried: Floats,
        base: Floats,
        now: Floats,
        later: Floats,
        slope: Floats,
        k: Floats,
        y: Floats,
        a: Floats,
        v: Floats,
        total: Floats,
        f: Floats,
        u1: Floats,
        u2: Floats,
        u3: Floats,
        z: Floats,
        error: Floats,
        lost: Floats,
    ) -> None:
        species = codes[N_SPECIES]
        for j in range(species * lanes):  # lanes of no cell: nothing is there, and nothing happens
            y[j], lost[j] = 0.0, 0.0
        for j in range(codes[N_PROCESSES] * lanes):
            k[j] = 0.0
        for j in range(codes[N_VARYING] * lanes):
            base[j] = 0.0
        for i in range(lanes):
            cell[i] = -1
            lane[H * lanes + i], lane[T * lanes + i], lane[STOP * lanes + i], lane[LIT * lanes + i] = seconds, 0.0, seconds, 0.0
            lane[S * lanes + i], lane[C * lanes + i], lane[PHASE * lanes + i] = 1.0, 0.0, 0.0
        busy = min(lanes, cells)
        for i in range(busy):
            load(lanes, i, i, cells, codes, seconds, sun, scale, at, stride, c, carried, width, rates, k, base, y, lost, lane)
            cell[i] = i
        following = busy
        while busy > 0:
            count[0] += 1
            for i in range(lanes):
                tried[i] = min(lane[H * lanes + i], lane[STOP * lanes + i] - lane[T * lanes + i])
            shine(lanes, codes[N_VARYING], slant, lane, tried, base, now, later, slope)
            attempt(lanes, codes, yields, tried, now, later, slope, k, y, a, v, total, f, u1, u2, u3, z, error)
            judge(lanes, species, rtol, atol, y, z, error, lane)
            take(lanes, species, y, z, lost, lane)
            for i in range(lanes):
                n = cell[i]
                if n < 0:
                    lane[H * lanes + i] = seconds
                    continue
                follow(lanes, i, seconds, tried[i], lane)
                steps[n] += 1 if lane[ACCEPT * lanes + i] > 0.5 else 0
                steps[cells + n] += 1 if lane[ACCEPT * lanes + i] <= 0.5 else 0
                failed = lane[H * lanes + i] < SHORTEST or steps[n] + steps[cells + n] > MOST_STEPS
                if failed:
                    worst, greatest = 0, 0.0
                    for s in range(species):
                        e = abs(error[s * lanes + i]) / (atol + rtol * abs(y[s * lanes + i]))
                        if not e <= greatest:
                            worst, greatest = s, e
                    status[n] = worst
                elif lane[T * lanes + i] < lane[STOP * lanes + i]:
                    continue
                elif lane[STOP * lanes + i] < seconds:  # sunrise or sunset
                    second = sun[SUN_SECOND * cells + n]
                    lane[STOP * lanes + i] = min(seconds, second) if lane[STOP * lanes + i] < second else seconds
                    lane[LIT * lanes + i] = 1.0 - lane[LIT * lanes + i]
                    lane[H * lanes + i] = min(lane[H * lanes + i], NEW_LIGHT)
                    continue
                for s in range(species):
                    c[s * stride + at[n]] = y[s * lanes + i] / scale[n]
                    clipped[s * cells + n] += lost[s * lanes + i]
                carried[n] = lane[H * lanes + i]
                if following < cells:
                    load(
                        lanes, i, following, cells, codes, seconds, sun, scale, at, stride, c, carried, width, rates, k, base, y, lost,
                        lane,
                    )  # fmt: skip
                    cell[i] = following
                    following += 1
                else:
                    cell[i] = -1
                    lane[T * lanes + i], lane[STOP * lanes + i] = 0.0, seconds
                    busy -= 1

    return integrate
