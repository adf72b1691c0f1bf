"""Numbers only: mathematics with the same bits everywhere, and the loop that makes a cell model's step fast.

    vecmath   exp, log, power, ... for steps           primitives, intrinsics   what they are made of, in Python and compiled
    cell_loop what the loop is, as text                source, compiling        from functions to machine code
    numba_internals  what Numba does not promise to keep
    text, syntax  mistakes in a model's functions
    ordering  the loop's instructions in good order    cache                    machine code on disk
    loading   a kernel made while the program goes on  cell_kernel              all of it: a model's loop, ready to run
    field_kernel  any function over arrays             sums                     sums that do not depend on order
    bitpack   tables of integers in few bits

Importing this room imports neither Numba nor LLVM: a kernel that is in the cache needs no Numba at all.
"""

from steppe.kernels.cache import folder as cache_folder
from steppe.kernels.cell_kernel import Bound, CellKernel, Record, Rows, Window
from steppe.kernels.cell_loop import BLOCK, OPERATIONS, STATE_NOT_FINITE, TODAY, TURN, CellStep
from steppe.kernels.field_kernel import FieldKernel, field_kernel
from steppe.kernels.loading import Loading
from steppe.kernels.source import attributes, fingerprint
from steppe.kernels.syntax import Rules, check_text

__all__ = [
    "BLOCK",
    "OPERATIONS",
    "STATE_NOT_FINITE",
    "TODAY",
    "TURN",
    "Bound",
    "CellKernel",
    "CellStep",
    "FieldKernel",
    "Loading",
    "Record",
    "Rows",
    "Rules",
    "Window",
    "attributes",
    "cache_folder",
    "check_text",
    "field_kernel",
    "fingerprint",
]
