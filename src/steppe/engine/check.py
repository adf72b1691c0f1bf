"""The mistakes and the cost of a run, before it starts, for `steppe check`."""

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steppe.array_types import Array
from steppe.arrays import ModelArrays
from steppe.comm import BoxReach, Serial, free_memory
from steppe.engine.events import expect_kept
from steppe.engine.gatherer import Gatherer
from steppe.engine.intervals import edges
from steppe.engine.outputs import Outputs
from steppe.engine.plan import Plan, label_of, listed
from steppe.engine.run_file import MapsSection, OutputSection, SeriesSection
from steppe.errors import RunFileError
from steppe.io import FieldReader, ForcingProblem, ForcingReader, ForcingStore, OutputCost, scan
from steppe.kernels.sums import totals
from steppe.models import Model
from steppe.variable import Role


class Cost(NamedTuple):
    """The cost of a run. Bytes of memory by part; bytes of results in memory and, about, on disk; free: free bytes of the disk.

    seconds: of computing, measured on its first days; encode_seconds: of writing, of one core; compiling: seconds that the check itself
    waited for machine code, which the run will find in the cache. rounded: maps of results that are rounded -> their precision.
    unit: what a step is called. empty: recorded diagnostics that have no value in any cell.
    """

    cells: int
    steps: int
    state: int
    parameters: int
    arrays: int
    read_ahead: int
    write_buffers: int
    results: int
    results_on_disk: int
    checkpoint: int
    free: int
    seconds: float
    encode_seconds: float
    compiling: float
    rounded: dict[str, str]
    unit: str = "day"
    empty: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """A sentence for each recorded diagnostic that is NaN everywhere."""
        first = f"the first {self.unit}s: every cell is NaN. Check that the model computes it."
        return [f'"{name}" has no value after {first}' for name in self.empty]

    @property
    def memory(self) -> int:
        """Bytes beside the program itself."""
        return self.state + self.parameters + self.arrays + self.read_ahead + self.write_buffers + self.checkpoint

    def as_text(self) -> str:
        """For a terminal."""
        seconds = f"about {self.seconds:.0f} s" if self.seconds >= 1 else "under a second"
        rounded = ", ".join(f"{name} to {precision}" for name, precision in self.rounded.items())
        return (
            f"{self.cells:,} cells, {self.steps:,} {self.unit}s, {self.cells * self.steps:,} cell-{self.unit}s\n"
            f"memory {in_bytes(self.memory)}: state {in_bytes(self.state)}, parameters {in_bytes(self.parameters)}, "
            + (f"global arrays {in_bytes(self.arrays)}, " if self.arrays else "")
            + f"read-ahead {in_bytes(self.read_ahead)}, write buffers {in_bytes(self.write_buffers)}, "
            f"copy for a checkpoint {in_bytes(self.checkpoint)}\n"
            f"results {in_bytes(self.results)}, on disk about {in_bytes(self.results_on_disk)}; "
            f"checkpoints {in_bytes(CHECKPOINTS * self.checkpoint)}; {in_bytes(self.free)} are free\n"
            + (f"rounded: {rounded}\n" if rounded else "")
            + f"time {seconds} at {in_cell_days(self.cells * self.steps / self.seconds, self.unit)}, measured on the first {self.unit}s; "
            f"writing takes about {100 * self.encode_seconds / self.seconds:.1f} % of that, of another core\n"
            + (f"compiling took {self.compiling:.0f} s; the run uses the same machine code\n" if self.compiling >= 1 else "")
        )


CHECKPOINTS = 3  # two are kept, and one is being written
WORTH_SAYING = 100_000_000  # bytes of results in memory
SPARE = 1.2  # times the bytes of a run should be free


def shortage(folder: Path, results: int, checkpoint: int) -> str:
    """A sentence if the disk of a run folder is too small for so many bytes of results and of each checkpoint; otherwise ""."""
    need, free = results + CHECKPOINTS * checkpoint, free_space(folder)
    if free >= SPARE * need:
        return ""
    return (
        f'The run will write about {in_bytes(need)} to "{folder}", where {in_bytes(free)} are free. '
        'Free some space, choose another disk, or write less: a longer "every", precision = "12 bits".'
    )


def announcement(folder: Path, cost: OutputCost) -> str:
    """A sentence if much will be written to a run folder; otherwise ""."""
    if cost.values < WORTH_SAYING:
        return ""
    return (
        f'Writes about {in_bytes(cost.files)} to "{folder}", where {in_bytes(free_space(folder))} are free: '
        f"some {cost.seconds:.1f} s of one core."
    )


def free_space(path: Path) -> int:
    """Free bytes of the disk where `path` is or will be."""
    return shutil.disk_usage(next(folder for folder in (path, *path.parents) if folder.exists())).free


def remarks(plan: Plan, folder: Path, outputs: Outputs, notes: Sequence[str], model: Model, runs: int = 1) -> list[tuple[str, str]]:
    """The remarks at the beginning of a run in a folder: kind ("note", "warning") and text. notes: of the plan. runs: side by side."""
    values, files, seconds = outputs.cost
    cost = OutputCost(runs * values, runs * files, runs * seconds)
    told = [*(("note", text) for text in notes), *(("warning", text) for text in cautions(plan)), ("note", announcement(folder, cost))]
    short = shortage(folder, cost.files, runs * checkpoint_size(model))
    return [each for each in (*told, ("warning", short)) if each[1]]


def cautions(plan: Plan) -> list[str]:
    """What a run file holds that is possible, and most probably not meant."""
    output, told = plan.run.output, list(plan.cautions)
    if not (output.variables or output.maps or output.series):
        told.append("[output] records nothing: variables is empty, and there are no [[output.maps]] and [[output.series]].")
    for section in (*plan.maps, *output.series):
        told += [f'{section.where}: variables has "{name}" twice; it is recorded once.' for name in _twice(section.variables)]
    for section in (*plan.maps, *output.series):
        told += [*filter(None, (_unfit_mean(plan, section, name) for name in section.variables))][:1]
        if section.reduce == "sum":
            told += [*filter(None, (_unfit_sum(plan, section.where, name) for name in section.variables))][:1]
    for series in output.series:
        labels = [label_of(each) for each in listed(series)]
        told += [f"{series.where}: region has {label} twice; it is recorded once." for label in _twice(labels)]
    return told


def _unfit_mean(plan: Plan, section: OutputSection | MapsSection | SeriesSection, name: str) -> str:
    """A sentence on a mean or a sum of numbers that name classes, over the steps of an interval."""
    if name not in plan.variables or not plan.variables[name].classes or section.reduce == "last":
        return ""
    if np.diff(edges(section.every, plan.clock, plan.steps)).max(initial=1) <= 1:
        return ""
    return f'{section.where}: reduce = "{section.reduce}" takes together the numbers of the classes of "{name}": take "last".'


def _unfit_sum(plan: Plan, where: str, name: str) -> str:
    """A sentence on a sum that is most probably not meant: of a state, or of a rate in another time than a day."""
    if name not in plan.variables:
        return ""
    variable = plan.variables[name]
    if variable.role is Role.STATE:
        return f'{where}: reduce = "sum" adds up the state "{name}". A sum is of rates, as mm d-1: take "mean" or "last".'
    if {"W", "s-1", "h-1"}.isdisjoint(variable.units.split()):
        return ""
    return f'{where}: reduce = "sum" adds up "{name}" of all steps, in {variable.units}. Rates a day alone become amounts: take "mean".'


def _twice(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def checkpoint_size(model: Model) -> int:
    """Bytes of a checkpoint without its unfinished reductions."""
    return sum(np.asarray(values).nbytes for values in (*model.state.values(), *model.parameters.values()))


def problems(plan: Plan) -> list[ForcingProblem]:
    """Values of the forcing outside the limits of the model; reads all of it."""
    if isinstance(plan.forcing, ForcingStore):
        return scan(plan.forcing.path, {name: v for name, v in plan.model.variables.items() if v.role is Role.FORCING})
    reader = plan.reader()
    if not isinstance(reader, FieldReader):
        return []
    with closing(reader):
        return reader.problems()


def estimate(plan: Plan) -> Cost:
    """Memory, bytes and time of a run; computes its first days twice on a copy, by the kernel of the run, and records them in memory.

    Raises
    ------
    RunFileError
        This machine has not the memory for it.
    """
    if (need := _states(plan)) > (free := free_memory()):
        raise RunFileError(
            f"The states of {plan.grid.n_cells:,} cells take {in_bytes(need)}, and {in_bytes(int(free))} are free here. Check the run on a "
            "machine that has more, or run it on several with --ranks."
        )
    share, deal, neighbours = plan.decomposed().of(0)
    world = Serial()
    arrays = ModelArrays(world)
    gatherer, reach = Gatherer(world, deal, share), BoxReach(world, neighbours, totals, arrays)
    start = {name: gatherer.unpacked(values) for name, values in plan.initial.items()}
    plan.model.initialise(share, plan.chosen.values, start, plan.chosen.options, reach)
    outputs = Outputs(plan)
    outputs.recorder.mute()
    reader = plan.reader()
    steps = range(min(plan.steps, 64))
    if isinstance(reader, ForcingReader):
        steps = reader.pieces(range(plan.steps))[0]
    seconds = 0.0
    for _ in range(2):  # the first time the kernel is compiled or loaded
        begin = time.perf_counter()
        plan.model.advance(steps, reader, plan.clock, outputs.recorder)  # type: ignore[arg-type]
        seconds = time.perf_counter() - begin
    for name, value, cells in _first_settings(plan):  # a parameter that differs between cells needs machine code of its own
        plan.model.set(name, value, cells)
        expect_kept(plan.model, name, value, cells)
        plan.model.advance(steps, reader, plan.clock, outputs.recorder)  # type: ignore[arg-type]
    read_ahead = 0
    if reader:
        read_ahead = reader.memory
        reader.close()
    state, parameters = plan.model.memory()
    results = outputs.cost
    return Cost(
        plan.grid.n_cells,
        plan.steps,
        state,
        parameters,
        int(arrays.counts()["bytes"]) if arrays.in_use else 0,
        read_ahead,
        outputs.memory,
        results.values,
        results.files,
        checkpoint_size(plan.model),
        free_space(plan.run.output.path),
        seconds * plan.steps / len(steps),
        results.seconds,
        plan.model.compiling,
        outputs.rounding,
        plan.clock.unit,
        _empty(plan),
    )


def _empty(plan: Plan) -> tuple[str, ...]:
    """The recorded diagnostics that are NaN in all cells after the steps that were computed."""
    recorded = {name for section in plan.maps for name in section.variables}
    names = [name for name, variable in plan.model.variables.items() if name in recorded and variable.role is Role.DIAGNOSTIC]
    return tuple(name for name in names if np.isnan(plan.model.export(name)).all())


def _states(plan: Plan) -> int:
    """Bytes of the states of all cells, once."""
    states = [(name, np.dtype(v.dtype).itemsize) for name, v in plan.model.variables.items() if v.role is Role.STATE]
    return plan.grid.n_cells * sum(prod(plan.variables.leading(name)) * size for name, size in states)


def _first_settings(plan: Plan) -> Iterator[tuple[str, float, Array | None]]:
    """The first setting of each parameter by an event: name, value, cells (None: all)."""
    seen: set[str] = set()
    for action in plan.actions:
        for name, value in action.values.items():
            if plan.variables[name].role is Role.PARAMETER and name not in seen:
                seen.add(name)
                yield name, value, action.cells


def in_cell_days(per_second: float, unit: str = "day") -> str:
    """A rate with three digits and a unit."""
    rounded = float(f"{per_second:.3g}")
    for size, prefix in ((1e6, " M"), (1e3, " k"), (1.0, "")):
        if rounded >= size:
            return f"{rounded / size:{',.0f' if rounded >= 100 * size else '.3g'}}{prefix} cell-{unit}s/s"
    return f"{rounded:g} cell-{unit}s/s"


def in_bytes(number: int) -> str:
    """A number of bytes with three digits and a unit."""
    size = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
