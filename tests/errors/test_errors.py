"""Every mistake of `cases.toml`: the right sentence, the right exit code, no traceback, nothing half-written."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from steppe.cli import run_command
from tests.errors import air, box, damage, fields, globe, scenario
from tests.scenario import EXAMPLES

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = tomllib.loads((HERE / "cases.toml").read_text())["case"]
MAKERS = {"fields": fields, "globe": globe, "box": box, "air": air}  # beginning of a damage -> its module
PAGE = HERE.parents[1] / "docs" / "errors.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("errors")
    scenario.make(folder)
    return folder


def listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def own_model(folder: Path, case: dict[str, Any]) -> None:
    """The run is one of a model in `own.py`, an example with other text, which records one of its variables."""
    text = (EXAMPLES / case["own"]).read_text()
    for old, new in case.get("own_change", {}).items():
        assert old in text
        text = text.replace(old, new)
    (folder / "own.py").write_text(text)
    run = (folder / "run.toml").read_text().replace('"pasture"', '"own.py"').partition("[[output.series]]")[0]
    run = run.replace('plant = "mitchell"\nsoil = "open-downs"\nstocking_rate = 0.1\n', "")
    name = "water" if case["own"] == "bucket.py" else "concentration"
    (folder / "run.toml").write_text(run.replace('variables = ["growth", "runoff"]', f'variables = ["{name}"]'))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_the_mistake_is_named(case, made, tmp_path, monkeypatch, capfd):
    folder = tmp_path / "run"
    scenario.copy(made, folder)
    text = (folder / "run.toml").read_text()
    for old, new in case.get("change", {}).items():
        assert old in text
        text = text.replace(old, new)
    (folder / "run.toml").write_text(text)
    if "own" in case:
        own_model(folder, case)
    undo = getattr(MAKERS.get(case["damage"].partition("_")[0], damage), case["damage"])(folder) if "damage" in case else None
    before = listed(folder)
    monkeypatch.chdir(folder)
    try:
        code = run_command(case.get("command", "check run.toml").split())
    finally:
        if undo:
            undo()
    out, err = capfd.readouterr()
    assert case["says"].replace("{}", str(folder)) in out + err
    assert code == case["exit"], out + err
    assert "Traceback" not in out + err
    assert len(err.strip().splitlines()) <= 3, err
    if case["exit"] == 2:
        assert listed(folder) - before <= {"out/lock"}


def page() -> str:
    """The text of docs/errors.md."""
    rows = [f"| {case['name']} | {case['says'].replace('{}/', '').replace('|', chr(92) + '|')} | {case['exit']} |" for case in CASES]
    head = """# Mistakes and their messages

`python -m tests.errors.test_errors` writes this page from `tests/errors/cases.toml`; each line is a test. Exit code 2: Steppe found a
mistake before it computed anything. Exit code 1: Steppe found damage from outside before it could do harm. A message may have more
sentences.

"""
    return head + "| mistake | message | exit code |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def test_there_are_thirty_mistakes_and_more():
    assert len(CASES) >= 30
    assert len({case["name"] for case in CASES}) == len(CASES)


def test_the_page_of_the_documents_is_made_of_the_cases():
    assert PAGE.read_text() == page(), "write it anew: python -m tests.errors.test_errors"


if __name__ == "__main__":
    PAGE.write_text(page())
