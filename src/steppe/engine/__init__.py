"""Everything that steps a run: what a run file means, the simulation, what is recorded, and reports of it.

run_file  what a person wrote          plan        what it means, read and checked
simulation  steps, looks, changes, checkpoints, branches
outputs, recorder, intervals  what is kept         parameters, initial, events  what it starts from
check  what it will cost, what is wrong            report  tables and pictures of what happened
"""

from steppe.engine.check import Cost, estimate, problems
from steppe.engine.plan import Plan, make_model
from steppe.engine.report import Summary, draw, overview, summary
from steppe.engine.run_file import RunFile, read_run_file
from steppe.engine.simulation import Event, Simulation, run

__all__ = [
    "Cost",
    "Event",
    "Plan",
    "RunFile",
    "Simulation",
    "Summary",
    "draw",
    "estimate",
    "make_model",
    "overview",
    "problems",
    "read_run_file",
    "run",
    "summary",
]
