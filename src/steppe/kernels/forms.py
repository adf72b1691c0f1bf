"""Finds Python syntax that compiled code does not support, and reports the line and what to write instead."""

import ast
from collections.abc import Sequence

from steppe.errors import ModelError, place
from steppe.kernels.source import ADVICE
from steppe.kernels.text import Definition
from steppe.kernels.unset import check_values

DEFINE = "a step cannot define {}. Define a function at the top of the file, and call it"
OUTSIDE = "a step cannot use {}. It computes numbers from numbers"
REFUSED: dict[tuple[type[ast.AST], ...], str] = {
    (ast.Import, ast.ImportFrom): f"a step cannot import. Import at the top of the file; {ADVICE}",
    (ast.FunctionDef, ast.AsyncFunctionDef): DEFINE.format("a function"),
    (ast.Lambda,): DEFINE.format("a lambda"),
    (ast.ClassDef,): "a step cannot define a class. Define it at the top of the file",
    (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp): "a step cannot use a comprehension. Write each value, or a for loop",
    (ast.Dict, ast.Set): "a step cannot use a dict or a set. Give each value a name",
    (ast.While,): "a step cannot loop until something is reached. Write a for loop over a range",
    (ast.Try, ast.TryStar): OUTSIDE.format("try"),
    (ast.Assert,): OUTSIDE.format("assert"),
    (ast.With, ast.AsyncWith): OUTSIDE.format("with"),
    (ast.Global, ast.Nonlocal): "a step cannot change what is outside it. Return the value in State",
    (ast.Yield, ast.YieldFrom, ast.Await): "a step cannot use yield or await. Return (State(...), Diagnostics(...))",
    (ast.Delete,): "a step cannot use del. Remove this line",
}


def check_forms(found: Definition, nodes: Sequence[ast.AST], file: str) -> None:
    """Refuses a function that cannot be compiled, or that would compute another result. nodes: of its body.

    Raises
    ------
    ModelError
        The message names the file, the line and its text.
    """
    if isinstance(found, ast.AsyncFunctionDef):
        raise ModelError(f"{place(file, found.lineno)}: a step cannot be async. Write def.")
    for node in nodes:
        for kinds, problem in REFUSED.items():
            if isinstance(node, kinds):
                raise ModelError(f"{place(file, getattr(node, 'lineno', found.lineno))}: {problem}.")
        if any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in _compared(node)):
            text = "no number equals a text. Compare an option with its integer: a constant of the file, such as CN = RUNOFF.index('cn')"
            raise ModelError(f"{place(file, getattr(node, 'lineno', found.lineno))}: {text}.")
    check_values(found, nodes, file)
    returns = [node for node in nodes if isinstance(node, ast.Return)]
    empty = [node for node in returns if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)]
    if len(empty) < len(returns):
        if empty:
            raise ModelError(
                f"{place(file, empty[0].lineno)}: this returns nothing, and {found.name} returns a value elsewhere. Return one."
            )
        if not _returns(found.body):
            raise ModelError(f"{place(file, found.lineno)}: {found.name} has a path without a return. Add a return at its end.")


def _compared(node: ast.AST) -> Sequence[ast.expr]:
    """The values that a comparison, or a case of a match, compares."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    return [node.value] if isinstance(node, ast.MatchValue) else []


def _returns(body: Sequence[ast.stmt]) -> bool:
    """True if every path through some statements returns."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _returns(last.body) and _returns(last.orelse)
    if isinstance(last, ast.Match):
        whole = isinstance(last.cases[-1].pattern, ast.MatchAs) and not (last.cases[-1].pattern.pattern or last.cases[-1].guard)
        return whole and all(_returns(case.body) for case in last.cases)
    return isinstance(last, ast.Return | ast.Raise)
