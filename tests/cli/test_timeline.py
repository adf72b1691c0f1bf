import json
from pathlib import Path

import numpy as np
import pytest

from steppe.cli.timeline import check_timeline, write_timeline
from steppe.errors import Failure, RunFileError
from steppe.timeline import SPAN

RANKS = [{"MainThread": np.array([(0, 0.0, 1.0), (1, 1.5, 2.0)], SPAN)}]


@pytest.mark.parametrize(("name", "sentence"), [("a.txt", "is no name of a timeline"), ("none/a.png", "is no folder")])
def test_a_place_that_cannot_be_is_told_before_the_run(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(RunFileError, match=sentence):
        check_timeline(tmp_path / name)


def test_a_timeline_is_a_picture_or_a_trace(tmp_path: Path) -> None:
    for name in ("a.png", "a.json"):
        check_timeline(tmp_path / name)
        write_timeline(tmp_path / name, "A run", RANKS)
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert [(e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"] == [("compute", 0.0, 1e6), ("wait", 1.5e6, 5e5)]


def test_a_timeline_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(Failure, match=r'a.json" cannot be written \(Is a directory\)'):
        write_timeline(tmp_path / "a.json", "A run", RANKS)
