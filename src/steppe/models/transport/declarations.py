"""The variables and options of a transport run."""

from collections.abc import Iterator, Sequence
from math import inf

from steppe.models.declare import Choice
from steppe.models.transport.levels import HIGHEST, HybridLevels
from steppe.models.transport.tracers import Tracer, product
from steppe.models.transport.winds import WINDS
from steppe.variable import Role, Variable

YX, LYX = ("y", "x"), ("level", "y", "x")
PATH = ("path_x", "path_y", "path_z", "path_level")
CHOICES = {
    "scheme": Choice(
        "How a tracer is interpolated",
        {"best": "six points along and across, clipped", "ccm": "four points, as in the Community Climate Model"},
    ),
    "wind": Choice("The wind", {**{name: wind.meaning for name, wind in WINDS.items()}, "forcing": "winds of the run: u, v, ps, omega"}),
    "vertical": Choice(
        "Whether the winds of a run move air from level to level",
        {"omega": "they do, by their omega", "none": "there is no vertical motion: each level is moved by its own u and v alone"},
    ),
    "limiter": Choice("Whether a tracer may leave its range", {"on": "it stays within it", "off": "more exact where it is smooth"}),
    "fixer": Choice("Whether the mass of a tracer is kept exact", {"on": "it is", "off": "it changes as it is interpolated"}),
}


def variables_of(tracers: Sequence[Tracer], wind: str, vertical: bool, levels: HybridLevels) -> Iterator[Variable]:
    """The variables of a run. vertical: whether its winds hold omega."""
    for tracer in tracers:
        yield Variable(tracer.name, LYX, tracer.units, "float64", Role.STATE, f"{tracer.name} in the air", initial=0.0, heading="Tracers")
    if wind == "forcing":
        text = "surface pressure of the step before; 0 at first"
        yield Variable("ps_before", YX, "Pa", "float64", Role.STATE, text, initial=0.0, heading="Air")
    for axis, name in zip(("x", "y", "z"), PATH, strict=False):  # the last rows of a state: `Transport.step` takes them as one block
        text = f"middle of the last path to the cell, {axis} on the unit sphere"
        yield Variable(name, LYX, "1", "float64", Role.STATE, text, initial=0.0, heading="Paths")
    yield Variable(PATH[3], LYX, "1", "float64", Role.STATE, "middle of the last path to the cell, coordinate of the level", initial=0.0)
    for tracer in tracers:
        unit = product(tracer.units, "kg m-2")
        yield Variable(f"column_{tracer.name}", YX, unit, "float64", Role.DIAGNOSTIC, f"{tracer.name} above a square metre")
    if wind == "forcing":
        yield from _forcing(vertical, levels.least_surface)
    if wind in WINDS and WINDS[wind].period is None:
        yield _number("period", "d", "period of the wind", 12.0, 1e-3, 1e6)
    if wind == "rotation":
        yield _number("angle", "degree", "tilt of the axis of the wind", 0.0, -360.0, 360.0)
    for tracer in tracers:
        if tracer.half_life is not None:
            yield _number(f"half_life_{tracer.name}", "d", f"half-life of {tracer.name}", tracer.half_life, 1e-9, 1e12)
        if tracer.source is not None:
            number = tracer.source if isinstance(tracer.source, float) else 0.0
            text = f"source of {tracer.name}" + (f" on levels {', '.join(map(str, tracer.levels))}" if tracer.levels else "")
            most = 1.0 if tracer.units == "1" else inf  # of a mixing ratio
            kind = YX, tracer.source_units, "float64", Role.PARAMETER
            yield Variable(f"source_{tracer.name}", *kind, text, low=0.0, high=most, initial=number)


def _forcing(vertical: bool, least_surface: float) -> Iterator[Variable]:
    fields = (
        ("u", "m s-1", "wind to the east", "eastward_wind", -1),
        ("v", "m s-1", "wind to the north", "northward_wind", -1),
        ("omega", "Pa s-1", "change of the pressure of air", "lagrangian_tendency_of_air_pressure", 1),
    )
    for name, units, text, standard, parity in fields if vertical else fields[:2]:
        yield Variable(name, LYX, units, "float64", Role.FORCING, text, standard, low=-1000.0, high=1000.0, parity=parity)
    yield Variable(*("ps", YX, "Pa", "float64", Role.FORCING, "surface pressure", "surface_air_pressure"), low=least_surface, high=HIGHEST)


def _number(name: str, units: str, text: str, initial: float, low: float, high: float) -> Variable:
    return Variable(name, (), units, "float64", Role.PARAMETER, text, initial=initial, low=low, high=high)
