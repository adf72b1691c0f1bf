"""The model transport without the machinery of a run, for timings: T42, 18 levels, a wind that stays, one call a step."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from steppe.arrays import ModelArrays
from steppe.clock import Clock
from steppe.comm import BoxReach, Serial, World
from steppe.engine.recorder import IntervalRecorder
from steppe.grid import Box, Gaussian, Partition
from steppe.kernels.sums import totals
from steppe.models.handed import Surroundings
from steppe.models.transport import MODEL
from steppe.models.transport.levels import CCM_A, CCM_B, P0, hybrid
from steppe.models.transport.winds import RADIUS

Floats = NDArray[np.float64]
GRID, LEVELS, DT = Gaussian(64), hybrid(CCM_A, CCM_B), 3600.0  # [s]
POINTS = GRID.nlat * GRID.nlon * LEVELS.coordinate.size
FORMS = ("hills", "bells", "slotted", "correlated", "q3")  # of tracers, in order


def wind(courant: float, flow: str = "jets", dt: float = DT) -> dict[str, Floats]:
    """u, v, omega and ps, (levels, y, x) and (y, x), in the units of the model. In `dt` the fastest air passes `courant` rows of cells.

    jets: two jets along circles of latitude, fast at the upper levels alone, with waves on them a third as fast; as in the atmosphere most
    of the air is much slower than the fastest. deforming: Lauritzen's flow at its first instant, on all levels.
    """
    lat, lon = np.deg2rad(GRID.lat)[:, None], np.deg2rad(GRID.lon)
    eta = LEVELS.coordinate[:, None, None]
    if flow == "jets":
        upper = 0.2 + 0.8 * np.exp(-(((eta - 0.25) / 0.2) ** 2))
        jet = np.exp(-(((np.abs(lat) - 0.7) / 0.2) ** 2))
        u = upper * (jet + 0.2 * np.cos(lat) * np.sin(3.0 * lon))
        v = upper * 0.35 * np.cos(lat) * np.sin(5.0 * lon + 2.0 * lat)
    else:
        u = np.sin(lon) ** 2 * np.sin(2.0 * lat) + 0.2 * np.pi * np.cos(lat) + 0.0 * eta
        v = np.sin(2.0 * lon) * np.cos(lat) + 0.0 * eta
    scale = courant * np.pi / GRID.nlat * RADIUS / dt / np.hypot(u, v).max()
    omega = 0.3 * np.sin(3.0 * lon) * np.cos(lat) * np.sin(np.pi * eta)  # [Pa s-1]
    return {"u": scale * u, "v": scale * v, "omega": omega, "ps": np.full((GRID.nlat, GRID.nlon), P0)}


def write_winds(path: Any, records: int, hours: int, courant: float) -> None:
    """A store with so many records of the jets, from 2000-01-01."""
    of_levels, of_ground = ("time", "level", "lat", "lon"), ("time", "lat", "lon")
    units = {"u": "m s-1", "v": "m s-1", "omega": "Pa s-1", "ps": "Pa"}
    turned = {
        name: np.stack([np.roll(each, n, axis=-1) for n in range(records)]).astype(np.float32) for name, each in wind(courant).items()
    }
    fields = {name: (of_levels if each.ndim == 4 else of_ground, each, {"units": units[name]}) for name, each in turned.items()} | {
        "hyai": ("ilev", LEVELS.a),
        "hybi": ("ilev", LEVELS.b),
    }
    axes = {
        "time": ("time", hours * np.arange(float(records)), {"units": "hours since 2000-01-01"}),
        "level": ("level", np.array(LEVELS.space.values), {"units": LEVELS.space.units}),
        "lat": ("lat", GRID.lat, {"units": "degrees_north"}),
        "lon": ("lon", GRID.lon, {"units": "degrees_east"}),
    }
    chunks = {name: {"chunks": (1, *each.shape[1:])} for name, each in turned.items()}
    xarray.Dataset(fields, axes).to_zarr(path, mode="w", consolidated=False, encoding=chunks)


class Still:
    """Forcing that is handed over once and stays."""

    names, in_turns = ("u", "v", "omega", "ps"), False

    def __init__(self, fields: Mapping[str, Floats]) -> None:
        self._fields, self._given = fields, False

    def pieces(self, steps: range) -> list[range]:
        return [steps]

    def turn_to(self, piece: range) -> None:
        pass

    def fill(self, box: Box, step: int, values: Mapping[str, Any]) -> None:
        if not self._given:
            y, x = (slice(first, first + length) for first, length in zip(box.origin, box.shape, strict=True))
            for name, into in values.items():
                into[...] = self._fields[name][..., y, x]
        self._given = True


class Run:
    """A rank's transport in a wind that stays. reach: makes the reach of a box; options: those of the model."""

    def __init__(
        self, fields: Mapping[str, Floats], tracers: int = 1, world: World | None = None, reach: Any = None, dt: float = DT, **options: str
    ) -> None:
        world = world or Serial()
        self.names = [f"t{number}" for number in range(tracers)]
        self.model = MODEL.of({"tracers": dict(zip(self.names, FORMS, strict=False)), "wind": "forcing", "levels": "L18"})
        self.model.place(Surroundings(GRID, Still.names))
        self.box = Partition.boxes(GRID, world.size, self.model.needs.halo or {})[world.rank]
        self.reach = reach(self.box) if reach else BoxReach(world, self.box, totals, ModelArrays(world))
        self.model.initialise(self.box, {}, None, {"scheme": "ccm", **options}, self.reach)
        self._start, self._dt = Clock.daily("2000-01-01").start, dt
        self._inputs, self._done = Still(fields), 0

    def step(self, n: int = 1, dt: float | None = None) -> None:
        """So many steps; dt [s] where they are of another length."""
        clock = Clock(self._start, timedelta(seconds=dt or self._dt))
        self.model.advance(range(self._done, self._done + n), self._inputs, clock, IntervalRecorder(self.box.n_cells))
        self._done += n

    @property
    def tracers(self) -> Floats:
        """(tracer, level, y, x) of the own cells."""
        return np.stack([self.model.state[name] for name in self.names])
