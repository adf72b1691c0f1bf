"""The operations of `primitives.py` as LLVM instructions, for compiled code. Importing this imports Numba."""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, attr-defined, call-arg, operator, misc"

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from steppe.kernels import primitives
from steppe.kernels.vecmath import DOUBLE, SINGLE, constants

OTHER = {types.float32: types.int32, types.float64: types.int64, types.int32: types.float32, types.int64: types.float64}


@intrinsic
def _fma(context: Any, a: Any, b: Any, c: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return (a(a, b, c), emit) if a == b == c and isinstance(a, types.Float) else None


@intrinsic
def _polynomial(context: Any, coefficients: Any, x: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        y = builder.extract_value(args[0], 0)
        for k in range(1, len(coefficients)):
            y = builder.fma(y, args[1], builder.extract_value(args[0], k))
        return y

    return (x(coefficients, x), emit) if coefficients.dtype == x else None


@intrinsic
def _where(context: Any, condition: Any, a: Any, b: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        chosen = args[0] if args[0].type.width == 1 else builder.trunc(args[0], ir.IntType(1))
        return builder.select(chosen, args[1], args[2])

    return (a(condition, a, b), emit) if a == b and isinstance(condition, types.Boolean) else None


@intrinsic
def _cast_bits(context: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(OTHER[x]))

    return (OTHER[x](x), emit) if x in OTHER else None


@intrinsic
def _real(context: Any, i: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.sitofp(args[0], context.get_value_type(OTHER[i]))

    return (OTHER[i](i), emit) if isinstance(i, types.Integer) else None


@intrinsic
def _square_root(context: Any, x: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        function = builder.module.declare_intrinsic("llvm.sqrt", [args[0].type])
        return builder.call(function, args)

    return (x(x), emit) if isinstance(x, types.Float) else None


def _of_whole_numbers(instruction: str) -> Callable[..., Any]:
    """One integer instruction, without Numba's widening to 64 bits."""

    @intrinsic
    def operation(context: Any, i: Any, j: Any) -> Any:
        def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args)

        return (i(i, j), emit) if i == j and isinstance(i, types.Integer) else None

    return operation


def _chosen(comparison: str) -> Callable[..., Any]:
    """The one of two signed whole numbers for which `comparison` with the other is true, in their own width."""

    @intrinsic
    def operation(context: Any, i: Any, j: Any) -> Any:
        def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return builder.select(builder.icmp_signed(comparison, *args), *args)

        return (i(i, j), emit) if i == j and isinstance(i, types.Integer) else None

    return operation


lesser, greater = _chosen("<"), _chosen(">")


@intrinsic
def pointer(context: Any, array: Any, index: Any) -> Any:
    """A pointer to array[index]."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]], inbounds=True)

    return (array(array, types.int64), emit) if isinstance(array, types.CPointer) else None


@intrinsic
def float64_pointer(context: Any, address: Any) -> Any:
    """A pointer to float64 from an address that is an int64."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(address), emit


def _at(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _as(builder: Any, value: Any, kind: Any) -> Any:
    """A number in an LLVM type: integers lose high bits or are extended with their sign, floats are rounded."""
    if isinstance(kind, ir.IntType):
        return value if value.type == kind else (builder.trunc if value.type.width > kind.width else builder.sext)(value, kind)
    return value if value.type == kind else builder.fptrunc(value, kind)


@intrinsic
def _peek(context: Any, address: Any, like: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.load(_at(builder, args[0], context.get_value_type(like)))

    return like(address, like), emit


@intrinsic
def _poke(context: Any, address: Any, value: Any, like: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = context.get_value_type(like)
        builder.store(_as(builder, args[1], kind), _at(builder, args[0], kind))
        return context.get_dummy_value()

    return types.none(address, value, like), emit


@intrinsic
def _swap(context: Any, address: Any, old: Any, new: Any, like: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind, pattern = context.get_value_type(like), ir.IntType(like.bitwidth)
        before, after = (builder.bitcast(_as(builder, each, kind), pattern) for each in args[1:3])
        found = builder.cmpxchg(_at(builder, args[0], pattern), before, after, "seq_cst", "monotonic")
        return builder.bitcast(builder.extract_value(found, 0), kind)

    return like(address, old, new, like), emit


@intrinsic
def _prefetch(context: Any, address: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number]))
        builder.call(function, [_at(builder, args[0], ir.IntType(8)), number(1), number(3), number(1)])  # to write, in all caches, data
        return context.get_dummy_value()

    return types.none(address), emit


@njit(forceinline=True)
def _single(x: Any) -> Any:
    return SINGLE


@njit(forceinline=True)
def _double(x: Any) -> Any:
    return DOUBLE


INTRINSICS: dict[Any, Any] = {
    primitives.fma: _fma,
    primitives.float64s: float64_pointer,
    primitives.polynomial: _polynomial,
    primitives.where: _where,
    primitives.bits: _cast_bits,
    primitives.number: _cast_bits,
    primitives.plus: _of_whole_numbers("add"),
    primitives.minus: _of_whole_numbers("sub"),
    primitives.left: _of_whole_numbers("shl"),
    primitives.right: _of_whole_numbers("ashr"),
    primitives.either: _of_whole_numbers("xor"),
    primitives.real: _real,
    primitives.square_root: _square_root,
    primitives.peek: _peek,
    primitives.poke: _poke,
    primitives.swap: _swap,
    primitives.prefetch: _prefetch,
}
CONSTANTS = {constants: {np.float32: _single, np.float64: _double}}
