"""Numbers only: mathematics with the same bits everywhere, and the loop that makes a cell model's step fast.

    vecmath   exp, log, power, ... for steps           primitives, intrinsics   what they are made of, in Python and compiled
    cell_loop what the loop is, as text                source, compiling        from functions to machine code
    numba_internals  what Numba does not promise to keep
    text, syntax  checks of a model's functions
    ordering  the loop's instructions in good order    cache                    machine code on disk
    loading   makes a kernel in the background         cell_kernel              a model's loop, ready to run
    field_kernel  any function over arrays             sums                     sums that do not depend on order
    bitpack   tables of integers in few bits

Importing this room imports neither Numba nor LLVM: a kernel that is in the cache needs no Numba at all.
"""

from steppe.kernels.cache import folder as cache_folder
from steppe.kernels.cell_kernel import BoundKernel, CellKernel, ForcingRows, RecordRow, WorkRows
from steppe.kernels.cell_loop import BLOCK, OPERATIONS, STATE_NOT_FINITE, TODAY, TURN, CellStep
from steppe.kernels.field_kernel import FieldKernel, field_kernel
from steppe.kernels.loading import Background
from steppe.kernels.source import attributes, fingerprint, tree_of, with_imports
from steppe.kernels.syntax import StepRules, check_text

__all__ = [
    "BLOCK",
    "OPERATIONS",
    "STATE_NOT_FINITE",
    "TODAY",
    "TURN",
    "Background",
    "BoundKernel",
    "CellKernel",
    "CellStep",
    "FieldKernel",
    "ForcingRows",
    "RecordRow",
    "StepRules",
    "WorkRows",
    "attributes",
    "cache_folder",
    "check_text",
    "field_kernel",
    "fingerprint",
    "tree_of",
    "with_imports",
]
