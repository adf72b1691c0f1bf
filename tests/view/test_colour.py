import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.view import choose_colours, picture_colours


@pytest.mark.parametrize(
    ("name", "units", "standard_name", "long_name", "colours"),
    [
        ("rain", "mm", "precipitation_amount", "rain", "oslo_r"),
        ("soil_water_index", "1", "", "soil water index", "davos_r"),
        ("tsdm", "kg ha-1", "", "total standing dry matter", "bamako_r"),
        ("tmax", "degC", "air_temperature", "greatest temperature of the day", "lajolla_r"),
        ("x", "degC", "", "something warm", "lajolla_r"),
        ("burn", "1", "", "burnt share of the cell", "bilbao_r"),
        ("concentration", "kg m-3", "", "concentration", "batlow"),
    ],
)
def test_colours_follow_what_the_quantity_is(name: str, units: str, standard_name: str, long_name: str, colours: str) -> None:
    from cmcrameri import cm

    assert choose_colours(np.arange(5.0), name, units, standard_name, long_name).name == colours
    assert colours in cm.cmaps


@given(st.floats(-1e3, 1e3), st.floats(1.0, 1e9))
def test_the_range_is_round_and_holds_the_middle_of_the_values(low: float, span: float) -> None:
    values = low + span * np.random.default_rng(0).random(500)
    colours = choose_colours(values, "growth")
    inside = (values >= colours.low) & (values <= colours.high)
    ticks = colours.ticks()
    assert inside.mean() >= 0.95
    assert 2 <= len(ticks) <= 12
    assert ticks[0] == pytest.approx(colours.low, abs=1e-3 * colours.step)
    assert ticks[-1] == pytest.approx(colours.high, abs=1e-3 * colours.step)
    assert f"{colours.step:e}"[0] in "125"


def test_amounts_begin_at_nothing_and_levels_do_not() -> None:
    assert choose_colours(np.linspace(100.0, 2_930.0, 100), "rain").low == 0.0
    found = choose_colours(np.linspace(18.3, 27.9, 100), "temperature")
    assert (found.low, found.high, found.step) == (18.0, 28.0, 2.0)


@pytest.mark.parametrize(
    "values", [np.zeros(4), np.full(4, 7.0), np.full(4, -3.0), 300.0 + 1e-12 * np.arange(4), np.full(4, np.nan), np.empty(0)]
)
def test_a_map_of_one_value_or_none_has_a_range_too(values: np.ndarray) -> None:
    colours = choose_colours(values, "rain")
    assert colours.low < colours.high
    assert all(colours.low - 1e-9 <= value <= colours.high + 1e-9 for value in values[np.isfinite(values)])


def test_a_few_outliers_do_not_spread_the_range() -> None:
    values = np.append(np.linspace(0.0, 1.0, 1_000), 1e6)
    assert choose_colours(values, "rain").high == 1.0


def test_values_of_both_signs_have_diverging_colours_about_0_in_pictures() -> None:
    values = np.linspace(-4.0, 9.0, 500)
    found = picture_colours(values, "heat_flux", "W m-2")
    assert (found.name, found.low, found.high) == ("vik", -10.0, 10.0)
    assert 0.0 in found.ticks()
    assert choose_colours(values, "heat_flux", "W m-2").low == -4.0  # the ranges of the server stay
    for one_sided in (
        picture_colours(values, "tmin", "degC"),
        picture_colours(values, "heat_flux", "W m-2", palette="batlow"),
        picture_colours(values, "heat_flux", "W m-2", scale=(-4.0, 9.0)),
        picture_colours(-values - 9.0, "heat_flux", "W m-2"),
    ):
        assert one_sided.name != "vik"
        assert one_sided.low != -one_sided.high
    assert picture_colours(values, "heat_flux", "W m-2", scale=(-3.3, 3.3)).name == "vik"
