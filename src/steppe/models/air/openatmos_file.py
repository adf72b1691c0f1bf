"""Reads a mechanism in OpenAtmos' format, version 1, as MUSICA reads it; amounts there are mol, m3, s, K, Pa.

A rate of n reactants is divided by (Avogadro's number x 1e-6)^(n - 1) to become one of molecules and cm3. A species that is a third body,
or whose concentration the file fixes, is not integrated: as a reactant it multiplies the rate. Keys that begin with __ are comments.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from steppe.errors import nearest
from steppe.models.air.entry import Entry, checked_species, number_of
from steppe.models.air.mechanism import MOLECULES, Mechanism, Process, Rate

FIXED = "constant concentration [mol m-3]"
GIVEN = {"PHOTOLYSIS": "PHOTO", "USER_DEFINED": "USER", "EMISSION": "EMIS", "FIRST_ORDER_LOSS": "LOSS"}
FORMS = {
    "ARRHENIUS": "arrhenius",
    "TROE": "troe",
    "TERNARY_CHEMICAL_ACTIVATION": "ternary",
    "BRANCHED_NO_RO2": "branched",
    "TUNNELING": "tunneling",
    "TAYLOR_SERIES": "taylor",
    "SURFACE": "surface",
    **dict.fromkeys(GIVEN, "given"),
}


def read_openatmos(content: object, file: str) -> Mechanism:
    """The mechanism of a parsed file. file: its name, for messages.

    Raises
    ------
    ModelError
        A key, a name or a number is wrong; the message names the file and the reaction.
    """
    whole = Entry(f'"{file}"', content)
    every = [Entry(f'"{file}", species {n + 1}', each) for n, each in enumerate(whole.values.get("species") or ())]
    fixed = {e.values.get("name"): e for e in every if FIXED in e.values or "is third body" in e.values}
    for entry in every:
        if "constant mixing ratio [mol mol-1]" in entry.values:
            raise entry.refused("a constant mixing ratio is not read. Give the species a constant concentration [mol m-3].")
    species = checked_species(whole, [e.values.get("name") for e in every if e.values.get("name") not in fixed])
    details = {e.values.get("name"): dict(e.values) for e in every}
    for phase in whole.values.get("phases") or ():
        for each in phase.get("species", ()):
            if isinstance(each, Mapping):
                details.setdefault(each.get("name"), {}).update(each)
    processes: list[Process] = []
    for n, each in enumerate(whole.values.get("reactions") or ()):
        entry = Entry(f'"{file}", reaction {n + 1}', each, text=True)
        processes += _processes(entry, n + 1, species, fixed, details)
    constants = {str(name): MOLECULES * e.number(FIXED) for name, e in fixed.items() if FIXED in e.values}
    return Mechanism(str(whole.values.get("name", file)), tuple(species), tuple(processes), constants)


def _processes(
    entry: Entry, n: int, species: Mapping[str, int], fixed: Mapping[object, Entry], details: Mapping[object, Mapping[str, object]]
) -> list[Process]:
    """One reaction; two of one with branches."""
    kind = entry.values.get("type")
    if kind not in FORMS:
        raise entry.unlike("type", f"a form of rate is expected.{nearest(str(kind), FORMS)}")
    entry = Entry(f"{entry.where} ({entry.values.get('name', kind)})", entry.values, text=True)
    surface = kind == "SURFACE"
    left = [(entry.values.get("gas-phase species"), 1.0)] if surface else _side(entry, "reactants")
    third = tuple(str(name) for name, times in left for _ in range(_whole(entry, name, times)) if name in fixed)
    reactants = tuple(
        number_of(entry, name, species) for name, times in left for _ in range(_whole(entry, name, times)) if name not in fixed
    )
    unit = MOLECULES ** (1 - len(reactants) - len(third))
    name = entry.values.get("name")
    numbers = _numbers(entry, kind, unit, details.get(left[0][0] if left else None, {}))
    if kind in GIVEN or surface:
        if not isinstance(name, str):
            raise entry.refused('"name" is missing. Add it: the rate is given by it.')
        name = f"{GIVEN.get(kind, 'SURF')}.{name}"
    rate = Rate(FORMS[kind], numbers, third, str(name or ""))
    if kind != "BRANCHED_NO_RO2":
        products = _products(entry, "gas-phase products" if surface else "products", species, fixed)
        return [Process(f"r{n}", _equation(left, products, species), reactants, products, rate)]
    made = []
    for ending, key, nitrate in (("a", "alkoxy products", 0.0), ("b", "nitrate products", 1.0)):
        products = _products(entry, key, species, fixed)
        branch = rate._replace(numbers=(*numbers[:4], nitrate))
        made.append(Process(f"r{n}{ending}", _equation(left, products, species), reactants, products, branch))
    return made


def _numbers(entry: Entry, kind: str, unit: float, gas: Mapping[str, object]) -> tuple[float, ...]:
    """Of the form, in molecule, cm3, s. unit: what a rate is multiplied by. gas: what is known of the first reactant."""
    form = FORMS[kind]
    if kind in GIVEN:
        scale = entry.number("scaling factor", 1.0, at_least_0=True)
        return (scale * MOLECULES if kind == "EMISSION" else scale * (unit if kind == "USER_DEFINED" else 1.0),)
    if kind == "SURFACE":
        known = Entry(f"{entry.where}, its species", gas, text=True)
        diffusion = known.number("diffusion coefficient [m2 s-1]", above_0=True)
        weight = known.number("molecular weight [kg mol-1]", above_0=True)
        return entry.number("reaction probability", 1.0, at_least_0=True), diffusion, weight
    if kind == "BRANCHED_NO_RO2":
        x, y, a0, n = (entry.number(key, at_least_0=key == "X", above_0=key == "a0") for key in ("X", "Y", "a0", "n"))
        if a0 >= 1.0:
            raise entry.refused(f'"a0" is {a0:g}, and a share between 0 and 1 is expected.')
        return x * unit, y, a0, n, 0.0
    numbers = entry.numbers(form)
    if kind == "TROE":  # k0 has the air as one more reactant
        return (numbers[0] * unit / MOLECULES, *numbers[1:3], numbers[3] * unit, *numbers[4:])
    if kind == "TERNARY_CHEMICAL_ACTIVATION":  # kinf has it as one less
        return (numbers[0] * unit, *numbers[1:3], numbers[3] * unit * MOLECULES, *numbers[4:])
    if kind == "TAYLOR_SERIES":
        more = entry.values.get("taylor coefficients", [1.0])
        return (numbers[0] * unit, *numbers[1:], *(float(each) for each in more))
    return (numbers[0] * unit, *numbers[1:])


def _side(entry: Entry, key: str) -> list[tuple[Any, float]]:
    """Names and coefficients of one side of a reaction."""
    found = []
    for each in entry.values.get(key) or ():
        part = Entry(f"{entry.where}, {key}", each, text=True)
        found.append((part.values.get("name", part.values.get("species name")), part.number("coefficient", 1.0)))
    return found


def _products(entry: Entry, key: str, species: Mapping[str, int], fixed: Mapping[object, Entry]) -> tuple[tuple[int, float], ...]:
    return tuple((number_of(entry, name, species), times) for name, times in _side(entry, key) if name not in fixed)


def _whole(entry: Entry, name: object, times: float) -> int:
    if times not in (1.0, 2.0, 3.0):
        raise entry.refused(f"it has {times:g} of the reactant {name}, and 1, 2 or 3 is expected.")
    return int(times)


def _equation(left: Sequence[tuple[Any, float]], products: Sequence[tuple[int, float]], species: Mapping[str, int]) -> str:
    names = list(species)
    sides = (left, [(names[i], times) for i, times in products])
    texts = [" + ".join(name if times == 1.0 else f"{times:g} {name}" for name, times in side) for side in sides]
    return f"{texts[0]} -> {texts[1]}".strip()
