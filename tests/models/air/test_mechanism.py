"""Mechanisms are read from files; mistakes in them are named with file, reaction and value."""

import re

import pytest

from steppe.errors import ModelError
from steppe.models.air.mechanism import MOLECULES, Process, Rate
from steppe.models.air.mechanism_file import read_mechanism

SMALL = """\
name: small
constants: {M: 2.55e+19}
h2o: {half: '0.5*T', H2O: '2*half + tod'}
species: ["NO", "NO2", "O3"]
rates:
  J3: {type: photolysis, A: 0.0145, B: 0.4}
reactions:
- {n: 1, eq: "NO2 -> NO + O3", rate: J3}
- {n: 2, eq: "NO + O3 -> 0.9 NO2", rate: {type: arrhenius, id: RC11, A: 1.8e-12, C: -1370.0}}
- {n: self, eq: "2 O3 -> ", rate: {type: loss, k: 1.0e-20, third: [M]}}
elements: {N: {"NO": 1, "NO2": 1}}
box: {temperature: 298.0, day: [4.0, 20.0], initial: {"O3": 5.0e+11}, initial_others: 100.0}
"""


def test_a_plain_file_is_read(tmp_path):
    mechanism = read_mechanism(written(tmp_path, SMALL))
    assert mechanism.name == "small"
    assert mechanism.species == ("NO", "NO2", "O3")
    assert mechanism.processes == (
        Process("r1", "NO2 -> NO + O3", (1,), ((0, 1.0), (2, 1.0)), Rate("photolysis", (0.0145, 0.4, 1.0), (), "J3")),
        Process("r2", "NO + O3 -> 0.9 NO2", (0, 2), ((1, 0.9),), Rate("arrhenius", (1.8e-12, 0.0, -1370.0, 300.0, 0.0), (), "RC11")),
        Process("self", "2 O3 ->", (2, 2), (), Rate("constant", (1e-20,), ("M",), "")),
    )
    assert mechanism.constants == {"M": 2.55e19}
    assert mechanism.humidity == {"half": "0.5*T", "H2O": "2*half + tod"}
    assert mechanism.elements == {"N": {"NO": 1.0, "NO2": 1.0}}
    assert mechanism.box == {"temperature": 298.0, "day_begin": 4.0, "day_end": 20.0, "initial": {"NO": 100.0, "NO2": 100.0, "O3": 5e11}}


def test_a_species_may_have_the_name_of_a_number_of_a_rate(tmp_path):
    text = SMALL.replace('"NO"', '"N"').replace("NO ", "N ").replace('initial: {"O3": 5.0e+11}', 'initial: {"N": 0.0}')
    assert read_mechanism(written(tmp_path, text)).box["initial"] == {"N": 0.0, "NO2": 100.0, "O3": 100.0}


def test_the_built_in_mechanism_is_read_by_its_name():
    mechanism = read_mechanism("emep66")
    assert (len(mechanism.species), len(mechanism.processes)) == (66, 170)
    assert len({process.label for process in mechanism.processes}) == 170
    assert mechanism.box["initial"].keys() == set(mechanism.species)


@pytest.mark.parametrize(
    ("element", "open_processes"), [("N", {"r1", "r63", "r65", "r66", "r68", "r80", "r81", "r97", "r98"}), ("S", {"r2", "r61", "r67"})]
)
def test_elements_of_the_built_in_mechanism_change_in_named_processes_only(element, open_processes):
    mechanism = read_mechanism("emep66")
    atoms = [mechanism.elements[element].get(name, 0.0) for name in mechanism.species]
    changes = {
        each.label: sum(atoms[number] * times for number, times in each.products) - sum(atoms[number] for number in each.reactants)
        for each in mechanism.processes
    }
    assert {label for label, change in changes.items() if abs(change) > 1e-12} == open_processes


MISTAKES = {
    "an unknown species": (
        "NO + O3 ->",
        "NO + O4 ->",
        'line 9, reaction 2: "NO + O4 -> 0.9 NO2": there is no species "O4". Known: NO, NO2, O3.',
    ),
    "a rate as text": ("A: 1.8e-12", "A: 1.2e5", """reaction 2, rate: "A" is '1.2e5', and a number is expected. In YAML this is text"""),
    "a rate of words": ("A: 1.8e-12", "A: fast", """"A" is 'fast', and a number is expected."""),
    "a rate that is true": ("A: 1.8e-12", "A: true", '"A" is True, and a number is expected.'),
    "a rate without end": ("A: 1.8e-12", "A: .inf", '"A" is inf, and a number is expected.'),
    "a bare NO": ('["NO",', "[NO,", "species has False, and a name is expected. In YAML a bare NO is false and a bare ON is true: write"),
    "a bare NO in an element": ('{N: {"NO": 1,', "{N: {NO: 1,", "elements.N: False stands where a species is expected. In YAML a bare NO"),
    "a species twice": ('"NO2", "O3"]', '"NO2", "O3", "NO2"]', 'species has "NO2" twice. Remove one.'),
    "no species": ('["NO", "NO2", "O3"]', "NO", "species is False, and a list of names is expected."),
    "a label twice": ("{n: 2,", "{n: 1,", 'line 9, reaction 1: another reaction has the label "r1" too.'),
    "a label of words": ("n: self", "n: my own", """"n" is 'my own', and a whole number or a name of letters, digits and _ is expected."""),
    "an unknown form": (
        "type: arrhenius",
        "type: arhenius",
        """"type" is 'arhenius', and a form of rate is expected. Did you mean "arrhenius"?""",
    ),
    "a form that is a list": ("type: arrhenius", "type: [arrhenius]", """"type" is ['arrhenius'], and a form of rate is expected."""),
    "a missing number": ("A: 1.8e-12, ", "", 'line 9, reaction 2, rate: "A" is missing. Add it, as a number.'),
    "an unknown number": ("C: -1370.0", "c: -1370.0", '"c" is not known here.'),
    "an unknown rate": ("rate: J3", "rate: J4", '"rate" is "J4", and rates has none of this name. Known: J3.'),
    "no rate": (", rate: J3", "", '"rate" is missing, and a table is expected'),
    "an unknown species of an element": ('"NO2": 1}}', '"N2O5": 2}}', 'elements.N: there is no species "N2O5".'),
    "an element without species": ('{N: {"NO": 1, "NO2": 1}}', "{N: {}}", "elements.N: it names no species."),
    "no arrow": ("NO2 -> NO + O3", "NO2 NO + O3", """"eq" is 'NO2 NO + O3', and an equation is expected"""),
    "a term that is none": ("0.9 NO2", "0.9 2", '"NO + O3 -> 0.9 2" cannot be read at "0.9 2".'),
    "a number of two dots": ("0.9 NO2", "0.9.1 NO2", 'cannot be read at "0.9.1 NO2".'),
    "a part of a reactant": ("2 O3 ->", "0.5 O3 ->", "has 0.5 of the reactant O3, and 1, 2 or 3 is expected."),
    "no list of third bodies": ("third: [M]", "third: M", """"third" is 'M', and a list of names is expected"""),
    "a given rate without a name": ("{type: loss, k: 1.0e-20,", "{type: given,", '"id" is missing. Add the name under which'),
    "an unknown key": ("elements:", "element:", '"element" is not known here. Did you mean "elements"?'),
    "an unknown key of the box": (
        "temperature: 298.0",
        "temperatur: 298.0",
        'box: "temperatur" is not known here. Did you mean "temperature"?',
    ),
    "a day that ends before it begins": ("[4.0, 20.0]", "[20.0, 4.0]", '"day" is [20.0, 4.0], and hours from 0 to 24 are expected'),
    "an emission with a reactant": (
        "rate: J3}",
        "rate: {type: emission, flux: 1.0}}",
        '"NO2 -> NO + O3" has 1 reactant, and 0 is expected of type emission. Change the equation or the type.',
    ),
    "a photolysis with two reactants": (
        '"NO2 -> NO + O3", rate: J3',
        '"NO2 + NO -> NO + O3", rate: J3',
        '"NO2 + NO -> NO + O3" has 2 reactants, and 1 is expected of type photolysis.',
    ),
    "a deposition without a reactant": (
        '"2 O3 -> ", rate: {type: loss, k: 1.0e-20,',
        '"-> O3", rate: {type: deposition, vd: 0.1,',
        "has 0 reactants, and 1",
    ),
    "a deposition with a third body": (
        '"2 O3 -> ", rate: {type: loss, k: 1.0e-20,',
        '"O3 -> ", rate: {type: deposition, vd: 0.1,',
        """"third" is ['M'], and a rate of type deposition is multiplied by nothing. Remove it.""",
    ),
    "a rate from outside with the name of the air": (
        "{type: loss, k: 1.0e-20,",
        "{type: given, id: M,",
        '"id" is "M", a species, a constant or a condition of the air. Rename it, such as "USER.k1".',
    ),
    "a sum without spaces": ("NO + O3 ->", "NO+O3 ->", '"NO+O3 -> 0.9 NO2" cannot be read at "NO+O3". Write terms as'),
    "no day": ("[4.0, 20.0]", "4.0", '"day" is 4.0, and the first and the last hour are expected'),
    "an unknown species of the box": ('{"O3": 5.0e+11}', '{"O2": 5.0e+11}', 'box.initial: there is no species "O2".'),
    "an unknown name in a formula": ("0.5*T", "0.5*TT", 'h2o: "half": "0.5*TT" has the name "TT", which is not known here.'),
    "an unknown function in a formula": ("0.5*T", "tan(T)", '"tan(T)" calls "tan", which is not known here.'),
    "a name that a formula must not have": ("0.5*T", "T.real", '"T.real" has "T.real", and numbers, names, + - * / ** and sin, cos'),
    "a formula that is none": ("0.5*T", "0.5*", '"0.5*" is no formula: '),
    "a negative rate": (
        "A: 1.8e-12",
        "A: -1.8e-12",
        'line 9, reaction 2, rate: "A" is -1.8e-12, and 0 or more is expected.',
    ),
    "a negative rate of several": ("A: 0.0145", "A: -0.0145", 'line 8, reaction 1, rate J3: "A" is -0.0145, and 0 or more is expected.'),
    "a negative flux": (
        "{type: loss, k: 1.0e-20, third: [M]}",
        "{type: emission, flux: -1.0e+11}",
        '"flux" is -1e+11, and 0 or more is expected.',
    ),
    "a negative velocity": (
        "{type: loss, k: 1.0e-20, third: [M]}",
        "{type: deposition, vd: -0.5}",
        '"vd" is -0.5, and 0 or more is expected.',
    ),
    "an unknown third body": (
        "third: [M]",
        'third: ["N2"]',
        'line 10, reaction self, rate: "third" has "N2", which is not known. Possible are M, O2, H2O; add others to constants.',
    ),
    "a third body as a species": (
        "NO + O3 ->",
        "NO + M ->",
        'there is no species "M". Known: NO, NO2, O3. Correct the name, or add it to species. '
        "For a third body write it in the rate: third: [M].",
    ),
    "a rate that is empty": ("rate: J3", "rate: ", 'line 8, reaction 1: "rate" is empty, and a table is expected'),
    "a number that is empty": ("A: 1.8e-12", "A: ", 'line 9, reaction 2, rate: "A" is empty. Write a number.'),
    "a species list that is missing": ('species: ["NO", "NO2", "O3"]\n', "", '"species" is missing, and a list of names is expected'),
    "an element that is empty": (
        '{N: {"NO": 1, "NO2": 1}}',
        "{N: }",
        "elements.N: it is empty, and a table of names and values is expected.",
    ),
    "no YAML": ("rates:\n  J3: {", "rates:\n  J3: {{", "this is no YAML:"),
    "a number twice": ("A: 1.8e-12,", "A: 1.8e-12, A: 1.0e-12,", 'line 9: this is no YAML: "A" stands twice in a table.'),
    "a time for a number": ("A: 1.8e-12,", "A: 12:30,", "line 9: this is no YAML: 12:30 is a number to the base of 60, as YAML reads it"),
    "a table twice": ("box:", "constants: {}\nbox:", 'this is no YAML: "constants" stands twice in a table.'),
    "a negative constant": ("{M: 2.55e+19", "{N2: -1.0", 'constants: "N2" is -1, and 0 or more is expected.'),
    "no temperature": ("temperature: 298.0", "temperature: 0.0", 'box: "temperature" is 0, and a number above 0 is expected.'),
    "no air": ("{M: 2.55e+19", "{M: 0.0", 'constants: "M" is 0, and a number above 0 is expected.'),
    "a negative M": ("{M: 2.55e+19", "{M: -1.0", 'constants: "M" is -1, and 0 or more is expected.'),
    "a constant that is a species": ("{M: 2.55e+19", "{O3: 1.0", 'constants: "O3" is a species. Rename the constant'),
    "a constant that is a condition": ("{M: 2.55e+19", "{pressure: 1.0", 'constants: "pressure" is a condition of the air. Rename'),
    "a negative yield of an emission": (
        '"NO2 -> NO + O3", rate: J3',
        '"-> NO - 0.5 O3", rate: {type: emission, flux: 1.0}',
        '"-> NO - 0.5 O3" has a yield below 0, and 0 or more is expected of type emission.',
    ),
    "a negative reactant": ("NO + O3 ->", "NO - 2 O3 ->", "has -2 of the reactant O3, and 1, 2 or 3 is expected."),
    "no reactions": ("reactions:", "reactionen:", '"reactionen" is not known here. Did you mean "reactions"?'),
    "a reaction that is no table": ('{n: 1, eq: "NO2 -> NO + O3", rate: J3}', "J3", "reaction 1: 'J3' stands where a table"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_plain_file_is_named(mistake, tmp_path):
    text, other, says = MISTAKES[mistake]
    assert text in SMALL
    with pytest.raises(ModelError, match=re.escape(says)) as refused:
        read_mechanism(written(tmp_path, SMALL.replace(text, other, 1)))
    assert str(refused.value).startswith(f'Mechanism "{tmp_path / "small.yaml"}"')


def test_exponents_and_temperatures_of_a_rate_may_be_negative(tmp_path):
    text = SMALL.replace("C: -1370.0", "B: -2.8, C: -1370.0, E: -1.0e-6")
    assert read_mechanism(written(tmp_path, text)).processes[1].rate.numbers == (1.8e-12, -2.8, -1370.0, 300.0, -1e-6)


def test_a_third_body_may_be_a_constant(tmp_path):
    text = SMALL.replace("constants: {M: 2.55e+19}", "constants: {M: 2.55e+19, N2: 1.99e+19}").replace("third: [M]", 'third: ["N2", H2O]')
    assert read_mechanism(written(tmp_path, text)).processes[2].rate.third == ("N2", "H2O")


def test_a_yield_may_be_negative(tmp_path):
    for right in ("0.9 NO2 - 0.66 O3", "0.9 NO2 + -0.66 O3"):
        mechanism = read_mechanism(written(tmp_path, SMALL.replace("0.9 NO2", right)))
        assert mechanism.processes[1].products == ((1, 0.9), (2, -0.66))
    assert read_mechanism(written(tmp_path, SMALL.replace("0.9 NO2", "- NO2 - O3"))).processes[1].products == ((1, -1.0), (2, -1.0))


def test_a_name_may_begin_with_any_letter(tmp_path):
    mechanism = read_mechanism(written(tmp_path, SMALL.replace("0.9 NO2", "0.9 NO2 + .5 σ").replace('"O3"]', '"O3", "σ"]')))
    assert mechanism.processes[1].products == ((1, 0.9), (3, 0.5))


def test_an_emission_from_outside_has_one_unit_in_both_formats(tmp_path):
    """Of mol m-3 s-1."""
    text = SMALL.replace("{type: loss, k: 1.0e-20,", "{type: given, id: EMIS.x, scale: 2.0,")
    assert read_mechanism(written(tmp_path, text)).processes[2].rate.numbers == (2.0 * MOLECULES,)


def test_a_name_of_json_that_stands_twice_is_named(tmp_path):
    with pytest.raises(ModelError, match=re.escape('small.json": a table has "name" twice. Remove one.')):
        read_mechanism(written(tmp_path, '{"name": "a", "__note": 1, "__note": 2, "name": "b"}', "small.json"))


def test_a_negative_factor_of_an_openatmos_file_is_named(tmp_path):
    text = (
        '{"version": "1.0.0", "species": [{"name": "A"}], "phases": [{"name": "gas", "species": ["A"]}], "reactions": '
        '[{"type": "EMISSION", "name": "a", "products": [{"name": "A"}], "scaling factor": -1}]}'
    )
    with pytest.raises(ModelError, match=re.escape('reaction 1 (a): "scaling factor" is -1, and 0 or more is expected.')):
        read_mechanism(written(tmp_path, text, "a.json"))


def test_yaml_that_does_not_parse_is_named_with_its_line(tmp_path):
    with pytest.raises(ModelError, match=re.escape('small.yaml", line 3: this is no YAML: ')):
        read_mechanism(written(tmp_path, "name: small\nspecies: [A\nrates: {}\n"))


def test_json_that_does_not_parse_is_named_with_its_line(tmp_path):
    with pytest.raises(ModelError, match=re.escape('small.json", line 2: this is no JSON: ')):
        read_mechanism(written(tmp_path, '{"name": "small",\n species}', "small.json"))


def test_a_name_that_is_no_mechanism_is_refused(tmp_path):
    with pytest.raises(ModelError, match=re.escape('There is no mechanism "emep". Did you mean "emep66"?')):
        read_mechanism("emep")
    with pytest.raises(ModelError, match="cannot be read: No such file or directory"):
        read_mechanism(tmp_path / "none.yaml")


def written(folder, text, name="small.yaml"):
    path = folder / name
    path.write_text(text)
    return path
