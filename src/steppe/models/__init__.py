"""Physics: models that know their equations and their variables, and nothing of ranks, files, clients or each other.

A model is a module with a scalar `step` (a cell model, run by `CellModel`) or a class that does all that `Model` asks: `FieldModel` does
most of it for models with neighbours.
"""

from steppe.levels import Space
from steppe.models.authored import authored
from steppe.models.cell_model import CellModel, advance_together
from steppe.models.declare import Choice, Pick
from steppe.models.field_model import FieldModel
from steppe.models.model import (
    Array,
    Exchange,
    Increment,
    Inputs,
    Model,
    Needs,
    Reach,
    Recorder,
    Records,
    Status,
)
from steppe.models.registry import find_model
from steppe.models.served import check_served
from steppe.packed import MISSING, Packed
from steppe.variable import Role, Var, Variable, declared, initial_values

__all__ = [
    "MISSING",
    "Array",
    "CellModel",
    "Choice",
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
    "Space",
    "Status",
    "Var",
    "Variable",
    "advance_together",
    "authored",
    "check_served",
    "declared",
    "find_model",
    "initial_values",
]
