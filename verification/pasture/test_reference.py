"""An independent reference: five runs, every state and flux of the first years, and means of the whole periods."""

import numpy as np
import pytest
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
MILES = {"runoff": 23, "drain": 77, "es": 251, "trans": 265, "growth": 1973, "burnt": 1525}  # the run that summary.csv leaves out


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
    measured(f"reference {name}", f"all columns, {days} days, worst {where}", worst, "<= 1 of 1e-8 relative + 1e-6")
    assert worst <= 1


def test_the_sums_of_the_whole_period_are_the_references(whole, measured):
    name, _, found = whole
    summary = table("reference/summary.csv")
    ours = {column: np.mean([getattr(day, field) for _, day in found]) * 365.25 for column, field in SUMMARY.items()}
    if name in summary["case"]:
        row = summary["case"].index(name)
        assert int(summary["days"][row]) == len(found)
        expected, limit = {column: float(summary[column][row]) for column in SUMMARY}, 0.051
    else:
        expected, limit = MILES, 0.51
    worst = max(abs(ours[column] - value) for column, value in expected.items())
    measured(
        f"reference {name}", f"{len(expected)} annual means of {len(found)} days, largest difference", worst, f"<= {limit} (as printed)"
    )
    assert worst <= limit
