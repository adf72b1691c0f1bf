"""A cell model for tests that uses everything: two layers, derived constants, today, options, an event, early return, a loop, branches."""

from typing import Annotated, NamedTuple

import numpy as np

from steppe.kernels.vecmath import cos, exp, log, power, sin, sqrt, tanh
from steppe.models.declare import Choice
from steppe.variable import Var

NAME, VERSION, LONG_NAME = "garden", "1.0", "Garden"
LINEAR, CURVED = 0, 1
SHARES = (0.7, 0.3)
FROST = -0.5


class State(NamedTuple):
    upper: Annotated[float, Var("mm", "Water above", low=0, high=500, initial=20)]
    lower: Annotated[float, Var("mm", "Water below", low=0, high=500)]
    green: Annotated[float, Var("kg ha-1", "Plants", low=0, high=1e5, initial=300)]
    age: Annotated[float, Var("d", "Days since rain", low=0, initial=0)]


class Forcing(NamedTuple):
    rain: Annotated[float, Var("mm d-1", "Rainfall", low=0, high=300)]
    warmth: Annotated[float, Var("degC", "Temperature", low=-40, high=60)]
    light: Annotated[float, Var("MJ m-2 d-1", "Radiation")]
    burn: Annotated[float, Var("1", "Part that burns", low=0, high=1, initial=0)]


class Parameters(NamedTuple):
    depth: Annotated[float, Var("mm", "Depth", low=10, high=500, initial=100)]
    shape: Annotated[float, Var("1", "Shape", low=0.1, high=5, initial=1.5)]
    vigour: Annotated[float, Var("1", "Vigour", low=0, high=10, initial=1)]


class Derived(NamedTuple):
    room: Annotated[float, Var("mm", "Room for water", settable_by=("depth",))]
    spread: Annotated[float, Var("1", "Spread")]


class Today(NamedTuple):
    day_of_year: Annotated[float, Var("1", "Day of year")]
    year: Annotated[float, Var("1", "Year")]


class Diagnostics(NamedTuple):
    runoff: Annotated[float, Var("mm d-1", "Runoff")]
    growth: Annotated[float, Var("kg ha-1 d-1", "Growth")]
    season: Annotated[float, Var("1", "Season")]


class Options(NamedTuple):
    response: Annotated[int, Choice("How plants respond to water", {"linear": "in proportion", "curved": "by a power"})] = LINEAR
    frost: Annotated[int, Choice("Whether frost kills", {"off": "no", "on": "a tenth of the plants"})] = 1


def derive(p: Parameters, o: Options) -> Derived:
    return Derived(room=p.depth * 0.45, spread=np.sqrt(p.shape) + (1.0 if o.response == CURVED else 0.0))


def start(p: Parameters, d: Derived) -> dict[str, float]:
    return {"lower": d.room * 0.5}


def wetness(water: float, room: float) -> float:
    if water <= 0.0:
        return 0.0
    return min(1.0, water / room)


def step(s: State, f: Forcing, p: Parameters, d: Derived, t: Today, o: Options) -> tuple[State, Diagnostics]:
    season = 0.5 + 0.5 * sin((t.day_of_year - 182.0) / 182.0 * 1.5) * cos(0.01 * (t.year - 2000.0))
    wet = wetness(s.upper, d.room)
    if o.response == CURVED:
        response = power(wet + 0.001, p.shape)
    else:
        response = wet * p.shape
    runoff = 0.0
    if f.rain > 10.0:
        runoff = (f.rain - 10.0) * (1.0 - exp(-0.01 * f.rain)) * response / (response + 1.0)
    upper = s.upper + f.rain - runoff
    drain = 0.0
    for share in SHARES:
        drain = drain + share * max(0.0, upper - d.room) * d.spread / 4.0
    growth = p.vigour * tanh(0.1 * f.light) * wet * season * log(1.0 + s.green) / sqrt(1.0 + s.green)
    green = (s.green + growth) * (1.0 - f.burn)
    if o.frost == 1 and f.warmth < FROST:
        green = green * 0.9
    use = min(upper - drain, 0.02 * growth + 0.05 * abs(f.warmth))
    lower = min(d.room, s.lower + drain)
    age = 0.0 if f.rain > 1.0 else s.age + 1.0
    return (
        State(upper=max(0.0, upper - drain - use), lower=lower * 0.99, green=green, age=age),
        Diagnostics(runoff=runoff, growth=growth, season=season),
    )
