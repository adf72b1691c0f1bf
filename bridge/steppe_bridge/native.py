"""The parts in C: the gateway, and one preload library for each kind of MPI."""

import os
from pathlib import Path

from steppe_bridge.errors import Mistake, quoted

GATEWAY = "steppe-bridge-gateway"
PRELOAD = "libsteppe_bridge_{}.so"


def native_folder() -> Path:
    """STEPPE_BRIDGE_NATIVE, else `native` of the installed package, else `native/build` of the source tree."""
    if named := os.environ.get("STEPPE_BRIDGE_NATIVE"):
        return Path(named).absolute()
    package = Path(__file__).resolve().parent
    installed = package / "native"
    return installed if installed.is_dir() else package.parent / "native" / "build"


def find_gateway() -> Path:
    """The gateway; raises a Mistake if it was not built."""
    path = native_folder() / GATEWAY
    if not os.access(path, os.X_OK):
        raise Mistake(
            f'"{path}" is missing: the gateway was not built. `make -C bridge/native` builds it, STEPPE_BRIDGE_NATIVE names its folder.'
        )
    return path


def find_preload(kind: str, words: str) -> Path:
    """The preload library for a kind of MPI.

    Raises
    ------
    Mistake
        There is none, or LD_PRELOAD cannot hold its name.
    """
    folder = native_folder()
    path = folder / PRELOAD.format(kind)
    if not path.is_file():
        there = quoted(sorted(each.name for each in folder.glob(PRELOAD.format("*")))) or "none"
        raise Mistake(f'There is no preload library for {words}: "{path}" is missing. In its folder: {there}.')
    if set(str(path)) & set(" :\n"):
        raise Mistake(f'"{path}" cannot be preloaded: LD_PRELOAD expects a name without spaces and colons. Install the bridge elsewhere.')
    return path
