"""The Pasture Model three times: Steppe's kernel, by hand in C++ (`twin.cpp`), by hand in NumPy (`numpy_twin.py`), on one `Case`."""

from benchmarks.suites.pasture.case import Case, make_case
from benchmarks.suites.pasture.kernel import Kernel
from benchmarks.suites.pasture.numpy_twin import NumpyTwin
from benchmarks.suites.pasture.twin import Build, Twin, build

__all__ = ["Build", "Case", "Kernel", "NumpyTwin", "Twin", "build", "make_case"]
