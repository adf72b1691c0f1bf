"""The bridge beside MPI without it and beside plain TCP through the same delay, in turn: latency, rate, collectives, overlap, start.

Then links that are limited: several connections, as the doctor chooses them, and compression; each beside the bridge without.
"""

import re
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from tests.bridge.wan import start_wan
from tests.bridge.worlds import MPICH, free_port

from benchmarks.figures import Figure, MissingPeer
from benchmarks.rounds import output
from steppe.comm import find_library, find_mpiexec

SOURCE = Path(__file__).parent / "programs" / "bridge_ranks.c"
BRIDGE = str(MPICH.mpiexec.parent / "steppe-bridge")
LONGEST = 30  # [s] of one start of a program
LATENCIES = {0: ("8 1000 1", None), 5: ("8 20 1", 1.02), 20: ("8 10 1", 1.005), 80: ("8 4 1", 1.005)}  # D [ms] -> arguments, limit
RATES = {20: "8388608 4", 100: "8388608 8"}  # R [MB/s]
COLLECTIVES = "barrier 200 allreduce 200 broadcast 1024 30"
LIMITED = 5e6  # [bytes/s] of each connection, an eighth of 40 MB/s
MIXED = {"smooth": "8388608 10", "noise": "8388608 6"}  # at 20 MB/s
PAPER = "paper 002 (PACX, 1 of 40 ms):"  # ../shared/reference/pacx_tables.json
Samples = dict[str, list[float]]


def figures(quick: bool) -> list[Figure]:
    """All of them; the programs of a round follow each other at once, and every other round goes backwards."""
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "bridge_ranks")
        output([str(MPICH.compiler), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-o", program, str(SOURCE), "-lm"])
        found: Samples = defaultdict(list)
        found["connections"] = [_chosen(folder)]
        for number in range(2 if quick else 15):
            _round(program, found, bool(number % 2))
    return _judge(found)


def _numbers(command: list[str]) -> dict[str, float]:
    """What a program prints: name -> value, the median where it comes several times."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        raise MissingPeer(f"`{' '.join(command)}` has not ended after {LONGEST} s.") from None
    if done.returncode:
        raise MissingPeer(f"`{' '.join(command)}` failed with exit code {done.returncode}.\n{done.stderr[-2000:]}")
    values: Samples = defaultdict(list)
    for line in done.stdout.splitlines():
        name, value = line.split()
        values[name].append(float(value))
    return {name: float(np.median(each)) for name, each in values.items()}


def _chosen(folder: str) -> float:
    """The connections that the doctor recommends where each is limited."""
    port, key = free_port(), f"{folder}/key"
    output([BRIDGE, "key", key])
    with start_wan(port, 0.005, rate_each=LIMITED) as wan:
        first = subprocess.Popen([BRIDGE, "doctor", "--listen", f"127.0.0.1:{port}", "--key", key], stdout=subprocess.PIPE, text=True)
        said = output([BRIDGE, "doctor", "--join", f"127.0.0.1:{wan.port}", "--key", key])
        first.communicate(timeout=LONGEST)
    found = re.search(r"Use --connections (\d+)", said)
    if not found:
        raise MissingPeer(f"The doctor of the bridge names no number of connections: {said}")
    return float(found[1])


def _plain(program: str, ranks: int, words: str) -> dict[str, float]:
    return _numbers([*find_mpiexec(find_library()), "-n", str(ranks), program, *words.split()])


def _round(program: str, found: Samples, backwards: bool) -> None:
    """Adds one sample to each series."""

    def keep(case: str, numbers: dict[str, float]) -> None:
        for name, value in numbers.items():
            found[f"{case} {name}"].append(value)

    def across(case: str, ranks: tuple[int, int], words: str, raw: str = "", options: str = "", delay: float = 0.0, **limit: float) -> None:
        """A world of two sites; before or after it a TCP connection through the same proxy."""
        port = free_port()
        with start_wan(port, delay, **limit) as wan:
            sites = [f"a=local:{ranks[0]},listen=127.0.0.1:{port}", f"b=local:{ranks[1]},join=127.0.0.1:{wan.port}"]
            bridge = [
                BRIDGE,
                "run",
                "-q",
                "--no-prefix",
                *options.split(),
                "--site",
                sites[0],
                "--site",
                sites[1],
                "--",
                program,
                *words.split(),
            ]
            tcp = [program, "tcp", str(port), str(wan.port), *raw.split()]
            commands = {"tcp": tcp, "bridge": bridge} if raw else {"bridge": bridge}
            got = {}
            try:
                for way in [*reversed(commands)] if backwards else commands:
                    begin = time.monotonic()
                    got[way] = _numbers(commands[way])
                    if "started" in got[way]:
                        got[way]["started"] -= begin
            except MissingPeer as missing:
                print(f"{case}: {missing}", flush=True)
                found["failed"].append(1.0)  # this round counts in no series of the case
                return
        for way, numbers in got.items():
            keep(f"{case} {way}", numbers)

    inside = "pingpong 0 1 8 40 500 " + 3 * "bandwidth 0 1 4194304 32 "
    for bridged in (True, False) if backwards else (False, True):
        across("inside", (2, 1), inside) if bridged else keep("inside plain", _plain(program, 2, inside))
    free = " bandwidth 0 1 8388608 16 bandwidth 0 1 8388608 16"
    for ms, (arguments, _) in LATENCIES.items():
        ping = f"pingpong 0 1 {arguments}"
        more = {0: free, 5: f" {COLLECTIVES}", 20: " overlap 0.04 8"}.get(ms, "")
        across(f"{ms} ms", (1, 1), ping + more, ping + (free if ms == 0 else ""), delay=ms / 1e3)
    for rate, arguments in RATES.items():
        across(f"{rate} MB/s", (1, 1), f"bandwidth 0 1 {arguments}", f"bandwidth 0 1 {arguments}", delay=0.005, rate=rate * 1e6)
    for content, arguments in MIXED.items():
        for compress in ("never", "auto")[:: -1 if backwards else 1]:
            words = f"{content} bandwidth 0 1 {arguments}"
            across(f"{content} {compress}", (1, 1), words, options=f"--compress {compress}", delay=0.005, rate=20e6)
    for connections in (1, int(found["connections"][0]))[:: -1 if backwards else 1]:
        options = f"--connections {connections}"
        across(f"{connections} connections", (1, 1), "bandwidth 0 1 8388608 4", options=options, delay=0.005, rate_each=LIMITED)
    across("2+2", (2, 2), "beside 2", delay=0.005, rate=20e6)
    across("start", (2, 2), "started broadcast 1024 10", "pingpong 0 1 8 10 1", delay=0.02)
    begin = time.monotonic()
    keep("start plain", {"started": _plain(program, 2, "started")["started"] - begin})


def _judge(found: Samples) -> list[Figure]:
    """The series as figures: medians of differences or ratios of the rounds."""

    def figure(name: str, values: object, unit: str, series: tuple[str, ...], note: str = "", **target: float) -> Figure:
        low, value, high = np.quantile(np.asarray(values, dtype=float), (0.25, 0.5, 0.75))
        medians = ", ".join(f"{key} {np.median(found[key]):.5g}" for key in series)
        words = "; ".join(filter(None, [f"quartiles {low:.4g} to {high:.4g}", medians, note]))
        return Figure(name, float(value), unit, note=words, samples={key: found[key] for key in series}, **target)

    def pair(case: str, name: str, other: str = "tcp") -> tuple[str, str]:
        return f"{case} bridge {name}", f"{case} {other} {name}"

    failed = len(found.pop("failed", []))
    of = defaultdict(lambda: np.array([np.nan]), {name: np.array(values) for name, values in found.items()})
    ours, theirs = pair("inside", "pingpong", "plain")
    more = figure("inside a site: 8 B one way, more", of[ours] - of[theirs], "us", (ours, theirs), f"{PAPER} +3 us of 16", at_most=0.1)
    ours, theirs = pair("inside", "bandwidth", "plain")
    rate = figure("inside a site: 4 MiB, with / without", of[ours] / of[theirs], "x", (ours, theirs), f"{PAPER} 0.97", at_least=0.99)
    rows = [more, rate]
    for ms, (_, limit) in LATENCIES.items():
        ours, theirs = pair(f"{ms} ms", "pingpong")
        if limit:
            rows.append(figure(f"across, D = {ms} ms: 8 B one way / TCP", of[ours] / of[theirs], "x", (ours, theirs), at_most=limit))
        else:
            rows.append(figure("across, D = 0: 8 B one way beyond TCP", of[ours] - of[theirs], "us", (ours, theirs), at_most=40.0))
    one_way = "5 ms tcp pingpong"
    for name, paper in (("barrier", " 3.9"), ("allreduce", ""), ("broadcast", " 4")):
        ours = f"5 ms bridge {name}"
        note = f"{PAPER}{paper}" if paper else ""
        rows.append(figure(f"{name}, 1+1, D = 5 ms / one way", of[ours] / of[one_way], "x", (ours, one_way), note, at_most=1.05))
    ours, theirs = "start bridge broadcast", "start tcp pingpong"
    rows.append(figure("broadcast, 2+2, D = 20 ms / one way", of[ours] / of[theirs], "x", (ours, theirs), at_most=1.05))
    for limit, _ in RATES.items():
        ours, theirs = pair(f"{limit} MB/s", "bandwidth")
        reached = f"of TCP {np.median(of[ours] / of[theirs]):.3f}; {PAPER} 0.15 MB/s"
        rows.append(figure(f"8 MiB, D = 5 ms / {limit} MB/s", of[ours] / limit, "x", (ours, theirs), reached, at_least=0.95))
    ours, theirs = pair("0 ms", "bandwidth")
    rows.append(figure("8 MiB without limit / TCP", of[ours] / of[theirs], "x", (ours, theirs), at_least=0.5))
    for content, least in (("smooth", 1.5), ("noise", 0.98)):
        ours, theirs = (f"{content} {compress} bridge bandwidth" for compress in ("auto", "never"))
        rows.append(figure(f"{content} at 20 MB/s: zstd / without", of[ours] / of[theirs], "x", (ours, theirs), at_least=least))
    chosen = int(found["connections"][0])
    ours, theirs = (f"{connections} connections bridge bandwidth" for connections in (chosen, 1))
    rows.append(
        figure(f"{chosen} connections of 5 MB/s, chosen by the doctor / one", of[ours] / of[theirs], "x", (ours, theirs), at_least=3.0)
    )
    most = 10.0 + 65536 / 20e3
    trip, stream = of["2+2 bridge beside"] / 1e3, "2+2 bridge streamed"
    rows.append(figure("8 B there and back beside a stream, 20 MB/s, D = 5 ms", trip, "ms", (stream,), "2+2", at_most=most))
    overlap = "20 ms bridge overlap"
    rows.append(figure("allreduce behind work of 2 D / work", of[overlap], "x", (), "D = 20 ms, 1+1", at_most=1.1))
    ours, theirs = pair("start", "started", "plain")
    rows.append(figure("start of 2+2, D = 20 ms, beyond one launch", of[ours] - of[theirs], "s", (ours, theirs), at_most=1.0))
    return [*rows, Figure("programs that failed or hung", failed, at_most=0.0)]
