"""The cost of computing each cell, estimated from the busy times of shares, and the shares that this cost suggests.

    busy time of each share ──> CostLattice: a cost for each 16 cells of the packed order ──> weights ──> Partition.cells
                                └── survives new cuts, restarts, other numbers of ranks ──> first_cuts: when a session begins
                                                                               better_cuts: after a checkpoint, if moving cells pays

Results never depend on it, so it may use clocks. One rank decides and sends the bounds to the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steppe.array_types import Array, Floats, Integers
from steppe.errors import GridError
from steppe.grid import Partition

BUCKET = 16  # cells: a vector of them
HALF_LIFE = 512  # steps, eight slabs of 64, after which a measurement has half its weight
TOLERATED = 0.05  # of the mean: imbalance below which no cell moves
COMMITS_BETWEEN = 10  # at least, from one change of the cuts to the next
WORTH = 3.0  # least gain, as a multiple of the cost of moving


class CostLattice:
    """Smoothed cost of one cell and step in buckets of 16 cells of the packed order.

    A share's busy time scales the costs of its buckets; their ratios stay until other cuts give new ones. Unmeasured cells all cost the
    same. picoseconds: the cost of a cell and step, (buckets,); 1 before the first measurement.
    """

    def __init__(self, n_cells: int) -> None:
        self.n_cells = n_cells
        self.picoseconds = np.ones(-(-n_cells // BUCKET))
        self._evidence = 0.0  # the measured part of the cost, 1 after some half-lives

    def feed(self, partition: Partition, busy: Sequence[float], steps: int) -> None:
        """Adds a measurement: the CPU seconds of each share for `steps` steps. Times of 0 or less are ignored.

        Raises
        ------
        GridError
            The partition has other cells, the times are not one for each rank, or there was no step.
        """
        if partition.n_cells != self.n_cells or len(busy) != partition.ranks or steps < 1:
            raise GridError(
                f"{len(busy)} busy times of {steps} steps were given for {partition.ranks} shares of {partition.n_cells} cells; expected "
                f"is one time for each share of {self.n_cells} cells, and at least one step."
            )
        sizes = np.diff(partition.bounds)
        known = self._of_cells(self.picoseconds)
        expected = partition.loads(known)
        found = np.asarray(busy, float) * 1e12 / steps
        measured = (sizes > 0) & (found > 0.0)
        if not measured.any():
            return
        ratio = np.divide(found, expected, where=measured, out=np.full(partition.ranks, found[measured].sum() / expected[measured].sum()))
        decay = 0.5 ** (steps / HALF_LIFE)
        self._evidence = self._evidence * decay + 1.0 - decay
        new = self._of_buckets(known * np.repeat(ratio, sizes))
        self.picoseconds += (1.0 - decay) / self._evidence * (new - self.picoseconds)

    def kept(self) -> dict[str, object]:
        """The whole state, for a file; `recall` restores it."""
        return {"cells": self.n_cells, "evidence": self._evidence, "picoseconds": np.rint(self.picoseconds).astype(int).tolist()}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Restores the state of an earlier session; ignores one of another number of cells."""
        if kept.get("cells") == self.n_cells:
            self.picoseconds, self._evidence = np.array(kept["picoseconds"], float), float(kept["evidence"])

    @property
    def seconds(self) -> float | None:
        """Mean of a cell and step as measured, with the decoding of its forcing where its rank does that; None before the first time."""
        return float(self._of_cells(self.picoseconds).mean()) * 1e-12 if self._evidence and self.n_cells else None

    def weights(self) -> Integers:
        """Whole picoseconds a step of each cell, (cells,), for `Partition.cells`."""
        return np.maximum(1, np.rint(self._of_cells(self.picoseconds))).astype(np.int64)

    def loads(self, partition: Partition) -> Array:
        """Picoseconds of a step on each rank, (ranks,)."""
        return partition.loads(self.weights())

    def _of_cells(self, of_buckets: Floats) -> Floats:
        return np.repeat(of_buckets, BUCKET)[: self.n_cells]

    def _of_buckets(self, of_cells: Floats) -> Floats:
        """The mean of each bucket's cells."""
        starts = np.arange(0, self.n_cells, BUCKET)
        mean: Floats = np.add.reduceat(of_cells, starts) / np.diff(np.append(starts, self.n_cells))
        return mean


def measured_cost(kept: Mapping[str, Any], n_cells: int) -> float | None:
    """Seconds of a cell and step that earlier sessions of a run measured; None if they kept nothing of as many cells."""
    lattice = CostLattice(n_cells)
    lattice.recall(kept)
    return lattice.seconds


@dataclass(frozen=True, slots=True)
class MoveCost:
    """The cost of moving cells. cell_bytes: of state and records of a cell; bytes_per_second: between two ranks; pause: seconds."""

    cell_bytes: int
    bytes_per_second: float = 1e9
    pause: float = 0.05

    def seconds(self, old: Partition, new: Partition) -> float:
        """Seconds until the last rank has its new share: the most bytes of one rank, and the pause of all."""
        (old_low, old_high), (low, high) = (np.array([each.bounds[:-1], each.bounds[1:]]) for each in (old, new))
        kept = np.maximum(0, np.minimum(high, old_high) - np.maximum(low, old_low))
        most = np.maximum(old_high - old_low, high - low) - kept
        return self.pause + float(most.max()) * self.cell_bytes / self.bytes_per_second


def imbalance(loads: ArrayLike) -> float:
    """The excess of the busiest share over the mean, relative to the mean; 0 without load."""
    values = np.asarray(loads, float)
    mean = values.mean()
    return float(values.max() / mean - 1.0) if mean > 0.0 else 0.0


def first_cuts(lattice: CostLattice, now: Partition) -> Partition | None:
    """Shares to begin a session with, if the present ones are uneven by the costs that earlier sessions measured; otherwise None."""
    return None if imbalance(lattice.loads(now)) <= TOLERATED else Partition.cells(now.n_cells, now.ranks, lattice.weights())


def better_cuts(lattice: CostLattice, now: Partition, steps_left: int, commits_since: int, moving: MoveCost) -> Partition | None:
    """New shares if the present ones are uneven and moving pays clearly; otherwise None.

    commits_since: commits since the last change of the cuts.
    """
    if commits_since < COMMITS_BETWEEN or not now.n_cells:
        return None
    loads = lattice.loads(now)
    if imbalance(loads) <= TOLERATED:
        return None
    new = Partition.cells(now.n_cells, now.ranks, lattice.weights())
    gain = float(loads.max() - lattice.loads(new).max()) * 1e-12 * steps_left
    return new if gain > WORTH * moving.seconds(now, new) else None
