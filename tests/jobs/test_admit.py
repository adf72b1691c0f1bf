"""The answer of the process that admits runs is JSON, whatever a model prints."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.test_catalogue import install

RUN = """
model = "noisy"
[time]
start = 1990-01-01
end = 1990-01-02
[grid]
region = "queensland"
[forcing]
store = "weather.zarr"
[parameters]
[output]
variables = ["a"]
"""


def test_what_a_model_prints_is_no_part_of_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "noisy", "print('Welcome')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    question = {"request": {"name": "a", "toml": RUN}, "folder": str(tmp_path / "a"), "allowed": [str(tmp_path)]}
    command = [sys.executable, "-m", "steppe.jobs.admit"]
    done = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True)
    assert '"noisy" is no model' in json.loads(done.stdout)["detail"]
    assert "Welcome" in done.stderr
