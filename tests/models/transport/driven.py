"""A transport model on one rank that is handed its wind in memory, and winds that nobody has seen before."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import cftime
import numpy as np

from steppe.arrays import ModelArrays
from steppe.clock import Clock
from steppe.comm import BoxReach, Serial
from steppe.engine.recorder import IntervalRecorder
from steppe.grid import Box, Gaussian, Grid, Partition, Raster
from steppe.kernels.sums import totals
from steppe.models.handed import Surroundings
from steppe.models.transport import Transport
from steppe.models.transport.winds import RADIUS

Fields = dict[str, Any]


class Wind:
    """The forcing of a run, as a function of the step says it."""

    in_turns = False

    def __init__(self, at: Callable[[int], Fields]) -> None:
        self.at, self.names = at, ()

    def pieces(self, steps: range) -> list[range]:
        return [steps]

    def turn_to(self, piece: range) -> None:
        pass

    def fill(self, box: Box, step: int, values: Mapping[str, Any]) -> None:
        found = self.at(step)
        for name, array in values.items():
            array[...] = found[name]


class Driven:
    """A model and what it needs to be stepped."""

    def __init__(self, grid: Grid, seconds: float, at: Callable[[int], Fields] | None, options: Mapping[str, str], **table: Any) -> None:
        names = ("u", "v", "omega", "ps") if at and "omega" in at(0) else ("u", "v", "ps") if at else ()
        self.model, self.wind = Transport({**table, **options}), Wind(at or (lambda step: {}))
        self.model.place(Surroundings(grid, names))
        (self.box,) = Partition.boxes(grid, 1, self.model.needs.halo or {})
        numbers = {name: value for name, value in table.items() if isinstance(value, float) and name in self.model.variables}
        self.model.initialise(self.box, numbers, None, options, BoxReach(Serial(), self.box, totals, ModelArrays(Serial())))
        self.clock, self.done = Clock(cftime.datetime(2000, 1, 1), timedelta(seconds=seconds)), 0

    def step(self, steps: int = 1) -> None:
        self.model.advance(range(self.done, self.done + steps), self.wind, self.clock, IntervalRecorder(self.box.n_cells))
        self.done += steps

    def __getitem__(self, name: str) -> Any:
        """A tracer, (levels, rows, columns); to be changed."""
        return self.model.state[name]

    def mass(self, ps: Any = 100_000.0) -> Any:
        """The mass of air of each cell, up to a factor."""
        return air(self.model, ps)


def air(model: Transport, ps: Any = 100_000.0) -> Any:
    """The mass of air of each cell (levels, rows, columns) on the whole Earth, up to a factor. ps: surface pressure [Pa]."""
    a, b = (np.diff(each)[:, None, None] for each in (model.levels.a, model.levels.b))
    return np.abs(a * 100_000.0 + b * np.broadcast_to(ps, model.sphere.shape)) * model.sphere.weights[:, None]


def fastest(grid: Raster, seconds: float, courant: float) -> float:
    """The speed [m s-1] that crosses so many rows in a step."""
    return courant * RADIUS * np.pi / grid.nlat / seconds


def random_wind(
    grid: Gaussian, levels: int, speed: float, seed: int, every: int = 20, divergent: bool = True, omega: float = 1.0
) -> Callable[[int], Fields]:
    """Wind, change of pressure and surface pressure [m s-1, Pa s-1, Pa] of a step.

    On each level a vector that is a random polynomial of the place, laid on the sphere: smooth everywhere, and it blows over the poles. Not
    divergent: the place times the gradient of a random polynomial. speed, omega: the greatest. every: the steps from one random wind to the
    next, between which it changes evenly.
    """
    lat, lon = np.deg2rad(grid.lat)[:, None], np.deg2rad(grid.lon)[None, :]
    x, y, z = np.broadcast_arrays(np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat))
    powers = [(i, j, k) for i in range(4) for j in range(4 - i) for k in range(4 - i - j)]
    terms = np.array([x**i * y**j * z**k for i, j, k in powers])
    place = np.array([x, y, z])
    slopes = np.array([[p[c] * place[c] ** max(p[c] - 1, 0) * terms[powers.index(without(p, c))] for c in range(3)] for p in powers])
    east = np.array([-np.sin(lon) + 0.0 * lat, np.cos(lon) + 0.0 * lat, 0.0 * (lat + lon)])
    north = np.array([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat) + 0.0 * lon])
    made: dict[int, Fields] = {}

    def record(number: int) -> Fields:
        if number not in made:
            random = np.random.default_rng((seed, number))
            if divergent:
                vector = np.einsum("lct,tyx->lcyx", random.normal(size=(levels, 3, len(terms))), terms)
            else:
                vector = np.cross(place, np.einsum("lt,tcyx->lcyx", random.normal(size=(levels, len(terms))), slopes), axis=-3)
            u, v = (np.einsum("lcyx,cyx->lyx", vector, axis) for axis in (east, north))
            scale = speed / np.sqrt(u**2 + v**2).max()
            rise, ps = (np.einsum("lt,tyx->lyx", random.normal(size=(n, len(terms))), terms) for n in (levels, 1))
            made.pop(number - 3, None)
            made[number] = {
                "u": scale * u, "v": scale * v, "omega": omega * rise / np.abs(rise).max(), "ps": 1e5 + 3e3 * ps[0] / np.abs(ps).max()
            }  # fmt: skip
        return made[number]

    def at(step: int) -> Fields:
        number, part = divmod((step + 0.5) / every, 1.0)
        first, last = record(int(number)), record(int(number) + 1)
        return {name: (1.0 - part) * first[name] + part * last[name] for name in first}

    return at


def without(powers: tuple[int, int, int], axis: int) -> tuple[int, int, int]:
    """A product of powers without those of one factor."""
    i, j, k = (0 if each == axis else power for each, power in enumerate(powers))
    return i, j, k
