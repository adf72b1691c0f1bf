"""An independent reference: five runs, every state and flux of the first years, and means of the whole periods."""

import numpy as np
import pytest

from steppe.models import pasture
from tests.models.pasture_reference import fresh, run
from verification.pasture.cases import CASES, table, weather
from verification.pasture.columns import DIAGNOSTIC, STATE

SUMMARY = {
    "rain": "rainfall",
    "runoff": "runoff",
    "drain": "deep_drainage",
    "es": "soil_evaporation",
    "tree": "tree_transpiration",
    "trans": "transpiration",
    "growth": "growth",
    "detach": "detachment",
    "decomp": "decomposition",
    "stock_eaten": "stock_consumption",
    "roo_eaten": "kangaroo_consumption",
    "burnt": "burnt",
}


@pytest.fixture(scope="module", params=CASES)
def whole(request):
    """(name, case, weather, days) of a whole run by the scalar step with the C library's functions."""
    case = CASES[request.param]
    records = weather(case.station, case.first, case.last)
    return request.param, case, run(fresh(case.parameters), records.days(), case.parameters, case.options)


def test_every_state_and_flux_of_the_first_years_is_the_references(whole, measured):
    name, case, found = whole
    reference = table(f"reference/{case.file}.csv.gz")
    worst, where = 0.0, ""
    for column, field in {**STATE, **DIAGNOSTIC}.items():
        expected = np.array(reference[column], float)
        group = 0 if column in STATE else 1
        ours = np.array([getattr(pair[group], field) for pair in found[: len(expected)]])
        part = np.max(np.abs(ours - expected) / (1e-6 + 1e-8 * np.abs(expected)))
        if part > worst:
            worst, where = float(part), column
    days = len(reference["date"])
    measured(f"reference {name}", f"{len(STATE) + len(DIAGNOSTIC)} columns, {days} days, worst {where}", worst, "<= 1 of 1e-8 relative + 1e-6")
    assert worst <= 1


def test_the_sums_of_the_whole_period_are_the_references(whole, measured):
    name, _, found = whole
    summary = table("reference/summary.csv")
    if name not in summary["case"]:
        assert name == "miles_native_burnt"  # the one run that the summary leaves out
        return
    row = summary["case"].index(name)
    days = int(summary["days"][row])
    assert days == len(found)
    ours = {column: sum(getattr(day, field) for _, day in found) / days * 365.25 for column, field in SUMMARY.items()}
    expected = {column: float(summary[column][row]) for column in SUMMARY}
    worst = max(abs(ours[column] - expected[column]) for column in SUMMARY)
    measured(f"reference {name}", f"12 annual means of {days} days, largest difference", worst, "<= 0.051 (printed to 0.1)")
    assert worst <= 0.051
    standing = np.mean([day.total_standing_dry_matter for _, day in found])
    assert standing == pytest.approx(float(summary["tsdm_mean"][row]), abs=0.051)
