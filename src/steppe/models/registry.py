"""Models by name: Steppe's own, those of other packages (entry point group `steppe.models`), or a Python file; and what such a file may say
beside the model: named parameter sets, options that it picks, the weather that it needs, warnings before a run.
"""

import importlib
import importlib.util
import linecache
import sys
from collections.abc import Collection, Mapping
from hashlib import sha256
from importlib.abc import SourceLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from steppe.errors import ModelError, authored, authors_line, in_words, nearest
from steppe.models.cell_model import CellModel
from steppe.models.contract import Model
from steppe.models.declare import Choice
from steppe.models.defaults import completed
from steppe.models.handed import Surroundings
from steppe.models.served import check_served
from steppe.variable import Role

OWN = {"pasture": "steppe.models.pasture", "transport": "steppe.models.transport", "air": "steppe.models.air"}


def find_model(name: str) -> ModuleType:
    """The module of a model: one with a `step` function (a cell model), or with `MODEL`, a class (a field model).

    Raises
    ------
    ModelError
        There is no such model, or the module has neither or both.
    """
    if name.endswith(".py"):
        module = _from_file(Path(name))
    elif name in OWN:
        module = importlib.import_module(OWN[name])
    else:
        others = {entry.name: entry for entry in entry_points(group="steppe.models")}
        if name not in others:
            raise ModelError(f'There is no model "{name}".{nearest(name, {*OWN, *others})} A path that ends in .py works too.')
        module = others[name].load()
    if not hasattr(module, "step") and not hasattr(module, "MODEL"):
        raise ModelError(f'"{name}" is no model: it has neither a function `step` (a cell model) nor `MODEL`, a class (a field model).')
    if hasattr(module, "step") and hasattr(module, "MODEL"):
        raise ModelError(f'"{name}" has a function `step`, as a cell model, and `MODEL`, as a field model. Rename or remove one of them.')
    return module


def make_model(
    module: ModuleType, dtype: str = "float32", threads: int = 1, table: dict[str, object] | None = None, around: Surroundings | None = None
) -> Model:
    """A cell model around a module's `step`, or a module's own model, with what it leaves out.

    table: [parameters] of the run, out of which a model takes what its variables depend on. around: where it is run.

    Raises
    ------
    ModelError
        The model is not whole, or declares what Steppe would ignore; see `check_served`.
    """
    cells = hasattr(module, "step")
    if not cells and not (callable(made := module.MODEL) or hasattr(made, "of")):
        file = getattr(module, "__file__", None)
        raise ModelError(f'"{file}": MODEL = {made!r:.80} is no class. Write the class of the model, without quotes: MODEL = Diffusion.')
    with authored("The declaration of the model" if cells else "`MODEL` of the model"):
        model: Model = CellModel(module, dtype, threads) if cells else _own(module.MODEL, {} if table is None else table)
        if around is not None:
            model.place(around)
    check_served(model)
    return model


def _own(made: Any, table: dict[str, object]) -> Model:
    """The model of a class, or of what else an author calls MODEL."""
    model = completed(made.of(table) if hasattr(made, "of") else made())
    for what in ("name", "version"):
        if not isinstance(getattr(model, what, None), str):
            raise ModelError(f'The model {type(model).__name__} has no {what}. Write {what} = "..." in its class.')
    return model


def _from_file(path: Path) -> ModuleType:
    """The module of a file, loaded again if its text has changed."""
    whole = path.absolute()
    name = f"{path.stem}_{sha256(str(whole).encode()).hexdigest()[:8]}"  # two files of one name do not meet
    spec = importlib.util.spec_from_file_location(name, whole)
    if not path.is_file() or spec is None or not isinstance(spec.loader, SourceLoader):
        raise ModelError(f'There is no model file "{path}".')
    text = spec.loader.get_data(str(whole))
    if name not in sys.modules or _text_of(sys.modules[name]) != text:
        module = importlib.util.module_from_spec(spec)
        spec.loader_state = text
        sys.modules[name] = module
        linecache.cache.pop(str(whole), None)
        try:
            code = spec.loader.source_to_code(text, str(whole))  # of this text; Python's own cache goes by whole seconds
            lines = importlib.util.decode_source(text).splitlines(keepends=True)
            linecache.cache[str(whole)] = len(text), None, lines, str(whole)  # the text of this code, whatever becomes of the file
            exec(code, vars(module))
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            line = authors_line(error)
            raise ModelError(f'Model file "{path}" cannot be loaded: {line and line + ": "}{in_words(error)}') from error
    return sys.modules[name]


def _text_of(module: ModuleType) -> object:
    """The text that the module of a file was made of."""
    return module.__spec__ and module.__spec__.loader_state


def sets_of(module: ModuleType) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """Named parameter sets: kind -> name -> parameter -> value; {} where there are none."""
    with authored("`sets` of the model"):
        found: Mapping[str, Mapping[str, Mapping[str, float]]] = module.sets() if hasattr(module, "sets") else {}
        known = getattr(getattr(module, "Parameters", None), "_fields", ())
        named = [(f'{kind} "{name}"', parameter) for kind, sets in found.items() for name, values in sets.items() for parameter in values]
        for where, parameter in named:
            if known and parameter not in known:
                raise ModelError(f'`sets` of the model, {where}: there is no parameter "{parameter}".{nearest(parameter, known)}')
        return found


def picks_of(module: ModuleType, available: Collection[str]) -> Mapping[str, Any]:
    """Option -> what the model picks for a run file that does not set it. available: names of the weather's variables."""
    with authored("`choose` of the model"):
        return module.choose(available) if hasattr(module, "choose") else {}


def remarks_of(module: ModuleType, model: Model, begun: Collection[str]) -> list[str]:
    """Warnings of a model before a run. begun: the variables that the run file sets, at the beginning or later."""
    with authored("`remarks` of the model"):
        return list(module.remarks(model, begun)) if hasattr(module, "remarks") else []


def needed_weather(module: ModuleType, model: Model, options: Mapping[str, str]) -> tuple[str, ...]:
    """The forcing that a model must have. options: the words of those that are given or chosen; others have their defaults."""
    if hasattr(module, "requirements"):
        with authored(f"`requirements` of model {model.name}"):
            return tuple(module.requirements(module.Options(**{name: model.choices[name].index(word) for name, word in options.items()})))
    return tuple(name for name, v in model.variables.items() if v.role is Role.FORCING and v.initial is None)


def default_of(module: ModuleType, name: str, choice: Choice) -> str:
    """The word of an option that the run file does not set."""
    return choice.words[module.Options._field_defaults[name] if hasattr(module, "Options") else 0]
