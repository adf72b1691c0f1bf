"""Rates beside their formulas, each form alone, and OpenAtmos files."""

import json
from math import exp, log10, pi, sqrt

import numpy as np
import pytest

from steppe.errors import ModelError
from steppe.models.air.mechanism import MOLECULES, NUMBER, RADIUS
from steppe.models.air.mechanism_file import read_mechanism
from steppe.models.air.rates import Rates

T, P = 280.0, 90_000.0
M = 1e-6 * P / (1.380649e-23 * T)


def arrhenius(A, B, C, D=300.0, E=0.0):
    return A * exp(C / T) * (T / D) ** B * (1.0 + E * P)


def broad(r, fc, n):
    return fc ** (n / (n + log10(r) ** 2))


def branch(t, m, n):
    low = 2.0e-22 * exp(n) * m
    r = low / (0.43 * (t / 298.0) ** -8)
    return low / (1.0 + r) * broad(r, 0.41, 1.0)


A2, Z2 = branch(T, M, 9.0), branch(293.0, 2.45e19, 9.0) * (1.0 - 0.15) / 0.15
TWO = {"reactants": [{"name": "A"}, {"species name": "B", "coefficient": 1}], "products": [{"name": "C", "coefficient": 1.5}]}
ONE = {"reactants": [{"name": "A"}], "products": [{"name": "C"}]}
NONE = {"A": None, "reactants": None, "products": None}
TROE = {"k0_A": 2e6, "k0_B": -3.0, "k0_C": 50.0, "kinf_A": 1e6, "kinf_B": -1.0, "kinf_C": 10.0, "Fc": 0.6, "N": 1.2}
LOW, HIGH = 2e6 * exp(50.0 / T) * (T / 300.0) ** -3, 1e6 * exp(10.0 / T) * (T / 300.0) ** -1
AIR = M / MOLECULES  # [mol m-3]
FALLS = LOW * AIR / (1.0 + LOW * AIR / HIGH) * broad(LOW * AIR / HIGH, 0.6, 1.2)
CASES = {  # reaction, rate in mol m-3 s-1, order of the reaction
    "ARRHENIUS": ({**TWO, "A": 32.1, "B": -2.3, "C": 102.3, "D": 63.4, "E": 1e-6}, arrhenius(32.1, -2.3, 102.3, 63.4, 1e-6), 2),
    "TROE": ({**TWO, **TROE}, FALLS, 2),
    "TERNARY_CHEMICAL_ACTIVATION": ({**TWO, **TROE}, LOW / (1.0 + LOW * AIR / HIGH) * broad(LOW * AIR / HIGH, 0.6, 1.2), 2),
    "TERNARY_CHEMICAL_ACTIVATION_JPL19": (
        {**TWO, **TROE, "k0_D": 300.0, "kinf_D": 300.0, "kint_A": 3e5, "kint_B": 0.7, "kint_C": -65.0},
        FALLS + 3e5 * exp(-65.0 / T) * (T / 298.0) ** 0.7 * (1.0 - FALLS / HIGH),
        2,
    ),
    "TUNNELING": ({**ONE, "A": 123.45, "B": 1200.0, "C": 1e8}, 123.45 * exp(-1200.0 / T) * exp(1e8 / T**3), 1),
    "TAYLOR_SERIES": (
        {**ONE, "A": 12.3, "B": -1.5, "C": 1e-6, "D": 340.0, "taylor coefficients": [1.0, 0.1, -0.01]},
        arrhenius(12.3, -1.5, 1e-6, 340.0) * (1.0 + 0.1 * T - 0.01 * T * T),
        1,
    ),
    "PHOTOLYSIS": ({**ONE, "name": "x", "scaling factor": 2.0}, 2.0 * 3e-3, 1),
    "FIRST_ORDER_LOSS": ({"reactants": [{"name": "A"}], "name": "x", "scaling factor": 0.5}, 0.5 * 3e-3, 1),
    "USER_DEFINED": ({**TWO, "name": "x"}, 3e-3, 2),
    "EMISSION": ({"products": [{"name": "A"}], "name": "x"}, 3e-3, 0),
}


def written(folder, *reactions, **more):
    species = [{"name": name, "molecular weight [kg mol-1]": 0.04607} for name in "ABCD"]
    species.append({"name": "M", "is third body": True})
    gas = {"name": "gas", "species": [{"name": "A", "diffusion coefficient [m2 s-1]": 2.1e-5}, *({"name": name} for name in "BCDM")]}
    whole = {"version": "1.0.0", "name": "test", "species": species, "phases": [gas], "reactions": list(reactions), **more}
    (folder / "test.json").write_text(json.dumps(whole), encoding="utf-8")
    return read_mechanism(folder / "test.json")


def rates_of(mechanism, **more):
    found = np.empty((len(mechanism.processes), 3))
    conditions = {"temperature": np.full(3, T), "pressure": P, "M": M, **more}
    Rates(mechanism)(conditions, found)
    assert (found == found[:, :1]).all()
    return found[:, 0]


@pytest.mark.parametrize("kind", CASES)
def test_a_form_of_openatmos_is_that_of_its_formula(kind, tmp_path):
    reaction, expected, order = CASES[kind]
    mechanism = written(tmp_path, {"type": kind, "gas phase": "gas", "__note": "ignored", **reaction})
    names = {process.rate.name: 3e-3 for process in mechanism.processes if process.rate.form == "given"}
    assert rates_of(mechanism, **names)[0] == pytest.approx(expected * MOLECULES ** (1 - order), rel=1e-13)


def test_a_broadening_may_be_below_0_as_in_files_of_musica(tmp_path):
    mechanism = written(tmp_path, {"type": "TROE", **TWO, **TROE, "N": -0.1})
    wider = broad(LOW * AIR / HIGH, 0.6, -0.1) / broad(LOW * AIR / HIGH, 0.6, 1.2)
    assert rates_of(mechanism)[0] == pytest.approx(FALLS * wider / MOLECULES, rel=1e-13)


def test_both_branches_of_no_and_ro2(tmp_path):
    reaction = {"type": "BRANCHED_NO_RO2", "X": 1.2e-4, "Y": 167.0, "a0": 0.15, "n": 9, "reactants": TWO["reactants"]}
    mechanism = written(tmp_path, {**reaction, "alkoxy products": [{"name": "C"}], "nitrate products": [{"name": "D"}]})
    assert [process.label for process in mechanism.processes] == ["r1a", "r1b"]
    whole = 1.2e-4 / MOLECULES * exp(-167.0 / T)
    assert rates_of(mechanism) == pytest.approx([whole * Z2 / (A2 + Z2), whole * A2 / (A2 + Z2)], rel=1e-13)


def test_a_surface(tmp_path):
    reaction = {"type": "SURFACE", "name": "s", "gas-phase species": "A", "reaction probability": 0.02}
    mechanism = written(tmp_path, {**reaction, "gas-phase products": [{"species name": "B"}]})
    r, n, speed = 1e-7, 2.5e9, sqrt(8.0 * 8.31446261815324 * T / (pi * 0.04607))
    found = rates_of(mechanism, **{f"SURF.s.{RADIUS}": r, f"SURF.s.{NUMBER}": n})
    assert found[0] == pytest.approx(4.0 * pi * n * r * r / (r / 2.1e-5 + 4.0 / (speed * 0.02)), rel=1e-13)


def test_a_third_body_multiplies_and_is_no_species(tmp_path):
    reaction = {"type": "ARRHENIUS", "A": 5.0, "reactants": [{"name": "A"}, {"name": "M"}], "products": [{"name": "B"}, {"name": "M"}]}
    mechanism = written(tmp_path, reaction)
    assert mechanism.species == ("A", "B", "C", "D")
    assert (mechanism.processes[0].reactants, mechanism.processes[0].products) == ((0,), ((1, 1.0),))
    assert rates_of(mechanism)[0] == pytest.approx(5.0 / MOLECULES * M, rel=1e-13)


def test_a_condition_that_lacks_is_named(tmp_path):
    mechanism = written(tmp_path, {"type": "PHOTOLYSIS", "name": "jx", **ONE})
    with pytest.raises(ModelError, match=r"needs PHOTO\.jx, which is not given"):
        rates_of(mechanism)
    (tmp_path / "w.yaml").write_text('species: ["HO2"]\nreactions:\n- {eq: "2 HO2 ->", rate: {type: ho2_ho2}}\n')
    with pytest.raises(ModelError, match="needs H2O, which is not given"):
        rates_of(read_mechanism(tmp_path / "w.yaml"))


def test_too_many_third_bodies_are_counted(tmp_path):
    reaction = {
        "type": "ARRHENIUS",
        "A": 1.0,
        "reactants": [{"name": "A"}, {"name": "M", "coefficient": 3}, {"name": "M", "coefficient": 2}],
    }
    with pytest.raises(ModelError, match="Reaction r1 has 5 third bodies; at most 4 are taken"):
        rates_of(written(tmp_path, reaction))


@pytest.mark.parametrize("kind", ["ARRHENIUS", "TAYLOR_SERIES"])
def test_an_energy_of_activation_is_a_temperature(kind, tmp_path):
    mechanism = written(tmp_path, {"type": kind, **ONE, "A": 2.0, "Ea": 1.8915e-20})
    assert rates_of(mechanism)[0] == pytest.approx(2.0 * exp(-1.8915e-20 / 1.380649e-23 / T), rel=1e-13)
    with pytest.raises(ModelError, match=r'it has "Ea" and "C", and C is -Ea / k\. Remove one\.'):
        written(tmp_path, {"type": kind, **ONE, "A": 2.0, "Ea": 1.8915e-20, "C": -1370.0})


def test_a_species_that_is_no_third_body_is_integrated(tmp_path):
    species = [{"name": "A", "is third body": False}, {"name": "AIR", "is third body": True}]
    reaction = {"type": "ARRHENIUS", "A": 5.0, "reactants": [{"name": "A"}, {"name": "AIR"}]}
    mechanism = written(tmp_path, reaction, species=species, phases=[{"name": "gas", "species": ["A", "AIR"]}])
    assert (mechanism.species, mechanism.processes[0].rate.third) == (("A",), ("M",))


@pytest.mark.parametrize("kind", [*CASES, "SURFACE", "BRANCHED_NO_RO2"])
def test_a_key_that_is_not_known_is_refused_in_any_form(kind, tmp_path):
    with pytest.raises(ModelError, match=r'reaction 1 \(x\): "nane" is not known here\. Did you mean "name"\?'):
        written(tmp_path, {"type": kind, "name": "x", "nane": "x"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "2.0.0"}, "\"version\" is '2.0.0', and version 1 of the format is expected"),
        ({"version": None}, '"version" is empty, and version 1 of the format is expected'),
        ({"reacions": []}, '"reacions" is not known here. Did you mean "reactions"?'),
        ({"emissions": {}}, '"emissions" is not read, only the chemistry of gases. Remove it, or begin its name with __.'),
        ({"species": {"files": ["a.json"]}}, "a list is expected. Names of other files are not read"),
        ({"species": [{"name": "A", "is third body": "no"}]}, "\"is third body\" is 'no', and true or false is expected."),
        ({"species": [{"name": "A", "molecular wieght": 0.1}]}, 'species 1: "molecular wieght" is not known here. Did you mean'),
        ({"phases": [{"name": "gas", "species": ["A"], "color": 1}]}, 'phase 1: "color" is not known here.'),
        ({"phases": [{"name": "gas", "species": ["E"]}]}, 'phase 1, species: there is no species "E".'),
        ({"phases": [{"name": "gas", "species": [{"name": "A", "densty": 1.0}]}]}, 'phase 1, species: "densty" is not known here.'),
        ({"phases": [{"name": "gas", "species": ["C"]}]}, 'species "A" is not in phase gas. Add it to the species of the phase.'),
        ({"phases": [{"name": "gas", "species": ["A"]}]}, 'species "C" is not in phase gas.'),
        (
            {
                "species": [{"name": "A", "constant concentration [mol m-3]": -1}, {"name": "C"}],
                "phases": [{"name": "gas", "species": ["A", "C"]}],
            },
            '"constant concentration [mol m-3]" is -1, and 0 or more',
        ),
        (
            {
                "species": [{"name": "temperature", "constant concentration [mol m-3]": 1}, {"name": "A"}, {"name": "C"}],
                "phases": [{"name": "gas", "species": ["A", "C"]}],
            },
            'species 1: "temperature" is a condition of the air. Rename the species.',
        ),
        ({"phases": []}, '"gas phase" is missing, and the name of a phase is expected.'),
    ],
)
def test_what_is_wrong_around_the_reactions_is_named(change, said, tmp_path):
    with pytest.raises(ModelError) as caught:
        written(tmp_path, {"type": "ARRHENIUS", "A": 1.0, **ONE}, **change)
    assert said in str(caught.value)


def test_a_file_without_phases_is_told_so(tmp_path):
    (tmp_path / "a.json").write_text('{"version": "1.0.0", "species": [{"name": "A"}]}', encoding="utf-8")
    with pytest.raises(ModelError, match='"phases" is missing, and a list is expected'):
        read_mechanism(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"c": -1370.0}, '"c" is not known here. Did you mean "C"?'),
        ({"products": [{"name": "C", "coefficent": 3}]}, 'products: "coefficent" is not known here. Did you mean "coefficient"?'),
        ({"products": [{"name": "C", "species name": "C"}]}, 'products: it has "name" and "species name". Remove one.'),
        ({"gas phase": "gsa"}, "\"gas phase\" is 'gsa', and the name of a phase is expected. Did you mean"),
        ({"reactants": []}, '"reactants" is [], and the species that react are expected.'),
        ({"type": "TAYLOR_SERIES", "taylor coefficients": [1.0, "x"]}, "taylor coefficients: \"c1\" is 'x', and a number is expected."),
        ({"type": "ARHENIUS"}, "and a form of rate is expected. Did you mean"),
        ({"A": "fast"}, "\"A\" is 'fast', and a number is expected"),
        ({"reactants": [{"name": "X"}]}, 'there is no species "X"'),
        ({"reactants": [{"name": "A", "coefficient": 1.5}]}, "it has 1.5 of the reactant A, and 1, 2 or 3 is expected."),
        ({"type": "PHOTOLYSIS", "A": None}, '"name" is missing'),
        ({"type": "PHOTOLYSIS", "A": None, **TWO}, "it has 2 reactants, and a PHOTOLYSIS has 1."),
        ({"D": 0.0}, '"D" is 0, and a number above 0 is expected'),
        ({"type": "TROE", "A": None, "k0_A": 1.0, "kinf_A": 1.0, "Fc": -0.6}, '"Fc" is -0.6, and a number above 0 is expected'),
        (
            {"type": "BRANCHED_NO_RO2", **NONE, "X": 1, "Y": 0, "a0": 1, "n": 3, "reactants": ["A"]},
            '"a0" is 1, and a share between 0 and 1 is expected',
        ),
        ({"type": "SURFACE", **NONE, "gas-phase species": "A", "condensed phase": "aq"}, "\"condensed phase\" is 'aq', and the name of"),
        ({"type": "SURFACE", **NONE, "gas-phase species": "B", "name": "s"}, '"diffusion coefficient [m2 s-1]" is missing'),
    ],
)
def test_what_is_wrong_in_a_file_of_openatmos_is_named(change, said, tmp_path):
    with pytest.raises(ModelError) as caught:
        written(tmp_path, {k: v for k, v in {"type": "ARRHENIUS", "A": 1.0, **ONE, **change}.items() if v is not None})
    assert said in str(caught.value)
    assert 'test.json", reaction 1' in str(caught.value)


def test_rates_of_the_emep_problem_are_those_of_the_specification():
    """Check values of the published problem at noon: T 298 K."""
    mechanism = read_mechanism("emep66")
    rates = Rates(mechanism)
    tod = 12.0 * 3600.0
    water = rates.humidity(np.full(1, 298.0), np.full(1, tod))
    known = {"temperature": np.full(1, 298.0), "pressure": 101_325.0, "M": 2.55e19, "O2": 5.2e18, "H2O": water, "mixing_height": 1.2e5}
    found = np.empty((170, 1))
    rates({**known, "day": 1.0}, found)
    lat, dec = np.deg2rad(50.0), np.deg2rad(23.5)
    found[rates.sunlit, 0] *= np.exp(-rates.slant / (np.cos(lat) * np.cos(dec) + np.sin(lat) * np.sin(dec)))
    k = {process.rate.name: found[p, 0] for p, process in enumerate(mechanism.processes)}
    expected = {
        "J1": 6.2912452967e-4, "J2": 4.1844351926e-5, "J3": 9.2737561856e-3, "J16": 1.1354074723e-5, "RC1": 7.7010927427e4,
        "RC8": 7.7371842387e7, "RC11": 1.8141942226e-14, "RC36": 5.3122028270e-12, "RC47": 4.1666666667e-6, "EM1": 2.0833333333e6,
        "EM7": 8.6201752773e5,
    }  # fmt: skip
    assert {name: k[name] for name in expected} == pytest.approx(expected, rel=1e-10)
    night = np.empty((170, 1))
    rates({**known, "day": 0.0}, night)
    assert (night[rates.sunlit] == 0.0).all()
    assert night[60, 0] == pytest.approx(0.25 * 0.5 / 1.2e5)
