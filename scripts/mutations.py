"""Puts small faults into a copy of the source, one at a time, and says which of them a test catches.

The table holds for each fault a text of one file, what replaces it, and the tests that must fail. The checkout itself is only read.
"""

import argparse
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile, copymode
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "scripts" / "mutations.toml"
SHARED = Path(os.environ.get("STEPPE_SHARED", ROOT.parent / "shared"))
PASSED, FAILED = 0, 1  # exit statuses of pytest; others say that it could not run the tests


class Mutation(NamedTuple):
    """A fault: in `file` the text `old` becomes `new`; at least one of `tests` must fail. wrong: what the fault does."""

    id: str
    file: str
    old: str
    new: str
    wrong: str
    tests: list[str]


def read_table(path: Path = TABLE) -> list[Mutation]:
    """The faults of a table. Raises SystemExit when a text does not occur exactly once in its file."""
    mutations = [Mutation(**row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]]
    for each in mutations:
        count = (ROOT / each.file).read_text(encoding="utf-8").count(each.old)
        if count != 1:
            sys.exit(f'{path}: the old text of {each.id} occurs {count} times in "{each.file}", not once. Correct the table.')
    return mutations


def copy_checkout(to: Path) -> None:
    """Copies every file of the checkout that git does not ignore."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():  # a removed file is listed until the removal is committed
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            copyfile(ROOT / name, to / name)
            copymode(ROOT / name, to / name)


@contextmanager
def planted(copy: Path, fault: Mutation) -> Iterator[None]:
    """The copy with the fault; afterwards without it."""
    file = copy / fault.file
    before = file.read_bytes()
    try:
        file.write_bytes(before.replace(fault.old.encode(), fault.new.encode()))
        yield
    finally:
        file.write_bytes(before)


def run_tests(copy: Path, tests: list[str]) -> tuple[int, str]:
    """(exit status, output) of pytest in the copy. CI is set, so that a test without its data fails and seeds are fixed."""
    environment = {
        **os.environ,
        "CI": "1",
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "STEPPE_SHARED": str(SHARED.resolve()),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def plant(mutations: list[Mutation]) -> int:
    """Prints a line for each fault; returns how many no test catches."""
    missed = 0
    with TemporaryDirectory(prefix="steppe-mutations-") as folder:
        copy = Path(folder)
        copy_checkout(copy)
        status, output = run_tests(copy, sorted({test for each in mutations for test in each.tests}))
        if status != PASSED:
            sys.exit(f"The tests fail without any fault; mend them first:\n{output}")
        for each in mutations:
            with planted(copy, each):
                status, output = run_tests(copy, each.tests)
            if status not in (PASSED, FAILED):
                sys.exit(f"pytest could not run the tests of {each.id}:\n{output}")
            missed += status == PASSED
            by = next((line.removeprefix("FAILED ").split(" - ")[0] for line in output.splitlines() if line.startswith("FAILED ")), "")
            print(f"{each.id:<4} {'caught by ' + by if status == FAILED else 'NOT CAUGHT: ' + each.wrong}", flush=True)
    print(f"{len(mutations) - missed} of {len(mutations)} caught")
    return missed


def main() -> int:
    """0 when every fault is caught, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="faults to plant; all when none is given")
    parser.add_argument("--table", type=Path, default=TABLE)
    given = parser.parse_args()
    mutations = read_table(given.table)
    if unknown := set(given.ids) - {each.id for each in mutations}:
        sys.exit(f'{given.table} has no mutation "{min(unknown)}". It has {", ".join(each.id for each in mutations)}.')
    return plant([each for each in mutations if not given.ids or each.id in given.ids]) > 0


if __name__ == "__main__":
    sys.exit(main())
