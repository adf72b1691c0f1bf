"""The loops of `steppe measure kernels` beside the same ones compiled by cc -O3 -march=native: in one process, on one core, in turn."""

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, MissingPeer
from benchmarks.rounds import alternate, pinned, ratio
from steppe.measure.processor import streams as ours
from steppe.measure.processor.arithmetic import ADDEND, DEPTH, FACTOR, multiply_add_of
from steppe.measure.timing.machine import largest_cache
from steppe.measure.timing.system import addresses

ENOUGH = 0.8  # of the C compiler's rate
ROUNDS, QUICK_ROUNDS = 31, 7
SWEEPS, STEPS, READS = 10_000, 20_000, 300_000
IN_CACHE, DEPTH_IN_C = 1_024, 8  # numbers of the loop in C, and how deep it goes: what its compiler makes the most of
SOURCE = Path(__file__).with_name("kernels.c")


def figures(quick: bool) -> list[Figure]:
    """Rates in units of the C compiler's."""
    with tempfile.TemporaryDirectory() as folder, pinned():
        peer = _build(Path(folder))
        found = []
        for name, (mine, theirs, agree) in _pairs(peer).items():
            samples = alternate({"steppe": _timed(mine), "cc": _timed(theirs)}, QUICK_ROUNDS if quick else ROUNDS)
            if not agree():
                raise MissingPeer(f"{name}: the two loops do not compute the same.")
            each = ratio(samples["cc"], samples["steppe"])
            best = min(samples["cc"]) / min(samples["steppe"])
            found.append(Figure(name, each.value, "x cc", at_least=ENOUGH, note=f"{each.spread}; best by best {best:.3g}", samples=samples))
        return found


def _build(folder: Path) -> ctypes.CDLL:
    built = folder / "kernels.so"
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(built), str(SOURCE)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingPeer(f"`{' '.join(command)}` failed: {getattr(error, 'stderr', None) or error}") from None
    peer = ctypes.CDLL(str(built))
    peer.chase.restype = peer.gather.restype = ctypes.c_int64
    return peer


def _timed(run: Callable[[], object]) -> Callable[[], float]:
    def seconds() -> float:
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin

    return seconds


def _both_give(a: NDArray[np.float64], value: float, *loops: Callable[[], object]) -> bool:
    """Whether each of the loops fills `a` with a value."""
    right = True
    for loop in loops:
        a[:] = 0.0
        loop()
        right &= bool((a == value).all())
    return right


def _pairs(peer: ctypes.CDLL) -> dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[], bool]]]:
    """Name -> our loop, theirs, and whether they agree. Arrays are larger than the caches together."""
    n = max(1 << 22, largest_cache() // 8)
    a, b, c = (np.full(n, 1.0 + i) for i in range(3))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
    f = addresses()
    found: dict[str, Any] = {}
    for name, value in (("copy", 2.0), ("scale", 6.0), ("add", 5.0), ("triad", 11.0)):
        mine = partial(getattr(ours, name), f, a, b, c)
        theirs = partial(getattr(peer, name), *pointers, ctypes.c_size_t(n))
        found[name] = (mine, theirs, partial(_both_give, a, value, mine, theirs))
    links = np.zeros((1 << int(np.log2(max(1 << 16, largest_cache() // 32))), 8), np.int64)
    ours.ring(links, 1)
    at = ctypes.c_void_p(links.ctypes.data)
    long, lines = ctypes.c_int64, ctypes.c_uint64(len(links))
    starts = iter(np.random.default_rng(3).integers(0, len(links), 10_000).tolist())  # nobody goes where somebody just went
    found["random reads, each after the last"] = (
        lambda: ours.chase(links, next(starts), STEPS),
        lambda: peer.chase(at, long(next(starts)), long(STEPS)),
        lambda: ours.chase(links, 5, STEPS) == peer.chase(at, long(5), long(STEPS)),
    )
    seeds = iter(range(1, 1_000_000))
    found["random reads, independent"] = (
        lambda: ours.gather(links, next(seeds), READS),
        lambda: peer.gather(at, ctypes.c_uint64(next(seeds)), long(READS), lines),
        lambda: ours.gather(links, 5, READS) == peer.gather(at, ctypes.c_uint64(5), long(READS), lines),
    )
    for name, real, number in (("double", np.float64, ctypes.c_double), ("single", np.float32, ctypes.c_float)):
        multiply, x = multiply_add_of(real)
        y, loop = np.full(IN_CACHE, 0.5, real), getattr(peer, f"multiply_add_{name}")
        same_work = SWEEPS * DEPTH * x.size // (DEPTH_IN_C * IN_CACHE)
        arguments = (ctypes.c_void_p(y.ctypes.data), ctypes.c_size_t(y.size), number(FACTOR), number(ADDEND), ctypes.c_size_t(same_work))
        both = partial(_all_near_1, x, y)
        found[f"multiply-add, {name}"] = (partial(multiply, SWEEPS), partial(loop, *arguments), both)
    return found


def _all_near_1(*arrays: NDArray[Any]) -> bool:
    """Whether the numbers came to the fixed point."""
    return all(bool(np.allclose(array, 1.0, rtol=1e-3)) for array in arrays)
