"""The replies of a server: one struct each. Members may be added; a client passes over what it does not know."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from steppe.levels import Layered, Space

RunState = Literal[
    "absent", "starting", "loading", "compiling", "ready", "stepping", "paused", "recovering", "failed", "finished", "archived", "deleted"
]
OperationState = Literal["queued", "running", "done", "failed", "cancelled"]


class Engine(Struct, kw_only=True):
    """The process that computes."""

    epoch: Annotated[int, Meta(description="Number of starts of an engine of this run.")]
    pid: int
    host: str


class ScenarioInfo(Struct, kw_only=True):
    """The step and date of a scenario."""

    name: str
    branch: Annotated[int, Meta(description="Number of its branch.")]
    step: Annotated[int, Meta(description="Steps done.")]
    seq: Annotated[int, Meta(description="Number of the last change that was made at this step; 0 when none was.")]
    target: Annotated[int, Meta(description="The step at which it will stop.")]
    at: Annotated[int | None, Meta(description="The step of an engine that repeats earlier steps; null otherwise.")] = None
    date: Annotated[
        str | None, Meta(description="The date of the last finished step; before the first step the one on which the run begins.")
    ] = None
    state: str = ""
    version: Annotated[str, Meta(description="Its steering version.")] = ""
    parent: Annotated[int | None, Meta(description="Number of the branch from which it was made.")] = None
    fork_step: Annotated[int, Meta(description="The step of the order.")] = 0
    kept: Annotated[int | None, Meta(description="The first step that can be shown again within about a second.")] = None
    problem: Annotated[Any, Meta(description="The reason why it cannot continue.")] = None


class Info(Struct, kw_only=True):
    """A run as it is now."""

    run: str
    state: RunState
    version: Annotated[str, Meta(description="Steering version: changes with every command; what If-Match compares.")]
    scenarios: list[ScenarioInfo]
    waited: Annotated[float | None, Meta(description="Seconds that it has been starting, loading or compiling; null otherwise.")] = None
    engine: Engine | None = None
    rate: Annotated[float | None, Meta(description="Steps a second.")] = None
    model: str | None = None
    calendar: Annotated[str, Meta(description="CF calendar of its dates.")] = ""
    steps: Annotated[int | None, Meta(description="Steps of the whole run.")] = None
    silent: Annotated[bool, Meta(description="Whether the engine is silent.")] = False
    deaths: Annotated[int, Meta(description="Number of crashes of engines.")] = 0
    problem: Annotated[Any, Meta(description="The reason why the run has failed, or is paused.")] = None
    arrays: Annotated[
        dict[str, float],
        Meta(description="Of the global arrays of the models: their number, bytes, and what passed between hosts; empty without any."),
    ] = {}


class RunList(Struct, kw_only=True):
    """All runs of a server."""

    runs: list[Info]


class ModelInfo(Struct, kw_only=True):
    """A model that is installed."""

    model: Annotated[str, Meta(description="The name that a run file gives it.")]
    version: str | None = None
    problem: Annotated[str | None, Meta(description="Why it cannot be loaded.")] = None


class ModelList(Struct, kw_only=True):
    """All models that are installed."""

    models: list[ModelInfo]


class OptionDeclared(Struct, kw_only=True):
    """A choice between formulas."""

    long_name: str
    default: str
    words: Annotated[dict[str, str], Meta(description="Word of a run file -> its meaning.")]


class ModelDeclared(ModelInfo, kw_only=True):
    """The description of a model."""

    name: str = ""
    variables: Annotated[list[dict[str, Any]], Meta(description="Name, role, units, limits and source of each.")] = []
    options: dict[str, OptionDeclared] = {}
    sets: Annotated[dict[str, list[str]], Meta(description="Kind -> names of the sets of parameters.")] = {}


class GridInfo(Struct, kw_only=True):
    """The grid of a run."""

    kind: Literal["raster", "projected", "points"]
    dims: Annotated[list[str], Meta(description="Dimensions of a map; one of points.")]
    shape: list[int]
    cells: Annotated[int, Meta(description="Active cells.")]
    digest: str
    bounds: Annotated[list[float], Meta(description="West, south, east, north in degrees.")]
    axes: Annotated[dict[str, list[float]], Meta(description="Centres along each dimension: lat and lon in degrees, y and x in metres.")]
    ids: Annotated[list[str] | None, Meta(description="Names of points.")] = None
    crs: Annotated[dict[str, Any] | None, Meta(description="CF grid mapping of a projection.")] = None


class Levels(Struct, kw_only=True):
    """The levels of a variable. Level 3 of ozone has the name ozone[3]; levels are counted from 0."""

    name: Annotated[str, Meta(description="Of the dimension.")]
    values: Annotated[list[float], Meta(description="The coordinate of each level.")]
    units: str
    standard_name: str = ""
    long_name: str = ""
    positive: Annotated[Literal["up", "down", ""], Meta(description="Direction in which a vertical coordinate grows.")] = ""
    bounds: Annotated[list[tuple[float, float]], Meta(description="Both ends of each level, if the model declares them.")] = []
    interfaces: Annotated[
        list[tuple[float, float]], Meta(description="Of hybrid levels ap [Pa] and b at each interface; the pressure is ap + b ps.")
    ] = []


class VariableInfo(Struct, kw_only=True):
    """A variable as the model declares it."""

    name: str
    dims: list[str]
    units: str
    dtype: str
    role: Literal["state", "forcing", "parameter", "derived", "diagnostic"]
    long_name: str
    settable: Annotated[bool, Meta(description="Whether a request may set it.")]
    settable_by: Annotated[list[str], Meta(description="Variables to set instead of a computed one.")] = []
    standard_name: str = ""
    low: Annotated[float | None, Meta(description="Values below are refused.")] = None
    high: Annotated[float | None, Meta(description="Values above are refused.")] = None
    whole: Annotated[bool, Meta(description="Whether values with a fraction are refused.")] = False
    initial: float | None = None
    source: str = ""
    cell_methods: str = ""
    map: Annotated[
        Literal["field", "classes", ""], Meta(description="Kind of its map; empty: it is one number of the whole grid and has none.")
    ] = "field"
    classes: Annotated[dict[str, str], Meta(description="Number -> name of each class.")] = {}
    logarithmic: Annotated[bool, Meta(description="Whether maps of it have a logarithmic scale of colours.")] = False
    heading: Annotated[str, Meta(description="Of the group of parameters that begins with this one.")] = ""
    vector: Annotated[str, Meta(description="The vector that it is a component of.")] = ""
    toward: Annotated[Literal["east", "north", "south", "west", ""], Meta(description="Direction of positive values of a component.")] = ""
    rounded: Annotated[str, Meta(description='"float32": past steps that only a record holds are rounded to it.')] = ""
    levels: Annotated[Levels | None, Meta(description="Its levels; requests name one of them.")] = None


class VariableList(Struct, kw_only=True):
    """All variables of a run."""

    variables: list[VariableInfo]


class Problem(Struct, kw_only=True, omit_defaults=True):
    """A mistake in a request (RFC 9457). The request changed nothing."""

    type: Annotated[str, Meta(description="Address of the explanation of this kind of problem.")]
    title: str
    status: int
    detail: Annotated[str, Meta(description="The mistake, with the value, what was expected, and the remedy.")] = ""
    instance: Annotated[str, Meta(description="The address of the request.")] = ""
    code: Annotated[str, Meta(description="Name of the kind of problem; the end of type.")] = ""
    variable: str | None = None
    value: Annotated[Any, Meta(description="The given value.")] = None
    allowed: Annotated[Any, Meta(description="The accepted values.")] = None
    nearest: Annotated[str | None, Meta(description="The nearest name to the given one.")] = None
    position: Annotated[Any, Meta(description="Position in the request.")] = None


class OperationInfo(Struct, kw_only=True):
    """An order and its outcome."""

    id: Annotated[int, Meta(description="Number of the command in the journal of its run.")]
    run: str
    kind: str
    state: OperationState
    done: Annotated[int | None, Meta(description="Steps done.")] = None
    total: Annotated[int | None, Meta(description="Steps to do.")] = None
    eta_s: Annotated[float | None, Meta(description="Seconds that it will still take.")] = None
    result: Annotated[
        Any,
        Meta(
            description="Of an order that is done: of a change its variable, cells and the sums of their values before and after; of a "
            "checkpoint its name and its bytes; null before."
        ),
    ] = None
    problem: Annotated[
        Any,
        Meta(description="The reason of a failure or a cancellation: code, text; by, kind, who of the command that cancelled it."),
    ] = None


class Ordered(OperationInfo, kw_only=True):
    """An accepted order: it is in the journal and is carried out once, through any crash."""

    version: Annotated[str, Meta(description="Steering version after it.")] = ""
    target: Annotated[int | None, Meta(description="The step at which the scenario will now stop.")] = None
    at_step: Annotated[int | None, Meta(description="The step at which it takes effect; null while the engine has not named one.")] = None


class Preview(Struct, kw_only=True):
    """The effect of a change at the present step of the scenario. It changes nothing."""

    variable: str
    units: str
    step: Annotated[int, Meta(description="The step of the values before.")]
    cells: Annotated[int, Meta(description="Cells that it reaches.")]
    before: Annotated[
        float | None, Meta(description="Their mean by area, while the result of the change has sums; null where there are no values.")
    ]
    after: Annotated[float | None, Meta(description="Their mean by area.")]
    outside: Annotated[int, Meta(description="Cells whose values would lie outside their limits: the server would refuse the change.")]


class EventInfo(Struct, kw_only=True):
    """A future change."""

    id: int
    scenario: str
    at_step: Annotated[int | None, Meta(description="The step before which it happens; null of a yearly change.")]
    arguments: dict[str, Any]
    date: str | None = None
    yearly: Annotated[str | None, Meta(description="Month-day of every year.")] = None
    who: str = ""


class EventList(Struct, kw_only=True):
    """The future changes."""

    events: list[EventInfo]


class TriggerInfo(Struct, kw_only=True):
    """A trigger of a scenario."""

    id: int
    scenario: str
    expression: str
    action: Literal["pause", "message", "image"]
    text: str = ""
    variable: str | None = None
    who: str = ""
    fired: Annotated[list[int], Meta(description="The steps after which it became true.")] = []
    off: Annotated[str | None, Meta(description="The reason why it is switched off.")] = None


class TriggerList(Struct, kw_only=True):
    """All triggers of a run."""

    triggers: list[TriggerInfo]


class CheckpointInfo(Struct, kw_only=True):
    """A durable checkpoint."""

    name: str
    branch: int
    step: int
    seq: int
    bytes: int
    pinned: bool = False


class CheckpointList(Struct, kw_only=True):
    """The durable checkpoints of a run."""

    checkpoints: list[CheckpointInfo]


class ScenarioList(Struct, kw_only=True):
    """The scenarios of a run."""

    scenarios: list[ScenarioInfo]


class Whoami(Struct, kw_only=True):
    """Name of the sender."""

    name: str
    role: Literal["view", "steer", "admin"]
    expires: Annotated[str | None, Meta(description="When the token or the session ends.")] = None
    run: Annotated[str | None, Meta(description="The only run that it opens; none for all.")] = None
    requests_left: Annotated[int | None, Meta(description="Requests that may be sent at once.")] = None


class Uploaded(Struct, kw_only=True):
    """An array that a change may now name."""

    sha256: str
    bytes: int


class Health(Struct, kw_only=True):
    """Whether the server is up."""

    status: Literal["ok", "unavailable"]


class Ended(Struct, kw_only=True):
    """A run that was ended."""

    run: str
    state: Literal["archived", "deleted"]


class Fit(Struct, kw_only=True):
    """Round ends of colours about the 2nd and 98th percentile of one map."""

    variable: str
    step: int
    low: float
    high: float


class Gap(Struct, kw_only=True):
    """Steps of a series that have no value, and why."""

    first: int
    last: int
    reason: str


class Thinned(Struct, kw_only=True):
    """The thinning of a series: every line keeps the least and the greatest value of each piece, at their true steps."""

    steps: Annotated[int, Meta(description="Number of steps before thinning.")]
    pieces: int


class SeriesInfo(Struct, kw_only=True):
    """Values of one variable at some places, or of a region, over time."""

    variable: str
    units: str
    scenario: str
    steps: list[int]
    dates: list[str | None]
    places: Annotated[list[tuple[float, float]], Meta(description="Longitude and latitude of the cells' centres; none of a region.")]
    values: Annotated[list[list[float | None]], Meta(description="One list a place; of a region its mean by area, min and max.")]
    levels: Annotated[list[float], Meta(description="Of a profile the coordinate of each list, whose place is in `places`.")] = []
    gaps: Annotated[list[Gap], Meta(description="Steps without a value, where `points` was given; else they are refused.")] = []
    thinned: Thinned | None = None
    cells: Annotated[int | None, Meta(description="Number of cells of a region.")] = None
    rounded: Annotated[str | None, Meta(description='"float32": values come from a record that is rounded to it.')] = None


class ArrayInfo(Struct, kw_only=True):
    """An array in JSON."""

    variable: str
    units: str
    dtype: str
    shape: list[int]
    dims: list[str]
    step: int
    date: str | None
    scenario: str
    box: Annotated[
        tuple[float, float, float, float] | None,
        Meta(
            description="Of a map of latitudes and longitudes: west, south, east, north edge [degrees] of the part that was asked for; "
            "with stride it holds the rows and columns in between, too."
        ),
    ] = None
    lat: Annotated[list[float] | None, Meta(description="Latitudes of the rows where they are not even, on Gaussian grids.")] = None
    dates: Annotated[list[str | None] | None, Meta(description="Of several steps the date of each, along the first dimension.")] = None
    scale: Annotated[float | None, Meta(description="Of int16: value = offset + scale x number.")] = None
    offset: Annotated[float | None, Meta(description="Of int16: the value of the number 0.")] = None
    missing: Annotated[int | None, Meta(description="Of int16: the number in place of no value.")] = None
    values: Annotated[list[Any], Meta(description="Nested as the shape says; null where there is no value.")]
    rounded: Annotated[str | None, Meta(description='"float32": values come from a record that is rounded to it.')] = None


def by_name(variables: Iterable[VariableInfo]) -> Layered[VariableInfo]:
    """Name -> variable; "ozone[3]" is level 3 of ozone, a variable without levels."""
    found = {each.name: each for each in variables}
    spaces = {each.levels.name: _space(each.levels) for each in found.values() if each.levels}
    return Layered(found, spaces, partial(msgspec.structs.replace, levels=None))


def _space(levels: Levels) -> Space:
    said = levels.units, levels.standard_name, levels.positive, tuple(levels.bounds), levels.long_name, tuple(levels.interfaces)
    return Space(tuple(levels.values), *said)
