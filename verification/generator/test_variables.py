"""Six variables of generated weather beside the records: how years differ, how days differ, and how the variables of a day go together."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.shared import shared_path

from verification.generator.compare import Made, make, of_years
from verification.generator.records import Record, read_records
from verification.generator.variables import NAMES, measures, spread_of_years, together

Measured = Callable[[str, str, float, str], None]
CASE = "generator"
SEEDS = range(2, 12)  # thirty years each
WITHIN = 0.15  # [1] of the ratio of standard deviations of annual means, median of the stations
FAR = (550.0, 700.0)  # [km] between stations whose annual rain is compared
# variable -> largest median error of monthly means [its unit], of the sd of days [1], and of lag-1 [1]
HELD = {
    "tmax": (0.5, 0.10, 0.05),
    "tmin": (0.5, 0.10, 0.12),
    "radiation": (0.5, 0.10, 0.08),
    "vp": (0.6, 0.10, 0.25),
    "pan": (0.5, 0.22, 0.08),
}
APART = 0.22  # [1] between a correlation of two variables and that of the records ...
OF_PAN = 0.45  # ... and with pan, whose formula knows no wind
CLEAR = 0.3  # [1] a recorded correlation that is farther from nothing has a sign


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return read_records(shared_path("data/weather"))


@pytest.fixture(scope="module")
def made(records: list[Record]) -> Made:
    return make(records, SEEDS)


@pytest.mark.parametrize("name", NAMES)
def test_years_differ_as_in_the_records_without_their_trend(records: list[Record], made: Made, measured: Measured, name: str) -> None:
    ratio = spread_of_years(records, made, name)
    measured(CASE, f"{name}: sd of annual means over that of the records, median", float(np.median(ratio)), f"1 +- {WITHIN}")
    low, high = np.quantile(ratio, (0.25, 0.75))
    measured(CASE, f"{name}: the same, half of the stations from", float(low), f"to {high:.2f}")
    assert abs(np.median(ratio) - 1.0) <= WITHIN


def test_rain_of_years_goes_together_far_away_as_in_the_records(records: list[Record], made: Made, measured: Measured) -> None:
    """With half the share of the slow field in wetness this is missed, with one and a half the spread of annual rain is too great."""
    years = of_years(records, made, *FAR)
    measured(CASE, "300 years: correlation of annual rain, 600 km", years.made, f"{years.seen:.3f} +- 0.12")
    assert abs(years.made - years.seen) <= 0.12


@pytest.mark.parametrize("name", HELD)
def test_months_and_days_of_a_variable_are_those_of_the_records(records: list[Record], made: Made, measured: Measured, name: str) -> None:
    for (what, values), held in zip(measures(records, made, name).items(), HELD[name], strict=True):
        measured(CASE, f"{name}: error of {what}, median", float(np.median(np.abs(values))), f"at most {held:g}; bias {values.mean():+.3f}")
        assert np.median(np.abs(values)) <= held, what


@pytest.mark.parametrize("wet", [True, False], ids=["wet days", "dry days"])
def test_variables_of_a_day_go_together_as_in_the_records(records: list[Record], made: Made, measured: Measured, wet: bool) -> None:
    for pair, (found, seen) in together(records, made, wet).items():
        held = OF_PAN if "pan" in pair else APART
        measured(CASE, f"correlation of {' and '.join(pair)}, {'wet' if wet else 'dry'} days", found, f"{seen:.2f} +- {held:g}")
        assert abs(found - seen) <= held, pair
        assert found * seen > 0.0 or abs(seen) < CLEAR, pair
