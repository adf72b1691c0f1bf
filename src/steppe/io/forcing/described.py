"""A forcing store without its values: the descriptions and coordinates, for ranks that get the weather from others."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from steppe.files import place, write_whole, writing
from steppe.io.forcing.store import ForcingStore


def described(store: ForcingStore) -> dict[str, bytes]:
    """The files of a store but for the values of variables that change in time: path in the store -> content."""
    found: dict[str, bytes] = {}
    for folder, below, names in os.walk(store.path):
        at = Path(folder).relative_to(store.path)
        below[:] = [name for name in below if (at / name).parts[0] != "pack" and not (name == "c" and str(at) in store.variables)]
        found |= {str(at / name): (store.path / at / name).read_bytes() for name in names}
    return found


def place_described(files: Mapping[str, bytes], folder: Path) -> Path:
    """Makes a store of the files of `described` in a folder of a cache, once; returns its path, the same for the same files.

    Raises
    ------
    NoSpaceError, Failure
        It cannot be written.
    """
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    path = folder / f"{digest.hexdigest()[:24]}-described.zarr"
    if not path.exists():
        aside = folder / f"{path.name}.{os.getpid()}.tmp"
        with writing(aside):
            for name, content in files.items():
                (aside / name).parent.mkdir(parents=True, exist_ok=True)
                write_whole(aside / name, content)
            with suppress(OSError):  # another rank of this host has made it meanwhile
                place(aside, path)
            shutil.rmtree(aside, ignore_errors=True)
    return path
