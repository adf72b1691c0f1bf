"""Real processes under the installed MPI: the bytes of a run do not depend on how many there are, nor on who was killed when."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.engine.test_simulation import digest
from tests.scenario import EXAMPLES, copied, make_scenario, write_mask

RANKS = (1, 2, 3, 4, 7)
PASTURE = """
model = "pasture"
[time]
start = 1990-01-10
end = 1990-07-05
[grid]
file = "mask.zarr"
[forcing]
store = "weather.zarr"
[parameters]
plant = "mitchell"
soil = "open-downs"
stocking_rate = 0.1
[output]
path = "out"
variables = ["growth", "runoff", "total_standing_dry_matter"]
every = "1 week"
precision = "12 bits"
[[output.series]]
name = "means"
variables = ["growth"]
every = "1 day"
"""
FIELD = """
model = "{model}.py"
[time]
start = 1990-01-10
end = 1990-05-05
[grid]
file = "box.zarr"
[[event]]
date = 1990-01-10
region = {{ box = [144.0, -24.0, 147.0, -21.0] }}
set = {{ {state} = 1.1 }}
[output]
path = "out"
variables = ["{state}"]
every = "1 week"
reduce = "last"
[[output.series]]
name = "means"
variables = ["{state}"]
every = "1 day"
"""
FIELDS = {"diffusion": "concentration", "shallow_water": "h"}
MODELS = ("bucket", "pasture", *FIELDS)


def steppe(run_file: Path, *options: str, ok: tuple[int, ...] = (0,), **environment: str) -> subprocess.CompletedProcess[str]:
    """`steppe run` in a process of its own."""
    command = [sys.executable, "-m", "steppe", "run", str(run_file), "--quiet", *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300, check=False)
    assert done.returncode in ok, done.stderr
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run file for each model, over three tiles of cells."""
    found = {"bucket": make_scenario(tmp_path_factory.mktemp("bucket"), (26, 27))}
    found["pasture"] = copied(found["bucket"], tmp_path_factory.mktemp("pasture"))
    found["pasture"].write_text(PASTURE)
    for model, state in FIELDS.items():
        folder = tmp_path_factory.mktemp(model)
        write_mask(folder / "box.zarr", np.ones((24, 28), bool))
        shutil.copy(EXAMPLES / f"{model}.py", folder)
        found[model] = folder / "run.toml"
        found[model].write_text(FIELD.format(model=model, state=state))
    return found


@pytest.fixture(scope="module")
def whole(made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The digests of a run of each model by one process in one go."""
    found = {}
    for model, run_file in made.items():
        run_file = copied(run_file, tmp_path_factory.mktemp(f"whole-{model}"))
        steppe(run_file)
        found[model] = digest(run_file.parent / "out")
    return found


@pytest.mark.many
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("threads", [1, 2])
def test_ranks_and_threads_do_not_change_a_byte(made, whole, tmp_path, model, ranks, threads):
    run_file = copied(made[model], tmp_path)
    steppe(run_file, "--ranks", str(ranks), "--threads", str(threads))
    assert digest(tmp_path / "out") == whole[model]


@pytest.mark.many
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("first", [1, 2, 3, 7])
@pytest.mark.parametrize("then", [1, 2, 3, 7])
def test_a_checkpoint_of_p_ranks_is_continued_by_q_that_know_no_kernel(made, whole, tmp_path, model, first, then):
    run_file = copied(made[model], tmp_path)
    steppe(run_file, "--ranks", str(first), "--until", "1990-03-03")
    steppe(run_file, "--ranks", str(then), STEPPE_CACHE=str(tmp_path / "cache"))
    assert digest(tmp_path / "out") == whole[model]


KILLED_AFTER = """
import os, signal, sys
import steppe
simulation = steppe.Simulation(sys.argv[1])
simulation.step(int(sys.argv[2]))
simulation.checkpoint()
simulation.step(1)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.many
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("step", range(1, 20))
def test_a_run_of_twenty_steps_killed_after_any_of_them_goes_on(made, tmp_path, model, step):
    run_file = copied(made[model], tmp_path)
    text = run_file.read_text()
    end = text[text.index("end = ") :].split("\n")[0]
    run_file.write_text(text.replace(end, "end = 1990-01-29"))
    straight = copied(run_file, tmp_path / "straight")
    steppe(straight)
    done = subprocess.run([sys.executable, "-c", KILLED_AFTER, str(run_file), str(step)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    steppe(run_file, "--ranks", str(1 + step % 3))
    assert digest(tmp_path / "out") == digest(straight.parent / "out")


KILLED_IN = """
import os, signal, sys
left, victim = int(sys.argv.pop(1)), sys.argv.pop(1)
def counted(function):
    def call(*arguments, **options):
        global left
        left -= 1
        if left == 0 and os.environ["PMI_RANK"] == victim:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
os.fsync, os.pwrite, os.rename, os.replace = map(counted, (os.fsync, os.pwrite, os.rename, os.replace))
from steppe.cli import main
main()
"""


@pytest.mark.many
@pytest.mark.parametrize("seed", range(20))
def test_whichever_rank_is_killed_wherever_the_same_command_goes_on(made, whole, tmp_path, seed):
    from steppe.comm import find_library, find_mpiexec

    chance = random.Random(seed)
    model = chance.choice(("bucket", "pasture"))
    run_file = copied(made[model], tmp_path)
    options = ["run", str(run_file), "--quiet", "--set", "engine.checkpoint=15 days"]
    for _ in range(3):
        ranks = chance.choice((2, 3, 4))
        script = [sys.executable, "-c", KILLED_IN, str(chance.randint(1, 60)), str(chance.randrange(ranks))]
        command = [*find_mpiexec(find_library()), "-n", str(ranks), *script, *options]
        subprocess.run(command, capture_output=True, timeout=120, check=False)
    steppe(run_file, "--ranks", str(chance.choice((1, 2, 3, 7))), "--set", "engine.checkpoint=15 days")
    assert digest(tmp_path / "out") == whole[model]
