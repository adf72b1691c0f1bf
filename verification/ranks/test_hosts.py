"""Ranks on two hosts: this one and a network namespace with a cable between them, each with a name of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.another_host import another_host
from tests.engine.test_simulation import digest
from tests.scenario import copied, make_scenario

from steppe.comm import find_library, find_mpiexec

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
        hosts = here, _ = there.address, there.address.removesuffix("1") + "2"
        launcher = tmp_path / "there"
        launcher.write_text(THERE.format(launcher=there.launcher))
        launcher.chmod(0o755)
        mpiexec = [*find_mpiexec(library), "-launcher", "rsh", "-launcher-exec", str(launcher), "-iface", "ranks-here"]
        command = [*mpiexec, "-hosts", ",".join(f"{host}:2" for host in hosts), "-n", "4", *RUN, str(apart), "--threads", "1"]
        named = ["unshare", "--uts", "sh", "-c", f'hostname {here}; exec "$@"', "sh"]  # they call each other by their names
        done = subprocess.run([*named, *command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert digest(apart.parent / "out") == digest(whole.parent / "out")
