"""Multiplications with additions on the longest vectors, and functions of `kernels.vecmath`, compiled like the kernels of models.

Importing this imports Numba.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, arg-type"

import ctypes
from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from steppe.array_types import Array
from steppe.kernels import vecmath
from steppe.kernels.cache import MachineFunction, vector_bytes
from steppe.kernels.compiling import compiled, inline, machine_code
from steppe.kernels.numba_internals import Context, Signature, Typed, TypingContext
from steppe.kernels.primitives import Precision

NUMBERS = 1 << 14  # of a call: they fit into the cache of a core
VECTORS = 12  # independent vectors: every processor has registers for so many
DEPTH = 32  # operations on a vector between load and store
FACTOR, ADDEND = 0.999, 0.001  # their fixed point is 1: no number grows or vanishes
FUNCTIONS = ("exp", "log", "power", "tanh", "sin")


@intrinsic
def _multiply_add(_context: TypingContext, address: types.Type, a: types.Type, b: types.Type) -> Typed:
    """v = a v + b, `DEPTH` times, for `VECTORS` independent vectors at an address."""
    if not (isinstance(address, types.Integer) and isinstance(a, types.Float)):
        return None

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, values: Sequence[ir.Value]) -> ir.Value:
        number = ir.DoubleType() if signature.args[1] == types.float64 else ir.FloatType()
        lanes = vector_bytes() // (signature.args[1].bitwidth // 8)
        kind = ir.VectorType(number, lanes)
        one = ("contract",)  # the compiler may fuse both into one instruction
        factor, addend = (_spread(builder, value, kind) for value in values[1:])
        places = builder.inttoptr(values[0], kind.as_pointer())
        each = [builder.gep(places, [ir.Constant(ir.IntType(64), i)]) for i in range(VECTORS)]
        align = signature.args[1].bitwidth // 8
        held = [builder.load(place, align=align) for place in each]
        for _ in range(DEPTH):
            held = [builder.fadd(builder.fmul(v, factor, flags=one), addend, flags=one) for v in held]
        for place, v in zip(each, held, strict=True):
            builder.store(v, place, align=align)
        return context.get_dummy_value()

    return types.void(address, a, b), emit


def _spread(builder: ir.IRBuilder, value: ir.Value, kind: ir.VectorType) -> ir.Value:
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count))


@njit(cache=True, nogil=True)
def multiply_add(x: Array, a: float | np.floating, b: float | np.floating, sweeps: int) -> None:
    """x (n,) = a x + b, `DEPTH` times a sweep. x: as long as `VECTORS` vectors."""
    for _ in range(sweeps):
        _multiply_add(x.ctypes.data, a, b)


def multiply_add_of(real: Precision) -> tuple[Callable[[int], None], Array]:
    """A function that does v = FACTOR v + ADDEND `DEPTH` times for each sweep; and its numbers v."""
    x = np.full(VECTORS * vector_bytes() // np.dtype(real).itemsize, 0.5, real)
    return lambda sweeps: multiply_add(x, real(FACTOR), real(ADDEND), sweeps), x


def loop_of(name: str, real: Precision) -> Callable[[int], None]:
    """A function that computes a named function of `NUMBERS` numbers from 0.5 to 2 in each sweep."""
    function = compiled(vecmath.FORMULAS[getattr(vecmath, name)], real)
    call = function if name == "power" else inline(lambda x, y: function(x))

    def loop(x: Array, y: Array, result: Array, n: int, sweeps: int) -> None:
        for _ in range(sweeps):
            for i in range(n):
                result[i] = call(x[i], y[i])

    pointer = types.CPointer(types.float32 if real is np.float32 else types.float64)
    code = machine_code(loop, (pointer, pointer, pointer, types.int64, types.int64))
    linked = MachineFunction(code.symbol, code.object_file, [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2)
    x, y = np.random.default_rng(1).uniform(0.5, 2.0, (2, NUMBERS)).astype(real)
    result = np.empty_like(x)

    def run(sweeps: int) -> None:
        linked(x.ctypes.data, y.ctypes.data, result.ctypes.data, NUMBERS, sweeps)

    run(1)
    expected = getattr(np, name)(*((x.astype(float), y.astype(float)) if name == "power" else (x.astype(float),)))
    if not np.allclose(result, expected, rtol=1e-5):
        raise AssertionError(f"The loop of {name} does not compute it.")
    return run
