"""The syntax tree of a function that has been imported."""

import ast
import linecache
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType

from steppe.kernels.source import in_memory

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


@cache
def _definitions(text: str, file: str) -> tuple[tuple[Definition, CodeType], ...]:
    """Each function of a file, as text and compiled; empty for a file that is not Python."""
    try:
        tree = ast.parse(text, file)
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
