"""Defaults of the optional members of a model, and the completed model."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, cast

import numpy as np

from steppe.array_types import Array
from steppe.clock import Clock
from steppe.errors import ModelError, UnknownNameError, nearest
from steppe.kernels import with_imports
from steppe.levels import Space
from steppe.models.contract import Increment, Minimal, Model, Needs, Status
from steppe.models.declare import Choice
from steppe.models.handed import Inputs, Reach, Recorder, Surroundings


class Defaults:
    """The optional members that a model leaves out."""

    needs: Needs = Needs()
    spaces: Mapping[str, Space] = {}
    choices: Mapping[str, Choice] = {}
    parameters: Mapping[str, Array] = MappingProxyType[str, Array]({})
    digest: str = ""
    busy: float = 0.0
    compiling: float = 0.0
    undoes: bool = False
    given: tuple[Any, Mapping[str, str]]  # its share, and the options of its run

    def __init_subclass__(cls) -> None:
        if not cls.digest:
            cls.digest = source_digest(cls, Defaults)

    @classmethod
    def of(cls, table: dict[str, object]) -> Self:
        """The model of a run. table: its [parameters], {} where there is no run.

        A model whose variables depend on it, on a list of tracers say, takes out of it what it uses (`table.pop`); what stays are
        parameters and options.
        """
        return cls()

    def place(self, around: Surroundings) -> None:
        """It runs anywhere."""

    def again(self, table: dict[str, object]) -> Self:
        """Made as the first one was."""
        return type(self).of(table)

    def export(self, name: str, index: Array | None = None) -> Array:
        """States and parameters are there; nothing else can be asked for."""
        model = cast(Model, self)
        known = {**model.parameters, **model.state}
        if name not in known:
            raise UnknownNameError(
                f'Model "{model.name}" gives its states and parameters alone, and "{name}" is neither.{nearest(name, known)} '
                "Write the method `export` for others."
            )
        values = known[name] if name in model.state else np.broadcast_to(known[name], next(iter(model.state.values())).shape)
        return np.array(values if index is None else self.given[0].pack(values)[..., index])

    def expect_looks(self) -> None:
        """Nothing is loaded."""

    def set(self, name: str, value: float | Array, index: Array | None = None) -> Increment:
        """Nothing can be set."""
        raise ModelError(f'"{name}" cannot be set: model "{cast(Model, self).name}" has no method `set`. Write one, or do not set it.')

    def remember(self, looks: bool = False) -> Any:
        """State, parameters and options, which are all that it is made of."""
        model = cast(Model, self)
        return {name: np.array(values) for name, values in model.state.items()}, dict(model.parameters), self.given[1]

    def recall(self, copy: Any, share: Any, reach: Reach) -> None:
        """Begins there."""
        state, parameters, options = copy
        packed = {name: share.pack(values) if values.ndim > 1 else values.copy() for name, values in parameters.items()}
        cast(Model, self).initialise(share, packed, {name: values.copy() for name, values in state.items()}, options, reach)

    def advance_together(self, others: Sequence[Model], steps: range, inputs: Inputs, clock: Clock, recorders: Sequence[Recorder]) -> None:
        """One after the other, piece by piece of the inputs, so that these are read once."""
        for piece in inputs.pieces(steps) if inputs else [steps]:
            for model, recorder in zip((cast(Model, self), *others), recorders, strict=True):
                model.advance(piece, inputs, clock, recorder)

    def memory(self) -> tuple[int, int]:
        """State and parameters, once."""
        state, parameters = (sum(v.nbytes for v in each.values()) for each in (cast(Model, self).state, self.parameters))
        return state, parameters

    def status(self) -> Status:
        """All cells are good, whatever their values."""
        return Status()


class _Begins:
    """Keeps what a model is given, for the defaults of `parameters` and `recall`."""

    def initialise(
        self,
        share: Any,
        parameters: Mapping[str, float | Array],
        state: Mapping[str, float | Array] | None,
        options: Mapping[str, str],
        reach: Reach,
    ) -> None:
        """See `Minimal`."""
        model: Any = self
        model.given = share, options
        if getattr(type(self), "parameters", None) is Defaults.parameters:
            arrays = {name: np.array(value, np.float64) for name, value in parameters.items()}
            model.kept = model.parameters = {name: share.unpack(values) if values.ndim else values for name, values in arrays.items()}
        super().initialise(share, parameters, state, options, reach)  # type: ignore[misc]


class _Keeps:
    """Keeps what a model sets, for the default of `parameters`."""

    def set(self, name: str, value: float | Array, index: Array | None = None) -> Increment:
        """See `Settable`."""
        increment: Increment = super().set(name, value, index)  # type: ignore[misc]
        model: Any = self
        kept: Any = getattr(model, "kept", {})
        if name in kept and kept is model.parameters:
            share, old = model.given[0], kept[name]
            new = np.array(value, np.float64)
            if index is not None:
                new = np.array(np.broadcast_to(share.pack(old) if old.ndim > 1 else old, share.n_cells))
                new[index] = value
            kept[name] = share.unpack(new) if new.ndim else new
        return increment


def completed(model: Minimal) -> Model:
    """The model, which has all of `Model` afterwards: what it leaves out comes from `Defaults`.

    Raises
    ------
    ModelError
        It leaves out what every model must have.
    """
    if not isinstance(model, Defaults):
        kind = type(model)
        missing = [name for name in REQUIRED if not hasattr(model, name) and name != "state"]  # which may come with `initialise`
        if missing:
            raise ModelError(f"{kind.__name__} has no {', '.join(missing)}. Every model needs {', '.join(REQUIRED)}.")
        own = (_Begins, _Keeps, kind, Defaults) if hasattr(kind, "set") else (_Begins, kind, Defaults)
        model.__class__ = type(kind.__name__, own, {"__module__": kind.__module__, "__doc__": kind.__doc__})
    return cast(Model, model)


def leaves_out(model: Model, capability: type) -> list[str]:
    """The methods of a capability, `Settable` say, that a model leaves out, so that those of `Defaults` stand in for them."""
    names = [name for name in vars(capability) if not name.startswith("_") and name in vars(Defaults)]
    return [name for name in names if getattr(type(model), name, None) is getattr(Defaults, name)]


def source_digest(kind: type, base: type) -> str:
    """Of the files of a class and of those that it derives from, up to `base`, and of those beside them that they import."""
    own = [each for each in kind.__mro__[: kind.__mro__.index(base)] if each not in (_Begins, _Keeps)]
    files = [Path(file) for each in own if (file := getattr(sys.modules[each.__module__], "__file__", None))]
    others = dict.fromkeys(other for file in dict.fromkeys(files) for other in with_imports(file)[1:] if other not in files)
    return sha256(b"".join(file.read_bytes() for file in [*files, *others])).hexdigest()


@cache
def package_source(file: str) -> bytes:
    """The source of all modules in the folder of a file, for the digest of a model whose equations lie in several."""
    return b"".join(each.read_bytes() for each in sorted(Path(file).parent.glob("*.py")))


REQUIRED = ("name", "version", "variables", "initialise", "advance", "state")
REDUCE: dict[str, Callable[[Array, Array], Array]] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def record_step(recorder: Recorder, step: int, share: Any, value: Callable[[str], Array]) -> None:
    """Gives a recorder what it wants of one step that is done. value: gives a variable over the share, as the model has it."""
    for record in recorder.records(range(step, step + 1)):
        if record.operation == "last" and not record.due:
            continue  # a later step has the last value
        kept = record.values[record.slots[0]]
        if record.operation == "last":
            share.pack(value(record.name), kept)
        else:
            kept[:] = REDUCE[record.operation](kept, share.pack(value(record.name)))
    recorder.finish(range(step, step + 1))
