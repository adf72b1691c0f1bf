"""The documents are true: code in README runs, files that are named exist."""

import re
from pathlib import Path

import pytest

from steppe.cli import run_command

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "requirements").glob("*.md")])


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_in_the_text_exist(page):
    for path in re.findall(r"`((?:src|tests|examples|scripts|docs|requirements|verification|benchmarks)/[\w./-]+)`", page.read_text()):
        assert (ROOT / path).exists(), path


def test_what_the_readme_shows_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (shell,) = [block for block in blocks("sh") if "steppe new run" in block]
    commands = [line.split("#")[0].split() for line in shell.splitlines() if line.startswith("steppe ")]
    assert len(commands) == 6
    for command in commands:
        text = " ".join(command).replace("--end 1999-12-31", "--end 1991-06-30")
        assert run_command(text.split()[1:]) == 0, capsys.readouterr().err
        if "new" in command:
            run_file = Path("run.toml")
            run_file.write_text(run_file.read_text().replace("end = 1999-12-31", "end = 1991-06-30"))
    assert (tmp_path / "run" / "picture.png").stat().st_size > 10_000
    (program,) = blocks("python")
    monkeypatch.setattr("sys.argv", ["readme"])
    for _ in range(2):  # as a cell of a notebook
        exec(compile(program, "README.md", "exec"), names := {})
        assert names["growth"].attrs["units"] == names["last"].attrs["units"] == "kg ha-1 d-1"
        assert str(names["last"].time.values)[:10] == "1991-06-30"
        assert names["maps"].dims == ("time", "lat", "lon")
