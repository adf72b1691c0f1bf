"""What ranks are started with: which MPI a program loads, its launcher, and the parts of the bridge in C."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from steppe_bridge.errors import Mistake, quoted

KINDS = {"mpich": "MPICH", "openmpi": "Open MPI", "abi": "standard ABI"}
LIBRARIES = {  # Intel's, Cray's and MVAPICH's libraries have the ABI of MPICH
    "abi": r"libmpi_abi\.so\.\d+",
    "openmpi": r"libmpi\.so\.40",
    "mpich": r"lib(mpi|mpich|mpi_(?!abi)\w+)\.so\.12",
    "": r"lib(mpi|mpich|mpi_abi)\.so\.\d+",  # which the bridge does not serve
}
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
    loaded = ((kind, name) for kind, pattern in LIBRARIES.items() for name in names if re.fullmatch(pattern, name))
    kind, name = next(loaded, ("", ""))
    if name and not kind:
        raise Mistake(f'"{path}" loads {name}, which the bridge does not serve. It serves libmpi.so.12, libmpi.so.40 and libmpi_abi.so.')
    return kind


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
            said = "" if Path(command[0]).name == "srun" else _output([command[0], "--version"])
            of = next((each for each, words in LAUNCHERS.items() if re.search(words, said)), "")
            if of == kind or "" in (of, kind) or kind == "abi":
                if not kind and not of:
                    known = f"{option.format('mpi')}: {', '.join(KINDS)}"
                    raise Mistake(f'Neither "{program}" nor "{command[0]}" shows which MPI is loaded. Give {known}.')
                return _with_options(command, of), kind or of
            seen.append(f"{shlex.join(command)} of {KINDS[of]}")
    found = f"Found: {quoted(seen)}." if seen else "There is no mpiexec beside this Python or on the PATH."
    found += f" Name it with {option.format('mpiexec')}."
    raise Mistake(f'There is no launcher for {KINDS.get(kind, "MPI")}, which "{program}" loads. {found}')


def _with_options(command: list[str], kind: str) -> list[str]:
    """With what Open MPI needs to start more ranks than cores, and not to bind two sites of one host to the same core."""
    if kind != "openmpi" or len(command) > 1:
        return command
    return [*command, "--oversubscribe", "--bind-to", "none", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


def _output(command: list[str]) -> str:
    plain = {**os.environ, "LC_ALL": "C"}
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, env=plain, capture_output=True, text=True, timeout=10)
        return done.stdout + done.stderr
    return ""


def native_folder() -> Path:
    """STEPPE_BRIDGE_NATIVE, else `native` of the installed package, else `native/build` of the source tree."""
    if named := os.environ.get("STEPPE_BRIDGE_NATIVE"):
        return Path(named).absolute()
    installed = Path(__file__).resolve().parent / "native"
    return installed if installed.is_dir() else installed.parents[1] / "native" / "build"


def find_gateway() -> Path:
    """The gateway; raises a Mistake if it was not built."""
    path = native_folder() / "steppe-bridge-gateway"
    if not os.access(path, os.X_OK):
        help = "`make -C bridge/native` builds it, STEPPE_BRIDGE_NATIVE names its folder"
        raise Mistake(f'"{path}" is missing: the gateway was not built. {help}.')
    return path


def find_preload(kind: str) -> Path:
    """The preload library for a kind of MPI.

    Raises
    ------
    Mistake
        There is none, or LD_PRELOAD cannot hold its name.
    """
    folder = native_folder()
    path = folder / f"libsteppe_bridge_{kind}.so"
    if not path.is_file():
        there = quoted(sorted(each.name for each in folder.glob("libsteppe_bridge_*.so"))) or "none"
        raise Mistake(f'There is no preload library for {KINDS[kind]}: "{path}" is missing. In its folder: {there}.')
    if set(str(path)) & set(" :\n"):
        raise Mistake(f'"{path}" cannot be preloaded: LD_PRELOAD expects a name without spaces and colons. Install the bridge elsewhere.')
    return path
