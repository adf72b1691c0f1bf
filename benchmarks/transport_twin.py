"""Builds the C++ twin of transport's scheme `ccm` with g++ and runs it, as a program of its own."""

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import MissingPeer
from benchmarks.rounds import output

Array = NDArray[np.float64]
SOURCE = Path(__file__).parent / "programs" / "transport_twin.cpp"
FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-O3", "-march=native", "-ffast-math")


class Times(NamedTuple):
    """CPU seconds of one thread: the median step with one tracer, what each further tracer adds, and the tracers behind the last step."""

    step: float
    further: float
    tracers: Array


@dataclass(frozen=True)
class TransportTwin:
    """The built program."""

    program: Path

    def norms(self, case: str, **words: object) -> dict[str, dict[str, float]]:
        """Tracer -> l1, l2, linf, mass (its relative change) of a case, "tc1" or "lauritzen"; the words stand in `transport_twin.cpp`."""
        return self._run(case=case, **words)

    def times(self, fields: Array, dt: float, levels: Path, steps: int = 10, **words: object) -> Times:
        """Steps through a Gaussian grid with the wind of `fields`, in radii and eta a unit of `dt`.

        fields: u, v, eta-dot, then the tracers, (3 + tracer, level, row, column), rows from the south. levels: a table `interface,a,b`.
        The tracers returned, (tracer, level, row, column), are those after all steps.
        """
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "input", Path(folder) / "output"
            np.ascontiguousarray(fields, np.float64).tofile(source)
            sizes = {"rows": fields.shape[2], "tracers": len(fields) - 3, "steps": steps, "dt": repr(dt)}
            found = self._run(case="time", input=source, output=target, levels=levels, **sizes, **words)
            tracers = np.fromfile(target).reshape(-1, *fields.shape[1:])
        return Times(found["step_seconds"], found["further_tracer_seconds"], tracers)

    def _run(self, **words: object) -> Any:
        return json.loads(output([str(self.program), *(f"{name}={value}" for name, value in words.items())]))


def build(folder: Path) -> TransportTwin:
    """The twin, compiled into `folder`.

    Raises
    ------
    MissingPeer
        There is no g++, or it fails.
    """
    if shutil.which("g++") is None:
        raise MissingPeer("There is no g++ to build the C++ twin with. Install it (Debian: apt install g++).")
    program = folder / "transport_twin"
    output(["g++", *FLAGS, "-o", str(program), str(SOURCE)])
    return TransportTwin(program)
