"""MPICH's own tests over two sites: what passes at one site passes there.

    STEPPE_MPICH_TESTS=/path/of/test/mpi scripts/verify bridge -k mpich -n 2

The folder is MPICH's `test/mpi`, configured for the MPICH of `.venv` (`--with-mpi=.venv CC=.venv/bin/mpicc --disable-fortran --disable-cxx
--disable-rma --disable-spawn --enable-strictmpi`) and built in `FOLDERS`. Each line of their lists of tests is run with its ranks, at least
two and at most `MOST`, half of them at each site. `refused_of_mpich.txt` has the lines that do not pass over sites, each with its reason.
Lines of settings of MPICH's algorithms and of its launcher are left out: they test MPICH. So are lines that need 16 GB of memory or more.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.bridge.worlds import MPICH, Site, world

FOLDERS = ("pt2pt", "coll", "comm", "group", "datatype", "attr", "topo", "errhan", "init")
COUNTED = ("pt2pt", "coll", "comm")  # of which at most `SHARE` may be refused
SHARE = 0.03
MOST = 10
LEFT_OUT = re.compile(r"\b(env|mpiexecarg|xfail|FT)=|\bmem=(1[6-9]|[2-9]\d)")
PATIENCE = 60  # [s] of one program at one site
SITES = 4  # times as long as that over two: the largest messages pass through two gateways
PASSED = "No Errors"
REFUSED = Path(__file__).with_name("refused_of_mpich.txt")
GIVEN = os.environ.get("STEPPE_MPICH_TESTS")


class Program(NamedTuple):
    """A line of a list of tests. name: folder, program and arguments."""

    name: str
    ranks: int
    command: list[str]


def _programs(root: Path) -> list[Program]:
    found = {}
    for folder in FOLDERS:
        for line in (root / folder / "testlist").read_text().splitlines():
            words = line.split("#")[0].split()
            if len(words) < 2 or LEFT_OUT.search(line) or not (root / folder / words[0]).is_file():
                continue
            arguments = [word.removeprefix("arg=") for word in words[2:] if word.startswith("arg=")]
            name = " ".join([f"{folder}/{words[0]}", *arguments])
            ranks = min(max(2, int(words[1])), MOST)
            found[name, ranks] = Program(name, ranks, [str(root / folder / words[0]), *arguments])
    return [*found.values()]


PROGRAMS = _programs(Path(GIVEN)) if GIVEN else []
REASONS = dict(line.split(": ", 1) for line in REFUSED.read_text().splitlines())


@pytest.mark.skipif(GIVEN is None, reason="STEPPE_MPICH_TESTS names no folder of MPICH's tests")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program.name} of {program.ranks}")
def test_what_passes_at_one_site_passes_over_two(folder: Path, program: Program) -> None:
    try:
        command = [MPICH.mpiexec, "-n", str(program.ranks), *program.command]
        plain = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        pytest.skip(f"It needs more than {PATIENCE} s at one site.")
    if plain.returncode or PASSED not in plain.stdout:
        pytest.skip("It does not pass at one site.")
    there = program.ranks // 2
    with world(folder, [Site("a", program.ranks - there, program.command), Site("b", there, program.command)]) as running:
        ended = running.end(SITES * PATIENCE)
    text = "\n".join(one.output + one.errors for one in ended)
    passed = PASSED in text and not any(one.code for one in ended)
    assert passed != (program.name in REASONS), text if not passed else f"{REFUSED.name} names it, and it passes: {program.name}"


@pytest.mark.skipif(GIVEN is None, reason="STEPPE_MPICH_TESTS names no folder of MPICH's tests")
def test_few_of_mpichs_tests_are_refused() -> None:
    assert {*REASONS} <= {program.name for program in PROGRAMS}
    counted = [program.name for program in PROGRAMS if program.name.split("/")[0] in COUNTED]
    assert sum(name in REASONS for name in counted) <= SHARE * len(counted)
