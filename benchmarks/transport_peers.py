"""What else moves tracers and particles by a given wind: PyMPDATA and Parcels, in an environment of their own."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers import peer_python
from benchmarks.rounds import output

PROGRAMS = Path(__file__).parent / "programs"
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class MpdataRun(NamedTuple):
    """Hills in Lauritzen's flow on rows x 2 rows of equal area: one period, wall-clock and CPU seconds, and the error at its end."""

    rows: int
    steps: int
    seconds: float
    cpu: float
    l2: float
    mass: float
    least: float
    most: float


def mpdata(rows: Sequence[int]) -> list[MpdataRun]:
    """PyMPDATA on several grids, one thread, 3 passes, non-oscillatory. Compilation, which is not counted, takes half a minute a grid.

    Raises
    ------
    MissingPeer
        It cannot be installed or fails.
    """
    return [MpdataRun(**found) for found in _run("transport_pympdata.py", *rows)]


def parcels(rounds: int) -> dict[str, list[float]]:
    """Velocity evaluations a second of Parcels' RK4 by "wall" and "cpu" time, for each round.

    Raises
    ------
    MissingPeer
        It cannot be installed or fails.
    """
    found: dict[str, list[float]] = _run("transport_parcels.py", rounds)
    return found


def _run(program: str, *words: object) -> Any:
    return json.loads(output([peer_python("peers-transport"), str(PROGRAMS / program), *map(str, words)], ONE_THREAD).splitlines()[-1])
