"""Diffusion on a box: the smallest model with neighbours, and a pattern for larger ones.

    c_new = c + rate (c_north + c_south + c_west + c_east - 4 c)

Forward in time, centred in space; nothing flows through a wall, so the total of c is kept. The Laplacian's sine modes decay by
1 - 4 rate (sin^2(ky/2) + sin^2(kx/2)) a step, and none grows for a rate up to 1/4 (Von Neumann's criterion).
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steppe.clock import Clock
from steppe.errors import ModelError, nearest
from steppe.grid import Box
from steppe.models import Array, Increment, Inputs, Needs, Reach, Recorder, Status
from steppe.variable import Role, Variable

RECORD: dict[str, Callable[[Array, Array], Array]] = {"sum": np.add, "min": np.minimum, "max": np.maximum, "last": lambda _, new: new}


class Diffusion:
    """A concentration that spreads; a `steppe.models.Model` that asks for boxes with a halo of one cell."""

    name = "diffusion"
    version = "1"
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables: Mapping[str, Variable] = {
        "concentration": Variable("concentration", ("y", "x"), "kg m-3", "float64", Role.STATE, "concentration", low=0.0, initial=0.0),
        "rate": Variable("rate", (), "1", "float64", Role.PARAMETER, "share passed to a neighbour", low=0.0, high=0.25, initial=0.1),
    }

    def initialise(
        self, share: Box, parameters: Mapping[str, Any], state: Mapping[str, Any] | None, options: Mapping[str, Any], reach: Reach
    ) -> None:
        """Takes the box, the reach and the initial values."""
        self.box, self.reach, self.bad = share, reach, Status()
        self.now, self.new = np.zeros(share.local), np.zeros(share.local)
        self.rate = np.array(self.variables["rate"].initial)
        self.set("rate", parameters.get("rate", self.rate))
        self.now[share.own] = (state or {}).get("concentration", self.variables["concentration"].initial)

    def advance(self, steps: range, inputs: Inputs, clock: Clock, recorder: Recorder) -> None:
        """Computes the interior while the halos travel, then the rims."""
        for step in steps:
            exchange = self.reach.exchange([self.now])
            self.spread(self.box.interior)
            exchange.finish()
            for mirror in self.box.mirrors:
                self.now[mirror.target] = self.now[mirror.source]
            for rim in self.box.rims:
                self.spread(rim)
            self.now, self.new = self.new, self.now
            for record in recorder.records(range(step, step + 1)):
                kept = record.values[record.slots[0]]
                kept[:] = RECORD[record.operation](kept, self.box.pack(self.export(record.name)))
            recorder.finish(range(step, step + 1))
            if self.bad.count == 0 and not np.isfinite(self.now[self.box.own]).all():
                self.bad = self.first_bad(step)

    def spread(self, where: tuple[slice, ...]) -> None:
        """One step of a rectangle of the box; the same arithmetic for interior and rims, hence the same bits for any cut."""
        y, x = where
        c = self.now[y, x]
        north, south = self.now[y.start - 1 : y.stop - 1, x], self.now[y.start + 1 : y.stop + 1, x]
        west, east = self.now[y, x.start - 1 : x.stop - 1], self.now[y, x.start + 1 : x.stop + 1]
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is told by `status`
            self.new[y, x] = c + self.rate * (((north + south) + (west + east)) - 4.0 * c)

    @property
    def state(self) -> Mapping[str, Array]:
        """The concentration of the own cells, (y, x) [kg m-3]."""
        return {"concentration": self.now[self.box.own]}

    @property
    def parameters(self) -> Mapping[str, Array]:
        """The rate."""
        return {"rate": self.rate}

    def export(self, name: str, index: Array | None = None) -> Array:
        """The concentration, (y, x), or of some packed cells, (len(index),)."""
        if name != "concentration":
            raise ModelError(f'Diffusion has no variable "{name}" to export.{nearest(name, ("concentration",))}')
        values = self.now[self.box.own].copy()
        return values if index is None else self.box.pack(values)[index]

    def set(self, name: str, value: float | Array, index: Array | None = None) -> Increment:
        """Sets the rate, or the concentration of all or some packed cells."""
        if name not in self.variables:
            raise ModelError(f'Diffusion has no variable "{name}" to set.{nearest(name, self.variables)}')
        variable = self.variables[name]
        if not np.all((np.asarray(value) >= variable.low) & (np.asarray(value) <= variable.high)):
            raise ModelError(f"{name} must lie between {variable.low:g} and {variable.high:g} {variable.units}, {value} was given.")
        if name == "rate":
            if np.ndim(value) or index is not None:
                raise ModelError("rate is one number for the whole box. Set it without a region.")
            before, self.rate = float(self.rate), np.array(value, dtype=np.float64)
            return Increment(name, self.box.n_cells, before, float(self.rate))
        cells = self.box.pack(self.now[self.box.own])
        chosen = slice(None) if index is None else index
        before = self.reach.total(cells[chosen])
        cells[chosen] = value
        self.now[self.box.own] = self.box.unpack(cells)
        return Increment(name, cells[chosen].size, before, self.reach.total(cells[chosen]))

    def expect_looks(self) -> None:
        """Nothing is loaded: a look is a copy."""

    def memory(self) -> tuple[int, int]:
        """Bytes of both fields, and of the rate."""
        return 2 * self.now.nbytes, self.rate.nbytes

    def status(self) -> Status:
        """The first cell that is not finite."""
        return self.bad

    def first_bad(self, step: int) -> Status:
        """Says which cells are not finite."""
        values = self.box.pack(self.now[self.box.own])
        cells = np.flatnonzero(~np.isfinite(values))
        return Status(cells.size, int(cells[0]), step, "concentration", float(values[cells[0]]), low=0.0, high=np.inf)


MODEL = Diffusion
