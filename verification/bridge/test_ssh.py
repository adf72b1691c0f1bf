"""`steppe bridge run` by a real ssh: the other machine is a network of its own, with a server of ssh."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.another_host import AnotherHost
from tests.bridge.worlds import COMMAND, MPICH, compiled

ADDRESS, PORT = "10.213.72.2", 2222
SERVER = """
ListenAddress {address}
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PermitRootLogin yes
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
"""


@pytest.fixture
def ssh(there: AnotherHost, tmp_path: Path) -> Iterator[str]:
    """The command that reaches the other host, without its name."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if server is None or os.geteuid():
        pytest.skip("There is no server of ssh here (openssh-server), or only root can start it.")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    (tmp_path / "sshd.conf").write_text(SERVER.format(address=ADDRESS, port=PORT, folder=tmp_path))
    Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([*there.launcher.split(), server, "-D", "-q", "-f", str(tmp_path / "sshd.conf")])
    try:
        _await_port()
        known = f"-o UserKnownHostsFile={tmp_path}/known -o StrictHostKeyChecking=accept-new"
        yield f"ssh -F none -T -q -o BatchMode=yes {known} -i {tmp_path}/user -p {PORT}"
    finally:
        process.terminate()
        process.wait(10)


def _await_port() -> None:
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection((ADDRESS, PORT), 1.0):
            return
        time.sleep(0.05)
    raise AssertionError("the server of ssh does not answer")


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_two_machines_are_one_world_by_ssh(folder: Path, tmp_path: Path, ssh: str, order: str) -> None:
    program = compiled("storm", MPICH, folder)
    called = f"{sys.executable} -m {COMMAND[-1]}"
    places = {"a": "a=local:2", "b": f"b={ADDRESS}:2,folder={tmp_path},command={called},mpiexec={MPICH.mpiexec}"}
    sites = [word for name in order for word in ("--site", places[name])]
    command = [*COMMAND, "run", "--ssh", ssh, *sites, "--", program, "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"[{order[0]}] 4 ranks, 0 failures\n"
    ranks = ", ".join(f"{name} (2, MPICH)" for name in order)
    assert done.stderr == f"steppe bridge: 4 ranks at 2 sites: {ranks}.\n"
