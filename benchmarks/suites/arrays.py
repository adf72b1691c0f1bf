"""Global arrays: beside NumPy's own memory and Global Arrays on one host, beside sorted messages between hosts, and what is never lost.

The peer is Debian's Global Arrays over ARMCI-MPI (`apt-get install libglobalarrays-dev libarmci-mpi-dev`), linked with the MPI library
that Steppe uses; MPI_Get with one flush is timed in the same C program. A native build of Global Arrays may be faster.
"""

import json
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, MissingPeer
from benchmarks.programs.array_ranks import FAR, LENGTH
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, output, ratio
from steppe.comm import find_library, find_mpiexec
from steppe.comm.rank import LIBRARY_THREADS

SOURCE = Path(__file__).parents[1] / "programs" / "global_arrays.c"
SLOW = 100_000  # elements a round of the peers that take 20 times as long
LIBRARIES = [Path("/usr/lib") / sysconfig.get_config_var("MULTIARCH") / f"lib{name}-mpich.a" for name in ("ga", "armci")]


def figures(quick: bool) -> list[Figure]:
    """All figures; two or three ranks each."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return [*_near(rounds), *_far(rounds), *_busy(rounds), *_counts(quick), *_assembly(rounds)]


def told(ranks: int, what: str, number: int) -> dict[str, list[float]]:
    """What so many ranks tell."""
    program = [sys.executable, "-m", "benchmarks.programs.array_ranks", what, str(number)]
    said = output([*find_mpiexec(find_library()), "-n", str(ranks), *program], dict.fromkeys(LIBRARY_THREADS, "1"))
    found: dict[str, list[float]] = json.loads(said.splitlines()[-1])
    return found


def global_arrays(rounds: int) -> dict[str, list[float]]:
    """Nanoseconds an element of the peer in each round.

    Raises
    ------
    MissingPeer
        It is not installed, does not link or does not run.
    """
    library = find_library()
    missing = [str(path) for path in LIBRARIES if not path.exists()]
    if missing or library.name != "MPICH" or library.file is None:
        raise MissingPeer(f"Global Arrays needs MPICH and {', '.join(missing)}: apt-get install libglobalarrays-dev libarmci-mpi-dev")
    home = Path(sys.prefix)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "global_arrays"
        # Its linear algebra is not used, so its libraries need not be there.
        flags = ["-O2", "-no-pie", f"-I{home / 'include'}", "-Wl,--unresolved-symbols=ignore-all", f"-Wl,-rpath,{library.file.parent}"]
        built = subprocess.run(
            ["cc", *flags, str(SOURCE), "-o", str(program), *map(str, LIBRARIES), str(library.file), "-lm", "-lpthread"],
            capture_output=True,
            text=True,
        )
        if built.returncode:
            raise MissingPeer(f"Global Arrays cannot be linked: {built.stderr[-1000:]}")
        said = output([*find_mpiexec(library), "-n", "2", str(program), str(LENGTH), str(SLOW), str(rounds)])
    found: dict[str, list[float]] = {}
    for line in said.splitlines():
        name, _, value = line.partition(" ")
        found.setdefault(name, []).append(float(value))
    return found


def _near(rounds: int) -> Iterator[Figure]:
    """Two ranks of one host. The peer runs between two halves of ours, so that a slow spell counts for both."""
    first, peer, second = told(2, "near", rounds), global_arrays(rounds), told(2, "near", rounds)
    ours = {name: first[name] + second[name] for name in first}
    for name, over, under, most in (("gather", "gather", "take", 1.2), ("update", "update", "add.at", 1.0)):
        value, spread = ratio(ours[over], ours[under])
        note = f"{np.median(ours[over]):.1f} ns / {np.median(ours[under]):.1f} ns, {spread}"
        yield Figure(
            f"{name} / NumPy's {under}, same pages", value, "x", at_most=most, note=note, samples={k: ours[k] for k in (over, under)}
        )
    for name, peers, mine, least in (
        ("NGA_Gather / gather", "gather", "gather", 15.0),
        ("MPI_Get with one flush / gather", "get", "gather", 15.0),
        ("NGA_Scatter_acc / update", "accumulate", "update", 4.0),
    ):
        theirs, own = float(np.median(peer[peers])), float(np.median(ours[mine]))
        yield Figure(name, theirs / own, "x", at_least=least, note=f"{theirs:.0f} ns / {own:.1f} ns", samples={"peer": peer[peers]})
    yield Figure("lost by the peer's additions", peer["lost"][0], at_most=0.0)
    value, spread = ratio(ours["first"], ours["tenth"])
    yield Figure("first gather after creation / tenth", value, "x", at_most=1.05, note=spread)


def _far(rounds: int) -> Iterator[Figure]:
    """Two ranks on two pretended hosts."""
    found = told(2, "far", rounds)
    value, spread = ratio(found["Alltoallv"], found["gather"])
    note = f"{np.median(found['Alltoallv']):.0f} ns / {np.median(found['gather']):.0f} ns, {spread}"
    yield Figure(f"sorted Alltoallv / gather of {FAR:,}, other host", value, "x", at_least=2.0, note=note, samples=found)
    for what in ("", ", few"):
        value, spread = ratio(found[f"cached{what}"], found[f"not cached{what}"])
        name = f"with a cache for a quarter / without{', few of each page' if what else ''}"
        yield Figure(name, value, "x", at_most=1.2, note=spread)


def _busy(rounds: int) -> Iterator[Figure]:
    """One element of another host."""
    echo = bare_echo(200 * rounds)
    found = told(2, "busy", 4 * rounds)
    idle = float(np.median(found["idle"]))
    note = f"{idle:.0f} us / {echo:.0f} us"
    yield Figure("one element / a bare echo of 8 bytes", idle / echo, "x", at_most=4.0, note=note)
    for name, most in (("compiled", 2.0), ("numpy", 2.0), ("python", None)):
        busy, (alone, asked) = float(np.median(found[name])), found[f"{name}, turns"]
        more = f"{busy:.0f} us; the owner's turns {alone:.0f} alone, {asked:.0f} while asked {len(found[name])} times"
        if name == "python":
            more += "; Python's switch interval shows"
        yield Figure(f"one element, owner busy in {name} / idle", busy / idle, "x", at_most=most, note=more)
    yield Figure("CPU time of the owner's serving thread", found["server seconds"][-1], "s")


def bare_echo(times: int) -> float:
    """Microseconds of 8 bytes to a Python process and back, the median."""
    program = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); c, _ = s.accept()\n"
        "c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\nwhile b := c.recv(8): c.sendall(b)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        with socket.create_connection(("127.0.0.1", int(process.stdout.readline()))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found = []
            for _ in range(times):
                begin = time.perf_counter()
                connection.sendall(b"8 bytes.")
                connection.recv(8)
                found.append((time.perf_counter() - begin) * 1e6)
    return float(np.median(found))


def _counts(quick: bool) -> Iterator[Figure]:
    """Three ranks, the first in a kernel meanwhile."""
    found = told(3, "counts", 1 if quick else 10)
    yield Figure("lost of a million increments a rank of 1, 8, 1,024 elements", sum(map(abs, found["lost"])), at_most=0.0)
    yield Figure("different tickets of 300,000", found["different tickets"][0], at_least=300_000.0)
    yield Figure("tasks of 100,000 done once", found["tasks done once"][0], at_least=100_000.0)
    yield Figure(
        "idle at the end of the tasks", found["idle"][0], "%", at_most=2.0, note="mean of three ranks on the cores of this machine"
    )


def _assembly(rounds: int) -> Iterator[Figure]:
    """The load of finite elements, with keys and without."""
    found = told(3, "assembly", rounds)
    value, spread = ratio(found["ordered"], found["fast"])
    yield Figure("assembly with keys / without", value, "x", note=spread, samples=found)
    yield Figure("assembly without keys, difference from one rank", max(found["fast difference"]), at_most=1e-13)
    yield Figure("assembly with keys, difference from one rank", max(found["ordered difference"]), at_most=0.0)
