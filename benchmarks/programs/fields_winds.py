"""A field model whose step takes 100 ms, and reads fields or does not: a model for `benchmarks.suites.fields`."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import xarray

from steppe.models import FieldModel, Needs, Role, Space, Variable

LEVELS, CELLS, WORK = 32, 64, 0.1  # cells of each axis; [s] of CPU time
LYX, YX = ("level", "y", "x"), ("y", "x")
FIELDS = {**{f"wind_{number}": LYX for number in range(4)}, **{f"map_{number}": YX for number in range(5)}}


class Windy(FieldModel):
    """A field that stays as it is. [parameters] reads = false: without forcing."""

    name, version = "windy", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    spaces: Mapping[str, Space] = {"level": Space(tuple(range(LEVELS)))}

    def __init__(self, reads: bool = True) -> None:
        amount = Variable("amount", YX, "1", "float32", Role.STATE, "amount", initial=1.0)
        fields = [
            Variable(name, dims, "m s-1", "float32", Role.FORCING, f"forcing {name}", low=-9.0, high=9.0) for name, dims in FIELDS.items()
        ]
        self.variables = {variable.name: variable for variable in [amount, *(fields if reads else [])]}

    @classmethod
    def of(cls, table: dict[str, Any]) -> Self:
        """See the class."""
        return cls(table.pop("reads", True))

    def step(self) -> None:
        """Works for as long as a kernel would, without the interpreter lock, as kernels do."""
        end, work = time.thread_time() + WORK, np.ones(1 << 14)
        while time.thread_time() < end:
            np.sqrt(work * work + work, out=work)
        self.new[...] = self.now

    def compute(self, where: tuple[slice, ...]) -> None:
        """`step` does all."""


def write_store(path: Path, records: int, minutes: int) -> None:
    """A record of every field each so many minutes from 2001-03-05 on."""
    random = np.random.default_rng(2)
    axes = {
        "time": ("time", np.arange(records) * float(minutes), {"units": "minutes since 2001-03-05", "calendar": "standard"}),
        "level": ("level", np.arange(float(LEVELS)), {"units": "1"}),
        "lat": ("lat", 59.75 - 0.5 * np.arange(CELLS), {"units": "degrees_north"}),
        "lon": ("lon", 0.25 + 0.5 * np.arange(CELLS), {"units": "degrees_east"}),
    }
    sizes = {"level": LEVELS, "y": CELLS, "x": CELLS}
    named = {"level": "level", "y": "lat", "x": "lon"}
    fields = {
        name: (
            ("time", *(named[dim] for dim in dims)),
            random.random((records, *(sizes[dim] for dim in dims)), np.float32),
            {"units": "m s-1"},
        )
        for name, dims in FIELDS.items()
    }
    chunks = {name: {"chunks": (1, *values.shape[1:])} for name, (_, values, _) in fields.items()}
    xarray.Dataset(fields, axes).to_zarr(path, mode="w", consolidated=False, encoding=chunks)


MODEL = Windy
