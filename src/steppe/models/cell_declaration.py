"""The declaration in the module of a cell model: groups of variables, options, `step`, and the functions before the first step.

State, Forcing, Parameters, Diagnostics [, Derived, Today]   NamedTuples of Annotated[float, Var(...)]
[Options]                                                    NamedTuple of Annotated[int, Choice(...)], each with its default
step(s, f, p [, d] [, t] [, o]) -> (State, Diagnostics)      one step of one cell
[derive(p [, o]) -> Derived]                                 in float64, of numbers or arrays (cells,)
[start(p [, d] [, o]) -> {name: value}]                      initial state that follows from parameters
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, get_args, get_type_hints

import numpy as np

from steppe.array_types import Array, Floats
from steppe.errors import ModelError, authored, nearest
from steppe.kernels import TODAY, CellStep, StepRules, check_text, fingerprint, vecmath
from steppe.models.declare import Choice
from steppe.variable import Role, Variable, declared

GROUPS = {"s": "State", "f": "Forcing", "p": "Parameters", "d": "Derived", "t": "Today", "o": "Options"}
ROLES = {
    "State": Role.STATE,
    "Forcing": Role.FORCING,
    "Parameters": Role.PARAMETER,
    "Derived": Role.DERIVED,
    "Diagnostics": Role.DIAGNOSTIC,
}
CONSTANTS = ("Parameters", "Derived")  # computed in float64
BAD = {  # states that every cell model has
    "bad_code": Variable(
        "bad_code", ("cell",), "1", "int32", Role.STATE, "What made a cell bad: 0 nothing, k the k-th forcing, 100 its state"
    ),
    "bad_step": Variable("bad_step", ("cell",), "1", "int32", Role.STATE, "Step from which a cell is frozen, -1 while it is good"),
}
REQUIRED = ("NAME", "VERSION", "State", "Forcing", "Parameters", "Diagnostics", "step")
IN_PYTHON = {"derive": ("p", "o"), "start": ("p", "d", "o"), "requirements": ("o",)}  # functions before the first step, their arguments

Constant = tuple[Floats | np.float64, ...]
"""`Parameters` or `Derived` of a module: each field a number or an array (cells,), float64."""

Chosen = tuple[int, ...]
"""`Options` of a module, () of one without."""


class CellDeclaration:
    """A module read once and checked.

    Raises
    ------
    ModelError
        A part is missing, a name is declared twice, or `step` has an argument that is no group.
    """

    def __init__(self, module: ModuleType, dtype: str = "float32") -> None:
        self.module = module
        if missing := [name for name in REQUIRED if not hasattr(module, name)]:
            needs = f"{', '.join(missing)}. A cell model needs {'it' if len(missing) == 1 else 'them'}."
            raise ModelError(f'"{self._file}" has no {needs}')
        self.name, self.version = (self._text(name) for name in ("NAME", "VERSION"))
        self.groups = {group: getattr(module, group) for group in (*ROLES, "Today", "Options") if hasattr(module, group)}
        for name, group in self.groups.items():
            if not (isinstance(group, type) and issubclass(group, tuple) and hasattr(group, "_fields")):
                raise ModelError(f'"{self._file}": {name} is no NamedTuple. Write class {name}(NamedTuple): and its fields below.')
        self.variables: dict[str, Variable] = {}
        for group, role in ROLES.items():
            if group in self.groups:
                found = declared(self.groups[group], role, "float64" if group in CONSTANTS else dtype)
                for name in found.keys() & BAD.keys():
                    raise ModelError(f'"{self._file}": {group}.{name} has the name of a state that Steppe adds. Choose another one.')
                for name in found.keys() & self.variables.keys():
                    raise ModelError(
                        f'"{name}" is declared twice in {self.name}, the second time in {group}. Give each variable its own name.'
                    )
                self.variables |= found
        for name in self.fields("Today"):
            if name not in TODAY:
                raise ModelError(f'{self.name}: Today has no "{name}". Use some of {", ".join(TODAY)}.')
        self.choices = self._choices()
        self.arguments = self._arguments()
        self._check_text()

    @property
    def _file(self) -> object:
        return getattr(self.module, "__file__", self.module)

    def _text(self, name: str) -> str:
        found = getattr(self.module, name)
        if not isinstance(found, str):
            raise ModelError(f'"{self._file}": {name} must be text, it is {found!r}. Write {name} = "{found}".')
        return found

    def _choices(self) -> dict[str, Choice]:
        if "Options" not in self.groups:
            return {}
        found: dict[str, Choice] = {}
        for name, hint in get_type_hints(self.groups["Options"], include_extras=True).items():
            notes = [note for note in get_args(hint)[1:] if isinstance(note, Choice)]
            if len(notes) != 1 or name not in self.groups["Options"]._field_defaults:
                raise ModelError(f"{self.name}: option {name} must be Annotated[int, Choice(...)] = default, it is {hint!r}.")
            found[name] = notes[0]
        return found

    def _arguments(self) -> tuple[str, ...]:
        if not isinstance(self.module.step, FunctionType):
            raise ModelError(f"{self.name}: step is {self.module.step!r}. Write it as a function, with def.")
        letters = _letters(self.module.step)
        for letter in letters:
            if letter not in GROUPS or GROUPS[letter] not in self.groups:
                known = [f"{letter} ({group})" for letter, group in GROUPS.items() if group in self.groups]
                raise ModelError(f'{self.name}: step has an argument "{letter}". Name its arguments {", ".join(known)}.')
        return tuple(GROUPS[letter] for letter in letters)

    def _check_text(self) -> None:
        """Misspelt fields, wrong calls and imports, before anything is compiled."""
        letters = {letter: self.groups[group] for letter, group in GROUPS.items() if group in self.groups}
        made = (self.groups["State"], self.groups["Diagnostics"])
        check_text(self.module.step, [self.groups[group] for group in self.arguments], StepRules(letters, compiled=True), made)
        for name, known in IN_PYTHON.items():
            function = getattr(self.module, name, None)
            if not isinstance(function, FunctionType):
                continue
            for letter in _letters(function):
                if letter not in known:
                    raise ModelError(f'{self.name}: {name} has an argument "{letter}". Name its arguments {", ".join(known)}.')
            kinds = [letters.get(letter) for letter in _letters(function)]
            check_text(function, kinds, StepRules(letters, compiled=False), self.groups.get("Derived") if name == "derive" else None)

    def fields(self, group: str) -> tuple[str, ...]:
        """The names in a group; empty when the model has no such group."""
        return tuple(getattr(self.groups.get(group), "_fields", ()))

    def of(self, role: Role) -> dict[str, Variable]:
        """The variables of one role, in order of declaration."""
        return {name: variable for name, variable in self.variables.items() if variable.role is role}

    def optional(self) -> dict[str, float]:
        """Forcing that need not be given, and its value then."""
        return {name: variable.initial for name, variable in self.of(Role.FORCING).items() if variable.initial is not None}

    def options(self, words: Mapping[str, str]) -> Chosen:
        """`Options` with these words, and the defaults of the others; an empty tuple when the model has none.

        Raises
        ------
        ModelError
            An option or a word is not known.
        """
        for name in words:
            if name not in self.choices:
                raise ModelError(f'{self.name} has no option "{name}".{nearest(name, self.choices)}')
        indices = {name: self.choices[name].index(word) for name, word in words.items()}
        chosen: Chosen = self.groups["Options"](**indices) if "Options" in self.groups else ()
        return chosen

    def derive(self, parameters: Mapping[str, Floats], options: Chosen) -> tuple[Constant, Constant]:
        """`Parameters` and `Derived` (an empty tuple when the model has none) of float64 numbers or arrays (cells,)."""
        p = self.groups["Parameters"](**{name: values if values.ndim else values[()] for name, values in parameters.items()})
        if "Derived" not in self.groups:
            return p, ()
        d = self._call("derive", p=p, o=options)
        if not isinstance(d, self.groups["Derived"]):
            raise ModelError(f"`derive` of model {self.name} returns a {type(d).__name__}. Return Derived(...).")
        return p, d

    def start(self, p: Constant, d: Constant, options: Chosen) -> Mapping[str, float | Array]:
        """The initial values that follow from parameters.

        Raises
        ------
        ModelError
            `start` of the model returns something else.
        """
        found = self._call("start", p=p, d=d, o=options) if hasattr(self.module, "start") else {}
        known = self.fields("State")
        if not isinstance(found, Mapping) or (wrong := next((name for name in found if name not in known), None)) is not None:
            what = f"a {type(found).__name__}" if not isinstance(found, Mapping) else f'a value of "{wrong}"'
            example = ", ".join(f'"{name}": ...' for name in known[:2])
            raise ModelError(f"`start` of model {self.name} returns {what}. Return a dict of states, such as {{{example}}}.")
        return found

    def _call(self, name: str, **given: object) -> Any:
        function = getattr(self.module, name)
        with authored(f"`{name}` of model {self.name}"):
            return function(**{letter: given[letter] for letter in _letters(function)})

    def cell_step(self, options: Chosen) -> CellStep:
        """The step, as the compiled loop needs it."""
        limits = {name: (variable.low, variable.high) for name, variable in self.of(Role.FORCING).items()}
        return CellStep(self.name, self.module.step, self.groups, self.arguments, limits, self.optional(), tuple(options))

    def step_in_python(
        self,
        cell: int,
        values: Mapping[str, float],
        constants: tuple[Constant, Constant],
        today: Mapping[str, float],
        options: Chosen,
        real: type[np.float32] | type[np.float64],
    ) -> dict[str, float]:
        """The state after one step of one cell, with the kernel's bits. values: state and forcing; constants: p and d of all cells."""
        p, d = ([real(np.asarray(v)[cell] if np.ndim(v) else v) for v in group] for group in constants)
        groups: dict[str, Sequence[float | np.floating]] = {"Parameters": p, "Derived": d, "Options": list(options)}
        groups |= {group: [values[name] for name in self.fields(group)] for group in ("State", "Forcing")}
        groups["Today"] = [today[name] for name in self.fields("Today")]
        with np.errstate(all="ignore"):
            new, _ = self.module.step(*(self.groups[group](*groups[group]) for group in self.arguments))
        return dict(zip(self.fields("State"), new, strict=True))

    def digest(self) -> str:
        """Of all that decides results: the text of the equations, the declarations, the options there are, and the mathematics."""
        parts = [self.name, self.version, fingerprint(self.module.step), Path(vecmath.__file__).read_text(encoding="utf-8")]
        for name in ("derive", "start"):
            function: object = getattr(self.module, name, None)
            if isinstance(function, FunctionType):
                parts.append(fingerprint(function))
        parts += [repr(variable) for variable in self.variables.values()]
        parts += [f"{name} {choice.words} {self.groups['Options']._field_defaults[name]}" for name, choice in self.choices.items()]
        return sha256("\0".join(parts).encode()).hexdigest()


@cache
def _letters(function: Callable[..., object]) -> tuple[str, ...]:
    """The names of its arguments."""
    return tuple(inspect.signature(function).parameters)
