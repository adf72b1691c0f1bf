"""What the pasture declares: variables, options, named sets, and the constants that follow from parameters."""

import re
from pathlib import Path

import numpy as np
import pytest

from steppe.errors import ModelError
from steppe.models import pasture
from steppe.models.cell_declaration import CellDeclaration
from steppe.variable import Role, declared, initial_values
from tests.models.pasture_reference import constants, fresh, parameters

PAGE = Path(__file__).parents[2] / "docs" / "pasture.md"
OPTIONS = pasture.Options()
GROUPS = {
    pasture.State: Role.STATE,
    pasture.Forcing: Role.FORCING,
    pasture.Parameters: Role.PARAMETER,
    pasture.Derived: Role.DERIVED,
    pasture.Diagnostics: Role.DIAGNOSTIC,
}


def test_the_page_of_the_model_has_every_option_with_its_words_the_default_first():
    rows = re.findall(r"^\| (?:`(\w+)` )?\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    found: dict[str, list[str]] = {}
    for option, word in rows:
        found.setdefault(option or list(found)[-1], []).append(word)
    choices = CellDeclaration(pasture).choices
    assert found == {name: list(choice.words) for name, choice in choices.items()}
    assert set(OPTIONS) == {0}


def test_every_number_is_declared_once_with_unit_and_meaning():
    names = [name for group, role in GROUPS.items() for name in declared(group, role)]
    assert len(names) == len(set(names))
    assert set(pasture.EXPORTS) <= set(names)
    assert len(pasture.EXPORTS) == 18


def test_what_is_computed_names_what_to_set_instead():
    for variable in declared(pasture.Diagnostics, Role.DIAGNOSTIC).values():
        assert set(variable.settable_by) <= set(pasture.State._fields)


def test_defaults_lie_within_their_limits():
    for group, role in GROUPS.items():
        for variable in declared(group, role).values():
            assert variable.initial is None or variable.low <= variable.initial <= variable.high, variable.name
    assert None not in [variable.initial for variable in declared(pasture.Parameters, Role.PARAMETER).values()]


@pytest.mark.parametrize("plant", ["native", "narayen-ref", "brigalow67", "belyando", "mitchell"])
@pytest.mark.parametrize("soil", ["narayen-ref", "brigalow67", "black-vertosol", "roma-red-earth", "open-downs"])
def test_every_plant_goes_with_every_soil(plant, soil):
    kinds = pasture.sets()
    limits = declared(pasture.Parameters, Role.PARAMETER)
    for name, value in {**kinds["plant"][plant], **kinds["soil"][soil]}.items():
        assert limits[name].low <= value <= limits[name].high
        assert value != limits[name].initial, f"{name} is the default"
    p = parameters(plant, soil)
    assert np.isfinite(
        [value for name, value in zip(pasture.Derived._fields, constants(p, OPTIONS), strict=True) if "ceiling" not in name]
    ).all()
    state = fresh(p)
    assert set(pasture.start(p, constants(p, OPTIONS))) | set(initial_values(declared(pasture.State, Role.STATE))) == set(
        pasture.State._fields
    )
    assert 0 < state.soil_water_1 < constants(p, OPTIONS).drained_1


def test_there_are_no_sets_but_the_tested_ones():
    kinds = pasture.sets()
    assert list(kinds["plant"]) == ["native", "narayen-ref", "brigalow67", "belyando", "mitchell"]
    assert list(kinds["soil"]) == ["narayen-ref", "brigalow67", "black-vertosol", "roma-red-earth", "open-downs"]


def test_available_water_of_a_cell_scales_its_layers_and_leaves_the_rest():
    plain = parameters("mitchell", "open-downs")
    scaled = plain._replace(plant_available_water=np.array([0.0, 60.0, 180.0]))
    one, many = pasture.derive(plain, OPTIONS), pasture.derive(scaled, OPTIONS)
    held = sum(many[i + 4] - many[i] for i in range(3))
    assert held == pytest.approx([sum(one[i + 4] - one[i] for i in range(3)), 60.0, 180.0], rel=1e-14)
    assert many.saturated_2 - many.drained_2 == pytest.approx(one.saturated_2 - one.drained_2, rel=1e-12)
    assert many.wilting_1 == one.wilting_1
    assert pasture.start(scaled, many)["soil_water_3"] == pytest.approx(many.wilting_3 + 0.5 * (many.drained_3 - many.wilting_3))


def test_constants_of_many_cells_are_those_of_each():
    p = parameters("belyando", "black-vertosol", tree_basal_area=6.0)
    depths, weights = np.array([400.0, 950.0, 3000.0]), np.array([200.0, 300.0, 450.0])
    many = pasture.derive(p._replace(root_depth=depths, animal_weight=weights, stocking_rate=0.2), OPTIONS)
    for cell in range(3):
        one = pasture.derive(p._replace(root_depth=depths[cell], animal_weight=weights[cell], stocking_rate=0.2), OPTIONS)
        assert [np.broadcast_to(value, 3)[cell] for value in many] == [float(value) for value in one]


def test_parameters_that_contradict_each_other_are_refused_by_name():
    with pytest.raises(ModelError, match=r'"wilting_point_2" is 0\.3 and "drained_limit_2" is 0\.2; the first must be below'):
        pasture.derive(parameters("native", wilting_point_2=0.3), OPTIONS)
    with pytest.raises(ModelError, match='"frost_kills" is 3 and "frost_starts" is 2'):
        pasture.derive(parameters("native")._replace(frost_kills=np.array([0.0, 3.0])), OPTIONS)
