"""Laws of times on 16 ranks and fewer of a simulated machine, held to its times on more. Casanova et al. 2014, 10.1016/j.jpdc.2014.06.008.

SimGrid runs `simulated.c` on 64 nodes of one switch, with its own network (latency and bandwidth change with the size several times, as on
the cluster where it was calibrated) and MPICH's algorithms, which change with size and p: some laws must be refused, and no prediction may
be wrong without a word.
"""

import os
import shutil
from pathlib import Path
from subprocess import run

import numpy as np
import pytest

from steppe.errors import Mistake
from steppe.measure import fit, predict, read_table

HERE = Path(__file__).parent
FITTED, HELD_OUT = (2, 4, 6, 8, 10, 12, 14, 16), (24, 32)
SPREAD = 0.003
CLOSE = 0.10
CHANGING = ["broadcast", "total exchange", "allreduce"]  # their algorithms do, with p


@pytest.fixture(scope="module")
def times(tmp_path_factory):
    """(ranks) -> operation -> its series on these."""
    if not shutil.which("smpirun"):
        reason = "SimGrid is not here; Debian's package is libsimgrid-dev."
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    folder = tmp_path_factory.mktemp("simulated")
    program = folder / "simulated"
    run(["smpicc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "simulated.c", "-lm"], check=True)

    def lines(p: int) -> str:
        command = ["smpirun", "-np", str(p), "-platform", HERE / "simulated.xml", "--cfg=smpi/simulate-computation:no"]
        return run([*command, "--log=root.thres:critical", program], check=True, capture_output=True, text=True, cwd=folder).stdout

    def series(ranks):
        table = folder / f"{len(ranks)}.csv"
        table.write_text("operation,n,p,t_s\n" + "".join(map(lines, ranks)))
        return {one.name["operation"]: one for one in read_table(table, spread=SPREAD)}

    return series


def test_no_time_on_more_ranks_is_predicted_wrongly_without_a_doubt(times, measured):
    fitted, held_out = times(FITTED), times(HELD_OUT)
    assert len(held_out) == 9
    errors: dict[bool, list[float]] = {True: [], False: []}  # of predictions with doubts, and without
    refused = []
    for operation, held in held_out.items():
        found = fit(fitted[operation].points, {"operation": operation})
        for n, p, t in zip(held.points.n, held.points.p, held.points.t, strict=True):
            try:
                said = predict(found, n, p)
            except Mistake:
                refused.append(operation)
                continue
            error = abs(said.time / t - 1.0)
            errors[bool(said.doubts)].append(error)
            assert error <= CLOSE or said.doubts, f"{operation}, {n:g} bytes on {p:g} ranks: {said}, measured {t:g}"
    every = np.array(errors[True] + errors[False])
    measured("simulated machine", "24 and 32 ranks, worst error without doubts", max(errors[False]), f"{CLOSE:g}")
    measured("simulated machine", "... median error of all that are predicted", float(np.median(every)), f"{CLOSE:g}")
    measured("simulated machine", "... share of them within 10 %", float((every <= CLOSE).mean()), "at least 0.95")
    measured("simulated machine", "... predicted", every.size, f"and {len(refused)} refused: mostly algorithms that change with p")
    assert (every <= CLOSE).mean() >= 0.95
    assert every.size > 2 * len(refused)
    assert sum(operation in CHANGING for operation in refused) >= 0.8 * len(refused)
