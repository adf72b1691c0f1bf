"""The private parts of Numba that Steppe uses, all in this file; `pyproject.toml` bounds the versions.

    a function ──> Translator: Numba's passes up to LLVM IR, with two of ours ──> llvm_text(): one module, not optimised

Uses of its private parts: the list of passes, the compiler's pipeline, its code library and code generator, options such as `_nrt`, the
form of mangled names, and the words of its errors.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, attr-defined, call-arg, operator, misc"

import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite.binding import ModuleRef
from llvmlite.ir import IRBuilder, Value
from numba import cfunc, njit, types
from numba.core import compiler, ir
from numba.core.base import BaseContext as Context
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.typed_passes import AnnotateTypes, IRLegalization, NativeLowering, NoPythonBackend, NopythonTypeInference, PreLowerStripPhis
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature
from numba.core.untyped_passes import FixupArgs, GenericRewrites, IRProcessing, ReconstructSSA, TranslateByteCode

from steppe.errors import ModelError, place
from steppe.kernels.loading import go_on
from steppe.kernels.primitives import Precision
from steppe.kernels.source import Function

__all__ = [
    "Context",
    "Lowering",
    "ModuleLibrary",
    "PlainCodegen",
    "Signature",
    "Translator",
    "Typed",
    "TypingContext",
    "function_compiler",
    "inline",
    "is_of",
    "llvm_text",
    "separate",
    "weak",
]

# What an intrinsic writes for a call, and what it returns: signature and lowering, or None for types that it does not take.
Lowering = Callable[[Context, IRBuilder, Signature, Sequence[Value]], Value]
Typed = tuple[Signature, Lowering] | None

REFUSED = {
    operator.pow: "x ** y is a call of the C library. Write x * x, or power(x, y) from steppe.kernels.vecmath",
    operator.mod: "x % y is a call of the C library. Write x - y * n with a whole n that you know, or take it out of the step",
    operator.floordiv: "x // y is not one instruction. Write x / y, or a comparison",
}
LINE = re.compile(r'(?:at|from) (\S[^\n]*?) \((\d+)\)|File "([^"]+)", line (\d+)')  # how Numba names one
# No NRT: kernels allocate nothing. No wrappers: these functions are inlined into the loop, their only caller.
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


class ModuleLibrary(JITCodeLibrary):
    """Numba's library of one function and those it calls, neither optimised nor linked."""

    def _optimize_functions(self, ll_module: ModuleRef) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address: there is no machine code yet."""
        self._ensure_finalized()
        return 0


class PlainCodegen(JITCPUCodegen):
    """Numba's code generator without optimisation of modules."""

    _library_class = ModuleLibrary

    def set_env(self, env_name: str, env: object) -> None:
        """Nothing: what is not made ready to run needs no environment."""


@cache
def _untouched() -> PlainCodegen:
    return PlainCodegen("steppe")


class Translator(compiler.CompilerBase):
    """Numba's compiler up to LLVM IR, without the passes for arrays, closures and exceptions, which kernels do not have."""

    before_types: tuple[type[FunctionPass], ...] = ()
    after_types: tuple[type[FunctionPass], ...] = ()

    def define_pipelines(self) -> list[PassManager]:
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


def weak(value: object, real: Precision) -> object:
    """A Python float as a `real`, alone or in a tuple; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(weak(each, real) for each in value)
    return real(value) if type(value) is float else value


def _passes(real: Precision) -> type[Translator]:
    """Numba's compiler with two more passes: weak literals, and one precision only."""

    @register_pass(mutates_CFG=False, analysis_only=False)
    class WeakLiterals(FunctionPass):
        """Every Python float of the source and of its globals becomes a `real`, those in tuples, too, as Python 3.12 returns constants."""

        _name = f"weak_literals_{real.__name__}"

        def __init__(self) -> None:
            FunctionPass.__init__(self)

        def run_pass(self, state: compiler.StateDict) -> bool:
            for block in state.func_ir.blocks.values():
                for statement in block.find_insts(ir.Assign):
                    value = statement.value
                    if isinstance(value, ir.Const | ir.Global | ir.FreeVar) and type(value.value) in (float, tuple):
                        statement.value = ir.Global("literal", weak(value.value, real), value.loc)
            return True

    @register_pass(mutates_CFG=False, analysis_only=True)
    class OnlyOnePrecision(FunctionPass):
        """No value of another precision, no array, no slow operation, nothing raised."""

        _name = f"only_{real.__name__}"

        def __init__(self) -> None:
            FunctionPass.__init__(self)

        def run_pass(self, state: compiler.StateDict) -> bool:
            wrong = types.float64 if real is np.float32 else types.float32
            for block in state.func_ir.blocks.values():
                for statement in block.body:
                    problem = self._problem(statement, state.typemap, wrong)
                    if problem:
                        raise ModelError(f"{place(statement.loc.filename, statement.loc.line)}: {problem}.")
            return False

        def _problem(self, statement: ir.Stmt, typemap: Mapping[str, types.Type], wrong: types.Type) -> str:
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


_TRANSLATORS: dict[Precision, type[Translator]] = {np.float32: _passes(np.float32), np.float64: _passes(np.float64)}


def function_compiler(real: Precision) -> Callable[[Function], Callable[..., Any]]:
    """Makes a function one that is inlined into a kernel of precision `real`, np.float32 or np.float64."""
    return njit(pipeline_class=_TRANSLATORS[real], **OPTIONS)


def llvm_text(function: Function, argument_types: tuple[types.Type, ...], real: Precision | None = None) -> tuple[str, str]:
    """The LLVM IR of a function and all that it calls, and its symbol. real: its required precision, if any.

    Raises
    ------
    ModelError
        Numba cannot compile it; the message names the line.
    """
    try:
        translator = _TRANSLATORS[real] if real else Translator
        made = cfunc(types.void(*argument_types), pipeline_class=translator, error_model="numpy", _nrt=False)(function)
    except (NumbaError, UnsupportedBytecodeError, NotImplementedError, TypeError) as error:
        raise ModelError(_in_short(error)) from error
    return made.inspect_llvm(), made.native_name.removeprefix("cfunc.")


def is_of(symbol: str, name: str) -> bool:
    """Whether a symbol is of the Python function `name`."""
    return f"{len(name)}{name}B" in symbol


def _in_short(error: Exception) -> str:
    """The first sentence of Numba's message, and the line of the model; --debug shows all of it."""
    said = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in ")]
    sentence = said[0].rstrip(".:") if said else type(error).__name__
    if sentence.startswith("No implementation of function") and said[1].startswith(">>> "):
        sentence = f"there is no {said[1].removeprefix('>>> ')} in compiled code"
    lines = [(os.path.abspath(at[0] or at[2]), int(at[1] or at[3])) for at in LINE.findall(str(error))]
    theirs = [each for each in lines if Path(each[0]).is_file() and f"{os.sep}numba{os.sep}" not in each[0]]
    if theirs:
        return f"{place(*theirs[0])}: this cannot be compiled: {sentence}."
    return f"The model cannot be compiled: {sentence}. Check that step returns (State(...), Diagnostics(...)), each of numbers."
