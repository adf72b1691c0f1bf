"""The chemistry of the columns of a host: any of its ranks computes any column, from one queue, so that dear columns are shared evenly.

The fields of the ranks of a host lie side by side in memory that all of them see, and so does what the chemistry must know of a column. A
cell takes its own steps, so its result does not depend on the rank that computes it.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np

from steppe.array_types import Floats
from steppe.models.air.advection import HALO, own
from steppe.models.air.chemistry import PER_CELL, Chemistry
from steppe.models.air.conditions import BOLTZMANN, LEAST_COSINE, O2_OF_AIR
from steppe.models.air.program import Program
from steppe.models.air.rates import Rates
from steppe.models.handed import Reach

MOST = 2048  # cells whose rates are computed at once
PAD = 16  # numbers behind each row of rates: rows a power of two apart would share lines of the cache
TASK = 8  # columns of a task
TEMPERATURE, DENSITY, SCALE = range(3)  # of a cell: [K]; molecules of air [cm-3]; [cm-3] of what the field holds
SOLAR_TIME, SHADE, FAILED, CLIPPED = range(PER_CELL, PER_CELL + 4)  # of a column, behind its sun; then clipped mass of each species


def bytes_of(arrays: Any) -> int:
    """Of an array, or of all arrays in a tuple, in tuples in it, too."""
    return int(arrays.nbytes) if isinstance(arrays, np.ndarray) else sum(map(bytes_of, arrays))


class Reactions:
    """The chemistry of this rank's box, and of the boxes beside it.

    cells (3, level, y, x), columns (CLIPPED + species, y, x): what the chemistry must know, of the own box, and what it tells. wall: time
    until no column was left, of all steps so far.

    Parameters
    ----------
    rates
        Of the processes in the air, with those from outside.
    fields
        The fields of all ranks of this host, (rows, *local): species, air, steps of the chemistry, one level after the other.
    mine
        Which of them are of this rank.
    reach, even
        The ranks, and whether those of a host share their columns.
    lanes, threads
        Cells that are computed side by side; threads of this rank that take columns.
    """

    def __init__(self, rates: Rates, fields: Sequence[Floats], mine: Floats, reach: Reach, even: bool, lanes: int, threads: int) -> None:
        species, processes = rates.mechanism.species, rates.mechanism.processes
        program = Program.of(len(species), [(each.reactants, each.products) for each in processes], rates.sunlit.tolist())
        self._rates, self._species, self._levels = rates, len(species), len(mine) // (len(species) + 2)
        self._most = max(1, MOST // self._levels)  # columns
        self._solvers = [Chemistry(program, rates.slant, lanes=lanes) for _ in range(threads)]
        self._k = np.zeros((threads, len(processes), self._most * self._levels + PAD))
        plane = own(mine).shape[1:]
        self.cells, all_cells = reach.beside((3, self._levels, *plane))
        self.columns, all_columns = reach.beside((CLIPPED + self._species, *plane))
        self._parts = list(zip(fields, all_cells, all_columns, strict=True))
        self._mine = next(number for number, (field, _, _) in enumerate(self._parts) if field is mine)
        tasks = [-(-columns[0].size // TASK) for columns in all_columns]
        self._first = np.cumsum([0, *tasks])
        several = even and reach.largest(np.array([float(len(fields))])) > 1.0
        self._queue = reach.queue(int(reach.largest(np.array([float(self._first[-1])]))), within_host=True) if several else None
        self.wall, self._cpu = 0.0, np.zeros(threads)

    @property
    def nbytes(self) -> int:
        """Bytes of cells, columns, rates and lanes."""
        return bytes_of((self.cells, self.columns, self._k, *((each.state, each.step) for each in self._solvers)))

    @property
    def spent(self) -> tuple[float, int, int]:
        """CPU seconds, attempts of cells and attempts of lanes of this rank so far."""
        cells, lanes = np.sum([each.spent for each in self._solvers], axis=0).tolist()
        return float(self._cpu.sum()), cells, lanes

    def advance(self, seconds: float, factors: Floats, rtol: float, atol: float) -> None:
        """The chemistry of all columns of this host. factors (processes,): what each rate is multiplied by.

        Where the solver cannot go on, the concentration of its species is NaN, and FAILED tells 1 + level x species + species.
        """
        for solver in self._solvers:
            solver.rtol, solver.atol = rtol, atol
        self.columns[FAILED:] = 0.0
        if self._queue is not None:
            self._queue.reset()
        wall, pieces, lock = time.perf_counter(), self._pieces(), Lock()

        def take() -> tuple[int, int, int] | None:
            with lock:
                return next(pieces, None)

        def work(thread: int) -> None:
            cpu = time.thread_time()
            while piece := take():
                self._compute(thread, *piece, seconds, factors)
            self._cpu[thread] += time.thread_time() - cpu

        others = range(1, len(self._solvers))
        with ThreadPoolExecutor(max(1, len(others))) as threads:
            running = threads.map(work, others)
            work(0)
            list(running)  # raises what one of them raised
        self.wall += time.perf_counter() - wall
        if self._queue is not None:
            self._queue.reset()

    def _pieces(self) -> Iterator[tuple[int, int, int]]:
        """Number of a box of this host and a range of its columns, until all are taken."""
        for chunk in [range(self._first[self._mine], self._first[self._mine + 1])] if self._queue is None else self._queue:
            for part in range(len(self._parts)):
                first, last = max(chunk.start, self._first[part]), min(chunk.stop, self._first[part + 1])
                end = min(TASK * (last - self._first[part]), self._parts[part][2][0].size)
                for begin in range(TASK * (first - self._first[part]), end, self._most):
                    yield part, begin, min(begin + self._most, end)

    def _compute(self, thread: int, part: int, first: int, last: int, seconds: float, factors: Floats) -> None:
        field, cells, columns = self._parts[part]
        species, levels = self._species, self._levels
        wide, narrow = field.shape[-1], columns.shape[-1]
        row, column = np.divmod(np.arange(first, last), narrow)
        plane = field[0].size
        at = (plane * np.arange(levels)[:, None] + (row + HALO) * wide + column + HALO).ravel()
        of_cells = np.ascontiguousarray(cells.reshape(3, levels, -1)[..., first:last]).reshape(3, -1)
        of_columns = columns.reshape(len(columns), -1)[:, first:last]
        k = self._rates_of(of_cells, np.tile(of_columns[SOLAR_TIME], levels), factors, self._k[thread])
        k[self._rates.sunlit, : at.size] *= np.tile(of_columns[SHADE], levels)
        sun = np.tile(of_columns[:PER_CELL], (1, levels))
        carries = field[(species + 1) * levels :].reshape(-1)
        carried = carries[at]
        c = field[: species * levels].reshape(species, -1)
        done = self._solvers[thread].advance(seconds, k, sun, c, at, carried, of_cells[SCALE])
        carries[at] = carried
        of_columns[CLIPPED:] = (done.clipped / of_cells[SCALE]).reshape(species, levels, -1).sum(axis=1)
        for cell in np.flatnonzero(done.failed >= 0):
            which, (level, place) = int(done.failed[cell]), divmod(int(cell), last - first)
            c[which, at[cell]] = np.nan
            of_columns[FAILED, place] = of_columns[FAILED, place] or 1 + level * species + which  # the lowest one

    def _rates_of(self, of_cells: Floats, solar_time: Floats, factors: Floats, k: Floats) -> Floats:
        """Fills k (processes, cells and more) with rates of some cells, without the sun. of_cells (2 or more, cells); solar_time [s]."""
        T, density, mechanism = of_cells[TEMPERATURE], of_cells[DENSITY], self._rates.mechanism
        usual = mechanism.constants.get("M")
        constants = {name: density * (value / usual) if usual else value for name, value in mechanism.constants.items()}
        air = {"temperature": T, "pressure": 1e6 * BOLTZMANN * density * T, "M": density, "day": 1.0}
        known: dict[str, Floats | float] = {"O2": O2_OF_AIR * density, **constants, **air}
        if mechanism.humidity:
            known["H2O"] = self._rates.humidity(T, solar_time)
        self._rates(known, k, factors)
        np.copyto(k, np.nan, where=k < 0.0)  # would make matter: the solver stops there
        return k

    def speeds(self, row: int, ratio: Floats, cosine: Floats, factors: Floats) -> Floats:
        """How fast each process is in the cells of a row of the own box, (processes, level, x) [molecule cm-3 s-1].

        ratio (species, level, x) [nmol mol-1]; cosine (x,): of the sun's zenith angle. `cells` and `columns` are those of the last step.
        """
        of_cells = np.ascontiguousarray(self.cells[:, :, row])
        c = 1e-9 * of_cells[DENSITY] * ratio
        lit = cosine >= LEAST_COSINE
        shine = np.exp(-self._rates.slant[:, None] / np.where(lit, cosine, 1.0)) * lit * self.columns[SHADE, row]
        k = np.empty((len(factors), of_cells[0].size))
        self._rates_of(of_cells.reshape(3, -1), np.tile(self.columns[SOLAR_TIME, row], self._levels), factors, k)
        found = k.reshape(-1, *of_cells.shape[1:])
        found[self._rates.sunlit] *= shine[:, None, :]
        for p, process in enumerate(self._rates.mechanism.processes):
            for reactant in process.reactants:
                found[p] *= c[reactant]
        return found
