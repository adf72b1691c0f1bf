"""Finds mistakes in the functions of a model on the syntax tree, before they are compiled or run.

A name has a *kind* if it holds a group of numbers, such as State: an argument of that group, the result of `State(...)`, or the result of a
helper that returns one. The fields of a kind are known, so a misspelt field is found. Other values are not checked.
"""

import ast
import inspect
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import NamedTuple, Protocol, TypeAlias, TypeGuard

from steppe.errors import ModelError, nearest, place
from steppe.kernels.forms import check_forms
from steppe.kernels.source import GIVEN, Function, check_names
from steppe.kernels.text import definition, own_nodes


class NumberGroup(Protocol):
    """The class of a group of numbers: a NamedTuple, such as State."""

    __name__: str
    _fields: tuple[str, ...]
    _field_defaults: Mapping[str, object]


Kind: TypeAlias = "NumberGroup | tuple[Kind, ...] | None"  # None where nothing is known


class StepRules(NamedTuple):
    """letters: the name of each group in a step, as in {"s": State}. compiled: refuse what only Python can do, such as imports."""

    letters: Mapping[str, NumberGroup]
    compiled: bool


def check_text(function: Function, kinds: Sequence[Kind], rules: StepRules, returned: Kind = None) -> None:
    """Checks a function and the helpers of its author that it calls.

    kinds: of its arguments. returned: what it must return; None: anything.

    Raises
    ------
    ModelError
        A group lacks a field, a group or a helper is called wrongly, a name is unknown, code cannot be compiled, or the returned kind is
        wrong. The message names the file, the line, its text, and the nearest name.
    """
    if not isinstance(function, FunctionType):
        raise ModelError(f"{function!r} is not a function. Write it with def.")
    _Reading(function, tuple(kinds), rules, {}).check(returned)
    if rules.compiled:
        check_names(function)


def is_group(value: object) -> TypeGuard[NumberGroup]:
    """True for a NamedTuple whose constructor takes its fields."""
    if not (isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")):
        return False
    home = next(each for each in value.__mro__ if "__new__" in vars(each))
    return "_fields" in vars(home)


class _Reading:
    """One function, with arguments of some kinds.

    known: (function, kinds of its arguments) -> kind that it returns. within: the functions that call it.
    """

    def __init__(
        self,
        function: FunctionType,
        kinds: tuple[Kind, ...],
        rules: StepRules,
        known: dict[tuple[FunctionType, tuple[Kind, ...]], Kind],
        within: tuple[FunctionType, ...] = (),
    ) -> None:
        self.function, self.rules, self.known, self.within = function, rules, known, (*within, function)
        self.found = definition(function)
        closed = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.outside = function.__globals__ | {name: cell.cell_contents for name, cell in closed}
        self.locals: dict[str, list[tuple[ast.expr | None, tuple[int, ...]]]] = {}
        names = list(inspect.signature(function).parameters)
        self.arguments = dict(zip(names, (*kinds, *([None] * len(names))), strict=False))
        self.kinds: dict[str, Kind] = {}
        self.nodes = own_nodes(self.found) if self.found is not None else ()
        for node in self.nodes:
            self._bind(node)

    # --- what is wrong --------------------------------------------------------------------------------------------------------------
    def check(self, returned: Kind) -> None:
        """Raises `ModelError` for the first mistake."""
        if self.rules.compiled and self.found is not None:
            check_forms(self.found, self.nodes, self.function.__code__.co_filename)
        returns = []
        for node in self.nodes:
            if isinstance(node, ast.Attribute):
                self._check_field(node)
            elif isinstance(node, ast.Call):
                self._check_call(node)
            elif isinstance(node, ast.Return):
                returns.append(node)
        if returned is not None and self.found is not None:
            self._check_returned(self.found, returns, returned)

    def returned(self) -> Kind:
        """The common kind of all returns."""
        return _one(self._kind(node.value) for node in self.nodes if isinstance(node, ast.Return))

    def _check_field(self, node: ast.Attribute) -> None:
        kind = self._kind(node.value)
        if self.rules.compiled and is_group(group := self._outer(node.value)):
            self._refuse(node, f"{ast.unparse(node)} is not a number. Write it with the argument of the step that is a {group.__name__}.")
        if not is_group(kind):
            return
        fields, name, text = kind._fields, node.attr, ast.unparse(node)
        if not isinstance(node.ctx, ast.Load):
            self._refuse(node, f"{text} cannot be changed. Give the value another name, and return {kind.__name__}(...).")
        if name in fields or (not self.rules.compiled and hasattr(kind, name)):
            return
        homes = [letter for letter, group in self.rules.letters.items() if letter in self.arguments and name in group._fields]
        hint = f" Write {homes[0]}.{name}." if homes else nearest(name, fields)
        if hasattr(kind, name):
            hint = " A step can read the fields of a group only."
        self._refuse(node, f'{text}: {kind.__name__} has no "{name}".{hint}')

    def _check_call(self, node: ast.Call) -> None:
        called = self._outer(node.func)
        if is_group(called):
            self._check_group(node, called)
        elif self._is_helper(called):
            starred = any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords)
            try:
                if not starred:
                    inspect.signature(called).bind(*node.args, **{str(each.arg): None for each in node.keywords})
            except TypeError as error:
                self._refuse(node, f"{ast.unparse(node.func)}(...): {error}.")
            self._of_helper(node, called)

    def _check_group(self, node: ast.Call, group: NumberGroup) -> None:
        name, fields = group.__name__, group._fields
        keys = [each.arg for each in node.keywords if each.arg is not None]
        for each in node.keywords:
            if each.arg is not None and each.arg not in fields:
                self._refuse(each.value, f'{name}({each.arg}=...): {name} has no "{each.arg}".{nearest(each.arg, fields)}')
        if any(isinstance(each, ast.Starred) for each in node.args) or len(keys) < len(node.keywords):
            return
        if len(node.args) > len(fields):
            self._refuse(node, f"{name}(...) takes {len(fields)} values ({', '.join(fields)}), {len(node.args)} are given.")
        given = [*fields[: len(node.args)], *keys]
        twice = sorted({key for key in given if given.count(key) > 1})
        defaults = () if self.rules.compiled else group._field_defaults  # compiled code has none
        missing = [field for field in fields if field not in given and field not in defaults]
        if twice:
            self._refuse(node, f'{name}(...) is given "{twice[0]}" twice. Remove one.')
        if missing:
            self._refuse(node, f"{name}(...) has no value for {', '.join(missing)}. Give one to each field.")

    def _check_returned(self, found: ast.stmt, returns: Sequence[ast.Return], wanted: Kind) -> None:
        if not any(node.value is not None for node in returns):
            self._refuse(found, f"{self.function.__name__} returns nothing. Return {_text(wanted)}.")
        for node in returns:
            kind = self._kind(node.value)
            if not _may_be(kind, wanted):
                self._refuse(node, f"{self.function.__name__} returns {_text(kind)}. Return {_text(wanted)}.")

    def _refuse(self, node: ast.stmt | ast.expr, problem: str) -> None:
        raise ModelError(f"{place(self.function.__code__.co_filename, node.lineno)}: {problem}")

    # --- of what kind things are ----------------------------------------------------------------------------------------------------
    def _bind(self, node: ast.AST) -> None:
        """Notes the names that a node gives values, and the expressions that these come from where they are plain."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._take(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            self._take(node.target, node.value)
        elif isinstance(node, ast.AugAssign | ast.For):
            self._take(node.target, None)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._take(node.optional_vars, None)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                self.locals.setdefault((alias.asname or alias.name).partition(".")[0], []).append((None, ()))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.FunctionDef | ast.ClassDef) and node.name:
            self.locals.setdefault(node.name, []).append((None, ()))

    def _take(self, target: ast.expr, value: ast.expr | None, at: tuple[int, ...] = ()) -> None:
        if isinstance(target, ast.Name):
            self.locals.setdefault(target.id, []).append((value, at))
        elif isinstance(target, ast.Tuple | ast.List):
            starred = any(isinstance(each, ast.Starred) for each in target.elts)
            for number, each in enumerate(target.elts):
                self._take(each, None if starred else value, (*at, number))
        elif isinstance(target, ast.Starred):
            self._take(target.value, None)

    def _kind(self, node: ast.expr | None) -> Kind:
        if isinstance(node, ast.Name):
            return self._of_name(node.id)
        if isinstance(node, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in node.elts):
            return tuple(self._kind(each) for each in node.elts)
        if isinstance(node, ast.IfExp):
            return _one([self._kind(node.body), self._kind(node.orelse)])
        if isinstance(node, ast.NamedExpr):
            return self._kind(node.value)
        if isinstance(node, ast.Call):
            called = self._outer(node.func)
            return called if is_group(called) else self._of_helper(node, called) if self._is_helper(called) else None
        return None

    def _of_name(self, name: str) -> Kind:
        if name not in self.kinds:
            self.kinds[name] = None  # while it is found: a name that follows from itself is of no kind
            if name in self.locals or name in self.arguments:
                given = [self.arguments[name]] if name in self.arguments else []
                self.kinds[name] = _one([*given, *(_part(self._kind(value), at) for value, at in self.locals.get(name, []))])
            elif is_group(group := type(self.outside.get(name))):
                self.kinds[name] = group
        return self.kinds[name]

    def _outer(self, node: ast.expr) -> object:
        """The value of a name from outside the function."""
        local = isinstance(node, ast.Name) and (node.id in self.locals or node.id in self.arguments)
        return self.outside.get(node.id) if isinstance(node, ast.Name) and not local else None

    def _is_helper(self, value: object) -> TypeGuard[FunctionType]:
        """True for a function of the author: any that is compiled with a step, otherwise one of the same package."""
        if not isinstance(value, FunctionType) or value in GIVEN:
            return False
        return self.rules.compiled or value.__module__.partition(".")[0] == self.function.__module__.partition(".")[0]

    def _of_helper(self, node: ast.Call, helper: FunctionType) -> Kind:
        """Checks a helper with arguments of these kinds; returns the kind of its result."""
        given = {each.arg: self._kind(each.value) for each in node.keywords}
        if not any(isinstance(each, ast.Starred) for each in node.args):
            given |= dict(zip(inspect.signature(helper).parameters, map(self._kind, node.args), strict=False))
        kinds = tuple(given.get(name) for name in inspect.signature(helper).parameters)
        if helper in self.within:
            if self.rules.compiled:
                self._refuse(node, f"{helper.__name__} calls itself, and a step cannot do that. Write a loop.")
            return None
        if (helper, kinds) not in self.known:
            reading = _Reading(helper, kinds, self.rules, self.known, self.within)
            reading.check(None)
            self.known[helper, kinds] = reading.returned()
        return self.known[helper, kinds]


def _one(kinds: Iterable[Kind]) -> Kind:
    """The common kind; None if kinds differ."""
    every = list(kinds)
    return every[0] if every and all(kind == every[0] for kind in every) else None


def _may_be(kind: Kind, wanted: Kind) -> bool:
    """True if a kind, as far as it is known, has the expected fields in the same order."""
    if isinstance(kind, tuple) and isinstance(wanted, tuple):
        return len(kind) == len(wanted) and all(map(_may_be, kind, wanted))
    return kind is None or (is_group(kind) and is_group(wanted) and kind._fields == wanted._fields)


def _part(kind: Kind, at: tuple[int, ...]) -> Kind:
    for number in at:
        kind = kind[number] if isinstance(kind, tuple) and number < len(kind) else None
    return kind


def _text(kind: Kind) -> str:
    """A kind as text of the model."""
    return f"({', '.join(map(_text, kind))})" if isinstance(kind, tuple) else f"{kind.__name__}(...)" if kind else "a value"
