"""What `steppe check` says of costs, in words."""

import pytest

from steppe.engine import in_cell_days


@pytest.mark.parametrize(
    ("per_second", "text"),
    [
        (0.0, "0 cell-days/s"),
        (87.3, "87.3 cell-days/s"),
        (21_900, "21.9 k cell-days/s"),
        (999_700, "1 M cell-days/s"),
        (15_130_000, "15.1 M cell-days/s"),
        (2_500_000_000, "2,500 M cell-days/s"),
    ],
)
def test_a_rate_has_three_digits_and_is_never_zero_unless_it_is(per_second, text):
    assert in_cell_days(per_second) == text
