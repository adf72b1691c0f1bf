"""Whole runs of air: on ranks, with every way to write, stopped and continued, and branched; its own mechanism beside the run file."""

import numpy as np
import pytest

import steppe
from steppe.errors import Mistake
from steppe.models.air.mechanism_file import read_mechanism
from tests.air import air_run
from tests.engine.test_ranks import on_ranks
from tests.models.transport.test_runs import assert_same_files, steppe_run

MORE = '[engine]\ncheckpoint = "1 hour"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = air_run(tmp_path, more=MORE)
    run.write_text(run.read_text().replace('["O3"]', '["O3", "NO2", "rate_r39", "deposited_O3"]').replace('"out"', '"whole"'))
    return tmp_path


def test_ranks_ways_to_write_threads_and_a_stop_change_no_byte(folder):
    """In two runs beside the whole one: what changes no byte together changes none alone, but for what makes up for each other."""
    end = "--until", "2001-06-21T02:00"
    steppe_run(*end, "--threads", "1")
    steppe_run(*end, "--output", "ranks", "--ranks", "3", "--set", "engine.write_behind=false")
    even = "--output", "parts", "--set", 'parameters.even_chemistry="off"'
    steppe_run("--until", "2001-06-21T01:10", *even, "--ranks", "2", "--set", 'engine.writers="gather"')
    steppe_run(*end, *even, "--threads", "2")
    for other in ("ranks", "parts"):
        for name in ("O3", "rate_r39", "deposited_O3"):
            assert_same_files(f"whole/output.zarr/{name}", f"{other}/output.zarr/{name}")


def test_a_scenario_with_half_of_the_emissions_begins_where_the_run_is(folder):
    with steppe.Simulation("run.toml") as sim:
        sim.step(30)
        with sim.branch("half") as half, sim.branch("same") as same:
            half.set("rate_factor_r1", 0.5)
            for each in (half, same, sim):
                each.step(12)
            np.testing.assert_array_equal(same["O3"].values, sim["O3"].values)
            assert float(half["NO2"][0].mean()) < 0.95 * float(sim["NO2"][0].mean())
            assert sim["rate_r39"].attrs["long_name"] == "NO + O3 -> NO2"
            assert float(half["emitted_NO"].mean()) == pytest.approx(0.5 * float(sim["emitted_NO"].mean()), rel=1e-12)


def test_an_event_halves_the_emissions_from_its_date_on(folder):
    run = folder / "run.toml"
    run.write_text(run.read_text() + "[[event]]\ndate = 2001-06-21T00:20:00\nset = { emission_factor = 0.5 }\n")
    with steppe.Simulation(run) as sim:
        emitted = []
        for _ in range(4):
            sim.step(1)
            emitted.append(float(sim["emitted_NO"].mean()))
    assert emitted == pytest.approx([emitted[0], emitted[0], 0.5 * emitted[0], 0.5 * emitted[0]], rel=1e-12)


def test_a_mechanism_beside_the_run_file_is_found_from_any_folder(folder, tmp_path_factory, monkeypatch):
    mechanism = read_mechanism("emep66")
    (folder / "own.yaml").write_text(
        'name: own\nspecies: ["NO", "NO2", "O3"]\nreactions:\n'
        '- {n: 39, eq: "NO + O3 -> NO2", rate: {type: arrhenius, A: 1.8e-12, C: -1370.0}}\n'
        '- {n: day, eq: "NO2 -> NO + O3", rate: {type: photolysis, A: 0.0145, B: 0.4}}\n'
        'box: {initial: {"NO": 1.0e+10, "O3": 1.0e+12}}\n'
    )
    run = air_run(folder, 'mechanism = "own.yaml"')
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with steppe.Simulation(run) as sim:
        sim.step(3)
        assert set(mechanism.species) > {"NO", "NO2", "O3"}
        total = sim["NO"] + sim["NO2"]  # each is moved by itself, with limits of its own
        air = 1e-6 * 101_325.0 / (1.380649e-23 * 298.15)  # [molecule cm-3] of a box that does not say M
        np.testing.assert_allclose(total, 1e9 * 1e10 / air, rtol=1e-4)
        assert float(sim["rate_r39"].max()) > 0.0
    (folder / "own.yaml").write_text((folder / "own.yaml").read_text().replace("1.8e-12", "1.9e-12"))
    with pytest.raises(Mistake, match=r'so the source of model "air" or ".*/own.yaml" has changed'):
        steppe.Simulation(run)


def test_a_scenario_of_two_ranks_goes_its_own_way(folder):
    def work(simulation):
        simulation.step(30)
        with simulation.branch("half") as half:
            half.set("rate_factor_r1", 0.5)
            half.step(6)
            found = half["NO2"].values, half["production_O3"].values
        simulation.step(6)
        return *found, simulation["NO2"].values

    one, two = (on_ranks(ranks, folder / "run.toml", work, output__path=f'"{ranks}"') for ranks in (1, 2))
    for alone, shared in zip(one, two, strict=True):
        np.testing.assert_array_equal(alone, shared)
    assert one[0].mean() < one[2].mean()
