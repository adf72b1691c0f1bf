"""Titles of pictures say what was recorded."""

import pytest

from steppe.jobs.picture import title_of


@pytest.mark.parametrize(
    ("methods", "scenarios", "title"),
    [
        ("time: mean", 1, "Rain"),
        ("time: point (end of the interval)", 1, "Rain"),
        ("time: sum", 1, "Rain, sum of each interval"),
        ("time: minimum area: mean", 1, "Rain, least of each interval"),
        ("time: maximum area: minimum", 3, "Rain, greatest of each interval, least of the region, median of 3 scenarios"),
        ("", 1, "Rain"),
    ],
)
def test_the_title_of_a_map_names_what_is_no_mean(methods, scenarios, title):
    assert title_of({"long_name": "Rain", "cell_methods": methods}, "rain", scenarios) == title
