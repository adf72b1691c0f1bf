"""Documents that are passed on as dictionaries, with the types of their members."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from steppe.api.replies import OperationState


class ClockFacts(TypedDict):
    """The clock of a run. start: of the first step; step: its length [s], None for models without time; units: of CF times."""

    start: str
    step: float | None
    calendar: str
    units: str


class RunFacts(TypedDict):
    """The description of a run, as its engine reports it.

    variables: as `VariableInfo`; grid: as `steppe.grid.as_plain`; parameters: a number, or "per cell"; given: variables that the run file
    names; outputs: recorded variables; planned: the events of the run file, each with the step before which it happens, its values by
    variable, and the number of its cells, None for all; since: the step, and the action at it, behind the changes of scripts, which no
    journal has.
    """

    model: str
    version: str
    digest: str
    title: str
    weather: str
    identity: Mapping[str, str]
    variables: list[dict[str, object]]
    grid: Mapping[str, Any]
    clock: ClockFacts
    steps: int
    parameters: Mapping[str, float | str]
    options: Mapping[str, str]
    dtype: str
    on_bad_cell: str
    given: list[str]
    outputs: list[str]
    planned: list[dict[str, object]]
    since: NotRequired[Sequence[int]]  # absent in journals of earlier versions


class ImageColours(TypedDict):
    """The values of the first and last colour of an image, and its colour map."""

    low: float
    high: float
    style: str


class ArrayHead(TypedDict, total=False):
    """The description of the array or image of an answer.

    box: west, south, east, north [degrees]; lat: centres of the rows where they are not even; steps, dates: of several steps one behind the
    other; moved: bytes between ranks; rounded: to what records are rounded. last, missing: of a series its last step, and first, last
    and reason of steps without a value. scale, offset, missing: of int16 the factor, the summand and the number for no value.
    """

    variable: str
    units: str
    long_name: str
    dtype: str
    shape: list[int]
    dims: list[str]
    box: tuple[float, float, float, float] | None
    lat: list[float]
    step: int
    seq: int
    date: str | None
    steps: list[int]
    dates: list[str | None]
    scenario: str
    rounded: str
    moved: int
    low: float
    high: float
    style: str
    last: int
    missing: int | list[list[Any]]
    scale: float
    offset: float


class ScenarioStatus(TypedDict):
    """The status of a branch: as `ScenarioInfo`, without its date."""

    name: str
    branch: int
    parent: int | None
    fork_step: int
    step: int
    seq: int
    at: int | None
    target: int
    kept: int
    state: str
    version: str
    problem: Mapping[str, str] | None


class RunOverview(TypedDict):
    """The state of a run, as `Info`, without what its description holds. problem: `code`, `text` and facts."""

    run: str
    state: str
    waited: float | None
    silent: bool
    problem: Mapping[str, object] | None
    engine: Mapping[str, object] | None
    deaths: int
    arrays: Mapping[str, float]
    steps: int | None
    scenarios: list[ScenarioStatus]


class OperationStatus(TypedDict, total=False):
    """The status of a command, as `OperationInfo`, with the scenario, its target and the steps at which it takes effect and ended."""

    id: int
    run: str
    kind: str
    scenario: str
    state: str
    at_step: int | None
    target: int | None
    ended_step: int | None
    done: int
    total: int
    problem: Mapping[str, object] | None
    result: Mapping[str, object]


class CheckpointStatus(TypedDict):
    """A durable checkpoint, as `CheckpointInfo`."""

    branch: int
    name: str
    step: int
    seq: int
    bytes: int
    pinned: bool


class RuleEffect(TypedDict):
    """An effect of an event or a trigger. kind: pause, message, image, event or warning."""

    step: int
    kind: str
    text: str


class ChangeArguments(TypedDict):
    """The arguments of a change in the journal, in the variable's own unit.

    upload, cells: SHA-256 of an array and of a list of cells, "" for none; region, given: as the client gave them.
    """

    variable: str
    operation: str
    value: float | None
    upload: str
    cells: str
    region: str | Mapping[str, list[object]]
    given: Mapping[str, object]


class JournalRow(TypedDict):
    """A row of the journal: an order with its client and its outcome."""

    seq: int
    branch: int
    place: int
    key: str
    who: str
    role: str
    kind: str
    arguments: dict[str, Any]
    due: str
    accepted_at: float
    target: int | None
    at_step: int | None
    ended_step: int | None
    outcome: OperationState | None
    detail: dict[str, Any]
    effects: NotRequired[list[RuleEffect]]  # of an event or a trigger, each with its branch
