"""Mistakes in a mechanism, or in the conditions of a cell of air. Each writes mechanism.yaml beside the run."""

from pathlib import Path

MECHANISM = """\
species: ["NO", "NO2", "O3"]
reactions:
- {n: 1, eq: "NO2 -> NO + O3", rate: {type: photolysis, A: 0.0145, B: 0.4}}
- {n: 2, eq: "NO + O3 -> NO2", rate: {type: arrhenius, A: 1.8e-12, C: -1370.0}}
"""


def _mechanism(folder: Path, old: str = "", new: str = "") -> None:
    assert old in MECHANISM
    (folder / "mechanism.yaml").write_text(MECHANISM.replace(old, new) if old else MECHANISM)


def box_that_is_right(folder: Path) -> None:
    """The conditions are wrong."""
    _mechanism(folder)


def box_with_an_unknown_species(folder: Path) -> None:
    """A typo in a reaction."""
    _mechanism(folder, '"NO + O3 -> NO2"', '"NO + O3 -> NOX"')


def box_with_a_rate_that_is_text(folder: Path) -> None:
    """An exponent without its sign is text in YAML."""
    _mechanism(folder, "A: 1.8e-12", "A: 1.8e12")


def box_with_a_bare_no(folder: Path) -> None:
    """A boolean in YAML."""
    _mechanism(folder, '["NO",', "[NO,")


def box_with_a_species_twice(folder: Path) -> None:
    """In the list."""
    _mechanism(folder, '"O3"]', '"O3", "NO"]')


def box_with_a_reaction_twice(folder: Path) -> None:
    """The same number."""
    _mechanism(folder, "n: 2", "n: 1")


def box_with_an_unknown_form(folder: Path) -> None:
    """A typo."""
    _mechanism(folder, "type: arrhenius", "type: arhenius")


def box_with_an_element_of_no_species(folder: Path) -> None:
    """Its table is empty."""
    _mechanism(folder, "reactions:", "elements: {N: {}}\nreactions:")


def box_with_a_misspelt_key(folder: Path) -> None:
    """In OpenAtmos' format, where the rate constant would be taken without it."""
    reaction = "{type: ARRHENIUS, name: tit, gas phase: gas, A: 1.0e+6, c: -1370, reactants: [{name: A}], products: []}"
    text = f"version: 1.0.0\nspecies: [{{name: A}}]\nphases: [{{name: gas, species: [A]}}]\nreactions: [{reaction}]\n"
    (folder / "mechanism.yaml").write_text(text)


def box_with_a_rate_from_outside(folder: Path) -> None:
    """Nobody gives it."""
    _mechanism(folder, "{type: photolysis, A: 0.0145, B: 0.4}", '{type: given, id: "PHOTO.jno2"}')
