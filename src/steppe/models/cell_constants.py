"""Constants of a cell model until one is set: parameters and what is derived from them, as a kernel takes them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from steppe.array_types import Array, Floats
from steppe.errors import ModelError
from steppe.models.cell_declaration import CellDeclaration, Chosen, Constant


class Constants(NamedTuple):
    """Replaced as a whole when a parameter is set, never changed."""

    p: Constant
    d: Constant
    per_cell: tuple[str, ...]  # parameters and derived that differ from cell to cell
    rows: Array  # (per_cell, cells)
    uniform: Array  # the others

    @classmethod
    def of(
        cls,
        declaration: CellDeclaration,
        parameters: Mapping[str, Floats],
        options: Chosen,
        used: set[str],
        cells: int,
        real: DTypeLike,
    ) -> "Constants":
        """Derives what follows from `parameters`. used: the names that the step reads; real: precision of the model.

        Raises
        ------
        ModelError
            The model's own `derive` refuses the parameters.
        """
        p, d = declaration.derive(parameters, options)
        for name, value in zip(declaration.fields("Derived"), d, strict=True):
            if np.shape(value) not in ((), (cells,)):
                shape = " x ".join(map(str, np.shape(value)))
                wanted = f"expected one, or one for each of {cells:,} cells"
                raise ModelError(f'{declaration.name}: "{name}" of `derive` has {shape} values, {wanted}.')
        names = (*declaration.fields("Parameters"), *declaration.fields("Derived"))
        values = {
            name: np.asarray(value, np.float64) if name in used else np.float64("nan") for name, value in zip(names, (*p, *d), strict=True)
        }
        per_cell = tuple(name for name, value in values.items() if value.ndim)
        rows = np.array([values[name] for name in per_cell], real).reshape(len(per_cell), cells)
        return cls(p, d, per_cell, rows, np.array([value for value in values.values() if not value.ndim], real))

    @property
    def nbytes(self) -> int:
        """Bytes of everything."""
        distinct = {id(value): np.asarray(value).nbytes for value in (*self.p, *self.d)}
        return sum(distinct.values()) + self.rows.nbytes
