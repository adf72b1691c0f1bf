"""From plain functions of numbers to machine code: helpers found, literals made weak, what would not be fast or exact refused.

    function ──> compiled(): Numba functions, all to be inlined ──> machine_code(): object file

Of Numba is used what makes LLVM's language of Python's: each function is translated by itself, and only when all are in one module is
that module optimised and made machine code, once.

A Python number in the source takes the precision of what it meets, as NumPy 2 has it, so the same function called with NumPy scalars
has the same bits. Importing this imports Numba; a kernel that is in the cache is loaded without it.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, attr-defined, call-arg, operator, misc"

import operator
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from types import CellType, FunctionType
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from numba import cfunc, njit, types
from numba.core import compiler, ir
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.typed_passes import AnnotateTypes, IRLegalization, NativeLowering, NoPythonBackend, NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import FixupArgs, GenericRewrites, IRProcessing, ReconstructSSA, TranslateByteCode

from steppe.errors import ModelError, place
from steppe.kernels.cache import target_machine, vector_registers
from steppe.kernels.intrinsics import CONSTANTS, INTRINSICS
from steppe.kernels.loading import go_on
from steppe.kernels.ordering import ordered
from steppe.kernels.source import check_names, named
from steppe.kernels.vecmath import FORMULAS

Function = Callable[..., Any]
REFUSED = {
    operator.pow: "x ** y is a call of the C library. Write x * x, or power(x, y) from steppe.kernels.vecmath",
    operator.mod: "x % y is a call of the C library. Write x - y * n with a whole n that you know, or take it out of the step",
    operator.floordiv: "x // y is not one instruction. Write x / y, or a comparison",
}
LINE = re.compile(r'(?:at|from) (\S[^\n]*?) \((\d+)\)|File "([^"]+)", line (\d+)')  # how Numba names one
# No NRT: kernels allocate nothing. No wrappers: nobody calls these functions but the loop that they are inlined into.
OPTIONS: dict[str, Any] = {
    "forceinline": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
# Numba's passes before types are known and after.
READ = (TranslateByteCode, FixupArgs, IRProcessing, GenericRewrites)
WRITE = (PreLowerStripPhis, IRLegalization, AnnotateTypes, NativeLowering, NoPythonBackend)


class Translated(JITCodeLibrary):
    """The module of one function and those it calls: what Numba keeps for each, but neither optimised nor made ready to run."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address: there is no machine code yet."""
        self._ensure_finalized()
        return 0


class Untouched(JITCPUCodegen):
    """Numba's LLVM, with modules that are left as they are translated."""

    _library_class = Translated

    def set_env(self, env_name: str, env: Any) -> None:
        """Nothing: what is not made ready to run needs no environment."""


@cache
def _untouched() -> Any:
    return Untouched("steppe")


class Translator(compiler.CompilerBase):
    """Numba's compiler as far as LLVM's language, without the passes for arrays, closures and exceptions that a kernel has not."""

    before_types: tuple[Any, ...] = ()
    after_types: tuple[Any, ...] = ()

    def define_pipelines(self) -> list[Any]:
        """The one way through the compiler, for each function anew."""
        go_on()
        self.state.flags.noalias = True  # no two pointers that a function of a kernel is given lead to the same numbers
        self.state.library = _untouched().create_library(self.state.func_id.func_qualname)
        manager = PassManager("kernel")
        for each in (*READ, *self.before_types, ReconstructSSA, NopythonTypeInference, *self.after_types, *WRITE):
            manager.add_pass(each, each._name)
        manager.finalize()
        return [manager]


# For the functions of a loop: inlined into it, or one that stays by itself.
inline = njit(pipeline_class=Translator, **OPTIONS)
separate = njit(pipeline_class=Translator, **{**OPTIONS, "forceinline": False})


def _weak(value: Any, real: Any) -> Any:
    """A Python float as a `real`, alone or in a tuple; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(_weak(each, real) for each in value)
    return real(value) if type(value) is float else value


def _passes(real: Any) -> Any:
    """Numba's compiler with two passes more: weak literals, and one precision only."""

    @register_pass(mutates_CFG=False, analysis_only=False)
    class WeakLiterals(FunctionPass):
        """Every Python float of the source and of its globals becomes a `real`, those in tuples, too, as Python 3.12 returns constants."""

        _name = f"weak_literals_{real.__name__}"

        def __init__(self) -> None:
            FunctionPass.__init__(self)

        def run_pass(self, state: Any) -> bool:
            for block in state.func_ir.blocks.values():
                for statement in block.find_insts(ir.Assign):
                    value = statement.value
                    if isinstance(value, ir.Const | ir.Global | ir.FreeVar) and type(value.value) in (float, tuple):
                        statement.value = ir.Global("literal", _weak(value.value, real), value.loc)
            return True

    @register_pass(mutates_CFG=False, analysis_only=True)
    class OnlyOnePrecision(FunctionPass):
        """No value of another precision, no array, no slow operation, nothing raised."""

        _name = f"only_{real.__name__}"

        def __init__(self) -> None:
            FunctionPass.__init__(self)

        def run_pass(self, state: Any) -> bool:
            wrong = types.float64 if real is np.float32 else types.float32
            for block in state.func_ir.blocks.values():
                for statement in block.body:
                    problem = self._problem(statement, state.typemap, wrong)
                    if problem:
                        raise ModelError(f"{place(statement.loc.filename, statement.loc.line)}: {problem}.")
            return False

        def _problem(self, statement: Any, typemap: Any, wrong: Any) -> str:
            if isinstance(statement, ir.Raise | ir.StaticRaise | ir.DynamicRaise | ir.TryRaise | ir.StaticTryRaise):
                return "A step cannot raise. Give the forcing limits in its Var, or return a number that says so"
            if not isinstance(statement, ir.Assign):
                return ""
            value, kind = statement.value, typemap.get(statement.target.name)
            if isinstance(value, ir.Expr) and value.op in ("binop", "inplace_binop"):
                done = value.fn if value.op == "binop" else value.immutable_fn
                if done in REFUSED and not (isinstance(kind, types.Integer) and done is not operator.pow):
                    return REFUSED[done]
            if kind == wrong:
                return f"This is computed in {wrong}, the model is {real.__name__}. Write 2.0, not 2; use no int() and no list of numbers"
            if isinstance(kind, types.Buffer | types.List | types.Set):
                return f"This makes a {type(kind).__name__.lower()}. A step holds numbers and tuples of them"
            return ""

    class StepTranslator(Translator):
        before_types, after_types = (WeakLiterals,), (OnlyOnePrecision,)

    return StepTranslator


_LOCK = Lock()  # whoever holds it has changed LLVM's settings
_TRANSLATORS = {real: _passes(real) for real in (np.float32, np.float64)}


def compiled(function: Function, real: Any) -> Any:
    """`function` and every function that it names, ready to be called from a kernel of precision `real` (np.float32 or np.float64).

    Raises
    ------
    ModelError
        It names what a kernel cannot hold. What is found only when types are known is raised when the kernel is compiled.
    """
    return njit(pipeline_class=_TRANSLATORS[real], **OPTIONS)(translated(function, real))


def translated(function: Function, real: Any) -> Any:
    """A copy of `function` that names, in place of every function, one that is ready to be called; raises as `compiled` does."""
    check_names(function)
    done: dict[Any, Any] = {}

    def ready(value: Any) -> Any:
        if value in FORMULAS:
            return visit(FORMULAS[value])
        if value in INTRINSICS:
            return INTRINSICS[value]
        if value in CONSTANTS:
            return CONSTANTS[value][real]
        return visit(value)

    def visit(f: Any) -> Any:
        if f not in done:
            done[f] = njit(pipeline_class=_TRANSLATORS[real], **OPTIONS)(copied(f))
        return done[f]

    def copied(f: Any) -> Any:
        names: dict[str, Any] = {}
        for name, value, _ in named(f):
            if isinstance(value, FunctionType):
                names[name] = ready(value)
            elif isinstance(value, tuple):
                names[name] = _weak(value, real)
        cells = tuple(
            CellType(names.get(name, cell.cell_contents)) for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        )
        copy = FunctionType(f.__code__, {**f.__globals__, **names}, f.__name__, f.__defaults__, cells)
        copy.__module__, copy.__qualname__ = f.__module__, f.__qualname__
        return copy

    return copied(function)


class MachineCode(NamedTuple):
    """A compiled function. symbol: its name in the object file; module: what LLVM made it of; ordered: in the order of `ordering`."""

    symbol: str
    object_file: bytes
    module: Any
    ordered: bool

    @property
    def assembly(self) -> str:
        """The same code as text."""
        with _settings(self.ordered):
            return target_machine().emit_assembly(self.module)


def machine_code(function: Function, argument_types: tuple[Any, ...], apart: str = "", real: Any = None) -> MachineCode:
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
    try:
        translator = _TRANSLATORS[real] if real else Translator
        made = cfunc(types.void(*argument_types), pipeline_class=translator, error_model="numpy", _nrt=False)(function)
    except (NumbaError, UnsupportedBytecodeError, NotImplementedError, TypeError) as error:
        raise ModelError(_in_short(error)) from error
    go_on()
    module = llvm.parse_assembly(made.inspect_llvm())
    symbol = made.native_name.removeprefix("cfunc.")
    for candidate in module.functions:
        if not candidate.is_declaration and candidate.name != symbol:
            candidate.linkage = "internal"
    module, object_file = _optimised(module, apart)
    called = sorted(f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm."))
    if called:
        raise ModelError(f"The compiled model calls {', '.join(called)}. Write it with the functions of steppe.kernels.vecmath.")
    return MachineCode(symbol, object_file, module, bool(apart))


def _in_short(error: Exception) -> str:
    """The first sentence of what Numba reports, and the line of the model that it is about; --debug shows all of it."""
    said = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in ")]
    sentence = said[0].rstrip(".:") if said else type(error).__name__
    if sentence.startswith("No implementation of function") and said[1].startswith(">>> "):
        sentence = f"there is no {said[1].removeprefix('>>> ')} in compiled code"
    lines = [(os.path.abspath(at[0] or at[2]), int(at[1] or at[3])) for at in LINE.findall(str(error))]
    theirs = [each for each in lines if Path(each[0]).is_file() and f"{os.sep}numba{os.sep}" not in each[0]]
    if theirs:
        return f"{place(*theirs[0])}: this cannot be compiled: {sentence}."
    return f"The model cannot be compiled: {sentence}. Check that step returns (State(...), Diagnostics(...)), each of numbers."


def _optimised(module: Any, apart: str) -> tuple[Any, bytes]:
    """The module with everything inlined but `apart`, and made vector code; and its object file."""
    machine = target_machine()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    first = llvm.create_new_module_pass_manager()
    first.add_global_dead_code_eliminate_pass()
    first.run(module, builder)
    # What is optimised may be another function, of the same name.
    names = [f.name for f in module.functions if apart and f"{len(apart)}{apart}B" in f.name]
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
