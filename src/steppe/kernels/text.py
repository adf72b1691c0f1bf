"""The syntax tree of a function that has been imported."""

import ast
import linecache
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType

from steppe.kernels.source import GIVEN, in_memory, named, tree_of

Definition = ast.FunctionDef | ast.AsyncFunctionDef
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def definition(function: FunctionType) -> Definition | None:
    """The `def` of a function; None if its text is missing or has changed since the import."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    for found, compiled in _definitions("".join(lines), code.co_filename):
        if _first_line(found) == code.co_firstlineno and found.name == code.co_name and in_memory(compiled) == in_memory(code):
            return found
    return None


@cache
def own_nodes(found: Definition) -> tuple[ast.AST, ...]:
    """All nodes of the body in the order of the text, without those of functions, classes and comprehensions inside it."""

    def below(node: ast.AST) -> Iterator[ast.AST]:
        yield node
        if not isinstance(node, INNER):
            for child in ast.iter_child_nodes(node):
                yield from below(child)

    return tuple(node for statement in found.body for node in below(statement))


def written(function: FunctionType, within: tuple[object, ...] = ()) -> set[str]:
    """The arguments into which a function or one that it calls stores elements, by their text: "out", or "group.out".

    within: functions that call it.
    """
    found = definition(function)
    if found is None or function in within:
        return set()
    helpers = {name: value for name, value, _ in named(function) if isinstance(value, FunctionType) and value not in GIVEN}
    stored = {ast.unparse(node.value) for node in own_nodes(found) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)}
    for call in own_nodes(found):
        helper = helpers.get(call.func.id) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else None
        if isinstance(call, ast.Call) and helper:
            given = dict(zip(helper.__code__.co_varnames, call.args, strict=False)) | {each.arg or "": each.value for each in call.keywords}
            for name in written(helper, (*within, function)):
                argument, dot, part = name.partition(".")
                if argument in given:
                    stored.add(ast.unparse(given[argument]) + dot + part)
    return stored


@cache
def _definitions(text: str, file: str) -> tuple[tuple[Definition, CodeType], ...]:
    """Each function of a file, as text and compiled; empty for a file that is not Python."""
    try:
        tree = tree_of(text, file)
        codes = {(code.co_name, code.co_firstlineno): code for code in _codes(compile(tree, file, "exec", dont_inherit=True))}
    except (SyntaxError, ValueError):
        return ()
    every = (node for node in ast.walk(tree) if isinstance(node, Definition))
    pairs = ((node, codes.get((node.name, _first_line(node)))) for node in every)
    return tuple((node, code) for node, code in pairs if code is not None)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _first_line(found: Definition) -> int:
    return min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
