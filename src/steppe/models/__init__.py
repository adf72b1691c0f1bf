"""Physics: models that know their equations and their variables, and nothing of ranks, files, clients or each other.

A model is a module with a scalar `step` (a cell model, run by `CellModel`) or a class with what `contract.Minimal` asks; `FieldModel` does
most of it for models with neighbours.
"""

from steppe.array_types import Array
from steppe.levels import Space
from steppe.models.cell_model import CellModel
from steppe.models.contract import Increment, Model, Needs, Settable, Status
from steppe.models.declare import Choice, Pick
from steppe.models.defaults import Defaults, leaves_out, record_step
from steppe.models.field_model import FieldModel
from steppe.models.handed import Exchange, Inputs, Reach, Recorder, Records, Surroundings
from steppe.models.registry import default_of, find_model, make_model, needed_weather, picks_of, remarks_of, sets_of
from steppe.models.served import check_served
from steppe.packed import MISSING, Packed
from steppe.variable import Role, Var, Variable, declared, initial_values

__all__ = [
    "MISSING",
    "Array",
    "CellModel",
    "Choice",
    "Defaults",
    "Exchange",
    "FieldModel",
    "Increment",
    "Inputs",
    "Model",
    "Needs",
    "Packed",
    "Pick",
    "Reach",
    "Recorder",
    "Records",
    "Role",
    "Settable",
    "Space",
    "Status",
    "Surroundings",
    "Var",
    "Variable",
    "check_served",
    "declared",
    "default_of",
    "find_model",
    "initial_values",
    "leaves_out",
    "make_model",
    "needed_weather",
    "picks_of",
    "record_step",
    "remarks_of",
    "sets_of",
]
