"""A model of fields whose cells take their next value from far away: by a global array, common memory and a queue."""

from collections.abc import Mapping

import numpy as np

from steppe.kernels import field_kernel
from steppe.kernels.elements import element_access
from steppe.models import FieldModel, Needs, Role, Variable

load, store, add = element_access("float64")
Integers, Reals = np.typing.NDArray[np.int64], np.typing.NDArray[np.float64]


@field_kernel
def read(n: int, shift: int, table: Integers, index: Integers, found: Reals) -> None:
    """Elements of a global array in a model's own kernel."""
    for k in range(n):
        found[k] = load(table, shift, index[k])


class Carried(FieldModel):
    """Each step a cell gets the value of the cell 37 behind it in rows, and every task adds its weight."""

    name = "carried"
    version = "1"
    needs = Needs(unit="boxes", halo={"y": 0, "x": 0})
    variables: Mapping[str, Variable] = {"c": Variable("c", ("y", "x"), "1", "float64", Role.STATE, "carried", initial=1.0)}
    values = None

    def compute(self, where: tuple[slice, ...]) -> None:
        """Nothing: `step` does all."""

    def step(self) -> None:
        """Writes the own cells to the array, adds the tasks, and reads from elsewhere."""
        (y, x), box = self.box.origin, self.box
        rows, columns = (int(n) for n in self.reach.largest(np.array([y + box.shape[0]]), np.array([x + box.shape[1]])))
        if self.values is None or self.made_for is not box:
            self.values, self.weights, self.made_for = self.reach.array(rows * columns), self.reach.common(rows * columns), box
            self.tasks = self.reach.queue(rows * columns)
            self.weights[:] = np.cos(np.arange(rows * columns))
        own = np.add.outer(columns * (y + np.arange(box.shape[0])), x + np.arange(box.shape[1]))
        self.values.scatter(own, self.now[0][box.own])
        self.values.sync()
        for task in self.tasks:
            some = np.array(task)
            self.values.update(some * 7 % (rows * columns), self.weights[some], b=1.25, key=some)
        self.values.sync()
        self.tasks.reset()
        behind = (own + 37) % (rows * columns)
        if max(self.values.layout.hosts) == 0:
            raw, found = self.values.raw(), np.empty(own.shape)
            read(own.size, raw.shift, raw.table, behind, found)
        else:
            found = self.values.gather(behind)
        self.new[0][box.own] = np.sin(found)
        self.values.sync()


MODEL = Carried
