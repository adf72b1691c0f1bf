"""Ranks on two hosts: this one and a network namespace with a cable between them, each with a name of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.another_host import AnotherHost, another_host
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


def test_ranks_of_two_hosts_make_the_same_bytes(tmp_path: Path) -> None:
    library = find_library()
    if library.name != "MPICH":
        pytest.skip("The options of its mpiexec are MPICH's.")
    (tmp_path / "whole").mkdir()
    whole = make_scenario(tmp_path / "whole", (26, 27))
    apart = copied(whole, tmp_path / "apart")
    subprocess.run([*RUN, str(whole)], check=True, timeout=300)
    with another_host("ranks") as there:
        command = [*_mpiexec(library, there, tmp_path, 2), *RUN, str(apart), "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert digest(apart.parent / "out") == digest(whole.parent / "out")


MEASURE = """
import json
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.timing.rank_places import as_text, here, of_text, pairs
from steppe.measure.messages.plan import PING_PONG, Task
raw = open_raw(find_launch())
places = [of_text(text) for text in raw.texts(as_text(here()))]
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
    library = find_library()
    if library.name != "MPICH":
        pytest.skip("The options of its mpiexec are MPICH's.")
    program = tmp_path / "measure.py"
    program.write_text(MEASURE)
    with another_host("ranks") as there:
        command = [*_mpiexec(library, there, tmp_path, 1), sys.executable, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    print(f"between hosts: {found['time'] * 1e6:.3g} us, clocks {found['offset'] * 1e6:+.2g} us apart +- {found['bound'] * 1e6:.2g}")
    assert found["placement"] == "other node"
    assert abs(found["offset"]) < found["bound"]
    assert found["bound"] < 1e-3


def _mpiexec(library: Library, there: AnotherHost, folder: Path, each: int) -> list[str]:
    """Words before a program that is to run as `each` ranks on both hosts."""
    hosts = here, _ = there.address, there.address.removesuffix("1") + "2"
    launcher = folder / "there"
    launcher.write_text(THERE.format(launcher=there.launcher))
    launcher.chmod(0o755)
    mpiexec = [*find_mpiexec(library), "-launcher", "rsh", "-launcher-exec", str(launcher), "-iface", "ranks-here"]
    named = ["unshare", "--uts", "sh", "-c", f'hostname {here}; exec "$@"', "sh"]  # they call each other by their names
    return [*named, *mpiexec, "-hosts", ",".join(f"{host}:{each}" for host in hosts), "-n", str(2 * each)]
