"""Nothing is lost: water, sward and litter day by day over decades, in both precisions, and in weather that never was."""

import numpy as np
import pytest
from tests.models.pasture_reference import constants, fresh, parameters, run

from steppe.models import pasture
from verification.pasture.cases import CASES, case
from verification.pasture.compiled import whole_run

ERRORS = {"water_error": 1e-10, "sward_error": 1e-9, "litter_error": 1e-9}
POOLS = pasture.State._fields[:9]


def balances(parameters_, found):
    """Daily errors (days,) of water, sward and litter from the fields, computed in double precision."""
    own = fresh(parameters_)
    gains = {name: np.diff(found[name], prepend=np.float32(getattr(own, name))) for name in POOLS}
    x = {name: values.astype(np.float64) for name, values in found.items()}
    out = x["runoff"] + x["deep_drainage"] + x["soil_evaporation"] + x["tree_transpiration"] + x["transpiration"]
    water = sum(gains[name] for name in POOLS[:4]) - (x["rainfall"] - out)
    losses = x["detachment"] + x["consumption"] + x["trampled"] + x["burnt"]
    sward = sum(gains[name] for name in POOLS[4:8]) - (x["growth"] - losses)
    litter = gains["litter"] - (x["detachment"] + x["trampled"] - x["decomposition"] - x["burnt_litter"])
    return water, sward, litter


@pytest.mark.parametrize("name", CASES)
def test_double_precision_closes_every_day(name, measured):
    held = case(name)
    found = run(fresh(held.parameters), held.weather().days(), held.parameters, held.options)
    for error, limit in ERRORS.items():
        worst = max(abs(getattr(day, error)) for _, day in found)
        measured(f"balance {name}", f"float64, {len(found)} days, largest {error} of a day", worst, f"<= {limit:g}")
        assert worst <= limit


@pytest.mark.parametrize("name", CASES)
def test_single_precision_closes_to_its_rounding_and_does_not_drift(name, measured):
    held = case(name)
    limits = {"water [mm]": 5e-4, "sward [kg/ha]": 2e-2, "litter [kg/ha]": 2e-2}
    for (what, limit), error in zip(limits.items(), balances(held.parameters, whole_run(held, "float32")), strict=True):
        worst, drift = np.max(np.abs(error)), np.max(np.abs(np.cumsum(error[: 20 * 365])))
        measured(f"balance {name}", f"float32, {what}, largest of a day", worst, f"<= {limit:g}")
        measured(f"balance {name}", f"float32, {what}, sum of 20 years", drift, f"<= {30 * limit:g}")
        assert worst <= limit
        assert drift <= 30 * limit


def test_extremes_leave_every_number_finite_and_every_pool_above_nothing(measured):
    """Five years without rain, a month of 400 mm a day, frost, a leap year's last day, and no plants at all."""
    p = parameters("narayen-ref", "narayen-ref")
    d = constants(p, pasture.Options())
    wet = {"soil_water_1": d.drained_1, "soil_water_2": d.drained_2, "soil_water_3": d.drained_3, "soil_water_4": d.drained_4}
    empty = dict.fromkeys(("green_leaf", "green_stem", "dead_leaf", "dead_stem", "litter"), 0.0)

    def day(n, rain, tmin, tmax, pan):
        return pasture.Forcing(rain, tmin, tmax, 20.0, 8.0, 0.0, pan, 0.0), pasture.Today(float(n % 366 + 1), float(n % 12 + 1))

    days = [day(n, 0.0, 15.0, 35.0, 8.0) for n in range(1826)]
    days += [day(1826 + n, 400.0, 15.0, 30.0, 8.0) for n in range(30)]
    days += [day(1856 + n, 0.0, -8.0, 12.0, 3.0) for n in range(400)]
    worst, least = dict.fromkeys(ERRORS, 0.0), np.inf
    for start in (fresh(p, **wet), fresh(p, **wet, **empty)):
        found = run(start, days, p)
        assert np.isfinite([(*state, *diagnostics) for state, diagnostics in found]).all()
        least = min(least, min(min(state[:9]) for state, _ in found))
        for error in ERRORS:
            worst[error] = max(worst[error], max(abs(getattr(diagnostics, error)) for _, diagnostics in found))
    measured("extremes", "least pool", least, ">= 0")
    assert least >= 0
    for error, limit in ERRORS.items():
        measured("extremes", f"largest {error} of a day", worst[error], f"<= {limit:g}")
        assert worst[error] <= limit
