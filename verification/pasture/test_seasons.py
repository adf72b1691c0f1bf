"""Growth of twenty years: its range, and what weekly instead of daily weather costs for all but rain."""

import numpy as np
import pytest
from tests.models.pasture_reference import fresh, parameters, run

from verification.pasture.cases import AS_PRINTED, GRAZED, by_year, weather, weekly

# station, plant, soil; least, median, greatest growth of a year; mean with daily and with weekly weather, rms difference of years
PLACES = {
    "Dalby": ("041522", "mitchell", "open-downs", (1184, 2400, 4326), (2578, 2560), 162),
    "Emerald": ("035027", "belyando", "black-vertosol", (25, 2042, 4119), (2283, 2256), 197),
    "Miles": ("042023", "native", "roma-red-earth", (1174, 2719, 3826), (2646, 2876), 577),
}


def yearly_growth(records, p):
    found = run(fresh(p), records.days(), p, AS_PRINTED)
    return np.array(list(by_year(records.dates, [day.growth for _, day in found]).values()))


@pytest.mark.parametrize("place", PLACES)
def test_growth_of_twenty_years_is_the_references_with_daily_and_with_weekly_weather(place, measured):
    station, plant, soil, reference_range, means, difference = PLACES[place]
    records = weather(station, "1980-01-01", "1999-12-31")
    p = parameters(plant, soil, **GRAZED)
    daily, weeks = yearly_growth(records, p), yearly_growth(weekly(records), p)
    found = (daily.min(), np.median(daily), daily.max())
    for word, ours, theirs in zip(("least", "median", "greatest"), found, reference_range, strict=True):
        measured("annual-range", f"{place}, {word} growth of a year [kg/ha]", ours, f"{theirs} (same digits)")
        assert round(ours) == theirs
    assert 500 <= np.median(daily) <= 4500
    rms = np.sqrt(np.mean((weeks - daily) ** 2))
    measured("weekly-forcing", f"{place}, mean growth, daily weather [kg/ha]", daily.mean(), f"{means[0]} within 1 %")
    measured("weekly-forcing", f"{place}, mean growth, weekly weather [kg/ha]", weeks.mean(), f"{means[1]} within 1 %")
    measured("weekly-forcing", f"{place}, rms difference of years [kg/ha]", rms, f"{difference} (reference)")
    assert daily.mean() == pytest.approx(means[0], rel=0.01)
    assert weeks.mean() == pytest.approx(means[1], rel=0.01)
