"""The compiled model beside the independent reference, in double and in single precision."""

import numpy as np
import pytest
from tests.models.pasture_reference import fresh, run

from steppe.clock import Clock
from verification.pasture.cases import CASES, case, table
from verification.pasture.columns import DIAGNOSTIC, STATE, worst_of_days, worst_of_years
from verification.pasture.compiled import DIAGNOSTICS, Log, Station, model_of, whole_run

POOLS = ("green_leaf", "green_stem", "dead_leaf", "dead_stem", "litter")
SUMS = ("rainfall", "runoff", "soil_evaporation", "transpiration", "growth", "detachment", "decomposition")
DOUBLE = [name for name in CASES if name != "dalby_mitchell_int"]  # compiles a kernel less; `every_option` has its runoff


@pytest.mark.parametrize("name", DOUBLE)
def test_double_precision_with_steppes_own_functions_is_the_reference(name, measured):
    held = case(name)
    # A run of its own ends at the last day of the daily file: a 1 January of `every_option`.
    days = len(table(f"reference/{held.file}.csv.gz")["date"])
    _, worst, where = worst_of_days(held, whole_run(held, "float64", days), 1e-6)
    measured(f"reference {name} float64", f"compiled, {days} days, worst {where}", worst, "<= 1 of 1e-6 relative + 1e-6")
    years, worst_year, where = worst_of_years(name, held.weather().dates, whole_run(held, "float64"), 1e-6)
    measured(f"reference {name} float64", f"compiled, {years} years, worst {where}", worst_year, "<= 1 of 1e-6 relative + 1e-6")
    assert worst <= 1
    assert worst_year <= 1


@pytest.mark.parametrize("name", CASES)
def test_single_precision_has_the_references_fluxes_when_each_day_starts_from_its_state(name, measured):
    held = case(name)
    reference = table(f"reference/{held.file}.csv.gz")
    days = len(reference["date"])
    evenings = {field: np.array(reference[column], float) for column, field in STATE.items()}
    log = Log(DIAGNOSTICS, days, 1)
    model = model_of(held, "float32")
    inputs, clock = Station(held.weather(), 1), Clock.daily(held.first)
    for day in range(days):
        if day:
            for field, values in evenings.items():
                model.state[field][:] = values[day - 1]
        model.advance(range(day, day + 1), inputs, clock, log)
    worst, where = 0.0, ""
    for column, field in DIAGNOSTIC.items():
        expected = np.array(reference[column], float)
        part = np.max(np.abs(log.values[field][:, 0] - expected) / (1e-3 + 1e-4 * np.abs(expected)))
        if part > worst:
            worst, where = float(part), column
    measured(f"reference {name} float32", f"each day anew, {days} days, worst {where}", worst, "<= 1 of 1e-4 relative + 1e-3")
    assert worst <= 1


@pytest.mark.parametrize("name", CASES)
def test_single_precision_left_alone_stays_beside_double(name, measured):
    held = case(name)
    records = held.weather()
    double = run(fresh(held.parameters), records.days(), held.parameters, held.options)
    single = whole_run(held, "float32")
    years = records.dates.astype("datetime64[Y]").astype(int)
    ends = np.flatnonzero(np.diff(years, append=years[-1] + 1))
    worst_year = worst_period = worst_pool = 0.0
    for field in SUMS:
        expected = np.array([getattr(day, field) for _, day in double])
        mean = expected.sum() / len(ends)
        for year in np.unique(years):
            total = expected[years == year].sum()
            # A flux that is hardly there in a year, as runoff in a drought, is measured by a hundredth of its mean.
            worst_year = max(worst_year, abs(single[field][years == year].sum() - total) / max(total, 0.01 * mean))
        worst_period = max(worst_period, abs(single[field].sum() / expected.sum() - 1))
    for field in POOLS:
        expected = np.array([getattr(state, field) for state, _ in double])
        worst_pool = max(worst_pool, np.max(np.abs(single[field] - expected)[ends] / np.maximum(expected[ends], 1.0)))
    measured(f"reference {name} float32", "yearly sums, largest relative difference", worst_year, "<= 0.01")
    measured(f"reference {name} float32", "pools at a year's end, largest relative difference", worst_pool, "<= 0.015")
    measured(f"reference {name} float32", "sums of the period, largest relative difference", worst_period, "<= 0.001")
    assert worst_year <= 0.01
    assert worst_pool <= 0.015
    assert worst_period <= 0.001
