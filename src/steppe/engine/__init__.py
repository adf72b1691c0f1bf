"""Everything that steps a run: what a run file means, the simulation, and what is recorded. What commands make of it is in `jobs`.

run_file  what a person wrote          plan        what it means, read and checked
driver  steps branches: the one loop of all runs; session, simulation  a run of a script
stage, branches, looks  a run that is steered from outside: many branches, positions, requests     keeper  what of a run is on the disk
again  a step that is over, computed again for its diagnostics; trail  from which state a `Simulation` does so
outputs, recorder, intervals  what is kept         parameters, initial, events  what it starts from
check  what it will cost, what is wrong

Parts are imported when they are used.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.engine.check import Cost as Cost
    from steppe.engine.check import estimate as estimate
    from steppe.engine.check import in_cell_days as in_cell_days
    from steppe.engine.check import problems as problems
    from steppe.engine.options import options_text as options_text
    from steppe.engine.plan import Plan as Plan
    from steppe.engine.ranks import Crew as Crew
    from steppe.engine.ranks import Ranks as Ranks
    from steppe.engine.ranks import obey as obey
    from steppe.engine.ranks import serve_orders as serve_orders
    from steppe.engine.run_file import RunFile as RunFile
    from steppe.engine.run_file import read_run_file as read_run_file
    from steppe.engine.session import Event as Event
    from steppe.engine.simulation import Simulation as Simulation
    from steppe.engine.simulation import run as run
    from steppe.engine.stage import Stage as Stage

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
