"""The catalogue of the models that are installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steppe.jobs.catalogue import catalogue


def install(folder: Path, name: str, text: str) -> None:
    """A package whose model has the text of this module."""
    (folder / f"{name}_model.py").write_text(text)
    facts = folder / f"{name}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[steppe.models]\n{name} = {name}_model\n")


def test_a_model_that_cannot_be_loaded_has_a_problem_and_the_others_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "unlicensed", "raise ValueError('no licence file')")
    install(tmp_path, "lacking", "import nothing_of_this_name")
    install(tmp_path, "empty", "")
    monkeypatch.syspath_prepend(tmp_path)
    found = catalogue()
    assert found["unlicensed"] == {"name": "unlicensed", "problem": "ValueError: no licence file."}
    assert found["lacking"] == {"name": "lacking", "problem": "ModuleNotFoundError: No module named 'nothing_of_this_name'."}
    assert str(found["empty"]["problem"]).startswith('"empty" is no model')
    assert found["pasture"]["variables"]


def test_what_a_model_prints_is_no_part_of_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "noisy", "print('Welcome')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = subprocess.run([sys.executable, "-m", "steppe.jobs.catalogue"], capture_output=True, text=True, check=True)
    assert "noisy" in json.loads(done.stdout)
    assert "Welcome" in done.stderr
