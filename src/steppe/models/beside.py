"""What the file of a model may say beside the model: named parameter sets, options that it picks, the weather that it needs."""

from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

from steppe.models.authored import authored
from steppe.models.contract import Model
from steppe.models.declare import Choice
from steppe.variable import Role


def sets_of(module: ModuleType) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """Named parameter sets: kind -> name -> parameter -> value; {} where there are none."""
    with authored("`sets` of the model"):
        return module.sets() if hasattr(module, "sets") else {}


def picks_of(module: ModuleType, available: Collection[str]) -> Mapping[str, Any]:
    """Option -> what the model picks for a run file that does not set it. available: names of the weather's variables."""
    with authored("`choose` of the model"):
        return module.choose(available) if hasattr(module, "choose") else {}


def needed_weather(module: ModuleType, model: Model, options: Mapping[str, str]) -> tuple[str, ...]:
    """The forcing that a model must have. options: the words of those that are given or chosen; others have their defaults."""
    if hasattr(module, "requirements"):
        with authored(f"`requirements` of model {model.name}"):
            return tuple(module.requirements(module.Options(**{name: model.choices[name].index(word) for name, word in options.items()})))
    return tuple(name for name, v in model.variables.items() if v.role is Role.FORCING and v.initial is None)


def default_of(module: ModuleType, name: str, choice: Choice) -> str:
    """The word of an option that nobody sets."""
    return choice.words[module.Options._field_defaults[name] if hasattr(module, "Options") else 0]
