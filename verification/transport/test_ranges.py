"""What must hold to the last bit in any wind: a constant stays, limited tracers stay in their range; and mass does to its rounding."""

import numpy as np
import pytest
from tests.models.transport.driven import Driven, fastest, random_wind
from tests.models.transport.winds import write_store

from steppe.grid import Gaussian, Raster
from steppe.models.transport.winds import WINDS
from verification.transport.runs import FULL, opened

GRID, SECONDS = Gaussian(32), 3600.0
LEVELS = {"2-D": 1, "3-D, 6 levels": 6}
VALUES = {"a": 0.1, "b": 1.0 / 3.0, "c": 1e-20}
STEPS = {1: 10_000, 6: 10_000} if FULL else {1: 1_000, 6: 300}
ANEW = 100  # steps after which tracers begin anew, since random wind makes them even


def driven(scheme, levels, courant, seed, tracers, limiter="on", fixer="on", **wind):
    options = {"scheme": scheme, "limiter": limiter, "fixer": fixer, "wind": "forcing"}
    at = random_wind(GRID, levels, fastest(GRID, SECONDS, courant), seed, **wind)
    return Driven(GRID, SECONDS, at, options, levels=levels, tracers=tracers)


@pytest.mark.parametrize("limiter", ["on", "off"])
@pytest.mark.parametrize("courant", [0.5, 5.0, 30.0])
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("scheme", ["ccm", "best"])
def test_a_constant_stays_what_it_is_in_random_wind(scheme, levels, courant, limiter, seed, measured):
    run = driven(scheme, LEVELS[levels], courant, seed, dict.fromkeys(VALUES, "one"), limiter)
    for name, value in VALUES.items():
        run[name][...] = value
    steps = 50
    run.step(steps)
    changed = sum(int((run[name] != value).sum()) for name, value in VALUES.items())
    case = f"constants, {levels}, Courant {courant:g}, {steps} steps, {scheme}, limiter {limiter}"
    measured(case, "random wind: values that changed", changed, "0 (same bits)")
    assert changed == 0


@pytest.mark.parametrize("courant", [0.5, 5.0, 30.0])
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("scheme", ["ccm", "best"])
def test_a_row_on_a_pole_is_one_point(scheme, levels, courant, seed, measured):
    """Constants and ranges are kept there, too; and all cells of the row, where the paths of a step are found, have one value."""
    grid = Raster(90.0, -5.625, 0.0, 5.625, np.ones((33, 64), bool))
    wind = random_wind(grid, LEVELS[levels], fastest(grid, SECONDS, courant), seed)
    options = {"scheme": scheme, "limiter": "on", "fixer": "on" if scheme == "best" else "off", "wind": "forcing"}
    run = Driven(grid, SECONDS, wind, options, levels=LEVELS[levels], tracers={"even": "one", "bells": "bells"})
    run["even"][...] = VALUES["a"]
    low, high = run["bells"].min(), run["bells"].max()
    run.step(50)
    assert (run["even"] == VALUES["a"]).all()
    assert low <= run["bells"].min() <= run["bells"].max() <= high
    apart = max(float(np.ptp(run["bells"][:, row], axis=-1).max()) for row in (0, -1))
    case = f"rows on the poles, {levels}, Courant {courant:g}, 50 steps, {scheme}"
    measured(case, "greatest less least value of such a row", apart, "<= 1e-12")
    assert apart <= 1e-12 or courant > 5.0  # then three iterations find no path in such a wind, and rounding grows


@pytest.mark.parametrize("rows", [32, 40])
@pytest.mark.parametrize("scheme", ["ccm", "best"])
def test_what_is_alike_north_and_south_stays_so(scheme, rows, measured):
    """In a wind along the rows each path begins on a row, between two cells: neither rounding nor the hemisphere may choose one of them."""
    grid = Gaussian(rows)
    lat, lon = np.deg2rad(grid.lat)[:, None], np.deg2rad(grid.lon)[None, :]
    u = np.broadcast_to(40.0 * np.cos(lat), (1, grid.nlat, grid.nlon))
    wind = {"u": u, "v": np.zeros_like(u), "ps": np.full_like(u[0], 1e5)}
    options = {"scheme": scheme, "limiter": "on", "fixer": "on", "wind": "forcing"}
    run = Driven(grid, 2.0 * SECONDS, lambda step: wind, options, levels=1, tracers={"discs": "zero"})
    run["discs"][...] = np.hypot(np.abs(lat) - np.deg2rad(35.0), lon - np.pi) < np.deg2rad(20.0)
    run.step(24)
    apart = float(np.abs(run["discs"] - run["discs"][:, ::-1]).max())
    measured(f"a disc on each hemisphere, {rows} rows, 24 steps, {scheme}", "greatest difference of the hemispheres", apart, "<= 1e-12")
    assert apart <= 1e-12


@pytest.mark.parametrize("steps", [12, 120])
@pytest.mark.parametrize("wind", WINDS)
@pytest.mark.parametrize("scheme", ["ccm", "best"])
def test_a_constant_stays_what_it_is_in_winds_that_are_formulas(scheme, wind, steps, measured):
    """The rotation goes over both poles."""
    options, period = {"scheme": scheme, "wind": wind, "limiter": "on", "fixer": "on"}, 86_400.0 * (WINDS[wind].period or 12.0)
    levels = 6 if wind.startswith("dcmip") else 1
    run = Driven(GRID, period / steps, None, options, levels=levels, tracers=dict.fromkeys(VALUES, "one"), angle=90.0)
    for name, value in VALUES.items():
        run[name][...] = value
    run.step(steps)
    changed = sum(int((run[name] != value).sum()) for name, value in VALUES.items())
    measured(f"constants, {wind}, {steps} steps, {scheme}", "values that changed", changed, "0 (same bits)")
    assert changed == 0


@pytest.mark.parametrize("scheme", ["ccm", "best"])
def test_a_constant_stays_what_it_is_in_winds_of_a_store(scheme, seed, tmp_path, measured):
    """Surface pressure changes, and air goes through levels."""
    levels, days, every = 6, 2, 6
    at = random_wind(GRID, levels, fastest(GRID, SECONDS, 5.0), seed, every)
    edges = np.linspace(0.0, 1.0, levels + 1)
    write_store(
        tmp_path / "winds.zarr",
        GRID,
        [at(every * k) for k in range(days * 24 // every + 1)],
        3600 * every,
        0.3 * (1.0 - edges),
        edges - 0.3 * (1.0 - edges),
    )
    with opened(
        tmp_path, "{ gaussian = 32 }", 48, days, ("one",), str(tmp_path / "winds.zarr"), wind="forcing", scheme=scheme
    ) as simulation:
        simulation.run()
        changed = int((simulation.model.state["one"] != 1.0).sum())
        assert "omega" in simulation.model.variables
    measured(f"constants, winds of a store, 3-D, omega, 48 steps, {scheme}", "values that changed", changed, "0 (same bits)")
    assert changed == 0


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize(
    ("scheme", "fixer", "divergent"), [("ccm", "off", True), ("ccm", "on", False), ("best", "on", True), ("best", "on", False)]
)
def test_limited_tracers_never_leave_their_range_and_keep_their_mass(scheme, fixer, divergent, levels, seed, measured):
    """The fixer of CCM may leave the range. Mass is kept in wind that gathers no air: surface pressure here is not that of the wind."""
    steps, random = STEPS[LEVELS[levels]], np.random.default_rng(seed)
    forms = {"slotted": "slotted", "bells": "bells", "noise": "zero"}
    run = driven(scheme, LEVELS[levels], 5.0, seed, forms, fixer=fixer, divergent=divergent, omega=1.0 if divergent else 0.05)
    first = {name: run[name].copy() for name in forms}
    beyond, farthest, worst, ps = 0, 0.0, dict.fromkeys(forms, 0.0), run.wind.at(0)["ps"]
    for step in range(steps):
        if step % ANEW == 0:
            first["noise"] = random.random(first["noise"].shape)
            for name, values in first.items():
                run[name][...] = values
            ranges = {name: (values.min(), values.max()) for name, values in first.items()}
        before = {name: (run.mass(ps) * run[name]).sum() for name in forms}
        run.step()
        ps = run.wind.at(step)["ps"]
        for name, (low, high) in ranges.items():
            beyond += int((run[name] < low).sum() + (run[name] > high).sum())
            farthest = max(farthest, low - run[name].min(), run[name].max() - high)
            worst[name] = max(worst[name], abs((run.mass(ps) * run[name]).sum() / before[name] - 1.0))
    wind = "wind with divergence" if divergent else "wind without divergence"
    case = f"random {wind}, {levels}, Courant 5, {steps} steps, {scheme}, fixer {fixer}"
    if (scheme, fixer) == ("ccm", "on"):
        measured(case, "farthest beyond the range of a tracer, of 0.9 or 1", farthest, "printed alone")
    else:
        measured(case, "values beyond the range of their tracer", beyond, "0 (exactly)")
        assert beyond == 0
    if fixer == "on" and not divergent:
        for name, change in worst.items():
            bounded = scheme == "ccm" and name == "noise"  # CCM's fixer changes no value by more than a tenth, which noise may need
            measured(case, f"mass of {name}, greatest relative change of a step", change, "printed alone" if bounded else "<= 1e-14")
            assert bounded or change <= 1e-14, name
