"""Steppe runs gridded environmental models in parallel; users steer and watch them while they run.

    import steppe
    sim = steppe.example("pasture")              # a run that needs no file
    steppe.run("run.toml")                       # the same as the command
    steppe.open("queensland")["growth"]          # results as xarray, with units and coordinates
    with steppe.Simulation("run.toml") as sim:
        sim.step(30)
        sim["green_dry_matter"].plot()
    run = steppe.connect("http://...#token=...")  # a run that `steppe serve` serves

Nothing is imported before it is used.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.client import connect as connect
    from steppe.client import connect_async as connect_async
    from steppe.clock import Clock as Clock
    from steppe.engine import Event as Event
    from steppe.engine import Plan as Plan
    from steppe.engine import RunFile as RunFile
    from steppe.engine import Simulation as Simulation
    from steppe.engine import read_run_file as read_run_file
    from steppe.engine import run as run
    from steppe.errors import BadCellError as BadCellError
    from steppe.errors import DamagedError as DamagedError
    from steppe.errors import Failure as Failure
    from steppe.errors import FolderError as FolderError
    from steppe.errors import ForcingError as ForcingError
    from steppe.errors import GridError as GridError
    from steppe.errors import Mistake as Mistake
    from steppe.errors import ModelError as ModelError
    from steppe.errors import NoSpaceError as NoSpaceError
    from steppe.errors import RunFileError as RunFileError
    from steppe.errors import SteppeError as SteppeError
    from steppe.grid import read_grid as read_grid
    from steppe.io import open_results as open  # noqa: F401
    from steppe.io import unpack as unpack
    from steppe.jobs.examples import example as example
    from steppe.models import find_model as find_model
    from steppe.variable import Var as Var
    from steppe.variable import Variable as Variable

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
