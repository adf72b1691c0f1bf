"""The error of a cell that left its limits, and the warning of cells that are frozen."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np

from steppe.array_types import Array
from steppe.comm import World
from steppe.engine.plan import Plan
from steppe.errors import BadCellError
from steppe.grid import Ownership
from steppe.models import Status
from steppe.variable import Role


def bad_cell(status: Status, plan: Plan, done: int) -> BadCellError:
    """The error of a step with bad cells. status: the first bad cell, as a packed cell of the whole grid. done: the steps that are done."""
    grid, variables = plan.grid, plan.variables
    place = f"cell {status.cell:,} (longitude {grid.cell_lon[status.cell]:g}, latitude {grid.cell_lat[status.cell]:g})"
    when = plan.clock.name(status.step)
    if status.why:
        return BadCellError(f"On {when} in {place} {status.why} Results up to the last checkpoint are safe.")
    if status.variable in variables and np.isfinite([status.low, status.value]).all():
        what = f'"{status.variable}" is {status.value:g}, outside {status.low:g} to {status.high:g}'
    else:
        what = f'"{status.variable}" is {status.value:g}'
    more = status.count - 1
    by = f" by {plan.clock.name(done - 1)}" if done - 1 > status.step else ""
    others = f" and {more:,} more {'cell is' if more == 1 else 'cells are'} bad{by}" if more > 0 else ""
    found = f"Look at the parameters and the initial state{': the forcing is within its limits' if plan.forcing else ''}"
    if status.variable not in variables or variables[status.variable].role is Role.FORCING:
        found = "Find bad forcing with `steppe check`"
    freeze = ', or run on without such cells with on_bad_cell = "freeze"' if not plan.model.needs.neighbours else ""
    advice = f"{found}{freeze}."
    if plan.model.needs.neighbours and np.isnan(status.value) and not grid.active.all():
        advice = "Cells outside the mask are NaN: a model asks self.active before it takes a neighbour's value."
    return BadCellError(f"On {when} in {place} {what}{others}. Results up to the last checkpoint are safe. {advice}")


def frozen(plan: Plan, values: Callable[[str], Array]) -> str:
    """A sentence on the cells that are bad and frozen; "" if there are none. values: returns a variable of all cells."""
    marked = plan.run.engine.on_bad_cell == "freeze" and "bad_code" in plan.variables  # which models of cells have
    if not (marked and (count := np.count_nonzero(values("bad_code")))):
        return ""
    cells = f"{count:,} of {plan.grid.n_cells:,} cells"
    return f"{cells} are bad and frozen. Their last good states stay in maps and in means of regions."


def first_bad(status: Status, deal: Ownership, world: World) -> Callable[[], Status]:
    """On rank 0 the first bad cell of all ranks, as a packed cell, with the number of bad cells. status: of the model on this rank."""
    if status.count:
        status = replace(status, cell=int(deal.mine[status.cell]))
    mine = np.frombuffer(json.dumps(asdict(status)).encode(), np.uint8)

    def together() -> Status:
        bad = [each for part in world.gather(mine) or () if (each := Status(**json.loads(part.tobytes()))).count]
        return replace(min(bad, key=lambda each: (each.step, each.cell), default=Status()), count=sum(each.count for each in bad))

    return together
