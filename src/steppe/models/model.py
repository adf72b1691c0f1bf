"""What a model is, and what it is handed. A model knows only its own physics: no ranks, files, clients or other models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from steppe.clock import Clock
from steppe.grid import Box, Edges
from steppe.levels import Space
from steppe.packed import Packed
from steppe.variable import Variable

Array = NDArray[Any]


class Stream(Protocol):
    """One thread's way through the forcing of some cells."""

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        """Cells (counted from the first of the share) and forcing of each tile of one piece, in order; valid until the next is asked for.

        A tile may hold more cells than the stream was asked for, and beside those of a box cells of other boxes. Raises `DamagedError`
        naming file, variable and days.
        """
        ...


class Inputs(Protocol):
    """Forcing for a share of the cells.

    in_turns: whether `turn_to` must be called before each piece, and all streams are in the same one.
    """

    names: tuple[str, ...]
    in_turns: bool

    def pieces(self, steps: range) -> list[range]:
        """`steps` cut where one slab of the store ends and the next begins."""
        ...

    def turn_to(self, piece: range) -> None:
        """The forcing of a piece is made ready: every rank calls it, in the thread that steps, before its streams are asked for the piece.

        Only where `in_turns`. Raises `DamagedError` naming file, variable and days, where ranks read for each other on all of them.
        """
        ...

    def stream(self, cells: range) -> Stream:
        """The forcing of some cells, counted from the first of the share, for one thread; the same stream for the same cells."""
        ...


@runtime_checkable
class FieldInputs(Protocol):
    """Forcing that lies in fields of the grid, for a field model. The steps of a piece need the same records; the rest as `Inputs`."""

    names: tuple[str, ...]
    in_turns: bool

    def pieces(self, steps: range) -> list[range]:
        """`steps` cut where a record ends and the next begins."""
        ...

    def turn_to(self, piece: range) -> None:
        """The records of a piece are made ready."""
        ...

    def fill(self, box: Box, step: int, values: Mapping[str, Array]) -> None:
        """Fills each array (..., *box.local), halos too, with the values of a step.

        Raises `BadCellError` naming field, time, level and cell of a value outside its limits, `DamagedError` naming field and records.
        """
        ...


class Records(NamedTuple):
    """Where the values of one variable go in a range of steps: slots[j] is the slot of step j, values (slots, [levels,] cells).

    values: float64, or what the variable is where a field model stores the value of each step.

    operation: "sum", "min", "max" or "last"; a slot starts with the value that belongs to it (0, inf, -inf, NaN) or with what
    earlier steps left there.
    """

    name: str
    operation: str
    slots: NDArray[np.int32]
    values: NDArray[np.floating[Any]]


class Recorder(Protocol):
    """Reductions over time, in the loop. Its accumulators are checkpointed like state."""

    @property
    def most_steps(self) -> int:
        """Of as many steps at once there is room for the values."""
        ...

    def records(self, steps: range) -> list[Records]:
        """What is wanted of `steps`, empty when nobody wants anything. Values are filled by the model."""
        ...

    def finish(self, steps: range) -> None:
        """All cells of `steps` are in: whole intervals are handed on, unfinished ones kept."""
        ...


class Reach(Protocol):
    """What a model with neighbours is handed instead of ranks; serial or parallel alike."""

    def exchange(
        self, arrays: Sequence[Array], parities: Sequence[int | tuple[int, ...]] | None = None, along: str | None = None
    ) -> "Exchange":
        """Starts filling the halos of `arrays` (the last dims are the box with halos); along "x" or "y" only that across this axis.

        parities: 1 or -1 for each, or for each entry of its first dim; values of parity -1 (components of a velocity, say) change sign
        beyond a pole. Default: 1.
        """
        ...

    @overload
    def total(self, x: Array, /) -> float: ...
    @overload
    def total(self, x: Array, y: Array, /, *more: Array) -> tuple[float, ...]: ...
    def total(self, *arrays: Array) -> float | tuple[float, ...]:
        """Sum over all cells that count, of all ranks; the same bits for any number of them. Of several arrays each, in one message."""
        ...

    @overload
    def largest(self, x: Array, /) -> float: ...
    @overload
    def largest(self, x: Array, y: Array, /, *more: Array) -> tuple[float, ...]: ...
    def largest(self, *arrays: Array) -> float | tuple[float, ...]:
        """Greatest value over all cells that count, of all ranks. Of several arrays each, in one message."""
        ...


class Exchange(Protocol):
    """A halo exchange under way."""

    def poke(self) -> None:
        """Lets messages get on; to be called in every millisecond of work between start and finish."""
        ...

    def finish(self) -> None:
        """The halos are filled."""
        ...


@dataclass(frozen=True)
class Needs:
    """What a model asks of its surroundings.

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


class Increment(NamedTuple):
    """What a `set` did: sums over the cells set, in the variable's unit."""

    name: str
    cells: int
    before: float
    after: float


@dataclass(frozen=True)
class Status:
    """Whether all cells are good: count 0. Otherwise the first bad cell (position in the share), step, variable, value, limits."""

    count: int = 0
    cell: int = -1
    step: int = -1
    variable: str = ""
    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")


class Model(Protocol):
    """Physics only. Everything that changes in `advance` is in `state`."""

    name: str
    version: str
    digest: str  # of the source of the equations and the declarations
    variables: Mapping[str, Variable]
    spaces: Mapping[str, Space]
    needs: Needs
    compiling: float  # seconds that `advance` has waited for machine code: compiled, or loaded from the cache

    def initialise(
        self, share: Any, parameters: Mapping[str, Any], state: Mapping[str, Any] | None, options: Mapping[str, Any], reach: Reach
    ) -> None:
        """Allocates. parameters: name -> number for all or array (cells,); state: the same, None or missing names = declared initial."""
        ...

    def advance(self, steps: range, inputs: Inputs, clock: Clock, recorder: Recorder) -> None:
        """All steps, no observer inside. The same bits for any split of `steps`."""
        ...

    @property
    def state(self) -> Mapping[str, Array]:
        """Views of the own part without halo, in declaration order."""
        ...

    @property
    def parameters(self) -> Mapping[str, Array]:
        """Current parameters: 0-d arrays where one number holds for all cells, (cells,) otherwise. float64."""
        ...

    def export(self, name: str, index: Array | None = None) -> Array:
        """Any variable at the last step; diagnostics are recomputed from the state before it."""
        ...

    def set(self, name: str, value: float | Array, index: Array | None = None) -> Increment:
        """Sets a state, a parameter or an event input (of the next step) for all or some cells, checked against its limits.

        Raises `ModelError` for an unknown name, a value outside the limits, or a quantity that is computed (naming what to set).
        """
        ...

    def remember(self, looks: bool = False) -> Any:
        """A copy of all that `advance` and `set` change, to be recalled by this model or another one of the same share.

        looks: with what `export` needs for diagnostics of the last step.
        """
        ...

    def recall(self, copy: Any, share: Any, reach: Reach) -> None:
        """Goes back to a copy, which stays as it is; allocates when nothing was initialised yet."""
        ...

    def expect_looks(self) -> None:
        """Somebody steps by hand and may look: what `export` needs can be loaded behind."""
        ...

    def memory(self) -> tuple[int, int]:
        """Bytes of the state, with copies that are kept of it, and of the parameters, with all that is derived from them."""
        ...

    def status(self) -> Status:
        """count, first bad cell, step, variable, value and limits; ok when count is 0."""
        ...
