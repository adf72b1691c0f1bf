"""One cell of air through hours and days: the mechanism, its conditions, and the solver of the model.

`rates = "model"` is what the model does in its steps: thermal rates are constant in a step, photolysis follows the sun. `"exact"` takes
all rates at the times of the solver's stages, for runs that must meet reference solutions. Both stop at sunrise, sunset and midnight.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.errors import ModelError
from steppe.models.air import chemistry
from steppe.models.air.chemistry import Chemistry, ChemistryOutcome, darkness
from steppe.models.air.conditions import DAY, HOUR, Conditions
from steppe.models.air.program import Program
from steppe.models.air.rates import KNOWN, Rates

FIRST_STEP = 1.0  # [s] of a run
APART = 0.01  # [s] over which a change of rates in time is measured


class BoxState(NamedTuple):
    """seconds since midnight of the first day; concentrations (species,) [molecule cm-3]; steps taken and rejected so far, and clipped."""

    seconds: float
    c: Floats
    steps: int
    rejected: int
    clipped: Floats


class ChemistryBox:
    """One cell. atol [molecule cm-3]; step [s]: the length of the model's step."""

    def __init__(self, conditions: Conditions, rtol: float = 1e-2, atol: float = 1e4, step: float = 600.0, exact: bool = False) -> None:
        mechanism = conditions.mechanism
        self.conditions, self.step, self.exact = conditions, step, exact
        self.species = mechanism.species
        self._rates = Rates(mechanism, conditions.given)
        self._factors = np.array([conditions.factors.get(process.label, 1.0) for process in mechanism.processes])
        equations = [(process.reactants, process.products) for process in mechanism.processes]
        varying = range(len(equations)) if exact else self._rates.sunlit.tolist()
        self._program = Program.of(len(self.species), equations, varying)
        self._chemistry = Chemistry(self._program, self._rates.slant, rtol, atol, 1)
        self._air = conditions.here
        self._dawn, self._dusk = conditions.daylight()
        self._s, self._c = conditions.sun()

    def run(self, end: float, every: float = HOUR) -> Iterator[BoxState]:
        """The state at the start, then every so many seconds, and at the end [s since midnight of the first day].

        Raises
        ------
        ModelError
            The solver cannot go on; the message names the hour and the species.
        """
        t = HOUR * self._air["start"]
        c = np.array([[self.conditions.initial.get(name, 0.0)] for name in self.species])
        carried, steps, rejected, clipped = np.array([FIRST_STEP]), 0, 0, np.zeros(len(self.species))
        advance = self._exactly if self.exact else self._in_model_steps
        yield BoxState(t, c[:, 0].copy(), 0, 0, clipped.copy())
        while t < end:
            shown = min(end, every * (np.floor(t / every + 1e-9) + 1.0))
            while t < shown:
                stop = self._stop(t, shown)
                midnight = DAY * float(np.floor(t / DAY))
                day = float(self._dawn <= 0.5 * (t + stop) - midnight < self._dusk)
                done = advance(t, stop, midnight, day, c, carried)
                if (failed := int(done.failed[0])) >= 0:
                    raise ModelError(
                        f"The solver cannot go on at hour {t / HOUR:.4f}: its step falls below {chemistry.SHORTEST:g} s, or it needs more "
                        f"than {chemistry.MOST_STEPS:,}, for {self.species[failed]} at {c[failed, 0]:g} molecule cm-3. Look at the rates "
                        "of its reactions, or choose larger tolerances."
                    )
                t, clipped = stop, clipped + done.clipped[:, 0]
                steps, rejected = steps + int(done.steps[0]), rejected + int(done.rejected[0])
            yield BoxState(t, c[:, 0].copy(), steps, rejected, clipped.copy())

    def rates_at(self, seconds: Floats, day: float, midnight: float = 0.0) -> Floats:
        """All rates (processes, times), [molecule, cm3, s], with the light of the sun. midnight [s]: before `seconds`."""
        k = self._base(seconds, day, midnight)
        k[self._rates.sunlit] *= self.shine(seconds, midnight)
        return k

    def shine(self, seconds: Floats, midnight: float = 0.0) -> Floats:
        """exp(-slant / cos(theta)) of the processes that follow the sun, (processes, times)."""
        cosine = self._s + self._c * np.cos(_hour_angle(seconds, midnight))
        return np.exp(-self._rates.slant[:, None] / np.maximum(cosine, chemistry.LOW_SUN))

    def _base(self, seconds: Floats, day: float, midnight: float) -> Floats:
        mechanism, temperature = self.conditions.mechanism, np.full(len(seconds), self._air["temperature"])
        height = 100.0 * self._air["mixing_height"]
        air: dict[str, Floats | float] = {**self._air, "temperature": temperature, "mixing_height": height, "day": day}
        known = {**mechanism.constants, **{name: air[name] for name in ("O2", *KNOWN) if name in air}}
        if mechanism.humidity and "H2O" not in air:
            known["H2O"] = self._rates.humidity(temperature, seconds - midnight)
        out = np.zeros((self._program.processes, len(seconds)))
        self._rates(known, out, self._factors)
        if not (right := (out >= 0.0).all(axis=1)).all():
            p = int(np.argmin(right))
            raise ModelError(
                f"At hour {seconds[0] / HOUR:.4f} the rate of reaction {mechanism.processes[p].label} is {out[p].min():g}, "
                "and 0 or more is expected. Look at its numbers, and at what it depends on."
            )
        return out

    def _stop(self, t: float, end: float) -> float:
        """The next time of the grid of steps, or the edge of the day or of its light, if that is earlier."""
        midnight = DAY * np.floor(t / DAY)
        edges = [midnight + self._dawn, midnight + self._dusk, midnight + DAY]
        grid = self.step * (np.floor(t / self.step + 1e-9) + 1.0)
        return float(min([end, *([] if self.exact else [grid]), *(edge for edge in edges if edge > t + 1e-6)]))

    def _in_model_steps(self, t: float, stop: float, midnight: float, day: float, c: Floats, carried: Floats) -> ChemistryOutcome:
        sun = darkness(1)
        sun[[chemistry.SUN_S, chemistry.SUN_C, chemistry.SUN_PHASE, chemistry.SUN_LIT], 0] = self._s, self._c, _hour_angle(t, midnight), day
        k = self._base(np.array([0.5 * (t + stop)]), day, midnight)
        if any(abs(t - midnight - edge) < 1e-6 for edge in (self._dawn, self._dusk)):
            carried[0] = min(carried[0], chemistry.NEW_LIGHT)
        return self._chemistry.advance(stop - t, k, sun, c, np.zeros(1, np.int64), carried)

    def _exactly(self, t: float, stop: float, midnight: float, day: float, c: Floats, carried: Floats) -> ChemistryOutcome:
        solver, step = self._chemistry, self._chemistry.step._replace(y=c)
        lane, failed, done = solver.state.numbers, np.full(1, -1), np.zeros((2, 1), np.int64)
        solver.state.clear(0.0)
        lane[[chemistry.H, chemistry.T, chemistry.STOP], 0] = carried[0], t, stop
        while lane[chemistry.T, 0] < stop and failed[0] < 0:
            now = lane[chemistry.T, 0]
            step.h[0] = tried = min(lane[chemistry.H, 0], stop - now)
            times = np.array([now, now + tried, now - APART, now + APART])
            step.now[...], step.later[...], before, behind = self.rates_at(times, day, midnight).T[:, :, None]
            step.slope[...] = (behind - before) / (2.0 * APART)
            chemistry.trial_alone(solver.rtol, solver.atol, self._program, solver.state, step)
            done[0 if lane[chemistry.ACCEPT, 0] else 1] += 1
            if lane[chemistry.H, 0] < chemistry.SHORTEST:
                scaled = step.error / (solver.atol + solver.rtol * abs(c))
                failed[0] = np.argmax(np.nan_to_num(abs(scaled[:, 0]), nan=np.inf))
        carried[0] = lane[chemistry.H, 0]
        return ChemistryOutcome(done[0], done[1], solver.state.lost, failed, int(done.sum()))


def _hour_angle(seconds: Floats | float, midnight: float) -> Floats | float:
    """[rad] of the sun, 2 pi at noon."""
    return (1.0 + (seconds - midnight) / (0.5 * DAY)) * np.pi
