"""README's Python runs as a cell of a notebook does: more than once in one session."""

import re
from pathlib import Path

from steppe.cli import run_command
from tests.documents.blocks import ROOT, blocks_of


def test_the_python_of_the_readme_runs_twice_on_the_run_of_its_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(ROOT / "README.md")
    (shell,) = [block.text for block in blocks if "steppe new run" in block.text]
    (program,) = [block.text for block in blocks if "steppe.Simulation(" in block.text]
    commands = re.findall(r"^steppe ((?:ingest|new|run run.toml$|run run.toml ).*?)(?: +#.*)?$", shell, re.MULTILINE)
    for command in commands[:3]:
        assert run_command(command.replace("--end 1990-12-31", "--end 1990-03-31").split()) == 0, capsys.readouterr().err
    assert Path("run").is_dir()
    for _ in range(2):
        exec(compile(program, "README.md", "exec"), names := {})
        assert names["growth"].attrs["units"] == names["last"].attrs["units"] == "kg ha-1 d-1"
        assert str(names["last"].time.values)[:10] == "1990-03-31"
        assert names["maps"].dims == ("time", "lat", "lon")


def test_the_first_block_of_the_readme_is_a_script_of_at_most_12_lines_that_needs_no_file():
    first = blocks_of(ROOT / "README.md")[0]
    assert first.kind == "python"
    assert 'steppe.example("pasture")' in first.text
    assert len(first.text.splitlines()) <= 12
    assert not re.search(r"\.toml|\.csv|\.zarr", first.text)
