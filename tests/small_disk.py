"""A disk of a few pages, to fill it: a file system in memory. Where that needs rights that the tests lack, they are skipped and say so."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


def mount_small_disk(folder: Path, size: str) -> Callable[[], None]:
    """Makes `folder` a disk of `size` ("100k"); the function that is returned takes it away."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    return lambda: subprocess.run(["umount", "--lazy", str(folder)], check=True) and None


def resize(folder: Path, size: str) -> None:
    """Another size for a disk of `mount_small_disk`."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Leaves no room on a disk of `mount_small_disk`, though a writer may be at work; `resize` makes room again."""
    while True:
        disk = os.statvfs(folder)
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        command = ["mount", "-o", f"remount,size={max(used, disk.f_frsize)}", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return  # else the writer has taken more meanwhile
