"""Installs a lock of `requirements/` into `.venv`, with a bar. Argument: `user` (what runs Steppe) or `dev` (what tests it, too).

Needs nothing but Python: it runs before anything is installed. `scripts/install.py --sizes` prints what each lock takes on the disk, as
measured in this `.venv`; `SIZES` and README.md have these numbers.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
SIZES = {"user": 700, "dev": 1710}  # [MB] on the disk, all wheels of the lock unpacked, on Linux
FOR = {"user": "to run Steppe", "dev": "to test Steppe"}
NAMED = """
import json, sys
from pip._vendor.packaging.requirements import Requirement
lines = open(sys.argv[1]).read().replace("\\\\\\n", " ").splitlines()
needs = [Requirement(line.split(" --hash")[0].strip()) for line in lines if line.strip()]
print(json.dumps([need.name for need in needs if not need.marker or need.marker.evaluate()]))
"""
MEASURED = """
import json, sys
from importlib.metadata import distribution
def size(name):
    found = distribution(name)
    return sum(path.stat().st_size for path in {found.locate_file(file) for file in found.files or []} if path.is_file())
print(json.dumps({name: size(name) for name in json.load(sys.stdin)}))
"""


def main(words: list[str]) -> int:
    """Does what the words say; an exit status."""
    if sys.version_info < (3, 11):  # noqa: UP036 -- older ones must reach this line
        here = sys.version.split()[0]
        print(f"Steppe needs Python 3.11 or newer; this is {here}. Give one with: make PYTHON=python3.12", file=sys.stderr)
        return 2
    if words == ["--sizes"]:
        for kind in SIZES:
            sizes = measured(kind)
            print(f"{kind}: {len(sizes)} packages, {sum(sizes.values()) / 1e6:.0f} MB")
        return 0
    return install(words[0])


def install(kind: str) -> int:
    """Makes `.venv` where it is needed and installs a lock and Steppe itself, editable; an exit status.

    A second `dev` begins with an empty `.venv`, so that nothing stays of an older lock.
    """
    if kind == "user" or (VENV / "dev").exists() or not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    names = named(kind)
    there = installed(names)
    print(f"Installing {len(names) - there} packages {FOR[kind]}: with them .venv takes about {SIZES[kind]:,} MB. Once; a few minutes.")
    pip = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check"]
    status = with_bar([*pip, "--require-hashes", "-r", f"requirements/{kind}.txt"], names)
    editable = [*pip, "--quiet", "--no-deps", "--no-build-isolation", "--editable"]
    status = status or subprocess.run([*editable, "."], cwd=ROOT).returncode
    return status or (install_bridge(editable) if kind == "dev" else 0)


def install_bridge(editable: list[str]) -> int:
    """Builds and installs `bridge/`, editable, where this machine has what its parts in C need; an exit status."""
    lacking = "It needs make."
    if shutil.which("make"):
        tools = subprocess.run(["make", "--silent", "-C", "bridge/native", "tools"], cwd=ROOT, capture_output=True, text=True)
        if tools.returncode == 0:
            return subprocess.run([*editable, "./bridge"], cwd=ROOT).returncode
        lacking = tools.stderr.partition("\n")[0]
    print(f"The bridge between MPI sites is not built, and its tests do not run. {lacking}")
    return 0


def named(kind: str) -> list[str]:
    """The packages of a lock that this Python on this system takes."""
    lock = ROOT / "requirements" / f"{kind}.txt"
    return json.loads(subprocess.run([PYTHON, "-c", NAMED, lock], check=True, capture_output=True, text=True).stdout)


def measured(kind: str) -> dict[str, int]:
    """Package of a lock -> bytes of its files in `.venv`, without compiled Python."""
    said = subprocess.run([PYTHON, "-c", MEASURED], input=json.dumps(named(kind)), check=True, capture_output=True, text=True)
    return json.loads(said.stdout)


def installed(names: list[str]) -> int:
    """How many of these packages are in `.venv`."""
    there = {path.name.split("-")[0].lower() for path in VENV.glob("lib/python*/site-packages/*.dist-info")}
    return sum(name.lower().replace("-", "_").replace(".", "_") in there for name in names)


def with_bar(command: list[str], names: list[str]) -> int:
    """Runs pip; shows how many packages are fetched and installed, on a terminal as a bar, elsewhere in a line every ten seconds.

    What pip prints is in `.venv/install.log`, and is shown when it fails.
    """
    log = VENV / "install.log"
    terminal = sys.stdout.isatty()
    begin = said = time.monotonic()
    with log.open("w") as out:
        pip = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
        while pip.poll() is None:
            time.sleep(0.5)
            if terminal or time.monotonic() - said >= 10:
                said = time.monotonic()
                show(log.read_text().count("\nCollecting "), installed(names), len(names), said - begin, terminal)
    show(len(names), installed(names), len(names), time.monotonic() - begin, terminal)
    if terminal:
        print()
    if pip.returncode:
        print(log.read_text()[-4000:], file=sys.stderr)
    return pip.returncode


def show(found: int, done: int, whole: int, seconds: float, terminal: bool) -> None:
    """One state of the bar: half of its length is fetching, half is unpacking."""
    share = (min(found, whole) + done) / (2 * whole)
    text = f"{100 * share:3.0f} %  {done} of {whole} packages installed, {seconds:.0f} s"
    if terminal:
        print(f"\r[{'#' * round(40 * share):40}] {text}", end="", flush=True)
    else:
        print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
