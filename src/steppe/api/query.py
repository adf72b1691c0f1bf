"""Queries for the values of a run.

A member with a description is a key of an address, too. `extra` of its `Meta` says what its text may be: `pattern`, and in words what is
`wrong` with a text that has another one; `low` and `high` of a number; `choices`.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from steppe.api.requests import DATE

SCENARIO = "[A-Za-z0-9][A-Za-z0-9._@-]{0,79}"
PIXELS = 8192  # of a side of an image
LONG = 6000  # characters; longer regions go into an order
Form = Literal["raw", "npy", "csv", "json", "netcdf", "coverage-json", "png"]
Place = tuple[float, float]
_DECIMAL = r"-?[0-9]{1,12}(\.[0-9]{1,12})?"
_LEVEL = r"[-+]?[0-9][0-9.eE+-]{0,20}( ?[A-Za-z%][ -~]{0,18})?"
_TIME = rf"latest|step:[0-9]{{1,10}}(/[0-9]{{1,10}})?|{DATE}(/{DATE})?"
_MAPS = (  # names of cmcrameri, which the server does not load
    "acton bam bamako bamO batlow batlowK batlowW berlin bilbao broc brocO buda bukavu cork corkO davos devon fes glasgow grayC hawaii "
    "imola lajolla lapaz lipari lisbon managua navia naviaW nuuk oleron oslo roma romaO tofino tokyo turku vanimo vik vikO"
)
STYLES = (*_MAPS.split(), *(f"{name}_r" for name in _MAPS.split()))
WHICH = "The level, of a variable with levels"
ACCEPTED = "The format of the answer; when absent the one of these that the header Accept prefers, the first of them for any."


def _key(description: str, **extra: object) -> Meta:
    return Meta(description=description, extra=extra)


def _level(description: str) -> Meta:
    wrong = 'It is neither the number of a level nor a value with its unit, such as "850 hPa".'
    return _key(description, pattern=f"^{_LEVEL}$", most=40, example="850 hPa", wrong=wrong)


Scenario = Annotated[
    str,
    _key(
        "Name of the scenario.",
        pattern=f"^{SCENARIO}$",
        wrong="A scenario has a name of 1 to 80 of A-Z a-z 0-9 . _ @ -, the first a letter or digit.",
    ),
]
Level = Annotated[str, _level(f"{WHICH}: its number, from 0, or its value with its unit.")]
Time = Annotated[
    str,
    _key(
        "latest: the last finished step; a date, from/to (both included), step:n or step:n/m of what was computed. A date means its end.",
        pattern=f"^({_TIME})$",
        wrong="Write latest, 2001-03-05, 2001-03-05/2001-03-31, 2001-03-05T06:00, step:64 or step:64/90.",
    ),
]
Box = Annotated[
    tuple[float, float, float, float],
    _key("West,south,east,north.", pattern=f"^{_DECIMAL}(,{_DECIMAL}){{3}}$", example="150,-28,153,-25"),
]
Polygon = Annotated[
    tuple[Place, ...],
    _key(
        "Corners: lon,lat,lon,lat,...",
        pattern=f"^{_DECIMAL},{_DECIMAL}(,{_DECIMAL},{_DECIMAL}){{2,}}$",
        most=LONG,
        example="150,-28,153,-28,153,-25",
    ),
]
Cells = Annotated[
    tuple[int, ...],
    _key(
        "Packed numbers of cells.", pattern="^[0-9]{1,10}(,[0-9]{1,10})*$", most=LONG, wrong="Cells are whole numbers with commas between."
    ),
]


LATEST = (-1, -1)  # the last finished step when the answer is made


class Along(Struct, frozen=True):
    """Many steps at once.

    steps: the first and the last, or `LATEST`; again: what is not at hand may be computed; region: the cells are taken together.
    """

    steps: tuple[int, int]
    again: bool
    region: bool


class MapQuery(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Values of a variable at one step or several: which cells, in which form. Server, engine, ranks and clients have this one struct.

    The server, which knows the run, sets the members without a description: `name` of the variable or of a level of it, `chosen` for
    the packed cells (uint32) of `polygon` and `cells`, `step` for `time` (None: the one that was finished last), `along` for many steps.
    """

    name: str = ""
    chosen: bytes = b""
    step: int | None = None
    along: Along | None = None
    scenario: Scenario = "main"
    level: Level | None = None
    time: Time = "latest"
    box: Box | None = None
    polygon: Polygon | None = None
    cells: Cells | None = None
    stride: Annotated[int, _key("Every k-th row and column only.", low=1, high=1000)] = 1
    width: Annotated[int, _key("Columns of the answer at most; `reduce` combines cells.", low=1, high=PIXELS)] | None = None
    height: (
        Annotated[int, _key("Rows of the answer at most; from the width and the shape of the region if absent.", low=1, high=PIXELS)] | None
    ) = None
    reduce: Annotated[Literal["mean", "min", "max", "first"], _key("Combines cells; mean weighs by area, of classes it is first.")] = "mean"
    packed: Annotated[bool, _key("1: active cells only, in packed order; 0: rows and columns.")] = False
    dtype: Annotated[Literal["float32", "float64", "int16"], _key("Type of the numbers; the variable's own when absent.")] | None = None
    format: Annotated[Form, _key(ACCEPTED)] | None = None
    style: Annotated[str, _key("A colour map of Crameri (2018); one that suits the variable when absent.", choices=STYLES)] | None = None
    low: Annotated[float, _key("The value of the first colour; from the values when absent.", low=-1e11, high=1e11)] | None = None
    high: Annotated[float, _key("The value of the last colour; from the values when absent.", low=-1e11, high=1e11)] | None = None

    @property
    def in_pixels(self) -> bool:
        """True if cells are taken together."""
        return self.width is not None or self.height is not None


class SeriesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Values of a variable over time: at some places, or of a region."""

    scenario: Scenario = "main"
    level: Annotated[str, _level(f"{WHICH}. With `at` all of them, a profile, when absent.")] | None = None
    time: Time = "latest"
    at: Annotated[
        tuple[Place, ...],
        _key("A place: longitude,latitude; may be repeated.", pattern=f"^{_DECIMAL},{_DECIMAL}$", example="151.9,-27.5", many=200),
    ] = ()
    box: Box | None = None
    polygon: Polygon | None = None
    cells: Cells | None = None
    points: (
        Annotated[int, _key("About so many steps: of longer series the least and greatest values stay.", low=10, high=10_000)] | None
    ) = None
    compute: Annotated[bool, _key("0: takes records alone and computes nothing again; with `points` only.")] = True
    format: Annotated[Literal["json", "csv", "coverage-json"], _key(ACCEPTED)] | None = None
