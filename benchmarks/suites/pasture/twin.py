"""Builds `twin.cpp` with g++ and calls it; ctypes lets go of the interpreter lock while it runs."""

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import MissingPeer
from benchmarks.suites.pasture.case import FORCING, Case

Array = NDArray[Any]

SOURCE = Path(__file__).with_name("twin.cpp")
STATES, PER_CELL, UNIFORM, WEATHER = range(4)  # groups of `layout`
OPTIMISED = ("-O3", "-march=native")
# g++ would replace divisions by estimates of the reciprocal and a Newton step, which is less exact and, where it was measured, not faster.
FAST = ("-ffast-math", "-fopenmp-simd", "-mno-recip")


@dataclass(frozen=True)
class Build:
    """How the twin is compiled. precision: "float" or "double". fast: with the flags `FAST`. block: cells; more: further flags."""

    precision: str = "float"
    fast: bool = True
    block: int = 256
    more: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of g++ that are not about files."""
        return (*OPTIMISED, *(FAST if self.fast else ("-fopenmp-simd",)), *self.more, f"-DREAL={self.precision}", f"-DBLOCK={self.block}")


def compile_twin(made: Build, target: Path, *output: str) -> Path:
    """Compiles the twin; `output` says into what.

    Raises
    ------
    MissingPeer
        There is no g++, or it fails.
    """
    _run(["-std=c++17", "-Wall", "-Wextra", "-Werror", *made.flags, *output, "-o", str(target), str(SOURCE)])
    return target


def _run(arguments: list[str]) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        raise MissingPeer("There is no g++ to build the C++ twin with. Install it (Debian: apt install g++).")
    done = subprocess.run([compiler, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise MissingPeer(f"g++ cannot build the C++ twin.\n{done.stderr}")


def build(made: Build, folder: Path) -> "Twin":
    """The twin, compiled into `folder` and loaded.

    It is linked without -ffast-math: with it g++ adds start-up code that makes the whole process, ours too, treat small numbers as 0.
    """
    name = f"twin_{made.precision}_{'fast' if made.fast else 'strict'}_{made.block}_{abs(hash(made.more))}"
    compiled = compile_twin(made, folder / f"{name}.o", "-c", "-fPIC")
    library = folder / f"{name}.so"
    _run(["-shared", str(compiled), "-o", str(library), "-lmvec", "-lm"])
    return Twin(library, made)


class Assembly:
    """What the loop over cells was compiled to."""

    def __init__(self, made: Build, folder: Path) -> None:
        text = compile_twin(made, folder / "twin.s", "-S").read_text()
        self.packed_divides = len(re.findall(r"\bvdivp[sd]\s.*%[yz]mm", text))
        self.estimates = len(re.findall(r"\bvrcp(?:14)?ps\b", text))
        called = re.findall(r"\b(?:call|jmp)\s+([A-Za-z_]\w*)(?:@PLT)?", text)
        self.vector_calls = {name for name in called if name.startswith("_ZGV")}
        self.scalar_calls = {name for name in called if re.fullmatch(r"(exp|log|sin|cos|pow)f?", name)}


class Twin:
    """The twin's `advance` on one case at a time. Arrays are filled up to whole blocks with the last cell."""

    def __init__(self, library: Path, made: Build) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.layout.restype = ctypes.c_char_p
        self._library.advance.restype = None
        self._block = made.block
        self._real: Any = np.float32 if made.precision == "float" else np.float64
        self.states, self._per_cell, self._uniform, weather = (self._library.layout(k).decode().split() for k in range(4))
        assert tuple(weather) == FORCING

    def prepare(self, case: Case) -> None:
        """Takes the case's numbers in the twin's precision and order."""
        self._case = case
        self._cells = -(-case.cells // self._block) * self._block
        self._start = self._whole(np.array([case.state[name] for name in self.states], self._real))
        per_cell = [np.broadcast_to(case.constants[name], case.cells) for name in self._per_cell]
        day_of_year, month = case.calendar
        forcing = case.forcing
        self._arguments = [
            self._whole(np.array(per_cell, self._real)),
            np.array([case.constants[name] for name in self._uniform], self._real),
            self._whole(forcing.rows),
            forcing.row_of,
            forcing.scale.astype(self._real),
            forcing.offset.astype(self._real),
            day_of_year.astype(self._real),
            month.astype(self._real),
        ]
        self.reset()

    def _whole(self, rows: Array) -> Array:
        return np.ascontiguousarray(np.pad(rows, ((0, 0), (0, self._cells - self._case.cells)), mode="edge"))

    def reset(self) -> None:
        """Back to the state that the case begins with."""
        self._state = self._start.copy()

    def run(self, part: int = 0, parts: int = 1) -> None:
        """All days of the cells, or of one of `parts` shares of them."""
        blocks = self._cells // self._block
        first, last = (self._block * (blocks * k // parts) for k in (part, part + 1))
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (self._state, *self._arguments)]
        self._library.advance(*pointers, *(ctypes.c_long(n) for n in (self._cells, first, last, self._case.days)))

    def state(self) -> dict[str, Array]:
        """The states now."""
        return {name: row[: self._case.cells] for name, row in zip(self.states, self._state, strict=True)}
