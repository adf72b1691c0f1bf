"""OSU's benchmarks over two sites, unmodified, with their own checks of what arrives.

    STEPPE_OSU=/path/of/c/mpi scripts/verify bridge -k osu

The folder is `c/mpi` of the OSU micro-benchmarks, built with the MPICH of `.venv`. Messages between two ranks have one at each site,
collectives two. The one-sided ones are refused between sites.
"""

import os
import re
from pathlib import Path

import pytest
from tests.bridge.worlds import Site, world

GIVEN = os.environ.get("STEPPE_OSU")
PATIENCE = 120  # [s] of one program
OUT = (
    "osu_latency_mt",  # needs MPI_THREAD_MULTIPLE
    "osu_bw_fan_in",  # needs two machines
    "osu_bw_fan_out",
    "osu_allreduce_persistent",  # in release 7.4 its check fails without the bridge, too
)
SHORT = ["-m", ":65536", "-i", "20", "-x", "2"]


def _programs(root: Path) -> list[str]:
    found = sorted(path for path in root.rglob("osu_*") if path.is_file() and os.access(path, os.X_OK) and ".libs" not in path.parts)
    kinds = {path: path.relative_to(root).parts[0] for path in found}
    return [str(path.relative_to(root)) for path in found if kinds[path] in ("pt2pt", "collective") and path.name not in OUT]


@pytest.mark.skipif(GIVEN is None, reason="STEPPE_OSU names no folder of OSU's benchmarks")
@pytest.mark.parametrize("name", _programs(Path(GIVEN)) if GIVEN else [])
def test_a_benchmark_runs_to_its_end_and_finds_what_was_sent(folder: Path, name: str) -> None:
    program, each = Path(str(GIVEN)) / name, 1 if name.startswith("pt2pt") else 2
    command = [program, *([] if "barrier" in name else SHORT), *([] if "barrier" in name or program.stem.endswith("_mp") else ["-c"])]
    with world(folder, [Site("a", each, command), Site("b", each, command)]) as running:
        ended = running.end(PATIENCE)
    text = "\n".join(one.output + one.errors for one in ended)
    assert [one.code for one in ended] == [0, 0], text
    assert re.search(r"^\s*(65536|32768|\d+\.\d+)\b", text, re.MULTILINE), text
    assert "Fail" not in text, text
    if "-c" in command:
        assert "Pass" in text, text
