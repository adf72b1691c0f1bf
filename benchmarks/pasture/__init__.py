"""The Pasture Model three times: Steppe's kernel, by hand in C++ (`twin.cpp`), by hand in NumPy (`numpy_twin.py`), on one `Case`."""

from benchmarks.pasture.case import Case, make_case
from benchmarks.pasture.kernel import Kernel
from benchmarks.pasture.numpy_twin import NumpyTwin
from benchmarks.pasture.twin import Build, Twin, build

__all__ = ["Build", "Case", "Kernel", "NumpyTwin", "Twin", "build", "make_case"]
