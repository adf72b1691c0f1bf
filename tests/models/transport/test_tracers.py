"""What the run file says of tracers, and the winds of their levels, in the units that are meant."""

import numpy as np
import pytest

from steppe.cli import run_command
from steppe.errors import Exit, ModelError
from steppe.models.transport import Transport, levels
from steppe.models.transport.tracers import tracers_of

RUN = """\
model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-01, step = "3 hours" }}
grid = {{ gaussian = 8 }}
parameters = {{ levels = 1, tracers = {tracers} }}
output = {{ path = "out", variables = ["smoke"], reduce = "last" }}
{rest}"""
A, B = np.array([0.0, 0.1, 0.2, 0.15, 0.0]), np.array([0.0, 0.1, 0.3, 0.6, 1.0])


@pytest.mark.parametrize(
    ("units", "source", "number"),
    [
        (None, "1e-9 s-1", 1e-9),
        (None, "1 ppb s-1", 1e-9),
        ("ppb", "1 ppb s-1", 1.0),
        ("ppb", "1e-9 s-1", 1.0),
        ("Bq kg-1", "3 Bq kg-1 s-1", 3.0),
        ("Bq kg-1", "3.6 kBq kg-1 h-1", 1.0),
    ],
)
def test_the_source_of_a_tracer_is_in_its_own_unit_a_second(units, source, number):
    (tracer,) = tracers_of({"smoke": {"source": source, **({"units": units} if units else {})}})
    assert tracer.source == pytest.approx(number, rel=1e-12)
    assert tracer.source_units == (f"{units} s-1" if units else "s-1")


def test_a_level_that_is_named_twice_has_its_source_once():
    (tracer,) = tracers_of({"smoke": {"source": "1e-6 s-1", "levels": [3, 2, 3]}})
    assert tracer.levels == (3, 2)


@pytest.mark.parametrize("page", [2, 6])
def test_a_page_is_a_power_of_two_that_the_system_can_map(page):
    with pytest.raises(ModelError, match=rf"\[parameters\] page = {page} must be a power of two of at least 4, such as 64 \[KiB\]"):
        Transport.of({"page": page})


def test_the_box_of_a_source_is_four_numbers():
    with pytest.raises(ModelError, match=r"smoke.box = \[10, 20, 30\] must be four numbers, west, south, east, north \[degrees\]"):
        tracers_of({"smoke": {"source": "1 s-1", "box": [10, 20, 30]}})


def test_a_source_of_another_kind_than_its_tracer_is_refused():
    with pytest.raises(ModelError, match='source = "1 s-1" is no number with a unit that becomes Bq kg-1 s-1'):
        tracers_of({"smoke": {"source": "1 s-1", "units": "Bq kg-1"}})


@pytest.mark.parametrize(
    ("tracers", "says"),
    [
        ({"smoke": {"initial": ["x"]}}, r"tracers.smoke: there is no form \['x'\]"),
        ({"smoke": {"initial": 0.5}}, r"no form 0\.5\. .* A map or a number goes under \[initial\]: smoke = 0\.5\."),
        ([["smoke"], "dust"], r"tracers has \['smoke'\], which is no name"),
        ([1, "dust"], "tracers has 1, which is no name"),
    ],
)
def test_what_is_no_name_is_refused(tracers, says):
    with pytest.raises(ModelError, match=says):
        tracers_of(tracers)


@pytest.mark.parametrize("a", [["x", "y"], [[0.0], [0.0, 1.0]], {"x": 1}])
def test_coefficients_that_are_no_numbers_are_refused_by_name(a):
    with pytest.raises(ModelError, match=r"\[parameters\] levels.a = .* must be a list of numbers"):
        levels.chosen({"a": a, "b": [0.0, 1.0]}, "deforming", {})


@pytest.mark.parametrize(("unit", "factor"), [("", 1.0), ("1", 1.0), ("Pa", 1e5), ("hPa", 1e3)])
def test_coefficients_of_pressure_are_taken_in_their_unit(unit, factor):
    found = levels.chosen(None, "forcing", {"hyai": (A * factor, unit), "hybi": (B, "1")})
    np.testing.assert_allclose(found.a, A, rtol=1e-15)


@pytest.mark.parametrize("name", ["level", "plev", "pressure_level", "lev", "isobaricInhPa", "pressure"])
def test_levels_of_pressure_have_one_of_the_usual_names(name):
    found = levels.chosen(None, "forcing", {name: (np.array([1000.0, 850.0, 500.0, 200.0]), "hPa")})
    np.testing.assert_allclose(found.coordinate, [0.2, 0.5, 0.85, 1.0], rtol=1e-15)


@pytest.mark.parametrize(
    ("unit", "pascals"), [("Pa", 1.0), ("kPa", 1000.0), *((unit, 100.0) for unit in ("mbar", "mb", "millibar", "millibars"))]
)
def test_levels_of_pressure_are_taken_in_their_unit(unit, pascals):
    found = levels.chosen(None, "forcing", {"level": (np.array([1e5, 85_000.0, 50_000.0, 20_000.0]) / pascals, unit)})
    np.testing.assert_allclose(found.coordinate, [0.2, 0.5, 0.85, 1.0], rtol=1e-15)


@pytest.mark.parametrize(("p0", "unit"), [(101_325.0, "Pa"), (1013.25, "hPa"), (101_325.0, "")])
def test_coefficients_are_of_the_p0_of_the_winds(p0, unit):
    columns = {"hyai": (A, ""), "hybi": (B, "1"), "P0": (np.array(p0), unit)}
    np.testing.assert_allclose(levels.chosen(None, "forcing", columns).a, 1.01325 * A, rtol=1e-15)
    columns["P0"] = np.array(100_000.0), "Pa"
    np.testing.assert_array_equal(levels.chosen(None, "forcing", columns).a, A)


def test_a_level_that_was_chosen_from_a_store_is_one_level():
    found = levels.chosen(None, "forcing", {"level": (np.array(850.0), "hPa")})
    assert found.space.values == (850.0,)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"hyai": (A * 1e5, ""), "hybi": (B, "")}, "hyai of the winds goes to 20000; .* give its unit"),
        ({"hyam": (A, ""), "hybm": (B, ""), "level": (np.arange(5.0) + 1.0, "hPa")}, "Give hyai and hybi, those of the interfaces"),
    ],
)
def test_winds_whose_levels_would_be_others_are_refused(columns, says):
    with pytest.raises(ModelError, match=says):
        levels.chosen(None, "forcing", columns)


@pytest.mark.parametrize(
    ("tracers", "rest", "warned"),
    [
        ('["smoke"]', "", True),
        ('{ smoke = { half_life = "1 day" } }', "", True),
        ('{ smoke = "zero" }', "", False),
        ('{ smoke = { source = "1e-6 s-1" } }', "", False),
        ('{ smoke = "age of air" }', "", False),
        ('["smoke"]', "[[event]]\ndate = 2000-01-01T03:00:00\nset = { smoke = 1.0 }\n", False),
        ('["smoke"]', '[initial]\n"smoke[0]" = 1.0\n', False),
    ],
)
def test_check_and_run_warn_of_a_tracer_that_nothing_makes(tmp_path, capfd, tracers, rest, warned):
    (tmp_path / "run.toml").write_text(RUN.format(tracers=tracers, rest=rest))
    for command in ("check", "run"):
        assert run_command([command, str(tmp_path / "run.toml")]) == Exit.DONE
        assert ('Tracer "smoke" is 0 everywhere: it has no form, no source and no [initial].' in capfd.readouterr().err) is warned


def test_check_warns_of_a_tracer_that_begins_below_0(tmp_path, capfd):
    (tmp_path / "run.toml").write_text(RUN.format(tracers='["smoke"]', rest="[initial]\nsmoke = -2.5\n"))
    assert run_command(["check", str(tmp_path / "run.toml")]) == Exit.DONE
    assert 'Tracer "smoke" is set to values below 0, -2.5 at least.' in capfd.readouterr().err
