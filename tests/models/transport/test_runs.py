"""Whole runs of transport: continued, branched, steered, on ranks; what decays and what comes from sources."""

import filecmp
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import steppe

from .winds import write_winds

RUN = """model = "transport"
time = { start = 2000-01-01, end = 2000-01-02, step = "3 hours" }
grid = { gaussian = 16 }
[forcing]
fields = "winds.zarr"
[parameters]
wind = "forcing"
[parameters.tracers]
hills = "hills"
radon = { half_life = "3.8 days", source = "1e-6 s-1", levels = [5], box = [-20, 30, 60, 60] }
age = "age of air"
[[event]]
date = 2000-01-01T12:00:00
set = { hills = 2.0 }
region = { box = [0.0, -30.0, 90.0, 30.0] }
level = 0
[[event]]
date = 2000-01-02
set = { half_life_radon = 1.0 }
[output]
path = "whole"
variables = ["hills", "radon", "age", "column_radon", "path_x", "ps_before"]
every = "6 hours"
reduce = "last"
[[output.series]]
name = "least"
variables = ["hills", "column_radon"]
every = "6 hours"
reduce = "last"
over = "min"
region = ["all", { box = [0.0, -30.0, 90.0, 30.0] }]
[[output.series]]
name = "greatest"
variables = ["hills"]
every = "6 hours"
reduce = "last"
over = "max"
[engine]
checkpoint = "6 hours"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_winds(Path("winds.zarr"), latitudes=16, levels=6, hours=6, days=2)
    Path("run.toml").write_text(RUN)
    return tmp_path


def steppe_run(*words):
    subprocess.run([sys.executable, "-m", "steppe", "run", "run.toml", "--quiet", *words], check=True)


def files(path):
    return sorted(str(each.relative_to(path)) for each in Path(path).rglob("*") if each.is_file())


def assert_same_files(one, other):
    assert files(one) == files(other)
    assert filecmp.cmpfiles(one, other, files(one), shallow=False)[1:] == ([], [])


def test_a_run_that_is_stopped_and_goes_on_with_other_ranks_has_the_same_bytes(folder):
    steppe.run("run.toml")
    steppe_run("--output", "parts", "--until", "2000-01-01T09:00", "--ranks", "2")
    with steppe.Simulation("run.toml", "parts") as simulation:
        simulation.run("2000-01-02T03:00")
    steppe_run("--output", "parts", "--ranks", "3")
    assert_same_files("whole/output.zarr", "parts/output.zarr")


def test_series_of_least_and_greatest_values_are_those_of_the_maps(folder):
    steppe.run("run.toml")
    maps, least, greatest = steppe.open("whole"), steppe.open("whole", "least"), steppe.open("whole", "greatest")
    lon, lat = maps["cell_lon"].values, maps["cell_lat"].values
    inside = (lon >= 0.0) & (lon <= 90.0) & (np.abs(lat) <= 30.0)
    hills = maps["hills"].values
    np.testing.assert_array_equal(least["hills"].values, np.stack([hills.min(axis=-1), hills[..., inside].min(axis=-1)], axis=-1))
    np.testing.assert_array_equal(greatest["hills"].values[..., 0], hills.max(axis=-1))
    np.testing.assert_array_equal(least["column_radon"].values[:, 0], maps["column_radon"].values.min(axis=-1))
    assert "area: minimum" in least["hills"].attrs["cell_methods"]


def test_a_branch_and_a_return_compute_what_the_run_itself_would_have(folder):
    with steppe.Simulation("run.toml") as simulation:
        simulation.step(3)
        branch = simulation.branch("other")
        branch.set("hills", 1.0, level=2)
        simulation.step(3)
        branch.step(3)
        expected, apart = np.array(simulation["hills"]), np.array(branch["hills"])
    assert not np.array_equal(expected, apart)
    with steppe.Simulation("run.toml", "again") as simulation:
        simulation.step(6)
        np.testing.assert_array_equal(np.array(simulation["hills"]), expected)


def test_a_tracer_without_wind_decays_and_grows_as_the_formulas_say(folder):
    Path("run.toml").write_text(
        """model = "transport"
time = { start = 2000-01-01, end = 2000-01-01, step = "6 hours" }
grid = { gaussian = 16 }
[parameters]
wind = "rotation"
period = 1000000.0
levels = 4
[parameters.tracers]
radon = { initial = "one", half_life = "3.8 days" }
smoke = { source = "1e-6 s-1", levels = [3], box = [-20, 30, 60, 60] }
age = "age of air"
[output]
path = "out"
variables = ["age"]
every = "1 day"
"""
    )
    with steppe.Simulation("run.toml") as simulation:
        simulation.step(4)
        np.testing.assert_allclose(simulation["radon"], 0.5 ** (1.0 / 3.8), rtol=1e-14)
        smoke = simulation["smoke"]
        assert float(smoke[:3].max()) == 0.0
        inside = smoke[3].sel(lat=40.0, lon=20.0, method="nearest")
        assert float(inside) == pytest.approx(1e-6 * 86_400.0, rel=1e-3)
        age = np.array(simulation["age"])
        assert np.all(age[-1] == 0.0)
        np.testing.assert_allclose(age[:-1], 1.0, rtol=1e-12)
        column = simulation["column_radon"]
        np.testing.assert_allclose(column, 0.5 ** (1.0 / 3.8) * 1e5 / 9.80616, rtol=1e-12)


@pytest.mark.parametrize("half_life", ["1 hour", "6 hours", "3.8 days", "1e6 days"])
def test_a_source_beside_a_half_life_is_exact_for_any_step(half_life, tmp_path):
    (tmp_path / "run.toml").write_text(
        f"""model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-02, step = "6 hours" }}
grid = {{ gaussian = 16 }}
[parameters]
wind = "rotation"
levels = 4
tracers = {{ radon = {{ source = "1e-6 s-1", half_life = "{half_life}" }} }}
[output]
path = "out"
variables = ["radon"]
every = "1 day"
"""
    )
    number, unit = half_life.split()
    rate = np.log(2.0) / (float(number) * (3600.0 if unit.startswith("hour") else 86_400.0))
    with steppe.Simulation(tmp_path / "run.toml") as simulation:
        simulation.step(8)
        np.testing.assert_allclose(simulation["radon"], -1e-6 * np.expm1(-rate * 2.0 * 86_400.0) / rate, rtol=1e-12)


@pytest.mark.parametrize(
    ("scheme", "wind", "limiter"),
    [
        ("best", "forcing", "on"),
        ("best", "forcing", "off"),
        ("best", "deforming", "on"),
        ("best", "deforming", "off"),
        ("ccm", "deforming", "on"),
    ],
)
def test_the_mass_of_a_tracer_is_kept(folder, scheme, wind, limiter):
    forcing = '[forcing]\nfields = "winds.zarr"\n' if wind == "forcing" else ""
    Path("run.toml").write_text(
        f"""model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-02, step = "3 hours" }}
grid = {{ gaussian = 16 }}
{forcing}[parameters]
scheme = "{scheme}"
limiter = "{limiter}"
wind = "{wind}"
tracers = {{ hills = "hills", slotted = "slotted" }}
[output]
path = "out"
variables = ["hills"]
every = "1 day"
"""
    )
    with steppe.Simulation("run.toml") as simulation:
        weights, before = simulation.plan.model.sphere.weights[:, None], []
        for _ in range(8):
            simulation.step()
            columns = [np.array(simulation[f"column_{name}"]) for name in ("hills", "slotted")]
            before.append([float((column * weights).sum()) for column in columns])
    np.testing.assert_allclose(before[1:], np.broadcast_to(before[0], (7, 2)), rtol=1e-13)
