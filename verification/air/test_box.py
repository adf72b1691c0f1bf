"""The box of EMEP beside its published end state and reference solutions, and other mechanisms beside theirs."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from benchmarks.peers import peer_python
from benchmarks.rounds import output
from tests.shared import shared_path

from benchmarks import programs
from steppe.models.air.chemistry_box import ChemistryBox
from steppe.models.air.conditions import Conditions
from steppe.models.air.mechanism import MOLECULES
from steppe.models.air.mechanism_file import read_mechanism

A2 = ["latitude=60", "declination=10", "day_begin=6", "day_end=18", "temperature=285", "start=0"]
HOUR = 3600.0
PROGRAM = Path(programs.__file__).parent / "air_micm_file.py"
TIGHT = {"rtol": 1e-6, "atol": 1.0}


def reference(name):
    """Hour -> species -> [molecule cm-3]."""
    text = shared_path(f"reference/mechanisms/emep66_scenario_{name}_reference.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {round(float(row["t_s"]) / HOUR): {k: float(v) for k, v in row.items() if k != "t_s"} for row in rows}


def scenario(name):
    """Conditions of a scenario of the problem."""
    mechanism = read_mechanism("emep66")
    if name == "A":
        return Conditions.of(mechanism)
    told = yaml.safe_load(shared_path("reference/mechanisms/emep66_scenarios.yaml").read_text(encoding="utf-8"))[name]
    of_rates = {process.rate.name: process.label for process in mechanism.processes}
    factors = [f"rate_factor_{of_rates[name]}={factor}" for name, factor in told["emission_factors"].items()]
    return Conditions.of(mechanism, None, [*A2, *factors, *(f"{name}={value}" for name, value in told["initial"].items())])


def worst(found, expected, after, least=1e6):
    """The greatest relative difference of each species that is above `least`, hours after the start."""
    errors: dict[str, float] = {}
    for hour, values in found.items():
        for name, value in expected[hour].items() if hour in expected and hour > after else ():
            if value > least:
                errors[name] = max(errors.get(name, 0.0), abs(values[name] / value - 1.0))
    return errors


def computed(conditions, end, **how):
    box = ChemistryBox(conditions, **how)
    states = list(box.run(end * HOUR))
    return {round(state.seconds / HOUR): dict(zip(box.species, state.c.tolist(), strict=True)) for state in states}, states[-1]


@pytest.mark.parametrize(("name", "start", "end"), [("A", 4, 116), ("A2", 0, 120)])
def test_exact_rates_meet_the_reference(name, start, end, within):
    expected = reference(name)
    found, _ = computed(scenario(name), end, rtol=1e-6, atol=1.0, exact=True)
    errors = worst(found, expected, start)
    within(f"box {name}, exact rates", "every hour, worst species", max(errors.values()), 1e-4)
    last = worst({end: found[end]}, expected, 0, least=1e-30)
    within(f"box {name}, exact rates", f"hour {end}", max(v for k, v in last.items() if k not in ("OP", "OD")), 1e-5)


@pytest.mark.parametrize(("name", "start", "end"), [("A", 4, 116), ("A2", 0, 120)])
def test_steps_of_the_model_meet_the_reference(name, start, end, within):
    found, last = computed(scenario(name), end)
    errors = worst(found, reference(name), start + 2)
    within(f"box {name}, 600 s, rtol 1e-2", "O3", errors["O3"], 1e-4)
    within(f"box {name}, 600 s, rtol 1e-2", "NO2", errors["NO2"], 2e-3)
    within(f"box {name}, 600 s, rtol 1e-2", "worst species", max(errors.values()), 5e-2)
    within(f"box {name}", "steps in 600 s", (last.steps + last.rejected) / (6.0 * (end - start)), 1.5)


def test_photolysis_that_is_frozen_in_a_step_fails(measured):
    """What the limits of the test above are for: rates of the middle of each step are 25 % off at sunset."""

    class Frozen(ChemistryBox):
        def _base(self, seconds, day, midnight):
            k = super()._base(seconds, day, midnight)
            k[self._rates.sunlit] *= self.shine(seconds, midnight)
            return k

    box = Frozen(scenario("A"))
    box._chemistry._slant = np.zeros_like(box._rates.slant)
    states = {round(s.seconds / HOUR): dict(zip(box.species, s.c.tolist(), strict=True)) for s in box.run(116 * HOUR)}
    error = max(worst(states, reference("A"), 6).values())
    measured("box A, photolysis frozen in 600 s", "worst species", error, ">= 0.2")
    assert error >= 0.2


def test_a_photostationary_state_is_exact(within, tmp_path):
    """NO2 + hv -> NO + O, O -> O3, NO + O3 -> NO2, from NO2 alone."""
    (tmp_path / "three.yaml").write_text(
        """
species: ["NO2", "NO", "O", "O3"]
reactions:
- {n: 1, eq: "NO2 -> NO + O", rate: {type: loss, k: 8.9e-3}}
- {n: 2, eq: "O -> O3", rate: {type: loss, k: 7.7e+4}}
- {n: 3, eq: "NO + O3 -> NO2", rate: {type: arrhenius, A: 1.8e-12, C: -1370.0}}
""",
        encoding="utf-8",
    )
    conditions = Conditions.of(read_mechanism(tmp_path / "three.yaml"), None, ["temperature=298", "NO2=1.0e12"])
    found, _ = computed(conditions, 3, **TIGHT)
    q, n = 8.9e-3 / (1.8e-12 * np.exp(-1370.0 / 298.0)), 1e12
    ozone = 0.5 * (np.sqrt(q * q + 4.0 * q * n) - q)
    within("photostationary state", "O3", abs(found[3]["O3"] / ozone - 1.0), 1e-6)


@pytest.mark.parametrize(("element", "off"), [("N", (1, 63, 65, 66, 68, 80, 81, 97, 98)), ("S", (2, 61, 67))], ids=["nitrogen", "sulphur"])
def test_elements_without_sources_stay(element, off, within):
    mechanism = read_mechanism("emep66")
    conditions = Conditions.of(mechanism, None, [f"rate_factor_r{n}=0" for n in off])
    box = ChemistryBox(conditions)
    atoms = np.array([mechanism.elements[element].get(name, 0.0) for name in box.species])
    states = list(box.run(28.0 * HOUR))
    amounts = np.array([atoms @ state.c for state in states])
    added = np.array([atoms @ state.clipped for state in states])
    change = abs(amounts - added - amounts[0]).max() / amounts[0]
    within(f"{element} without sources, 24 hours", "change but for what is added where negative", float(change), 1e-12)
    within(f"{element} without sources, 24 hours", "added where negative", float(added[-1] / amounts[0]), 1e-7)
    assert min(state.c.min() for state in states) >= 0.0


@pytest.mark.parametrize(("name", "tolerances"), [("ts4/ts4", ("tight", "usual")), ("ts1/t1s2", ("tight",))])
def test_mechanisms_of_the_peer_meet_it_on_the_same_file(name, tolerances, within):
    """126 species and 379 processes, 213 and 558, with all their forms of rates; files and conditions come with the peer."""
    told = json.loads(output([peer_python("peers-air"), str(PROGRAM), name]))
    conditions = Conditions.of(read_mechanism(told["mechanism"]), Path(told["conditions"]))
    for tolerance in tolerances:
        how, limit = {"tight": (TIGHT, 1e-4), "usual": ({"rtol": 1e-3, "atol": 1e3}, 5e-3)}[tolerance]
        found, _ = computed(conditions, 1, **how)
        peer = {name: MOLECULES * value for name, value in told[tolerance].items() if value > 1e-14 and name in found[1]}
        errors = {name: abs(found[1][name] / value - 1.0) for name, value in peer.items()}
        within(f"{name} beside MICM, {tolerance} tolerances", f"worst of {len(errors)} species", max(errors.values()), limit)
