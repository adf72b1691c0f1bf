"""What the tests of cell models share: inputs in memory, a recorder, a larger model, and one run that is compared with itself."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from steppe.clock import Clock
from steppe.models import CellModel, Packed, Records

CLOCK = Clock.daily("1999-12-20")


class MemoryInputs:
    """Forcing (variables, steps, cells) in memory, cut into tiles and pieces. weekly: variables that have one row a week."""

    in_turns = False

    def __init__(
        self,
        values: Mapping[str, np.ndarray],
        tile: int | None = None,
        piece: int | None = None,
        scale: float | None = None,
        weekly: Sequence[str] = (),
        dtype: str = "float32",
    ) -> None:
        self.names = tuple(values)
        steps, cells = next(iter(values.values())).shape
        size = tile or cells
        self.tiles = [range(low, min(low + size, cells)) for low in range(0, cells, size)]
        self._piece = piece or steps
        rows, row_of = [], []
        for name, value in values.items():
            lines = value[::7] if name in weekly else value
            index = np.arange(steps) // 7 if name in weekly else np.arange(steps)
            row_of.append(index + sum(len(r) for r in rows))
            rows.append(lines)
        table = np.concatenate(rows)
        if scale:
            packed = np.full(table.shape, -32768, np.int16)
            good = np.isfinite(table)
            packed[good] = np.round(table[good] / scale).astype(np.int16)
            table = packed
        else:
            table = table.astype(dtype)
        self._rows, self._row_of = table, np.array(row_of, np.int32)
        self._scale = np.full(len(self.names), scale or 1.0)

    def pieces(self, steps: range) -> list[range]:
        cuts = sorted({steps.start, steps.stop, *(s for s in steps if s % self._piece == 0)})
        return [range(a, b) for a, b in pairwise(cuts)]

    def turn_to(self, piece: range) -> None:
        pass

    def stream(self, cells: range) -> "MemoryStream":
        return MemoryStream(self, cells)

    def slab(self, steps: range, tile: int) -> Packed:
        cells = self.tiles[tile]
        row_of = self._row_of[:, steps.start : steps.stop]
        return Packed(self._rows[:, cells.start : cells.stop], row_of, self._scale, np.zeros(len(self.names)))


class MemoryStream:
    def __init__(self, inputs: MemoryInputs, cells: range) -> None:
        self._inputs = inputs
        self._numbers = [k for k, tile in enumerate(inputs.tiles) if tile.start < cells.stop and cells.start < tile.stop]

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        for number in self._numbers:
            yield self._inputs.tiles[number], self._inputs.slab(steps, number)


class MemoryRecorder:
    """Records of name -> operation over intervals of `every` steps."""

    most_steps = 20

    def __init__(self, wanted: Sequence[tuple[str, str]], steps: int, cells: int, every: int) -> None:
        begin = {"sum": 0.0, "min": np.inf, "max": -np.inf, "last": np.nan}
        self.every = every
        self.values = {key: np.full((-(-steps // every), cells), begin[key[1]]) for key in wanted}
        self.finished: list[range] = []

    def records(self, steps: range) -> list[Records]:
        slots = np.array([step // self.every for step in steps], np.int32)
        return [Records(name, operation, slots, values) for (name, operation), values in self.values.items()]

    def finish(self, steps: range) -> None:
        self.finished.append(steps)


NOTHING = MemoryRecorder([], 1, 1, 1)


def weather(cells: int, steps: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Rain and pan evaporation of the bucket: numbers that 0.1 times an integer can hold."""
    random = np.random.default_rng(seed)
    rain = np.round(random.gamma(0.3, 20.0, (steps, cells)), 1).clip(0, 300)
    return {"rain": rain, "pan": np.round(random.uniform(0, 9, (steps, cells)), 1)}


def started(module: Any, cells: int, threads: int = 1, dtype: str = "float32", state: Any = None, **parameters: Any) -> CellModel:
    """A model at its beginning."""
    model = CellModel(module, dtype, threads)
    model.initialise(SimpleNamespace(n_cells=cells), parameters, state, {}, None)
    return model
