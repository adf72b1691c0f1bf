"""A model that declares what Steppe would ignore is refused by name when it is opened."""

import re
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from examples.diffusion import Diffusion

from steppe.errors import ComputedError, ModelError
from steppe.models import CellModel, Choice, FieldModel, Needs, Role, Var, Variable, check_served
from steppe.variable import vectors
from tests.models import garden


def field_model(needs: Needs = Diffusion.needs, choices: Any = None, **more: Variable) -> Diffusion:
    """Diffusion with more declarations."""
    kind = type("Air", (Diffusion,), {"name": "air", "variables": {**Diffusion.variables, **more}, "needs": needs})
    if choices:
        kind.choices = choices
    return kind()


def variable(role: Role = Role.STATE, dims: tuple[str, ...] = ("y", "x"), dtype: str = "float64", **more: Any) -> Variable:
    return Variable(
        **{"name": "extra", "dims": dims, "units": "1", "dtype": dtype, "role": role, "long_name": "More", "initial": 0.0, **more}
    )


def test_a_field_model_that_computes_nothing_is_refused_when_it_is_opened():
    idle = type("Idle", (FieldModel,), {"name": "idle", "version": "1", "variables": Diffusion.variables, "needs": Diffusion.needs})
    with pytest.raises(ModelError, match='Model "idle": it has no method `compute`'):
        check_served(idle())
    check_served(type("Stepped", (idle,), {"step": lambda self: None})())


def test_a_field_model_without_a_method_for_what_it_computes_when_asked_is_refused():
    lazy = type("Lazy", (Diffusion,), {"asked": ("flux",)})
    with pytest.raises(ModelError, match=r"it computes flux when asked \(`asked`\), and has no method `derive`\. Write it\."):
        check_served(lazy())
    check_served(type("Derives", (lazy,), {"derive": lambda self, name: None})())


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (variable(Role.FORCING), 'forcing "extra" has an initial value. A field model reads its forcing from the weather at each step'),
        (variable(Role.FORCING, (), initial=None), '"extra" has the dims (). Steppe supports ("y", "x"): one number a cell'),
        (variable(Role.FORCING, ("level", "y", "x"), initial=None), '"extra" has the dim "level", which is no space of the model.'),
        (variable(Role.DIAGNOSTIC, ()), '"extra" has the dims (). Steppe supports ("y", "x"): one number a cell'),
        (variable(Role.DIAGNOSTIC, dtype="int32"), '"extra" has the dtype "int32". Steppe computes in float32 or float64.'),
        (variable(Role.DERIVED), '"extra" is declared as derived. A field model computes such numbers itself: remove "extra", or declare'),
        (
            variable(dims=("layer", "y", "x")),
            '"extra" has the dim "layer", which is no space of the model. Declare spaces = {"layer": Space(',
        ),
        (variable(dims=("cell",)), '"extra" has the dims ("cell"). Steppe supports ("y", "x")'),
        (variable(dims=()), '"extra" has the dims (). Steppe supports ("y", "x")'),
        (variable(dtype="int32"), '"extra" has the dtype "int32". A field is float32 or float64.'),
        (variable(dtype="float16"), '"extra" has the dtype "float16". Steppe computes in float32 or float64.'),
        (variable(Role.PARAMETER, ("level", "y", "x")), '"extra" has the dim "level", which is no space of the model.'),
        (variable(Role.PARAMETER, (), "float32"), 'parameter "extra" has the dtype "float32". Parameters are float64: write that.'),
        (variable(units="furlongs per fortnite"), '"extra" has the unit "furlongs per fortnite", which UDUNITS does not know.'),
        (variable(parity=0), '"extra" has the parity 0. Write -1 for what changes sign beyond a pole, otherwise 1.'),
        (variable(units=""), '"extra" has the unit "", which UDUNITS does not know.'),
        (variable(name="other"), 'variables["extra"] declares the name "other". Give both the same name.'),
    ],
    ids=lambda each: each.role.value if isinstance(each, Variable) else each[:30],
)
def test_what_a_field_model_declares_and_steppe_does_not_serve_is_named(extra, sentence):
    with pytest.raises(ModelError) as refused:
        check_served(field_model(extra=extra))
    assert str(refused.value).startswith('Model "air": ')
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("needs", "sentence"),
    [
        (Needs(unit="cells"), 'a field model needs boxes. Write needs = Needs(unit="boxes"'),
        (Needs(unit="boxes", halo={"x": 1}), 'Needs(halo=...) gives no width for the dim "y". Write halo={"y": 1, "x": 1}'),
        (Needs(unit="boxes"), 'Needs(halo=...) gives no width for the dim "y".'),
        (Needs(unit="blocks"), 'Needs(unit="blocks") is not known. Write "cells" or "boxes".'),
        (Needs(unit="boxes", halo={"y": 1, "x": 1}, cost=-1.0), "Needs(cost=-1.0) is no time. Write the seconds that a cell and step take"),
        (Needs(unit="boxes", halo=1), 'Needs(halo=1) is no whole number for each dim. Write halo={"y": 1, "x": 1}.'),
        (Needs(unit="boxes", halo={"y": 1.0, "x": 1}), "Needs(halo={'y': 1.0, 'x': 1}) is no whole number for each dim."),
        (Needs(unit="boxes", halo={"y": 1, "z": 1}), 'Needs(halo=...) names the dim "z". A model of boxes has the dims ("y", "x").'),
    ],
)
def test_surroundings_that_do_not_exist_are_named(needs, sentence):
    with pytest.raises(ModelError) as refused:
        check_served(field_model(needs, extra=variable(dims=("y", "x"))))
    assert sentence in str(refused.value)


def test_an_option_of_a_field_model_that_is_no_choice_is_refused():
    with pytest.raises(ModelError, match=r"option \"scheme\" is 'words'\. Write Choice\("):
        check_served(field_model(choices={"scheme": "words"}))


def test_an_option_with_the_name_of_a_parameter_is_refused():
    with pytest.raises(ModelError, match=r'option "rate" has the name of a parameter\. Choose another one\.'):
        check_served(field_model(choices={"rate": Choice("How fast", {"slow": "by day", "fast": "by night"})}))


def test_a_unit_of_a_cell_model_that_udunits_does_not_know_is_refused():
    class State(NamedTuple):
        upper: Annotated[float, Var("milimeters", "Water above", initial=20)]
        lower: Annotated[float, Var("mm", "Water below")]
        green: Annotated[float, Var("kg ha-1", "Plants", initial=300)]
        age: Annotated[float, Var("d", "Days since rain", initial=0)]

    module = type("module", (), {**vars(garden), "State": State})
    with pytest.raises(ModelError, match='Model "garden": "upper" has the unit "milimeters", which UDUNITS does not know'):
        check_served(CellModel(module))


def test_what_is_served_passes():
    check_served(field_model(extra=variable()))
    check_served(field_model(extra=variable(Role.PARAMETER, ())))
    check_served(field_model(extra=variable(Role.PARAMETER)))
    check_served(field_model(extra=variable(dtype="float32")))
    check_served(field_model(extra=variable(Role.DIAGNOSTIC, dtype="float32")))
    check_served(field_model(extra=variable(Role.FORCING, dtype="float32", initial=None)))
    check_served(CellModel(garden))


def test_a_field_that_follows_from_others_names_them_when_it_is_set():
    model = field_model(extra=variable(settable_by=("concentration",)))
    model.parameters = {}
    with pytest.raises(ComputedError, match=r'"extra" cannot be set\. Set concentration'):
        model.set("extra", 1.0)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"initial": "x"}, "\"extra\": initial is 'x'. Write a number."),
        ({"initial": [1.0, 2.0]}, '"extra": initial is [1.0, 2.0]. Write a number.'),
        ({"initial": np.ones(2)}, '"extra": initial is array([1., 1.]). Write a number.'),
        ({"dims": ["y", "x"]}, '"extra": dims is [\'y\', \'x\']. Write a tuple of texts, such as ("y", "x").'),
        (
            {"role": "state"},
            "\"extra\": role is 'state'. Write one of Role.STATE, Role.FORCING, Role.PARAMETER, Role.DERIVED, Role.DIAGNOSTIC.",
        ),
        ({"low": None}, '"extra": low is None. Write a number.'),
        ({"low": 2.0, "high": 1.0}, '"extra": low is 2 and high is 1. low must not be above high.'),
        ({"units": 3}, '"extra": units is 3. Write a text.'),
        ({"source": None}, '"extra": source is None. Write a text.'),
    ],
)
def test_a_variable_of_wrong_kind_is_refused_when_it_is_declared(given, sentence):
    with pytest.raises(ModelError) as refused:
        variable(**given)
    assert str(refused.value) == sentence


def test_two_components_of_a_vector_are_known_by_declaration_or_by_their_cf_names() -> None:
    declared = {"u": variable(name="u", vector=("flow", "east")), "v": variable(name="v", vector=("flow", "south"))}
    named = {each: variable(name=each, standard_name=f"{each}ward_wind") for each in ("north", "east")}
    assert vectors(declared | named) == {"flow": ("u", "v"), "wind": ("east", "north")}
    assert vectors({"east": named["east"]}) == {}  # a CF name alone promises no second one


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"u": "east"}, 'Vector "flow" has u (east, 1). Give it one to the east or west and one to the north or south'),
        ({"u": "east", "v": "west"}, 'Vector "flow" has u (east, 1), v (west, 1).'),
        ({"u": "up"}, "vector is ('flow', 'up'). Write its name and one of east, north, south, west"),
    ],
)
def test_half_a_vector_is_refused(parts: dict[str, str], sentence: str) -> None:
    with pytest.raises(ModelError, match=re.escape(sentence)):
        check_served(field_model(**{name: variable(name=name, vector=("flow", toward)) for name, toward in parts.items()}))


@pytest.mark.parametrize("name", ["wet soil", "smoke[1]", "pm2.5", "a-pinene"])
def test_a_name_that_cannot_name_a_level_is_refused(name):
    with pytest.raises(ModelError, match=re.escape(f'"{name}" is no name of a variable: files and run files take letters, digits and "_"')):
        check_served(field_model(**{name: variable(name=name)}))


def test_variables_that_have_no_names_are_refused():
    model = field_model()
    model.variables = [variable()]
    with pytest.raises(ModelError, match=r"variables is \[Variable\(.*\. Write name -> Variable, such as \{variable\.name: variable"):
        check_served(model)
    with pytest.raises(ModelError, match=r"variables is None\. Write name -> Variable"):
        check_served(type("Nameless", (FieldModel,), {"name": "air", "version": "1", "needs": Diffusion.needs})())
    with pytest.raises(
        ModelError, match=r'variables\["extra"\] is \(\'m\',\)\. Write Variable\(name, dims, units, dtype, role, long_name\)'
    ):
        check_served(field_model(extra=("m",)))


@pytest.mark.parametrize("name", ["time", "lat_bnds", "maps", "state", "region", "scenario"])
def test_a_name_that_files_or_run_files_use_is_refused(name):
    with pytest.raises(ModelError, match=f'"{name}" is a name that files or run files use for something else'):
        check_served(field_model(**{name: variable(name=name)}))


def test_a_name_of_a_model_that_is_no_text_is_refused():
    with pytest.raises(ModelError, match=r'garden.*VERSION must be text, it is 1\.5\. Write VERSION = "1\.5"\.'):
        CellModel(type("module", (), {**vars(garden), "VERSION": 1.5}))
