"""A plugin of pytest: the temporary folders of tests lie in memory, where synchronising takes no time, if it has room for them.

Tests of what a disk does take the fixture of `tests.on_disk`.
"""

import os
import shutil
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
PREFIX = "steppe_tests_"
ROOM = 4 << 30  # [byte] folders of tests that passed are removed at once; what is left is a part of this


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.basetemp or not MEMORY.is_dir():  # workers of xdist have a folder of the one that starts them
        return
    for left in MEMORY.glob(f"{PREFIX}*"):  # by a run that was killed
        if not Path("/proc", left.name.removeprefix(PREFIX)).exists():
            shutil.rmtree(left, ignore_errors=True)
    if shutil.disk_usage(MEMORY).free < ROOM:
        return
    folder = MEMORY / f"{PREFIX}{os.getpid()}"
    config.option.basetemp = str(folder)
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
