"""The transport model; see the package."""

import mmap
from collections.abc import Mapping
from hashlib import sha256
from typing import Self

import numpy as np

from steppe.array_types import Array, Floats
from steppe.errors import ModelError
from steppe.grid import Box
from steppe.kernels.vecmath import exp
from steppe.models.contract import Needs
from steppe.models.defaults import package_source
from steppe.models.field_model import FieldModel
from steppe.models.handed import Reach, Surroundings
from steppe.models.transport import levels
from steppe.models.transport.advection import Advection
from steppe.models.transport.declarations import CHOICES, PATH, variables_of
from steppe.models.transport.forms import FORMS
from steppe.models.transport.mass import Mass
from steppe.models.transport.paths import WindArrays
from steppe.models.transport.sphere import Sphere
from steppe.models.transport.tracers import Tracer, tracers_of
from steppe.models.transport.vertical import Vertical
from steppe.models.transport.winds import DAY, WINDS

LN2 = 0.6931471805599453


class Transport(FieldModel):
    """Tracers that go with the wind; see the package."""

    name = "transport"
    version = "1"
    digest = ""  # each has that of all modules here
    needs = Needs(unit="boxes", halo={"y": 0, "x": 0})
    choices = CHOICES

    def __init__(self, table: dict[str, object]) -> None:
        self.digest = sha256(package_source(__file__)).hexdigest()
        self.tracers = tracers_of(table.pop("tracers", {"hills": "hills"}))
        self._asked = table.pop("levels", None)
        self.iterations = _whole(table, "iterations", 3, 100)
        self._page, self._cache = 1024 * _whole(table, "page", 64, 1 << 20), (1 << 20) * _whole(table, "cache", 64, 1 << 20)
        if self._page & (self._page - 1) or self._page < mmap.PAGESIZE:
            least = mmap.PAGESIZE // 1024
            raise ModelError(f"[parameters] page = {self._page // 1024} must be a power of two of at least {least}, such as 64 [KiB].")
        self._asked_wind, self._asked_vertical = table.get("wind"), table.get("vertical")
        self._wind = str(self._asked_wind or CHOICES["wind"].words[0])
        table |= {f"source_{t.name}": t.source for t in self.tracers if isinstance(t.source, Mapping)}
        asked = None if self._asked == "forcing" else self._asked
        self._settle(levels.chosen(asked, "" if self._wind == "forcing" else self._wind, {}), False)

    @classmethod
    def of(cls, table: dict[str, object]) -> Self:
        """See `Defaults`. Takes tracers, levels, iterations, page [KiB] and cache [MiB]."""
        return cls(table)

    def place(self, around: Surroundings) -> None:
        """See `Model`."""
        self.sphere = Sphere.of(around.grid)
        if self._asked_wind is None and "u" in around.names:
            self._wind = "forcing"
        if self._wind == "forcing" and not around.names:
            raise ModelError('[parameters] wind = "forcing", and the run has no winds. Write [forcing] fields = "winds.zarr".')
        if self._wind != "forcing" and self._asked_vertical is not None:
            raise ModelError(f'[parameters] vertical is of winds of a store, and wind = "{self._wind}" is a formula. Remove vertical.')
        vertical = "omega" in around.names if self._asked_vertical is None else self._asked_vertical != "none"
        self._settle(levels.chosen(self._asked, self._wind, around.columns), vertical)
        for tracer in self.tracers:
            if tracer.box and not self.sphere.inside(tracer.box).any():
                where = f"[parameters] tracers.{tracer.name}: {tracer.box}"
                raise ModelError(f"{where} holds the centre of no cell. Write west, south, east, north of a larger box.")
            if any(level >= self.levels.coordinate.size for level in tracer.levels):
                where = f"[parameters] tracers.{tracer.name}.levels = {list(tracer.levels)}"
                raise ModelError(f"{where}: there are {self.levels.coordinate.size} levels, 0 to {self.levels.coordinate.size - 1}.")

    def _settle(self, found: levels.HybridLevels, vertical: bool) -> None:
        if found.coordinate.size in (2, 3):
            raise ModelError(f"There are {found.coordinate.size} levels. Transport needs four or more, or one.")
        self.levels, self.spaces = found, {"level": found.space}
        self.variables = {variable.name: variable for variable in variables_of(self.tracers, self._wind, vertical, found)}

    def initialise(
        self,
        share: Box,
        parameters: Mapping[str, float | Array],
        state: Mapping[str, float | Array] | None,
        options: Mapping[str, str],
        reach: Reach,
    ) -> None:
        """See `Model`. Tracers begin with their forms, paths at the cells themselves."""
        y, x = (slice(first, first + length) for first, length in zip(share.origin, share.shape, strict=True))
        lat, lon = self.sphere.latitude[y, None], self.sphere.longitude[None, x]
        forms = {tracer.name: FORMS[tracer.form](lat, lon, self.levels.height[:, None, None]) for tracer in self.tracers}
        place = np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat), self.levels.coordinate[:, None, None]
        found = dict(parameters)
        for tracer in self.tracers:
            name = f"source_{tracer.name}"
            if tracer.box and not np.ndim(found.get(name, 0.0)):
                found[name] = share.pack(np.where(self.sphere.inside(tracer.box)[y, x], found.get(name, tracer.source), 0.0))
        super().initialise(share, found, {**forms, **dict(zip(PATH, place, strict=True)), **(state or {})}, options, reach)

    def _allocate(self, share: Box, reach: Reach, options: Mapping[str, str]) -> None:
        super()._allocate(share, reach, options)
        gridded = self._wind == "forcing"
        self._advection = Advection(self.sphere, self.levels, share, reach, len(self.tracers), gridded, self._page, self._cache)
        self._vertical = Vertical(self.sphere, self.levels, share, reach) if "omega" in self.variables else None
        self._mass = Mass(self.sphere, self.levels, share, reach)

    def step(self) -> None:
        """Tracers and wind are put where all ranks read them; then paths, tracers, masses, and what decays or comes from sources."""
        old, new = ([values[tracer.name] for tracer in self.tracers] for values in (self.before, self.after))
        formula = None if self._wind == "forcing" else self._formula()
        if formula is None:
            self._blow()
        rows = slice(-len(PATH) * self.levels.coordinate.size, None)
        middles = self.new[rows]
        middles[...] = self.now[rows]
        self._advection.put(old)
        self._advection.trace(middles, 0.5 * self.seconds, self.iterations, formula, self.options["scheme"])
        self._advection.carry(middles, new, self.options["scheme"], self.options["limiter"] == "on")
        for tracer, former, values in zip(self.tracers, old, new, strict=True):
            if self.options["fixer"] == "on":
                self._mass.fix(self.options["scheme"], self.options["limiter"] == "on", former, values)
            self._change(tracer, values)
            self._mass.column(values, self.diagnostics[f"column_{tracer.name}"])

    def _formula(self) -> tuple[str, Floats]:
        """The wind in the middle of the step: its name and constants."""
        wind = WINDS[self._wind]
        period = DAY * (wind.period or float(self.parameters["period"]))
        angle = float(np.deg2rad(self.parameters.get("angle", 0.0)))
        return self._wind, wind.constants(self.elapsed + 0.5 * self.seconds, period, angle)

    def _blow(self) -> None:
        """Puts the wind of the forcing, and takes its surface pressure."""
        u, v, ps, last = self.forcing["u"], self.forcing["v"], self.forcing["ps"], self.before["ps_before"]
        mass = self._mass
        mass.after[...] = self.after["ps_before"][...] = ps
        np.copyto(mass.before, np.where(last > 0.0, last, ps))
        change = (ps - mass.before) / self.seconds
        w = self._vertical.wind(u, v, self.forcing["omega"], ps, change) if self._vertical else np.zeros_like(u)
        self._advection.blow(WindArrays(u, v, w))

    def _change(self, tracer: Tracer, values: Floats) -> None:
        """What happens to a tracer beside transport."""
        lost = 0.0
        if tracer.half_life is not None:
            lost = LN2 * self.seconds / DAY / float(self.parameters[f"half_life_{tracer.name}"])
            values *= exp(-lost)
        if tracer.source is not None:
            source = self.maps[f"source_{tracer.name}"] * (self.seconds * remaining(lost))
            for level in tracer.levels or range(len(values)):
                values[level] += source
        if tracer.age:
            values += self.seconds / DAY
            values[self.levels.lowest] = 0.0


def remaining(lost: float) -> float:
    """The part of a steady source of a step that is there at its end, of a tracer that goes by exp(-lost) in a step.

    >>> remaining(0.0), round(remaining(0.01), 9), round(remaining(10.0), 9)
    (1.0, 0.995016625, 0.09999546)
    """
    small = lost < 1e-3  # where the difference to 1 has few digits
    return 1.0 - lost / 2.0 * (1.0 - lost / 3.0 * (1.0 - lost / 4.0)) if small else float(1.0 - exp(-lost)) / lost


def _whole(table: dict[str, object], name: str, usual: int, most: int) -> int:
    """Takes a whole number out of the table."""
    found = table.pop(name, usual)
    if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= most:
        raise ModelError(f"[parameters] {name} = {found!r} must be a whole number from 1 to {most:,}.")
    return found
