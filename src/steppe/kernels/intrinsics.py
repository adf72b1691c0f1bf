"""The operations of `primitives.py` as LLVM instructions, for compiled code. Importing this imports Numba."""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, attr-defined, call-arg, operator, misc"

from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from steppe.kernels import primitives
from steppe.kernels.numba_internals import Context, Lowering, Signature, Typed, TypingContext
from steppe.kernels.primitives import Precision
from steppe.kernels.source import Function
from steppe.kernels.vecmath import DOUBLE, SINGLE, MathConstants, constants

Values = Sequence[ir.Value]
OTHER: dict[types.Type, types.Type] = {
    types.float32: types.int32,
    types.float64: types.int64,
    types.int32: types.float32,
    types.int64: types.float64,
}


def _instructions(write: Callable[[ir.IRBuilder, Values], ir.Value]) -> Lowering:
    """A lowering that needs the builder and the values alone."""

    def emit(_context: Context, builder: ir.IRBuilder, _signature: Signature, values: Values) -> ir.Value:
        return write(builder, values)

    return emit


@intrinsic
def _fma(_context: TypingContext, a: types.Type, b: types.Type, c: types.Type) -> Typed:
    emit = _instructions(lambda builder, values: builder.fma(*values))
    return (a(a, b, c), emit) if a == b == c and isinstance(a, types.Float) else None


@intrinsic
def _polynomial(_context: TypingContext, coefficients: types.UniTuple, x: types.Type) -> Typed:
    def horner(builder: ir.IRBuilder, values: Values) -> ir.Value:
        y = builder.extract_value(values[0], 0)
        for k in range(1, len(coefficients)):
            y = builder.fma(y, values[1], builder.extract_value(values[0], k))
        return y

    return (x(coefficients, x), _instructions(horner)) if coefficients.dtype == x else None


@intrinsic
def _where(_context: TypingContext, condition: types.Type, a: types.Type, b: types.Type) -> Typed:
    def select(builder: ir.IRBuilder, values: Values) -> ir.Value:
        chosen = values[0] if values[0].type.width == 1 else builder.trunc(values[0], ir.IntType(1))
        return builder.select(chosen, values[1], values[2])

    return (a(condition, a, b), _instructions(select)) if a == b and isinstance(condition, types.Boolean) else None


@intrinsic
def _cast_bits(_context: TypingContext, x: types.Type) -> Typed:
    def emit(context: Context, builder: ir.IRBuilder, _signature: Signature, values: Values) -> ir.Value:
        return builder.bitcast(values[0], context.get_value_type(OTHER[x]))

    return (OTHER[x](x), emit) if x in OTHER else None


@intrinsic
def _real(_context: TypingContext, i: types.Type) -> Typed:
    def emit(context: Context, builder: ir.IRBuilder, _signature: Signature, values: Values) -> ir.Value:
        return builder.sitofp(values[0], context.get_value_type(OTHER[i]))

    return (OTHER[i](i), emit) if isinstance(i, types.Integer) else None


@intrinsic
def _square_root(_context: TypingContext, x: types.Type) -> Typed:
    def root(builder: ir.IRBuilder, values: Values) -> ir.Value:
        function = builder.module.declare_intrinsic("llvm.sqrt", [values[0].type])
        return builder.call(function, values)

    return (x(x), _instructions(root)) if isinstance(x, types.Float) else None


def _of_whole_numbers(instruction: str) -> Function:
    """One integer instruction, without Numba's widening to 64 bits."""

    @intrinsic
    def operation(_context: TypingContext, i: types.Type, j: types.Type) -> Typed:
        emit = _instructions(lambda builder, values: getattr(builder, instruction)(*values))
        return (i(i, j), emit) if i == j and isinstance(i, types.Integer) else None

    return operation


def _chosen(comparison: str) -> Function:
    """The one of two signed whole numbers for which `comparison` with the other is true, in their own width."""

    @intrinsic
    def operation(_context: TypingContext, i: types.Type, j: types.Type) -> Typed:
        emit = _instructions(lambda builder, values: builder.select(builder.icmp_signed(comparison, *values), *values))
        return (i(i, j), emit) if i == j and isinstance(i, types.Integer) else None

    return operation


lesser, greater = _chosen("<"), _chosen(">")


@intrinsic
def pointer(_context: TypingContext, array: types.Type, index: types.Type) -> Typed:
    """A pointer to array[index]."""
    emit = _instructions(lambda builder, values: builder.gep(values[0], [values[1]], inbounds=True))
    return (array(array, types.int64), emit) if isinstance(array, types.CPointer) else None


@intrinsic
def float64_pointer(_context: TypingContext, address: types.Type) -> Typed:
    """A pointer to float64 from an address that is an int64."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(address), emit


def _at(builder: ir.IRBuilder, address: ir.Value, kind: ir.Type) -> ir.Value:
    return builder.inttoptr(address, kind.as_pointer())


def _as(builder: ir.IRBuilder, value: ir.Value, kind: ir.Type) -> ir.Value:
    """A number in an LLVM type: integers lose high bits or are extended with their sign, floats are rounded."""
    if isinstance(kind, ir.IntType):
        return value if value.type == kind else (builder.trunc if value.type.width > kind.width else builder.sext)(value, kind)
    return value if value.type == kind else builder.fptrunc(value, kind)


@intrinsic
def _peek(_context: TypingContext, address: types.Type, like: types.Type) -> Typed:
    def emit(context: Context, builder: ir.IRBuilder, _signature: Signature, values: Values) -> ir.Value:
        return builder.load(_at(builder, values[0], context.get_value_type(like)))

    return like(address, like), emit


@intrinsic
def _poke(_context: TypingContext, address: types.Type, value: types.Type, like: types.Type) -> Typed:
    def emit(context: Context, builder: ir.IRBuilder, _signature: Signature, values: Values) -> ir.Value:
        kind = context.get_value_type(like)
        builder.store(_as(builder, values[1], kind), _at(builder, values[0], kind))
        return context.get_dummy_value()

    return types.none(address, value, like), emit


@intrinsic
def _swap(_context: TypingContext, address: types.Type, old: types.Type, new: types.Type, like: types.Type) -> Typed:
    def emit(context: Context, builder: ir.IRBuilder, _signature: Signature, values: Values) -> ir.Value:
        kind, pattern = context.get_value_type(like), ir.IntType(like.bitwidth)
        before, after = (builder.bitcast(_as(builder, each, kind), pattern) for each in values[1:3])
        found = builder.cmpxchg(_at(builder, values[0], pattern), before, after, "seq_cst", "monotonic")
        return builder.bitcast(builder.extract_value(found, 0), kind)

    return like(address, old, new, like), emit


@intrinsic
def _prefetch(_context: TypingContext, address: types.Type) -> Typed:
    def emit(context: Context, builder: ir.IRBuilder, _signature: Signature, values: Values) -> ir.Value:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number]))
        builder.call(function, [_at(builder, values[0], ir.IntType(8)), number(1), number(3), number(1)])  # to write, in all caches, data
        return context.get_dummy_value()

    return types.none(address), emit


@njit(forceinline=True)
def _single(x: float) -> MathConstants:
    return SINGLE


@njit(forceinline=True)
def _double(x: float) -> MathConstants:
    return DOUBLE


INTRINSICS: dict[Function, object] = {
    primitives.fma: _fma,
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
CONSTANTS: dict[Function, dict[Precision, object]] = {constants: {np.float32: _single, np.float64: _double}}
