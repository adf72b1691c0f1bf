"""The contract of a model: its required members, its optional ones, and its inputs.

    Minimal                    required: name, version, variables; initialise, advance, state
    Exports      Settable      answers queries; can be set
    Copyable     Joinable      can be copied; several go together
    Configurable Reporting     has options, levels, parameters; reports cells that are bad, memory, time

The engine sees a `Model`, which has all of it: `completed` adds what a model has left out, from `Defaults`.
A model knows only its own physics: no ranks, files, clients or other models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

from steppe.array_types import Array
from steppe.clock import Clock
from steppe.grid import Edges
from steppe.levels import Space
from steppe.models.declare import Choice
from steppe.models.handed import Inputs, Reach, Recorder, Surroundings
from steppe.variable import Variable


@dataclass(frozen=True)
class Needs:
    """The needs of a model.

    unit: "cells" (packed, no neighbours) or "boxes" (halo cells per dim in `halo`).
    edges: what lies beyond the ends of a dim, "wall", "periodic" or "pole"; default: walls, but columns round the Earth are periodic.
    step: the step that it takes, as "10 minutes"; None: any.
    forcing_at: the instant of a step of which it gets forcing that lies in fields: its "begin", "middle" or "end".
    cost: seconds that a cell and step take on one core, as measured; decides which ranks read weather for which, no result. None: unknown.
    """

    unit: str = "cells"
    halo: Mapping[str, int] | None = None
    edges: Edges | None = None
    forcing_at: str = "middle"
    step: str | None = None
    cost: float | None = None

    @property
    def neighbours(self) -> bool:
        """Whether a cell reads others: those of a box, and its halo."""
        return self.unit == "boxes"


class Increment(NamedTuple):
    """The effect of a `set`: sums over the cells set, in the variable's unit."""

    name: str
    cells: int
    before: float
    after: float


@dataclass(frozen=True)
class Status:
    """Whether all cells are good: count 0. Otherwise the first bad cell (position in the share), step, variable, value, limits.

    why: what is wrong, as part of a sentence, where it is not the value of the variable.
    """

    count: int = 0
    cell: int = -1
    step: int = -1
    variable: str = ""
    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    why: str = ""


class Minimal(Protocol):
    """All that a model must have: physics only. Everything that changes in `advance` is in `state`."""

    name: str
    version: str
    variables: Mapping[str, Variable]

    def initialise(
        self,
        share: Any,
        parameters: Mapping[str, float | Array],
        state: Mapping[str, float | Array] | None,
        options: Mapping[str, str],
        reach: Reach,
    ) -> None:
        """Allocates, and begins at a state; it may be called again.

        share: what this rank computes, with `n_cells`, `pack` and `unpack`. parameters: name -> number for all or array (cells,); state:
        the same, as the model has it, None or missing names = declared initial.
        """
        ...

    def advance(self, steps: range, inputs: Inputs, clock: Clock, recorder: Recorder) -> None:
        """All steps, no observer inside. The same bits for any split of `steps`. `record_step` records one."""
        ...

    @property
    def state(self) -> Mapping[str, Array]:
        """Views of the own part without halo, in declaration order."""
        ...


class Exports(Protocol):
    """Answers queries about the last step."""

    def export(self, name: str, index: Array | None = None) -> Array:
        """Any variable at the last step; diagnostics are recomputed from the state before it."""
        ...

    def expect_looks(self) -> None:
        """Hint: diagnostics of single steps will be asked for. What `export` needs can be loaded behind."""
        ...


class Settable(Protocol):
    """Can be changed between steps."""

    def set(self, name: str, value: float | Array, index: Array | None = None) -> Increment:
        """Sets a state, a parameter or an event input (of the next step) for all or some cells, checked against its limits.

        Raises `ModelError` for an unknown name, a value outside the limits, or a quantity that is computed (naming what to set).
        """
        ...


class Copyable(Protocol):
    """Can be copied, so that a run branches and goes back."""

    def again(self, table: dict[str, object]) -> Self:
        """Another one of the same equations, to be initialised or recalled; it may share what is compiled.

        table: [parameters] of the run, as for `Defaults.of`.
        """
        ...

    def remember(self, looks: bool = False) -> Any:
        """A copy of all that `advance` and `set` change, to be recalled by this model or another one of the same share.

        looks: with what `export` needs for diagnostics of the last step.
        """
        ...

    def recall(self, copy: Any, share: Any, reach: Reach) -> None:
        """Restores a copy, which is not changed; allocates when nothing was initialised yet."""
        ...


class Joinable(Protocol):
    """Several of the same equations, options and cells do the same steps."""

    undoes: bool  # an `advance` of a single model that raises leaves it where a piece of the inputs begins

    def advance_together(self, others: Sequence[Self], steps: range, inputs: Inputs, clock: Clock, recorders: Sequence[Recorder]) -> None:
        """The steps of this model and others, each with its recorder. Where it raises, all of them are of no use any more."""
        ...


class Configurable(Protocol):
    """The parts that a run file chooses."""

    needs: Needs
    spaces: Mapping[str, Space]
    choices: Mapping[str, Choice]

    def place(self, around: Surroundings) -> None:
        """Its use of the grid and the forcing of a run, before it is initialised; it may change variables and spaces.

        Raises `ModelError` or `GridError` where it cannot run there.
        """
        ...

    @property
    def parameters(self) -> Mapping[str, Array]:
        """Current parameters: 0-d arrays where one number holds for all cells, (cells,) otherwise. float64."""
        ...


class Reporting(Protocol):
    """What it reports of itself."""

    digest: str  # of the source of the equations and the declarations
    busy: float  # CPU seconds in which it advanced cells so far, by which shares are balanced
    compiling: float  # seconds that `advance` has waited for machine code: compiled, or loaded from the cache

    def memory(self) -> tuple[int, int]:
        """Bytes of the state, with copies that are kept of it, and of the parameters, with all that is derived from them."""
        ...

    def status(self) -> Status:
        """count, first bad cell, step, variable, value and limits; ok when count is 0."""
        ...


class Model(Minimal, Exports, Settable, Copyable, Joinable, Configurable, Reporting, Protocol):
    """All of it: what runs models asks this."""
