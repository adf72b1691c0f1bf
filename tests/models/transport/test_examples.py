"""The examples of transport run as they are, and show what they say."""

import subprocess
import sys

import numpy as np
import pytest

import steppe
from steppe.models.transport.forms import FORMS
from steppe.models.transport.levels import P0
from tests.scenario import EXAMPLES
from tests.transport import globe, made


def on_the_sphere(values):
    """Latitudes and longitudes [rad] of a map, and the weights of its rows."""
    lat, lon = np.deg2rad(values["lat"].values)[:, None], np.deg2rad(values["lon"].values)
    return lat, lon, np.cos(lat) + 0.0 * lon


def error(values, truth, weights):
    """The l2 norm of a difference over that of the truth."""
    return float(np.sqrt((weights * (values - truth) ** 2).sum() / (weights * truth**2).sum()))


@pytest.mark.parametrize("name", ["transport.toml", "transport_winds.toml"])
def test_an_example_keeps_the_mass_of_what_is_only_carried(name, tmp_path):
    run_file = made(name, tmp_path)
    subprocess.run([sys.executable, "-m", "steppe", "run", run_file.name, "--quiet"], cwd=tmp_path, check=True)
    with steppe.open(tmp_path / "out", "mass") as mass:
        hills = mass["column_hills"].values[:, 0]
        assert hills.size == 48
        np.testing.assert_allclose(hills, hills[0], rtol=2e-11)
        assert hills[0] > 900.0


def test_the_flow_of_the_winds_brings_air_back(tmp_path):
    steppe.run(made("transport_winds.toml", tmp_path, 32))
    with steppe.open(tmp_path / "out") as found:
        hills = steppe.unpack(found["hills"], found)
        lat, lon, weights = on_the_sphere(hills)
        truth = FORMS["hills"](lat, lon, np.zeros(1))
        assert error(hills.values[5, 9], truth, weights) > 1.0
        assert error(hills.values[-1, 9], truth, weights) < 0.35


def test_air_of_the_winds_is_neither_made_nor_lost():
    winds = globe(64, 18)
    at = winds.isel(time=3)
    lat, lon = np.deg2rad(winds["lat"].values)[:, None], np.deg2rad(winds["lon"].values)
    u, v, omega = (at[name].values.astype(float) for name in ("u", "v", "omega"))
    east = (np.roll(u, -1, 2) - np.roll(u, 1, 2)) / (2.0 * (lon[1] - lon[0]))
    flow = v * np.cos(lat)
    north = np.gradient(flow, lat[:, 0], axis=1)
    divergence = (east + north)[1:-1, 2:-2] / (6_371_220.0 * np.cos(lat[2:-2]))
    pressure = P0 * np.linspace(0.5, 17.5, 18) / 18.0
    rising = np.gradient(omega, pressure, axis=0)[1:-1, 2:-2]
    assert np.abs(divergence + rising).max() < 0.06 * np.abs(rising).max()


def test_the_arguments_of_make_winds_choose_the_winds(tmp_path):
    for arguments, records in (((), 9), (("--globe",), 49)):
        command = [sys.executable, str(EXAMPLES / "make_winds.py"), "winds.zarr", *arguments]
        said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        assert f"{records} records" in said
