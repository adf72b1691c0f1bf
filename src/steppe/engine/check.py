"""What `steppe check` finds and what a run will cost, before it starts."""

import time
from typing import NamedTuple

import numpy as np

from steppe.engine.outputs import Outputs
from steppe.engine.plan import Plan
from steppe.engine.recorder import Recorder
from steppe.io import Problem, scan
from steppe.variable import Role


class Cost(NamedTuple):
    """What a run needs. Bytes of memory by part; bytes of results before compression; seconds, measured on its first days."""

    cells: int
    steps: int
    state: int
    parameters: int
    read_ahead: int
    write_buffers: int
    results: int
    checkpoint: int
    seconds: float

    @property
    def memory(self) -> int:
        """Bytes beside the program itself."""
        return self.state + self.parameters + self.read_ahead + self.write_buffers

    def as_text(self) -> str:
        """For a terminal."""
        rate = self.cells * self.steps / self.seconds / 1e6 if self.seconds else 0.0
        seconds = f"about {self.seconds:.0f} s" if self.seconds >= 1 else "under a second"
        return (
            f"{self.cells:,} cells, {self.steps:,} days, {self.cells * self.steps:,} cell-days\n"
            f"memory {_bytes(self.memory)}: state {_bytes(self.state)}, parameters {_bytes(self.parameters)}, "
            f"read-ahead {_bytes(self.read_ahead)}, write buffers {_bytes(self.write_buffers)}\n"
            f"results {_bytes(self.results)} before compression, checkpoints {_bytes(2 * self.checkpoint)}\n"
            f"time {seconds} at {rate:.1f} M cell-days/s, measured on the first days\n"
        )


def problems(plan: Plan) -> list[Problem]:
    """Values of the forcing that the model could not bear; reads all of it."""
    if plan.forcing is None:
        return []
    return scan(plan.forcing.path, {name: v for name, v in plan.model.variables.items() if v.role is Role.FORCING})


def estimate(plan: Plan) -> Cost:
    """Memory, bytes and time of a run; computes its first days, twice, on a copy that is thrown away."""
    share, reach = plan.surroundings()
    plan.model.initialise(share, plan.chosen.values, plan.initial, plan.chosen.options, reach)
    outputs = Outputs(plan)
    reader = plan.reader()
    steps = range(min(plan.steps, 64))
    if reader:
        steps = reader.pieces(range(plan.steps))[0]
    seconds = 0.0
    for _ in range(2):  # the first time the kernel is loaded
        begin = time.perf_counter()
        plan.model.advance(steps, reader, plan.clock, Recorder(plan.grid.n_cells))  # type: ignore[arg-type]
        seconds = time.perf_counter() - begin
    read_ahead = 0
    if reader:
        read_ahead = reader.memory
        reader.close()
    state, parameters = plan.model.memory()
    checkpoint = sum(np.asarray(values).nbytes for values in (*plan.model.state.values(), *plan.model.parameters.values()))
    return Cost(
        plan.grid.n_cells,
        plan.steps,
        state,
        parameters,
        read_ahead,
        outputs.memory,
        outputs.bytes_written,
        checkpoint,
        seconds * plan.steps / len(steps),
    )


def _bytes(number: int) -> str:
    size = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
