"""The models that `scripts/bench fields` measures compute and record what they say."""

import numba
import numpy as np
import pytest
from benchmarks.programs import fields_model, fields_winds
from benchmarks.suites import fields
from benchmarks.suites.fields import carry

import steppe


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(fields, "FOLDER", tmp_path)
    monkeypatch.setattr(fields, "new_output", lambda: tmp_path / "out")


def test_every_species_is_the_mean_of_its_neighbours_and_recorded_at_every_step():
    first, last = fields_model.SPECIES[0], fields_model.SPECIES[-1]
    with steppe.Simulation(fields._air("air", [first, last])) as simulation:
        expected = []
        for _ in range(3):
            now = {name: simulation[name].values for name in (first, last)}
            simulation.step(1)
            for name, q in now.items():
                mean = (np.roll(q, 1, 1) + np.roll(q, -1, 1) + np.roll(q, 1, 2) + np.roll(q, -1, 2)) * np.float32(0.25)
                np.testing.assert_array_equal(simulation[name].values, mean)
            expected.append(simulation.get(last))
        path = simulation.folder.path
    with steppe.open(path) as dataset:
        np.testing.assert_array_equal(dataset[last].values[:3], expected)


def test_the_winds_have_a_record_for_each_step(tmp_path, monkeypatch):
    monkeypatch.setattr(fields_winds, "WORK", 0.0)
    fields_winds.write_store(tmp_path / "winds.zarr", 290, 5)
    run_file = fields._run_file("winds", fields_winds, [], more=f'[forcing]\nfields = "{tmp_path / "winds.zarr"}"\n')
    with steppe.Simulation(run_file) as simulation:
        simulation.step(2)
        before = simulation["wind_3"].values
        simulation.step(1)
        assert before.shape == (32, 64, 64)
        assert (simulation["wind_3"].values != before).mean() > 0.99


def test_the_kernel_and_its_twin_have_the_same_bits():
    wind, now = np.random.default_rng(4).random((2, 7, 9)) - 0.5
    new, other = np.zeros((7, 9)), np.zeros((7, 9))
    carry(7, 9, 0.25, wind, now, new)
    numba.njit(carry.function)(7, 9, 0.25, wind.ravel(), now.ravel(), other.ravel())
    assert new.any()
    assert new.tobytes() == other.tobytes()
