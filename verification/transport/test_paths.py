"""Where paths begin, beside an independent code and the exact wind."""

import csv

import numpy as np
import pytest
from tests.shared import shared_path

from steppe.models.transport.declarations import PATH
from steppe.models.transport.winds import WINDS
from verification.transport.runs import grid, opened

DAYS, PERIOD = 16, 16.0 * 86_400.0
GRIDS = {"T42": grid(64, "gauss"), "1.5 degree": grid(120)}


def departures(folder, where, steps, iterations, scheme, wind="deforming", period=DAYS):
    """Where the paths to all cells of one step begin, and the cells, (3, rows, columns) each."""
    said = {"wind": wind, "period": float(period), "iterations": iterations, "scheme": scheme}
    with opened(folder, where, steps, DAYS, ("hills",), **said) as simulation:
        simulation.step()
        middle = np.array([simulation.model.state[name][0] for name in PATH[:3]])
        sphere = simulation.model.sphere
    lat, lon = np.broadcast_arrays(sphere.latitude[:, None], sphere.longitude)
    arrival = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    return 2.0 * (arrival * middle).sum(axis=0) * middle - arrival, arrival


def exact(arrival, seconds):
    """Where the air came from, by 400 steps of the method of Runge and Kutta of fourth order."""
    n, wind = 400, WINDS["deforming"]

    def speed(x, instant):
        flat = np.hypot(x[0], x[1])
        cos_lon, sin_lon = x[0] / flat, x[1] / flat
        u, v, _ = wind.formula(cos_lon, sin_lon, flat, x[2], 0.0, wind.constants(instant, PERIOD, 0.0))
        return np.array([-u * sin_lon - v * x[2] * cos_lon, u * cos_lon - v * x[2] * sin_lon, v * flat])

    x, h = arrival, -seconds / n
    for k in range(n):
        at = seconds + k * h
        a = speed(x, at)
        b = speed(x + 0.5 * h * a, at + 0.5 * h)
        c = speed(x + 0.5 * h * b, at + 0.5 * h)
        x = x + h / 6.0 * (a + 2.0 * b + 2.0 * c + speed(x + h * c, at + h))
        x = x / np.sqrt((x**2).sum(axis=0))
    return x


def apart(x, y):
    """The angle between places [rad], (3, ...) each."""
    return 2.0 * np.arcsin(0.5 * np.sqrt(((x - y) ** 2).sum(axis=0)))


def test_five_iterations_from_the_arrival_point_are_those_of_the_reference(tmp_path, measured):
    rows = list(csv.DictReader(shared_path("reference/transport/departure_T42_lauritzen_t0_dt_T64.csv").read_text().splitlines()))
    found, arrival = departures(tmp_path, GRIDS["T42"], 64, 5, "ccm")
    found, arrival = found[:, ::-1], arrival[:, ::-1]  # the file counts rows from the south
    at = [int(row["j"]) for row in rows], [int(row["i"]) for row in rows]
    lat, lon = np.arctan2(found[2], np.hypot(found[0], found[1]))[at], np.arctan2(found[1], found[0])[at]
    lats, lons = (np.array([float(row[name]) for row in rows]) for name in ("lat_dep_midpoint", "lon_dep_midpoint"))
    worst = max(np.abs(lat - lats).max(), np.abs((lon - lons + np.pi) % (2.0 * np.pi) - np.pi).max())
    measured("paths, T42, Lauritzen, one of 64 steps", f"latitudes and longitudes of {len(rows)} points, worst [rad]", worst, "<= 1e-10")
    assert worst <= 1e-10
    lats, lons = (np.array([float(row[name]) for row in rows]) for name in ("lat_dep_exact", "lon_dep_exact"))
    file = np.array([np.cos(lats) * np.cos(lons), np.cos(lats) * np.sin(lons), np.sin(lats)])
    worst = apart(exact(arrival, PERIOD / 64)[:, at[0], at[1]], file).max()
    measured("paths, T42, Lauritzen, one of 64 steps", "exact departure points beside those of the file, worst [rad]", worst, "<= 1e-8")
    assert worst <= 1e-8


@pytest.mark.parametrize("steps", [32, 64, 128, 384])
def test_paths_of_best_along_a_great_circle_are_exact_at_any_step(steps, tmp_path, measured):
    """As Ritchie's, with tan in place of sin, they are too long: 12 hours of a turn in 4 days end 3.8 degrees too far."""
    found, arrival = departures(tmp_path, grid(64, "poles"), steps, 100, "best", wind="rotation", period=4)
    equator = found.shape[1] // 2
    assert np.abs(arrival[2, equator]).max() < 1e-15
    angle = 2.0 * np.pi * DAYS / steps / 4
    worst = np.abs(apart(found[:, equator], arrival[:, equator]) - angle).max()
    measured(f"paths along the equator, one of {steps} steps of a turn, best", "worst error of the length [rad]", worst, "<= 1e-12")
    assert worst <= 1e-12


@pytest.mark.parametrize("scheme", ["best", "ccm"])
@pytest.mark.parametrize("where", GRIDS)
def test_errors_fall_by_eight_with_half_the_step_near_the_poles_too(where, scheme, tmp_path, measured):
    errors, steps = [], (64, 128, 256, 512)  # of 32, paths are as long as the whorls of the wind
    for n in steps:
        folder = tmp_path / str(n)
        folder.mkdir()
        found, arrival = departures(folder, GRIDS[where], n, 100, scheme)
        error, polar = apart(found, exact(arrival, PERIOD / n)), np.abs(arrival[2, :, 0]) > np.sin(np.deg2rad(89.0))
        errors.append([error.max(), error[polar].max() if polar.any() else np.nan])
    for place, column in zip(("everywhere", "within 1 degree of the poles"), np.array(errors).T, strict=True):
        if np.isnan(column).any():
            continue
        case = f"paths, {where}, Lauritzen, {scheme}, {place}"
        for n, error in zip(steps, column, strict=True):
            measured(case, f"greatest error of one of {n} steps [rad]", error, "printed alone")
        for n, ratio in zip(steps[1:], column[:-1] / column[1:], strict=True):
            measured(case, f"fall of the error from {n // 2} to {n} steps", ratio, "7.7 to 8.3")
            assert 7.7 <= ratio <= 8.3, (where, place, n)
