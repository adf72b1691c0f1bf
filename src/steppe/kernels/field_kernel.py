"""A plain function over arrays and numbers as machine code: for the loops of field models, and for sums.

    @field_kernel
    def warm(cells: int, rate: float, now: NDArray[np.float64], new: NDArray[np.float64]) -> None:
        for i in range(cells):
            new[i] = now[i] * exp(rate)                  # of steppe.kernels.vecmath

    warm(now.size, 0.1, now, new)

It is compiled at its first call, once a node, and cached; a warm start imports no Numba. As for the step of a cell model, code that would
be slow or differ between machines is refused with its line.

Arrays and numbers that belong together may be one argument, a NamedTuple of them: the machine code takes what is in it one after the other.
"""

import ctypes
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, update_wrapper
from importlib.metadata import version
from itertools import pairwise
from operator import itemgetter
from threading import Lock
from types import FunctionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from steppe.errors import ModelError
from steppe.kernels import cache
from steppe.kernels.cache import address_of
from steppe.kernels.primitives import Precision
from steppe.kernels.source import fingerprint, in_memory
from steppe.kernels.syntax import is_group
from steppe.kernels.text import written

LOG = logging.getLogger("steppe")
KINDS = ("bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64")  # of numbers in arrays
# What is taken for each, 0-d arrays among it.
SCALARS: dict[str, type | tuple[type, ...]] = {"int": np.integer, "float": (np.integer, np.floating)}
# What a kernel may not be: a function with * or **, a generator, or one that waits.
UNFIT = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_LOCK = Lock()  # Numba compiles in one thread at a time
Parts = Mapping[str, "str | ArgumentGroup"]  # name -> dtype of an array, one of `SCALARS`, or a group


class ArgumentGroup(NamedTuple):
    """An argument that holds several. kind: its class, a NamedTuple."""

    kind: Any
    parts: Parts


class FieldKernel:
    """The machine code of a function; see `field_kernel`. function: the same in plain Python, for flat arrays.

    Several threads may call it at the same time: it runs without the interpreter lock.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        update_wrapper(self, function)
        self.function, self.name = function, function.__name__
        if function.__code__.co_flags & UNFIT or function.__code__.co_kwonlyargcount:
            raise ModelError(f'Kernel "{self.name}" has a *, an async or a yield. Write a plain function, whose arguments have names.')
        hints = get_type_hints(function)
        self._parts = self._parts_of({name: hints.get(name) for name in function.__code__.co_varnames[: function.__code__.co_argcount]})
        self._kinds = dict(_leaves(self._parts))
        self._expected = [(name, kind, None if kind in SCALARS else np.dtype(kind)) for name, kind in self._kinds.items()]
        reals = sorted({kind for kind in self._kinds.values() if str(kind).startswith("float")} - {"float"})
        if len(reals) > 1:
            raise ModelError(f'Kernel "{self.name}" has arrays of {" and ".join(reals)}. A kernel computes in one precision: choose one.')
        self._real: Precision = np.dtype(reals[0] if reals else "float64").type
        self._linked: cache.MachineFunction | None = None

    def __call__(self, *arguments: Any) -> None:
        """Runs it.

        Raises
        ------
        ModelError
            An argument is missing or of another kind, an array is not contiguous, two arrays overlap, one that is stored into is read-only,
            or, at the first call, the function cannot be compiled; the message names the line.
        """
        if len(arguments) != len(self._parts):
            raise ModelError(f'Kernel "{self.name}" takes {len(self._parts)} arguments ({", ".join(self._parts)}), not {len(arguments)}.')
        found, spans = [], []
        values = arguments if len(self._parts) == len(self._kinds) else self._values(self._parts, arguments)
        for (name, kind, dtype), value in zip(self._expected, values, strict=True):
            if dtype is None:
                found.append(self._number(name, kind, value))
                continue
            if not isinstance(value, np.ndarray) or value.dtype != dtype or not (flags := value.flags).c_contiguous:
                raise self._unfit(name, kind, value)
            address = address_of(value)
            found.append(address)
            if value.nbytes:
                spans.append((address, address + value.nbytes, name))
                if not flags.writeable and name in self._written:
                    raise ModelError(f'Kernel "{self.name}" stores into "{name}", which is read-only here. Give it a copy of the array.')
        spans.sort(key=itemgetter(0))
        for (_, end, one), (begin, _, other) in pairwise(spans):
            if begin < end:
                raise ModelError(f'Kernel "{self.name}": "{one}" and "{other}" share memory. Give each argument an array of its own.')
        (self._linked or self._load())(*found)

    @cached_property
    def _written(self) -> set[str]:
        """The arrays into which the function stores elements."""
        return written(self.function) if isinstance(self.function, FunctionType) else set()

    def _number(self, name: str, kind: str, value: Any) -> float:
        if type(value) is int or (type(value) is float and kind == "float") or isinstance(np.asarray(value)[()], SCALARS[kind]):
            number = int(value) if kind == "int" else float(value)
            if kind == "float" or -(2**63) <= number < 2**63:
                return number
            raise ModelError(f'Kernel "{self.name}" takes "{name}" as an integer of 64 bits, which {value} is not.')
        raise self._unfit(name, kind, value)

    def _parts_of(self, hints: Mapping[str, Any], within: str = "") -> Parts:
        found: dict[str, str | ArgumentGroup] = {}
        for name, hint in hints.items():
            if is_group(hint):
                found[name] = ArgumentGroup(hint, self._parts_of(get_type_hints(hint), f"{within}{name}."))
            else:
                found[name] = self._kind(within + name, hint)
        return found

    def _values(self, parts: Parts, given: Iterable[Any]) -> Iterator[Any]:
        """Arrays and numbers, those of groups one after the other."""
        for (name, part), value in zip(parts.items(), given, strict=True):
            if isinstance(part, str):
                yield value
            elif type(value) is part.kind:
                yield from self._values(part.parts, value)
            else:
                kind = part.kind.__name__
                raise ModelError(f'Kernel "{self.name}" takes "{name}" as {kind}(...), it was given a {type(value).__name__}.')

    def _kind(self, name: str, hint: Any) -> str:
        """The dtype of an array, or one of `SCALARS`."""
        if hint in (int, float):
            return str(hint.__name__)
        if hasattr(alias := get_origin(hint), "__value__"):  # NDArray is a name for a type since NumPy 2.5
            hint = alias.__value__[get_args(hint)]
        dtype = get_args(get_args(hint)[1]) if len(get_args(hint)) == 2 else ()
        kind = np.dtype(dtype[0]).name if dtype and isinstance(dtype[0], type) else ""
        if kind not in KINDS:
            raise ModelError(
                f'Kernel "{self.name}" declares "{name}" as {hint}. Write int, float, NDArray[...] of np.bool_ or one of '
                f"{', '.join(KINDS[1:])}, or a NamedTuple of these."
            )
        return kind

    def _unfit(self, name: str, kind: str, value: object) -> ModelError:
        if kind in SCALARS:
            return ModelError(f'Kernel "{self.name}" takes "{name}" as {kind}, it was given {value!r}.')
        given = f"a {type(value).__name__}"
        if isinstance(value, np.ndarray):
            given = f"one of {value.dtype}" if value.dtype != kind else "one that is not contiguous"
        return ModelError(f'Kernel "{self.name}" takes "{name}" as a contiguous array of {kind}, it was given {given}.')

    def _load(self) -> cache.MachineFunction:
        with _LOCK:
            if self._linked is None:
                key = cache.key(fingerprint(self.function, in_memory), str(self._kinds), version("numba"))
                scalars = {"int": ctypes.c_int64, "float": np.ctypeslib.as_ctypes_type(self._real)}
                kinds = [scalars.get(kind, ctypes.c_void_p) for kind in self._kinds.values()]
                self._linked = cache.MachineFunction(*cache.kept(f"{self.name}_{key}", self._compile), kinds)
            return self._linked

    def _compile(self) -> tuple[str, bytes]:
        from numba import types as numba_types  # here and not above: a kernel that is in the cache needs no Numba

        from steppe.kernels.compiling import machine_code, translated

        LOG.debug("Compiling the kernel %s for this processor; it is kept for the next run.", self.name)
        types: Any = numba_types  # declared in part only
        scalars = {"int": types.int64, "float": getattr(types, self._real.__name__)}

        def type_of(part: str | ArgumentGroup) -> Any:
            if isinstance(part, ArgumentGroup):
                return types.BaseTuple.from_types(tuple(map(type_of, part.parts.values())), part.kind)
            return scalars.get(part) or types.CPointer(getattr(types, "uint8" if part == "bool" else part))

        kinds = tuple(map(type_of, self._parts.values()))
        code = machine_code(translated(self.function, self._real), kinds, real=self._real)
        return code.symbol, code.object_file


def _leaves(parts: Parts, within: str = "") -> Iterator[tuple[str, str]]:
    """Arrays and numbers in the order in which machine code takes them, by names such as "tile.face"."""
    for name, part in parts.items():
        if isinstance(part, ArgumentGroup):
            yield from _leaves(part.parts, f"{within}{name}.")
        else:
            yield within + name, part


def field_kernel(function: Callable[..., None]) -> FieldKernel:
    """Compiles a function; the result is called like the function, with arrays of any shape.

    Parameters
    ----------
    function
        Each parameter has a type: `int`, `float`, `NDArray[np.float64]` (float32, whole numbers, bool), or a NamedTuple of these. Inside,
        an array is flat, in row-major order, and has no length; indices are not checked. Results go into arrays. The function may call
        other plain functions and those of `steppe.kernels.vecmath`; all reals have the precision of the arrays. Arrays of a call must not
        overlap. No function that is called inside may get an array twice, by itself and in a group, if one writes to it.

    Raises
    ------
    ModelError
        A parameter has no type or another one, or arrays have two precisions.

    Examples
    --------
    >>> from numpy.typing import NDArray
    >>> @field_kernel
    ... def halve(cells: int, values: NDArray[np.float64]) -> None:
    ...     for i in range(cells):
    ...         values[i] = 0.5 * values[i]
    >>> values = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> halve(values.size, values)
    >>> values.tolist()
    [[0.5, 1.0], [1.5, 2.0]]
    """
    return FieldKernel(function)
