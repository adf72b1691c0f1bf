"""The rates of all processes of a mechanism in many cells at once: one compiled kernel for any mechanism.

The formulas are those of the problem of EMEP for the plain file, and those of MICM (Dawson et al. 2023, Bull. Am. Meteorol. Soc. 104) for
OpenAtmos files; T [K], p [Pa], [M] and other amounts [molecule cm-3], k [molecule, cm3, s]:

    arrhenius   A exp(C/T) (T/D)^B (1 + E p)             taylor      the same times c0 + c1 T + c2 T^2 + ...
                                                         (MICM 0.17 takes c0 alone)
    troe        k0 [M] / (1 + r) Fc^(N/(N + log10(r)^2)), r = k0 [M] / kinf, k0 and kinf = A exp(C/T) (T/300)^B
    ternary     k0 / (1 + r) Fc^(N/(N + log10(r)^2)), r as before
    ternary_jpl19  kf + kint (1 - kf / kinf), kf as troe, each k = A exp(C/T) (T/D)^B
    branched    X exp(-Y/T) times A/(A + Z) or Z/(A + Z), A(T, [M], n) as in `branching`, Z = A(293 K, 2.45e19, n) (1 - a0)/a0
    tunneling   A exp(-B/T) exp(C/T^3)
    surface     4 N pi r^2 / (r/D + 4/(v gamma)), v = sqrt(8 R T/(pi W)); r, N from outside
    photolysis  scale A while there is light; the solver multiplies by exp(-B/cos(theta))
    deposition  vd / mixing height, a quarter of it at night          emission   flux / mixing height
    ho2_ho2     (2.3e-13 exp(600/T) + [M] 1.7e-33 exp(1000/T)) (1 + 1.4e-21 [H2O] exp(2200/T))
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.errors import ModelError, some
from steppe.kernels import field_kernel
from steppe.kernels.vecmath import exp, log, power, sqrt
from steppe.models.air.formulas import compute, parsed
from steppe.models.air.mechanism import NUMBERS, Mechanism

FORMS = tuple(NUMBERS)
(
    ARRHENIUS, TROE, TERNARY, JPL19, BRANCHED, TUNNELING, TAYLOR, SURFACE, PHOTOLYSIS, DEPOSITION, EMISSION, CONSTANT, GIVEN, HO2_HO2
) = range(len(FORMS))  # fmt: skip
WIDTH = 16  # numbers of a process
THIRDS = 4  # concentrations that a rate is multiplied by, at most
TEMPERATURE, PRESSURE, AIR, MIXING_HEIGHT, LIGHT, WATER = range(6)
KNOWN = ("temperature", "pressure", "M", "mixing_height", "day", "H2O")
NIGHT = 0.25  # of deposition by day
LN10 = 2.302585092994046
GAS = 8.31446261815324  # [J K-1 mol-1] SI
PI = 3.141592653589793


class RateTable(NamedTuple):
    """What the rates are made of.

    form (processes,): place in `FORMS`. numbers (processes, WIDTH): the last is how many there are. columns (processes, THIRDS + 2): of
    the conditions that a rate is multiplied by, then of others that it needs; -1: none.
    """

    processes: int
    form: Integers
    numbers: Floats
    columns: Integers


class Rates:
    """The rates of a mechanism.

    sunlit (n,): the processes that follow the sun; slant (n,): B of each. names: of the conditions; used: those that a rate needs;
    outside: those of rates from outside; given: name -> number, of those that a run has.
    """

    def __init__(self, mechanism: Mechanism, given: Mapping[str, float] | None = None) -> None:
        self.mechanism, self.given = mechanism, dict(given or {})
        processes = mechanism.processes
        form = np.array([FORMS.index(process.rate.form) for process in processes], np.int64)
        self.sunlit = np.flatnonzero(form == PHOTOLYSIS)
        self.slant = np.array([processes[p].rate.numbers[1] for p in self.sunlit], float)
        numbers, columns = np.zeros((len(processes), WIDTH)), np.full((len(processes), THIRDS + 2), -1, np.int64)
        rates = [process.rate for process in processes]
        self.outside = tuple(dict.fromkeys(name for rate in rates for name in rate.outside))
        self.names = tuple(dict.fromkeys((*KNOWN, *(name for rate in rates for name in (*rate.third, *rate.outside)))))
        self.used = sorted({name for rate in rates for name in rate.needs})
        for p, rate in enumerate(rates):
            for what, values, most in (("numbers", rate.numbers, WIDTH - 1), ("third bodies", rate.third, THIRDS)):
                if len(values) > most:
                    raise ModelError(f"Reaction {processes[p].label} has {len(values)} {what}; at most {most} are taken.")
            numbers[p, : len(rate.numbers)] = rate.numbers
            numbers[p, -1] = len(rate.numbers)
            columns[p, : len(rate.third)] = [self.names.index(name) for name in rate.third]
            columns[p, THIRDS : THIRDS + len(rate.outside)] = [self.names.index(name) for name in rate.outside]
        self._table = RateTable(len(processes), form, numbers, columns)
        self._humidity = parsed(mechanism.humidity)

    def __call__(self, conditions: Mapping[str, Floats | float], out: Floats, factors: Floats | None = None) -> None:
        """Fills out (processes, cells or more) with rates [molecule, cm3, s]; those of sunlit processes lack exp(-slant/cos(theta)).

        conditions: `names` -> (cells,) or a number, beside those of `given`; what is not there is NaN. factors (processes,): what each
        rate is multiplied by.

        Raises
        ------
        ModelError
            A condition that a rate needs is missing.
        """
        conditions = {**conditions, **self.given}
        cells = max(np.size(value) for value in conditions.values())
        if lacking := [name for name in self.names if name in self.used and name not in conditions]:
            raise ModelError(f"Mechanism {self.mechanism.name} needs {', '.join(lacking)}, which is not given.")
        known = np.empty((len(self.names), cells))
        for name, row in zip(self.names, known, strict=True):
            row[...] = conditions.get(name, np.nan)
        scale = np.ones(self._table.processes) if factors is None else factors
        fill(cells, out.shape[1], self._table, known, scale, out)

    def refuse_lacking(self, given: Collection[str], how: str) -> None:
        """Raises `ModelError` if a rate from outside is not given. how: one gives them, with {} for the first name."""
        if lacking := [name for name in self.outside if name not in given]:
            what = f"takes rates from outside that are not given: {some(lacking, 5)}"
            raise ModelError(f"Mechanism {self.mechanism.name} {what}. {how.format(lacking[0])}")

    def humidity(self, temperature: Floats, tod: Floats) -> Floats:
        """H2O [molecule cm-3] by the formulas of the file, at temperatures [K] and seconds since midnight."""
        return compute(self._humidity, {"T": temperature, "tod": tod})


def thermal(T: float, A: float, B: float, C: float, D: float) -> float:
    """A exp(C/T) (T/D)^B."""
    return A * exp(C / T) * power(T / D, B)


def broadened(r: float, Fc: float, N: float) -> float:
    """Fc^(N/(N + log10(r)^2))."""
    x = log(r) / LN10
    return power(Fc, N / (N + x * x))


def branching(T: float, M: float, n: float) -> float:
    """A(T, [M], n) of reactions of NO with organic peroxy radicals."""
    low = 2.0e-22 * exp(n) * M
    r = low / (0.43 * power(T / 298.0, -8.0))
    return low / (1.0 + r) * broadened(r, 0.41, 1.0)


def uptake(T: float, r: float, N: float, gamma: float, D: float, W: float) -> float:
    """4 N pi r^2 / (r/D + 4/(v gamma)), v = sqrt(8 R T/(pi W))."""
    speed = sqrt(8.0 * GAS * T / (PI * W))
    return 4.0 * N * PI * r * r / (r / D + 4.0 / (speed * gamma))


def multiply(cells: int, table: RateTable, p: int, known: Floats, factor: float, to: int, out: Floats) -> None:
    """Multiplies rate p, at out[to], by its concentrations and its factor."""
    for third in range(THIRDS):
        at = table.columns[p * (THIRDS + 2) + third] * cells
        if at >= 0:
            for i in range(cells):
                out[to + i] = out[to + i] * known[at + i]
    for i in range(cells):
        out[to + i] = out[to + i] * factor


def of_ho2(T: float, air: float, water: float) -> float:
    """The rate of HO2 with itself, in moist air."""
    two = 2.3e-13 * exp(600.0 / T) + air * 1.7e-33 * exp(1000.0 / T)
    return two * (1.0 + 1.4e-21 * water * exp(2200.0 / T))


@field_kernel
def fill(cells: int, width: int, table: RateTable, known: Floats, factors: Floats, out: Floats) -> None:
    """out (processes, width): see `Rates`. known (names, cells)."""
    form, numbers, columns = table.form, table.numbers, table.columns
    for p in range(table.processes):
        kind, x, to, c = form[p], p * WIDTH, p * width, p * (THIRDS + 2)
        n0, n1, n2, n3, n4 = numbers[x], numbers[x + 1], numbers[x + 2], numbers[x + 3], numbers[x + 4]
        n5, n6, n7 = numbers[x + 5], numbers[x + 6], numbers[x + 7]
        if kind == ARRHENIUS:
            for i in range(cells):
                out[to + i] = thermal(known[i], n0, n1, n2, n3) * (1.0 + n4 * known[PRESSURE * cells + i] if n4 != 0.0 else 1.0)
        elif kind == TAYLOR:
            last = int(numbers[x + WIDTH - 1])
            for i in range(cells):
                T, found = known[i], 0.0
                for q in range(5, last):
                    found = found * T + numbers[x + last + 4 - q]
                out[to + i] = thermal(T, n0, n1, n2, n3) * (1.0 + n4 * known[PRESSURE * cells + i] if n4 != 0.0 else 1.0) * found
        elif kind in (TROE, TERNARY):
            for i in range(cells):
                T, M = known[i], known[AIR * cells + i]
                low = thermal(T, n0, n1, n2, 300.0)
                r = low * M / thermal(T, n3, n4, n5, 300.0)
                out[to + i] = low * (M if kind == TROE else 1.0) / (1.0 + r) * broadened(r, n6, n7)
        elif kind == JPL19:
            for i in range(cells):
                T = known[i]
                low, high = thermal(T, n0, n1, n2, n3) * known[AIR * cells + i], thermal(T, n4, n5, n6, n7)
                falls = low / (1.0 + low / high) * broadened(low / high, numbers[x + 12], numbers[x + 13])
                out[to + i] = falls + thermal(T, numbers[x + 8], numbers[x + 9], numbers[x + 10], numbers[x + 11]) * (1.0 - falls / high)
        elif kind == BRANCHED:
            for i in range(cells):
                T, M = known[i], known[AIR * cells + i]
                a = branching(T, M, n3)
                rest = branching(293.0, 2.45e19, n3) * (1.0 - n2) / n2
                out[to + i] = n0 * exp(-n1 / T) * (a if n4 > 0.5 else rest) / (a + rest)
        elif kind == TUNNELING:
            for i in range(cells):
                T = known[i]
                out[to + i] = n0 * exp(-n1 / T) * exp(n2 / (T * T * T))
        elif kind == SURFACE:
            radius, number = columns[c + THIRDS] * cells, columns[c + THIRDS + 1] * cells
            for i in range(cells):
                out[to + i] = uptake(known[i], known[radius + i], known[number + i], n0, n1, n2)
        elif kind in (DEPOSITION, EMISSION):
            for i in range(cells):
                light = known[LIGHT * cells + i] if kind == DEPOSITION else 1.0
                out[to + i] = n0 / known[MIXING_HEIGHT * cells + i] * (light + NIGHT * (1.0 - light))
        elif kind == HO2_HO2:
            for i in range(cells):
                out[to + i] = of_ho2(known[i], known[AIR * cells + i], known[WATER * cells + i])
        else:  # photolysis; given; constant, or given with a scale of 0
            factor, at = (n2 * n0, LIGHT) if kind == PHOTOLYSIS else (n0, columns[c + THIRDS] if kind == GIVEN else -1)
            for i in range(cells):
                out[to + i] = factor * (known[at * cells + i] if at >= 0 else 1.0)
        multiply(cells, table, p, known, factors[p], to, out)
