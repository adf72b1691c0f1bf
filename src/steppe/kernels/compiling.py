"""Compiles plain functions of numbers to machine code, and refuses code that would not be fast or exact.

    function ──> compiled(): Numba functions, all to be inlined ──> machine_code(): object file

Numba translates each function to LLVM IR by itself. The IR of all functions goes into one module, which is optimised and made machine code
once.

A Python number in the source takes the precision of what it meets, as NumPy 2 has it, so the same function called with NumPy scalars
has the same bits. Importing this imports Numba; a kernel that is in the cache is loaded without it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from types import CellType, FunctionType
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba import types

from steppe.errors import ModelError, place
from steppe.kernels.cache import target_machine, vector_registers
from steppe.kernels.intrinsics import CONSTANTS, INTRINSICS
from steppe.kernels.loading import go_on
from steppe.kernels.numba_internals import function_compiler, inline, is_of, llvm_text, separate, weak
from steppe.kernels.ordering import ordered
from steppe.kernels.primitives import Precision
from steppe.kernels.source import Function, check_names, named
from steppe.kernels.text import definition, own_nodes
from steppe.kernels.unset import check_values
from steppe.kernels.vecmath import FORMULAS

__all__ = ["MachineCode", "compiled", "inline", "machine_code", "separate", "translated"]
_LOCK = Lock()  # its holder has changed LLVM's settings


def compiled(function: Function, real: Precision) -> Callable[..., Any]:
    """`function` and every function that it names, ready to be called from a kernel of precision `real` (np.float32 or np.float64).

    Raises
    ------
    ModelError
        It names an object that a kernel cannot contain. Errors of types are raised later, when the kernel is compiled.
    """
    return function_compiler(real)(translated(function, real))


def translated(function: Function, real: Precision) -> FunctionType:
    """A copy of `function` with every function that it names replaced by its compiled one; raises as `compiled` does."""
    check_names(function)
    done: dict[Function, Function] = {}

    def ready(value: FunctionType) -> object:
        if value in FORMULAS:
            return visit(FORMULAS[value])
        if value in INTRINSICS:
            return INTRINSICS[value]
        if value in CONSTANTS:
            return CONSTANTS[value][real]
        return visit(value)

    def visit(f: Function) -> Function:
        if f not in done:
            done[f] = f  # until it is compiled
            done[f] = function_compiler(real)(copied(f))
        elif done[f] is f:
            where = place(f.__code__.co_filename, f.__code__.co_firstlineno)
            raise ModelError(f"{where}: {f.__name__} calls itself, and a kernel cannot do that. Write a loop.")
        return done[f]

    def copied(f: Function) -> FunctionType:
        if isinstance(f, FunctionType) and (text := definition(f)):
            check_values(text, own_nodes(text), f.__code__.co_filename)
        names: dict[str, object] = {}
        for name, value, _ in named(f):
            if isinstance(value, FunctionType):
                names[name] = ready(value)
            elif isinstance(value, tuple):
                names[name] = weak(value, real)
        cells = tuple(
            CellType(names.get(name, cell.cell_contents)) for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        )
        copy = FunctionType(f.__code__, {**f.__globals__, **names}, f.__name__, f.__defaults__, cells)
        copy.__module__, copy.__qualname__ = f.__module__, f.__qualname__
        return copy

    return copied(function)


class MachineCode(NamedTuple):
    """A compiled function. symbol: its name in the object file; module: its optimised IR; ordered: the IR in the order of `ordering`."""

    symbol: str
    object_file: bytes
    module: llvm.ModuleRef
    ordered: bool

    @property
    def assembly(self) -> str:
        """The same code as text."""
        with _settings(self.ordered):
            text: str = target_machine().emit_assembly(self.module)
            return text


def machine_code(function: Function, argument_types: tuple[types.Type, ...], apart: str = "", real: Precision | None = None) -> MachineCode:
    """Compiles a function of pointers and numbers that returns nothing, into code that needs nothing but itself.

    apart: the name of a `separate` function that it calls, which holds the loop that takes the time and gets an order of its own (see
    `ordering`); that loop must read nothing that it writes. real: the precision that the function is held to, if any.

    What is called later is the function as Numba compiles it, (void **returned, void **exception, arguments...) -> int32. The wrapper
    around it that Numba would have called needs Python and Numba, and is removed.

    Raises
    ------
    ModelError
        Numba cannot compile it (its message names the line), or it calls a function of a library.
    """
    text, symbol = llvm_text(function, argument_types, real)
    go_on()
    module = llvm.parse_assembly(text)
    for candidate in module.functions:
        if not candidate.is_declaration and candidate.name != symbol:
            candidate.linkage = "internal"
    module, object_file = _optimised(module, apart)
    called = sorted(f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm."))
    if called:
        raise ModelError(f"The compiled model calls {', '.join(called)}. Write it with the functions of steppe.kernels.vecmath.")
    return MachineCode(symbol, object_file, module, bool(apart))


def _optimised(module: llvm.ModuleRef, apart: str) -> tuple[llvm.ModuleRef, bytes]:
    """The module with everything inlined but `apart`, and made vector code; and its object file."""
    machine = target_machine()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = not apart
    builder = llvm.create_pass_builder(machine, options)
    first = llvm.create_new_module_pass_manager()
    first.add_global_dead_code_eliminate_pass()
    first.run(module, builder)
    # What is optimised may be another function, of the same name.
    names = [f.name for f in module.functions if apart and is_of(f.name, apart)]
    for name in names:
        module.get_function(name).add_function_attribute("noinline")
    with _settings(bool(apart)):
        builder.getModulePassManager().run(module, builder)
        if apart:
            module = llvm.parse_assembly(ordered(str(module), names, vector_registers()))
            module.verify()
        return module, machine.emit_object(module)


@contextmanager
def _settings(for_order: bool) -> Iterator[None]:
    """For order, LLVM makes two vectors of cells a turn and leaves instructions as they are.

    It has these settings once for a whole process; afterwards they are as before.
    """
    if not for_order:
        yield
        return
    with _LOCK:
        llvm.set_option("", "-force-vector-interleave=2")
        llvm.set_option("", "-enable-misched=false")
        try:
            yield
        finally:
            llvm.set_option("", "-force-vector-interleave=0")
            llvm.set_option("", "-enable-misched=true")
