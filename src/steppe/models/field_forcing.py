"""The forcing of a field model: at each step the values of its box, out of fields, or out of the packed tiles that hold its own cells.

Tiles lie in the packed order of the grid, where the cells of a box are no range: a tile holds cells of other boxes too.
"""

import numpy as np
from numpy.typing import ArrayLike

from steppe.array_types import Array
from steppe.errors import nearest
from steppe.grid import Box
from steppe.models.handed import FieldInputs, Inputs
from steppe.packed import values_of
from steppe.variable import Role, Variables


class Fields(dict[str, Array]):
    """Fields by name. To set one is to copy values into it: messages, records and checkpoints know its memory."""

    def __setitem__(self, name: str, values: ArrayLike) -> None:
        self[name][...] = values

    def __missing__(self, name: str) -> Array:
        raise KeyError(f'there is no "{name}" here.{nearest(name, self)}')


class FieldForcing:
    """The values of a step.

    values: name -> array ([levels,] *box.local) in the dtype of the variable; NaN where there is no value, and in halos of packed weather.
    """

    def __init__(self, box: Box, variables: Variables) -> None:
        of = {name: variable for name, variable in variables.items() if variable.role is Role.FORCING}
        self.values = Fields({n: np.full((*variables.leading(n), *box.local), np.nan, v.dtype) for n, v in of.items()})
        self._box = box
        self._cells = box.cells - (box.cells[0] if box.n_cells else 0)  # as inputs count them
        self._places = box.pack(np.arange(np.prod(box.local)).reshape(box.local)[box.own])  # of each cell in an array with halos

    def read(self, inputs: Inputs | FieldInputs, step: int) -> None:
        """Takes the values of a step, of the piece of the inputs that was turned to.

        Raises
        ------
        ForcingError
            The store does not hold the step.
        BadCellError
            A value of a field is missing or outside its limits.
        DamagedError
            A file of the store is missing or not what was written; names file, variable and days.
        """
        if isinstance(inputs, FieldInputs):
            inputs.fill(self._box, step, self.values)
            return
        if not self._cells.size:
            return
        rows = {name: inputs.names.index(name) for name in self.values}
        for tile, packed in inputs.stream(range(int(self._cells[-1]) + 1)).tiles(range(step, step + 1)):
            here = slice(*np.searchsorted(self._cells, (tile.start, tile.stop)))
            columns, places = self._cells[here] - tile.start, self._places[here]
            for name, k in rows.items():
                values, real = self.values[name], self.values[name].dtype.type
                raw = packed.rows[packed.row_of[k, 0]][columns]
                values.reshape(-1)[places] = values_of(raw, real(packed.scale[k]), real(packed.offset[k]))
