"""Builds the gateway and the preload libraries with `make` in `native/`, and puts them into the wheel.

An editable install takes them from `native/build`. The headers of MPI come from two wheels of PyPI, unless they were fetched before.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = ["steppe-bridge-gateway", *(f"libsteppe_bridge_{abi}.so" for abi in ("mpich", "openmpi", "abi"))]


class NativeHook(BuildHookInterface):
    """What hatch calls before it makes a wheel or an sdist."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs: pip, which fetches the headers."""
        return [] if (Path(self.root) / "native" / "build" / "headers").is_dir() else ["pip"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds; a wheel gets what was built and the tag of this platform."""
        if self.target_name != "wheel":
            return
        native = Path(self.root) / "native"
        if not (sys.platform == "linux" and shutil.which("make")):
            sys.exit("The bridge is built on Linux, with make. On Debian: apt-get install gcc make libssl-dev")
        make = ["make", "--silent", f"-j{os.cpu_count()}", "-C", native, f"PYTHON={sys.executable}"]
        if subprocess.run(make, stdout=sys.stderr).returncode:
            sys.exit("The bridge was not built: `make` says above why.")
        if version != "editable":
            build_data["force_include"] |= {str(native / "build" / name): f"steppe_bridge/native/{name}" for name in BUILT}
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
