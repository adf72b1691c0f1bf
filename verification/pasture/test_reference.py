"""An independent reference: eight runs, every state and flux of the first years, and the sums of every year."""

import pytest
from tests.models.pasture_reference import fresh, run

from verification.pasture.cases import CASES, case
from verification.pasture.columns import by_field, worst_of_days, worst_of_years


@pytest.fixture(scope="module", params=CASES)
def whole(request):
    """(name, case, weather, values of every state and diagnostic) of a whole run by the scalar step with the C library's functions."""
    held = case(request.param)
    records = held.weather()
    found = run(fresh(held.parameters), records.days(), held.parameters, held.options)
    return request.param, held, records, by_field(found)


def test_every_state_and_flux_of_the_first_years_is_the_references(whole, measured):
    name, held, _, found = whole
    days, worst, where = worst_of_days(held, found, 1e-8)
    measured(f"reference {name}", f"all columns, {days} days, worst {where}", worst, "<= 1 of 1e-8 relative + 1e-6")
    assert worst <= 1


def test_every_year_of_the_whole_period_is_the_references(whole, measured):
    name, _, records, found = whole
    years, worst, where = worst_of_years(name, records.dates, found, 1e-8)
    measured(f"reference {name}", f"sums and ends of {years} years, worst {where}", worst, "<= 1 of 1e-8 relative + 1e-6")
    assert worst <= 1
