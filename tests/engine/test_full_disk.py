"""A run whose disk fills up: said before it starts, said when it happens, and it goes on when there is space."""

import shutil
from pathlib import Path

import pytest

import steppe
from steppe.cli import run_command
from steppe.engine import Simulation
from steppe.errors import Exit, Failure, NoSpaceError
from steppe.io import Progress
from tests.engine.test_simulation import digest
from tests.scenario import copied
from tests.small_disk import fill, mount_small_disk, resize

COMMAND = ["--quiet", "--set", "engine.checkpoint=20 days"]


@pytest.mark.parametrize("part", [0.4, 0.8, 0.95])
def test_a_full_disk_ends_a_run_and_with_space_it_goes_on(made_scenario: Path, tmp_path: Path, capfd, part: float) -> None:
    """A disk too small for the store, for its first records, for a later checkpoint."""
    run_file = copied(made_scenario, tmp_path / "small")
    out, roomy = run_file.parent / "out", tmp_path / "roomy"
    command = ["run", str(run_file), *COMMAND]
    undo = mount_small_disk(roomy, "10m")
    try:
        assert run_command([*command, "--output", str(roomy)]) == Exit.DONE
        expected, size = digest(roomy), int(part * shutil.disk_usage(roomy).used)
        with steppe.open(roomy) as found:
            whole = found["water"].load()
    finally:
        undo()
    undo = mount_small_disk(out, str(size))
    try:
        capfd.readouterr()
        assert run_command(command) == Exit.FAILURE
        said = capfd.readouterr().err
        assert said.splitlines()[-1].startswith(f'steppe: "{out}')
        assert said.endswith("cannot be written: No space left on device. Free some space, then start the same command again.\n")
        assert list(out.rglob("*.tmp")) == [] or not (out / "progress.json").exists()
        progress = Progress.read(out)
        if progress:
            with steppe.open(out) as found:
                assert found["water"].equals(whole[: progress.records.get("water", 0)])
        resize(out, "10m")
        assert run_command(command) == Exit.DONE
        assert digest(out) == expected
    finally:
        undo()


def test_a_full_disk_ends_an_ensemble_in_one_sentence(made_scenario: Path, tmp_path: Path, capfd) -> None:
    run_file, table = copied(made_scenario, tmp_path / "small"), tmp_path / "table.csv"
    table.write_text("name,capacity\nsmall,80\nlarge,200\n")
    out, roomy = run_file.parent / "out", tmp_path / "roomy"
    command = ["ensemble", str(run_file), str(table), *COMMAND]
    undo = mount_small_disk(roomy, "10m")
    try:
        assert run_command([*command, "--output", str(roomy)]) == Exit.DONE
        size = int(0.8 * shutil.disk_usage(roomy).used)
    finally:
        undo()
    undo = mount_small_disk(out, str(size))
    try:
        capfd.readouterr()
        assert run_command(command) == Exit.FAILURE
        (said,) = (line for line in capfd.readouterr().err.splitlines() if not line.startswith("The run will write"))
        assert said.startswith(f'steppe: "{out}')
        assert "cannot be written: No space left on device." in said
        resize(out, "10m")
        assert run_command(command) == Exit.DONE
    finally:
        undo()


def test_a_disk_that_is_too_small_is_said_before_the_run(made_scenario: Path, tmp_path: Path, capfd) -> None:
    run_file = copied(made_scenario, tmp_path / "small")
    undo = mount_small_disk(run_file.parent / "out", "200k")
    try:
        arguments = [str(run_file), "--set", 'output.every="1 day"']
        capfd.readouterr()
        assert run_command(["check", *arguments]) == Exit.DONE
        told = capfd.readouterr()
        assert "are free\n" in told.out
        assert told.out.endswith("Nothing else is wrong.\n")
        assert "steppe: The run will write about " in told.err
        run_command(["run", *arguments, "--quiet"])
        said = capfd.readouterr().err.splitlines()[0]
        assert said.startswith("The run will write about ")
        assert f'to "{run_file.parent / "out"}", where ' in said
        assert said.endswith('Free some space, choose another disk, or write less: a longer "every", precision = "12 bits".')
    finally:
        undo()


def test_what_a_run_will_write_is_said_when_it_is_much(made_scenario: Path, tmp_path: Path, capfd, monkeypatch) -> None:
    monkeypatch.setattr("steppe.engine.check.WORTH_SAYING", 10_000)
    run_file = copied(made_scenario, tmp_path / "run")
    for arguments, said in (([], 1), (["--fresh", "--quiet"], 0)):
        assert run_command(["run", str(run_file), *arguments]) == Exit.DONE
        lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("Writes about ")]
        assert len(lines) == said
        assert all(f'to "{run_file.parent / "out"}", where ' in line and line.endswith(" s of one core.") for line in lines)


def test_a_script_whose_records_cannot_be_written_reads_no_state_of_another_step(scenario: Path, monkeypatch) -> None:
    simulation = Simulation(scenario)
    simulation.step(3)
    monkeypatch.setattr(simulation.outputs.writer, "_failure", NoSpaceError("The disk is full."))
    with pytest.raises(NoSpaceError):
        simulation.step(5)
    works = (lambda: simulation.get("water"), lambda: simulation["water"], lambda: simulation.step(5), lambda: simulation.image("water"))
    for work in works:
        with pytest.raises(Failure, match=r"A step failed, .* Open the run again"):
            work()
    simulation.close()


def test_a_script_whose_disk_was_full_goes_on_from_a_checkpoint(made_scenario: Path, tmp_path: Path) -> None:
    run_file = copied(made_scenario, tmp_path / "small")
    expected, out = digest(steppe.run(run_file, tmp_path / "roomy")), run_file.parent / "out"
    undo = mount_small_disk(out, "10m")
    try:
        with Simulation(run_file) as simulation:
            simulation.step(100)
            simulation.checkpoint()
            simulation.step(50)
            fill(out)
            with pytest.raises(NoSpaceError):
                simulation.checkpoint()
            resize(out, "10m")
            with pytest.raises(NoSpaceError):  # of the records that could not be written
                simulation.step()
            simulation.rewind(100)
            simulation.run()
        assert digest(out) == expected
    finally:
        undo()
