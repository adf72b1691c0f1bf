"""What a server answers: one struct a reply. Members may be added; a client passes over what it does not know."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

RunState = Literal[
    "absent", "starting", "loading", "compiling", "ready", "stepping", "paused", "recovering", "failed", "finished", "archived", "deleted"
]
OperationState = Literal["queued", "running", "done", "failed", "cancelled"]


class Engine(Struct, kw_only=True):
    """The process that computes."""

    epoch: Annotated[int, Meta(description="How often an engine of this run was started.")]
    pid: int
    host: str


class ScenarioInfo(Struct, kw_only=True):
    """Where a scenario stands."""

    name: str
    branch: Annotated[int, Meta(description="Number of the branch that it stands on.")]
    step: Annotated[int, Meta(description="Steps done.")]
    seq: Annotated[int, Meta(description="Number of the last change that was made at this step; 0 when none was.")]
    target: Annotated[int, Meta(description="The step that it goes to.")]
    at: Annotated[
        int | None, Meta(description="The step that an engine has come to which does again what was done; null where none does.")
    ] = None
    date: Annotated[str | None, Meta(description="The date that was done last.")] = None
    state: str = ""
    version: Annotated[str, Meta(description="Its steering version.")] = ""
    parent: Annotated[int | None, Meta(description="Number of the branch that it was made from.")] = None
    fork_step: Annotated[int, Meta(description="The step at which it was.")] = 0
    kept: Annotated[int | None, Meta(description="The first step from which on it can be shown again within about a second.")] = None
    problem: Annotated[Any, Meta(description="Why it cannot go on.")] = None


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
    silent: Annotated[bool, Meta(description="Whether the engine has not been heard of for a while.")] = False
    deaths: Annotated[int, Meta(description="How often an engine has died.")] = 0
    problem: Annotated[Any, Meta(description="Why the run has failed, or is paused.")] = None


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
    words: Annotated[dict[str, str], Meta(description="What a run file may write -> its meaning.")]


class ModelDeclared(ModelInfo, kw_only=True):
    """What a model is made of."""

    name: str = ""
    variables: Annotated[list[dict[str, Any]], Meta(description="Name, role, units, limits and source of each.")] = []
    options: dict[str, OptionDeclared] = {}
    sets: Annotated[dict[str, list[str]], Meta(description="Kind -> names of the sets of parameters.")] = {}


class GridInfo(Struct, kw_only=True):
    """Where the cells of a run lie."""

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
    positive: Annotated[Literal["up", "down", ""], Meta(description="Where values of a vertical coordinate grow.")] = ""
    bounds: Annotated[list[tuple[float, float]], Meta(description="Both ends of each level, if the model declares them.")] = []


class VariableInfo(Struct, kw_only=True):
    """A variable as the model declares it."""

    name: str
    dims: list[str]
    units: str
    dtype: str
    role: Literal["state", "forcing", "parameter", "derived", "diagnostic"]
    long_name: str
    settable: Annotated[bool, Meta(description="Whether a request may set it.")]
    settable_by: Annotated[list[str], Meta(description="What to set in its place, when it is computed.")] = []
    standard_name: str = ""
    low: Annotated[float | None, Meta(description="Values below are refused.")] = None
    high: Annotated[float | None, Meta(description="Values above are refused.")] = None
    initial: float | None = None
    source: str = ""
    cell_methods: str = ""
    map: Annotated[
        Literal["field", "classes", ""], Meta(description="What its map shows; empty: it is one number of the whole grid and has none.")
    ] = "field"
    classes: Annotated[dict[str, str], Meta(description="Number -> name of each class.")] = {}
    logarithmic: Annotated[bool, Meta(description="Whether maps of it have a logarithmic scale of colours.")] = False
    heading: Annotated[str, Meta(description="Of the group of parameters that begins with this one.")] = ""
    vector: Annotated[str, Meta(description="The vector that it is a component of.")] = ""
    toward: Annotated[Literal["east", "north", "south", "west", ""], Meta(description="Where positive values of a component point.")] = ""
    rounded: Annotated[str, Meta(description='"float32": past steps that only a record holds are rounded to it.')] = ""
    levels: Annotated[Levels | None, Meta(description="Its levels; requests name one of them.")] = None


class VariableList(Struct, kw_only=True):
    """All variables of a run."""

    variables: list[VariableInfo]


class Problem(Struct, kw_only=True, omit_defaults=True):
    """What was wrong with a request (RFC 9457). Nothing was changed by it."""

    type: Annotated[str, Meta(description="Where this kind of problem is explained.")]
    title: str
    status: int
    detail: Annotated[str, Meta(description="What is wrong, with the value and what was expected, and what to do.")] = ""
    instance: Annotated[str, Meta(description="The address that was asked.")] = ""
    code: Annotated[str, Meta(description="Name of the kind of problem; the end of type.")] = ""
    variable: str | None = None
    value: Annotated[Any, Meta(description="What was given.")] = None
    allowed: Annotated[Any, Meta(description="What would be taken.")] = None
    nearest: Annotated[str | None, Meta(description="The name that is most like the one that was given.")] = None
    position: Annotated[Any, Meta(description="Where in the request.")] = None


class Operation(Struct, kw_only=True):
    """An order and what became of it."""

    id: Annotated[int, Meta(description="Number of the command in the journal of its run.")]
    run: str
    kind: str
    state: OperationState
    done: Annotated[int | None, Meta(description="Steps done.")] = None
    total: Annotated[int | None, Meta(description="Steps to do.")] = None
    eta_s: Annotated[float | None, Meta(description="Seconds that it may still take.")] = None
    result: Any = None
    problem: Annotated[
        Any,
        Meta(description="Why it failed or was cancelled: code, text; by, kind, who of the command that cancelled it."),
    ] = None


class Ordered(Operation, kw_only=True):
    """An order that was accepted: it is in the journal and will be carried out once, whatever dies."""

    version: Annotated[str, Meta(description="Steering version after it.")] = ""
    target: Annotated[int | None, Meta(description="The step that the scenario now goes to.")] = None
    at_step: Annotated[int | None, Meta(description="The step at which it takes effect; null while the engine has not named one.")] = None


class Preview(Struct, kw_only=True):
    """What a change would do where the scenario stands now. Nothing was changed."""

    variable: str
    units: str
    step: Annotated[int, Meta(description="The step of the values before.")]
    cells: Annotated[int, Meta(description="Cells that it reaches.")]
    before: Annotated[float | None, Meta(description="Their mean by area; null where there are no values.")]
    after: float | None
    outside: Annotated[int, Meta(description="Cells whose values would lie outside of what is allowed: then it would be refused.")]


class EventInfo(Struct, kw_only=True):
    """A change that is still to come."""

    id: int
    scenario: str
    at_step: Annotated[int | None, Meta(description="The step before which it happens; null of what happens every year.")]
    arguments: dict[str, Any]
    date: str | None = None
    yearly: Annotated[str | None, Meta(description="Month-day of every year.")] = None
    who: str = ""


class EventList(Struct, kw_only=True):
    """The changes that are still to come."""

    events: list[EventInfo]


class TriggerInfo(Struct, kw_only=True):
    """Something that is watched for in a scenario."""

    id: int
    scenario: str
    expression: str
    action: Literal["pause", "message", "image"]
    text: str = ""
    variable: str | None = None
    who: str = ""
    fired: Annotated[list[int], Meta(description="The steps after which it became true.")] = []
    off: Annotated[str | None, Meta(description="Why it is not looked at any more.")] = None


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
    """Whose request it was."""

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
    """What was left out of a series: of each of some pieces the least and the greatest value of every line stays, at its true step."""

    steps: Annotated[int, Meta(description="How many there were.")]
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
    cells: Annotated[int | None, Meta(description="How many a region has.")] = None
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
    values: Annotated[list[Any], Meta(description="Nested as the shape says; null where there is no value.")]
    rounded: Annotated[str | None, Meta(description='"float32": values come from a record that is rounded to it.')] = None
