"""The requests of clients to a run: one struct each, with its limits. The server decodes by them, the contract is made of them."""

from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

STEPS = 10**9  # at most in a request: a run of thirty years in steps of a second
VERTICES = 10_000  # corners of a polygon
CELLS = 100_000  # cells listed one by one

# alone, $ of Python matches before a line feed at the end, too, and a name stands in headers
Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\n)",
        max_length=64,
        description="1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit",
    ),
]
_LETTER = r"A-Za-z_\u0080-\uffff"  # Python has letters of all scripts in names
ARRAY = rf"[{_LETTER}][0-9{_LETTER}]{{0,127}}"
VARIABLE = rf"{ARRAY}(\[[0-9]{{1,6}}\])?"
VariableName = Annotated[
    str,
    Meta(
        pattern=rf"^{VARIABLE}$",
        max_length=136,
        description="Name of a variable of the model; of one of its levels, counted from 0, such as ozone[3].",
    ),
]
Level = Annotated[
    Annotated[int, Meta(ge=0, le=999_999)] | Annotated[str, Meta(min_length=1, max_length=40)],
    Meta(description="The level, of a variable with levels: its number, from 0, or its value with its unit.", examples=[3, "850 hPa"]),
]
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?"
Date = Annotated[
    str,
    Meta(
        pattern=f"^{DATE}$",
        max_length=26,
        description="Year-month-day in the calendar of the run; with the time of day, without a zone, where steps are shorter than a day.",
        examples=["2001-03-05", "2001-03-05T06:00"],
    ),
]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64, description="SHA-256 in hexadecimal digits.")]
StepNumber = Annotated[int, Meta(ge=0, le=STEPS, description="A step: the number of finished steps since the start of the run.")]
Longitude = Annotated[float, Meta(ge=-180.0, le=360.0, description="Degrees east.")]
Latitude = Annotated[float, Meta(ge=-90.0, le=90.0, description="Degrees north.")]
Place = tuple[Longitude, Latitude]


class _Request(Struct, kw_only=True, forbid_unknown_fields=True):
    """A request: unknown members are refused, a member that has its default value may be left out."""


class At(_Request, kw_only=True):
    """A moment of a run: exactly one of step and date."""

    step: StepNumber | None = None
    date: Date | None = None


class Dates(At, kw_only=True):
    """When a change happens: exactly one of step, date and yearly."""

    yearly: (
        Annotated[
            str,
            Meta(
                pattern="^(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
                max_length=5,
                description="Month-day of every year.",
                examples=["07-01"],
            ),
        ]
        | None
    ) = None


class RegionRequest(_Request, kw_only=True):
    """A part of the grid: exactly one of box, polygon, cell and cells."""

    box: Annotated[tuple[Longitude, Latitude, Longitude, Latitude], Meta(description="West, south, east, north.")] | None = None
    polygon: (
        Annotated[list[Place], Meta(min_length=3, max_length=VERTICES, description="Corners in turn, longitude before latitude.")] | None
    ) = None
    cell: Annotated[Place, Meta(description="A place in the cell.")] | None = None
    cells: (
        Annotated[
            list[Annotated[int, Meta(ge=0, le=2**32 - 1)]], Meta(min_length=1, max_length=CELLS, description="Packed numbers of cells.")
        ]
        | None
    ) = None


When = Annotated[
    Literal["after", "now"] | At,
    Meta(description="after: after all earlier orders; now: at the end of the next step; or a future step or date."),
]
Where = Annotated[
    str | RegionRequest, Meta(description='"all", the name of a region, or {"box": ...}, {"polygon": ...}, {"cell": ...}, {"cells": ...}.')
]
Scenario = Annotated[
    str,
    Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._@-]{0,79}$", max_length=80, description="Name of the scenario; one that was left is name@n."),
]


class Login(_Request, kw_only=True):
    """A token, to be changed into a cookie."""

    token: Annotated[str, Meta(min_length=1, max_length=128, description="A token of the server.")]


class Step(_Request, kw_only=True):
    """Compute steps: exactly one of steps, until and end."""

    scenario: Scenario = "main"
    steps: Annotated[int, Meta(ge=1, le=STEPS, description="Number of steps after all earlier orders.")] | None = None
    until: Annotated[Date, Meta(description="Until the end of this date.")] | None = None
    end: Annotated[bool, Meta(description="To the end of the run.")] = False
    speed: Annotated[float, Meta(gt=0.0, le=1e6, description="The most steps a second; as fast as possible when absent.")] | None = None


class NewRun(_Request, kw_only=True):
    """A new run: exactly one of run and toml. The server chooses the folder of its results."""

    name: Name
    run: Annotated[dict[str, Any], Meta(description="The run file as JSON; dates are texts.")] | None = None
    toml: Annotated[str, Meta(max_length=200_000, description="The run file as it is.")] | None = None
    launcher: Annotated[str, Meta(max_length=64, description="Name of a launcher of the server, which starts its engine.")] = ""


class Start(_Request, kw_only=True):
    """Start the engine of a run that has none."""


class Pause(_Request, kw_only=True):
    """Stop at the end of the present step."""

    scenario: Scenario = "main"


class Change(_Request, kw_only=True):
    """The change of a variable: a value, or an uploaded array of one value for each cell of the region."""

    variable: VariableName
    level: Level | None = None
    operation: Annotated[Literal["set", "scale", "add"], Meta(description="Put in place of the values, multiply or add.")] = "set"
    value: Annotated[float, Meta(description="One value for all cells of the region.")] | None = None
    upload: Annotated[Digest, Meta(description="The uploaded array, in place of value.")] | None = None
    units: Annotated[str, Meta(max_length=64, description="Unit of the value when it is not the variable's own.")] | None = None
    region: Where = "all"


class Set(Change, kw_only=True):
    """Change a variable that may be set."""

    scenario: Scenario = "main"
    when: When = "after"


class EventRequest(Change, kw_only=True):
    """A change at a future step or date, or every year. Scenarios that branch off later have it, too."""

    when: Annotated[Dates, Meta(description="The step or date before which it happens.")]
    scenario: Scenario = "main"


class Trigger(_Request, kw_only=True):
    """A trigger: its expression is evaluated after each step; it acts when the expression becomes true."""

    scenario: Scenario = "main"
    expression: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1024,
            description="Of variables in their units, numbers, + - * / < > and or, mean() min() max() sum() over all cells; mean by area.",
            examples=["mean(water) < 20 and max(runoff) > 3"],
        ),
    ]
    action: Annotated[Literal["pause", "message", "image"], Meta(description="Stop, send a message, or save a map and send one.")] = (
        "message"
    )
    text: Annotated[str, Meta(max_length=200, description="Text of the message.")] = ""
    variable: Annotated[VariableName, Meta(description="Variable of the image.")] | None = None


class Remove(_Request, kw_only=True):
    """Take an event or a trigger back."""

    seq: Annotated[int, Meta(ge=1, le=2**62, description="Number of the command that added it.")]
    scenario: Scenario | None = None


class CheckpointRequest(_Request, kw_only=True):
    """Write a durable checkpoint after all earlier orders."""

    scenario: Scenario = "main"
    pin: Annotated[bool, Meta(description="Keep it for ever.")] = False


class Origin(_Request, kw_only=True):
    """The origin of a new scenario: the present step of another one, or a step or the end of a date of its past."""

    scenario: Scenario = "main"
    step: StepNumber | None = None
    date: Date | None = None


class NewScenario(_Request, kw_only=True):
    """Branch off a scenario."""

    name: Name
    origin: Annotated[Origin, Meta(description="Where it branches off; the present end of main when absent.")] | None = msgspec.field(
        name="from", default=None
    )
    set: Annotated[list[Change], Meta(max_length=100, description="Changes that are made at once, in this order.")] = []


class Rewind(_Request, kw_only=True):
    """Go back: exactly one of step, date, which names its end, and left, which undoes a rewind: what that left, such as main@1."""

    step: StepNumber | None = None
    date: Date | None = None
    left: Annotated[str, Meta(max_length=80)] | None = None


class Rename(_Request, kw_only=True):
    """Another name for a scenario."""

    name: Name


class Leave(_Request, kw_only=True):
    """Leave a scenario for good."""

    scenario: Scenario


class Restart(_Request, kw_only=True):
    """Go back to the initial state."""

    scenario: Scenario = "main"


class Skip(_Request, kw_only=True):
    """Skip a command that crashes the engine."""

    seq: Annotated[int, Meta(ge=1, le=2**62, description="Number of the command.")]


EXACTLY_ONE: dict[type[Struct], tuple[str, ...]] = {
    At: ("step", "date"),
    Dates: ("step", "date", "yearly"),
    RegionRequest: ("box", "polygon", "cell", "cells"),
    Step: ("steps", "until", "end"),
    NewRun: ("run", "toml"),
    Set: ("value", "upload"),
    EventRequest: ("value", "upload"),
    Change: ("value", "upload"),
    Rewind: ("step", "date", "left"),
}  # members of which one is given, and no more


def missing_choice(request: Struct) -> str | None:
    """The fault if not exactly one of the members of `EXACTLY_ONE` is given; None if one is."""
    names = EXACTLY_ONE.get(type(request), ())
    given = [name for name in names if getattr(request, name) is not None and getattr(request, name) is not False]
    if len(given) == 1 or not names:
        return None
    return f"Exactly one of {', '.join(names)} is to be given, not {' and '.join(given) or 'none'}."


@cache
def members(kind: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The members of a kind of request; to find them takes as long as to read one."""
    return msgspec.structs.fields(kind)


def canonical(request: Struct) -> bytes:
    """The one JSON text of a request: members in alphabetical order, those with their default value left out, no blanks.

    Two requests mean the same exactly when these bytes are equal.
    """
    return msgspec.json.encode(_said(request), order="sorted")


def _said(value: object) -> object:
    if isinstance(value, Struct):
        said = ((field, getattr(value, field.name)) for field in members(type(value)))
        return {field.encode_name: _said(member) for field, member in said if member != field.default}
    return [_said(item) for item in value] if isinstance(value, list | tuple) else value
