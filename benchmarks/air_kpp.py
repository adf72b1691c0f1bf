"""The chemistry of KPP (the Kinetic PreProcessor): code made of a mechanism, compiled by gfortran, run on the cells of the benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import MissingPeer
from benchmarks.rounds import output

DRIVER = Path(__file__).parent / "programs" / "air_kpp.f90"
NAME = "given"
PARTS = ("Precision", "Parameters", "Monitor", "Global", "JacobianSP", "Jacobian", "Function", "LinearAlgebra", "Rates", "Util")
Equation = tuple[Sequence[int], Sequence[tuple[int, float]]]


class PeerTimes(NamedTuple):
    """seconds of CPU time in each round; steps of a cell in the mean; c (species, cells) at the end."""

    seconds: list[float]
    steps: float
    c: NDArray[np.float64]


def build(folder: Path, species: Sequence[str], equations: Sequence[Equation], home: Path | None) -> Path:
    """The program. home: a folder with a build of KPP: bin/kpp, int, util.

    Raises
    ------
    MissingPeer
        There is no KPP, no gfortran, or one of them fails.
    """
    if home is None or not (home / "bin" / "kpp").is_file():
        raise MissingPeer("KPP is not there. Give a folder with a build of KPP 3.5: --kpp FOLDER, in which bin/kpp is.")

    def side(found: Sequence[tuple[int, float]]) -> str:
        return " + ".join(f"{share!r} {species[i]}" if share != 1.0 else species[i] for i, share in found) or "NOTHING"

    lines = [
        f"<r{n}> {side([(i, 1.0) for i in reactants])} = {side(products)} : 0.0*TEMP;"
        for n, (reactants, products) in enumerate(equations, 1)
    ]
    declared = "".join(f"{name} = IGNORE;\n" for name in species)
    (folder / f"{NAME}.kpp").write_text(
        "#INTEGRATOR rosenbrock\n#LANGUAGE Fortran90\n#DOUBLE ON\n#DRIVER none\n#HESSIAN OFF\n#MEX OFF\n#STOICMAT OFF\n#REORDER ON\n"
        f"#DEFVAR\n{declared}#DEFFIX\nNOTHING = IGNORE;\n#EQUATIONS\n" + "\n".join(lines) + "\n"
    )
    said = output(["sh", "-c", f"cd {folder} && {home}/bin/kpp {NAME}.kpp || true"], {"KPP_HOME": str(home)})  # its status counts warnings
    if not (folder / f"{NAME}_Integrator.f90").is_file():
        raise MissingPeer(f"KPP made no code.\n{said[-2000:]}")
    places = ", ".join(f"ind_{name}" for name in species)
    wrapped = places.replace(", ", ", &\n    ")
    (folder / "place.f90").write_text(
        "module given_place\n  use given_parameters\n  implicit none\n"
        f"  integer, parameter :: place({len(species)}) = [ &\n    {wrapped}]\nend module given_place\n"
    )
    sources = [f"{NAME}_{part}.f90" for part in (*PARTS, "Integrator", "Initialize") if (folder / f"{NAME}_{part}.f90").is_file()]
    program = folder / "air_kpp"
    flags = "-O3 -march=native -cpp -ffree-line-length-none -w"
    output(["sh", "-c", f"cd {folder} && gfortran {flags} {' '.join(sources)} place.f90 {DRIVER} -o {program}"])
    return program


def run(
    program: Path, c: NDArray[np.float64], k: NDArray[np.float64], seconds: float, rtol: float, atol: float, first: float, rounds: int
) -> PeerTimes:
    """c (species, cells) and rates k (processes, cells) for so many seconds."""
    cases, found = program.parent / "cases.bin", program.parent / "found.bin"
    with cases.open("wb") as file:
        np.array([c.shape[1], rounds], np.int32).tofile(file)
        np.array([seconds, rtol, atol, first]).tofile(file)
        np.ascontiguousarray(c.T).tofile(file)
        np.ascontiguousarray(k.T).tofile(file)
    rows = np.array([[float(each) for each in line.split()] for line in output([str(program), str(cases), str(found)]).splitlines()])
    return PeerTimes(rows[:, 0].tolist(), float(rows[-1, 1]), np.fromfile(found).reshape(c.shape[::-1]).T.copy())
