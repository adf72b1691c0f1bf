"""A bucket of soil water: how to add a model of your own. Run it with `model = "examples/bucket.py"` in a run file.

Each number is declared once, with its unit and meaning; `step` is one day of one cell, in plain Python that pytest and a debugger can
walk through. `s` is always yesterday's end, so no result depends on the order of the lines. Steppe compiles it for whole maps.
Evaporation falls with the wetness of the soil as in Manabe (1969); the leak is ours.
"""

from typing import Annotated, NamedTuple

from steppe.kernels.vecmath import exp
from steppe.variable import Var

NAME = "bucket"
VERSION = "1.0"
LONG_NAME = "Bucket water balance"


class State(NamedTuple):
    """What is carried from day to day."""

    water: Annotated[float, Var("mm", "Soil water", low=0, high=1000, initial=50)]


class Forcing(NamedTuple):
    """The weather of a day; irrigation need not be given and can be set for a day."""

    rain: Annotated[float, Var("mm d-1", "Rainfall", low=0, high=2000, logarithmic=True)]
    pan: Annotated[float, Var("mm d-1", "Class A pan evaporation", low=0, high=50)]
    irrigation: Annotated[float, Var("mm d-1", "Water given to the soil", low=0, high=500, initial=0)]


class Parameters(NamedTuple):
    """What stays the same: one number, or one for each cell."""

    capacity: Annotated[float, Var("mm", "Most water that the soil holds", low=1, high=1000, initial=150)]
    leak: Annotated[float, Var("d-1", "Part that leaks away in a day", low=0, high=1, initial=0.01)]


class Diagnostics(NamedTuple):
    """What a day did."""

    runoff: Annotated[float, Var("mm d-1", "Runoff", logarithmic=True)]
    actual_evaporation: Annotated[float, Var("mm d-1", "Evaporation")]
    drainage: Annotated[float, Var("mm d-1", "Drainage")]


def step(s: State, f: Forcing, p: Parameters) -> tuple[State, Diagnostics]:
    """One day: rain in, evaporation as the soil is wet, what leaks, what runs over."""
    wet = s.water + f.rain + f.irrigation
    evaporation = min(wet, f.pan * min(1.0, wet / p.capacity))
    kept = (wet - evaporation) * exp(-p.leak)
    runoff = max(0.0, kept - p.capacity)
    drainage = wet - evaporation - kept
    return State(water=kept - runoff), Diagnostics(runoff=runoff, actual_evaporation=evaporation, drainage=drainage)
