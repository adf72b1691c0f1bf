"""The smallest cell model whose state can leave the numbers."""

from typing import Annotated, NamedTuple

from steppe.variable import Var

NAME, VERSION, LONG_NAME = "doubling", "1.0", "Doubling"


class State(NamedTuple):
    x: Annotated[float, Var("1", "What grows", initial=1)]
    y: Annotated[float, Var("1", "What stays", initial=2)]


class Forcing(NamedTuple):
    factor: Annotated[float, Var("1", "What it grows by")]


class Parameters(NamedTuple):
    unit: Annotated[float, Var("1", "One", low=0.5, high=2, initial=1)]


class Diagnostics(NamedTuple):
    gain: Annotated[float, Var("1", "Gain", settable_by=("x", "unit"))]


def step(s: State, f: Forcing, p: Parameters) -> tuple[State, Diagnostics]:
    return State(x=s.x * f.factor * p.unit, y=s.y + 1.0), Diagnostics(gain=f.factor)
