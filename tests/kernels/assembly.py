"""Whether a cell model's compiled loop is vector code: for the tests of every model."""

import platform
import re
from types import ModuleType

import numpy as np
import pytest

from steppe.kernels.cell_kernel import compile_loop
from steppe.models.cell_declaration import CellDeclaration

LIBRARY = re.compile(r"\b(expf?|logf?|powf?|tanhf?|fmodf?|sinf?|cosf?|ldexpf?|floorf?)\b(?!\()")


def assert_is_vector_code(module: ModuleType, dtype: str = "float32", per_cell: tuple[str, ...] = (), **options: str) -> None:
    """Compiles both loops of a model anew and looks at their assembly: packed divisions, no scalar ones, no call of a library.

    The model must divide somewhere, and is compiled with these per-cell parameters and words of options.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the assembly of this processor is not known to the test")
    declaration = CellDeclaration(module, dtype)
    step = declaration.cell_step(declaration.options(options))
    letter = "s" if dtype == "float32" else "d"
    for diagnostics in ((), declaration.fields("Diagnostics")):
        text = compile_loop(step, np.dtype(dtype).type, per_cell, diagnostics).assembly
        code = "\n".join(line for line in text.splitlines() if re.match(r"\t[a-z]", line))
        packed, scalar = (len(re.findall(rf"\tv?div{kind}{letter}\b", code)) for kind in "ps")
        assert packed > 0, "no vector division: the loop over cells is not vector code"
        assert packed >= scalar, f"{packed} vector divisions and {scalar} scalar ones"
        assert re.search("[yz]mm", code), "no wide registers"
        assert not LIBRARY.search(code), f"calls {LIBRARY.search(code)}"
