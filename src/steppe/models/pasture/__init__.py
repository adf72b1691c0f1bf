"""The Pasture Model: soil water, growth and use of a tropical pasture, a day at a time, in the line of GRASP (McKeon and others).

A cell model: `step` is one day of one cell, in words of the trade; Steppe compiles it for whole maps. The equations come from APSIM 6.1
(module `grasp` and its neighbours), each with its source where it stands; what is our own judgement says so.
"""

from steppe.models.pasture.derive import derive, start
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.diagnostics import EXPORTS, Diagnostics
from steppe.models.pasture.forcing import Forcing, Today, choose, requirements
from steppe.models.pasture.options import Options
from steppe.models.pasture.parameters import Parameters
from steppe.models.pasture.sets import sets
from steppe.models.pasture.state import State
from steppe.models.pasture.step import step

NAME = "pasture"
VERSION = "1.1"
LONG_NAME = "Pasture Model: water, growth and use of a tropical pasture"
COST = 25e-9  # [s] of a cell and day on one core of an AMD EPYC; measured by `scripts/bench shares`

__all__ = [
    "COST",
    "EXPORTS",
    "LONG_NAME",
    "NAME",
    "VERSION",
    "Derived",
    "Diagnostics",
    "Forcing",
    "Options",
    "Parameters",
    "State",
    "Today",
    "choose",
    "derive",
    "requirements",
    "sets",
    "start",
    "step",
]
