"""Ranks that tests of this room start: what they print when all is well, and why they measure nothing when something is not."""

import json
import os
from typing import Any

import pytest

from steppe.errors import Exit
from tests.comm.mpis import ROOT, run_ranks

SCHEMA = json.loads((ROOT / "docs" / "measure.schema.json").read_text())
CORES = len(os.sched_getaffinity(0))
two_cores = pytest.mark.skipif(CORES < 2, reason="two ranks need two cores")


def printed(mpi: str, ranks: int, *arguments: str, limit: float = 60.0, **more: str) -> str:
    """What so many ranks of Python with `arguments` print; all of them end well."""
    done = run_ranks(mpi, ranks, *arguments, limit=limit, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def records(mpi: str, ranks: int, program: str) -> list[dict[str, Any]]:
    """The objects that a program prints as lines of JSON."""
    return [json.loads(line) for line in printed(mpi, ranks, "-c", program).splitlines() if line.startswith("{")]


def hold_on_both(mpi: str, program: str) -> None:
    """The asserts of a program hold on both of two ranks: each of them comes to its end."""
    assert printed(mpi, 2, "-c", f'{program}\nprint("done")').count("done") == 2


def measured(*arguments: str, mpi: str = "installed", limit: float = 60.0) -> str:
    """What `steppe measure` prints on two ranks; it ends well."""
    return printed(mpi, 2, "-m", "steppe", "measure", *arguments, limit=limit)


def refused(*arguments: str, ranks: int = 2) -> str:
    """The one sentence in which all ranks of `steppe measure` say why they measure nothing."""
    done = run_ranks("installed", ranks, "-m", "steppe", "measure", *arguments)
    assert done.returncode == Exit.MISTAKE, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("steppe: ")]
    return line.removeprefix("steppe: ")
