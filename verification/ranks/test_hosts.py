"""Ranks on two hosts: this one and a network namespace with a cable between them, each with a name of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.another_host import AnotherHost, another_host
from tests.comm.mpis import ROOT
from tests.engine.test_simulation import digest
from tests.scenario import copied, make_scenario

from steppe.comm import find_library, find_mpiexec
from steppe.comm.launch import Library

# What mpiexec begins commands on other hosts with, instead of rsh: the host comes first.
THERE = """#!/bin/sh
host=$1; shift
exec {launcher} unshare --uts sh -c "hostname $host; $*"
"""
RUN = [sys.executable, "-m", "steppe", "run", "--quiet"]
ASSEMBLY = [sys.executable, str(ROOT / "examples/assembly.py"), "--side", "40", "--ordered"]


TRANSPORT = """
model = "transport"
[time]
start = 2000-01-01
end = 2000-01-02
step = "3 hours"
[grid]
gaussian = 32
[parameters]
wind = "divergent"
levels = "L18"
[parameters.tracers]
hills = "hills"
slotted = "slotted"
[output]
path = "out"
variables = ["hills", "slotted"]
every = "6 hours"
reduce = "last"
[[output.series]]
name = "mass"
variables = ["column_hills", "column_slotted"]
every = "3 hours"
reduce = "last"
"""


def test_ranks_of_two_hosts_make_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = make_scenario(tmp_path / "whole", (26, 27))
    apart = copied(whole, tmp_path / "apart")
    subprocess.run([*RUN, str(whole)], check=True, timeout=300)
    done = run_on_two_hosts(tmp_path, 2, *RUN, str(apart), "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert digest(apart.parent / "out") == digest(whole.parent / "out")


def test_parcels_that_come_from_another_host_make_the_same_bytes(tmp_path: Path) -> None:
    """Wind and tracers lie in global arrays, whose pages cross the cable."""
    for name in ("whole", "apart"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.toml").write_text(TRANSPORT)
    subprocess.run([*RUN, str(tmp_path / "whole/run.toml")], check=True, timeout=300)
    done = run_on_two_hosts(tmp_path, 2, *RUN, str(tmp_path / "apart/run.toml"), "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "apart/out") == digest(tmp_path / "whole/out")


def test_arrays_of_two_hosts_are_assembled_to_the_same_bits(tmp_path: Path) -> None:
    alone = subprocess.run(ASSEMBLY, capture_output=True, text=True, check=True, timeout=300).stdout
    done = run_on_two_hosts(tmp_path, 2, *ASSEMBLY)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("digest ")[1] == alone.split("digest ")[1]


COUNTED = """
import sys
import numpy as np
from steppe.arrays import GlobalArray, MemoryFile, open_world
with open_world() as world:
    n, block = 10_000, 1000
    array = GlobalArray(world, n, "int64")
    array.sync()
    random = np.random.default_rng(world.rank)
    for _ in range(20):
        array.update(random.integers(0, n, 5000), 1)
    tickets = GlobalArray(world, 1, "int64")
    tickets.sync()
    mine = [int(tickets.update(0, 1, fetch=True)) for _ in range(200)]
    array.sync()
    total, everyones = int(array[:].sum()), world.gather(np.array(mine))
    with MemoryFile(sys.argv[1], "w", world, size=block * world.size) as file:
        file.write_at(np.array([world.rank * block]), np.array([block]), np.full(block, world.rank + 1, np.uint8))
    if world.rank == 0:
        print(total, sorted(np.concatenate(everyones)) == list(range(200 * world.size)), "bytes between hosts", array.traffic.sent)
"""


def test_updates_tickets_and_a_file_cross_the_cable(tmp_path: Path) -> None:
    program, file = tmp_path / "counted.py", tmp_path / "file"
    program.write_text(COUNTED)
    done = run_on_two_hosts(tmp_path, 2, sys.executable, str(program), str(file))
    assert done.returncode == 0, done.stderr
    total, complete, *_, crossed = done.stdout.split()
    assert (int(total), complete) == (4 * 20 * 5000, "True")
    assert int(crossed) > 100_000, "the hosts have no memory in common"
    assert file.read_bytes() == b"".join(bytes([rank + 1]) * 1000 for rank in range(4))


MEASURE = """
import json
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.timing.rank_places import pairs, places_of
from steppe.measure.messages.plan import PING_PONG, Task
raw = open_raw(find_launch())
places = places_of(raw)
messages = Messages(raw, 0.05, 2.0, 64)
((placement, pair),) = pairs(places)
found = messages.measure(Task("point-to-point", "point-to-point", PING_PONG, 2, 8, pair, placement))
messages.clocks.burst()
if raw.rank == 0:
    clock = messages.clocks.lines()[1]
    print(json.dumps(dict(placement=found.placement, time=found.statistics.median, offset=clock.offset, bound=clock.offset_bound)))
raw.close()
"""


def test_ranks_of_two_hosts_are_measured_as_such(tmp_path: Path) -> None:
    """The hosts are one machine, whose steady clock both have, and whose memory the library may find: nothing is said of how fast."""
    program = tmp_path / "measure.py"
    program.write_text(MEASURE)
    done = run_on_two_hosts(tmp_path, 1, sys.executable, str(program))
    assert done.returncode == 0, done.stderr
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    print(f"between hosts: {found['time'] * 1e6:.3g} us, clocks {found['offset'] * 1e6:+.2g} us apart +- {found['bound'] * 1e6:.2g}")
    assert found["placement"] == "other node"
    assert abs(found["offset"]) < found["bound"]
    assert found["bound"] < 1e-3


def run_on_two_hosts(folder: Path, each: int, *program: str) -> subprocess.CompletedProcess[str]:
    """Runs a program as `each` ranks on both hosts, this one first."""
    library = find_library()
    if library.name != "MPICH":
        pytest.skip("The options of its mpiexec are MPICH's.")
    with another_host("ranks") as there:
        command = [*_mpiexec(library, there, folder, each), *program]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def _mpiexec(library: Library, there: AnotherHost, folder: Path, each: int) -> list[str]:
    """Words before a program that is to run as `each` ranks on both hosts."""
    hosts = here, _ = there.address, there.address.removesuffix("1") + "2"
    launcher = folder / "there"
    launcher.write_text(THERE.format(launcher=there.launcher))
    launcher.chmod(0o755)
    mpiexec = [*find_mpiexec(library), "-launcher", "rsh", "-launcher-exec", str(launcher), "-iface", "ranks-here"]
    named = ["unshare", "--uts", "sh", "-c", f'hostname {here}; exec "$@"', "sh"]  # they call each other by their names
    return [*named, *mpiexec, "-hosts", ",".join(f"{host}:{each}" for host in hosts), "-n", str(2 * each)]
