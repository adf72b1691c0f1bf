"""A build of the OSU micro-benchmarks, any version from 5: its programs run as they are."""

from pathlib import Path

from benchmarks.figures import MissingPeer
from benchmarks.rounds import output

PROGRAMS = {  # program: series with the size in bytes of its line
    "osu_latency": {"latency0": 0, "latency8": 8},
    "osu_bw": {"bandwidth": 1 << 20},
    "osu_allreduce": {"allreduce": 8},
    "osu_barrier": {"barrier": None},
}
BETWEEN_TWO = ("osu_latency", "osu_bw")


class Osu:
    """The programs below a folder.

    Raises
    ------
    MissingPeer
        Some are not there.
    """

    def __init__(self, folder: Path) -> None:
        self._files: dict[str, Path] = {}
        for program in PROGRAMS:
            files = [file for file in sorted(folder.rglob(program)) if file.is_file()]
            if not files:
                raise MissingPeer(f'There is no {program} below "{folder}": give the folder of an OSU build.')
            self._files[program] = files[0]
        lines = output(["ldd", str(self._files["osu_latency"])]).splitlines()
        self.library = next((line.split()[2] for line in lines if line.split()[0].startswith("libmpi.")), "no shared MPI library")

    def belongs_to(self, library: Path) -> bool:
        """Whether the programs use that library."""
        return Path(self.library).resolve() == library.resolve()

    def means(self, command: list[str], ranks: int, iterations: int) -> dict[str, list[float]]:
        """The mean [s] of each series, which is all that its programs tell. command: mpiexec with its options."""
        found: dict[str, list[float]] = {}
        for program, series in PROGRAMS.items():
            if ranks > 2 and program in BETWEEN_TWO:
                continue
            asked = str(iterations // 1000 + 1 if program == "osu_bw" else iterations)
            start = [*command, str(self._files[program])]
            sizes = [size for size in series.values() if size is not None]
            limits = ["-m", f"{min(sizes)}:{max(sizes)}"] if sizes and "-m" in output([*start, "-h"]).split() else []
            said = output([*start, "-i", asked, "-x", asked, *limits])
            rows = [line.split() for line in said.splitlines() if line.strip() and not line.startswith("#")]
            for name, size in series.items():
                values = [float(row[0 if size is None else 1]) for row in rows if size is None or row[0] == str(size)]
                if not values:
                    raise MissingPeer(f"{program} does not tell of {name}:\n{said}")
                found[name] = [size / (values[0] * 1e6) if program == "osu_bw" and size else values[0] * 1e-6]
        return found
