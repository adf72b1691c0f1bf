"""OSU's benchmarks over two sites, unmodified, with their own checks of what arrives.

    STEPPE_OSU=/path/of/c/mpi scripts/verify bridge -k osu

The folder is `c/mpi` of the OSU micro-benchmarks, configured with `CC=.venv/bin/mpicc CXX=.venv/bin/mpicxx` and built. Messages between
two ranks have one at each site, those between pairs two; collectives have three and two. Each program must reach the largest size, and say
`Pass` of each. The one-sided ones are refused between sites.
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
)
UNCHECKED = re.compile("barrier|allreduce_persistent")  # the second: in release 7.4 its check fails without the bridge, too
PAIRS = re.compile("mbw_mr|multi_lat")
LARGEST = 65536  # [B] message
SHORT = ["-m", f":{LARGEST}", "-i", "10", "-x", "2"]


def _programs(root: Path) -> list[str]:
    found = sorted(path for path in root.rglob("osu_*") if path.is_file() and os.access(path, os.X_OK) and ".libs" not in path.parts)
    kinds = {path: path.relative_to(root).parts[0] for path in found}
    return [str(path.relative_to(root)) for path in found if kinds[path] in ("pt2pt", "collective") and path.name not in OUT]


@pytest.mark.skipif(GIVEN is None, reason="STEPPE_OSU names no folder of OSU's benchmarks")
@pytest.mark.parametrize("name", _programs(Path(GIVEN)) if GIVEN else [])
def test_a_benchmark_runs_to_its_end_and_finds_what_was_sent(folder: Path, name: str) -> None:
    program, checked = Path(str(GIVEN)) / name, not UNCHECKED.search(name)
    ranks = (3, 2) if name.startswith("collective") else (2, 2) if PAIRS.search(name) else (1, 1)
    command = [program, *SHORT, *(["-c", "-u", "1"] if checked else [])]
    with world(folder, [Site(site, n, command) for site, n in zip("ab", ranks, strict=True)]) as running:
        ended = running.end(PATIENCE)
    text = "\n".join(one.output + one.errors for one in ended)
    assert [one.code for one in ended] == [0, 0], text
    rows = [line.split() for line in ended[0].output.splitlines() if re.match(r"\s*\d", line)]
    assert rows, text
    assert "barrier" in name or int(rows[-1][0]) == LARGEST, text
    assert not checked or {row[-1] for row in rows} == {"Pass"}, text
