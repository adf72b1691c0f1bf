"""The report of a run."""

import os
from pathlib import Path

import pytest

from steppe.jobs.report import size_of


def test_the_size_of_a_store_that_is_being_written_leaves_out_a_file_that_was_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c" / "0").mkdir(parents=True)
    (tmp_path / "c" / "0" / "0").write_bytes(bytes(100))
    (tmp_path / "zarr.json").write_bytes(bytes(7))
    walked = [(place, folders, [*names, "1.tmp"]) for place, folders, names in os.walk(tmp_path)]
    monkeypatch.setattr(os, "walk", lambda folder: iter(walked))
    assert size_of(tmp_path) == 107
