"""The air model on a grid; see the package."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import ceil, isfinite
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats
from steppe.clock import Clock
from steppe.errors import GridError, ModelError, nearest
from steppe.grid import Box, Raster
from steppe.models.air.advection import HALO, Axis, SweepAdvection, courant, fill_boundary, own
from steppe.models.air.chemistry import LANES, PER_CELL, SHORTEST
from steppe.models.air.column import AIR, HeightLevels
from steppe.models.air.conditions import HOUR, LEAST_COSINE
from steppe.models.air.declarations import CHOICES, EMISSION, TERMS, asked_of, emissions_of, variables_of
from steppe.models.air.diffusion import Diffusion, diffusivity
from steppe.models.air.light import cosine, solar_time, sunlight
from steppe.models.air.mechanism import MOLECULES, OF_GROUND, Mechanism
from steppe.models.air.mechanism_file import read_mechanism
from steppe.models.air.rates import NIGHT, Rates
from steppe.models.air.reactions import CLIPPED, DENSITY, FAILED, SCALE, SHADE, SOLAR_TIME, TEMPERATURE, Reactions, bytes_of
from steppe.models.air.winds import Faces
from steppe.models.contract import Needs, Status
from steppe.models.defaults import package_source
from steppe.models.field_model import FieldModel
from steppe.models.handed import Inputs, Reach, Recorder, Surroundings
from steppe.variable import Variable

MOST_CYCLES = 20  # sub-cycles of a sweep
POLAR = 80.0  # [degree] latitude beyond which columns of a grid of degrees are too narrow
NANO = 1e9  # nmol in a mol
OF_CELLS = 8  # numbers a cell of masses, fluxes and Courant numbers that a step makes
BELOW_CLOUD = 0.7  # of the light that a sky full of cloud takes away; our judgement
TO_MOLES = 0.01 / MOLECULES  # [mol m-2] of 1 molecule cm-2
IN, OUT, EMITTED, DEPOSITED, CHEMISTRY, CLIP = range(len(TERMS))
WINDS = {"x": "u", "y": "v", "z": "w"}
Made: TypeAlias = tuple[int, int, Floats]  # of a deposition: what is deposited, what it makes, and yield times velocity [m s-1], (y, x)


class Air(FieldModel):
    """Species that react, and that the wind and turbulence move; see the package. work: the chemistry of this rank, and what it has cost.

    A field holds mixing ratios between steps, and masses [nmol mol-1 kg of air] within a step.
    """

    name = "air"
    version = "1"
    digest = ""  # each has that of all modules here and of its mechanism
    needs = Needs(unit="boxes", halo={"y": HALO, "x": HALO})
    choices = CHOICES
    in_place = True
    unread: Sequence[str] = ()

    def __init__(self, table: dict[str, Any], mechanism: Mechanism | None = None) -> None:
        named = table.pop("mechanism", "emep66")
        if not isinstance(named, str | Path):
            raise ModelError(f"[parameters] mechanism = {named!r} must be a text: emep66, or the path of a file.")
        self.mechanism = mechanism or read_mechanism(named)
        self._rates = Rates(self.mechanism.in_the_air)
        self._rates.given = _given(table.pop("given", {}), self._rates)
        self._lanes = table.pop("lanes", LANES)
        if not isinstance(self._lanes, int) or isinstance(self._lanes, bool) or not 1 <= self._lanes <= 4096:
            raise ModelError(f"[parameters] lanes = {self._lanes!r} must be a whole number from 1 to 4096.")
        self._named = tuple(table)
        self._declare()
        self.asked = frozenset(variable.name for variable in asked_of(self.mechanism))
        self.digest = sha256(package_source(__file__) + repr(self.mechanism).encode()).hexdigest()
        self._take_levels(HeightLevels.of(100.0 * np.arange(32.0) + 50.0))

    @classmethod
    def of(cls, table: dict[str, object]) -> Self:
        """See `Defaults`. Takes mechanism, given (rates from outside: name -> number) and lanes."""
        return cls(table)

    def again(self, table: dict[str, object]) -> Self:
        """See `Model`. The mechanism is read once: its file may change while a run goes on."""
        return type(self)(table, self.mechanism)

    def place(self, around: Surroundings) -> None:
        """See `Model`."""
        grid = around.grid
        if not isinstance(grid, Raster) or max(abs(grid.lat)) > POLAR:
            found = f"latitudes from {min(grid.lat):g} to {max(grid.lat):g}" if isinstance(grid, Raster) else "a grid of another kind"
            raise GridError(f"The air model needs latitudes and longitudes, none beyond {POLAR:g} degrees north or south; it got {found}.")
        if grid.n_cells < grid.active.size:
            raise GridError(f"The grid has a mask, and air passes over all {grid.active.size:,} cells. Give a grid without a mask.")
        self._grid, self._threads = grid, around.threads
        if around.names:
            self._declare(around.names)
            self._take_levels(HeightLevels.of_fields(around.columns))
            self.unread = [name for name in around.names if name not in self.variables]

    def _declare(self, fields: Sequence[str] = ()) -> None:
        """Makes the variables. fields: names of the forcing."""
        self.variables: dict[str, Variable] = {}
        for variable in (*variables_of(self.mechanism), *emissions_of(self.mechanism, self._named, fields)):
            if not f"_{variable.name}".isidentifier():  # as names of levels and of files need
                raise ModelError(f'Mechanism {self.mechanism.name}: a grid takes no name "{variable.name}". Write letters, digits and _.')
            if variable.name in self.variables:
                raise ModelError(f'Mechanism {self.mechanism.name}: model air has a "{variable.name}" of its own. Rename the species.')
            self.variables[variable.name] = variable

    def _take_levels(self, levels: HeightLevels) -> None:
        self.levels, self.spaces = levels, {"level": levels.space}

    def memory_of_fields(self, shape: tuple[int, ...], dtype: str) -> Array:
        """Beside that of the other ranks of the host, for the chemistry."""
        mine, self._fields = self.reach.beside(shape, dtype)
        return mine

    def _allocate(self, share: Box, reach: Reach, options: Mapping[str, str]) -> None:
        super()._allocate(share, reach, options)
        species, levels = len(self.mechanism.species), self.levels.thickness.size
        rows, columns = share.shape
        self._tracers = self.now[: species * levels].reshape(species, levels, *share.local)
        self._air = self.now[species * levels : (species + 1) * levels]
        self._faces = Faces.of(self._grid, share.origin, share.shape)
        self._walls: list[tuple[Axis, bool]] = [("y" if mirror.axis == 0 else "x", mirror.side != "low") for mirror in share.mirrors]
        self._advection = SweepAdvection(species, levels, rows, columns)
        self._diffusion = Diffusion(species, levels, rows, columns, 1, self.levels.thickness)
        self._terms = np.zeros((len(TERMS), species, rows, columns))
        self._over = False  # on all ranks, since a step was too long on one of them
        even = self.options["even_chemistry"] == "on"
        self.work = Reactions(self._rates, self._fields, self.now, reach, even, self._lanes, self._threads)

    def advance(self, steps: range, inputs: Inputs, clock: Clock, recorder: Recorder) -> None:
        """See `Model`."""
        self._clock = clock
        super().advance(steps, inputs, clock, recorder)

    def step(self) -> None:
        """Wind along x, y, z; turbulence; chemistry; turbulence; wind along z, y, x (Strang 1968, SIAM J. Numer. Anal. 5, 506)."""
        if self._over:
            return
        half, forcing = 0.5 * self.seconds, self.forcing
        self._repeat(forcing[name] for name in ("T", "u", "v", "ps", "surface_temperature"))
        there = self.levels.air(forcing["ps"], forcing["T"], forcing["surface_temperature"])
        whole, area = there * self._faces.area, self._faces.area[HALO:-HALO]
        tracers, air = own(self._tracers), own(self._air)
        air *= area
        np.copyto(air, own(whole), where=air == 0.0)
        tracers *= air
        self._terms[...] = 0.0
        flux = self._faces.fluxes(half, forcing["u"], forcing["v"], whole, air, 0.5 * (air + own(whole)), self._walls)
        upward, residual = flux["z"] / half, own(self.diagnostics["w_residual"])
        residual[...] = own(forcing["w"]) - 0.5 * (upward[:-1] + upward[1:]) * self.levels.thickness[:, None, None] / own(whole)
        self._incoming = np.array([float(self.parameters[f"boundary_{name}"]) for name in self.mechanism.species])
        begin = self._clock.date(round(self.elapsed / self.seconds))
        sun = sunlight(self._faces.latitude, self._faces.longitude, begin, self.seconds)
        own(self.diagnostics["sun"])[...] = cosine(sun, self.seconds)
        own(self.diagnostics["solar_time"])[...] = solar_time(self._faces.longitude, begin + 0.5 * self._clock.length) / HOUR
        if not all(self._sweep(axis, flux[axis]) for axis in ("x", "y", "z")):
            return
        mixing, made = self._mixing(cosine(sun, half) >= LEAST_COSINE, area)
        self._mix(half, mixing, made)
        self._react(sun, own(there))
        self._mix(half, mixing, made)
        if not all(self._sweep(axis, flux[axis]) for axis in ("z", "y", "x")):
            return
        tracers /= air
        air[...] = own(there)
        self._terms /= NANO * AIR * self.seconds * area  # [mol m-2 s-1]

    def _sweep(self, axis: Axis, flux: Floats) -> bool:
        """Moves air and tracers along an axis. False: the step is too long, and the cell where it is most so is bad."""
        numbers = courant(axis, self._air, flux)
        greatest = self.reach.largest(numbers)
        if not greatest <= MOST_CYCLES:
            self._over = True
            self._too_long(axis, numbers, greatest)
            return False
        cycles = max(1, ceil(greatest))
        part, ledger = flux / cycles, self._terms[IN : OUT + 1] if axis == "z" else self._advection.ledger(axis)
        walls = [last for each, last in self._walls if each == axis]
        for _ in range(cycles):
            if axis != "z":
                self.reach.exchange([self._tracers, self._air], along=axis).finish()
            for last in walls:
                fill_boundary(axis, last, self._air, part, self._incoming, self._tracers)
            self._advection.sweep(axis, self._air, part, self._tracers, ledger, self._incoming)
        for last in walls:
            edge = (..., -last) if axis == "x" else (..., -last, slice(None))
            self._terms[IN : OUT + 1][edge] += ledger[:, :, int(last)].sum(axis=2)
        return True

    def _too_long(self, axis: Axis, numbers: Floats, greatest: float) -> None:
        if self._bad.count or numbers.max() < greatest:
            return
        packed = self.box.pack(numbers)
        level, cell = (int(at) for at in np.unravel_index(int(packed.argmax()), packed.shape))
        asks = f"passes {ceil(greatest):,} cells, and at most {MOST_CYCLES} can be" if isfinite(greatest) else "takes more air than it has"
        why = f"on level {level} the wind along {axis} {asks}, in half a step of {self.seconds:g} s. Take a shorter step."
        self._bad = Status(1, cell, round(self.elapsed / self.seconds), f"{WINDS[axis]}[{level}]", greatest, why=why)

    def _mix(self, seconds: float, mixing: tuple[Floats, Floats, Floats], made: list[Made]) -> None:
        """Turbulence, emission and deposition; then the products of depositions in the lowest level, which the ledger has as emitted."""
        self._diffusion.step(seconds, self._air, *mixing, self._tracers, self._terms[EMITTED : DEPOSITED + 1])
        lowest, emitted = own(self._tracers)[:, 0], self._terms[EMITTED]
        added = [(to, lowest[of] * (seconds / self.levels.thickness[0] * velocity)) for of, to, velocity in made]
        for to, mass in added:
            lowest[to] += mass
            emitted[to] += mass

    def _mixing(self, day: NDArray[np.bool_], area: Floats) -> tuple[tuple[Floats, Floats, Floats], list[Made]]:
        """Diffusivity [m2 s-1], emission [mass unit s-1] and velocities of deposition [m s-1], as `Diffusion.step` takes them.

        Beside them what depositions make. A species that stands on both sides of a deposition is deposited by the difference.
        """
        mixed, friction = (own(self.forcing[name]).astype(np.float64) for name in ("mixing_height", "friction_velocity"))
        emission, velocity = np.zeros((2, len(self.mechanism.species), *self.box.shape))
        land = area * self.parameters["emission_factor"]
        quick = np.where(day, 1.0, NIGHT) * self.parameters["deposition_factor"]
        made: list[Made] = []
        for process in self.mechanism.processes:
            if process.rate.form not in OF_GROUND:
                continue
            number = process.rate.numbers[0] * self.parameters[f"rate_factor_{process.label}"]
            if process.rate.form == "emission":
                for which, amount in process.products:
                    emission[which] += TO_MOLES * NANO * AIR * amount * number * land
            else:
                (of,), down = process.reactants, 0.01 * number * quick
                own_yield = sum(amount for which, amount in process.products if which == of)
                velocity[of] += down * max(0.0, 1.0 - own_yield)
                yields = [(which, amount) for which, amount in process.products if which != of] + [(of, own_yield - 1.0)]
                made += [(of, which, amount * down) for which, amount in yields if amount > 0.0]
        for which, species in enumerate(self.mechanism.species):
            name = EMISSION + species
            if name in self.forcing:
                emission[which] += NANO * AIR * land * self.parameters[f"{EMISSION}factor_{species}"] * own(self.forcing[name])
            elif name in self.parameters:
                emission[which] += NANO * AIR * land * self.parameters[name]
        return (diffusivity(np.cumsum(self.levels.thickness)[:-1], friction, mixed), emission[:, None], velocity), made

    @property
    def _factors(self) -> Floats:
        return np.array([float(self.parameters[f"rate_factor_{process.label}"]) for process in self._rates.mechanism.processes])

    def _tell(self, air: Floats) -> tuple[Floats, Floats]:
        """Cells and columns of the chemistry, with the meteorology of the step. air [kg m-2]."""
        cells, columns = self.work.cells, self.work.columns
        cells[TEMPERATURE], cells[DENSITY] = own(self.forcing["T"]), self.levels.density(air)
        columns[SHADE] = 1.0 - BELOW_CLOUD * own(self.forcing["cloud"])
        columns[SOLAR_TIME] = HOUR * own(self.diagnostics["solar_time"])
        return cells, columns

    def _react(self, sun: Floats, there: Floats) -> None:
        (cells, columns), tracers = self._tell(there), own(self._tracers)
        cells[SCALE] = cells[DENSITY] / (NANO * own(self._air))
        columns[:PER_CELL] = sun
        before = tracers.sum(axis=1)
        self.work.advance(self.seconds, self._factors, *(float(self.parameters[name]) for name in ("rtol", "atol")))
        self._terms[CLIP] = columns[CLIPPED:]
        self._terms[CHEMISTRY] = tracers.sum(axis=1) - before - self._terms[CLIP]
        if columns[FAILED].any() and not self._bad.count:
            self._cannot_go_on(columns[FAILED])

    def _cannot_go_on(self, failed: Floats) -> None:
        codes = self.box.pack(failed).astype(np.int64)
        cell = int(np.flatnonzero(codes)[0])
        level, which = divmod(int(codes[cell]) - 1, len(self.mechanism.species))
        name = f"{self.mechanism.species[which]}[{level}]"
        hour = self.box.pack(own(self.diagnostics["solar_time"]))[cell]
        why = (
            f"the solver of the chemistry cannot go on for {name}, at hour {hour:.2f} by the sun: its step falls below {SHORTEST:g} s "
            "or it needs too many. Look at the rates of its reactions and what begins there, or choose larger rtol and atol."
        )
        self._bad = Status(int(np.count_nonzero(codes)), cell, round(self.elapsed / self.seconds), name, why=why)

    @property
    def _of_step(self) -> dict[str, Array]:
        return {**super()._of_step, "ledger": self._terms}

    def memory(self) -> tuple[int, int]:
        """See `Model`. The state includes the arrays of the chemistry and the scratch of a step."""
        state, parameters = super().memory()
        _, levels, *halos = self._tracers.shape
        of_step = 8 * levels * halos[0] * halos[1] * OF_CELLS + self._advection.ledger("x").nbytes + 2 * self._terms[0].nbytes
        return state + of_step + self.work.nbytes + bytes_of(self._advection.tile), parameters

    def derive(self, name: str) -> Array:
        """A term of the ledger, the speed of a reaction, or production or loss of a species; see `declarations`."""
        kind, _, which = name.partition("_")
        species = self.mechanism.species
        if kind in TERMS:
            term: Array = self._terms[list(TERMS).index(kind), species.index(which)]
            return term
        weights = self._weights(kind, which)
        air, cosines, factors = own(self._air), own(self.diagnostics["sun"]), self._factors
        self._tell(air)
        found = np.zeros(air.shape)
        for row in range(air.shape[1]):
            speeds = self.work.speeds(row, own(self._tracers)[:, :, row], cosines[row], factors)
            for p in np.flatnonzero(weights):
                found[:, row] += weights[p] * speeds[p]
        return found

    def _weights(self, kind: str, which: str) -> Floats:
        """What a diagnostic sums: the factor of each process."""
        if kind == "rate":
            return np.array([float(process.label == which) for process in self._rates.mechanism.processes])
        i = self.mechanism.species.index(which)
        made = np.array([sum(amount for of, amount in process.products if of == i) for process in self._rates.mechanism.processes])
        taken = np.array([process.reactants.count(i) for process in self._rates.mechanism.processes]) - np.minimum(made, 0.0)
        found: Floats = np.maximum(made, 0.0) if kind == "production" else taken
        return found


def _given(table: object, rates: Rates) -> dict[str, float]:
    """The rates from outside that a run gives; raises `ModelError` if they are not those that the mechanism takes."""
    where = f"[parameters] given = {table!r}"
    if not isinstance(table, dict) or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in table.values()):
        raise ModelError(f'{where} must be a table of names and numbers, such as {{ "PHOTO.jno2" = 0.01 }}.')
    mechanism, wanted = rates.mechanism, sorted(rates.outside)
    if unknown := [name for name in table if name not in wanted]:
        raise ModelError(f'{where}: mechanism {mechanism.name} does not take "{unknown[0]}".{nearest(unknown[0], wanted)}')
    if wrong := [name for name, value in table.items() if not 0.0 <= value < np.inf]:
        raise ModelError(f"{where}: {wrong[0]} is {table[wrong[0]]:g}, and a number of 0 or more is expected.")
    if "H2O" in rates.used and not mechanism.humidity and "H2O" not in mechanism.constants:
        raise ModelError(f"Mechanism {mechanism.name} takes H2O, and does not say how much there is. Add h2o, or H2O to its constants.")
    rates.refuse_lacking(table, 'Write them under [parameters]: given = {{ "{}" = 0.01 }}.')
    return {name: float(value) for name, value in table.items()}
