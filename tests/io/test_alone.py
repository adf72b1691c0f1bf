"""One process at a time makes a thing; one that was killed is in nobody's way."""

import subprocess
import sys
from pathlib import Path

import pytest

from steppe.errors import Failure, FolderError
from steppe.io.alone import alone

HOLDS = """
import sys, time
from pathlib import Path
from steppe.io.alone import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_another_process_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(FolderError, match=r'Another process is making ".*w\.zarr"\. Wait until it ends'), alone(path):
            pass
        other.kill()
    with alone(path):
        assert (tmp_path / "w.zarr.lock").exists()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r'no/w\.zarr" cannot be written'), alone(tmp_path / "no" / "w.zarr"):
        pass
