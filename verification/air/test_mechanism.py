"""The built-in mechanism beside the reference files of problem EMEP."""

import csv

import numpy as np
import pytest
from tests.models.air.plain import change
from tests.shared import shared_path

from steppe.models.air.chemistry_box import ChemistryBox
from steppe.models.air.conditions import Conditions
from steppe.models.air.mechanism_file import read_mechanism
from steppe.models.air.program import Program
from steppe.models.air.rates import Rates


def reference(name):
    return read_mechanism(shared_path(f"reference/mechanisms/{name}"))


def test_the_built_in_mechanism_is_the_reference_file():
    built_in, published = read_mechanism("emep66"), reference("emep66.yaml")
    assert (len(published.species), len(published.processes)) == (66, 170)
    assert built_in.species == published.species
    assert built_in.processes == published.processes
    assert built_in.constants == published.constants
    assert built_in.humidity == published.humidity


def test_the_file_of_openatmos_gives_the_same_tables(within):
    """It has the third bodies in its rates, and photolysis, deposition and emission from outside."""
    plain, openatmos = read_mechanism("emep66"), reference("emep66.musica-v1.json")
    assert openatmos.species == plain.species

    def processes(mechanism):
        return [(sorted(process.reactants), sorted(process.products)) for process in mechanism.processes]

    assert processes(openatmos) == processes(plain)
    programs = [Program.of(66, [(sorted(p.reactants), p.products) for p in mechanism.processes]) for mechanism in (plain, openatmos)]
    np.testing.assert_array_equal(programs[0].codes, programs[1].codes)
    np.testing.assert_array_equal(programs[0].yields, programs[1].yields)
    k = np.empty((2, 170, 1))
    known = {"temperature": np.full(1, 298.0), "pressure": 101_325.0, "M": 2.55e19, "O2": 5.2e18, "H2O": 4e17, "mixing_height": 1.2e5}
    for mechanism, out in zip((plain, openatmos), k, strict=True):
        rates = Rates(mechanism)
        rates(known | {"day": 1.0} | {name: 0.0 for name in rates.names if "." in name}, out)
    same = [p for p, process in enumerate(openatmos.processes) if process.rate.form != "given"]
    error = float(abs(k[1, same] / k[0, same] - 1.0).max())
    within("EMEP, both files", f"rates of {len(same)} processes at 298 K", error, 1e-12)


def test_changes_have_the_values_of_the_specification(within):
    """dy/dt of the initial state at the beginning of the day."""
    mechanism = read_mechanism("emep66")
    box = ChemistryBox(Conditions.of(mechanism))
    k, y = box.rates_at(np.array([14_400.0]), 1.0)[:, 0], np.array([mechanism.box["initial"][name] for name in mechanism.species])
    found = change([(process.reactants, process.products) for process in mechanism.processes], k, y)
    expected = {
        "NO": -6.987655566997e6, "NO2": 8.982000928479e6, "O3": -3.533928448082e6, "OH": 2.903184524783e5, "HO2": 1.198826646658e2,
        "HCHO": 1.735021345261e1, "ISOPRE": 1.041666665949e6,
    }  # fmt: skip
    error = max(abs(found[mechanism.species.index(name)] / value - 1.0) for name, value in expected.items())
    within("EMEP, dy/dt at 4 h", "seven species", error, 1e-12)


def test_the_initial_state_is_that_of_the_published_problem():
    with shared_path("reference/mechanisms/emep66_scenario_A_reference.csv").open() as file:
        first = next(csv.DictReader(line for line in file if not line.startswith("#")))
    initial = read_mechanism("emep66").box["initial"]
    assert {name: float(first[name]) for name in initial} == pytest.approx(initial, rel=1e-9)
