"""Errors that codes of this kind have: each is planted here, and what is measured then lies outside the tolerance that holds without it.

A bell goes once round the Earth (Williamson et al. 1992, case 1) at T42, unlimited; expected are errors l2 of an independent code.
"""

import csv

import numpy as np
import pytest

from steppe.grid import Gaussian
from steppe.models.transport import advection, interpolation
from steppe.models.transport.advection import Advection
from steppe.models.transport.model import Transport
from steppe.models.transport.sphere import BEYOND, Sphere, slopes
from steppe.models.transport.winds import DAY, RADIUS, WINDS
from tests.shared import shared_path

from .driven import Driven

GRID, PERIOD = Gaussian(64), 12.0 * DAY
REFERENCE = {(72, 0.0): 0.05993, (72, 90.0): 0.06326, (256, 0.0): 0.15962}  # steps, angle [degrees]: l2
FORMULA, GRIDDED = 0.02, 0.05  # tolerances, relative
DIGITS = 5e-4  # what holds in fact, in both cases
OPTIONS = {"scheme": "ccm", "limiter": "off", "fixer": "off"}


def gridded(angle):
    """The wind of the case as forcing on the grid."""
    lat, lon = np.deg2rad(GRID.lat)[:, None], np.deg2rad(GRID.lon)[None, :]
    constants = WINDS["rotation"].constants(0.0, PERIOD, np.deg2rad(angle))
    u, v, _ = WINDS["rotation"].formula(np.cos(lon), np.sin(lon), np.cos(lat), np.sin(lat), 0.0, constants)
    fields = {"u": RADIUS * u, "v": RADIUS * v, "ps": 1e5}
    return lambda step: fields


def round_the_earth(steps, angle, on_grid=False):
    """How far l2 is from the reference, relative."""
    options = {**OPTIONS, "wind": "forcing" if on_grid else "rotation"}
    run = Driven(GRID, PERIOD / steps, gridded(angle) if on_grid else None, options, levels=1, tracers=["bell"], angle=angle)
    exact = bell()
    run["bell"][...] = exact
    run.step(steps)
    weights = np.polynomial.legendre.leggauss(64)[1][:, None]
    error = np.sqrt((weights * (run["bell"] - exact) ** 2).sum() / (weights * exact**2).sum())
    return abs(error / REFERENCE[steps, angle] - 1.0)


def bell():
    """The first field of the case, on true latitudes."""
    lat, lon = np.deg2rad(GRID.lat)[:, None], np.deg2rad(GRID.lon)[None, :]
    r = np.arccos(np.clip(np.cos(lat) * np.cos(lon - 1.5 * np.pi), -1.0, 1.0))
    return np.where(r < 1.0 / 3.0, 500.0 * (1.0 + np.cos(3.0 * np.pi * r)), 0.0)[None]


def worst_departure():
    """The greatest error [rad] of where paths begin in Lauritzen's flow, after five iterations from the arrival point."""
    rows = list(csv.DictReader(shared_path("reference/transport/departure_T42_lauritzen_t0_dt_T64.csv").read_text().splitlines()))
    run = Driven(GRID, PERIOD / 64, None, {**OPTIONS, "wind": "deforming"}, levels=1, tracers=["bell"], iterations=5)
    arrival = np.array([run[name][0] for name in ("path_x", "path_y", "path_z")])
    run.step()
    middle = np.array([run[name][0] for name in ("path_x", "path_y", "path_z")])
    found = 2.0 * (arrival * middle).sum(axis=0) * middle - arrival
    x, y, z = found[:, ::-1][:, [int(row["j"]) for row in rows], [int(row["i"]) for row in rows]]  # the file counts rows from the south
    lat, lon = (np.array([float(row[name]) for row in rows]) for name in ("lat_dep_midpoint", "lon_dep_midpoint"))
    return max(np.abs(np.arctan2(z, np.hypot(x, y)) - lat).max(), np.abs((np.arctan2(y, x) - lon + np.pi) % (2 * np.pi) - np.pi).max())


@pytest.mark.parametrize(("steps", "angle"), REFERENCE)
def test_without_an_error_the_bell_has_the_errors_of_the_reference(steps, angle):
    assert round_the_earth(steps, angle) < DIGITS < FORMULA
    assert round_the_earth(steps, angle, on_grid=True) < DIGITS < GRIDDED


def test_without_an_error_paths_begin_where_those_of_the_reference_do():
    assert worst_departure() < 1e-10


def even(self):
    """Latitudes at equal angles, beyond the poles too."""
    n = self.latitude.size
    return np.pi / 2.0 - (np.arange(-BEYOND, n + BEYOND) + 0.5) * np.pi / n


def test_latitudes_at_equal_angles_are_caught(monkeypatch):
    monkeypatch.setattr(Sphere, "latitudes", property(even))
    assert round_the_earth(72, 90.0) > 10.0 * FORMULA


def test_a_grid_of_equal_angles_is_caught(monkeypatch):
    """Everywhere, so that the code is at one with itself."""
    made = Sphere.of
    n = GRID.nlat
    latitude, edges = np.pi / 2.0 - (np.arange(n) + 0.5) * np.pi / n, np.pi / 2.0 - np.arange(n + 1) * np.pi / n
    monkeypatch.setattr(Sphere, "of", lambda grid: Sphere(latitude, made(grid).longitude, edges))
    assert worst_departure() > 1e-3


def test_weights_of_rows_that_are_not_those_of_the_quadrature_are_caught(monkeypatch):
    exact = np.polynomial.legendre.leggauss(64)[1] / 2.0 / 128.0
    assert np.abs(Sphere.of(GRID).weights / exact - 1.0).max() < 1e-9
    monkeypatch.setattr(Sphere, "weights", property(lambda self: np.cos(self.latitude) / np.cos(self.latitude).sum() / self.longitude.size))
    assert np.abs(Sphere.of(GRID).weights / exact - 1.0).max() > 1e-2


def test_slopes_of_rows_at_equal_distances_are_caught(monkeypatch):
    """Gaussian latitudes next to a pole are not as far apart as others: l2 is wrong by one percent, where its digits are right."""
    equal = slopes(np.arange(4.0), 1)
    monkeypatch.setattr(Sphere, "slopes", property(lambda self: np.tile(equal, (self.latitudes.size, 1))))
    assert round_the_earth(72, 90.0) > 10.0 * DIGITS


def by_angles(some, half, per_speed, circles, coordinate, wind, points):
    """As `paths.turn`, but along longitude and latitude, where a small cosine of the latitude is replaced by a greater one."""
    rows, shape = slice(some.first_row, some.first_row + some.n_rows), (some.levels, some.n_rows, some.n_columns)
    lat = np.arctan2(circles.sin_lat, circles.cos_lat)[rows, None] - per_speed * wind.v.reshape(shape)
    lon = np.arctan2(circles.sin_lon, circles.cos_lon) - per_speed * wind.u.reshape(shape) / np.maximum(circles.cos_lat[rows, None], 0.1)
    block = points.reshape(4, some.levels, some.all_rows, some.n_columns)
    block[:3, :, rows] = np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)


def test_a_cosine_of_latitude_that_is_clipped_is_caught(monkeypatch):
    monkeypatch.setattr(advection, "turn", lambda exact: by_angles)
    assert worst_departure() > 1e-3
    assert round_the_earth(72, 90.0) > 2.0 * FORMULA


def test_a_wind_that_keeps_its_sign_beyond_a_pole_is_caught(monkeypatch):
    """A rotation that never crosses a pole does not catch it."""
    monkeypatch.setattr(Sphere, "signs", property(lambda self: np.ones(self.latitudes.size)))
    assert round_the_earth(72, 0.0, on_grid=True) < GRIDDED
    assert round_the_earth(72, 90.0, on_grid=True) > 2.0 * GRIDDED


def test_rows_beyond_a_pole_that_are_not_turned_are_caught(monkeypatch):
    monkeypatch.setattr(Sphere, "shifts", property(lambda self: np.zeros(self.latitudes.size, np.int64)))
    assert round_the_earth(72, 0.0) < FORMULA
    assert round_the_earth(72, 90.0) > 10.0 * FORMULA


def test_paths_of_at_most_one_column_are_caught(monkeypatch):
    """72 steps round 128 columns: Courant numbers of 1.8 and, near the poles, of many more. 256 steps do not catch it at the equator."""
    whole = Advection.trace

    def short(self, middles, half, *others):
        whole(self, middles, min(half, 0.5 * PERIOD / 128.0), *others)

    monkeypatch.setattr(Advection, "trace", short)
    assert round_the_earth(256, 0.0) < FORMULA
    assert round_the_earth(72, 0.0) > 10.0 * FORMULA


def test_bilinear_interpolation_is_caught(monkeypatch):
    """It has an error of 0.70 here."""

    def straight(difference: float, slope: float) -> float:
        return difference

    monkeypatch.setattr(interpolation, "slope_of", lambda limited: straight)
    monkeypatch.setitem(advection.SCHEMES, "ccm", (interpolation.ccm.__wrapped__, 4))
    assert (round_the_earth(256, 0.0) + 1.0) * REFERENCE[256, 0.0] == pytest.approx(0.702, abs=0.005)


def test_a_wind_of_the_beginning_of_the_step_is_caught(monkeypatch):
    """Where it should be that of half a step later."""
    whole = Transport.step

    def early(self):
        self.elapsed -= 0.5 * self.seconds
        whole(self)

    monkeypatch.setattr(Transport, "step", early)
    assert worst_departure() > 1e-3
