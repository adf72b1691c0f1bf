"""Which MPI a program loads, and which launcher starts its ranks."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from steppe_bridge.errors import Mistake, quoted

KINDS = {"mpich": "MPICH", "openmpi": "Open MPI", "abi": "standard ABI"}
LIBRARIES = {  # Intel's, Cray's and MVAPICH's libraries have the ABI of MPICH
    "abi": r"libmpi_abi\.so\.\d+",
    "openmpi": r"libmpi\.so\.40",
    "mpich": r"lib(mpi|mpich|mpi_(?!abi)\w+)\.so\.12",
}
ANY_LIBRARY = r"lib(mpi|mpich|mpi_abi)\.so\.\d+"
LAUNCHERS = {"openmpi": "Open MPI|prte|PRRTE", "mpich": r"HYDRA|MPICH|MVAPICH|Intel\(R\) MPI"}


def find_program(name: str) -> str:
    """The program as `env` finds it: on the PATH, by its path, or in the working folder.

    Raises
    ------
    Mistake
        It is not there, not executable, or its name would be an assignment for `env`.
    """
    found = next((each for each in (name, f"./{name}") if shutil.which(each)), None)
    if found is None:
        reason = "is not executable" if Path(name).is_file() else f'is not found on the PATH or in "{Path.cwd()}"'
        raise Mistake(f'The program "{name}" {reason}.')
    if "=" in found:
        raise Mistake(f'The program "{name}" cannot be started: its name must not contain "=".')
    return found


def kind_of_program(program: str) -> str:
    """The kind of MPI that a compiled program loads, "" if it is a script or loads MPI later.

    Raises
    ------
    Mistake
        The program is static, or loads an MPI that no preload library serves.
    """
    path = shutil.which(program) or program
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return ""
    said = _output(["ldd", path])
    if re.search("not a dynamic executable|statically linked", said):
        raise Mistake(f'"{path}" is a static program: nothing can be preloaded into it. Link it with the shared library of MPI.')
    names = re.findall(r"^\s*(\S+)", said, re.MULTILINE)
    for kind, pattern in LIBRARIES.items():
        if any(re.fullmatch(pattern, name) for name in names):
            return kind
    if other := next((name for name in names if re.fullmatch(ANY_LIBRARY, name)), None):
        raise Mistake(f'"{path}" loads {other}, which the bridge does not serve. It serves libmpi.so.12, libmpi.so.40 and libmpi_abi.so.')
    return ""


def named_command(named: str, option: str = "--{}", folder: str = ".") -> list[str] | None:
    """The words of the command that is `named`, else of STEPPE_MPIEXEC; None if there is no such name.

    option: how the user writes an option of a site. folder: where the command is started.

    Raises
    ------
    Mistake
        It is not there, or has a quote that is not closed.
    """
    where, otherwise = (option.format("mpiexec"), "leave it out") if named else ("STEPPE_MPIEXEC", "unset it")
    named = named or os.environ.get("STEPPE_MPIEXEC", "")
    try:
        words = shlex.split(named)
    except ValueError:
        raise Mistake(f"The command {named} has a quote that is not closed. Correct {where}, or {otherwise}.") from None
    if named and not (words and shutil.which(os.path.join(folder, words[0]) if "/" in words[0] else words[0])):
        raise Mistake(f'The command "{named}" is not found. Correct {where}, or {otherwise}.')
    return words or None


def find_launcher(program: str, kind: str, named: str, option: str = "--{}") -> tuple[list[str], str]:
    """The command that starts ranks, without -n, and the kind of MPI.

    kind: as given, else what the program loads, else what the launcher belongs to. The launcher: `named`, else STEPPE_MPIEXEC, else
    mpiexec beside this Python, else on the PATH, else srun in an allocation; one that was not named is passed over if it does not fit.
    option: how the user writes an option of a site.

    Raises
    ------
    Mistake
        There is none, the named one belongs to another MPI, or nothing shows the kind.
    """
    kind = kind or kind_of_program(program)
    chosen = named_command(named, option)
    places = [[f"{sys.prefix}/bin/mpiexec"], ["mpiexec"], *([["srun"]] if "SLURM_JOB_ID" in os.environ else [])]
    seen = []
    for command in [chosen] if chosen else places:
        if shutil.which(command[0]):
            of = _kind_of_launcher(command)
            if of == kind or "" in (of, kind) or kind == "abi":
                if not kind and not of:
                    known = f"{option.format('mpi')}: {', '.join(KINDS)}"
                    raise Mistake(f'Neither "{program}" nor "{command[0]}" shows which MPI is loaded. Give {known}.')
                return _with_options(command, of), kind or of
            seen.append(f"{shlex.join(command)} of {KINDS[of]}")
    found = f"Found: {quoted(seen)}." if seen else "There is no mpiexec beside this Python or on the PATH."
    name_it = f"Name it with {option.format('mpiexec')}."
    raise Mistake(f'There is no launcher for {KINDS.get(kind, "MPI")}, which "{program}" loads. {found} {name_it}')


def _kind_of_launcher(command: list[str]) -> str:
    said = "" if Path(command[0]).name == "srun" else _output([command[0], "--version"])
    return next((kind for kind, words in LAUNCHERS.items() if re.search(words, said)), "")


def _with_options(command: list[str], kind: str) -> list[str]:
    """With what Open MPI needs to start more ranks than cores, and not to bind two sites of one host to the same core."""
    if kind != "openmpi" or len(command) > 1:
        return command
    return [*command, "--oversubscribe", "--bind-to", "none", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


def _output(command: list[str]) -> str:
    plain = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, env=plain, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
