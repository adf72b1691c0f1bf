"""Formulas of a mechanism file, such as `6.1*exp(-xz)/T`: read safely, and computed with the same bits on every machine.

A formula has numbers, names, + - * / **, a minus and the functions of `FUNCTIONS`; nothing else is evaluated. NumPy adds and multiplies, as
IEEE 754 has it; the functions are those of `steppe.kernels.vecmath`. These take no arrays, so a kernel has the loop.
"""

import ast
from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike

from steppe.array_types import Floats
from steppe.errors import ModelError, nearest
from steppe.kernels import field_kernel, tree_of
from steppe.kernels.vecmath import cos, exp, log, power, sin, sqrt

FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt")
POWER = len(FUNCTIONS)
Values = Floats | np.float64
OPERATIONS: Mapping[type, Callable[[Values, Values], Values]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}


def parsed(formulas: Mapping[str, str]) -> dict[str, ast.expr]:
    """The trees of formulas of T and tod; each may use the names of those before it.

    Raises
    ------
    ModelError
        One does not parse, or has what is not known here; the message begins with its name.
    """
    trees: dict[str, ast.expr] = {}
    for name, text in formulas.items():
        try:
            tree = tree_of(text.strip(), mode="eval").body
            _check(tree, text, ("T", "tod", *trees))
        except (SyntaxError, ValueError) as error:
            raise ModelError(f'"{name}": "{text}" is no formula: {getattr(error, "msg", error)}.') from None
        except ModelError as error:
            raise ModelError(f'"{name}": {error}') from None
        trees[name] = tree
    return trees


def compute(trees: Mapping[str, ast.expr], values: Mapping[str, ArrayLike]) -> Floats:
    """The value of the last tree of `parsed`. values: of T and tod, numbers or arrays of one shape."""
    names: dict[str, Values] = {name: np.asarray(value, np.float64) for name, value in values.items()}
    with np.errstate(all="ignore"):
        for name, tree in trees.items():
            names[name] = _value(tree, names)
    found: Floats = np.asarray(names[name], np.float64)
    return found


def _check(node: ast.AST, text: str, known: Collection[str]) -> None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return
    if isinstance(node, ast.Name):
        if node.id not in known:
            raise ModelError(f'"{text}" has the name "{node.id}", which is not known here.{nearest(node.id, known)}')
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (*OPERATIONS, ast.Pow)):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
        if node.func.id not in FUNCTIONS:
            raise ModelError(f'"{text}" calls "{node.func.id}", which is not known here.{nearest(node.func.id, FUNCTIONS)}')
        parts = node.args
    else:
        raise ModelError(f'"{text}" has "{ast.unparse(node)}", and numbers, names, + - * / ** and {", ".join(FUNCTIONS)} are expected.')
    for part in parts:
        _check(part, text, known)


def _value(node: ast.AST, names: Mapping[str, Values]) -> Values:
    """Of a tree that was checked."""
    if isinstance(node, ast.Constant):
        return np.float64(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, names)
    if isinstance(node, ast.Call):
        return _of_kernel(FUNCTIONS.index(node.func.id), _value(node.args[0], names), 0.0)  # type: ignore[attr-defined]
    left, right = (_value(part, names) for part in (node.left, node.right))  # type: ignore[attr-defined]
    operation = OPERATIONS.get(type(node.op))  # type: ignore[attr-defined]
    return operation(left, right) if operation else _of_kernel(POWER, left, right)


def _of_kernel(function: int, x: ArrayLike, y: ArrayLike) -> Floats:
    x, y = np.broadcast_arrays(x, y)
    found = np.empty(x.shape)
    apply(function, found.size, np.array(x, np.float64), np.array(y, np.float64), found)
    return found


@field_kernel
def apply(function: int, n: int, x: Floats, y: Floats, found: Floats) -> None:
    """found = function(x), its number in `FUNCTIONS`; or x**y, x >= 0. All (n,)."""
    for i in range(n):
        if function == 0:
            found[i] = sin(x[i])
        elif function == 1:
            found[i] = cos(x[i])
        elif function == 2:
            found[i] = exp(x[i])
        elif function == 3:
            found[i] = log(x[i])
        elif function == 4:
            found[i] = sqrt(x[i])
        else:
            found[i] = power(x[i], y[i])
