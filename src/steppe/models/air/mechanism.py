"""What a mechanism is: species, and processes that turn some into others at a rate.

The readers make it (`plain_file`, `openatmos_file`); `rates` and the solver make tables of it. Amounts are molecules, lengths cm, times s.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

MOLECULES = 6.02214076e17  # [molecule cm-3] in 1 mol m-3: Avogadro's number, SI

# The numbers of each form of a rate, in the order of `Rate.numbers`, and what a file may leave out. None: it must be given.
# T: temperature [K], p: pressure [Pa], [M]: molecules of air [cm-3]. The formulas stand in `rates.fill`.
NUMBERS: Mapping[str, Mapping[str, float | None]] = {
    "arrhenius": {"A": None, "B": 0.0, "C": 0.0, "D": 300.0, "E": 0.0},
    "troe": {"k0_A": None, "k0_B": 0.0, "k0_C": 0.0, "kinf_A": None, "kinf_B": 0.0, "kinf_C": 0.0, "Fc": 0.6, "N": 1.0},
    "ternary": {"k0_A": None, "k0_B": 0.0, "k0_C": 0.0, "kinf_A": None, "kinf_B": 0.0, "kinf_C": 0.0, "Fc": 0.6, "N": 1.0},
    "ternary_jpl19": {
        "k0_A": None, "k0_B": 0.0, "k0_C": 0.0, "k0_D": 298.0, "kinf_A": None, "kinf_B": 0.0, "kinf_C": 0.0, "kinf_D": 298.0,
        "kint_A": None, "kint_B": 0.0, "kint_C": 0.0, "kint_D": 298.0, "Fc": 0.6, "N": 1.0,
    },
    "branched": {"X": None, "Y": None, "a0": None, "n": None, "nitrate": None},  # nitrate: 1.0 of that branch, 0.0 of the alkoxy branch
    "tunneling": {"A": None, "B": 0.0, "C": 0.0},
    "taylor": {"A": None, "B": 0.0, "C": 0.0, "D": 300.0, "E": 0.0},  # and then any number of coefficients c0, c1, ...
    "surface": {"probability": None, "diffusion": None, "molecular_weight": None},  # [1], [m2 s-1], [kg mol-1]
    "photolysis": {"A": None, "B": None, "scale": 1.0},
    "deposition": {"vd": None},  # [cm s-1]
    "emission": {"flux": None},  # [molecule cm-2 s-1]
    "constant": {"k": None},
    "given": {"scale": 1.0},
    "ho2_ho2": {},
}  # fmt: skip
OF_GROUND = ("emission", "deposition")  # forms that act at the ground, and not in the chemistry
NEEDS = {  # of a form, beside temperature and light
    **dict.fromkeys(("troe", "ternary", "ternary_jpl19", "branched"), ("M",)),
    **dict.fromkeys(OF_GROUND, ("mixing_height",)),
    "ho2_ho2": ("M", "H2O"),
}
RADIUS, NUMBER = "effective radius", "particle number concentration"  # [m], [m-3] of a surface, as MUSICA names them
CONDITIONS = ("temperature", "pressure", "mixing_height", "day")  # that a constant must not hide
# Of these a negative one would make matter of nothing: rate constants and their factors, fluxes, velocities of deposition.
AT_LEAST_0 = ("A", "k0_A", "kinf_A", "kint_A", "X", "k", "scale", "vd", "flux", "probability")
# These are divided by, or raised to a power.
ABOVE_0 = ("D", "k0_D", "kinf_D", "kint_D", "Fc", "a0", "diffusion", "molecular_weight")


class Rate(NamedTuple):
    """How fast a process is.

    form: one of `NUMBERS`; numbers: in its order, in molecule, cm3, s, K. third: the concentrations that it is multiplied by, "M", "O2",
    "H2O" and others. name: for a rate from outside ("given", "surface") its name in the conditions, such as "PHOTO.jo2_b"; otherwise its
    id, "RC36".
    """

    form: str
    numbers: tuple[float, ...]
    third: tuple[str, ...] = ()
    name: str = ""

    @property
    def outside(self) -> tuple[str, ...]:
        """The names of what it takes from outside."""
        if self.form == "surface":
            return f"{self.name}.{RADIUS}", f"{self.name}.{NUMBER}"
        return (self.name,) if self.form == "given" and self.numbers[:1] != (0.0,) else ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The conditions that it depends on, beside temperature and light."""
        of_pressure = self.form in ("arrhenius", "taylor") and self.numbers[4] != 0.0
        return *self.third, *self.outside, *NEEDS.get(self.form, ()), *(("pressure",) if of_pressure else ())


class Process(NamedTuple):
    """A reaction, a photolysis, a loss, a deposition or an emission: its speed is k times the product of the reactants' concentrations.

    label: unique in the mechanism, and a Python identifier. reactants: numbers of species; one that reacts with itself stands there twice.
    products: (number of the species, yield).
    """

    label: str
    equation: str
    reactants: tuple[int, ...]
    products: tuple[tuple[int, float], ...]
    rate: Rate


@dataclass(frozen=True)
class Mechanism:
    """Species that are integrated, in the order of the file, and their processes.

    constants: what the file fixes, M [molecule cm-3], mixing_height_cm and others. humidity: formulas for H2O [molecule cm-3] in T [K] and
    tod [s since midnight], in order. elements: element -> species -> atoms. box: the file's conditions of a run of one cell:
    latitude, declination [degrees], temperature [K], start, end [s since midnight of the first day], day_begin, day_end [h] and initial
    [molecule cm-3]; any of them may be missing.
    """

    name: str
    species: tuple[str, ...]
    processes: tuple[Process, ...]
    constants: Mapping[str, float] = field(default_factory=dict)
    humidity: Mapping[str, str] = field(default_factory=dict)
    elements: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    box: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_the_air(self) -> "Mechanism":
        """It without emission and deposition."""
        return replace(self, processes=tuple(process for process in self.processes if process.rate.form not in OF_GROUND))
