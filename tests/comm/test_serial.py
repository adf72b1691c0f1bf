import subprocess
import sys

import numpy as np
import pytest

from steppe.comm import Serial
from steppe.errors import Failure
from steppe.testing import RecordingWorld


def test_waiting_for_what_was_never_sent_is_a_failure_and_no_deadlock() -> None:
    with pytest.raises(Failure, match="tag 5, that was not sent"):
        Serial().receive(np.empty(1), 0, tag=5).wait()


def test_aborting_ends_with_the_message() -> None:
    with pytest.raises(Failure, match="the tide came in"):
        Serial().abort("the tide came in")


def test_the_serial_world_needs_neither_a_message_library_nor_a_compiler() -> None:
    code = "import sys, steppe.comm; sys.exit(any(name in sys.modules for name in ('mpi4py', 'numba', 'xarray', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_to_be_called_at_the_end_is_called_once() -> None:
    ended: list[int] = []
    with Serial() as world, RecordingWorld(world) as recorded:
        world.at_end(lambda: ended.append(1))
        recorded.at_end(lambda: ended.append(2))
        assert ended == []
    world.close()
    assert sorted(ended) == [1, 2]
