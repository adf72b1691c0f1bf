"""Kills a process at each point of the replacement of a file, and prints what the file is after: point, exit status, "old" or "new".

python -m tests.arrays.crash_points FILE     blocks are small, so that there are many
"""

import os
import sys

from steppe import failpoint
from steppe.arrays import MemoryFile, disk, image
from steppe.comm import Serial

BLOCKS, SHIFT = 46, 12
POINTS = [
    "donio.create:1",
    *(f"donio.block:{number}" for number in range(1, BLOCKS + 1)),
    *(f"donio.{name}:1" for name in ("fsync", "rename", "dirsync")),
]
SIZE = (BLOCKS << SHIFT) - 5


def content(number: int) -> bytes:
    """The bytes of the file of one writer."""
    return bytes([1 + number]) * SIZE


def replace(path: str, number: int, killed_at: str = "") -> None:
    """Writes the file of one writer; every other one in one call, so that all blocks are full before the end."""
    failpoint._asked = f"{killed_at}:kill" if killed_at else ""
    half = SIZE if number % 2 else SIZE // 2
    with MemoryFile(path, "w", Serial(), size=SIZE) as file:
        file.write(content(number)[:half])
        file.write(content(number)[half:])


def main(path: str) -> None:
    """Prints a line for each point."""
    disk.SHIFT = image.SHIFT = SHIFT
    replace(path, 0)
    for number, point in enumerate(POINTS, 1):
        with open(path, "rb") as file:
            old = file.read()
        child = os.fork()
        if child == 0:
            replace(path, number, point)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open(path, "rb") as file:
            found = file.read()
        print(point, status, "old" if found == old else "new" if found == content(number) else "torn")
    replace(path, len(POINTS) + 1)


if __name__ == "__main__":
    main(sys.argv[1])
