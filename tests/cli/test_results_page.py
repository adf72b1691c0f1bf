"""The page on results is true: what it shows runs."""

import re
import shutil
from pathlib import Path

from steppe.errors import Exit

PAGE = Path(__file__).parents[2] / "docs" / "results.md"


def blocks(kind: str) -> list[str]:
    """The code of the page, for the small run of the tests."""
    return [text.replace("growth", "runoff") for text in re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)]


def test_what_the_page_shows_runs(call, finished, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "queensland")
    (program,) = blocks("python")
    exec(compile(program, str(PAGE), "exec"), names := {})
    assert names["maps"].dims == ("lat", "lon")
    assert names["place"].dims == ("time",)
    assert names["means"]["runoff"].dims == ("time", "region")
    (shell,) = blocks("sh")
    commands = shell.splitlines()
    assert len(commands) == 6
    for command in commands:
        assert call(*command.split()[1:])[0] == Exit.DONE, command
    assert {path.name for path in tmp_path.iterdir()} == {
        "queensland", "queensland.nc", "maps", "place.csv", "regions.csv", "march.tif", "march.png"
    }  # fmt: skip
