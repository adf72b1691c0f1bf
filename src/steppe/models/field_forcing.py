"""The forcing of a field model: at each step the values of the own cells of its box, out of the packed tiles that hold them.

Tiles lie in the packed order of the grid, where the cells of a box are no range: a tile holds cells of other boxes too.
"""

from collections.abc import Mapping

import numpy as np

from steppe.grid import Box
from steppe.models.model import Array, Inputs
from steppe.packed import values_of
from steppe.variable import Variable


class FieldForcing:
    """The values of a step.

    values: name -> array (*box.local) in the dtype of the variable; NaN where there is no value, and in halos.
    """

    def __init__(self, box: Box, variables: Mapping[str, Variable]) -> None:
        self.values: dict[str, Array] = {name: np.full(box.local, np.nan, variable.dtype) for name, variable in variables.items()}
        self._cells = box.cells - (box.cells[0] if box.n_cells else 0)  # as inputs count them
        self._places = box.pack(np.arange(np.prod(box.local)).reshape(box.local)[box.own])  # of each cell in an array with halos

    def read(self, inputs: Inputs, step: int) -> None:
        """Takes the values of a step, of the piece of the inputs that was turned to.

        Raises
        ------
        ForcingError
            The store does not hold the step.
        DamagedError
            A file of the store is missing or not what was written; names file, variable and days.
        """
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
