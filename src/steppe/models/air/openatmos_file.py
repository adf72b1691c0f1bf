"""Reads a mechanism in OpenAtmos' format, version 1, as MUSICA reads it; amounts there are mol, m3, s, K, Pa.

A rate of n reactants is divided by (Avogadro's number x 1e-6)^(n - 1) to become one of molecules and cm3. A species that is a third body,
or whose concentration the file fixes, is not integrated: as a reactant it multiplies the rate. Keys that begin with __ are comments; any
other key that is not read is refused.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from steppe.errors import nearest
from steppe.models.air.conditions import BOLTZMANN
from steppe.models.air.entry import Entry, checked_species, number_of
from steppe.models.air.mechanism import CONDITIONS, MOLECULES, NUMBERS, Mechanism, Process, Rate

FIXED, MIXED, THIRD = "constant concentration [mol m-3]", "constant mixing ratio [mol mol-1]", "is third body"
DIFFUSION, WEIGHT, ENERGY, TAYLOR = "diffusion coefficient [m2 s-1]", "molecular weight [kg mol-1]", "Ea", "taylor coefficients"
GIVEN = {"PHOTOLYSIS": "PHOTO", "USER_DEFINED": "USER", "EMISSION": "EMIS", "FIRST_ORDER_LOSS": "LOSS"}
FORMS = {
    "ARRHENIUS": "arrhenius", "TROE": "troe", "TUNNELING": "tunneling", "TAYLOR_SERIES": "taylor", "SURFACE": "surface",
    "TERNARY_CHEMICAL_ACTIVATION": "ternary", "TERNARY_CHEMICAL_ACTIVATION_JPL19": "ternary_jpl19", "BRANCHED_NO_RO2": "branched",
    **dict.fromkeys(GIVEN, "given"),
}  # fmt: skip
FIRST_ORDER = ("PHOTOLYSIS", "FIRST_ORDER_LOSS", "SURFACE")
OF_PHASE = ("name", DIFFUSION, "density [kg m-3]")
# Known of a species. Tolerances are those of the command; Henry's law and densities are for liquids, of which there are none.
LIQUID = ("HLC(298K) [mol m-3 Pa-1]", "HLC exponential factor [K]", "N star")
OF_SPECIES = (*OF_PHASE, *LIQUID, FIXED, MIXED, THIRD, WEIGHT, "absolute tolerance")
OF_REACTION = {kind: ("reactants", "products", *NUMBERS[form]) for kind, form in FORMS.items()} | {
    **dict.fromkeys(GIVEN, ("reactants", "products", "scaling factor")),
    "EMISSION": ("products", "scaling factor"),
    "SURFACE": ("gas-phase species", "gas-phase products", "reaction probability", "condensed phase"),
    "BRANCHED_NO_RO2": ("reactants", "alkoxy products", "nitrate products", "X", "Y", "a0", "n"),
}
OF_REACTION["ARRHENIUS"] += (ENERGY,)
OF_REACTION["TAYLOR_SERIES"] += (ENERGY, TAYLOR)
UNREAD = ("emissions", "aerosol representations", "aerosol processes")  # of the standard, in a file


class Known(NamedTuple):
    """species -> number; fixed: those that are not integrated; phases: phase -> species -> what is known of it there."""

    species: Mapping[str, int]
    fixed: Mapping[str, Entry]
    phases: Mapping[str, Mapping[str, Mapping[str, object]]]


def read_openatmos(content: object, file: str) -> Mechanism:
    """The mechanism of a parsed file. file: its name, for messages.

    Raises
    ------
    ModelError
        A key, a name or a number is wrong or not read; the message names the file and the reaction.
    """
    whole = Entry(f'"{file}"', content)
    if unread := [key for key in UNREAD if key in whole.values]:
        raise whole.refused(f'"{unread[0]}" is not read, only the chemistry of gases. Remove it, or begin its name with __.')
    whole.only(("version", "name", "species", "phases", "reactions"))
    if str(whole.values.get("version")).partition(".")[0] != "1":
        raise whole.unlike("version", 'version 1 of the format is expected, such as "1.0.0".')
    every = [Entry(f'"{file}", species {n}', each) for n, each in enumerate(_list(whole, "species"), 1)]
    named = dict(zip(checked_species(whole, [e.values.get("name") for e in every]), every, strict=True))
    fixed = {name: e for name, e in named.items() if _is_fixed(e)}
    if taken := [name for name in CONDITIONS if name in fixed]:
        raise fixed[taken[0]].refused(f'"{taken[0]}" is a condition of the air. Rename the species.')
    species = checked_species(whole, [name for name in named if name not in fixed])
    known = Known(species, fixed, _phases(whole, file, named))
    processes: list[Process] = []
    for n, each in enumerate(_list(whole, "reactions"), 1):
        processes += _processes(Entry(f'"{file}", reaction {n}', each, text=True), n, known)
    constants = {name: MOLECULES * e.number(FIXED, at_least_0=True, above_0=name == "M") for name, e in fixed.items() if FIXED in e.values}
    return Mechanism(str(whole.values.get("name", file)), tuple(species), tuple(processes), constants)


def _list(entry: Entry, key: str) -> list[Any]:
    found = entry.values.get(key)
    if not isinstance(found, list):
        more = " Names of other files are not read: write their entries into this file." * isinstance(found, Mapping)
        raise entry.unlike(key, f"a list is expected.{more}")
    return found


def _is_fixed(entry: Entry) -> bool:
    """Whether a species is not integrated."""
    entry.only(OF_SPECIES)
    if MIXED in entry.values:
        raise entry.refused("a constant mixing ratio is not read. Give the species a constant concentration [mol m-3].")
    if not isinstance(third := entry.values.get(THIRD, False), bool):
        raise entry.unlike(THIRD, "true or false is expected.")
    return third or FIXED in entry.values


def _phases(whole: Entry, file: str, named: Mapping[str, Entry]) -> dict[str, dict[str, Mapping[str, object]]]:
    """The phases of a file. named: its species."""
    found: dict[str, dict[str, Mapping[str, object]]] = {}
    for n, each in enumerate(_list(whole, "phases"), 1):
        phase = Entry(f'"{file}", phase {n}', each)
        phase.only(("name", "species"))
        own = found.setdefault(str(phase.values.get("name")), {})
        for one in _list(phase, "species"):
            part = Entry(f"{phase.where}, species", {"name": one} if isinstance(one, str) else one)
            part.only(OF_PHASE)
            name = part.values.get("name")
            number_of(part, name, dict.fromkeys(named, 0))
            own[str(name)] = {**named[str(name)].values, **part.values}
    return found


def _processes(entry: Entry, n: int, known: Known) -> list[Process]:
    """One reaction; two of one with branches."""
    kind = entry.form(FORMS)
    entry = Entry(f"{entry.where} ({entry.values.get('name', kind)})", entry.values, text=True)
    entry.only(("type", "name", "gas phase", *OF_REACTION[kind]))
    phase = _phase(entry, "gas phase", known)
    if "condensed phase" in entry.values:
        _phase(entry, "condensed phase", known)
    left = [] if kind == "EMISSION" else _side(entry, OF_REACTION[kind][0], known, [phase])
    if not left and kind != "EMISSION":
        raise entry.unlike(OF_REACTION[kind][0], "the species that react are expected.")
    once = entry.reactants("it", left)
    if kind in FIRST_ORDER and len(once) != 1:
        raise entry.refused(f"it has {len(once)} reactants, and a {kind} has 1. Remove the others, or choose another type.")
    reactants = tuple(known.species[name] for name in once if name not in known.fixed)
    third = tuple(name if FIXED in known.fixed[name].values else "M" for name in once if name in known.fixed)
    numbers = _numbers(entry, kind, MOLECULES ** (1 - len(once)), known.phases[phase][once[0]] if once else {})
    name = entry.values.get("name")
    if kind in GIVEN or kind == "SURFACE":
        if not isinstance(name, str):
            raise entry.refused('"name" is missing. Add it: the rate is given by it.')
        name = f"{GIVEN.get(kind, 'SURF')}.{name}"
    rate = Rate(FORMS[kind], numbers, third, str(name or ""))

    def made(ending: str, key: str, rate: Rate) -> Process:
        right = [each for each in _side(entry, key, known, known.phases) if each[0] not in known.fixed]
        products = tuple((known.species[name], times) for name, times in right)
        return Process(f"r{n}{ending}", _equation(left, right), reactants, products, rate)

    if kind != "BRANCHED_NO_RO2":
        return [made("", "gas-phase products" if kind == "SURFACE" else "products", rate)]
    branches = ("a", "alkoxy products", 0.0), ("b", "nitrate products", 1.0)
    return [made(ending, key, rate._replace(numbers=(*numbers[:4], nitrate))) for ending, key, nitrate in branches]


def _phase(entry: Entry, key: str, known: Known) -> str:
    """The phase that a key names; the only one of the file where there is no such key."""
    found = entry.values.get(key, next(iter(known.phases)) if len(known.phases) == 1 else None)
    if not isinstance(found, str) or found not in known.phases:
        raise entry.unlike(key, f"the name of a phase is expected.{nearest(str(found), known.phases)}")
    return found


def _numbers(entry: Entry, kind: str, unit: float, gas: Mapping[str, object]) -> tuple[float, ...]:
    """Of the form, in molecule, cm3, s. unit: what a rate is multiplied by. gas: what is known of the first reactant."""
    form = FORMS[kind]
    if kind in GIVEN:
        return (entry.number("scaling factor", 1.0, at_least_0=True) * unit,)
    if kind == "SURFACE":
        its = Entry(f"{entry.where}, its species", gas, text=True)
        diffusion, weight = (its.number(key, above_0=True) for key in (DIFFUSION, WEIGHT))
        return entry.number("reaction probability", 1.0, at_least_0=True), diffusion, weight
    if kind == "BRANCHED_NO_RO2":
        entry = Entry(entry.where, {**entry.values, "nitrate": 0.0}, text=True)
    if ENERGY in entry.values:
        if "C" in entry.values:
            raise entry.refused('it has "Ea" and "C", and C is -Ea / k. Remove one.')
        entry = Entry(entry.where, {**entry.values, "C": -entry.number(ENERGY) / BOLTZMANN}, text=True)
    rates = ("A", "k0_A", "kinf_A", "kint_A", "X")
    found = {name: x * unit if name in rates else x for name, x in zip(NUMBERS[form], entry.numbers(form), strict=True)}
    if found.get("a0", 0.0) >= 1.0:
        raise entry.refused(f'"a0" is {found["a0"]:g}, and a share between 0 and 1 is expected.')
    if form == "ternary":  # kinf has the air as one reactant less
        found["kinf_A"] *= MOLECULES
    elif "k0_A" in found:  # k0 has it as one more
        found["k0_A"] /= MOLECULES
    series = _list(entry, TAYLOR) if TAYLOR in entry.values else [1.0] * (form == "taylor")
    more = Entry(f"{entry.where}, {TAYLOR}", {f"c{n}": each for n, each in enumerate(series)}, text=True)
    return (*found.values(), *map(more.number, more.values))


def _side(entry: Entry, key: str, known: Known, phases: Collection[str]) -> list[tuple[str, float]]:
    """Names and coefficients of one side of a reaction; each species must be in one of some phases."""
    found = []
    values = entry.values.get(key) or []
    for each in values if isinstance(values, list) else [values]:
        part = Entry(f"{entry.where}, {key}", {"name": each} if isinstance(each, str) else each, text=True)
        part.only(("name", "species name", "coefficient"))
        if {"name", "species name"} <= part.values.keys():
            raise part.refused('it has "name" and "species name". Remove one.')
        name = part.values.get("name", part.values.get("species name"))
        if not isinstance(name, str) or name not in known.fixed:
            number_of(entry, name, known.species)
        if not any(name in known.phases[phase] for phase in phases):
            raise entry.refused(f'species "{name}" is not in phase {" or ".join(phases)}. Add it to the species of the phase.')
        found.append((str(name), part.number("coefficient", 1.0)))
    return found


def _equation(*sides: Sequence[tuple[str, float]]) -> str:
    texts = [" + ".join(name if times == 1.0 else f"{times:g} {name}" for name, times in side) for side in sides]
    return " -> ".join(texts).strip()
