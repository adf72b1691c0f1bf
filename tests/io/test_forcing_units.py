import pytest

from steppe.errors import ForcingError
from steppe.io.forcing.units import SAME, conversion


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ("Celsius", "degC"),
        ("degrees C", "degC"),
        ("Degrees Celsius", "degC"),
        ("Deg. C", "degC"),
        ("celcius", "degC"),
        ("degrees Kelvin", "K"),
        ("deg K", "K"),
        ("degree_F", "degF"),
        ("mm", "mm d-1"),
        ("kg m-2 d-1", "mm d-1"),
        ("MJ/m2", "MJ m-2 d-1"),
        ("mbar", "hPa"),
        ("m", "m"),
    ],
)
def test_spellings_of_one_unit_need_no_conversion(found: str, wanted: str) -> None:
    assert conversion(found, wanted, "here") == SAME


@pytest.mark.parametrize(
    ("found", "wanted", "value", "expected"),
    [
        ("K", "degC", 300.0, 26.85),
        ("degF", "degC", 212.0, 100.0),
        ("degrees Fahrenheit", "degC", 212.0, 100.0),
        ("degrees Kelvin", "degC", 300.0, 26.85),
        ("W m-2", "MJ m-2 d-1", 100.0, 8.64),
        ("J m-2", "MJ m-2 d-1", 2e7, 20.0),
        ("kPa", "hPa", 1.5, 15.0),
        ("kg m-2 s-1", "mm d-1", 1e-4, 8.64),
        ("cm", "mm d-1", 1.5, 15.0),
        ("J cm-2", "MJ m-2 d-1", 2000.0, 20.0),
        ("kWh/m2", "MJ m-2 d-1", 2.0, 7.2),
        ("kWh/m2/day", "MJ m-2 d-1", 2.0, 7.2),
        ("kWh m-2 d-1", "MJ m-2 d-1", 2.0, 7.2),
        ("Wh/m2", "MJ m-2 d-1", 2000.0, 7.2),
        ("Wh m-2 day-1", "MJ m-2 d-1", 2000.0, 7.2),
    ],
)
def test_units_that_convert_are_a_straight_line(found: str, wanted: str, value: float, expected: float) -> None:
    factor, offset = conversion(found, wanted, "here")
    assert value * factor + offset == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("found", ["degrees", "furz", "K", "cm2"])
def test_unknown_and_other_units_are_errors(found: str) -> None:
    with pytest.raises(
        ForcingError,
        match=rf'"w.zarr", variable "rain" is in "{found}", expected "mm d-1".*`steppe ingest` with --units, .* never guessed',
    ):
        conversion(found, "mm d-1", '"w.zarr", variable "rain"')
