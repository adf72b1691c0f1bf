"""The records of a run: from the run file to reductions in the recorder and records in the store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats, Integers
from steppe.clock import DAY
from steppe.comm import Operation, Serial, World
from steppe.engine.intervals import edges
from steppe.engine.plan import Plan, regions_of
from steppe.engine.recorder import AT_ONCE, Deliver, IntervalRecorder, Room
from steppe.engine.run_file import MapsSection, OutputSection, SeriesSection
from steppe.grid import Cells, Ownership
from steppe.io import A_DAY, SHARD_STEPS, SINGLE, Axis, Group, Output, OutputCost, OutputWriter
from steppe.kernels.sums import Columns, columns, largest_products, limb_sums, means_of, total_weight
from steppe.timeline import span
from steppe.variable import Role

SIGNS = {"max": 1.0, "min": -1.0}  # with which the greatest value is that of a reduction over cells
AREA = {"mean": "mean", "max": "maximum", "min": "minimum"}  # methods of CF
ROOM = 256 << 20  # bytes of the buffers of all arrays with levels together


class _Region(NamedTuple):
    """The cells of a region on this rank (positions in its own), their weights, and the weight of all cells of the region."""

    places: Columns
    weights: Floats
    total: float


class _Wanted(NamedTuple):
    """The content of an array: a variable reduced over intervals between some steps, of each cell (regions None) or over regions."""

    variable: str
    method: str
    borders: Integers
    regions: Sequence[_Region] | None
    over: str = "mean"


class _Due(NamedTuple):
    """Records of a series, with the cells of this rank."""

    key: str
    first: int
    values: Floats  # (records, [levels,] own cells)
    regions: Sequence[_Region]
    over: str  # of the run file


class StateCopy(NamedTuple):
    """A copy of all that changes in a branch, on one rank. recorded, records: of its outputs."""

    model: object
    recorded: Mapping[str, Array]
    records: Mapping[str, int]


class Outputs:
    """The output store of a run, fed by a recorder.

    Parameters
    ----------
    plan
        The run.
    world, deal
        All ranks, and the ownership of this one; default: a single rank computes all.
    like
        Those of another branch of the same run and share, whose plan of records is used.
    """

    def __init__(self, plan: Plan, world: World | None = None, deal: Ownership | None = None, like: "Outputs | None" = None) -> None:
        self._world = world or Serial()
        self._deal = deal or Ownership.alone(plan.grid.n_cells)
        at_once = 1 if plan.model.needs.neighbours else AT_ONCE
        self.recorder: IntervalRecorder = IntervalRecorder(len(self._deal.mine), like.recorder if like else None, at_once)
        self.groups: list[Group] = like.groups if like else []
        self._due: list[_Due] = []
        self._plan = plan
        self._wanted: dict[str, _Wanted] = like._wanted if like else {}  # of each array
        self._writer: OutputWriter | None = None
        if not like:
            self._add_all()
        for key, (variable, method, borders, regions, over) in self._wanted.items():
            deliver = self._deliver_map(key) if regions is None else self._deliver_series(key, regions, over)
            room = self._room(key) if regions is None else (lambda record: None)
            leading, factor = plan.variables.leading(variable), self._factor(variable, method)
            self.recorder.want(variable, method, borders, deliver, leading, self._dtype(variable), room, factor)

    def _dtype(self, name: str) -> str:
        """The dtype that holds a variable exactly and that its model can fill: machine code of cells and parameters need float64."""
        variable, fields = self._plan.variables[name], self._plan.model.needs.neighbours
        return "float32" if fields and variable.dtype == "float32" and variable.role is not Role.PARAMETER else "float64"

    def _factor(self, name: str, method: str) -> float:
        """The factor that makes an amount of the sum of a rate a day: the days of a step."""
        clock = self._plan.clock
        a_day = method == "sum" and self._plan.variables[name].units.endswith(A_DAY)
        return clock.length / DAY if a_day and clock.step is not None else 1.0

    def _add_all(self) -> None:
        plan = self._plan
        for maps in plan.maps:
            self._add_maps(maps, f"maps/{maps.name}" if isinstance(maps, MapsSection) else "")
        for series in plan.run.output.series:
            self._add_series(series)
        levelled = sum(bool(output.levels) for group in self.groups for output in group.outputs)
        self.groups = [replace(group, room=ROOM // max(1, levelled)) for group in self.groups]

    def open(self, path: Path | None) -> None:
        """Opens the store; None: it will exist later, see `OutputWriter.settle`.

        Raises
        ------
        FolderError, DamagedError
            The store is not the one of the run.
        """
        world = self._world
        deals = [self._deal if group.is_maps else Ownership.of_one(group.n_columns, world.rank, world.size) for group in self.groups]
        self._writer = OutputWriter(path, self.groups, self._plan.run.engine.write_behind, world, deals)

    def exchange(self) -> None:
        """Sends records to the ranks that write them; every rank calls it after the same steps."""
        due, self._due = self._due, []
        parts = [(_rows(each.values), r) for each in due if each.over == "mean" for r in each.regions]
        largest = [largest_products(values, r.places, r.weights) for values, r in parts]
        largest = self._of_all(largest, "max")
        limbs = [limb_sums(values, r.places, r.weights, most) for (values, r), most in zip(parts, largest, strict=True)]
        limbs = self._of_all(limbs, "sum")
        means = iter([means_of(sums, most, r.total) for sums, most, (_, r) in zip(limbs, largest, parts, strict=True)])
        signed = [_rows(each.values)[:, r.places] * SIGNS[each.over] for each in due if each.over != "mean" for r in each.regions]
        greatest = iter(self._of_all([values.max(axis=1, initial=-np.inf) for values in signed], "max"))
        for each in due:
            # -0.0 becomes 0.0: which of the two is found first depends on the shares of the ranks
            found = [next(means) if each.over == "mean" else SIGNS[each.over] * next(greatest) + 0.0 for _ in each.regions]
            values = np.stack([one.reshape(each.values.shape[:-1]) for one in found], axis=-1)
            values[np.isnan(values)] = np.nan  # one of several, which differ in their bits
            self.writer.put(each.key, each.first, values if self._world.rank == 0 else values[..., :0])
        self.writer.exchange()

    def _of_all(self, parts: list[Array], operation: Operation) -> list[Array]:
        """The same arrays, reduced over all ranks in one message."""
        if not parts or self._world.size == 1:
            return parts
        with span("exchange"):
            whole = self._world.reduce(np.concatenate([part.ravel() for part in parts]), operation)
        cuts = np.cumsum([part.size for part in parts])[:-1]
        return [values.reshape(part.shape) for values, part in zip(np.split(whole, cuts), parts, strict=True)]

    @property
    def writer(self) -> OutputWriter:
        """The open writer."""
        assert self._writer is not None, "the store is opened before the first step"
        return self._writer

    @property
    def memory(self) -> int:
        """Bytes of accumulators and of buffers of the writer."""
        return self.recorder.nbytes + sum(group.memory for group in self.groups)

    @property
    def rounding(self) -> dict[str, str]:
        """Name of each array of maps that is rounded -> its precision."""
        return {f"{g.name}/{o.variable.name}".lstrip("/"): o.precision for g in self.groups for o in g.outputs if o.bits}

    @property
    def cost(self) -> OutputCost:
        """The cost of all records of the whole run."""
        costs = [group.cost() for group in self.groups]
        return OutputCost(sum(cost.values for cost in costs), sum(cost.files for cost in costs), sum(cost.seconds for cost in costs))

    @cached_property
    def steps_between_exchanges(self) -> int:
        """Steps between two calls of `exchange`, at most."""
        rows = [(group, group.layout(output).shard[0]) for group in self.groups for output in group.outputs]
        return min([length * int(group.axis.steps.min()) for group, length in rows], default=SHARD_STEPS)

    def record_of(self, variable: str, step: int, rounded: bool = False) -> tuple[str, int] | None:
        """Key and number of a record of maps with the values of a variable after so many steps; None if there is none.

        rounded: from a record in float32 of a variable in float64, not from one with the same bits.
        """
        fitting = SINGLE if rounded else None
        keys = {f"{g.name}/{o.variable.name}".lstrip("/") for g in self.groups for o in g.outputs if o.bits == fitting}
        for key, wanted in self._wanted.items():
            if wanted.variable == variable and wanted.regions is None and key in keys:
                record = int(np.searchsorted(wanted.borders, step)) - 1
                ends = 0 <= record < len(wanted.borders) - 1 and wanted.borders[record + 1] == step
                of_step = wanted.borders[record] == step - 1 and self._factor(variable, wanted.method) == 1.0
                if ends and (wanted.method == "last" or of_step):
                    return key, record
        return None

    @property
    def quiet_until(self) -> int:
        """The first step after which a shard is full and is written."""
        ends = self.writer.row_ends
        return min([int(wanted.borders[ends[key]]) for key, wanted in self._wanted.items()], default=self._plan.steps + 1)

    @property
    def complete(self) -> bool:
        """True if all records of the run are complete."""
        rows = [group.axis.rows for group in self.groups for _ in group.outputs]
        return list(self.writer.records.values()) == rows

    def close(self) -> None:
        """Ends recording and writing; records without a commit are lost."""
        if self._writer:
            self._writer.close()
        self.recorder.close()

    def _axis(self, borders: Integers) -> Axis:
        clock = self._plan.clock
        days = clock.days_since_epoch(borders)
        within_a_day = bool((np.diff(days) < 1.0).all())
        days = days.astype(np.int64) if (days == np.floor(days)).all() else days
        return Axis("time", days[:-1], days[1:], clock.calendar, clock.length / DAY, by_end=within_a_day)

    def _add_maps(self, section: OutputSection | MapsSection, name: str) -> None:
        plan = self._plan
        borders = edges(section.every, plan.clock, plan.steps)
        outputs = tuple(
            Output(plan.recordable(each, section.where), section.reduce, section.precision, levels=plan.variables.levels(each))
            for each in section.variables
        )
        self.groups.append(Group(self._axis(borders), plan.grid, outputs, name))
        for each in section.variables:
            self._wanted[f"{name}/{each}".lstrip("/")] = _Wanted(each, section.reduce, borders, None)

    def _add_series(self, section: SeriesSection) -> None:
        plan = self._plan
        borders = edges(section.every, plan.clock, plan.steps)
        regions = regions_of(section)
        outputs = tuple(
            Output(plan.recordable(name, section.where), section.reduce, area=AREA[section.over], levels=plan.variables.levels(name))
            for name in section.variables
        )
        group = Group(self._axis(borders), tuple(regions), outputs, f"series/{section.name}")
        self.groups.append(group)
        here = [self._region(plan.grid.select(region)) for region in regions.values()]
        for name in section.variables:
            self._wanted[f"{group.name}/{name}"] = _Wanted(name, section.reduce, borders, here, section.over)

    def _deliver_map(self, key: str) -> Deliver:
        return lambda first, values: self.writer.put(key, first, values)

    def _room(self, key: str) -> Room:
        return lambda record: self.writer.room(key)

    def _deliver_series(self, key: str, regions: Sequence[_Region], over: str) -> Deliver:
        def deliver(first: int, values: NDArray[np.floating]) -> None:
            many = self._world.size > 1  # then the recorder may use its memory again before `exchange`
            self._due.append(_Due(key, first, values.astype(np.float64, copy=many), regions, over))
            if not many:
                self.exchange()

        return deliver

    def _region(self, cells: Integers) -> _Region:
        weights, total = self._plan.grid.cell_area[cells], total_weight(self._plan.grid.cell_area[cells])
        here, index = positions(cells, self._deal.mine)
        return _Region(columns(index), weights[here], total)


def _rows(values: Floats) -> Floats:
    """Records and levels as rows of cells."""
    return values.reshape(prod(values.shape[:-1]), values.shape[-1])


def positions(cells: Integers, mine: Cells) -> tuple[NDArray[np.bool_], Integers]:
    """Which of some packed cells are among `mine`, and their positions there."""
    if isinstance(mine, range):
        here = (cells >= mine.start) & (cells < mine.stop)
        return here, cells[here] - mine.start
    at = np.minimum(np.searchsorted(mine, cells), max(len(mine) - 1, 0))
    here = mine[at] == cells if len(mine) else np.zeros(len(cells), bool)
    return here, at[here]
