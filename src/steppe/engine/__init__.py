"""Everything that steps a run: what a run file means, the simulation, and what is recorded. What commands make of it is in `jobs`.

run_file  the run as the user writes it          plan  its meaning, read and checked
driver  steps branches: the one loop of all runs          ranks, rank_state  the ranks, and the state of a branch on each of them
session, branches, query_cache  the branches of a run, their positions, answers          simulation, script_session  a run of a script
recomputation, snapshots  past steps and their diagnostics, computed again          checkpoint_manager  the run folder of a branch
outputs, recorder, intervals  the records          parameters, initial, events  the begin of a run
sites, site_inputs  launches that the bridge has joined, and the files of each          check  its cost, and its mistakes

Parts are imported when they are used.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.engine.check import Cost as Cost
    from steppe.engine.check import cautions as cautions
    from steppe.engine.check import estimate as estimate
    from steppe.engine.check import in_cell_days as in_cell_days
    from steppe.engine.check import problems as problems
    from steppe.engine.check import shortage as shortage
    from steppe.engine.differences import check_folder as check_folder
    from steppe.engine.options import options_text as options_text
    from steppe.engine.plan import Plan as Plan
    from steppe.engine.ranks import Crew as Crew
    from steppe.engine.ranks import Ranks as Ranks
    from steppe.engine.ranks import obey as obey
    from steppe.engine.ranks import serve_orders as serve_orders
    from steppe.engine.run_file import RunFile as RunFile
    from steppe.engine.run_file import read_run_file as read_run_file
    from steppe.engine.script_session import Event as Event
    from steppe.engine.session import Session as Session
    from steppe.engine.simulation import Simulation as Simulation
    from steppe.engine.simulation import run as run
    from steppe.engine.sites import OwnFiles as OwnFiles
    from steppe.engine.weather import unread as unread

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
