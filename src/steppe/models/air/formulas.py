"""Formulas of a mechanism file, such as `6.1*exp(-xz)/T`: read safely, and computed with the same bits on every machine.

A formula has numbers, names, + - * / **, a minus and the functions of `FUNCTIONS`; nothing else is evaluated. NumPy adds and multiplies, as
IEEE 754 has it; the functions are those of `steppe.kernels.vecmath`. These take no arrays, so a kernel has the loop.
"""

import ast
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from steppe.array_types import Floats
from steppe.errors import ModelError, nearest
from steppe.kernels import FieldKernel, field_kernel, tree_of
from steppe.kernels.vecmath import cos, exp, log, power, sin, sqrt

Values = Floats | np.float64


def parsed(formulas: Mapping[str, str]) -> dict[str, ast.AST]:
    """Formulas of T and tod; each may use the names of those before it.

    Raises
    ------
    ModelError
        One does not parse, or has what is not known here; the message begins with its name.
    """
    found: dict[str, ast.AST] = {}
    for name, text in formulas.items():
        try:
            found[name] = tree_of(text.strip(), mode="eval").body
            compute(found, {"T": 288.0, "tod": 0.0})
        except (SyntaxError, ValueError) as error:
            raise ModelError(f'"{name}": "{text}" is no formula: {getattr(error, "msg", error)}.') from None
        except ModelError as error:
            raise ModelError(f'"{name}": "{text}" {error}') from None
    return found


def compute(formulas: Mapping[str, ast.AST], values: Mapping[str, ArrayLike]) -> Floats:
    """The value of the last formula of `parsed`. values: of T and tod, numbers or arrays of one shape."""
    names: dict[str, Values] = {name: np.asarray(value, np.float64) for name, value in values.items()}
    with np.errstate(all="ignore"):
        for name, formula in formulas.items():
            names[name] = _value(formula, names)
    return np.asarray(names[name], np.float64)


def _value(node: ast.AST, names: Mapping[str, Values]) -> Values:
    """Of a tree; raises `ModelError` for what is not known."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return np.float64(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ModelError(f'has the name "{node.id}", which is not known here.{nearest(node.id, names)}')
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names)
    if isinstance(node, ast.BinOp) and (operation := OPERATIONS.get(type(node.op))):
        return operation(_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
        if node.func.id not in FUNCTIONS:
            raise ModelError(f'calls "{node.func.id}", which is not known here.{nearest(node.func.id, FUNCTIONS)}')
        return _over_arrays(FUNCTIONS[node.func.id], _value(node.args[0], names))
    raise ModelError(f'has "{ast.unparse(node)}", and numbers, names, + - * / ** and {", ".join(FUNCTIONS)} are expected.')


def _over_arrays(kernel: FieldKernel, *values: ArrayLike) -> Floats:
    arrays = [np.array(each, np.float64) for each in np.broadcast_arrays(*values)]
    found = np.empty(arrays[0].shape)
    kernel(found.size, *arrays, found)
    return found


def _kernel_of(function: Callable[[float], float]) -> FieldKernel:
    """The loop of a function, found = function(x), over arrays (n,)."""

    @field_kernel
    def apply(n: int, x: Floats, found: Floats) -> None:
        for i in range(n):
            found[i] = function(x[i])

    return apply


@field_kernel
def raise_to(n: int, x: Floats, y: Floats, found: Floats) -> None:
    """found = x**y, x >= 0; all (n,)."""
    for i in range(n):
        found[i] = power(x[i], y[i])


FUNCTIONS = {function.__name__: _kernel_of(function) for function in (sin, cos, exp, log, sqrt)}
OPERATIONS: Mapping[type, Callable[[Values, Values], Values]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: partial(_over_arrays, raise_to)
}  # fmt: skip
