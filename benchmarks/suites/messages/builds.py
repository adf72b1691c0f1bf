"""Builds of other benchmarks of messages, whose programs run as they are: OSU's from version 5, Intel's (IMB)."""

import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from benchmarks.figures import MissingPeer
from benchmarks.rounds import output

MICROSECOND, MEGABYTE = 1e-6, 1e6
SIZES = {"latency0": 0, "latency8": 8, "bandwidth": 1 << 20, "allreduce": 8, "barrier": None}  # [bytes] of each series
BETWEEN_TWO = ("latency0", "latency8", "bandwidth")


class Build(ABC):
    """The programs below a folder.

    name: of the benchmarks; programs: the series of each.

    Raises
    ------
    MissingPeer
        Some are not there.
    """

    name: ClassVar[str]
    programs: ClassVar[dict[str, tuple[str, ...]]]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, Path] = {}
        for program in self.programs:
            files = [file for file in sorted(folder.rglob(program)) if file.is_file()]
            if not files:
                raise MissingPeer(f'There is no {program} below "{folder}": give the folder of a build of {self.name}.')
            self._files[program] = files[0]
        lines = output(["ldd", str(next(iter(self._files.values())))]).splitlines()
        self.library = next((line.split()[2] for line in lines if line.split()[0].startswith("libmpi.")), "no shared MPI library")

    def belongs_to(self, library: Path) -> bool:
        """Whether the programs use that library."""
        return Path(self.library).resolve() == library.resolve()

    def means(self, command: list[str], ranks: int, iterations: int) -> dict[str, list[float]]:
        """The mean [s] of each series, which is all that its programs tell. command: mpiexec with its options."""
        found: dict[str, list[float]] = {}
        for program, of in self.programs.items():
            for name in of:
                if ranks > 2 and name in BETWEEN_TWO:
                    continue
                said = self._said(command, program, name, iterations // 1000 + 1 if name == "bandwidth" else iterations)
                value = self._value(name, [line.split() for line in said.splitlines() if line.strip() and not line.startswith("#")])
                if value is None:
                    raise MissingPeer(f"{program} does not tell of {name}:\n{said}")
                size = SIZES[name]
                found[name] = [size / (value * MEGABYTE) if name == "bandwidth" and size else value * MICROSECOND]
        return found

    @abstractmethod
    def _said(self, command: list[str], program: str, name: str, iterations: int) -> str:
        """What a program prints that is run for one series."""

    @abstractmethod
    def _value(self, name: str, rows: list[list[str]]) -> float | None:
        """Its number among the words of each line: microseconds, of the bandwidth MB/s."""


class Osu(Build):
    """The OSU micro-benchmarks."""

    name = "OSU"
    programs: ClassVar = {
        "osu_latency": ("latency0", "latency8"),
        "osu_bw": ("bandwidth",),
        "osu_allreduce": ("allreduce",),
        "osu_barrier": ("barrier",),
    }

    def _said(self, command: list[str], program: str, name: str, iterations: int) -> str:
        start, size = [*command, str(self._files[program])], SIZES[name]
        limits = ["-m", f"{size}:{size}"] if size is not None and "-m" in output([*start, "-h"]).split() else []
        return output([*start, "-i", str(iterations), "-x", str(iterations), *limits])

    def _value(self, name: str, rows: list[list[str]]) -> float | None:
        size = SIZES[name]
        return next((float(row[0 if size is None else 1]) for row in rows if size is None or row[0] == str(size)), None)


class Imb(Build):
    """The Intel MPI Benchmarks."""

    name = "IMB"
    programs: ClassVar = {"IMB-MPI1": (*SIZES,)}
    _OF: ClassVar = {"latency0": "PingPong", "latency8": "PingPong", "bandwidth": "Uniband", "allreduce": "Allreduce", "barrier": "Barrier"}

    def _said(self, command: list[str], program: str, name: str, iterations: int) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as sizes:
            sizes.write(f"{SIZES[name] or 0}\n")
            sizes.flush()
            options = ["-npmin", "1000000", "-iter", str(iterations), "-iter_policy", "off", "-msglen", sizes.name]
            return output([*command, str(self._files[program]), *options, self._OF[name]])

    def _value(self, name: str, rows: list[list[str]]) -> float | None:
        if name == "barrier":  # repetitions, least, greatest, mean
            return next((float(row[3]) for row in rows if len(row) == 4 and row[0].isdigit()), None)
        column = 4 if name == "allreduce" else 2  # bytes, repetitions, then: least, greatest, mean; the time; MB/s
        return next((float(row[column]) for row in rows if len(row) > column and row[0] == str(SIZES[name])), None)
