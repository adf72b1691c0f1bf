"""The memory of dead ranks is removed, that of living ones and of those who have just begun is not."""

import mmap
import os
import time
from pathlib import Path

import pytest

from steppe.comm.leftovers import sweep


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux alone has /proc.")
def test_what_nobody_has_mapped_is_removed_when_it_is_older_than_this_process(tmp_path):
    dead, living, young, other = (tmp_path / name for name in ("mpich_shm_1_0", "mpich_shm_2_0", "mpich_vci_3_0", "another"))
    for file in (dead, living, young, other):
        file.write_bytes(b"\0" * mmap.PAGESIZE)
    for file in (dead, living, other):
        os.utime(file, (time.time() - 86_400,) * 2)
    with open(living, "r+b") as file, mmap.mmap(file.fileno(), 0):
        sweep(tmp_path)
    assert not dead.exists()
    assert living.exists()
    assert young.exists()
    assert other.exists()


def test_a_host_without_such_a_folder_has_nothing_to_sweep(tmp_path):
    sweep(tmp_path / "none")
