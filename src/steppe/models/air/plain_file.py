"""Reads a mechanism that is written as equations with typed rates, in YAML.

    species: ["NO", "NO2", "O3"]
    constants: {M: 2.55e+19, mixing_height_cm: 1.2e+5}
    rates:                                                       # those that several reactions have
      RC60: {type: arrhenius, A: 4.2e-12, C: 180.0}
    reactions:
    - {n: 39, eq: "NO + O3 -> NO2", rate: {type: arrhenius, id: RC11, A: 1.8e-12, C: -1370.0}}

Amounts are molecule, cm3, s, K. Optional: constants, h2o (formulas of `humidity`), elements, box, rates.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from steppe.errors import ModelError, nearest
from steppe.models.air.entry import Entry, Table, checked_species, number_of
from steppe.models.air.formulas import parsed
from steppe.models.air.mechanism import CONDITIONS, MOLECULES, NUMBERS, OF_GROUND, Mechanism, Process, Rate

FORMS = {"loss": "constant"} | {form: form for form in NUMBERS if form not in ("branched", "surface", "taylor")}
KEYS = ("name", "version", "constants", "h2o", "zenith", "species", "rates", "reactions", "elements", "box")
THIRDS = ("M", "O2", "H2O")  # concentrations that any mechanism may name, beside its constants
REACTANTS = {"photolysis": 1, "deposition": 1, "emission": 0}  # of a form of rate that takes no other number
TERM = re.compile(r"(-?) *(?:([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+) +)?([^\W\d]\S*)")


def read_plain(content: object, file: str) -> Mechanism:
    """The mechanism of a parsed file. file: its name, for messages.

    Raises
    ------
    ModelError
        A key, a name, an equation or a number is wrong; the message names the file and the reaction.
    """
    whole = Entry(f'"{file}"', content)
    whole.only(KEYS)
    species = checked_species(whole, whole.values.get("species"))
    rates = {name: _table(whole, "rates", name) for name in _table(whole, "rates").values}
    entries = whole.values.get("reactions")
    if not isinstance(entries, list) or not entries:
        raise whole.unlike("reactions", "a list of reactions is expected.")
    constants = _table(whole, "constants")
    third = (*THIRDS, *(name for name in constants.values if name not in (*THIRDS, "mixing_height_cm")))
    processes: dict[str, Process] = {}
    for number, each in enumerate(entries):
        at = f", line {each.line}" if isinstance(each, Table) else ""
        label = each.get("n", number + 1) if isinstance(each, Mapping) else number + 1
        entry = Entry(f'"{file}"{at}, reaction {label}', each)
        process = _process(entry, number, species, rates, third)
        if process.label in processes:
            raise entry.refused(f'another reaction has the label "{process.label}" too. Give each reaction an "n" of its own.')
        processes[process.label] = process
    return Mechanism(
        name=str(whole.values.get("name", file)),
        species=tuple(species),
        processes=tuple(processes.values()),
        constants={name: _constant(constants, name, species) for name in constants.values},
        humidity=_humidity(_table(whole, "h2o")),
        elements={name: _element(_table(whole, "elements", name), species) for name in _table(whole, "elements").values},
        box=_box(_table(whole, "box"), species),
    )


def _constant(entry: Entry, name: str, species: Mapping[str, int]) -> float:
    if name in species or name in CONDITIONS:
        what = "a species" if name in species else "a condition of the air"
        raise entry.refused(f'"{name}" is {what}. Rename the constant, or remove it.')
    return entry.number(name, at_least_0=True, above_0=name in ("M", "mixing_height_cm"))


def _table(whole: Entry, *keys: str) -> Entry:
    """A table of the file; empty if it has none of this name."""
    values: object = whole.values
    for key in keys:
        values = values.get(key, {}) if isinstance(values, Mapping) else values
    return Entry(f"{whole.where}, {'.'.join(map(str, keys))}", values)


def _process(entry: Entry, number: int, species: Mapping[str, int], rates: Mapping[str, Entry], thirds: Sequence[str]) -> Process:
    entry.only(("n", "eq", "rate"))
    name = entry.values.get("n", number + 1)
    label = f"r{name}" if isinstance(name, int) and not isinstance(name, bool) else name
    if not isinstance(label, str) or not label.isidentifier():
        raise entry.refused(f'"n" is {name!r}, and a whole number or a name of letters, digits and _ is expected.')
    equation = entry.values.get("eq")
    if not isinstance(equation, str) or equation.count("->") != 1:
        raise entry.unlike("eq", 'an equation is expected, such as "NO + O3 -> NO2".')
    equation = equation.strip()
    left, right = (_side(entry, equation, side, species, thirds) for side in equation.split("->"))
    reactants = tuple(species[name] for name in entry.reactants(f'"{equation}"', left))
    rate = _rate(entry, rates, thirds)
    if len(reactants) != (most := REACTANTS.get(rate.form, len(reactants))):
        has = f"{len(reactants)} reactant{'s' * (len(reactants) != 1)}"
        raise entry.refused(f'"{equation}" has {has}, and {most} is expected of type {rate.form}. Change the equation or the type.')
    if rate.form in OF_GROUND and rate.third:
        raise entry.refused(f'"third" is {list(rate.third)}, and a rate of type {rate.form} is multiplied by nothing. Remove it.')
    if rate.form == "given" and rate.name in (*thirds, *CONDITIONS, *species):
        raise entry.refused(f'"id" is "{rate.name}", a species, a constant or a condition of the air. Rename it, such as "USER.k1".')
    if rate.form in OF_GROUND and any(times < 0.0 for _, times in right):
        raise entry.refused(f'"{equation}" has a yield below 0, and 0 or more is expected of type {rate.form}.')
    return Process(label, equation, reactants, tuple((species[name], times) for name, times in right), rate)


def _side(entry: Entry, equation: str, side: str, species: Mapping[str, int], thirds: Sequence[str]) -> list[tuple[str, float]]:
    """Species and coefficients of one side of an equation."""
    found = []
    for term in re.split(r"\s\+\s|\s(?=-\s)", side.strip()) if side.strip() else ():
        match = TERM.fullmatch(term.strip())
        if match is None or ("+" in match[3] and match[3] not in species):
            how = 'Write terms as "NO" or "0.5 HO2", with " + " or " - " between.'
            raise entry.refused(f'"{equation}" cannot be read at "{term.strip()}". {how}')
        number_of(entry, match[3], species, f'"{equation}": ', thirds)
        found.append((match[3], float(match[1] + (match[2] or "1"))))
    return found


def _rate(entry: Entry, rates: Mapping[str, Entry], thirds: Sequence[str]) -> Rate:
    given = entry.values.get("rate")
    if isinstance(given, str):
        if given not in rates:
            raise entry.refused(f'"rate" is "{given}", and rates has none of this name.{nearest(given, rates)}')
        found = Entry(f"{entry.where}, rate {given}", rates[given].values)
    elif isinstance(given, Mapping):
        found = Entry(f"{entry.where}, rate", given)
    else:
        raise entry.unlike("rate", "a table is expected, such as {type: arrhenius, A: 1.8e-12, C: -1370.0}.")
    form = FORMS[found.form(FORMS)]
    found.only(("type", "id", "third", *NUMBERS[form]))
    third = found.values.get("third", [])
    if not isinstance(third, list) or not all(isinstance(each, str) for each in third):
        raise found.unlike("third", "a list of names is expected, such as [M, O2].")
    if unknown := [each for each in third if each not in thirds]:
        raise found.refused(f'"third" has "{unknown[0]}", which is not known. Possible are {", ".join(thirds)}; add others to constants.')
    name = str(found.values.get("id", given if isinstance(given, str) else ""))
    if form == "given" and not name:
        raise found.refused('"id" is missing. Add the name under which the rate is given, such as "PHOTO.jo2".')
    numbers = found.numbers(form)
    if form == "given" and name.startswith("EMIS."):
        numbers = (MOLECULES * numbers[0],)  # of mol m-3 s-1, the unit of that name for any mechanism
    return Rate(form, numbers, tuple(third), name)


def _humidity(entry: Entry) -> dict[str, str]:
    """The formulas of H2O, checked."""
    formulas = {name: str(formula) for name, formula in entry.values.items()}
    try:
        parsed(formulas)
    except ModelError as error:
        raise entry.refused(str(error)) from None
    return formulas


def _element(entry: Entry, species: Mapping[str, int]) -> dict[str, float]:
    """Species -> atoms."""
    if not entry.values:
        raise entry.refused("it names no species. Write species and their atoms, as {NO: 1, N2O5: 2}.")
    for name in entry.values:
        number_of(entry, name, species)
    return {name: entry.number(name) for name in entry.values}


def _box(entry: Entry, species: Mapping[str, int]) -> dict[str, Any]:
    """The conditions of a run of one cell; `initial_others` becomes the initial concentration of all species that have none."""
    known = ("latitude", "declination", "temperature", "start", "end", "day", "initial", "initial_others")
    entry.only(known)
    found: dict[str, Any] = {key: entry.number(key, above_0=key == "temperature") for key in known[:5] if key in entry.values}
    if "day" in entry.values:
        hours = entry.values["day"]
        if not isinstance(hours, list) or len(hours) != 2 or not all(type(each) in (int, float) for each in hours):
            raise entry.refused(f'"day" is {hours!r}, and the first and the last hour are expected, as [4.0, 20.0].')
        if not 0.0 <= hours[0] <= hours[1] <= 24.0:
            raise entry.refused(f'"day" is {hours!r}, and hours from 0 to 24 are expected, the earlier one first.')
        found |= {"day_begin": float(hours[0]), "day_end": float(hours[1])}
    if "initial" in entry.values or "initial_others" in entry.values:
        initial = Entry(f"{entry.where}.initial", entry.values.get("initial", {}))
        for name in initial.values:
            number_of(initial, name, species)
        others = entry.number("initial_others", 0.0)
        found["initial"] = {name: initial.number(name, others) for name in species}
    return found
