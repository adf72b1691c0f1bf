"""What a run keeps: from the run file to reductions in the recorder and records in the store."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.engine.intervals import edges
from steppe.engine.plan import Plan, regions_of
from steppe.engine.recorder import PIECE, Deliver, Recorder
from steppe.engine.run_file import SeriesSection, every
from steppe.io import Axis, Cost, Group, Output, OutputWriter, create_store
from steppe.kernels.sums import weighted_means


class Outputs:
    """The output store of a run, fed by a recorder."""

    def __init__(self, plan: Plan) -> None:
        self.recorder = Recorder(plan.grid.n_cells)
        self.groups: list[Group] = []
        self._plan = plan
        self._writer: OutputWriter | None = None
        if plan.run.output.variables:
            self._add_maps()
        for series in plan.run.output.series:
            self._add_series(series)

    def open(self, path: Path, records: Mapping[str, int] | None, attributes: Mapping[str, Any]) -> None:
        """Makes the store, or goes on with it from `records` (of a checkpoint).

        Raises
        ------
        FolderError, DamagedError
            The store is not the one of the checkpoint.
        """
        if records is None:
            create_store(path, self.groups, attributes)
        self._writer = OutputWriter(path, self.groups, self._plan.run.engine.write_behind)
        if records is not None:
            self._writer.restore(records)

    @property
    def writer(self) -> OutputWriter:
        """The open writer."""
        assert self._writer is not None, "the store is opened before the first step"
        return self._writer

    @property
    def memory(self) -> int:
        """Bytes of accumulators and of buffers of the writer."""
        return self.recorder.nbytes(PIECE) + sum(group.memory for group in self.groups)

    @property
    def cost(self) -> Cost:
        """What all records of the whole run come to."""
        costs = [group.cost() for group in self.groups]
        return Cost(sum(cost.values for cost in costs), sum(cost.files for cost in costs), sum(cost.seconds for cost in costs))

    @property
    def complete(self) -> bool:
        """Whether every record of the run is in."""
        rows = [group.axis.rows for group in self.groups for _ in group.outputs]
        return list(self.writer.records.values()) == rows

    def close(self) -> None:
        """Ends writing; what was not committed is lost."""
        if self._writer:
            self._writer.close()

    def _axis(self, borders: NDArray[np.int64]) -> Axis:
        clock = self._plan.clock
        days = np.array([clock.days_since_epoch(int(step)) for step in borders]).astype(np.int64)
        return Axis("time", days[:-1], days[1:], clock.calendar)

    def _add_maps(self) -> None:
        section, plan = self._plan.run.output, self._plan
        borders = edges(every(section.every), plan.clock, plan.steps)
        outputs = tuple(Output(plan.recordable(name, "[output]"), section.reduce, section.precision) for name in section.variables)
        self.groups.append(Group(self._axis(borders), plan.grid, outputs))
        for name in section.variables:
            self.recorder.want(name, section.reduce, borders, self._deliver_map(name))

    def _add_series(self, section: SeriesSection) -> None:
        plan, where = self._plan, f'[[output.series]] "{section.name}"'
        borders = edges(every(section.every), plan.clock, plan.steps)
        regions = regions_of(section)
        outputs = tuple(Output(plan.recordable(name, where), section.reduce, area="mean") for name in section.variables)
        group = Group(self._axis(borders), tuple(regions), outputs, f"series/{section.name}")
        self.groups.append(group)
        cells = [plan.grid.select(region) for region in regions.values()]
        weights = [plan.grid.cell_area[index] for index in cells]
        for name in section.variables:
            deliver = self._deliver_series(f"{group.name}/{name}", cells, weights)
            self.recorder.want(name, section.reduce, borders, deliver)

    def _deliver_map(self, key: str) -> Deliver:
        return lambda first, values: self.writer.put(key, first, values)

    def _deliver_series(self, key: str, cells: list[NDArray[np.int64]], weights: list[NDArray[np.float64]]) -> Deliver:
        def deliver(first: int, values: NDArray[np.float64]) -> None:
            means = [weighted_means(values, index, weight) for index, weight in zip(cells, weights, strict=True)]
            self.writer.put(key, first, np.stack(means, axis=1))

        return deliver
