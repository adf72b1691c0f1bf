"""Steppe runs gridded environmental models in parallel and lets people steer and see them while they run.

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

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "BadCellError": "steppe.errors",
    "Clock": "steppe.clock",
    "DamagedError": "steppe.errors",
    "Event": "steppe.engine",
    "Failure": "steppe.errors",
    "FolderError": "steppe.errors",
    "ForcingError": "steppe.errors",
    "GridError": "steppe.errors",
    "Mistake": "steppe.errors",
    "ModelError": "steppe.errors",
    "NoSpaceError": "steppe.errors",
    "Plan": "steppe.engine",
    "RunFile": "steppe.engine",
    "RunFileError": "steppe.errors",
    "Simulation": "steppe.engine",
    "SteppeError": "steppe.errors",
    "Var": "steppe.variable",
    "Variable": "steppe.variable",
    "connect": "steppe.client",
    "connect_async": "steppe.client",
    "example": "steppe.jobs.examples",
    "find_model": "steppe.models",
    "open": "steppe.io",
    "read_grid": "steppe.grid",
    "read_run_file": "steppe.engine",
    "run": "steppe.engine",
    "unpack": "steppe.io",
}
_NAME = {"open": "open_results"}

__all__ = list(_HOME)

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
    from steppe.io import unpack as unpack
    from steppe.jobs.examples import example as example
    from steppe.models import find_model as find_model
    from steppe.variable import Var as Var
    from steppe.variable import Variable as Variable


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'steppe' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), _NAME.get(name, name))


def __dir__() -> list[str]:
    return sorted(_HOME)
