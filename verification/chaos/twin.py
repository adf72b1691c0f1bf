"""The batch twin of a scenario: `steppe.Simulation`, which knows no server, does what the journal says of it."""

import json
from pathlib import Path

import numpy as np

from steppe import Simulation
from steppe.control import Position
from steppe.control.orders import BranchRecord
from steppe.control.rendezvous import RUN_FILE
from steppe.control.server.journal import Journal
from steppe.engine.run_file import read_run_file
from verification.kill.checker import STATES


def twin_of(run: Path, journal: Journal, branch: BranchRecord, output: Path) -> tuple[dict[str, bytes], int]:
    """The values of the states of a scenario where it was seen last, and how many changes led to them."""
    changes = [each for each in journal.placed(branch.id, Position(-1, -1)) if each.kind == "set" and each.outcome == "done"]
    run_file = read_run_file(run / RUN_FILE, {"output.path": json.dumps(str(output))})
    with Simulation(run_file) as simulation:
        for each in changes:
            _step(simulation, each.at_step or 0)
            _change(simulation, **{name: each.arguments[name] for name in ("variable", "operation", "value", "region")})
        _step(simulation, branch.shown_step)
        return {name: np.asarray(simulation.get(name)).tobytes() for name in STATES}, len(changes)


def _step(simulation: Simulation, until: int) -> None:
    if until > simulation.step_index:
        simulation.step(until - simulation.step_index)


def _change(simulation: Simulation, variable: str, operation: str, value: float, region: object) -> None:
    """Sums and products are of float64, and rounded once to what the variable is stored in."""
    if operation == "set":
        simulation.set(variable, value, region)
        return
    there = np.asarray(simulation.get(variable, region), np.float64)
    simulation.set(variable, there * value if operation == "scale" else there + value, region)
