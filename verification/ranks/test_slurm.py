"""Jobs of a real Slurm on this machine: a cluster of one node and four processors that lives as long as these tests."""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.bridge.built import make
from tests.bridge.worlds import COMMAND
from tests.engine.test_simulation import digest
from tests.scenario import EXAMPLES, write_mask

DAEMONS = ("munged", "slurmctld", "slurmd")
PATIENCE = 180.0  # [s]
NAP = "STEPPE_TEST_NAP"  # in the environment [s]
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
MpiDefault=pmi2
ProctrackType=proctrack/linuxproc
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
RUN = """
model = "diffusion.py"
[time]
start = 1990-01-10
end = 1990-05-05
[grid]
file = "box.zarr"
[[event]]
date = 1990-01-10
region = { box = [144.0, -24.0, 147.0, -21.0] }
set = { concentration = 1.1 }
[output]
path = "out"
variables = ["concentration"]
every = "1 week"
reduce = "last"
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which srun, sbatch and scontrol speak to the cluster."""
    missing = [each for each in DAEMONS if not _found(each)]
    if missing or os.geteuid():
        reason = f"Slurm cannot be started here: {', '.join(missing) or 'only root can'}; Debian's packages are slurm-wlm and munge."
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    folder = Path("/tmp") / f"slurm-{os.getpid()}"  # short: it holds the path of a socket
    for each in (folder, folder / "spool", folder / "state"):
        each.mkdir(mode=0o755)
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    controller, node = _ports(2)
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(folder=folder, host=socket.gethostname().split(".")[0], controller=controller, node=node))
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    of_munge = [f"--{each}-file={folder}/munge.{each}" for each in ("key", "pid", "log", "seed")]
    commands = (
        [_found("munged"), "--foreground", "--force", f"--socket={folder}/munge.socket", *of_munge],
        [_found("slurmctld"), "-D"],
        [_found("slurmd"), "-D"],
    )
    running = []
    try:
        for command in commands:
            running.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            _await(lambda: (folder / "munge.socket").exists())
        _await(lambda: "idle" in _said(["sinfo", "--noheader", "--format=%T"], environment))
        yield environment
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(PATIENCE)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digest of the run by one process."""
    run_file = _run_file(tmp_path_factory.mktemp("whole"))
    subprocess.run([sys.executable, "-m", "steppe", "run", str(run_file), "--quiet"], check=True, timeout=300)
    return digest(run_file.parent / "out")


def test_srun_makes_the_same_bytes(slurm, whole, tmp_path):
    run_file = _run_file(tmp_path)
    done = _srun(slurm, "--mpi=pmi2", run_file)
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "out") == whole


def test_srun_that_is_not_of_the_library_is_refused_before_a_file_is_touched(slurm, tmp_path):
    run_file = _run_file(tmp_path)
    done = _srun(slurm, "--mpi=none", run_file)
    assert done.returncode == 2
    assert "The launcher (Slurm) started 3 processes, but the MPI library" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("signal", "code"), [("USR1", 75), ("KILL", 137)])
def test_a_job_that_is_stopped_or_killed_goes_on_when_it_is_requeued(slurm, whole, tmp_path, signal, code):
    run_file = _run_file(tmp_path)
    script, said = tmp_path / "job.sh", tmp_path / "said"
    script.write_text(
        "#!/bin/sh\n#SBATCH --ntasks=3 --time=00:10:00 --requeue --open-mode=append\n"
        f"srun --mpi=pmi2 {sys.executable} -m steppe run {run_file} --quiet --threads 1\n"
        f'code=$?; echo "code $code"; [ $code -ne {code} ] || scontrol requeue "$SLURM_JOB_ID"; exit $code\n'
    )
    job = _said(["sbatch", "--parsable", f"--output={said}", str(script)], {**slurm, NAP: "0.02"}).strip()
    _await(lambda: (tmp_path / "out" / "progress.json").exists())
    time.sleep(1.0)  # some days
    if signal == "USR1":
        _said(["scancel", "--signal=USR1", job], slurm)  # as Slurm does before the time is over, by #SBATCH --signal=USR1@120
    else:
        _said(["pkill", "-KILL", "-f", f"^{sys.executable} -m steppe run {run_file}"], slurm)
    _await(lambda: "PENDING" in _said(["squeue", "--noheader", "--format=%T", f"--jobs={job}"], slurm))
    assert f"code {code}" in said.read_text()
    assert ("Stopped before" in said.read_text()) == (signal == "USR1")
    assert "finished" not in (tmp_path / "out" / "progress.json").read_text()
    # Slurm lets a requeued job rest for two minutes, since a node refuses one that begins in the second in which it ended
    _said(["scontrol", "update", f"JobId={job}", "StartTime=now+3"], slurm)
    _await(lambda: "code 0" in said.read_text())
    _await(lambda: "COMPLETED" in _said(["scontrol", "show", "job", job], slurm))
    assert digest(tmp_path / "out") == whole


def test_two_jobs_are_the_sites_of_one_bridged_run(slurm, whole, tmp_path):
    run_file = _run_file(tmp_path)
    make("all")
    key, (port,) = tmp_path / "key", _ports(1)
    subprocess.run([*COMMAND, "key", str(key)], check=True)
    ends = {"a": f"--listen 127.0.0.1:{port} --expect a,b", "b": f"--join 127.0.0.1:{port}"}
    for name, end in ends.items():
        site = f"{shlex.join(COMMAND)} site {end} --key {key} --name {name} -n 2 --mpi mpich --mpiexec 'srun --mpi=pmi2' -q"
        script = tmp_path / f"{name}.sh"
        script.write_text(
            f"#!/bin/sh\n#SBATCH --ntasks=2 --time=00:10:00\n{site} -- {sys.executable} -m steppe run {run_file} --quiet --threads 1\n"
            'echo "code $?"\n'
        )
        _said(["sbatch", "--parsable", f"--output={tmp_path}/{name}.said", str(script)], slurm)
    _await(lambda: all("code" in path.read_text() for name in ends if (path := tmp_path / f"{name}.said").exists()) and not _jobs(slurm))
    said = {name: (tmp_path / f"{name}.said").read_text() for name in ends}
    assert said == dict.fromkeys(ends, "code 0\n")
    assert digest(tmp_path / "out") == whole


def _jobs(environment: dict[str, str]) -> str:
    return _said(["squeue", "--noheader", "--format=%i"], environment)


def _run_file(folder: Path) -> Path:
    """The example of diffusion on a box, which rests with each rectangle of a step for so many seconds as the environment says."""
    write_mask(folder / "box.zarr", np.ones((24, 28), bool))
    text = (EXAMPLES / "diffusion.py").read_text()
    nap = f"        __import__('time').sleep(float(__import__('os').environ.get('{NAP}', 0)))\n"
    (folder / "diffusion.py").write_text(text.replace("        (y, x), (c,)", f"{nap}        (y, x), (c,)"))
    (folder / "run.toml").write_text(RUN)
    return folder / "run.toml"


def _srun(environment: dict[str, str], mpi: str, run_file: Path) -> subprocess.CompletedProcess[str]:
    command = ["srun", mpi, "--ntasks=3", sys.executable, "-m", "steppe", "run", str(run_file), "--quiet", "--threads", "1"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


def _said(command: list[str], environment: dict[str, str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False).stdout


def _found(daemon: str) -> str:
    """Where a daemon is; "" when it is not installed."""
    return shutil.which(daemon, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or ""


def _ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    found = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return found


def _await(done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "It took too long."
        time.sleep(0.1)
