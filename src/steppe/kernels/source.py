"""The dependencies of a function: the functions and values that it names, and their text. It needs no compiler."""

import ast
import builtins
import dis
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from enum import EnumMeta
from pathlib import Path
from threading import Lock
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from steppe.errors import ModelError, nearest, place
from steppe.kernels import primitives
from steppe.kernels.vecmath import FORMULAS, constants

Function = Callable[..., object]  # of numbers, as its author wrote it or as a compiler made it
PYTHONS_OWN: set[object] = {abs, min, max, bool, range, len, zip, enumerate, tuple}  # functions of Python that compiled code has as well
CONSTANTS = (int, float, complex, str, bytes, tuple, list, set, frozenset, dict, MappingProxyType, np.generic, np.ndarray)
ADVICE = "exp, log, power, tanh, sin, cos, arctan2, sqrt are in steppe.kernels.vecmath"
_PARSING = Lock()
GIVEN: set[object] = {*FORMULAS, constants, *(f for f in vars(primitives).values() if isinstance(f, FunctionType))}


def named(function: Function) -> Iterator[tuple[str, object, str]]:
    """The objects outside itself that a function uses, each once: name, value, place.

    Raises
    ------
    ModelError
        A name does not exist.
    """
    code = function.__code__
    closed = {name: cell.cell_contents for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)}
    known = {**vars(builtins), **function.__globals__, **closed}
    for name, line in _read(code).outside:
        where = place(code.co_filename, line)
        if name not in known:
            others = {*code.co_varnames, *closed, "abs", "min", "max", *function.__globals__}
            raise ModelError(f'{where}: there is no "{name}".{nearest(name, (each for each in others if not each.startswith("__")))}')
        yield name, known[name], where


class _Read(NamedTuple):
    """Of code with the lambdas, comprehensions and functions inside it."""

    outside: tuple[tuple[str, int], ...]  # names that code takes from outside itself, each with the first line where it does
    attributes: frozenset[str]


@functools.cache
def _read(code: CodeType) -> _Read:
    outside: dict[str, int] = {}
    attributes, line = set(), code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = (instruction.positions and instruction.positions.lineno) or line
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF") and instruction.argval not in code.co_cellvars:
            outside.setdefault(instruction.argval, line)
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(instruction.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            for name, line in _read(inner).outside:
                if name not in inner.co_freevars or name in code.co_freevars:  # else it is a local of this code
                    outside.setdefault(name, line)
            attributes |= _read(inner).attributes
    return _Read(tuple(outside.items()), frozenset(attributes))


def functions(function: Function) -> list[Function]:
    """A function and all functions of its author that it reaches, in the order in which they are named."""
    found: list[Function] = []

    def visit(f: Function) -> None:
        found.append(f)
        for _, named_value, _ in named(f):
            for value in _within(named_value):
                if isinstance(value, FunctionType) and value not in found and value not in GIVEN:
                    visit(value)

    visit(function)
    return found


def _within(value: object) -> Iterator[object]:
    """A value; of a list, tuple, set or dict its elements."""
    if isinstance(value, dict | MappingProxyType):
        value = [*value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _within(each)
    else:
        yield value


def check_names(function: Function) -> None:
    """Refuses a function that a kernel cannot contain.

    Raises
    ------
    ModelError
        The function or one that it reaches names a module (`np.exp`) or a library's function.
    """
    for f in functions(function):
        for name, value, where in named(f):
            if isinstance(value, ModuleType):
                raise ModelError(f'{where}: a step cannot use the module "{name}". Import the function or the constant itself; {ADVICE}.')
            if not isinstance(value, FunctionType) and callable(value) and not isinstance(value, type) and value not in PYTHONS_OWN:
                raise ModelError(f'{where}: "{name}" cannot be compiled into a fast loop. Only plain functions can; {ADVICE}.')


def attributes(function: Function) -> set[str]:
    """The names of all attributes that a function and those it reaches read; other fields are unused."""
    return {name for f in functions(function) for name in _read(f.__code__).attributes}


def in_memory(function: Function | CodeType) -> str:
    """The code of a function in memory, with the default values of its arguments; its source file may have changed since the import."""
    code = function if isinstance(function, CodeType) else function.__code__
    constants = [
        in_memory(c) if isinstance(c, CodeType) else repr(sorted(c, key=repr) if isinstance(c, frozenset) else c) for c in code.co_consts
    ]
    defaults = "" if isinstance(function, CodeType) else " ".join(map(_as_text, _defaults(function)))
    text = f"{code.co_name} {code.co_argcount} {code.co_varnames} {code.co_names} {code.co_freevars} {code.co_code.hex()} {constants}"
    return f"{text} {defaults}" if defaults else text


def _defaults(function: Function) -> list[object]:
    """The default values of its arguments."""
    return [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def tree_of(text: str | bytes, file: str = "<unknown>", mode: str = "exec") -> Any:
    """The syntax of a text, read by one thread at a time: CPython 3.11 counts the depth of the trees of all threads together."""
    with _PARSING:
        return ast.parse(text, file, mode)


def _has_named_default(function: Function) -> bool:
    """True if its text lacks a default value, which it takes from a name."""
    if not _defaults(function):
        return False
    try:
        tree = tree_of(textwrap.dedent(inspect.getsource(function)))
    except SyntaxError:  # a lambda within an expression
        return True
    arguments = next(node for node in ast.walk(tree) if isinstance(node, ast.arguments))
    given = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
    return any(isinstance(node, ast.Name) for default in given for node in ast.walk(default))


def _as_text(value: object) -> str:
    """A value as text that is the same in every process, and that has all elements of an array."""
    if isinstance(value, np.ndarray):
        return f"array({value.tolist()}, {value.dtype})"
    if isinstance(value, FunctionType):
        return value.__qualname__
    if isinstance(value, dict | MappingProxyType):
        return f"{{{', '.join(f'{_as_text(key)}: {_as_text(each)}' for key, each in value.items())}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_as_text, value)))}}}"
    if isinstance(value, list | tuple):
        elements = [_as_text(each) for each in value]
        return repr(value) if elements == [*map(repr, value)] else f"{type(value).__name__}({', '.join(elements)})"
    has_address = type(value).__repr__ is object.__repr__ or isinstance(value, functools.partial)
    return type(value).__qualname__ if has_address else repr(value)


def with_imports(file: Path | str) -> list[Path]:
    """A file of Python, and the files beside it, or in folders beside it, that it and they import."""
    found, folder = [Path(file)], Path(file).parent
    for path in found:
        try:
            tree = tree_of(path.read_bytes())
        except SyntaxError:  # a file of that name that is not what is imported
            continue
        for name, level in (each for node in ast.walk(tree) for each in _imported(node)):
            if level or folder.name not in ("site-packages", "dist-packages"):  # there lie other authors' packages
                parts, begin = name.split("."), path.parents[level - 1] if level else folder
                places = [begin.joinpath(*parts[: n + 1]) for n in range(len(parts))]
                files = [each for place in places for each in (place.with_suffix(".py"), place / "__init__.py")]
                found += [each for each in files if each.is_file() and each not in found]
    return found


def _imported(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that an import statement may load, and from how many folders up, 0 for names without dots before them."""
    if isinstance(node, ast.Import):
        yield from ((each.name, 0) for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((".".join(filter(None, (node.module, each.name))), node.level) for each in node.names)


def _says_all(value: object, file: str) -> bool:
    """True if the text of a value in a fingerprint holds all that it is. file: of the function that names it."""
    if value is None or isinstance(value, (FunctionType, EnumMeta, *CONSTANTS)) or hasattr(value, "_fields"):
        return True
    if not isinstance(value, ModuleType | type):
        return type(value).__module__ in ("builtins", "numpy") and not isinstance(value, np.vectorize)
    home = value if isinstance(value, ModuleType) else sys.modules.get(value.__module__)
    places = [Path(each) for each in (getattr(home, "__file__", None), *getattr(home, "__path__", ())) if each]
    near = [place for place in places if place.is_relative_to(Path(file).parent)]
    return not near or not any(each.is_relative_to(place) for each in with_imports(file) for place in near)


def fingerprint(function: Function, of: Callable[[Function], str] = inspect.getsource) -> str:
    """Everything that a kernel depends on: the text, or the result of `of`, of a function and all functions it names, and constants.

    A function may name what has no such text, as a module of its author, a class with methods or a partial function. Then the text of its
    file, and of those beside it that this imports, stands for it.
    """
    parts: list[str] = []
    files: dict[Path, None] = {}
    for f in functions(function):
        parts.append(of(f))
        if of is inspect.getsource and _has_named_default(f):
            parts.append(" ".join(map(_as_text, _defaults(f))))
        for name, value, _ in named(f):
            if isinstance(value, CONSTANTS):
                parts.append(f"{name} = {_as_text(value)}")
            elif isinstance(value, EnumMeta):
                parts.append(f"{name} = {_as_text(dict(value.__members__))}")
            elif isinstance(value, type) and value.__module__ != "builtins":
                parts.append(f"{name} = {value.__qualname__}{getattr(value, '_fields', '')}")
            elif isinstance(value, FunctionType) and value in GIVEN and value.__name__ != name:  # its text would say nothing of it
                parts.append(f"{name} = {value.__name__}")
            file = f.__code__.co_filename
            if of is inspect.getsource and not all(_says_all(each, file) for each in _within(value)):
                files |= dict.fromkeys(with_imports(file))
    return "\n".join([*parts, *(file.read_text(encoding="utf-8") for file in files)])
